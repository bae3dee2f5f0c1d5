"""Split answers, references and documents into sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from ragassay.text.sentence_rules import BULLETS, ITEM, JOINS, SPLITS

_STOP = re.compile(
    r"[.!?\u2026]\\?[\"'\u201d\u2019)\]]{0,3}(?P<space>\s+)(?=[^\sa-z])"
    r"|[\u3002\uff01\uff1f\uff61\uff0e][\"'\u201d\u2019\u300d\u300f\uff09\u3011\u300b]{0,2}(?=.)"
)
"""Matches a possible end of a sentence within a segment found by sentencex."""

_BULLET = re.compile(rf"[{BULLETS}]")
_LINE_ITEM = re.compile(rf"(?:\A|\n)[^\S\n]{{0,20}}(?={ITEM.pattern})")
_SUPERSCRIPT = r"\u00b9\u00b2\u00b3\u2070-\u2079"
_TRAILERS = re.compile(
    rf"(?<=[.!?)\]\"\u201d])(?:[{_SUPERSCRIPT}][{_SUPERSCRIPT},\u207b]{{0,20}}|[*_]{{1,3}}|\${{1,2}})"
    r"(?=\s|\Z)"
)
"""Matches superscripts and closing marks of emphasis or formulas after a sentence."""

_NUMBERED = re.compile(r"\(([^().!?\n]{1,60}[0-9])\)")
"""Matches a number before a closing parenthesis, which sentencex may treat as a list number."""

_ONE_LINE = re.compile(r"[\w ,;:()%/'\"-]*\s?")
"""Matches text without sentence punctuation, such as most list items."""

_CITED = re.compile(r"\s?\[[\d, \u2013-]{1,20}\]$")
_GLUED = re.compile(r"[A-Z0-9]\.[A-Z0-9][^a-z]")
"""Matches part of a name such as "tPA.WT", which is not a sentence end without white space."""

_LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[ivxIVX]{1,5}|[a-zA-Z])[.)]$")
_LONGEST_CHARS = 800
"""Maximum length of a sentence. Longer pieces are split again without brackets and quotation marks,
because sentencex does not split between them, and an unmatched bracket may span half a paper."""

_MARKS = "()[]{}\"\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e\u201a'"
_BRACKETS = ("()", "[]", "\u201c\u201d", "\u300c\u300d", "\u300e\u300f", "\uff08\uff09")
_PAIRED = str.maketrans(dict.fromkeys(_MARKS, " "))
_MOST_PAIRED = 2_000
"""Maximum number of brackets and quotation marks in a paragraph that are passed to sentencex, which
takes quadratic time for unmatched brackets."""

_SHORT_CHARS = 16
"""Maximum number of characters of a list number. The limit keeps the check fast."""

_TAIL_CHARS = 48
"""Number of characters before a boundary that are passed to the rules, none of which needs more."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of sentences in order, without outer white space.

    The boundaries that sentencex finds are corrected with `sentence_rules`, which are mostly for
    English. A list item is a sentence that includes its list marker. Pieces without a word are
    joined to the previous sentence. For a text without a sentence, the list is empty.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _split_pieces(text):
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if start >= end:
            continue
        if spans and _is_one(text, spans[-1], (start, end)):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [span for span in spans if _has_word(text[span[0] : span[1]])]


def _split_pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the pieces into which sentencex and `SPLITS` split the text of each list item."""
    for start, end in pairwise([0, *_find_item_starts(text), len(text)]):
        mark = ITEM.match(text, start, end)
        body = mark.end() if mark else start
        pieces = [(body + first, body + last) for first, last in _split_prose(text[body:end])]
        for number, (first, last) in enumerate(pieces):
            cuts = _find_missed_boundaries(text, first, last)
            yield from pairwise([first if number else start, *cuts, last])


def _split_prose(text: str) -> Iterator[tuple[int, int]]:
    if _ONE_LINE.fullmatch(text):
        yield 0, len(text)
        return
    for start, end in _find_boundaries(_replace_crowds(text)):
        if end - start <= _LONGEST_CHARS:
            yield start, end
        else:
            inner = _find_boundaries(text[start:end].translate(_PAIRED))
            yield from ((start + first, start + last) for first, last in inner)


def _find_item_starts(text: str) -> list[int]:
    """Return the offsets at which list items start.

    A dash does not start an item if the line before ends in a number, because the two may be a
    range. A number or letter starts an item only after a line that ends in punctuation, or after
    another item.
    """
    starts: list[int] = []
    last_line = -1
    for match in _LINE_ITEM.finditer(text):
        line = max(text.rfind("\n", max(0, match.start() - _LONGEST_CHARS), match.start()), 0)
        before = text[max(line, match.start() - 8) : match.start()].rstrip()[-1:]
        if match["sure"] or not before:
            is_item = True
        elif match["dash"]:
            is_item = not before.isdigit() or line == last_line
        else:
            is_item = before in ".:;!?)]\u3002\uff1a" or line == last_line
        if is_item:
            starts.append(match.end())
            last_line = match.start()
    return starts


def _find_missed_boundaries(text: str, start: int, end: int) -> Iterator[int]:
    opened = start
    for stop in _STOP.finditer(text, start, end):
        at = stop.start("space") if stop["space"] else stop.end()
        tail = text[max(opened, at - _TAIL_CHARS) : at]
        if any(
            rule.after.match(text, stop.end()) and rule.before.search(tail) for rule in SPLITS
        ) and not _is_enclosed(text[max(opened, at - _LONGEST_CHARS) : at]):
            yield stop.end()
            opened = stop.end()


def _is_enclosed(text: str) -> bool:
    """Return whether a bracket or quotation mark is still open at the end of a text."""
    if text.count('"') % 2:
        return True
    return any(text.count(opening) > text.count(closing) for opening, closing in _BRACKETS)


def _replace_crowds(text: str) -> str:
    return "\n\n".join(
        part.translate(_PAIRED) if sum(map(part.count, _MARKS)) > _MOST_PAIRED else part
        for part in text.split("\n\n")
    )


def _find_boundaries(text: str) -> list[tuple[int, int]]:
    # A compiled module without type stubs.
    from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]

    plain = _TRAILERS.sub(lambda trailer: " " * len(trailer[0]), text)
    plain = _NUMBERED.sub(r" \1 ", plain)
    return [(one["start_index"], one["end_index"]) for one in get_sentence_boundaries("en", plain)]


def _is_one(text: str, left: tuple[int, int], right: tuple[int, int]) -> bool:
    if text.count("\n", left[1], right[0]) > 1:
        return False
    if not _has_word(text[right[0] : right[1]]):
        return True
    tail = text[max(left[0], left[1] - _TAIL_CHARS) : left[1]]
    is_short = left[1] - left[0] <= _SHORT_CHARS
    if is_short and (_LIST_NUMBER.fullmatch(tail) or not _has_word(tail)):
        return True
    if "\n" in text[left[1] : right[0]] and ITEM.match(text, right[0]):
        return False
    if left[1] == right[0] and _GLUED.match(text, left[1] - 2):
        return True
    if tail.endswith("]"):
        tail = _CITED.sub("", tail)
    return tail.endswith(".") and any(
        rule.after.match(text, right[0]) and rule.before.search(tail) for rule in JOINS
    )


def _has_word(piece: str) -> bool:
    """Return whether a piece contains a letter, a number or a pictograph."""
    kinds = (unicodedata.category(c) for c in _BULLET.sub("", piece))
    return any(kind[0] in "LN" or kind == "So" for kind in kinds)


def extract_sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in split_sentences(text)]
