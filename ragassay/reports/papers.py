"""Show papers as a table: how much was read of each."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.records import Paper
from ragassay.reports.sheets import Column, Sheet, number
from ragassay.text.papers import paper_sentences

_SHOWN_KEYWORDS = 4


def paper_sheet(papers: Sequence[Paper]) -> Sheet:
    """Return a row a paper: its sections by kind, sentences, words and keywords.

    Parts are the sections of abstract and body; sentences and words are theirs.
    """
    return Sheet(
        title=f"{len(papers)} papers" if len(papers) != 1 else "1 paper",
        columns=(
            Column("paper", "paper", n_most=40),
            Column("title", n_most=60),
            number("sections", "parts"),
            number("tables", "tables"),
            number("captions"),
            number("references", "refs"),
            number("sentences", "sents"),
            number("words", "words"),
            Column("keywords", "keywords", n_most=80),
        ),
        rows=tuple(_row(paper) for paper in papers),
    )


def _row(paper: Paper) -> tuple[str | int, ...]:
    kinds = [section.kind for section in paper.sections]
    n_references = sum(
        len(section.text.splitlines()) for section in paper.sections if section.kind == "reference"
    )
    shown = "; ".join(paper.keywords[:_SHOWN_KEYWORDS])
    n_more = len(paper.keywords) - _SHOWN_KEYWORDS
    return (
        paper.id,
        paper.title,
        kinds.count("abstract") + kinds.count("body"),
        kinds.count("table"),
        kinds.count("caption"),
        n_references,
        len(paper_sentences(paper)),
        len(paper.text.split()),
        f"{shown}; {n_more} more" if n_more > 0 else shown,
    )
