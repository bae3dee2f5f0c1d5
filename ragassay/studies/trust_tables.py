"""A judge's agreement with people, for the terminal, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.metrics.papers.rankings import Ranking
from ragassay.metrics.stats.alignment import Alignment
from ragassay.reports.display import decimals_span, decimals_text, label_text
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Cell,
    Column,
    Sheet,
    Shown,
    csv_text,
    none_text,
    number,
    numbers,
    sheet_csv,
    sheet_latex,
    with_column,
)
from ragassay.reports.text import count_text, humanise, score_title
from ragassay.studies.trust import TaskTrust, TrustFigure

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


def task_sheets(tasks: Sequence[TaskTrust]) -> dict[str, Sheet]:
    """Return a table for each task, by the task."""
    sheets: dict[str, Sheet] = {}
    for task in dict.fromkeys(trust.task for trust in tasks):
        members = [trust for trust in tasks if trust.task == task]
        rows = [
            _row(task, trust.reading, _reading(trust), figure)
            for trust in members
            for figure in trust.figures
        ]
        n_disputed = max(trust.n_disputed for trust in members)
        items = count_text(n_disputed, "item")
        caption = f"{items} without a majority of people left out" if n_disputed else ""
        sheets[task] = Sheet(_task_title(task), _columns("Reading"), tuple(rows), caption)
    return sheets


def ranking_sheet(rankings: Sequence[Ranking]) -> Sheet:
    """Return the coefficients of all rankings."""
    rows = tuple(
        _row("ranking", ranking.name, humanise(ranking.name), figure)
        for ranking in rankings
        for figure in ranking_figures(ranking)
    )
    title = "Systems ranked by people and by the judge"
    return Sheet(title, _columns("Score"), rows, "n counts systems; intervals resample questions")


def _columns(first: str) -> tuple[Column, ...]:
    return (
        *(Column("task"), Column("reading", first, is_once=True), Column("metric", "Measure")),
        *(number("value", "Value"), number("low"), number("high"), *numbers("95 % interval")),
        *(number("n", "n"), number("n_unscored", "Unscored")),
    )


def _row(task: str, reading: str, title: str, figure: TrustFigure) -> tuple[Cell, ...]:
    score = figure.score
    style = "missing" if score.value is None else "strong"
    return (
        *(task, Shown(title, reading), figure.metric),
        *(Shown(decimals_text(score.value), score.value, style), score.low, score.high),
        *(decimals_span(score), score.n, Shown(none_text(score.n_unscored), score.n_unscored)),
    )


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
    return f"{_task_title(trust.task)}: {_reading(trust)}"


def trust_csv(tasks: Sequence[TaskTrust], rankings: Sequence[Ranking], judge: str) -> str:
    """Return all figures, one per row; an undefined one has an empty value."""
    sheets = (*task_sheets(tasks).values(), ranking_sheet(rankings))
    return sheet_csv(*(with_column(sheet, "judge", judge) for sheet in sheets))


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
    sheets = task_sheets(tasks)
    if rankings:
        sheets["ranking"] = ranking_sheet(rankings)
    tables = (
        sheet_latex(sheet, f"tab:{task}", f"{sheet.title}: {judge} against people.")
        for task, sheet in sheets.items()
    )
    return NEEDS_BOOKTABS + "\n".join(tables)


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


def _reading(trust: TaskTrust) -> str:
    if trust.task == "accuracy":
        return score_title(trust.reading)
    return label_text(trust.reading)


def _task_title(task: str) -> str:
    return TITLES.get(task, label_text(task))
