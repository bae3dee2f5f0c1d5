"""The embedded judge: a small causal model that answers many prompts of one answer at once."""
