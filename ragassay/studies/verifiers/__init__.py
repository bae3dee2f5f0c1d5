"""Fit and evaluate verifiers, which decide whether a document supports a claim (BioACE)."""
