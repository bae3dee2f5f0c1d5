"""Serving models to other processes and machines: LiteLLM's proxy behind a gate of ours."""
