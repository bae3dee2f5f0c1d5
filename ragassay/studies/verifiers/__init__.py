"""Fit and measure verifiers, and compare documents with answer sentences (BioACE)."""
