"""A judge's agreement with people, for the terminal, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.alignment import Alignment
from ragassay.metrics.rankings import Ranking
from ragassay.metrics.trust import TaskTrust, TrustFigure
from ragassay.records import Score
from ragassay.reports.labels import label_text
from ragassay.reports.tables import cell_text, plain_table, value_text
from ragassay.reports.tabular import csv_text, latex_text
from ragassay.reports.text import count_text, score_title

if TYPE_CHECKING:
    from rich.table import Table

UNDEFINED = "undefined"
COLUMNS = ("task", "reading", "metric", "value", "low", "high", "n", "n_unscored", "judge")
CLASS_COLUMNS = (
    *("task", "reading", "label", "n_people", "n_judge", "precision", "recall", "f1"),
    *("f1_low", "f1_high"),
)
TITLES = {
    "relevance": "Relevance of sentences",
    "citation": "Citations",
    "nugget": "Gold nuggets",
    "rubric": "Rubrics",
    "racar": "Question-answer pairs (RACAR)",
    "accuracy": "Accuracy of answers",
    "evidence": "Evidence beside sentences",
    "correctness": "Correctness of sentences",
    "exam_grade": "Grades by a test bank",
    "relevance_grade": "Relevance of passages",
}


def trust_tables(tasks: Sequence[TaskTrust], rankings: Sequence[Ranking]) -> Iterator[Table]:
    """Yield one table per task, then the rankings."""
    for task in dict.fromkeys(trust.task for trust in tasks):
        members = [trust for trust in tasks if trust.task == task]
        table = plain_table(TITLES.get(task, label_text(task)), ("Reading", "Measure"), NUMBERS)
        for trust in members:
            _add(table, _reading(trust), trust.figures)
        n_disputed = max(trust.n_disputed for trust in members)
        if n_disputed:
            items = count_text(n_disputed, "item")
            table.caption = cell_text(f"{items} without a majority of people left out")
        yield table
    if rankings:
        table = plain_table("Systems ranked by people and by the judge", WORDS, NUMBERS)
        for ranking in rankings:
            _add(table, _title(ranking.name), ranking_figures(ranking))
        table.caption = cell_text("n counts systems; intervals resample questions")
        yield table


WORDS = ("Score", "Measure")
NUMBERS = ("Value", "95 % interval", "n", "Unscored")


def ranking_figures(ranking: Ranking) -> tuple[TrustFigure, ...]:
    """Return the coefficients of a ranking."""
    found = ranking.correlation
    pairs = (
        *(("Spearman's rho", found.spearman), ("Kendall's tau-b", found.kendall)),
        ("AP correlation", found.tau_ap),
    )
    return tuple(TrustFigure(name, score) for name, score in pairs if score is not None)


def trust_title(trust: TaskTrust) -> str:
    """Return a task and its reading, as "Citations: three labels"."""
    return f"{TITLES.get(trust.task, label_text(trust.task))}: {_reading(trust)}"


def number_text(value: float | None) -> str:
    """Return a coefficient with three decimals, or "undefined"."""
    return UNDEFINED if value is None else f"{value:.3f}"


def span_text(score: Score) -> str:
    """Return an interval, or "undefined"."""
    if score.low is None or score.high is None:
        return UNDEFINED
    return f"{score.low:.3f} to {score.high:.3f}"


def trust_csv(tasks: Sequence[TaskTrust], rankings: Sequence[Ranking], judge: str) -> str:
    """Return all figures, one per row; an undefined one has an empty value."""
    rows = [
        (task, reading, f.metric, f.score.value, f.score.low, f.score.high, *_counts(f), judge)
        for task, reading, f in _figures(tasks, rankings)
    ]
    return csv_text(COLUMNS, rows)


def classes_csv(tasks: Sequence[TaskTrust]) -> str:
    """Return precision, recall and F1 of each label."""
    rows = [
        (
            *(trust.task, trust.reading, c.label, c.n_truth, c.n_predicted),
            *(c.precision.value, c.recall.value, c.f1.value, c.f1.low, c.f1.high),
        )
        for trust in tasks
        if trust.agreement
        for c in trust.agreement.classes
    ]
    return csv_text(CLASS_COLUMNS, rows)


def confusion_csv(tasks: Sequence[TaskTrust]) -> str:
    """Return the counts of each pair of people's and judge's labels, one pair per row."""
    rows = [
        (trust.task, trust.reading, people, judge, n)
        for trust in tasks
        if trust.agreement
        for people, counts in zip(trust.agreement.labels, trust.agreement.confusion, strict=True)
        for judge, n in zip(trust.agreement.labels, counts, strict=True)
    ]
    return csv_text(("task", "reading", "people", "judge", "n"), rows)


def rankings_csv(rankings: Sequence[Ranking]) -> str:
    """Return the means of each system by people's labels and by the judge's."""
    rows = [
        (ranking.name, ranking.key, system, ranking.human[system], ranking.judge[system])
        for ranking in rankings
        for system in ranking.human
    ]
    return csv_text(("ranking", "score", "system", "people", "judge"), rows)


def unaligned_csv(alignment: Alignment) -> str:
    """Return every label without a verdict, with the reason."""
    columns = ("reason", "task", "label", "record_id", "topic", "system", "sentence", "item")
    rows = [
        (
            *(u.reason, u.label.task, u.label.label, u.label.record_id, u.label.topic),
            *(u.label.system, u.label.sentence, u.label.item, u.label.annotator),
        )
        for u in alignment.unaligned
    ]
    return csv_text((*columns, "annotator"), rows)


def trust_latex(tasks: Sequence[TaskTrust], rankings: Sequence[Ranking], judge: str) -> str:
    r"""Return all figures as one LaTeX table per task; they need \usepackage{booktabs}."""
    every = list(_figures(tasks, rankings))
    tables = ["% Needs \\usepackage{booktabs}."]
    for task in dict.fromkeys(task for task, _, _ in every):
        rows = [
            (
                reading if task != "accuracy" else score_title(reading),
                f.metric,
                number_text(f.score.value),
                span_text(f.score),
                *map(str, _counts(f)),
            )
            for name, reading, f in every
            if name == task
        ]
        caption = f"{TITLES.get(task, _title(task))}: {judge} against people."
        tables.append(latex_text(("Reading", "Measure", *NUMBERS), rows, caption, f"tab:{task}"))
    return "\n".join(tables)


def unaligned_lines(alignment: Alignment) -> tuple[str, ...]:
    """Return the number of labels without a verdict, by task and reason, each with an example."""
    lines: list[str] = []
    for (task, reason), n in sorted(alignment.reasons().items()):
        first = next(
            u.label for u in alignment.unaligned if (u.label.task, u.reason) == (task, reason)
        )
        place = first.record_id or f"topic {first.topic}, system {first.system}"
        where = f", sentence {first.sentence}" if first.sentence else ""
        what = f", {first.item}" if first.item else ""
        lines.append(
            f"{count_text(n, 'label')} of {task} left out: {reason} (e.g. {place}{where}{what})"
        )
    return tuple(lines)


def _figures(
    tasks: Sequence[TaskTrust], rankings: Sequence[Ranking]
) -> Iterator[tuple[str, str, TrustFigure]]:
    for trust in tasks:
        yield from ((trust.task, trust.reading, figure) for figure in trust.figures)
    for ranking in rankings:
        yield from (("ranking", ranking.name, figure) for figure in ranking_figures(ranking))


def _add(table: Table, reading: str, figures: Sequence[TrustFigure]) -> None:
    for place, figure in enumerate(figures):
        score = figure.score
        table.add_row(
            cell_text("" if place else reading),
            cell_text(figure.metric),
            value_text(number_text(score.value), score.value is not None),
            cell_text(span_text(score)),
            str(score.n),
            str(score.n_unscored) if score.n_unscored else "none",
        )


def _reading(trust: TaskTrust) -> str:
    if trust.task == "accuracy":
        return score_title(trust.reading)
    return label_text(trust.reading)


def _counts(figure: TrustFigure) -> tuple[int, int]:
    return figure.score.n, figure.score.n_unscored


def _title(name: str) -> str:
    return name[:1].upper() + name[1:]
