"""Run a graph over many records: ledger, resume, progress, engine."""
