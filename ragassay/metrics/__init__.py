"""Pure functions that compute numbers from records.

The docstring of each function cites the paper that the function follows.
"""
