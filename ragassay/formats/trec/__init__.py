"""Runs of TREC tracks: retrieval-augmented generation and BioGen."""
