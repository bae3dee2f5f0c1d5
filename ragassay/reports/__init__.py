"""Reports of a run for people: a page, a Markdown summary, tables for the terminal."""

from ragassay.reports.html import html_pieces, render_html
from ragassay.reports.markdown import markdown_pieces, render_markdown
from ragassay.reports.tables import answer_table, score_table, system_table
from ragassay.reports.text import headline

__all__ = [
    "answer_table",
    "headline",
    "html_pieces",
    "markdown_pieces",
    "render_html",
    "render_markdown",
    "score_table",
    "system_table",
]
