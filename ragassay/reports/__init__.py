"""Write reports of runs as HTML pages, Markdown, LaTeX and terminal tables."""
