"""Call a RAG application, save its answers, and measure its retriever."""
