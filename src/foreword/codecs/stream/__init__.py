"""Streams of a provider to values: bytes as they come in, deltas at once and one response at the end.

Pure and sans-IO. `decoder.Decoder` reads any wire; a file a wire puts its events together to the response that
the same wire would have given unstreamed, which the wire's own codec then reads: one truth for both.
"""
