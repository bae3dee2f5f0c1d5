"""The report as Markdown: a compact summary for a terminal, a pull request or a wiki.

Text from answers, questions and documents is untrusted: every character that Markdown or HTML
could read as markup is escaped, and a line break becomes a space, so that a table stays a table.
No line begins with it, so what is markup only there (a dash, "1.", "=") needs no escape.
The templates escape all that they are given; only the filters here give them marked-up text.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragassay.records import Audit, Evaluation, Manifest, RecordFailure, Rejection, Repeats, Summary
from ragassay.reports.answer_view import RubricView, view_answer
from ragassay.reports.certificate import EXPLANATION, CertificateView
from ragassay.reports.html import join_result, page_environment
from ragassay.reports.report_view import view_report
from ragassay.reports.sentence_view import Chip, VerdictView
from ragassay.reports.sheets import Sheet, escape, sheet_markdown

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

REPORT, CERTIFICATE = "report.md.j2", "certificate.md.j2"


def markdown_pieces(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure] = (),
    rejections: Sequence[Rejection] = (),
    audit: Audit | None = None,
    repeats: Repeats | None = None,
) -> Iterator[str]:
    """Write a run as Markdown (GitHub's dialect, for its tables).

    Args:
        manifest: What the run depends on.
        evaluations: One for each answer, shown in this order; may be empty.
        failures: Records without an evaluation.
        rejections: Lines that could not be read.
        audit: What the judge can tell; None where nobody has looked.
        repeats: The judge measured against itself; None where it was not.

    Returns:
        Markdown in pieces, ending in a newline; the same bytes for the same input.
    """
    return (
        _environment()
        .get_template(REPORT)
        .generate(
            report=view_report(
                manifest, summary, evaluations, failures, rejections, audit, repeats
            ),
            answers=(view_answer(n, one) for n, one in enumerate(evaluations, start=1)),
        )
    )


render_markdown = join_result(markdown_pieces)
"""Write a run as Markdown; see `markdown_pieces`."""


def certificate_block(view: CertificateView) -> str:
    """Return the certificate of a judge as a section."""
    template = _environment().get_template(CERTIFICATE)
    return template.render(certificate=view, explanation=EXPLANATION)


@functools.cache
def _environment() -> Environment:
    """Return the templates, which escape for Markdown whatever no filter here has marked up."""
    from markupsafe import Markup

    environment = page_environment().overlay(
        finalize=lambda value: value if isinstance(value, Markup) else Markup(escape(str(value)))
    )
    filters = {"table": _table, "chip": _chip, "reasons": _reasons, "verdict": _verdict}
    environment.filters = {**environment.filters, **filters}
    return environment


def _table(sheet: Sheet) -> Markup:
    from markupsafe import Markup

    return Markup(sheet_markdown(sheet).rstrip("\n"))


def _reasons(rubric: RubricView) -> str:
    if rubric.members:
        lines = "; ".join(member.line for member in rubric.members)
        return " ".join(filter(None, (lines, rubric.otherwise)))
    parts = (rubric.rationale, rubric.otherwise, rubric.detail, rubric.pointing)
    return " ".join(filter(None, parts))


def _chip(chip: Chip) -> Markup:
    from markupsafe import Markup

    word = escape(chip.word)
    return Markup(f"**{word}**" if chip.tone == "bad" else word)


def _verdict(view: VerdictView) -> Markup:
    from markupsafe import Markup

    marker = f"{escape(f'[{view.marker}]')} " if view.marker else ""
    if view.side == "against":
        marker = "against: "
    document = view.passage.document if view.passage else view.target
    return Markup(f"{marker}{_chip(view.chip)}" + (f" ({escape(document)})" if document else ""))
