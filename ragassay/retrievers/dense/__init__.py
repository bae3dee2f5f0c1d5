"""Vectors of a corpus in Chroma: made, kept up to date, searched by meaning."""
