"""Read an answer as a document, and split it into statements with what each cites."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ragassay.records import (
    AnswerSentence,
    Citation,
    CitedSpan,
    Document,
    Record,
    SentenceInput,
    without_spans,
)
from ragassay.text.bibliography import Bibliography, split_bibliography
from ragassay.text.blocks import LIST_MARK, Block, read_blocks
from ragassay.text.citation_marks import (
    MAX_PARENTHETIC,
    Mark,
    find_marks,
    joined_ranges,
    removable_spans,
)
from ragassay.text.citation_resolver import CitationResolver, Lookup
from ragassay.text.citation_styles import Target, read_targets
from ragassay.text.markup import DELIMITERS, PlainText, Span, plain_text, readable
from ragassay.text.reasoning import blank_spans, find_reasoning
from ragassay.text.sentences import split_sentences

MOST_LABEL_WORDS, MOST_TITLE_WORDS = 2, 12
"""Words of a label before a colon ("Side effects:"), and of a line in title case."""

_CLOSING = ".,;:!?)"
_BOLD_LINE = re.compile(r"[\s>]{0,9}(?:\*\*|__)(?:[^*_\n]{1,120})(?:\*\*|__)\s?:?\s?")
_LABEL_LINE = re.compile(r"[\s*_]{0,9}(?:[^\s:]{1,30}[ ]){0,2}[^\s:]{1,30}[\s*_]{0,3}:[\s*_]{0,3}")
_SOURCE_COLUMN = re.compile(
    r"[\s*_]{0,5}(?:sources?|references?|refs?\.?|citations?|pmids?|dois?|documents?|docs?|stud(?:y|ies)|evidence)[\s*_:]{0,5}(?:id|no\.?)?",
    re.IGNORECASE,
)
_NUMBER_ALONE = re.compile(r"\(\d{1,3}\)\W{0,3}")
_STATES_NOTHING = re.compile(
    r"\(?\d{1,3}[.)]\W{0,3}"
    r"|\W*(?:(?:for|more|further|information|details|see|also|read|visit|available|sources?"
    r"|references?|ref|link|here|at|from|via|and|or|on|in)\W+){0,9}"
    r"(?:information|details|see|also|more|visit|available|sources?|references?|ref|link|here|at|from|via|in)\W*",
    re.IGNORECASE,
)
"""What is left beside a mark that states nothing: the number of an item ("1[1]. First"), "see"."""
_WORD = re.compile(r"[^\W_]")
_CLOSED = re.compile(r"[.!?:;,\u3002\u2026][\"'\u201d\u2019)\]*_\s]{0,5}$")


def segment(
    record: Record, lookup: Lookup | None = None
) -> tuple[str, list[AnswerSentence], list[Document]]:
    """Split the answer of a record into statements with resolved citations.

    A statement is a sentence, an item of a list or a row of a table. Headings, list marks,
    reasoning, code and lists of references are none; lists of references resolve marks. A mark
    belongs to the statement around or before it; one that opens a line, to the next on that line.

    Args:
        record: The record.
        lookup: Returns a cited document outside the record's sources by its id; None if unknown.
            None where there is nowhere to look.

    Returns:
        The answer as it was handed in; its statements, whose offsets count in it, do not overlap
        and include their marks; its sources, followed by the cited documents that `lookup` found.
        An answer of nothing but marks, headings or white space has no statements.
    """
    if not isinstance(record.answer, str):
        resolver = CitationResolver(record.sources, lookup)
        text, sentences = _listed_sentences(record.answer, resolver)
        return text, sentences, resolver.documents
    document = _read_document(record.answer, record.sources)
    resolver = CitationResolver(record.sources, lookup, document.references)
    statements = _statements(record.answer, document.blocks, resolver, record.citations)
    return record.answer, _with_citations(statements, resolver), resolver.documents


def judged_text(record: Record) -> str:
    """Return the answer of a record as one text, without the reasoning before it."""
    if not isinstance(record.answer, str):
        return _joined(record.answer)[0]
    return without_spans(record.answer, find_reasoning(record.answer))


@dataclass
class Statement:
    """A statement before its citations are resolved.

    Attributes:
        start: Its first character in the answer, marks included.
        end: One past its last character.
        text: Its words without marks.
        targets: What its marks point to.
        marks: Where its marks stand in the answer.
    """

    start: int
    end: int
    text: str
    targets: list[Target] = field(default_factory=list[Target])
    marks: list[Span] = field(default_factory=list[Span])


def find_statements(
    answer: str | Sequence[SentenceInput], sources: Sequence[Document] = ()
) -> list[Statement]:
    """Return the statements of an answer with their marks, not resolved.

    Those of an answer that came in sentences are its sentences, blank ones left out, with offsets
    in their texts joined by spaces.
    """
    if not isinstance(answer, str):
        return _listed_statements(answer, CitationResolver(sources))[1]
    document = _read_document(answer, sources)
    resolver = CitationResolver(sources, None, document.references)
    return _statements(answer, document.blocks, resolver, ())


def _read_document(answer: str, sources: Sequence[Document]) -> Bibliography:
    text = blank_spans(answer, find_reasoning(answer))
    return split_bibliography(text, read_blocks(text), [source.title for source in sources])


@dataclass(frozen=True)
class _Part:
    """A stretch of a block that is split into sentences on its own.

    Attributes:
        plain: Its plain text.
        marks: The marks in it.
        removed: The stretches that go with the marks.
    """

    plain: PlainText
    marks: tuple[Mark, ...] = ()
    removed: tuple[Span, ...] = ()

    @property
    def has_words(self) -> bool:
        return bool(_WORD.search(_text_without(self, 0, len(self.plain.text))))


def _statements(
    answer: str, blocks: Sequence[Block], resolver: CitationResolver, cited: Sequence[CitedSpan]
) -> list[Statement]:
    parts = [[_Part(plain_text(answer, spans)) for spans in _part_spans(b)] for b in blocks]
    parts = _with_marks(parts, resolver)
    statements: list[Statement] = []
    for number, (block, own) in enumerate(zip(blocks, parts, strict=True)):
        if block.kind == "row":
            found = _row_statement(block, own)
        elif block.kind == "code" or _is_heading(answer, block, own[0], number + 1 == len(blocks)):
            found = []
        else:
            found, early = _sentences_of(own[0])
            _give_marks(answer, statements or found, own[0], early)
        statements += found
        if not found and block.kind == "row":
            for cell in own:
                _give_marks(answer, statements, cell, cell.marks)
    _attach_spans(statements, cited)
    return statements


def _part_spans(block: Block) -> list[tuple[Span, ...]]:
    return [(cell,) for cell in block.cells] if block.kind == "row" else [block.lines]


def _with_marks(parts: Sequence[Sequence[_Part]], resolver: CitationResolver) -> list[list[_Part]]:
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
            _marked(part, [m for m in marks if accept(m, part)])
            for part, marks in zip(own, of, strict=True)
        ]
        for own, of in zip(parts, found, strict=True)
    ]


def _marked(part: _Part, marks: Sequence[Mark]) -> _Part:
    text = part.plain.text
    joined = joined_ranges(text, marks)
    return _Part(part.plain, tuple(joined), tuple(removable_spans(text, joined)))


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
        is_bracketed = any(mark.style == "" for mark in numbered)
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

    def __call__(self, mark: Mark, part: _Part) -> bool:
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
            return resolves or bool(_CLOSED.search(before))
        if mark.style == "unsure":
            return all(map(self.resolver.points_to_source, mark.targets))
        lettered = [t for t in mark.targets if not t.is_sure and t.kind == "number"]
        return all(target.text[0] in self.letters for target in lettered)


def _is_heading(answer: str, block: Block, part: _Part, is_last: bool) -> bool:
    """Return whether a block names what follows and states nothing."""
    if part.marks:
        return False
    line = answer[block.start : block.end]
    if block.kind == "heading":
        return True
    if len(block.lines) > 1 or is_last:
        return False
    words = re.findall(r"[^\W\d_][\w'\u2019-]*", line)
    is_label = len(words) <= MOST_LABEL_WORDS and _LABEL_LINE.fullmatch(line)
    if is_label or _BOLD_LINE.fullmatch(line):
        return True
    long_words = [word for word in words if len(word) > 3]
    is_titled = sum(word[0].isupper() for word in long_words) >= 0.75 * len(long_words) > 1
    return (
        block.kind == "text"
        and is_titled
        and len(words) <= MOST_TITLE_WORDS
        and not _CLOSED.search(line.rstrip(":"))
    )


def _sentences_of(part: _Part) -> tuple[list[Statement], list[Mark]]:
    """Return the sentences of a part, and the marks before the first that states anything."""
    text = part.plain.text
    spans = split_sentences(_blanked(text, part.removed))
    own: list[list[Mark]] = [[] for _ in spans]
    for mark in part.marks if spans else ():
        own[_owner_of(mark, text, spans)].append(mark)
    statements: list[Statement] = []
    early = [] if spans else list(part.marks)
    for span, marks in zip(spans, own, strict=True):
        statement = _statement(part, span, marks)
        if not marks and _NUMBER_ALONE.fullmatch(statement.text):
            continue
        if not (marks and _STATES_NOTHING.fullmatch(statement.text)):
            statements.append(statement)
        elif statements:
            _add_marks(statements[-1], part, marks)
            statements[-1].end = statement.end
        else:
            early += marks
    return statements, early


def _statement(part: _Part, span: Span, marks: Sequence[Mark]) -> Statement:
    # A mark that opens its line or the answer is part of its sentence, too.
    first = min([span[0], *(mark.start for mark in marks)])
    last = max([span[1], *(mark.end for mark in marks)])
    start, end = part.plain.source_span(first, last)
    statement = Statement(start, end, _text_without(part, first, last))
    _add_marks(statement, part, marks)
    return statement


def _add_marks(statement: Statement, part: _Part, marks: Iterable[Mark]) -> None:
    for mark in marks:
        statement.targets += mark.targets
        statement.marks.append(part.plain.source_span(mark.start, mark.end))


def _row_statement(block: Block, cells: Sequence[_Part]) -> list[Statement]:
    """Return a row as one statement: "Cough: 12% of patients", with headers where values differ."""
    headers = [*block.header, *("" for _ in cells)]
    values: list[tuple[str, str]] = []
    statement = Statement(
        cells[0].plain.starts[0] if cells[0].plain.text else block.start, block.end, ""
    )
    for header, cell in zip(headers, cells, strict=False):
        cited = _cited_cell(header, cell)
        if cited:
            statement.targets += cited
            continue
        _add_marks(statement, cell, cell.marks)
        words = _text_without(cell, 0, len(cell.plain.text))
        if _WORD.search(words):
            values.append((_plain_header(header), words))
    if not values or not any(_WORD.search(words) for _, words in values[-1:]):
        return []
    statement.text = _row_text(values)
    return [statement]


def _row_text(values: Sequence[tuple[str, str]]) -> str:
    (_, name), *rest = values
    if not rest:
        return name
    if len(rest) == 1:
        return f"{name}: {rest[0][1]}"
    return f"{name}: " + "; ".join(f"{header} {words}".strip() for header, words in rest)


def _cited_cell(header: str, cell: _Part) -> tuple[Target, ...]:
    """Return the targets of a cell without brackets in a column of sources."""
    if cell.marks or not _SOURCE_COLUMN.fullmatch(header):
        return ()
    words = readable(cell.plain.text).strip()
    if "pmid" in header.lower() and re.fullmatch(r"[\d,;\s]{1,200}", words):
        words = f"PMID {words}"
    return read_targets(words, is_square=True)


def _plain_header(header: str) -> str:
    return readable(plain_text(header, [(0, len(header))]).text).strip()


def _give_marks(
    answer: str, statements: Sequence[Statement], part: _Part, marks: Sequence[Mark]
) -> None:
    """Give marks of what states nothing, a block or its beginning, to the statement before."""
    if not statements or not marks:
        return
    last = statements[-1]
    _add_marks(last, part, marks)
    end = last.marks[-1][1]
    if not _WORD.search(re.sub(r"[\[(][^\[\]()]*[\])]", "", answer[last.end : end])):
        last.end = max(last.end, end)


def _attach_spans(statements: Sequence[Statement], cited: Sequence[CitedSpan]) -> None:
    """Give structured citations to the statements that they cover; a mark there says the same."""
    starts = [statement.start for statement in statements]
    for span in cited:
        targets = [Target("name", name, name) for name in span.documents]
        at = max(0, bisect_right(starts, span.start) - 1)
        covered = [
            s for s in statements if s.start < span.end and span.start < s.end
        ] or statements[at : at + 1]
        for statement in covered:
            inside = [
                n for n, (a, b) in enumerate(statement.marks) if span.start <= a and b <= span.end
            ]
            if inside and len(statement.marks) == len(statement.targets):
                for n in reversed(inside):
                    del statement.targets[n], statement.marks[n]
            statement.targets += targets


def _with_citations(
    statements: Sequence[Statement], resolver: CitationResolver
) -> list[AnswerSentence]:
    return [
        AnswerSentence(
            index=n,
            text=one.text,
            start=one.start,
            end=one.end,
            citations=resolver.citations(one.targets),
        )
        for n, one in enumerate(statements, 1)
    ]


def _listed_sentences(
    given: Sequence[SentenceInput], resolver: CitationResolver
) -> tuple[str, list[AnswerSentence]]:
    """Read an answer that came in sentences: each is one statement, with its listed citations."""
    text, statements, listed = _listed_statements(given, resolver)
    sentences: list[AnswerSentence] = []
    early: tuple[Citation, ...] = ()
    for one, citations in zip(statements, listed, strict=True):
        resolved = resolver.citations([*resolver.listed(citations), *one.targets])
        if _WORD.search(one.text) or (one.text and not one.marks):
            cited = tuple(dict.fromkeys([*early, *resolved]))
            place = {"index": len(sentences) + 1, "start": one.start, "end": one.end}
            sentences.append(AnswerSentence(text=one.text, citations=cited, **place))
            early = ()
        elif sentences:  # a sentence of marks alone: they go with the one before
            cited = tuple(dict.fromkeys([*sentences[-1].citations, *resolved]))
            update = {"citations": cited, "end": one.end}
            sentences[-1] = sentences[-1].model_copy(update=update)
        else:
            early += resolved
    return text, sentences


def _listed_statements(
    given: Sequence[SentenceInput], resolver: CitationResolver
) -> tuple[str, list[Statement], list[tuple[str, ...]]]:
    """Return the joined text, a statement for each sentence, and the citations listed for it."""
    text, spans, listed = _joined(given)
    parts = [[_Part(plain_text(text, [_without_list_mark(text, span)]))] for span in spans]
    statements: list[Statement] = []
    for (start, end), (part,) in zip(spans, _with_marks(parts, resolver), strict=True):
        statement = Statement(start, end, _text_without(part, 0, len(part.plain.text)))
        _add_marks(statement, part, part.marks)
        statements.append(statement)
    return text, statements, listed


def _without_list_mark(text: str, span: Span) -> Span:
    mark = LIST_MARK.match(text, *span)
    if mark and _WORD.search(re.sub(r"\[[^\[\]]*\]", "", text[mark.end() : span[1]])):
        return mark.end(), span[1]
    return span


def _joined(
    given: Sequence[SentenceInput],
) -> tuple[str, list[Span], list[tuple[str, ...]]]:
    """Return the sentences as one text, their spans in it, and the citations listed for each."""
    pieces: list[str] = []
    spans: list[Span] = []
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


def _owner_of(mark: Mark, text: str, spans: Sequence[Span]) -> int:
    """Return the index of the sentence that a mark belongs to.

    It is the sentence around or before it; if the mark opens a line, the next one on that line.
    """
    before = max(0, bisect_right(spans, mark.start, key=lambda span: span[0]) - 1)
    after = before + 1
    if after >= len(spans) or mark.start < spans[before][1]:
        return before
    opens_line = text.find("\n", spans[before][1], mark.start) >= 0
    stands_alone = text.find("\n", mark.end, spans[after][0]) >= 0
    return after if opens_line and not stands_alone else before


def _blanked(text: str, removed: Iterable[Span]) -> str:
    """Return a text of the same length with spaces for what goes with marks."""
    pieces, position = [], 0
    for start, end in removed:
        pieces += [text[position:start], " " * (end - start)]
        position = end
    return re.sub(f"[{DELIMITERS}]", " ", "".join([*pieces, text[position:]]))


def _text_without(part: _Part, start: int, end: int) -> str:
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
