"""The tables of a run: scores, averages, systems, answers, costs, a judge against itself."""

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
"""Scores in the table of answers."""

COST_NOTE = (
    "Cost by LiteLLM's price list. Tokens that the provider read from its cache, or wrote to it, "
    "have their own prices."
)
PART_TITLES: Mapping[str, str] = {
    "searches": "Searches for evidence",
    FAILED_CALLS: "Calls without a usable reply",
}
"""Titles of what is no part of an evaluation; a part has its own name."""


JudgePlace = Literal["caption", "headings", "column"]
"""Where a table of scores names the judges."""


def score_sheet(summary: Summary, judges: JudgePlace = "caption") -> Sheet:
    """Return the scores of a run by group: title, mean over answers, 95 % interval, n, unscored.

    Args:
        judges: Where judges are named; with "headings", a judge that is not its group's stands
            below its score.
    """
    scores = summary.scores
    rows: list[tuple[Cell, ...]] = []
    sections: dict[int, Shown] = {}
    for group in dict.fromkeys(map(score_group, scores)):
        own = {key: score for key, score in scores.items() if score_group(key) == group}
        judge = next(iter(Counter(s.judge for s in own.values() if s.judge).most_common(1)), ("",))
        sections[len(rows)] = Shown(group_title(group), notes=(judged_by_text(judge[0]),))
        for key, score in own.items():
            is_other = judges == "headings" and score.judge != judge[0]
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
    """Return each score over answers, over questions and pooled; no row in earlier versions.

    Only shares are pooled.
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
    """Return systems in rows, the main scores in columns; rubrics only if some were judged."""
    keys = list(dict.fromkeys(chain.from_iterable(systems.values())))
    has_rubrics = any(score_group(key) == "rubric" for key in keys) or not systems
    main = [key for key in MAIN_SCORES if key in keys]
    rows = tuple(
        (
            name,
            max((score.n + score.n_unscored for score in scores.values()), default=0),
            *(_rubric_cell(scores) for _ in range(has_rubrics)),
            *(score_cell(scores.get(key), has_intervals) for key in main),
        )
        for name, scores in systems.items()
    )
    titles = (*(RUBRIC_MEAN,) * has_rubrics, *map(score_title, main))
    return Sheet("Systems", (*words("System"), *numbers("Answers", *titles)), rows)


def every_score_sheet(systems: Mapping[str, Mapping[str, Score]]) -> Sheet:
    """Return every score in rows, systems in columns."""
    rows = tuple(
        (
            score_title(key, _judge(scores.get(key) for scores in systems.values())),
            *(score_cell(scores.get(key)) for scores in systems.values()),
        )
        for key in dict.fromkeys(chain.from_iterable(systems.values()))
    )
    named = (Column("", name or " ", is_number=True, is_name=True) for name in systems)
    return Sheet("Every score by system", (*words("Score"), *named), rows)


def _judge(scores: Iterable[Score | None]) -> str:
    """Return who gave scores, if it was one."""
    judges = {score.judge for score in scores if score is not None}
    return judges.pop() if len(judges) == 1 else ""


def _rubric_cell(scores: Mapping[str, Score]) -> Shown:
    mean = rubric_mean(scores)
    return value_cell(rubric_mean_text(scores), mean is not None and is_number(mean.value))


def answer_sheet(evaluations: Sequence[Outlined]) -> Sheet:
    """Return one row for each answer, in the given order; a score only if some answer has it.

    A serious finding makes the number of findings bold and red.
    """
    keys = {key for evaluation in evaluations for key in evaluation.scores}
    has_rubrics = any(score_group(key) == "rubric" for key in keys)
    shares = [key for key in ANSWER_SCORES if key in keys]
    rows = tuple(
        (
            one.record_id,
            one.system or "not named",
            *(_rubric_cell(one.scores) for _ in range(has_rubrics)),
            *(score_cell(one.scores.get(key), has_interval=False) for key in shares),
            Shown(
                f"{len(one.primary_findings):,}",
                style="bad"
                if any(is_serious(finding.kind) for finding in one.primary_findings)
                else "",
            ),
        )
        for one in evaluations
    )
    titles = (*(RUBRIC_MEAN,) * has_rubrics, *map(score_title, shares), "Findings")
    return Sheet("Answers", (*words("Answer", "System"), *numbers(*titles)), rows)


def cost_sheet(summary: Summary) -> Sheet:
    """Return a row a part, and the sum; none where no model was called, or nobody knows by what.

    The rows add up to the sum.
    """
    parts = {part_title(part): usage for part, usage in summary.usage_by_part.items()}
    rows = [_bill(*one) for one in (*parts.items(), ("All", summary.usage))] if parts else []
    columns = (
        *(Column("part", "Part"), number("n_calls", "Calls"), number("n_sent", "Tokens sent")),
        *(number("n_cached", "Read from a cache"), number("n_written", "Written to a cache")),
        *(number("n_received", "Tokens received"), number("usd", "USD")),
    )
    return Sheet("What it cost", columns, tuple(rows))


def _bill(title: str, usage: Usage) -> tuple[str | int | Shown, ...]:
    cost = usage.cost_usd
    return (
        *(title, usage.n_calls, usage.n_prompt_tokens, usage.n_cached_tokens),
        *(usage.n_cache_write_tokens, usage.n_completion_tokens),
        Shown("unknown" if cost is None else f"{cost:.4f}", cost),
    )


def part_title(part: str) -> str:
    """Return the title of a part.

    Example:
        >>> part_title("rubrics"), part_title("searches")
        ('Rubrics', 'Searches for evidence')
    """
    return PART_TITLES.get(part) or humanise(part)


NOTHING_REPEATED = (
    "No model was asked. Instruments give the same verdict every time, so nothing was repeated."
)


def repeats_text(repeats: Repeats) -> str:
    """Say in a line how often the judge contradicts itself."""
    if not repeats.figures:
        return NOTHING_REPEATED
    known = [figure for figure in repeats.figures if figure.changed.value is not None]
    parts = [
        f"{score_text(one.changed)} [{format_interval(one.changed)}] of {_in_sentence(one)}"
        for one in known
    ]
    if not parts:
        return f"Judged {repeats.n_times} times: nothing got a verdict every time."
    return f"Judged {repeats.n_times} times, verdicts changed in {join_words(parts)}."


def confidence_text(counts: Mapping[str, int]) -> str:
    """Say where the distributions over ratings and labels come from; "" where no model was asked.

    Args:
        counts: Number of verdicts by source, from `Summary.confidence_from`.

    Example:
        >>> confidence_text({"5 samples": 9})
        'Ratings and labels come from 5 samples (9 verdicts).'
    """
    if not counts:
        return ""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    parts = [f"{source} ({count_text(n, 'verdict')})" for source, n in ranked]
    return f"Ratings and labels come from {join_words(parts)}."


def _in_sentence(figure: RepeatFigure) -> str:
    title = figure_title(figure)
    return title[:1].lower() + title[1:]


def figure_title(figure: RepeatFigure) -> str:
    """Return the title of a kind of question, with the panel's judge if there is one."""
    title = question_title(figure.kind)
    return f"{title} by {figure.judge}" if figure.judge else title


def repeats_sheet(repeats: Repeats) -> Sheet:
    """Return the table of a judge measured against itself, a row for each kind of question."""
    columns = (
        *(Column("kind", "Question"), Column("judge"), number("n_times")),
        *(number("changed", "Verdicts that changed"), number("", "95 % interval")),
        *score_columns("changed", "", "Compared", "Lacking a verdict")[1:],
        number("mean_spread", "Mean spread of scores"),
    )
    rows = tuple(
        (
            *(figure_title(one), one.judge, repeats.n_times),
            *(score_cell(one.changed, has_interval=False), format_interval(one.changed)),
            *score_cells(one.changed)[1:6],
            Shown(none_text(one.changed.n_unscored), one.changed.n_unscored),
            Shown(format_value(one.mean_spread, LIKERT), one.mean_spread),
        )
        for one in repeats.figures
    )
    return Sheet("Repeated verdicts of the judge", columns, rows, caption=repeats_text(repeats))
