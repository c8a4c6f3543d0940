"""From a log to the next request: passes, invariants, budget, and the planner that proposes rewrites.

Pure: what a pass lacks it states as a need, and the engine meets it.
Imports `foreword.core` only; provider differences reach it as fields of the model catalog.
"""
