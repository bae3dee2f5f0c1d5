"""Tables of verifiers: their figures, how they separate, what supports sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ragassay.metrics.papers.verifier_scores import Thresholds
from ragassay.prompts.model_forms import VerifierKinds
from ragassay.records import Score
from ragassay.reports.display import NOT_DEFINED
from ragassay.reports.sheets import Cell, Column, Sheet, number, score_cells, score_columns
from ragassay.studies.verifiers.measuring import Verification
from ragassay.studies.verifiers.separation import FIGURES, Separation

_TITLES = {
    2: "Two labels: attributable or not",
    3: "Three labels: supports, contradicts, neutral",
}
_SEPARATION = {
    "positive": "Mean, own documents",
    "negative": "Mean, other documents",
    "accuracy": "Own score higher",
    "auc": "AUC",
}

Row = tuple[tuple[Cell, ...], Score]


def span(score: Score) -> str:
    """Return the 95 % interval of a score with its digits; "n/a" where it has none."""
    if score.low is None or score.high is None:
        return NOT_DEFINED
    return f"{score.low:.3f} to {score.high:.3f}"


def _short_span(score: Score) -> str:
    return span(score) if score.low is None else f"{score.low:.2f}\N{EN DASH}{score.high:.2f}"


def _sheet(title: str, named: Sequence[Column], rows: Iterable[Row], caption: str = "") -> Sheet:
    columns = (
        *named,
        *score_columns("value", "Value", "n", "Unscored"),
        Column("interval", "95 %"),
    )
    cells = tuple((*names, *score_cells(score), span(score)) for names, score in rows)
    return Sheet(title, columns, cells, caption)


def measured_sheet(rows: Sequence[tuple[str, Verification, int]], n_labels: int) -> Sheet:
    """Return the table of verifiers for two or three labels (BioACE, tables 4, 5, 8, 10, 11).

    A row is a verifier and a way of averaging over labels.

    Args:
        rows: Each verifier's name, its figures, and how many claims are left out, as some
            verifier's thresholds were fitted to them.
        n_labels: 2 or 3.
    """
    columns = (
        Column("verifier", "Verifier"),
        Column("average", "Average"),
        *score_columns("precision", "Precision"),
        *score_columns("recall", "Recall"),
        *score_columns("f1", "F1", "n"),
        Column("f1_interval", "95 %"),
        *score_columns("f1_of_means", ""),
        *score_columns("accuracy", ""),
        *score_columns("auc", "AUC"),
    )
    cells = tuple(
        (
            name,
            one.average,
            *score_cells(one.precision),
            *score_cells(one.recall),
            *score_cells(one.f1),
            _short_span(one.f1),
            *score_cells(one.f1_of_means),
            *score_cells(result.accuracy),
            *score_cells(result.auc or Score(value=None, n=0)),
        )
        for name, result, _ in rows
        for one in result.averages
    )
    n_left_out = max((n for *_, n in rows), default=0)
    n_unscored = max((result.accuracy.n_unscored for _, result, _ in rows), default=0)
    notes = [
        f"{n_left_out} claims to which thresholds were fitted are left out" if n_left_out else "",
        f"{n_unscored} claims are unscored at most" if n_unscored else "",
    ]
    return Sheet(_TITLES[n_labels], columns, cells, "; ".join(filter(None, notes)))


def separation_sheet(rows: Sequence[tuple[str, str, Separation | None, int]]) -> Sheet:
    """Return how models separate (BioACE, figure 1): means over questions.

    Args:
        rows: Each model's name, what was scored, the figures, and how many sentences are unscored.
    """
    found: list[Row] = []
    for name, source, result, n_unscored in rows:
        unscored = {"n_unscored": n_unscored}
        for key, title in _SEPARATION.items():
            score = result.score(key) if result else Score(value=None, n=0)
            found.append(((name, source, title), score.model_copy(update=unscored)))
        n = sum(one.n_sentences for one in result.questions.values()) if result else 0
        pooled = Score(value=result.pooled_auc if result else None, n=n, n_unscored=n_unscored)
        found.append(((name, source, "AUC over all sentences"), pooled))
    named = (Column("model", "Model"), Column("source", "Of"), Column("figure", "Figure"))
    return _sheet(
        "A sentence's own documents against another question's",
        named,
        found,
        "means over n questions; unscored are sentences",
    )


def question_sheet(rows: Sequence[tuple[str, str, Separation | None, int]]) -> Sheet:
    """Return the same by question."""
    columns = (
        Column("model", "Model"),
        Column("source", "Of"),
        Column("question", "Question"),
        *(number(name, name.capitalize()) for name in FIGURES),
        number("n_sentences", "Sentences"),
    )
    cells = tuple(
        (name, source, question, *(getattr(one, f) for f in FIGURES), one.n_sentences)
        for name, source, found, _ in rows
        for question, one in (found.questions.items() if found else ())
    )
    return Sheet("By question", columns, cells)


def support_sheet(rows: Sequence[tuple[str, float, Score, Score | None]]) -> Sheet:
    """Return Supp(AS) and Supp(CS) (BioACE, figure 7a).

    Args:
        rows: Each model's name, its threshold, and the two shares.
    """
    found: list[Row] = []
    for name, threshold, all_cited, supporting in rows:
        found.append(((name, threshold, "Supp(AS)"), all_cited))
        if supporting is not None:
            found.append(((name, threshold, "Supp(CS)"), supporting))
    named = (Column("model", "Model"), number("threshold", "Threshold"), Column("score", "Score"))
    return _sheet(
        "Sentences that a cited document bears out",
        named,
        found,
        "AS: any cited document; CS: any that people call supporting",
    )


def curve_sheet(curves: Sequence[tuple[str, str, Mapping[int, Score]]]) -> Sheet:
    """Return correctness at k (BioACE, figure 7b).

    Args:
        curves: The score's name, the model's, and the score at each k.
    """
    named = (Column("score", "Score"), Column("model", "Model"), number("k", "k"))
    rows = (
        ((name, model, k), score)
        for name, model, points in curves
        for k, score in sorted(points.items())
    )
    return _sheet("Correctness at k", named, rows)


def kinds_sheet(table: VerifierKinds) -> Sheet:
    """Return the table of published verifiers."""
    columns = (
        Column("kind", "Kind"),
        Column("model", "Its published model"),
        Column("beside", "Beside it"),
        Column("labels", "Labels"),
        Column("source", "Source"),
        Column("threshold_is"),
    )
    writers = tuple(
        (name, one.model, "", " or ".join(map(str, one.prompts)), one.source, "")
        for name, one in table.writers.items()
    )
    scorers = tuple(
        (name, one.model, one.beside, f"2, from {one.threshold:g}", one.source, one.chosen)
        for name, one in {**table.scorers, **table.facts.checkers}.items()
    )
    return Sheet("Verifiers that write a label, or score", columns, (*writers, *scorers))


def fitted_lines(thresholds: Thresholds, learnt: Score, before: Score, after: Score) -> list[str]:
    """Return what was fitted, and what it is worth on the claims held out.

    Args:
        thresholds: Of the verifier's shares.
        learnt: F1, or macro-F1, on the claims that were learnt from.
        before: The same on the claims held out, unfitted.
        after: The same, fitted.
    """
    other = thresholds.contradicts
    name = "F1" if other is None else "macro-F1"
    ends = f"supports from {thresholds.supports:.4f}"
    return [
        ends if other is None else f"{ends}, contradicts from {other:.4f}",
        f"{name} on {learnt.n} claims that were learnt from: {_figure(learnt)}",
        f"{name} on {after.n} claims held out: {_figure(before)} before, {_figure(after)} fitted",
        *([f"{after.n_unscored} of them are unscored"] if after.n_unscored else []),
    ]


def _figure(score: Score) -> str:
    return NOT_DEFINED if score.value is None else f"{score.value:.3f} ({span(score)})"
