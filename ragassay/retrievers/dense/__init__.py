"""Vectors of a corpus in Chroma: create, update and search them."""
