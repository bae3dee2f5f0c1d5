"""Split an answer into sentences and read their citations. No model is called."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from ragassay.records import AnswerSentence, Article, Citation, Document, Record, SentenceInput
from ragassay.text.citation_markers import (
    CitationMarker,
    bare,
    blanked,
    doi_of,
    expand,
    find_markers,
    is_list,
    owner_of,
)
from ragassay.text.sentences import split_sentences

Lookup = Callable[[str], Document | None]

_CLOSING = ".,;:!?)"


def segment(record: Record, lookup: Lookup) -> tuple[str, list[AnswerSentence], list[Document]]:
    """Split the answer of a record into sentences with resolved citations.

    A marker belongs to the sentence around or before it; one that opens a line, to the next
    sentence on that line.

    Args:
        record: The record.
        lookup: Returns a cited document outside the record's sources by its id; None if unknown.

    Returns:
        The answer as plain text; its sentences, whose offsets count in that text, do not overlap
        and include their markers; its sources, followed by the cited documents that `lookup`
        found. An answer of nothing but markers or white space has no sentences.
    """
    resolver = _Resolver(record.sources, lookup)
    if isinstance(record.answer, str):
        text = record.answer
        markers = find_markers(text, resolver.n_given)
        spans = split_sentences(blanked(text, markers))
        owners = [owner_of(marker, text, spans) for marker in markers]
        listed: list[tuple[str, ...]] = [()] * len(spans)
    else:
        text, spans, listed = _joined(record.answer)
        markers, owners = _within(find_markers(text, resolver.n_given), spans)
    own: list[list[CitationMarker]] = [[] for _ in spans]
    for marker, owner in zip(markers, owners, strict=True):
        if own:
            own[owner].append(marker)
    return text, _sentences(text, spans, own, listed, resolver), resolver.documents


def _joined(
    given: Sequence[SentenceInput],
) -> tuple[str, list[tuple[int, int]], list[tuple[str, ...]]]:
    """Return the sentences as one text, their spans in it, and the citations listed for each."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    listed: list[tuple[str, ...]] = []
    start = 0
    for sentence in given:
        if sentence.text.strip():
            pieces.append(sentence.text)
            spans.append((start, start + len(sentence.text)))
            listed.append(sentence.citations)
            start += len(sentence.text) + 1
        elif listed:
            listed[-1] += sentence.citations
    return " ".join(pieces), spans, listed


def _within(
    markers: Sequence[CitationMarker], spans: Sequence[tuple[int, int]]
) -> tuple[list[CitationMarker], list[int]]:
    """Return the markers within one span, each with the number of that span."""
    starts = [start for start, _ in spans]
    owners = [bisect_right(starts, marker.start) - 1 for marker in markers]
    kept = [(m, o) for m, o in zip(markers, owners, strict=True) if m.end <= spans[o][1]]
    return [m for m, _ in kept], [o for _, o in kept]


def _sentences(
    text: str,
    spans: Sequence[tuple[int, int]],
    own: Sequence[Sequence[CitationMarker]],
    listed: Sequence[tuple[str, ...]],
    resolver: _Resolver,
) -> list[AnswerSentence]:
    sentences: list[AnswerSentence] = []
    early: tuple[Citation, ...] = ()
    for (start, end), markers, citations in zip(spans, own, listed, strict=True):
        # A marker that opens its line or the answer is part of its sentence, too.
        first = min([start, *(m.start for m in markers)])
        last = max([end, *(m.end for m in markers)])
        plain = _without(text, first, last, markers)
        found = [item for marker in markers for item in marker.items]
        resolved = resolver.citations(citations, found)
        if plain:
            cited = tuple(dict.fromkeys([*early, *resolved]))
            index, early = len(sentences) + 1, ()
            sentences.append(
                AnswerSentence(index=index, text=plain, start=first, end=last, citations=cited)
            )
        elif sentences:  # a listed sentence of markers alone: they go with the one before
            cited = tuple(dict.fromkeys([*sentences[-1].citations, *resolved]))
            update = {"citations": cited, "end": last}
            sentences[-1] = sentences[-1].model_copy(update=update)
        else:
            early += resolved
    return sentences


class _Resolver:
    """Turns markers into citations; collects the documents that they point to."""

    def __init__(self, sources: Sequence[Document], lookup: Lookup) -> None:
        self.n_given = len(sources)
        self.documents = list(sources)
        by_doi = {bare(s.doi): s.id for s in reversed(sources) if isinstance(s, Article) and s.doi}
        by_id = {key: s.id for s in reversed(sources) for key in (bare(s.id), s.id)}
        self._ids = by_doi | by_id
        self._given = dict(self._ids)
        self._lookup = lookup

    def citations(self, listed: Iterable[str], found: Iterable[str]) -> tuple[Citation, ...]:
        """Return a sentence's listed citations, then those found in it, each marker or DOI once."""
        items = (item for marker in listed for item in self._items(marker))
        markers = dict.fromkeys([*items, *found])
        first = {doi_of(marker) or marker: marker for marker in reversed(markers)}
        return tuple(
            self._resolve(marker) for marker in markers if first[doi_of(marker) or marker] == marker
        )

    def _items(self, listed: str) -> list[str]:
        """Return the targets of a listed citation: an id, a position, or several of them."""
        given = listed.strip()
        plain = given if doi_of(given) else given.strip("[]()").strip()
        if plain in self._ids or not is_list(plain):
            return [plain or listed]
        items = expand(plain)
        # A single DOI is kept as written, like any other id.
        return items if len(items) > 1 or (items and not doi_of(plain)) else [plain]

    def _resolve(self, marker: str) -> Citation:
        """Resolve a marker: a number is the id of a source, else it counts sources."""
        position = int(marker) if re.fullmatch(r"[0-9]{1,9}", marker) else 0
        if 1 <= position <= self.n_given:
            counted = self.documents[position - 1].id
            named = self._given.get(marker, counted)
            return Citation(
                marker=marker, document=named, other=counted if counted != named else None
            )
        identifier = bare(marker)
        known = self._ids.get(identifier) or self._ids.get(marker)
        if known is None:
            document = self._lookup(identifier) or self._lookup(marker)
            if document is None:
                return Citation(marker=marker)
            known = document.id
            if known not in self._ids:
                self.documents.append(document)
            self._ids |= {identifier: known, known: known}
        return Citation(marker=marker, document=known)


def _without(text: str, start: int, end: int, markers: Sequence[CitationMarker]) -> str:
    """Return a stretch of text without its markers, white space normalised."""
    pieces, position = [], start
    for marker in markers:
        pieces.append(text[position : marker.start])
        position = marker.end
    pieces.append(text[position:end])
    parts: list[str] = []
    for piece in pieces:
        plain = " ".join(piece.split())
        # "grew [1]." closes up; "grew [1] .5 mg" does not.
        if parts and plain and plain[0] in _CLOSING and not plain[1:2].isdigit():
            parts[-1] += plain
        elif plain:
            parts.append(plain)
    return " ".join(parts)
