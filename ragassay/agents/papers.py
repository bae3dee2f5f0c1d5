"""A paper with the question-answer pairs that were written from it, as a record."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.records import Document, Paper, QAPair, Record


def paper_record(paper: Paper, pairs: Sequence[QAPair], name: str = "") -> Record:
    """Return a record whose one source is the paper, and whose answer is the text of the pairs.

    Args:
        paper: The paper.
        pairs: Pairs that were written from it.
        name: Id of the record; by default the paper's.
    """
    systems = dict.fromkeys(pair.system for pair in pairs)
    return Record(
        id=name or paper.id,
        question=paper.title or paper.id,
        answer="\n\n".join(f"{pair.question}\n{pair.answer}" for pair in pairs),
        sources=(Document(id=paper.id, title=paper.title, text=paper.evidence_text),),
        pairs=tuple(pairs),
        system=next(iter(systems)) if len(systems) == 1 else None,
        topic=paper.id,
    )
