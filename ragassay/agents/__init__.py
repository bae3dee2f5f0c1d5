"""One module per agent. An agent is a DSPy module: records in, records out, one task."""
