"""Render a report as Markdown, for pull requests and wikis.

Text from answers, questions and documents is untrusted. All characters with a meaning in Markdown
or HTML are escaped, and line breaks become spaces so that tables stay intact. Untrusted text never
starts a line, so line-start markup such as "-" or "1." needs no escaping. The templates escape
everything except the output of the filters defined here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragassay.records import Audit, Evaluation, Manifest, RecordFailure, Rejection, Repeats, Summary
from ragassay.reports.answer_view import RubricView, view_answer
from ragassay.reports.certificate import EXPLANATION, CertificateView
from ragassay.reports.html import create_page_environment, join_result
from ragassay.reports.report_view import view_report
from ragassay.reports.sentence_view import Chip, VerdictView
from ragassay.reports.sheets import Sheet, escape, render_sheet_markdown

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

REPORT, CERTIFICATE = "report.md.j2", "certificate.md.j2"


def render_markdown_pieces(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure] = (),
    rejections: Sequence[Rejection] = (),
    audit: Audit | None = None,
    repeats: Repeats | None = None,
) -> Iterator[str]:
    """Render a run as GitHub Flavored Markdown.

    Args:
        evaluations: Evaluations in the order of the report. May be empty.
        failures: Records that could not be evaluated.
        rejections: Input lines that could not be read.
        repeats: Consistency of repeated verdicts, if measured.

    Returns:
        Pieces of a Markdown document, the last of which ends with a newline. The output is
        deterministic.
    """
    return (
        _create_environment()
        .get_template(REPORT)
        .generate(
            report=view_report(
                manifest, summary, evaluations, failures, rejections, audit, repeats
            ),
            answers=(view_answer(n, one) for n, one in enumerate(evaluations, start=1)),
        )
    )


render_markdown = join_result(render_markdown_pieces)
"""Render a run as Markdown; see `render_markdown_pieces`."""


def render_certificate(view: CertificateView) -> str:
    """Render the certificate of a judge as a Markdown section."""
    template = _create_environment().get_template(CERTIFICATE)
    return template.render(certificate=view, explanation=EXPLANATION)


@functools.cache
def _create_environment() -> Environment:
    from markupsafe import Markup

    environment = create_page_environment().overlay(
        finalize=lambda value: value if isinstance(value, Markup) else Markup(escape(str(value)))
    )
    filters = {
        "table": _render_table,
        "chip": _render_chip,
        "reasons": _join_reasons,
        "verdict": _render_verdict,
    }
    environment.filters = {**environment.filters, **filters}
    return environment


def _render_table(sheet: Sheet) -> Markup:
    from markupsafe import Markup

    return Markup(render_sheet_markdown(sheet).rstrip("\n"))


def _join_reasons(rubric: RubricView) -> str:
    if rubric.members:
        lines = "; ".join(member.line for member in rubric.members)
        return " ".join(filter(None, (lines, rubric.otherwise)))
    pointing = f"({rubric.pointing})" if rubric.pointing else ""
    return " ".join(filter(None, (rubric.rationale, pointing, rubric.otherwise, rubric.detail)))


def _render_chip(chip: Chip) -> Markup:
    from markupsafe import Markup

    word = escape(chip.word)
    return Markup(f"**{word}**" if chip.tone == "bad" else word)


def _render_verdict(view: VerdictView) -> Markup:
    from markupsafe import Markup

    marker = f"{escape(f'[{view.marker}]')} " if view.marker else ""
    if view.side == "against":
        marker = "against: "
    document = view.passage.document if view.passage else view.target
    return Markup(
        f"{marker}{_render_chip(view.chip)}" + (f" ({escape(document)})" if document else "")
    )
