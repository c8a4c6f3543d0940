"""Values and facts: blocks, messages, events, the log and its folds, tokens, prices.

Pure: no clock, randomness, disk or network.
Imports `foreword.errors`, the standard library and msgspec only.
"""
