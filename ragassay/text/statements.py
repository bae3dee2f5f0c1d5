"""Build the statements of an answer from its blocks: sentences, list items and table rows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from ragassay.text.blocks import Block
from ragassay.text.citation_marks import Mark, find_marks, find_removable_spans, join_ranges
from ragassay.text.citation_resolver import CitationResolver
from ragassay.text.citation_styles import (
    AMBIGUOUS_LETTERS,
    COUNTED_WORD,
    LEAST_ID_DIGITS,
    LETTERS,
    Target,
    read_targets,
)
from ragassay.text.faults import overwrite_spans
from ragassay.text.markup import (
    DELIMITERS,
    SUP,
    PlainText,
    Span,
    extract_plain_text,
    remove_delimiters,
)
from ragassay.text.sentences import split_sentences

WORD = re.compile(r"[^\W_]")
CLOSED = re.compile(r"[.!?:;,\u3002\u2026][\"'\u201d\u2019)\]*_\s]{0,5}$")
_CLOSING = ".,;:!?)\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f"
_WITHOUT_DELIMITERS = str.maketrans(DELIMITERS, " " * len(DELIMITERS))


@dataclass(frozen=True)
class BlockPart:
    """Part of a block that is split into sentences. `removed` are the spans of its marks."""

    plain: PlainText
    marks: tuple[Mark, ...] = ()
    removed: tuple[Span, ...] = ()


def mark_parts(
    parts: Sequence[Sequence[BlockPart]], resolver: CitationResolver
) -> list[list[BlockPart]]:
    """Find the marks in all parts. Whether an ambiguous mark counts depends on all other marks."""
    names = resolver.names
    candidates = [[find_marks(part.plain, names) for part in block_parts] for block_parts in parts]
    every = [mark for block_marks in candidates for marks in block_marks for mark in marks]
    resolver.settle_numbers(
        int(t.value)
        for m in every
        for t in m.targets
        if t.kind == "number" and m.style not in ("round", "flat", "prose", "unsure")
    )
    accept = _build_mark_filter(every, resolver)
    marked: list[list[BlockPart]] = []
    last: tuple[Target, ...] = ()
    for block_parts, block_marks in zip(parts, candidates, strict=True):
        marked.append([])
        for part, marks in zip(block_parts, block_marks, strict=True):
            accepted: list[Mark] = []
            for mark in (one for one in marks if accept(one, part)):
                last = _repeat_targets(mark.targets, last)
                accepted.append(replace(mark, targets=last))
            marked[-1].append(_set_marks(part, accepted))
    return marked


def _repeat_targets(targets: Sequence[Target], last: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return targets with the `last` targets in place of "ibid."."""
    return tuple(chain(*(last if t.kind == "same" and last else (t,) for t in targets)))


def _set_marks(part: BlockPart, marks: Sequence[Mark]) -> BlockPart:
    text = part.plain.text
    joined = join_ranges(text, marks)
    return BlockPart(part.plain, tuple(joined), tuple(find_removable_spans(text, joined)))


def _build_mark_filter(
    marks: Sequence[Mark], resolver: CitationResolver
) -> Callable[[Mark, BlockPart], bool]:
    """Return a function that decides whether a possible mark is a citation.

    A number in parentheses is a citation if it is the position of a source and the answer has no
    other numbered marks: `(1, 2)`, but not `(n = 5)`, `(95)` or `(2015)`.
    """
    numbered = [m for m in marks if any(t.kind == "number" for t in m.targets)]
    is_bracketed = any(mark.style == "" and mark.text[0] not in "(\uff08" for mark in numbered)
    lettered = {
        t.text
        for m in marks
        for t in _select_letters(m)
        if resolver.points_to_source(t) or not resolver.has_sources
    }
    counts = Counter(text[0] for text in lettered)
    ambiguous = AMBIGUOUS_LETTERS if resolver.has_sources else LETTERS
    letters = {letter for letter, n in counts.items() if n > 1 or letter not in ambiguous}
    letters |= {name[0].upper() for name in resolver.names if re.fullmatch(r"[a-z]\d{1,3}", name)}

    def accept(mark: Mark, part: BlockPart) -> bool:
        if mark.style == "round":
            are_ids = all(len(target.value) >= LEAST_ID_DIGITS for target in mark.targets)
            is_any_source = any(map(resolver.is_position, mark.targets))
            return is_any_source and (are_ids or not is_bracketed)
        if mark.style == "flat":
            return not is_bracketed and all(map(resolver.is_position, mark.targets))
        if mark.style == "prose" and not resolver.has_sources:
            return True
        if mark.style in ("raised", "unsure", "prose"):
            follows_stop = mark.style == "raised" and CLOSED.search(part.plain.text[: mark.start])
            return all(map(resolver.points_to_source, mark.targets)) or bool(follows_stop)
        return all(target.text[0] in letters for target in _select_letters(mark))

    return accept


def _select_letters(mark: Mark) -> list[Target]:
    return [target for target in mark.targets if not target.is_sure and target.kind == "number"]


