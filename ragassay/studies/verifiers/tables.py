"""Render tables of the accuracy of verifiers, of separation and of sentence support."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragassay.models.fitted_models import FittedThresholds
from ragassay.prompts.model_forms import VerifierKinds
from ragassay.records import Score
from ragassay.reports.display import NOT_DEFINED
from ragassay.reports.sheets import (
    Cell,
    Column,
    Sheet,
    build_number_column,
    build_score_cells,
    build_score_columns,
)
from ragassay.studies.verifiers.claims import VerifierFigures
from ragassay.studies.verifiers.sentences import FIGURES, Separated
from ragassay.studies.verifiers.support import Curve, Supported

_TITLES = {2: "Two labels: attributable or not", 3: "Three labels: supports, contradicts, neutral"}
_SEPARATION = {
    "positive": "Mean, own documents",
    "negative": "Mean, other documents",
    "accuracy": "Own score higher",
    "auc": "AUC",
}

Row = tuple[tuple[Cell, ...], Score]


def format_score_interval(score: Score) -> str:
    """Format the 95 % interval of a score, or return "n/a"."""
    if score.low is None or score.high is None:
        return NOT_DEFINED
    return f"{score.low:.3f} to {score.high:.3f}"


def _format_short_interval(score: Score) -> str:
    return (
        format_score_interval(score)
        if score.low is None
        else f"{score.low:.2f}\N{EN DASH}{score.high:.2f}"
    )


def _build_sheet(
    title: str, keys: Sequence[Column], rows: Iterable[Row], caption: str = ""
) -> Sheet:
    columns = (
        *keys,
        *build_score_columns("value", "Value", "n", "Unscored"),
        Column("interval", "95 %"),
    )
    cells = tuple(
        (*names, *build_score_cells(score), format_score_interval(score)) for names, score in rows
    )
    return Sheet(title, columns, cells, caption)


def build_verifier_sheet(found: Sequence[VerifierFigures], n_labels: int) -> Sheet:
    """Return the table of verifiers for two or three labels (BioACE, tables 4, 5, 8, 10, 11).

    There is one row for each verifier and averaging method.
    """
    columns = (
        Column("verifier", "Verifier"),
        Column("average", "Average"),
        *build_score_columns("precision", "Precision"),
        *build_score_columns("recall", "Recall"),
        *build_score_columns("f1", "F1", "n"),
        Column("f1_interval", "95 %"),
        *build_score_columns("f1_of_means", ""),
        *build_score_columns("accuracy", ""),
        *build_score_columns("auc", "AUC"),
    )
    cells = tuple(
        (
            verifier.verifier,
            one.average,
            *build_score_cells(one.precision),
            *build_score_cells(one.recall),
            *build_score_cells(one.f1),
            _format_short_interval(one.f1),
            *build_score_cells(one.f1_of_means),
            *build_score_cells(verifier.result.accuracy),
            *build_score_cells(verifier.result.auc or Score(value=None, n=0)),
        )
        for verifier in found
        for one in verifier.result.averages
    )
    n_left_out = max((one.n_left_out for one in found), default=0)
    n_unscored = max((one.result.accuracy.n_unscored for one in found), default=0)
    notes = [
        f"{n_left_out} claims used to fit thresholds are excluded" if n_left_out else "",
        f"at most {n_unscored} claims are unscored" if n_unscored else "",
    ]
    return Sheet(_TITLES[n_labels], columns, cells, "; ".join(filter(None, notes)))


def build_separation_sheet(found: Sequence[Separated]) -> Sheet:
    """Return a table of separation by model, as means over questions (BioACE, figure 1)."""
    rows: list[Row] = []
    for one in found:
        unscored = {"n_unscored": one.n_unscored}
        for key, title in _SEPARATION.items():
            score = one.result.compute_figure_score(key) if one.result else Score(value=None, n=0)
            rows.append(((one.model, one.source, title), score.model_copy(update=unscored)))
        questions = one.result.questions.values() if one.result else ()
        pooled = Score(
            value=one.result.pooled_auc if one.result else None,
            n=sum(question.n_sentences for question in questions),
            n_unscored=one.n_unscored,
        )
        rows.append(((one.model, one.source, "AUC over all sentences"), pooled))
    columns = (Column("model", "Model"), Column("source", "Source"), Column("figure", "Measure"))
    title = "Sentences compared with their own and with other documents"
    return _build_sheet(
        title, columns, rows, "Means over n questions, with the number of unscored sentences"
    )


def build_question_sheet(found: Sequence[Separated]) -> Sheet:
    """Return a table of separation by model and question."""
    columns = (
        Column("model", "Model"),
        Column("source", "Source"),
        Column("question", "Question"),
        *(build_number_column(name, name.capitalize()) for name in FIGURES),
        build_number_column("n_sentences", "Sentences"),
    )
    cells = tuple(
        (by.model, by.source, question, *(getattr(one, f) for f in FIGURES), one.n_sentences)
        for by in found
        for question, one in (by.result.questions.items() if by.result else ())
    )
    return Sheet("By question", columns, cells)


def build_support_sheet(found: Sequence[Supported]) -> Sheet:
    """Return a table of Supp(AS) and Supp(CS) by model (BioACE, figure 7a)."""
    rows = (
        ((one.model, one.threshold, name), score)
        for one in found
        for name, score in (("Supp(AS)", one.all_cited), ("Supp(CS)", one.supporting))
        if score is not None
    )
    columns = (
        Column("model", "Model"),
        build_number_column("threshold", "Threshold"),
        Column("score", "Score"),
    )
    caption = (
        "AS: all cited documents. CS: only the cited documents that humans labelled as supporting"
    )
    return _build_sheet("Sentences supported by a cited document", columns, rows, caption)


def build_curve_sheet(curves: Sequence[Curve]) -> Sheet:
    """Return a table of correctness at k by model (BioACE, figure 7b)."""
    columns = (Column("score", "Score"), Column("model", "Model"), build_number_column("k", "k"))
    rows = (
        ((one.name, one.model, k), score)
        for one in curves
        for k, score in sorted(one.points.items())
    )
    return _build_sheet("Correctness at k", columns, rows)


def build_kinds_sheet(table: VerifierKinds) -> Sheet:
    """Return a table of the published verifiers that can be used."""
    columns = (
        Column("kind", "Kind"),
        Column("model", "Published model"),
        Column("beside", "Second model"),
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
    return Sheet("Verifiers that generate labels or scores", columns, (*writers, *scorers))


def describe_fitted_thresholds(fitted: FittedThresholds) -> list[str]:
    """Describe fitted thresholds, and the F1 that they reach on training and held-out claims."""
    learnt, before, after = fitted.learnt, fitted.before, fitted.after
    other = fitted.thresholds.contradicts
    name = "F1" if other is None else "macro-F1"
    thresholds = f"supports from {fitted.thresholds.supports:.4f}"
    return [
        thresholds if other is None else f"{thresholds}, contradicts from {other:.4f}",
        f"{name} on {learnt.n} training claims: {_format_value(learnt)}",
        f"{name} on {after.n} held-out claims: {_format_value(before)} before fitting, "
        f"{_format_value(after)} after",
        *([f"{after.n_unscored} held-out claims are unscored"] if after.n_unscored else []),
    ]


def _format_value(score: Score) -> str:
    return (
        NOT_DEFINED
        if score.value is None
        else f"{score.value:.3f} ({format_score_interval(score)})"
    )
