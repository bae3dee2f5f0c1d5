"""Studies that measure how reliable judges and verifiers are."""
