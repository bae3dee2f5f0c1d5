"""Commands of studies of judges, systems and verifiers."""
