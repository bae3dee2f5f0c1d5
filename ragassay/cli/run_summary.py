"""Summarize a run on the terminal, in about 40 lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest

from ragassay.records import UNSCORED_KINDS, Evaluation, Outlined, Score, Summary
from ragassay.reports.display import NOT_DEFINED, UNSCORED, format_interval
from ragassay.reports.findings_view import describe_secondary_findings, view_cards
from ragassay.reports.labels import (
    REFUSAL,
    find_finding_title,
    flatten_text,
    is_serious,
    rank_finding_kind,
)
from ragassay.reports.run_sheets import build_system_sheet
from ragassay.reports.sheets import (
    Cell,
    Sheet,
    build_number_columns,
    build_score_cell,
    build_text_columns,
    build_value_cell,
    format_count_or_none,
)
from ragassay.reports.text import (
    average_rubrics,
    count_text,
    extract_score_group,
    find_group_title,
    find_score_direction,
    find_score_title,
    format_rubric_mean,
    join_words,
)

MOST_FINDINGS = 5
MOST_LINES_OF_RUBRICS = 4
"""Number of rubrics above which only their mean and the two lowest are shown."""
MOST_LINES, WIDTH = 40, 80
FIXED_LINES = 8
"""Number of lines for the progress bar, the headline, the report path and the table header."""
SYSTEM_LINES = 6
LEAST_ROWS = 8
"""Minimum number of rows in the table of scores."""
MOST_SYSTEMS = 4
MOST_NAMED = 3
"""Maximum number of answers listed with secondary findings."""
ORDER = ("Lowest rubric", "Second lowest")


def list_worst_findings(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield one line for each serious finding, worst first."""
    serious = [card for card in view_cards(evaluations) if card.severity == "serious"]
    for card in serious[:MOST_FINDINGS]:
        yield flatten_text(f"  {card.record}: {card.why}")
    if len(serious) > MOST_FINDINGS:
        yield f"  ... and {len(serious) - MOST_FINDINGS:,} more in the report"


def describe_lesser_findings(summary: Summary) -> str:
    """Return a sentence that counts the less serious main findings, or "" if there are none."""
    found = {k: n for k, n in summary.findings.items() if n and not is_serious(k)}
    kinds = sorted(found.keys() - {*UNSCORED_KINDS, REFUSAL}, key=rank_finding_kind)
    parts = (f"{found[kind]:,} {find_finding_title(kind, found[kind]).lower()}" for kind in kinds)
    return f"Less serious: {join_words(parts)}." if kinds else ""


