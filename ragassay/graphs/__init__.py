"""LangGraph graphs: state, edges, fan-out and retries."""
