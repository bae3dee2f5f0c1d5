"""A corpus on disk: built file by file, searched by BM25."""
