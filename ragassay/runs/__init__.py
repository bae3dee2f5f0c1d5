"""Evaluate many answers: read them, judge them, store and resume the work, and show progress."""
