"""A report on question-answer pairs as Markdown, and in short on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragassay.reports.qa.marking import Part
from ragassay.reports.qa.pair_view import PairView
from ragassay.reports.qa.paper_view import PaperView
from ragassay.reports.qa.scores import score_sheet
from ragassay.reports.qa.view import QAReport, QAView, view_report
from ragassay.reports.sheets import (
    Sheet,
    cell_text,
    escape,
    numbers,
    sheet_markdown,
    sheet_table,
    words,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

N_WORST = 5
"""Pairs that the terminal shows."""


def render_qa_markdown(report: QAReport) -> str:
    """Write a report as Markdown (GitHub's dialect): the worst pairs, scores, papers.

    Returns:
        Markdown, ending in a newline; the same bytes for the same input.
    """
    return "\n".join(_lines(view_report(report))).rstrip("\n") + "\n"


def _lines(view: QAView) -> Iterator[str]:
    yield from (f"# ragassay: {escape(view.name)}", "", f"**{escape(view.headline)}**", "")
    judge = escape(view.judge) if view.judge else "none: what follows is measured and found by rule"
    yield from (f"Judge: {judge}. Embeddings: {escape(view.embedder) or 'not named'}.", "")
    yield from ("## Look at these first", "")
    for pair in view.worst:
        yield from _pair(pair)
    if view.further:
        yield from (f"{len(view.further)} further pairs have something to look at.", "")
    if not view.worst:
        yield from ("Nothing was found wrong.", "")
    yield from ("## Scores", "")
    if view.unscored:
        yield from (view.unscored, "")
    yield sheet_markdown(score_sheet(view.scores))
    for one in view.likeness:
        yield from (f"**{one.title}**: {one.mean}", "", sheet_markdown(one.sheet))
    yield from ("## Papers", "", sheet_markdown(_paper_sheet(view.papers)))
    for note in (*view.cards, *view.notes):
        yield from (f"Note: {escape(note)}", "")


def _paper_sheet(papers: Sequence[PaperView]) -> Sheet:
    titles = ("Pairs", "To look at", "Coverage", "Pooled", "Chunks per answer", "Alike")
    rows = tuple(
        (
            *(paper.title or paper.id, len(paper.pairs), paper.n_faulty),
            *(paper.coverage, paper.pooled, paper.chunks, paper.similarity),
        )
        for paper in papers
    )
    return Sheet("Papers", (*words("Paper"), *numbers(*titles)), rows)


def qa_lines(report: QAReport) -> Iterator[Text | Table]:
    """Yield, for the terminal, the headline, the scores, and the worst pairs with their faults."""
    view = view_report(report)
    yield cell_text(view.headline, "bold")
    yield sheet_table(score_sheet(view.scores))
    if view.worst:
        rows = tuple((pair.id, pair.faults[0].message) for pair in view.worst[:N_WORST])
        yield sheet_table(Sheet("The worst pairs", words("Pair", "What is wrong"), rows))


def _pair(pair: PairView) -> Iterator[str]:
    yield from (f"**Pair {pair.number} of {escape(pair.paper)}**", "")
    yield from (f"- Question: {_text(pair.question)}", f"- Answer: {_text(pair.answer) or 'none'}")
    for fault in pair.faults:
        yield f"- Look: {escape(fault.message)}"
        for quote in fault.quotes:
            yield f"  - It says: {escape(quote)}"
    unscored = [f"{r.title} {r.word}" for r in pair.ratings if r.tone in ("unscored", "undecided")]
    if unscored:
        yield f"- Without a rating: {escape(', '.join(unscored))}"
    if pair.closest:
        yield f"- Closest in the paper ({pair.closest_text}): {escape(pair.closest)}"
    yield ""


def _text(parts: Sequence[Part]) -> str:
    # Bold needs a letter next to its stars; a space between words is kept outside of it.
    return "".join(
        f"**{escape(part.text)}**" if part.kind else _kept(part.text) for part in parts
    ).strip()


def _kept(text: str) -> str:
    """Return escaped text with the spaces at its ends, which part it from a marked word."""
    return f"{' ' * text[:1].isspace()}{escape(text)}{' ' * text[-1:].isspace()}"
