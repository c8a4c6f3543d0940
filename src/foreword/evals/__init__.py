"""Measurements over recorded and generated sessions, each printed with the cases behind it.

Reaches the layers below by their public names and no other product.
"""
