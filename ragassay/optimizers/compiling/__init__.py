"""Optimize the prompts of agents with DSPy, and measure the results."""
