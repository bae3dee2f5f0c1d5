"""Statistics of scores: intervals, agreement, correlation, tests. Pure functions."""
