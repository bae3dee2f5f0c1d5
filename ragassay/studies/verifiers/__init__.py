"""Fit and measure verifiers, and what documents say of answer sentences (BioACE)."""
