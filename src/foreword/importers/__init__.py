"""From sessions recorded by other tools to events, one format a file.

Everything read here is untrusted: what does not fit becomes a warning that says where, never a guess.
Imports `foreword.core` and `foreword.codecs` only.
"""
