"""Find evidence: passages, BM25, reranking; LangChain retrievers."""
