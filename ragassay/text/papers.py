"""The sentences of a paper, with their places in its text."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ragassay.records import Paper, PaperSection
from ragassay.records.papers import PROSE, SECTION_BREAK
from ragassay.text.sentences import split_sentences

_CACHED_PAPERS = 256


@dataclass(frozen=True)
class PaperSentence:
    """A sentence of a paper's abstract or body.

    Attributes:
        index: 0-based, in the paper's order.
        start: First character in `Paper.text` (0-based).
        end: One past the last character.
        text: `Paper.text[start:end]`.
        section: The section that it stands in, as `Paper.section_at(start)` gives it.
    """

    index: int
    start: int
    end: int
    text: str
    section: PaperSection


def paper_sentences(paper: Paper) -> tuple[PaperSentence, ...]:
    """Return the sentences of a paper's running text, in order; they are cut once.

    A line of a section is a paragraph, so that no sentence goes across a line's end, even where a
    unit ends the line ("for 10 min.").

    Args:
        paper: Without running text there are none.
    """
    return _sentences(paper.sections)


@functools.lru_cache(maxsize=_CACHED_PAPERS)
def _sentences(sections: tuple[PaperSection, ...]) -> tuple[PaperSentence, ...]:
    found: list[PaperSentence] = []
    start = 0
    for section in sections:
        if section.kind not in PROSE or not section.text:
            continue
        for line in section.text.split("\n"):
            for first, last in split_sentences(line):
                text = line[first:last]
                found.append(PaperSentence(len(found), start + first, start + last, text, section))
            start += len(line) + 1
        start += len(SECTION_BREAK) - 1
    return tuple(found)