def extract_unmarked_text(part: BlockPart, start: int, end: int) -> str:
    """Return the text of a span without marks and with normalized white space."""
    pieces, position = [], start
    index = bisect_right(part.removed, start, key=lambda span: span[1])
    for first, last in islice(part.removed, index, None):
        if first >= end:
            break
        pieces.append(part.plain.text[position : max(first, position)])
        position = min(last, end)
    pieces.append(part.plain.text[position:end])
    parts: list[str] = []
    for piece in pieces:
        plain = " ".join(remove_delimiters(piece).split())
        # "grew [1]." becomes "grew.", but "grew [1] .5 mg" keeps its space.
        if parts and plain and plain[0] in _CLOSING and not plain[1:2].isdigit():
            is_repeated = plain == "." and parts[-1].endswith((".", "!", "?"))  # "grew.[1]."
            parts[-1] += "" if is_repeated else plain
        elif plain:
            parts.append(plain)
    return " ".join(parts)


MOST_LABEL_WORDS, MOST_TITLE_WORDS = 2, 12
"""Maximum numbers of words in a label ("Side effects:") and in a line in title case."""

_BOLD_LINE = re.compile(r"[\s>]{0,9}(?:\*\*|__)(?:[^*_\n]{1,120})(?:\*\*|__)\s?:?\s?")
_LABEL_LINE = re.compile(r"[\s*_]{0,9}(?:[^\s:]{1,30}[ ]){0,2}[^\s:]{1,30}[\s*_]{0,3}:[\s*_]{0,3}")
_SOURCE_COLUMN = re.compile(
    r"[\s*_]{0,5}(?:sources?|references?|refs?\.?|citations?|pmids?|dois?|documents?|docs?"
    r"|stud(?:y|ies)|evidence)[\s*_:]{0,5}(?:id|no\.?)?",
    re.IGNORECASE,
)
_LETTER_AND_BLANK = re.compile(r"(?<![^\W_])[^\W\d_]\s{3,}(?=[.!?](?:\s|\Z))")
"""Matches a letter before a removed mark, which is a unit rather than an initial."""

_NUMBER_ALONE = re.compile(r"\(\d{1,3}\)\W{0,3}")
_LINK_WORD = (
    r"(?:for|more|further|information|details|see|also|read|visit|available|sources?|references?"
    r"|ref|link|here|at|from|via|and|or|on|in)"
)
_STATES_NOTHING = re.compile(
    rf"\W{{0,4}}{COUNTED_WORD.pattern}\W{{0,3}}|\(?\d{{1,3}}[.)]\W{{0,3}}|\W{{0,9}}(?:{_LINK_WORD}\W{{1,9}}){{0,9}}{_LINK_WORD}\W{{0,9}}",
    re.IGNORECASE,
)
"""Matches text next to a mark that states nothing, such as "see" or an item number ("1[1].")."""


@dataclass
class Statement:
    """A statement of an answer, with citations that are not resolved to documents.

    Attributes:
        start: Offset in the answer at which the statement or its first mark starts.
        marks: Spans of the statement's marks in the answer.
    """

    start: int
    end: int
    text: str
    targets: list[Target] = field(default_factory=list[Target])
    marks: list[Span] = field(default_factory=list[Span])


def build_statements(
    answer: str, blocks: Sequence[Block], resolver: CitationResolver
) -> list[Statement]:
    """Return the statements of an answer in order, with the targets of their marks.

    `blocks` do not contain the reference list, and their offsets refer to the answer. The resolver
    decides which numbers are marks.
    """
    spans = [[(cell,) for cell in b.cells] if b.kind == "row" else [b.lines] for b in blocks]
    parts = [
        [BlockPart(extract_plain_text(answer, part)) for part in block_spans]
        for block_spans in spans
    ]
    parts = mark_parts(parts, resolver)
    statements = _collect_statements(answer, blocks, parts, has_headings=True)
    # An answer in title case or of a title and marks would otherwise have no statements.
    return statements or _collect_statements(answer, blocks, parts, has_headings=False)


def _collect_statements(
    answer: str, blocks: Sequence[Block], parts: Sequence[Sequence[BlockPart]], has_headings: bool
) -> list[Statement]:
    statements: list[Statement] = []
    for number, (block, block_parts) in enumerate(zip(blocks, parts, strict=True), 1):
        part, is_last = block_parts[0], number == len(blocks)
        if block.kind == "row":
            row = _build_row_statement(block, block_parts)
            statements += [row] if row else []
            for cell in () if row else block_parts:
                _give_marks(answer, statements, cell, cell.marks)
        elif block.kind != "code" and not (
            has_headings and _is_heading(answer, block, part, is_last)
        ):
            added, early = _split_part(part)
            _give_marks(answer, statements or added, part, early)
            statements += added
    return statements


def _is_heading(answer: str, block: Block, part: BlockPart, is_last: bool) -> bool:
    if part.removed:
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
        and not CLOSED.search(line.rstrip(":"))
    )


