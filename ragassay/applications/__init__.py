"""The user's RAG application: call it, keep what it answers, measure its retriever."""
