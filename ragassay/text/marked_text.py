"""Plain text of an answer with its citation marks: which count, and the text without them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from ragassay.text.citation_marks import (
    MAX_PARENTHETIC,
    Mark,
    find_marks,
    joined_ranges,
    removable_spans,
)
from ragassay.text.citation_resolver import CitationResolver
from ragassay.text.markup import DELIMITERS, PlainText, Span, readable

WORD = re.compile(r"[^\W_]")
CLOSED = re.compile(r"[.!?:;,\u3002\u2026][\"'\u201d\u2019)\]*_\s]{0,5}$")
_CLOSING = ".,;:!?)"


@dataclass(frozen=True)
class BlockPart:
    """A stretch of a block that is split into sentences; `removed` goes with its marks."""

    plain: PlainText
    marks: tuple[Mark, ...] = ()
    removed: tuple[Span, ...] = ()


def mark_parts(
    parts: Sequence[Sequence[BlockPart]], resolver: CitationResolver
) -> list[list[BlockPart]]:
    """Find the marks of all parts; which of them count is decided for the whole answer."""
    names = resolver.names
    found = [[find_marks(part.plain, names) for part in own] for own in parts]
    every = [mark for own in found for marks in own for mark in marks]
    resolver.settle_numbers(
        int(t.value) for m in every for t in m.targets if t.kind == "number" and m.style != "round"
    )
    accept = _Acceptance.of(every, resolver)
    return [
        [
            _with_marks(part, [m for m in marks if accept(m, part)])
            for part, marks in zip(own, of, strict=True)
        ]
        for own, of in zip(parts, found, strict=True)
    ]


def _with_marks(part: BlockPart, marks: Sequence[Mark]) -> BlockPart:
    text = part.plain.text
    joined = joined_ranges(text, marks)
    return BlockPart(part.plain, tuple(joined), tuple(removable_spans(text, joined)))


@dataclass(frozen=True)
class _Acceptance:
    """Decides whether something that may be a mark is one, by the other marks of the answer."""

    resolver: CitationResolver
    is_bracketed: bool
    points: bool
    letters: frozenset[str]

    @classmethod
    def of(cls, marks: Sequence[Mark], resolver: CitationResolver) -> _Acceptance:
        numbered = [m for m in marks if any(t.kind == "number" for t in m.targets)]
        is_bracketed = any(mark.style == "" and mark.text[0] not in "(\uff08" for mark in numbered)
        points = any(
            mark.style == "round" and all(map(resolver.is_position, mark.targets))
            for mark in numbered
        )
        letters = frozenset(
            t.text[0]
            for m in marks
            for t in m.targets
            if not t.is_sure and t.kind == "number" and resolver.points_to_source(t)
        )
        return cls(resolver, is_bracketed, points, letters)

    def __call__(self, mark: Mark, part: BlockPart) -> bool:
        """Return whether a mark counts.

        A number in parentheses counts where the answer has no other numbered marks, has sources,
        and one such number points to one of them: `(1, 2)`, not `(n = 5)`, `(95)`, `(2015)`.
        """
        if mark.style == "round":
            most = min(MAX_PARENTHETIC, 2 * self.resolver.n_sources + 5)
            fits = all(int(target.value) <= most for target in mark.targets)
            return fits and self.points and not self.is_bracketed
        if mark.style == "raised":
            before = part.plain.text[: mark.start]
            resolves = all(map(self.resolver.points_to_source, mark.targets))
            return resolves or bool(CLOSED.search(before))
        if mark.style == "unsure":
            return all(map(self.resolver.points_to_source, mark.targets))
        lettered = [t for t in mark.targets if not t.is_sure and t.kind == "number"]
        return all(target.text[0] in self.letters for target in lettered)


def blank_spans(text: str, removed: Iterable[Span]) -> str:
    """Return a text of the same length with spaces for what goes with marks."""
    pieces, position = [], 0
    for start, end in removed:
        pieces += [text[position:start], " " * (end - start)]
        position = end
    return re.sub(f"[{DELIMITERS}]", " ", "".join([*pieces, text[position:]]))


def text_without(part: BlockPart, start: int, end: int) -> str:
    """Return a stretch of a part without its marks, white space normalised."""
    pieces, position = [], start
    place = bisect_right(part.removed, start, key=lambda span: span[1])
    for first, last in islice(part.removed, place, None):
        if first >= end:
            break
        pieces.append(part.plain.text[position : max(first, position)])
        position = min(last, end)
    pieces.append(part.plain.text[position:end])
    parts: list[str] = []
    for piece in pieces:
        plain = " ".join(readable(piece).split())
        # "grew [1]." closes up; "grew [1] .5 mg" does not.
        if parts and plain and plain[0] in _CLOSING and not plain[1:2].isdigit():
            parts[-1] += plain
        elif plain:
            parts.append(plain)
    return " ".join(parts)
