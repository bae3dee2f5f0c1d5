"""The report as one self-contained HTML page.

The page loads nothing. Its content security policy allows only its own style and script, named by
their hashes. It is complete without the script. Answers, questions and documents are untrusted: the
template escapes everything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.records import Audit, Evaluation, Manifest, RecordFailure, Rejection, Summary
from ragassay.reports.cascade_view import CASCADE_COLUMNS, ESTIMATED
from ragassay.reports.certificate import EXPLANATION, NOT_AUDITED
from ragassay.reports.findings_view import WORTH_A_LOOK
from ragassay.reports.labels import reason_text, without_controls
from ragassay.reports.panel_view import INDEPENDENT
from ragassay.reports.provenance import BOUNDS_NOTE, BOUNDS_TITLES
from ragassay.reports.report_view import view_report
from ragassay.reports.text import AVERAGES_NOTE

if TYPE_CHECKING:
    from jinja2 import Environment

SAID = {
    "explanation": EXPLANATION,
    "not_audited": NOT_AUDITED,
    "averages_note": AVERAGES_NOTE,
    "worth_a_look": WORTH_A_LOOK,
    "bounds_note": BOUNDS_NOTE,
    "bounds_titles": BOUNDS_TITLES,
    "independent": INDEPENDENT,
    "cascade_columns": CASCADE_COLUMNS,
    "estimated": ESTIMATED,
}
"""The words that every page may say."""

OPEN_UP_TO = 3
PAGE, STYLE, SCRIPT = "report.html.j2", "style.html.j2", "script.html.j2"


def render_html(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure] = (),
    rejections: Sequence[Rejection] = (),
    audit: Audit | None = None,
) -> str:
    """Render a run as a page for a browser or a printer.

    Args:
        manifest: The run's manifest.
        summary: The run in numbers.
        evaluations: One for each answer, in display order; may be empty.
        failures: Records without an evaluation.
        rejections: Lines that could not be read.
        audit: The judge's audit; None without one.

    Returns:
        An HTML document; more than three answers are folded. Same input, same bytes.
    """
    environment = page_environment()
    style, script = (environment.get_template(name).render() for name in (STYLE, SCRIPT))
    page = environment.get_template(PAGE).render(
        report=view_report(manifest, summary, evaluations, failures, rejections, audit),
        style=style,
        script=script,
        policy=content_policy(style, script),
        unfold=len(evaluations) <= OPEN_UP_TO,
    )
    return without_controls(page)


def content_policy(style: str, script: str) -> str:
    """Return the content security policy that allows only this style and script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{_digest(style)}'",
            f"script-src 'sha256-{_digest(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def page_environment() -> Environment:
    """Return the environment of page templates: they escape everything and refuse unknown names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ragassay.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["reason"] = reason_text
    environment.globals |= SAID
    return environment
