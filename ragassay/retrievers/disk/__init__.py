"""Corpora on disk with BM25 search."""
