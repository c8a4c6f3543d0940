"""Foreword's tools served over the Model Context Protocol.

Reaches the layers below by their public names and no other product.
"""
