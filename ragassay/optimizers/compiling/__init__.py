"""Compile jobs: DSPy's optimizers look for a better prompt of an agent, and it is measured."""
