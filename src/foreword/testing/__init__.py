"""Fakes of the model and its servers: scripted model, seeded clock, memory store, protocol referees.

The referees judge requests without importing the codecs that wrote them.
Imports `foreword.core` only.
"""
