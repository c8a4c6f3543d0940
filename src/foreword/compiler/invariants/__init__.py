"""The rules that hold after every pass, one a file, each with its reason and source."""
