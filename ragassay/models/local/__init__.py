"""Embedded judge: a small causal model that answers batches of prompts in this process."""