def _split_part(part: BlockPart) -> tuple[list[Statement], list[Mark]]:
    """Return the sentences of a part, and the marks before its first statement."""
    text = part.plain.text
    blank = overwrite_spans(text, part.removed, keeps_line_breaks=False).translate(
        _WITHOUT_DELIMITERS
    )
    spans = split_sentences(_LETTER_AND_BLANK.sub(lambda match: "x" * len(match[0]), blank))
    marks_by_span: list[list[Mark]] = [[] for _ in spans]
    leads = _lead_sentences(part.marks, spans)
    for mark in part.marks if spans else ():
        owner = _find_next(mark, spans) if leads else _find_owner(mark, text, spans)
        marks_by_span[owner].append(mark)
    statements: list[Statement] = []
    early = [] if spans else list(part.marks)
    for span, marks in zip(spans, marks_by_span, strict=True):
        statement = _build_statement(part, span, marks)
        if not marks and _NUMBER_ALONE.fullmatch(statement.text):
            continue
        if not (marks and _STATES_NOTHING.fullmatch(statement.text)):
            statements.append(statement)
        elif statements:
            add_marks(statements[-1], part, marks)
            statements[-1].end = statement.end
        else:
            early += marks
    return statements, early


def _build_statement(part: BlockPart, span: Span, marks: Sequence[Mark]) -> Statement:
    # A mark at the start of a line or of the answer also belongs to its sentence.
    first = min([span[0], *(mark.start for mark in marks)])
    last = max([span[1], *(mark.end for mark in marks)])
    if part.plain.text[first - 1 : first] == SUP:  # an isotope: "18F"
        first -= 1
    start, end = part.plain.find_source_span(first, last)
    statement = Statement(start, end, extract_unmarked_text(part, first, last))
    add_marks(statement, part, marks)
    return statement


def add_marks(statement: Statement, part: BlockPart, marks: Iterable[Mark]) -> None:
    """Add the targets and spans of citation marks to a statement."""
    for mark in marks:
        statement.targets += mark.targets
        statement.marks.append(part.plain.find_source_span(mark.start, mark.end))


def _build_row_statement(block: Block, cells: Sequence[BlockPart]) -> Statement | None:
    """Return a table row as one statement, such as "Cough: 12% of patients"."""
    headers = [*block.header, *("" for _ in cells)]
    values: list[tuple[str, str]] = []
    statement = Statement(
        cells[0].plain.starts[0] if cells[0].plain.text else block.start, block.end, ""
    )
    for header, cell in zip(headers, cells, strict=False):
        cited = _read_cited_cell(header, cell)
        if cited:
            statement.targets += cited
            continue
        add_marks(statement, cell, cell.marks)
        words = extract_unmarked_text(cell, 0, len(cell.plain.text))
        if WORD.search(words):
            plain_header = remove_delimiters(
                extract_plain_text(header, [(0, len(header))]).text
            ).strip()
            values.append((plain_header, words))
    if not values:
        return None
    (_, name), *rest = values
    texts = [words if len(rest) == 1 else f"{header} {words}".strip() for header, words in rest]
    statement.text = f"{name}: {'; '.join(texts)}" if texts else name
    return statement


def _read_cited_cell(header: str, cell: BlockPart) -> tuple[Target, ...]:
    if cell.removed or not _SOURCE_COLUMN.fullmatch(header):
        return ()
    words = remove_delimiters(cell.plain.text).strip()
    if "pmid" in header.lower() and re.fullmatch(r"[\d,;\s]{1,200}", words):
        words = f"PMID {words}"
    return read_targets(words, is_square=True)


def _give_marks(
    answer: str, statements: Sequence[Statement], part: BlockPart, marks: Sequence[Mark]
) -> None:
    if not statements or not marks:
        return
    last = statements[-1]
    add_marks(last, part, marks)
    end = last.marks[-1][1]
    if not WORD.search(re.sub(r"[\[(][^\[\]()]*[\])]", "", answer[last.end : end])):
        last.end = max(last.end, end)


def _lead_sentences(marks: Sequence[Mark], spans: Sequence[Span]) -> bool:
    """Return whether several marks all precede their sentences: "[1] It fell. [2] It rose."."""
    if len(marks) < 2 or not spans or marks[0].start > spans[0][0] or marks[-1].end > spans[-1][0]:
        return False
    return all(mark.start >= spans[_find_next(mark, spans) - 1][1] for mark in marks[1:])


def _find_next(mark: Mark, spans: Sequence[Span]) -> int:
    return bisect_right(spans, mark.start, key=lambda span: span[0])


def _find_owner(mark: Mark, text: str, spans: Sequence[Span]) -> int:
    """Return the index of the sentence that a mark belongs to.

    A mark belongs to the sentence that contains or precedes it, or, at the start of a line, to the
    next sentence on that line.
    """
    before = max(0, bisect_right(spans, mark.start, key=lambda span: span[0]) - 1)
    after = before + 1
    if after >= len(spans) or mark.start < spans[before][1]:
        return before
    opens_line = text.find("\n", spans[before][1], mark.start) >= 0
    stands_alone = text.find("\n", mark.end, spans[after][0]) >= 0
    return after if opens_line and not stands_alone else before
