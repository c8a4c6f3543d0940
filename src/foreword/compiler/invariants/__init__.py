"""Named rules that every request keeps, one a file: what must hold, and where history may not be cut.

They are checked after every pass in tests, and once before a request is handed out, over what it adds.
"""
