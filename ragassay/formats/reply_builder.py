"""Collect the text, sources and citations of a provider's reply in one structure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

from ragassay.formats.problems import is_list, is_mapping
from ragassay.formats.rows import distinguish_ids
from ragassay.records import CitedSpan, Document

MAX_DEPTH = 60
_DUMPS = ("model_dump", "to_dict", "dict")
"""Methods that convert an object to a dict, in pydantic and other libraries."""

_HUMP = re.compile(r"_([a-z])")

TEXT_NAMES = ("text", "content", "snippet", "page_content", "chunk", "body", "abstract", "summary")
"""Fields of a source that may contain its text, in order of preference."""

NAME_NAMES = ("id", "doc_id", "document_id", "url", "uri", "source", "filepath", "file_id")
TITLE_NAMES = ("title", "name", "filename")

Fields = Mapping[str, Any]


def as_plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Convert a library object to dicts, lists and plain values."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if depth == 0 or isinstance(value, type | bytes):
        return None
    if is_mapping(value):
        return {str(key): as_plain(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(part, depth - 1) for part in value]
    dump = next((m for name in _DUMPS if callable(m := getattr(value, name, None))), None)
    if dump is not None:
        dumped = dump()
        return as_plain(dumped, depth - 1) if is_mapping(dumped) else None
    fields = getattr(value, "__dict__", None)
    if not isinstance(fields, dict):
        return None
    return {
        name: as_plain(part, depth - 1)
        for name, part in fields.items()
        if not name.startswith("_") and not callable(part)
    }


def get(fields: Any, *names: str) -> Any:
    """Return the first field that is not null, in snake or camel case, or None if there is none."""
    if not is_mapping(fields):
        return None
    for name in names:
        for spelling in (name, _HUMP.sub(lambda match: match[1].upper(), name)):
            if fields.get(spelling) is not None:
                return fields[spelling]
    return None


def get_fields(fields: Any, *names: str) -> dict[str, Any]:
    """Return the first field that is not null, or an empty dict if it is not an object."""
    value = get(fields, *names)
    return {str(key): part for key, part in value.items()} if is_mapping(value) else {}


def get_list(fields: Any, *names: str) -> list[Any]:
    """Return the first field that is not null, or an empty list if it is not a list."""
    value = get(fields, *names)
    return value if is_list(value) else []


def get_text(fields: Any, *names: str) -> str:
    """Return the first nonempty text or whole number as text, or "" if there is none."""
    for name in names:
        value = get(fields, name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def get_number(fields: Any, *names: str) -> int | None:
    """Return the first field that is not null as an integer, or None if it is not an integer."""
    value = get(fields, *names)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        return int(value)  # Google's APIs write 64-bit numbers as text.
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def iter_objects(values: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list, or nothing for other values."""
    for value in values if is_list(values) else ():
        if is_mapping(value):
            yield {str(key): part for key, part in value.items()}


def get_source_text(fields: Any) -> str:
    """Return the text of a source, or an empty string."""
    return get_text(fields, *TEXT_NAMES)


def collect_free_text(fields: Any) -> str:
    """Return the text of a source, or all texts of its custom fields, one per line."""
    if not is_mapping(fields) or get_source_text(fields):
        return get_source_text(fields)
    others = {*NAME_NAMES, *TITLE_NAMES, "type"}
    texts = (part for name, part in fields.items() if name not in others)
    return "\n".join(part for part in texts if isinstance(part, str) and part.strip())


Unit = Literal["characters", "bytes"]
MAX_SPANS = 10_000
"""Maximum number of cited spans that are read from a reply."""

_BETWEEN = "\n\n"


@dataclass(frozen=True)
class StructuredReply:
    """Text, citations and sources of a provider's reply.

    Attributes:
        citations: Spans of the text, with the ids of the sources cited for them.
        sources: Sources in the order of the reply, with empty texts if the reply omits the texts.
        positions: 0-based positions of documents in the request, keyed by source id.
        problems: One sentence for each part of the reply that cannot be read.
    """

    text: str
    citations: tuple[CitedSpan, ...] = ()
    sources: tuple[Document, ...] = ()
    positions: dict[str, int] = field(default_factory=dict[str, int])
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplyBlock:
    """Part of an answer. The offsets of its citations are relative to `start`."""

    start: int
    text: str

    @cached_property
    def _byte_ends(self) -> list[int]:
        return list(accumulate(len(mark.encode("utf-8", "replace")) for mark in self.text))

    @cached_property
    def _utf16_ends(self) -> list[int]:
        return list(accumulate(1 + (ord(mark) > 0xFFFF) for mark in self.text))

    def _convert_offset(self, offset: int, ends: Sequence[int]) -> int:
        """Convert an offset in bytes or UTF-16 units to an offset in characters."""
        n_units = ends[-1] if ends else 0
        if offset > n_units:
            return len(self.text) + offset - n_units
        return bisect_left(ends, offset) + 1 if offset > 0 else offset

    def locate(
        self, start: int, end: int, quoted: str = "", unit: Unit = "characters"
    ) -> tuple[int, int]:
        """Convert a span to character offsets, which may lie outside the block.

        Providers count in characters, bytes or UTF-16 units, and some use inclusive end offsets. If
        the provider quotes the text, the unit that makes the span match the quote is used.

        Example:
            >>> ReplyBlock(0, "naïve, it fell").locate(8, 15, "it fell", "bytes")
            (7, 14)
        """
        in_bytes = tuple(self._convert_offset(one, self._byte_ends) for one in (start, end))
        default = in_bytes if unit == "bytes" else (start, end)
        if quoted.strip():
            in_utf16 = tuple(self._convert_offset(one, self._utf16_ends) for one in (start, end))
            for first, last in (default, (start, end), in_bytes, in_utf16, (start, end + 1)):
                if self.text[max(first, 0) : max(last, 0)].strip() == quoted.strip():
                    return first, last
            if self.text.count(quoted) == 1:
                first = self.text.index(quoted)
                return first, first + len(quoted)
        return default[0], default[1]


