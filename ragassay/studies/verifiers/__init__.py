"""Fit and evaluate verifiers, and compare answer sentences with documents (BioACE)."""
