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
    format_value,
    is_number,
    judge_text,
    judged_by_text,
    score_text,
)
from ragassay.reports.labels import is_serious
from ragassay.reports.sheets import (
    Cell,
    Column,
    Sheet,
    Shown,
    none_text,
    number,
    numbers,
    score_cell,
    score_cells,
    score_columns,
    unscored_cell,
    value_cell,
    words,
)
from ragassay.reports.text import (
    MAIN_SCORES,
    RUBRIC_MEAN,
    count_text,
    group_title,
    humanise,
    join_words,
    question_title,
    rubric_mean,
    rubric_mean_text,
    score_direction,
    score_group,
    score_title,
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


def score_sheet(summary: Summary, judges: JudgePlace = "caption") -> Sheet:
    """Return the scores of a run by group, as means over answers with 95 % intervals.

    Args:
        judges: Where to name the judges. With "headings", each group heading names its most common
            judge, and scores by other judges have a note.
    """
    scores = summary.scores
    rows: list[tuple[Cell, ...]] = []
    sections: dict[int, Shown] = {}
    for group in dict.fromkeys(map(score_group, scores)):
        members = {key: score for key, score in scores.items() if score_group(key) == group}
        common = Counter(s.judge for s in members.values() if s.judge).most_common(1)
        judge = common[0][0] if common else ""
        sections[len(rows)] = Shown(group_title(group), notes=(judged_by_text(judge),))
        for key, score in members.items():
            is_other = judges == "headings" and score.judge != judge
            notes = (
                *("lower is better",) * (score_direction(key) == "lower"),
                *(judge_text(score.judge),) * is_other,
            )
            rows.append(
                (
                    Shown(score_title(key, score.judge), notes=notes),
                    *(judge_text(score.judge),) * (judges == "column"),
                    *(score_cell(score, has_interval=False), format_interval(score)),
                    *(score.n, unscored_cell(score)),
                )
            )
    columns = (
        *words("Score", *("Judge",) * (judges == "column")),
        *numbers("Mean", "95 % interval", "n" if judges == "caption" else "Answers", "Unscored"),
    )
    caption = _judges_text(scores) if judges == "caption" else ""
    return Sheet("Scores, means over answers", columns, tuple(rows), caption, sections=sections)


def _judges_text(scores: Mapping[str, Score]) -> str:
    judges: dict[str, list[str]] = {}
    for key, score in scores.items():
        groups = judges.setdefault(score.judge, [])
        if score.judge and group_title(score_group(key)) not in groups:
            groups.append(group_title(score_group(key)))
    lines = [
        f"{', '.join(groups)}: {judged_by_text(judge)}" for judge, groups in judges.items() if judge
    ]
    return "; ".join(lines)


def averages_sheet(summary: Summary) -> Sheet:
    """Return each score averaged over answers, averaged over questions and pooled.

    Only scores that are shares are pooled. Runs from earlier versions give no rows.
    """
    rows = tuple(
        (
            score_title(key, score.judge),
            score_cell(score),
            score_cell(summary.by_question.get(key)),
            score_cell(summary.pooled[key]) if key in summary.pooled else None,
        )
        for key, score in summary.scores.items()
        if summary.by_question
    )
    columns = (*words("Score"), *numbers("Over answers", "Over questions", "Pooled"))
    return Sheet("Scores averaged in three ways", columns, rows)


def system_sheet(systems: Mapping[str, Mapping[str, Score]], has_intervals: bool = True) -> Sheet:
    """Return the main scores of each system, with the rubric mean if rubrics were judged."""
    keys = list(dict.fromkeys(chain.from_iterable(systems.values())))
    has_rubrics = any(score_group(key) == "rubric" for key in keys) or not systems
    main = [key for key in MAIN_SCORES if key in keys]
    rows = tuple(
        (
            name,
            max((score.n + score.n_unscored for score in scores.values()), default=0),
            *(_rubric_cell(scores),) * has_rubrics,
            *(score_cell(scores.get(key), has_intervals) for key in main),
        )
        for name, scores in systems.items()
    )
    titles = (*(RUBRIC_MEAN,) * has_rubrics, *map(score_title, main))
    return Sheet("Systems", (*words("System"), *numbers("Answers", *titles)), rows)


def every_score_sheet(systems: Mapping[str, Mapping[str, Score]]) -> Sheet:
    """Return a table of all scores, with scores as rows and systems as columns."""
    rows = tuple(
        (
            score_title(key, _common_judge(scores.get(key) for scores in systems.values())),
            *(score_cell(scores.get(key)) for scores in systems.values()),
        )
        for key in dict.fromkeys(chain.from_iterable(systems.values()))
    )
    named = (Column("", name or " ", is_number=True, is_name=True) for name in systems)
    return Sheet("Every score by system", (*words("Score"), *named), rows)


def _common_judge(scores: Iterable[Score | None]) -> str:
    judges = {score.judge for score in scores if score is not None}
    return judges.pop() if len(judges) == 1 else ""


def _rubric_cell(scores: Mapping[str, Score]) -> Shown:
    mean = rubric_mean(scores)
    return value_cell(rubric_mean_text(scores), mean is not None and is_number(mean.value))


def answer_sheet(evaluations: Sequence[Outlined]) -> Sheet:
    """Return a table with one row per answer, and columns for the scores that any answer has.

    The number of findings is bold and red if any finding is serious.
    """
    keys = {key for evaluation in evaluations for key in evaluation.scores}
    has_rubrics = any(score_group(key) == "rubric" for key in keys)
    shares = [key for key in ANSWER_SCORES if key in keys]
    rows = tuple(
        (
            outline.record_id,
            outline.system or "not named",
            *(_rubric_cell(outline.scores),) * has_rubrics,
            *(score_cell(outline.scores.get(key), has_interval=False) for key in shares),
            Shown(
                f"{len(outline.primary_findings):,}",
                style="bad"
                if any(is_serious(finding.kind) for finding in outline.primary_findings)
                else "",
            ),
        )
        for outline in evaluations
    )
    titles = (*(RUBRIC_MEAN,) * has_rubrics, *map(score_title, shares), "Findings")
    return Sheet("Answers", (*words("Answer", "System"), *numbers(*titles)), rows)


def cost_sheet(summary: Summary) -> Sheet:
    """Return a table of costs by item, with a total, or no rows if costs were not itemized."""
    rows: list[tuple[Cell, ...]] = []
    if summary.usage_by_part:
        rows = [_cost_row(part_title(part), used) for part, used in summary.usage_by_part.items()]
        rows.append(_cost_row("All", summary.usage))
    columns = (
        *(Column("part", "Part"), number("n_calls", "Calls"), number("n_sent", "Tokens sent")),
        *(number("n_cached", "Read from a cache"), number("n_written", "Written to a cache")),
        *(number("n_received", "Tokens received"), number("usd", "USD")),
    )
    return Sheet("Cost", columns, tuple(rows))


def _cost_row(title: str, usage: Usage) -> tuple[str | int | Shown, ...]:
    cost = usage.cost_usd
    return (
        *(title, usage.n_calls, usage.n_prompt_tokens, usage.n_cached_tokens),
        *(usage.n_cache_write_tokens, usage.n_completion_tokens),
        Shown("unknown" if cost is None else f"{cost:.4f}", cost),
    )


def part_title(part: str) -> str:
    """Return the title of a cost item.

    Example:
        >>> part_title("rubrics"), part_title("searches")
        ('Rubrics', 'Evidence searches')
    """
    return PART_TITLES.get(part) or humanise(part)


NOTHING_REPEATED = (
    "No model was called. Small local models and rules always return the same verdict, so nothing "
    "was repeated."
)


def repeats_text(repeats: Repeats) -> str:
    """Describe how often repeated verdicts of the judge differ."""
    if not repeats.figures:
        return NOTHING_REPEATED
    parts = [
        f"{score_text(figure.changed)} [{format_interval(figure.changed)}] of "
        f"{title[:1].lower()}{title[1:]}"
        for figure in repeats.figures
        if figure.changed.value is not None and (title := figure_title(figure))
    ]
    start = f"The answers were judged {repeats.n_times} times"
    if not parts:
        return f"{start}, but no item got a verdict every time."
    return f"{start}. Verdicts changed in {join_words(parts)}."


def confidence_text(counts: Mapping[str, int]) -> str:
    """Describe the source of rating and label distributions, or return "" if no model was asked.

    Args:
        counts: Number of verdicts by source, from `Summary.confidence_from`.

    Example:
        >>> confidence_text({"5 samples": 9})
        'Probabilities of ratings and labels come from 5 samples (9 verdicts).'
    """
    if not counts:
        return ""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    parts = [f"{source} ({count_text(n, 'verdict')})" for source, n in ranked]
    return f"Probabilities of ratings and labels come from {join_words(parts)}."


def figure_title(figure: RepeatFigure) -> str:
    """Return the title of a question kind, with the panel judge if there is one."""
    title = question_title(figure.kind)
    return f"{title} by {figure.judge}" if figure.judge else title


def repeats_sheet(repeats: Repeats) -> Sheet:
    """Return a table of the consistency of repeated verdicts, one row per kind of question."""
    columns = (
        *(Column("kind", "Question"), Column("judge"), number("n_times")),
        *(number("changed", "Verdicts that changed"), number("", "95 % interval")),
        *score_columns("changed", "", "Compared", "Missing a verdict")[1:],
        number("mean_spread", "Mean range of scores"),
    )
    rows = tuple(
        (
            *(figure_title(figure), figure.judge, repeats.n_times),
            *(score_cell(figure.changed, has_interval=False), format_interval(figure.changed)),
            *score_cells(figure.changed)[1:6],
            Shown(none_text(figure.changed.n_unscored), figure.changed.n_unscored),
            Shown(format_value(figure.mean_spread, LIKERT), figure.mean_spread),
        )
        for figure in repeats.figures
    )
    return Sheet("Repeated verdicts of the judge", columns, rows, caption=repeats_text(repeats))
