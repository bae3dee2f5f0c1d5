"""Agents that call a model, implemented as DSPy modules with typed inputs and outputs."""
