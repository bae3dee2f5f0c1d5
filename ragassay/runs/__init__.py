"""Runs over many records: job, engine, run folder, resume and progress."""
