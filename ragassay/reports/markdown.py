"""The report as Markdown: a compact summary for a terminal, a pull request or a wiki.

Text from answers, questions and documents is untrusted: every character that Markdown or HTML
could read as markup is escaped, and a line break becomes a space, so that a table stays a table.
No line begins with it, so what is markup only there (a dash, "1.", "=") needs no escape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ragassay.records import Audit, Evaluation, Manifest, RecordFailure, Rejection, Summary
from ragassay.reports.answer_view import AnswerView, RubricView
from ragassay.reports.cascade_view import CASCADE_COLUMNS, ESTIMATED, CascadeView
from ragassay.reports.certificate import EXPLANATION, NOT_AUDITED, CertificateView
from ragassay.reports.chips import Chip
from ragassay.reports.labels import one_line, reason_text
from ragassay.reports.panel_view import INDEPENDENT, PanelView
from ragassay.reports.provenance import JudgeView
from ragassay.reports.report_view import (
    AverageRow,
    FindingGroup,
    ReportView,
    ScoreGroup,
    Systems,
    view_report,
)
from ragassay.reports.sentence_view import SentenceView, VerdictView
from ragassay.reports.text import AVERAGES_NOTE, NOT_DEFINED

_MARKUP = re.compile(r"([\\`*_{}\[\]|~$#])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escape(text: str) -> str:
    r"""Text as it is, on one line, whatever it contains.

    Example:
        >>> escape("a|b <i>")
        'a\\|b &lt;i&gt;'
    """
    safe = _MARKUP.sub(r"\\\1", one_line(text)).strip()
    return "".join(_ENTITIES.get(character, character) for character in safe)


def render_markdown(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure] = (),
    rejections: Sequence[Rejection] = (),
    audit: Audit | None = None,
) -> str:
    """Write a run as Markdown (GitHub's dialect, for its tables).

    Args:
        manifest: What the run depends on.
        summary: The run in numbers.
        evaluations: One for each answer, shown in this order; may be empty.
        failures: Records without an evaluation.
        rejections: Lines that could not be read.
        audit: What the judge can tell; None where nobody has looked.

    Returns:
        Markdown, ending in a newline; the same bytes for the same input.
    """
    report = view_report(manifest, summary, evaluations, failures, rejections, audit)
    return "\n".join(_blocks(report)).rstrip("\n") + "\n"


def _blocks(report: ReportView) -> Iterator[str]:
    yield f"# ragassay: {escape(report.name)}\n"
    yield f"**{escape(report.headline)}**\n"
    if report.shortfall:
        yield f"{report.shortfall}\n"
    if report.certificate is None:
        yield f"{NOT_AUDITED}\n"
    yield from _findings(report)
    if report.certificate:
        yield from certificate_blocks(report.certificate)
    yield from _scores(report.scores)
    yield from _averages(report.averages)
    if report.panel:
        yield from _panel(report.panel)
    if report.cascade:
        yield from _cascade(report.cascade)
    if report.systems:
        yield from _systems(report.systems)
    yield from _judges(report.judges)
    if report.answers:
        yield "## Answers\n"
    for answer in report.answers:
        yield from _answer(answer)
    yield from _left_out(report)
    yield "## What this run rests on\n"
    rows = [(escape(row.name), escape(row.value.replace("\n", "; "))) for row in report.provenance]
    yield from table(("What", "Which"), rows)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> Iterator[str]:
    """A table, then an empty line.

    Args:
        header: Titles, already safe.
        rows: Cells, already escaped; as many as there are titles.
        numbers: How many of the last columns are set flush right.
    """
    words = len(header) - numbers
    yield f"| {' | '.join(header)} |"
    yield f"|{'|'.join(['---'] * words + ['---:'] * numbers)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _findings(report: ReportView) -> Iterator[str]:
    yield "## Not to be missed\n"
    if not report.findings and not report.unscored:
        yield "Nothing was found, and every verdict could be had.\n"
    for group in report.findings:
        yield from _finding_group(group)
    if report.unscored:
        yield "**Unscored** verdicts are left out of every mean, never counted as zero:\n"
        yield from (f"- {line}" for line in report.unscored)
        yield ""


def _finding_group(group: FindingGroup) -> Iterator[str]:
    yield f"**{group.n} {escape(group.title)}**\n"
    for item in group.items:
        where = f", {item.place}" if item.place else ""
        yield f"- **{escape(item.record)}**{where}: {escape(item.message)}"
    if group.n_unlisted:
        yield f"- {group.n_unlisted} more, not listed with an answer"
    yield ""


def certificate_blocks(view: CertificateView) -> Iterator[str]:
    """The certificate of a judge as a section."""
    yield "## What this judge can tell\n"
    yield f"**{escape(view.headline)}** {EXPLANATION}\n"
    rows = [
        (escape(line.title), f"{escape(line.sign)} **{line.word}**", escape(line.reason))
        for line in (*view.rubrics, *view.others)
    ]
    yield from table(("Of", "Judge is", "Why"), rows)
    yield f"{escape(view.basis)}\n"


def _scores(groups: Sequence[ScoreGroup]) -> Iterator[str]:
    yield "## Scores\n"
    rows = [
        (
            f"{escape(row.title)}{f' ({row.direction})' if row.direction else ''}",
            escape(row.judge or group.judge or "no model asked"),
            f"**{escape(row.value)}**",
            escape(row.interval),
            str(row.n),
            f"{row.n_unscored} ({row.bounds})" if row.n_unscored else "none",
        )
        for group in groups
        for row in group.rows
    ]
    yield from table(("Score", "Judge", "Mean", "95 % interval", "Answers", "Unscored"), rows, 4)


def _averages(averages: Sequence[AverageRow]) -> Iterator[str]:
    if not averages:
        return
    yield f"{AVERAGES_NOTE}\n"
    cells = [(row, (row.over_answers, row.over_questions, row.pooled)) for row in averages]
    rows = [
        (
            escape(row.title),
            *(_cell(c.value, c.interval) if c else NOT_DEFINED for c in found),
        )
        for row, found in cells
    ]
    yield from table(("Score", "Over answers", "Over questions", "Pooled"), rows, 3)


def _panel(panel: PanelView) -> Iterator[str]:
    yield "## The panel\n"
    yield from (f"- {escape(line)}" for line in panel.lines)
    yield f"\n{INDEPENDENT}\n"
    rows = [
        (
            escape(row.judge),
            f"**{escape(row.mean)}**",
            escape(row.interval),
            f"{row.n:,}",
            f"{row.n_unscored:,}" if row.n_unscored else "none",
            f"{row.n_heard_again:,} ({row.n_moved:,} changed)",
        )
        for row in panel.rows
    ]
    header = ("Judge", "Mean of all rubrics", "95 % interval", "Ratings", "Unscored", "Given again")
    yield from table(header, rows, 5)


def _cascade(cascade: CascadeView) -> Iterator[str]:
    yield "## The cascade\n"
    yield from (f"- {escape(line)}" for line in cascade.lines)
    yield f"\n{ESTIMATED}\n"
    rows = [
        (
            row.title,
            f"{row.n:,}",
            row.kept,
            f"{row.n_escalated:,}",
            f"{row.n_failed:,}" if row.n_failed else "none",
            row.tokens,
            row.cost,
            row.full_cost,
        )
        for row in cascade.rows
    ]
    yield from table(CASCADE_COLUMNS, rows, len(CASCADE_COLUMNS) - 1)


def _systems(systems: Systems) -> Iterator[str]:
    yield "## Systems\n"
    rows = [
        (escape(row.name), str(row.n), *(_cell(c.value, c.interval) for c in row.cells))
        for row in systems.rows
    ]
    header = ("System", "Answers", *map(escape, systems.columns))
    yield from table(header, rows, len(header) - 1)


def _cell(value: str, interval: str) -> str:
    return escape(f"{value} [{interval}]" if interval else value)


def _judges(judges: Sequence[JudgeView]) -> Iterator[str]:
    yield f"## How far to trust {'these judges' if len(judges) > 1 else 'this judge'}\n"
    for judge in judges:
        yield from _judge(judge)


def _judge(judge: JudgeView) -> Iterator[str]:
    card = f" The card describes {escape(judge.card)}." if judge.card else ""
    yield (
        f"{judge.role} by **{escape(judge.model)}**.{card} {escape(judge.description)}".rstrip()
        + "\n"
    )
    if judge.notice:
        yield f"> **Note:** {escape(judge.notice)}\n"
    if judge.figures:
        rows = [
            tuple(map(escape, (f.task, f.data, f.command, f.metric, f.value, f.interval, str(f.n))))
            for f in judge.figures
        ]
        header = ("Held-out task", "Data", "Command", "Metric", "Value", "95 % interval", "n")
        yield from table(header, rows, 3)
    if judge.limits:
        yield from (f"- Limit: {escape(limit)}" for limit in judge.limits)
        yield ""


def _answer(answer: AnswerView) -> Iterator[str]:
    system = f" · {escape(answer.system)}" if answer.system else ""
    yield f"### {answer.number}. {escape(answer.id)}{system}\n"
    yield f"**Question:** {escape(answer.question)}\n"
    if answer.not_run:
        yield f"Not judged for this answer: {answer.not_run}.\n"
    for finding in answer.findings:
        where = f" ({finding.place})" if finding.place else ""
        yield f"- **Finding:** {escape(finding.message)}{where}"
    if answer.findings:
        yield ""
    if answer.rubrics:
        rows = [(escape(r.title), _reason(r), escape(r.text)) for r in answer.rubrics]
        yield from table(("Rubric", "Reason", "Score"), rows, 1)
    yield from _listed(answer)
    if answer.scores:
        yield " · ".join(f"{escape(s.title)} {escape(s.text)} ({s.basis})" for s in answer.scores)
        yield ""
    if answer.answer:
        yield f"**Answer, not cut into sentences:** {escape(answer.answer)}\n"
    if answer.sentences:
        header = ("#", "Sentence", "Label", "Correctness", "Evidence", "Citations")
        yield from table(header, map(_sentence, answer.sentences))
    yield from _nuggets(answer)


def _listed(answer: AnswerView) -> Iterator[str]:
    """What the user's own evaluators say, and what of the sources is hardly covered."""
    for own in answer.own:
        where = f" ({escape(own.place)})" if own.place else ""
        yield f"- **{escape(own.title)}**{where}: {_chip(own.chip)} {escape(own.reason)}".rstrip()
    for gap in answer.gaps:
        near = f"{escape(gap.document)}, closest sentence of the answer {gap.nearness}"
        yield f"- **Hardly covered:** {escape(gap.text)} ({near})"
    if answer.own or answer.gaps:
        yield ""


def _reason(rubric: RubricView) -> str:
    if rubric.members:
        return "; ".join(escape(member.line) for member in rubric.members)
    return escape(" ".join(filter(None, (rubric.rationale, rubric.detail, rubric.pointing))))


def _sentence(sentence: SentenceView) -> tuple[str, ...]:
    return (
        str(sentence.index),
        escape(sentence.text),
        _chip(sentence.label) if sentence.label else "not judged",
        _verdict(sentence.correctness) if sentence.correctness else "not judged",
        "; ".join(map(_verdict, sentence.evidence)) if sentence.evidence else "not judged",
        "; ".join(map(_verdict, sentence.citations)) or "none",
    )


def _chip(chip: Chip) -> str:
    word = escape(chip.word)
    return f"**{word}**" if chip.tone == "bad" else word


def _verdict(view: VerdictView) -> str:
    marker = f"{escape(f'[{view.marker}]')} " if view.marker else ""
    if view.side == "against":
        marker = "against: "
    document = view.passage.document if view.passage else view.target
    return f"{marker}{_chip(view.chip)}" + (f" ({escape(document)})" if document else "")


def _nuggets(answer: AnswerView) -> Iterator[str]:
    if answer.nuggets.gold:
        rows = [
            (
                escape(gold.text),
                gold.importance or "not said",
                escape(gold.status),
                _chip(gold.assignment) if gold.assignment else "not asked",
                "; ".join(f"{escape(m.text)} ({m.similarity})" for m in gold.matches) or "none",
            )
            for gold in answer.nuggets.gold
        ]
        yield from table(
            ("Gold nugget", "Importance", "In the answer", "Judge says", "Stated as"), rows
        )
    if answer.nuggets.note:
        yield f"{answer.nuggets.note}\n"
    extractive = sum(nugget.extractive for nugget in answer.nuggets.answer)
    if answer.nuggets.answer:
        yield f"{len(answer.nuggets.answer)} nuggets in the answer, {extractive} extractive.\n"


def _left_out(report: ReportView) -> Iterator[str]:
    if report.failures or report.rejections:
        yield "## Left out\n"
    if report.failures:
        rows = [
            (
                escape(f.record_id),
                escape(f.stage),
                reason_text(f.failure.reason),
                escape(f.failure.detail),
            )
            for f in report.failures
        ]
        yield from table(("Record", "While at", "Reason", "Detail"), rows)
    if report.rejections:
        rows = [
            (escape(r.file), str(r.line or "all"), *map(escape, (r.field, r.problem, r.expected)))
            for r in report.rejections
        ]
        yield from table(("File", "Line", "Field", "Problem", "Expected"), rows)
