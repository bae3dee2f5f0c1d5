"""A paper in sections, from which question-answer pairs are written (SciQAG)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.inputs import Document, QAPair, Record

SectionKind = Literal["abstract", "body", "table", "caption", "reference", "back"]
"""What a section is; "back": acknowledgements, funding, conflicts of interest and the like."""

PROSE: tuple[SectionKind, ...] = ("abstract", "body")
"""Kinds of sections that are read as running text."""

EVIDENCE: tuple[SectionKind, ...] = (*PROSE, "caption", "table")
"""Kinds of sections that can bear a fact out."""

SECTION_BREAK = "\n\n"


class PaperSection(Frozen):
    """One section of a paper.

    Attributes:
        title: Its heading, with those above it ("Methods / Participants"); may be empty.
        text: Its own text, without that of the sections below it. Rows of a table are lines, their
            cells tab-separated.
        kind: What it is.
    """

    title: str = ""
    text: str
    kind: SectionKind = "body"


class Paper(Frozen):
    """A paper.

    Attributes:
        id: Unique in its collection: a DOI, a PMCID, or the file's name.
        title: May be empty.
        sections: In the paper's order.
        keywords: The authors', or found by TopicRank.
        journal: May be empty.
        licence: As the file names it; may be empty.
    """

    id: str = Field(min_length=1)
    title: str = ""
    sections: tuple[PaperSection, ...]
    keywords: tuple[str, ...] = ()
    journal: str = ""
    licence: str = ""

    @functools.cached_property
    def text(self) -> str:
        """Abstract and body as running text; offsets into a paper count in it."""
        return SECTION_BREAK.join(section.text for section in self._of(PROSE))

    @functools.cached_property
    def evidence_text(self) -> str:
        """The running text, then captions and tables: all that can bear a fact out."""
        rest = [section.text for section in self._of(EVIDENCE) if section.kind not in PROSE]
        return SECTION_BREAK.join([self.text, *rest])

    def section_at(self, offset: int) -> PaperSection | None:
        """Return the section that holds a character of `text`; None outside."""
        end = 0
        for section in self._of(PROSE):
            end += len(section.text) + len(SECTION_BREAK)
            if offset < end:
                return section
        return None

    def _of(self, kinds: tuple[SectionKind, ...]) -> list[PaperSection]:
        return [section for section in self.sections if section.kind in kinds and section.text]


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
