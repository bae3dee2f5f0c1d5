"""Reports for readers: HTML pages, Markdown, LaTeX and terminal tables."""
