"""Reports of a run: HTML page, Markdown summary and terminal tables."""

from ragassay.reports.html import html_pieces, render_html
from ragassay.reports.markdown import markdown_pieces, render_markdown
from ragassay.reports.run_sheets import answer_sheet, score_sheet, system_sheet
from ragassay.reports.sheets import sheet_table
from ragassay.reports.text import headline

__all__ = [
    "answer_sheet",
    "headline",
    "html_pieces",
    "markdown_pieces",
    "render_html",
    "render_markdown",
    "score_sheet",
    "sheet_table",
    "system_sheet",
]
