"""The page of a set of question-answer pairs: self-contained, complete without its script.

Titles, questions, answers and numbers are untrusted: the template escapes everything.
"""

from __future__ import annotations

from ragassay.reports.html import SCRIPT, content_policy, page_environment
from ragassay.reports.labels import without_controls
from ragassay.reports.qa.view import QAReport, view_report

PAGE, STYLE = "qa.html.j2", "qa_style.html.j2"


def render_qa_html(report: QAReport) -> str:
    """Render a report on question-answer pairs as a page for a browser or a printer.

    Returns:
        An HTML document that loads nothing; more than one paper is folded. Same input, same bytes.
    """
    environment = page_environment()
    style, script = (environment.get_template(name).render() for name in (STYLE, SCRIPT))
    view = view_report(report)
    page = environment.get_template(PAGE).render(
        report=view,
        style=style,
        script=script,
        policy=content_policy(style, script),
        unfold=len(view.papers) == 1,
    )
    return without_controls(page)
