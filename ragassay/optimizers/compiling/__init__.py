"""Compile jobs: DSPy's optimizers search for a better prompt of an agent, and it is measured."""
