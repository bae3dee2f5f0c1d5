"""Summarize a run on the terminal, in about 40 lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest

from ragassay.records import UNSCORED_KINDS, Evaluation, Outlined, Score, Summary
from ragassay.reports.display import NOT_DEFINED, UNSCORED, format_interval
from ragassay.reports.findings_view import secondary_text, view_cards
from ragassay.reports.labels import REFUSAL, finding_rank, finding_title, is_serious, one_line
from ragassay.reports.run_sheets import system_sheet
from ragassay.reports.sheets import Cell, Sheet, none_text, numbers, score_cell, value_cell, words
from ragassay.reports.text import (
    count_text,
    group_title,
    join_words,
    rubric_mean,
    rubric_mean_text,
    score_direction,
    score_group,
    score_title,
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


def worst_lines(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield one line for each serious finding, worst first."""
    serious = [card for card in view_cards(evaluations) if card.severity == "serious"]
    for card in serious[:MOST_FINDINGS]:
        yield one_line(f"  {card.record}: {card.why}")
    if len(serious) > MOST_FINDINGS:
        yield f"  ... and {len(serious) - MOST_FINDINGS:,} more in the report"


def lesser_text(summary: Summary) -> str:
    """Return a sentence that counts the less serious main findings, or "" if there are none."""
    found = {k: n for k, n in summary.findings.items() if n and not is_serious(k)}
    kinds = sorted(found.keys() - {*UNSCORED_KINDS, REFUSAL}, key=finding_rank)
    parts = (f"{found[kind]:,} {finding_title(kind, found[kind]).lower()}" for kind in kinds)
    return f"Less serious: {join_words(parts)}." if kinds else ""


def rows_left(lines: Sequence[str], n_systems: int) -> int:
    """Return the number of score rows that fit on the screen along with the other lines.

    Example:
        >>> rows_left(["x" * 81], n_systems=0), rows_left([], n_systems=2)
        (30, 24)
    """
    n_taken = sum(-(-len(line) // WIDTH) for line in lines)
    n_taken += SYSTEM_LINES + min(n_systems, MOST_SYSTEMS) if n_systems else 0
    return max(LEAST_ROWS, MOST_LINES - FIXED_LINES - n_taken)


def brief_score_sheet(summary: Summary, n_most: int) -> Sheet:
    """Return a short table of the scores of a run.

    If there are many rubrics, only their mean and the two lowest are shown. Scores whose verdicts
    all failed are omitted and counted in the caption. If the other scores do not fit, only the
    first scores of each group are shown.
    """
    scores = {key: one for key, one in summary.scores.items() if not _is_lost(one, summary)}
    rubrics = {key: one for key, one in scores.items() if score_group(key) == "rubric"}
    others = [(key, one) for key, one in scores.items() if key not in rubrics]
    rubric_rows = list(_rubric_rows(rubrics))
    shown = _first_of_groups(others, n_most - len(rubric_rows))
    rows = [*rubric_rows, *(_row(_title(*one), one[1]) for one in others if one[0] in shown)]
    n_lost, n_more = len(summary.scores) - len(scores), len(others) - len(shown)
    caption = [f"{count_text(n_lost, 'score')} without a value; see the report."] if n_lost else []
    caption += [f"{count_text(n_more, 'more score')} in the report."] if n_more else []
    columns = (*words("Score"), *numbers("Mean", "Interval", "n", "Unscored"))
    title = "Scores: mean over answers, 95 % interval, number of answers"
    return Sheet(title, columns, tuple(rows), " ".join(caption))


def _first_of_groups(scores: Sequence[tuple[str, Score]], n_most: int) -> set[str]:
    groups: dict[str, list[str]] = {}
    for key, _ in scores:
        groups.setdefault(score_group(key), []).append(key)
    in_turn = chain.from_iterable(zip_longest(*groups.values()))
    return set(islice(filter(None, in_turn), max(0, n_most)))


def _is_lost(score: Score, summary: Summary) -> bool:
    return bool(summary.unscored) and score.decided is None and bool(score.n_unscored)


def _rubric_rows(rubrics: Mapping[str, Score]) -> Iterator[tuple[Cell, ...]]:
    mean = rubric_mean(rubrics)
    if len(rubrics) <= MOST_LINES_OF_RUBRICS or mean is None:
        yield from (_row(_title(key, one), one) for key, one in rubrics.items())
        return
    n = max(score.n for score in rubrics.values())
    n_unscored = max(score.n_unscored for score in rubrics.values())
    text = f"{rubric_mean_text(rubrics)} of {mean.scale[1]:g}"
    cell = value_cell(text, mean.value is not None)
    yield (f"Mean of {len(rubrics)} rubrics", cell, NOT_DEFINED, n, none_text(n_unscored))
    known = {key: one.decided for key, one in rubrics.items() if one.decided is not None}
    for label, key in zip(ORDER, sorted(known, key=known.__getitem__), strict=False):
        yield _row(f"{label}: {_title(key, rubrics[key])}", rubrics[key])


def _title(key: str, score: Score) -> str:
    is_lower_better = score_direction(key) == "lower"
    return f"{score_title(key, score.judge)}{' (lower is better)' * is_lower_better}"


def _row(title: str, score: Score) -> tuple[Cell, ...]:
    value = score_cell(score, has_interval=False)
    if value.text.startswith(UNSCORED):
        value = replace(value, text=UNSCORED)
    return (title, value, format_interval(score), score.n, none_text(score.n_unscored))


def brief_system_sheet(systems: Mapping[str, Mapping[str, Score]]) -> Sheet:
    """Return a table of the main scores with one row per system, cut after `MOST_SYSTEMS` rows."""
    sheet = system_sheet(systems, has_intervals=False)
    n_more = len(sheet.rows) - MOST_SYSTEMS
    caption = f"{count_text(n_more, 'more system')} in the report." if n_more > 0 else ""
    return replace(sheet, rows=sheet.rows[:MOST_SYSTEMS], caption=caption)


def judges_lines(summary: Summary) -> Iterator[str]:
    """Yield a sentence that names the judge of each group of scores, if any judge is known."""
    groups: dict[str, list[str]] = {}
    for key, score in summary.scores.items():
        if score.judge:
            groups.setdefault(score.judge, []).append(group_title(score_group(key)).lower())
    if len(groups) == 1:
        yield f"Judged by {next(iter(groups))}."
    elif groups:
        parts = (f"{join_words(dict.fromkeys(own))} by {judge}" for judge, own in groups.items())
        yield f"Judged: {'; '.join(parts)}."


def secondary_line(summary: Summary, outlines: Sequence[Outlined]) -> str:
    """Return a sentence about secondary findings, or "" if there are none."""
    counts = [(one.record_id, n) for one in outlines if (n := len(one.secondary_findings))]
    top = sorted(counts, key=lambda count: -count[1])[:MOST_NAMED]
    parts = [f"{one_line(name)} ({n})" for name, n in top]
    most = f"Most are in {join_words(parts)}." if len(outlines) > MOST_NAMED and parts else ""
    return " ".join(filter(None, (secondary_text(summary), most)))
