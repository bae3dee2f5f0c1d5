"""Pure functions for score statistics: intervals, agreement, correlation and tests."""
