"""Retrieval of documents and evidence passages."""
