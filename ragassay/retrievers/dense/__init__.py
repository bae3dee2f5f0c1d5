"""Dense search with vectors stored in Chroma."""
