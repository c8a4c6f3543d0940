"""The shell that wires the pure layers to clock, disk and network.

It appends events, compiles, meets the needs that the compiler states, sends, and appends what came back.
"""