def count_rows_left(lines: Sequence[str], n_systems: int) -> int:
    """Return the number of score rows that fit on the screen along with the other lines.

    Example:
        >>> count_rows_left(["x" * 81], n_systems=0), count_rows_left([], n_systems=2)
        (30, 24)
    """
    n_taken = sum(-(-len(line) // WIDTH) for line in lines)
    n_taken += SYSTEM_LINES + min(n_systems, MOST_SYSTEMS) if n_systems else 0
    return max(LEAST_ROWS, MOST_LINES - FIXED_LINES - n_taken)


def build_brief_score_sheet(summary: Summary, n_most: int) -> Sheet:
    """Return a short table of the scores of a run.

    If there are many rubrics, only their mean and the two lowest are shown. Scores whose verdicts
    all failed are omitted and counted in the caption. If the other scores do not fit, only the
    first scores of each group are shown.
    """
    scores = {key: one for key, one in summary.scores.items() if not _is_lost(one, summary)}
    rubrics = {key: one for key, one in scores.items() if extract_score_group(key) == "rubric"}
    others = [(key, one) for key, one in scores.items() if key not in rubrics]
    rubric_rows = list(_build_rubric_rows(rubrics))
    shown = _select_first_scores(others, n_most - len(rubric_rows))
    rows = [
        *rubric_rows,
        *(_build_row(_format_title(*one), one[1]) for one in others if one[0] in shown),
    ]
    n_lost, n_more = len(summary.scores) - len(scores), len(others) - len(shown)
    caption = [f"{count_text(n_lost, 'score')} without a value; see the report."] if n_lost else []
    caption += [f"{count_text(n_more, 'more score')} in the report."] if n_more else []
    columns = (
        *build_text_columns("Score"),
        *build_number_columns("Mean", "Interval", "n", "Unscored"),
    )
    title = "Scores: mean over answers, 95 % interval, number of answers"
    return Sheet(title, columns, tuple(rows), " ".join(caption))


def _select_first_scores(scores: Sequence[tuple[str, Score]], n_most: int) -> set[str]:
    groups: dict[str, list[str]] = {}
    for key, _ in scores:
        groups.setdefault(extract_score_group(key), []).append(key)
    in_turn = chain.from_iterable(zip_longest(*groups.values()))
    return set(islice(filter(None, in_turn), max(0, n_most)))


def _is_lost(score: Score, summary: Summary) -> bool:
    return bool(summary.unscored) and score.decided is None and bool(score.n_unscored)


def _build_rubric_rows(rubrics: Mapping[str, Score]) -> Iterator[tuple[Cell, ...]]:
    mean = average_rubrics(rubrics)
    if len(rubrics) <= MOST_LINES_OF_RUBRICS or mean is None:
        yield from (_build_row(_format_title(key, one), one) for key, one in rubrics.items())
        return
    n = max(score.n for score in rubrics.values())
    n_unscored = max(score.n_unscored for score in rubrics.values())
    text = f"{format_rubric_mean(rubrics)} of {mean.scale[1]:g}"
    cell = build_value_cell(text, mean.value is not None)
    yield (
        f"Mean of {len(rubrics)} rubrics",
        cell,
        NOT_DEFINED,
        n,
        format_count_or_none(n_unscored),
    )
    known = {key: one.decided for key, one in rubrics.items() if one.decided is not None}
    for label, key in zip(ORDER, sorted(known, key=known.__getitem__), strict=False):
        yield _build_row(f"{label}: {_format_title(key, rubrics[key])}", rubrics[key])


def _format_title(key: str, score: Score) -> str:
    is_lower_better = find_score_direction(key) == "lower"
    return f"{find_score_title(key, score.judge)}{' (lower is better)' * is_lower_better}"


def _build_row(title: str, score: Score) -> tuple[Cell, ...]:
    value = build_score_cell(score, has_interval=False)
    if value.text.startswith(UNSCORED):
        value = replace(value, text=UNSCORED)
    return (title, value, format_interval(score), score.n, format_count_or_none(score.n_unscored))


def build_brief_system_sheet(systems: Mapping[str, Mapping[str, Score]]) -> Sheet:
    """Return a table of the main scores with one row per system, cut after `MOST_SYSTEMS` rows."""
    sheet = build_system_sheet(systems, has_intervals=False)
    n_more = len(sheet.rows) - MOST_SYSTEMS
    caption = f"{count_text(n_more, 'more system')} in the report." if n_more > 0 else ""
    return replace(sheet, rows=sheet.rows[:MOST_SYSTEMS], caption=caption)


def describe_score_judges(summary: Summary) -> Iterator[str]:
    """Yield a sentence that names the judge of each group of scores, if any judge is known."""
    groups: dict[str, list[str]] = {}
    for key, score in summary.scores.items():
        if score.judge:
            groups.setdefault(score.judge, []).append(
                find_group_title(extract_score_group(key)).lower()
            )
    if len(groups) == 1:
        yield f"Judged by {next(iter(groups))}."
    elif groups:
        parts = (f"{join_words(dict.fromkeys(own))} by {judge}" for judge, own in groups.items())
        yield f"Judged: {'; '.join(parts)}."


def summarize_secondary_findings(summary: Summary, outlines: Sequence[Outlined]) -> str:
    """Return a sentence about secondary findings, or "" if there are none."""
    counts = [(one.record_id, n) for one in outlines if (n := len(one.secondary_findings))]
    top = sorted(counts, key=lambda count: -count[1])[:MOST_NAMED]
    parts = [f"{flatten_text(name)} ({n})" for name, n in top]
    most = f"Most are in {join_words(parts)}." if len(outlines) > MOST_NAMED and parts else ""
    return " ".join(filter(None, (describe_secondary_findings(summary), most)))