@dataclass
class _Source:
    name: str
    title: str
    texts: dict[str, None]
    position: int | None


class ReplyBuilder:
    """Collects the text, sources and citations of a reply."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._sources: list[_Source] = []
        self._known: dict[str, int] = {}
        self._spans: dict[tuple[int, int], dict[int, None]] = {}
        self._problems: list[str] = []
        self._n_too_many = 0

    @property
    def text(self) -> str:
        """Text that was added to the answer so far."""
        return "".join(self._texts)

    def add_text(self, text: str) -> ReplyBlock:
        """Append text to the answer, and return the text as a block."""
        block = ReplyBlock(self._length, text)
        self._texts.append(text)
        self._length += len(text)
        return block

    def add_source(
        self,
        name: str = "",
        *,
        key: str = "",
        title: str = "",
        text: str = "",
        position: int | None = None,
        is_new: bool = False,
    ) -> int:
        """Add a source, or add another text to a known source.

        Args:
            name: Id or URL from the provider, by default the title or a number.
            key: Key by which the source is found again, by default the name or the title.
            text: Text or quote from the source, if any.
            position: 0-based position among the documents of the request, if any.
            is_new: Whether to add another source even if there is one with the same key.

        Returns:
            Number of the source, to be passed to `cite`.
        """
        key = key or name or title
        n = self._known.get(key) if key and not is_new else None
        if n is None:
            n = len(self._sources)
            self._sources.append(_Source(name or title or str(n + 1), title, {}, position))
            self._known.setdefault(key, n)
        source = self._sources[n]
        source.title = source.title or title
        if text.strip():
            source.texts[text] = None
        return n

    def cite(
        self,
        block: ReplyBlock,
        sources: Iterable[int],
        start: int | None = None,
        end: int | None = None,
        quoted: str = "",
        unit: Unit = "characters",
    ) -> None:
        """Cite sources for a span of a block.

        Without offsets, the span is the quoted text or, failing that, the whole block. A single
        offset stands for an empty span. Spans that extend beyond the text are cut and reported.
        """
        numbers = dict.fromkeys(sources)
        if not numbers:
            return
        first, last = self._locate_span(block, start, end, quoted, unit)
        n_characters = len(block.text)
        if not 0 <= first <= last <= n_characters or (first == n_characters and last > first):
            self.report(
                f"a citation of {self._sources[next(iter(numbers))].name!r} refers to characters "
                f"{first} to {last}, but the text has {n_characters} characters"
            )
            first, last = max(first, 0), min(last, n_characters)
            if first > last or first >= n_characters:
                return
        span = (block.start + first, block.start + last)
        if span in self._spans or len(self._spans) < MAX_SPANS:
            self._spans.setdefault(span, {}).update(numbers)
        else:
            self._n_too_many += 1

    def _locate_span(
        self, block: ReplyBlock, start: int | None, end: int | None, quoted: str, unit: Unit
    ) -> tuple[int, int]:
        if start is None and end is None:
            position = block.text.find(quoted) if quoted.strip() else -1
            return (position, position + len(quoted)) if position >= 0 else (0, len(block.text))
        first = start if start is not None else 0
        return block.locate(first, end if end is not None else first, quoted, unit)

    def report(self, problem: str) -> None:
        """Record a problem with the reply."""
        self._problems.append(problem)

    def build(self) -> StructuredReply:
        """Return the reply, with unique source ids, and with citations in the order of the text."""
        if self._n_too_many:
            self.report(
                f"{self._n_too_many} citations beyond the first {MAX_SPANS:,} were not read"
            )
        names = [source.name for source in self._sources]
        ids = distinguish_ids(names)
        documents = tuple(
            Document(
                id=name,
                text=_BETWEEN.join(source.texts),
                title=source.title,
                part_of=source.name if names.count(source.name) > 1 else "",
            )
            for name, source in zip(ids, self._sources, strict=True)
        )
        spans = (
            CitedSpan(start=start, end=end, documents=tuple(ids[n] for n in numbers))
            for (start, end), numbers in sorted(self._spans.items())
        )
        numbered = zip(ids, self._sources, strict=True)
        positions = {name: one.position for name, one in numbered if one.position is not None}
        return StructuredReply(self.text, tuple(spans), documents, positions, tuple(self._problems))
