"""Split text that contains several passages, as in a prompt.

Passages start with "[1] ...", "Document 2: ..." or "Document [3](Title: ...): ..." on a new line,
numbered from 1 without gaps. Passages may also start with distinct PMIDs, or be elements such as
`<document index="1">`. Ambiguous text is not split.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

MOST_PASSAGES = 1_000
"""Maximum number of passages in a text. A text with more passages is not split."""

_WORD = r"(?:document|doc|source|passage|context|chunk|snippet|article|reference|ref|result)"
_HEADING = "(?:document|doc|source|passage|context|chunk|snippet)"
"""Words that start a passage with a plain number, except "article", which may refer to a law."""
_MARKS = tuple(
    re.compile(
        rf"^[ \t]{{0,8}}(?:[\#=-]{{1,6}}[ \t])?(?:\*\*)?{mark}", re.IGNORECASE | re.MULTILINE
    )
    for mark in (
        rf"(?:{_WORD}[ \t]?)?\[(?P<n>[0-9]{{1,4}})\](?:\*\*)?[:.]?(?=[\s(])",
        rf"\[{_WORD}[ \t]?[:#]?[ \t]?(?P<n>[0-9]{{1,4}})\](?:\*\*)?:?(?=[\s(])",
        rf"{_HEADING}[ \t]#?(?P<n>[0-9]{{1,4}})(?:\*\*)?"
        r"(?::|(?:[ \t][=-]{1,6})?[ \t]?\r?\n|(?=[ \t]\((?:Title:|[^()\n]{1,200}\):)))(?:\*\*)?",
    )
)
_PMID = re.compile(
    r"^[ \t]{0,8}(?:\*\*)?\[?PMID[:\s]{0,2}(?P<id>[1-9][0-9]{4,8})(?:\]:?|:|[ \t]?\r?$)(?:\*\*)?",
    re.IGNORECASE | re.MULTILINE,
)
_TITLE = re.compile(r"[ \t]?\(Title:[ \t]?(?P<title>[^\n]{1,500}?)\):?(?=\s|$)", re.IGNORECASE)
_LEAD = re.compile(r"\s*(?:(?:\w+[ \t]){0,3}\w+:\s*\n\s*)?")
_RULE = re.compile(r"-{3,}|={3,}|\*{3,}")
"""Matches a line of dashes, equals signs or asterisks between passages."""
MOST_LEAD = 200
"""Maximum number of characters before the first passage."""

_TAG = r"(?:document|doc|source|passage|context|chunk|snippet|article|result|item)"
_ELEMENT = re.compile(
    rf"\s*<(?P<tag>{_TAG})(?P<more>(?:\s[^<>]{{0,300}})?)>(?P<text>.*?)</(?P=tag)>\s*",
    re.IGNORECASE | re.DOTALL,
)
_WRAPPER = re.compile(
    rf"\s*<(?P<tag>{_TAG}s)>(?P<text>.*)</(?P=tag)>\s*", re.IGNORECASE | re.DOTALL
)
_ID = re.compile(r"\b(?:id|index|pmid)\s?=\s?[\"']?(?P<id>[^\"'\s>]{1,200})", re.IGNORECASE)
_CONTENT = re.compile(
    r"\s*(?:<(?P<tag>source|title)>(?P<title>[^<]{0,500})</(?P=tag)>\s*)?"
    r"<(?P<inner>document_content|content|text)>(?P<text>.*)</(?P=inner)>\s*",
    re.IGNORECASE | re.DOTALL,
)


def split_passages(text: str) -> list[dict[str, object]]:
    r"""Split text into passages, or return an empty list if it is a single passage or ambiguous.

    Example:
        >>> split_passages("[1] It fell.\n\n[2] It rose.")
        [{'text': 'It fell.'}, {'text': 'It rose.'}]
        >>> split_passages("It fell [1].\n\n[1] Smith 2020.\n[2] Lee 2021.")
        []
    """
    for mark in _MARKS:
        if passages := _split_numbered(text, mark):
            return passages
    return _split_by_pmid(text) or _split_elements(text)


def _split_numbered(text: str, mark: re.Pattern[str]) -> list[dict[str, object]]:
    marks = list(mark.finditer(text))
    is_numbered = [int(match["n"]) for match in marks] == list(range(1, len(marks) + 1))
    return _split_at_marks(text, marks) if is_numbered else []


def _split_by_pmid(text: str) -> list[dict[str, object]]:
    marks = list(_PMID.finditer(text))
    ids = [match["id"] for match in marks]
    rows = _split_at_marks(text, marks) if len(set(ids)) == len(ids) else []
    return [{"id": name} | row for name, row in zip(ids, rows, strict=False)]


def _split_at_marks(text: str, marks: Sequence[re.Match[str]]) -> list[dict[str, object]]:
    """Return the passages that start at the marks, or an empty list if a passage has no text."""
    if not 1 < len(marks) <= MOST_PASSAGES or marks[0].start() > MOST_LEAD:
        return []
    if not _LEAD.fullmatch(text, 0, marks[0].start()):
        return []
    ends = [*(right.start() for _, right in pairwise(marks)), len(text)]
    rows = [_build_row(text[match.end() : end]) for match, end in zip(marks, ends, strict=True)]
    return rows if all(row["text"] for row in rows) else []


def _build_row(text: str) -> dict[str, object]:
    titled = _TITLE.match(text)
    body = text[titled.end() if titled else 0 :].strip()
    above, _, last = body.rpartition("\n")
    if _RULE.fullmatch(last.strip()):
        body = above.rstrip()
    return {"title": titled["title"].strip(), "text": body} if titled else {"text": body}


def _split_elements(text: str) -> list[dict[str, object]]:
    wrapped = _WRAPPER.fullmatch(text)
    inside = wrapped["text"] if wrapped else text
    rows, position = list[dict[str, object]](), 0
    while match := _ELEMENT.match(inside, position):
        position = match.end()
        content, named = _CONTENT.fullmatch(match["text"]), _ID.search(match["more"])
        body = (content or match)["text"].strip()
        if not body or len(rows) == MOST_PASSAGES:
            return []
        row: dict[str, object] = {"id": named["id"]} if named else {}
        if content and content["title"]:
            row["title"] = content["title"].strip()
        rows.append(row | {"text": body})
    ids = [row["id"] for row in rows if "id" in row]
    is_complete = len(rows) > 1 and not inside[position:].strip()
    return rows if is_complete and len(set(ids)) in (0, len(rows)) else []
