"""Corpora that are stored on disk and searched with BM25."""
