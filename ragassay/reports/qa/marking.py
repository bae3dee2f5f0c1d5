"""Cut a question or an answer into parts, so that a page can mark the words that are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.records.qa import AnswerNumber, ContextMark, PairPart

MarkKind = Literal["", "number", "look", "context"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text: marked, or with kind "" plain."""

    text: str
    kind: MarkKind = ""


def marked(
    text: str,
    part: PairPart,
    context: Sequence[ContextMark] = (),
    numbers: Sequence[AnswerNumber] = (),
) -> tuple[Part, ...]:
    """Return a text in parts, which joined are the text.

    Marked are numbers that the paper lacks or has elsewhere only, and words that need the paper. A
    place outside the text or inside another mark is passed over.

    Args:
        text: The question or the answer.
        part: Which of them it is.
        context: Marks of the pair; those of the other part are passed over.
        numbers: Numbers of the answer; those that were found in place are passed over.
    """
    spans: dict[tuple[int, int], MarkKind] = {
        (mark.start, mark.end): "context" for mark in context if mark.part == part
    }
    if part == "answer":
        spans |= {
            (one.start, one.end): "look" if one.is_found else "number"
            for one in numbers
            if not (one.is_found and one.is_near)
        }
    parts: list[Part] = []
    position = 0
    for (start, end), kind in sorted(spans.items()):
        if not position <= start < end <= len(text):
            continue
        parts += [Part(text[position:start]), Part(text[start:end], kind)]
        position = end
    parts.append(Part(text[position:]))
    return tuple(one for one in parts if one.text)
