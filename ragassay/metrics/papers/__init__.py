"""Measures of the papers; each names its equation. Pure functions: records in, numbers out."""
