"""Vector search of corpora, with vectors stored in Chroma."""
