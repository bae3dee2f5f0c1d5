"""The page and the plots of question-answer pairs (SciQAG)."""

from ragassay.reports.qa.html import render_qa_html
from ragassay.reports.qa.markdown import render_qa_markdown
from ragassay.reports.qa.tables import pairs_csv, papers_csv
from ragassay.reports.qa.view import QAReport, report_scores

__all__ = [
    "QAReport",
    "pairs_csv",
    "papers_csv",
    "render_qa_html",
    "render_qa_markdown",
    "report_scores",
]
