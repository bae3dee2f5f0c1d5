"""Fitting what ragassay ships to public data: run by maintainers, not by users."""
