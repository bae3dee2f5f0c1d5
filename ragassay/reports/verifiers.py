"""Tables of verifiers: their figures, how they separate, what bears sentences out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.metrics.correctness import FIGURES, Separation
from ragassay.metrics.verification import Verification
from ragassay.records import Score
from ragassay.reports.sheets import Column, Sheet, number, score_cells, score_columns
from ragassay.reports.tabular import Cell
from ragassay.reports.text import NOT_DEFINED

_WORDS = {2: "two labels: attributable or not", 3: "three labels: supports, contradicts, neutral"}


def span(score: Score) -> str:
    """Return the 95 % interval of a score with its digits; "n/a" where it has none."""
    if score.low is None or score.high is None:
        return NOT_DEFINED
    return f"{score.low:.3f} to {score.high:.3f}"


def _spanned(key: str, title: str) -> tuple[Column, ...]:
    """Return the columns of a score, on the terminal with its interval."""
    return (*score_columns(key, title), Column(f"{key}_interval", "95 %"))


def _spanned_cells(score: Score) -> tuple[Cell, ...]:
    return (*score_cells(score), span(score))


def measured_sheet(rows: Sequence[tuple[str, Verification, int]], n_labels: int) -> Sheet:
    """Return the table of verifiers for two or three labels (BioACE, tables 4, 5, 8, 10, 11).

    Args:
        rows: Each verifier's name, its figures, and how many claims its thresholds have seen.
        n_labels: 2 or 3.
    """
    columns = (
        Column("verifier", "Verifier"),
        Column("average", "Average"),
        *score_columns("precision", "Precision"),
        *score_columns("recall", "Recall"),
        *_spanned("f1", "F1"),
        *score_columns("f1_of_means", ""),
        *score_columns("accuracy", "Accuracy"),
        *score_columns("auc", "AUC", "n", "Unscored"),
        number("n_left_out"),
    )
    cells = tuple(
        (
            name,
            one.average,
            *score_cells(one.precision),
            *score_cells(one.recall),
            *_spanned_cells(one.f1),
            *score_cells(one.f1_of_means),
            *score_cells(found.accuracy),
            *score_cells(found.auc or Score(value=None, n=0)),
            n_left_out,
        )
        for name, found, n_left_out in rows
        for one in found.averages
    )
    notes = [f"{n} claims that {name} was fitted to are left out" for name, _, n in rows if n]
    return Sheet(_WORDS[n_labels].capitalize(), columns, cells, "; ".join(notes))


def separation_sheet(rows: Sequence[tuple[str, str, Separation | None, int]]) -> Sheet:
    """Return how models separate (BioACE, figure 1): means over questions.

    Args:
        rows: Each model's name, what was scored, the figures, and how many sentences are unscored.
    """
    columns = (
        Column("model", "Model"),
        Column("source", "Of"),
        *score_columns("positive", "Positive"),
        *score_columns("negative", "Negative"),
        *_spanned("accuracy", "Accuracy"),
        *_spanned("auc", "AUC"),
        number("pooled_auc", "AUC, pooled"),
        number("n_questions", "Questions"),
        number("n_sentences", "Sentences"),
        number("n_unscored", "Unscored"),
    )
    return Sheet(
        "A sentence's own documents against another question's",
        columns,
        tuple((name, source, *_separation_cells(found), n) for name, source, found, n in rows),
        "means over questions; pooled: over all sentences at once",
    )


def _separation_cells(found: Separation | None) -> tuple[Cell, ...]:
    scores = {name: found.score(name) if found else Score(value=None, n=0) for name in FIGURES}
    n_sentences = sum(one.n_sentences for one in found.questions.values()) if found else 0
    return (
        *score_cells(scores["positive"]),
        *score_cells(scores["negative"]),
        *_spanned_cells(scores["accuracy"]),
        *_spanned_cells(scores["auc"]),
        found.pooled_auc if found else None,
        found.n_questions if found else 0,
        n_sentences,
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
    columns = (
        Column("model", "Model"),
        number("threshold", "Threshold"),
        *score_columns("supp_as", "Supp(AS)", "n", "Unscored"),
        Column("supp_as_interval", "95 %"),
        *score_columns("supp_cs", "Supp(CS)", "n", "Unscored"),
        Column("supp_cs_interval", "95 %"),
    )
    cells = tuple(
        (
            name,
            threshold,
            *_spanned_cells(all_cited),
            *_spanned_cells(supporting or Score(value=None, n=0)),
        )
        for name, threshold, all_cited, supporting in rows
    )
    return Sheet(
        "Sentences that a cited document bears out",
        columns,
        cells,
        "AS: any cited document; CS: any that people call supporting",
    )


def curve_sheet(curves: Sequence[tuple[str, str, Mapping[int, Score]]]) -> Sheet:
    """Return correctness at k (BioACE, figure 7b).

    Args:
        curves: The score's name, the model's, and the score at each k.
    """
    columns = (
        Column("score", "Score"),
        Column("model", "Model"),
        number("k", "k"),
        *score_columns("correct", "Correct", "n", "Unscored"),
        Column("interval", "95 %"),
    )
    cells = tuple(
        (name, model, k, *_spanned_cells(score))
        for name, model, points in curves
        for k, score in sorted(points.items())
    )
    return Sheet("Correctness at k", columns, cells)
