"""LangGraph wiring only: state, edges, fan-out, retries. Nodes call agents."""
