"""Serving models to other processes and machines, over OpenAI's protocol."""
