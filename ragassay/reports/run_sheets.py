"""Build tables of a run: scores, averages, systems, answers, costs and repeated verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal

from ragassay.metrics.papers.answer_scores import LIKERT
from ragassay.records import FAILED_CALLS, Outlined, RepeatFigure, Repeats, Score, Summary, Usage
from ragassay.reports.display import (
    format_interval,
    format_judge,
    format_judged_by,
    format_score,
    format_value,
    is_number,
)
from ragassay.reports.labels import is_serious
from ragassay.reports.sheets import (
    Cell,
    Column,
    Sheet,
    Shown,
    build_number_column,
    build_number_columns,
    build_score_cell,
    build_score_cells,
    build_score_columns,
    build_text_columns,
    build_unscored_cell,
    build_value_cell,
    format_count_or_none,
)
from ragassay.reports.text import (
    MAIN_SCORES,
    RUBRIC_MEAN,
    average_rubrics,
    count_text,
    extract_score_group,
    find_group_title,
    find_question_title,
    find_score_direction,
    find_score_title,
    format_rubric_mean,
    humanise,
    join_words,
)

ANSWER_SCORES = ("nuggets.recall", "citations.support", "correctness.score")
"""Scores shown in the answer table."""

COST_NOTE = (
    "Costs are computed from LiteLLM's price list. Tokens read from or written to the provider's "
    "cache are priced separately."
)
PART_TITLES: Mapping[str, str] = {
    "searches": "Evidence searches",
    FAILED_CALLS: "Calls without a usable reply",
}
"""Titles of cost items that belong to no part of an evaluation."""


JudgePlace = Literal["caption", "headings", "column"]
"""Place where a table of scores names the judges."""


def build_run_score_sheet(summary: Summary, judges: JudgePlace = "caption") -> Sheet:
    """Return the scores of a run by group, as means over answers with 95 % intervals.

    Args:
        judges: Where to name the judges. With "headings", each group heading names its most common
            judge, and scores by other judges have a note.
    """
    scores = summary.scores
    rows: list[tuple[Cell, ...]] = []
    sections: dict[int, Shown] = {}
    for group in dict.fromkeys(map(extract_score_group, scores)):
        members = {key: score for key, score in scores.items() if extract_score_group(key) == group}
        common = Counter(s.judge for s in members.values() if s.judge).most_common(1)
        judge = common[0][0] if common else ""
        sections[len(rows)] = Shown(find_group_title(group), notes=(format_judged_by(judge),))
        for key, score in members.items():
            is_other = judges == "headings" and score.judge != judge
            notes = (
                *("lower is better",) * (find_score_direction(key) == "lower"),
                *(format_judge(score.judge),) * is_other,
            )
            rows.append(
                (
                    Shown(find_score_title(key, score.judge), notes=notes),
                    *(format_judge(score.judge),) * (judges == "column"),
                    *(build_score_cell(score, has_interval=False), format_interval(score)),
                    *(score.n, build_unscored_cell(score)),
                )
            )
    columns = (
        *build_text_columns("Score", *("Judge",) * (judges == "column")),
        *build_number_columns(
            "Mean", "95 % interval", "n" if judges == "caption" else "Answers", "Unscored"
        ),
    )
    caption = _describe_judges(scores) if judges == "caption" else ""
    return Sheet("Scores, means over answers", columns, tuple(rows), caption, sections=sections)


def _describe_judges(scores: Mapping[str, Score]) -> str:
    judges: dict[str, list[str]] = {}
    for key, score in scores.items():
        groups = judges.setdefault(score.judge, [])
        if score.judge and find_group_title(extract_score_group(key)) not in groups:
            groups.append(find_group_title(extract_score_group(key)))
    lines = [
        f"{', '.join(groups)}: {format_judged_by(judge)}"
        for judge, groups in judges.items()
        if judge
    ]
    return "; ".join(lines)


def build_averages_sheet(summary: Summary) -> Sheet:
    """Return each score averaged over answers, averaged over questions and pooled.

    Only scores that are shares are pooled. Runs from earlier versions give no rows.
    """
    rows = tuple(
        (
            find_score_title(key, score.judge),
            build_score_cell(score),
            build_score_cell(summary.by_question.get(key)),
            build_score_cell(summary.pooled[key]) if key in summary.pooled else None,
        )
        for key, score in summary.scores.items()
        if summary.by_question
    )
    columns = (
        *build_text_columns("Score"),
        *build_number_columns("Over answers", "Over questions", "Pooled"),
    )
    return Sheet("Scores averaged in three ways", columns, rows)


def build_system_sheet(
    systems: Mapping[str, Mapping[str, Score]], has_intervals: bool = True
) -> Sheet:
    """Return the main scores of each system, with the rubric mean if rubrics were judged."""
    keys = list(dict.fromkeys(chain.from_iterable(systems.values())))
    has_rubrics = any(extract_score_group(key) == "rubric" for key in keys) or not systems
    main = [key for key in MAIN_SCORES if key in keys]
    rows = tuple(
        (
            name,
            max((score.n + score.n_unscored for score in scores.values()), default=0),
            *(_build_rubric_cell(scores),) * has_rubrics,
            *(build_score_cell(scores.get(key), has_intervals) for key in main),
        )
        for name, scores in systems.items()
    )
    titles = (*(RUBRIC_MEAN,) * has_rubrics, *map(find_score_title, main))
    return Sheet(
        "Systems", (*build_text_columns("System"), *build_number_columns("Answers", *titles)), rows
    )


def build_every_score_sheet(systems: Mapping[str, Mapping[str, Score]]) -> Sheet:
    """Return a table of all scores, with scores as rows and systems as columns."""
    rows = tuple(
        (
            find_score_title(
                key, _find_common_judge(scores.get(key) for scores in systems.values())
            ),
            *(build_score_cell(scores.get(key)) for scores in systems.values()),
        )
        for key in dict.fromkeys(chain.from_iterable(systems.values()))
    )
    named = (Column("", name or " ", is_number=True, is_name=True) for name in systems)
    return Sheet("Every score by system", (*build_text_columns("Score"), *named), rows)


def _find_common_judge(scores: Iterable[Score | None]) -> str:
    judges = {score.judge for score in scores if score is not None}
    return judges.pop() if len(judges) == 1 else ""


def _build_rubric_cell(scores: Mapping[str, Score]) -> Shown:
    mean = average_rubrics(scores)
    return build_value_cell(format_rubric_mean(scores), mean is not None and is_number(mean.value))


def build_answer_sheet(evaluations: Sequence[Outlined]) -> Sheet:
    """Return a table with one row per answer, and columns for the scores that any answer has.

    The number of findings is bold and red if any finding is serious.
    """
    keys = {key for evaluation in evaluations for key in evaluation.scores}
    has_rubrics = any(extract_score_group(key) == "rubric" for key in keys)
    shares = [key for key in ANSWER_SCORES if key in keys]
    rows = tuple(
        (
            outline.record_id,
            outline.system or "not named",
            *(_build_rubric_cell(outline.scores),) * has_rubrics,
            *(build_score_cell(outline.scores.get(key), has_interval=False) for key in shares),
            Shown(
                f"{len(outline.primary_findings):,}",
                style="bad"
                if any(is_serious(finding.kind) for finding in outline.primary_findings)
                else "",
            ),
        )
        for outline in evaluations
    )
    titles = (*(RUBRIC_MEAN,) * has_rubrics, *map(find_score_title, shares), "Findings")
    return Sheet(
        "Answers", (*build_text_columns("Answer", "System"), *build_number_columns(*titles)), rows
    )


def build_cost_sheet(summary: Summary) -> Sheet:
    """Return a table of costs by item, with a total, or no rows if costs were not itemized."""
    rows: list[tuple[Cell, ...]] = []
    if summary.usage_by_part:
        rows = [
            _build_cost_row(find_part_title(part), used)
            for part, used in summary.usage_by_part.items()
        ]
        rows.append(_build_cost_row("All", summary.usage))
    columns = (
        *(
            Column("part", "Part"),
            build_number_column("n_calls", "Calls"),
            build_number_column("n_sent", "Tokens sent"),
        ),
        *(
            build_number_column("n_cached", "Read from a cache"),
            build_number_column("n_written", "Written to a cache"),
        ),
        *(build_number_column("n_received", "Tokens received"), build_number_column("usd", "USD")),
    )
    return Sheet("Cost", columns, tuple(rows))


def _build_cost_row(title: str, usage: Usage) -> tuple[str | int | Shown, ...]:
    cost = usage.cost_usd
    return (
        *(title, usage.n_calls, usage.n_prompt_tokens, usage.n_cached_tokens),
        *(usage.n_cache_write_tokens, usage.n_completion_tokens),
        Shown("unknown" if cost is None else f"{cost:.4f}", cost),
    )


def find_part_title(part: str) -> str:
    """Return the title of a cost item.

    Example:
        >>> find_part_title("rubrics"), find_part_title("searches")
        ('Rubrics', 'Evidence searches')
    """
    return PART_TITLES.get(part) or humanise(part)


NOTHING_REPEATED = (
    "No model was called. Small local models and rules always return the same verdict, so nothing "
    "was repeated."
)


def describe_repeats(repeats: Repeats) -> str:
    """Describe how often repeated verdicts of the judge differ."""
    if not repeats.figures:
        return NOTHING_REPEATED
    parts = [
        f"{format_score(figure.changed)} [{format_interval(figure.changed)}] of "
        f"{title[:1].lower()}{title[1:]}"
        for figure in repeats.figures
        if figure.changed.value is not None and (title := format_figure_title(figure))
    ]
    start = f"The answers were judged {repeats.n_times} times"
    if not parts:
        return f"{start}, but no item got a verdict every time."
    return f"{start}. Verdicts changed in {join_words(parts)}."


def describe_confidence(counts: Mapping[str, int]) -> str:
    """Describe the source of rating and label distributions, or return "" if no model was asked.

    Args:
        counts: Number of verdicts by source, from `Summary.confidence_from`.

    Example:
        >>> describe_confidence({"5 samples": 9})
        'Probabilities of ratings and labels come from 5 samples (9 verdicts).'
    """
    if not counts:
        return ""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    parts = [f"{source} ({count_text(n, 'verdict')})" for source, n in ranked]
    return f"Probabilities of ratings and labels come from {join_words(parts)}."


def format_figure_title(figure: RepeatFigure) -> str:
    """Return the title of a question kind, with the panel judge if there is one."""
    title = find_question_title(figure.kind)
    return f"{title} by {figure.judge}" if figure.judge else title


def build_repeats_sheet(repeats: Repeats) -> Sheet:
    """Return a table of the consistency of repeated verdicts, one row per kind of question."""
    columns = (
        *(Column("kind", "Question"), Column("judge"), build_number_column("n_times")),
        *(
            build_number_column("changed", "Verdicts that changed"),
            build_number_column("", "95 % interval"),
        ),
        *build_score_columns("changed", "", "Compared", "Missing a verdict")[1:],
        build_number_column("mean_spread", "Mean range of scores"),
    )
    rows = tuple(
        (
            *(format_figure_title(figure), figure.judge, repeats.n_times),
            *(
                build_score_cell(figure.changed, has_interval=False),
                format_interval(figure.changed),
            ),
            *build_score_cells(figure.changed)[1:6],
            Shown(format_count_or_none(figure.changed.n_unscored), figure.changed.n_unscored),
            Shown(format_value(figure.mean_spread, LIKERT), figure.mean_spread),
        )
        for figure in repeats.figures
    )
    return Sheet("Repeated verdicts of the judge", columns, rows, caption=describe_repeats(repeats))
