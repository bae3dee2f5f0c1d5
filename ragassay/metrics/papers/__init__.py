"""Measures from papers, as pure functions of records."""
