"""Recognise a file's format by its fields, never by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from ragassay.errors import InputError
from ragassay.formats.fields import fold
from ragassay.formats.items import METADATA_FIELDS, Item
from ragassay.formats.problems import Problem, close_name, describe_value
from ragassay.records import HumanLabel, Record, Rejection

Outcome = Record | Problem

MAX_SNIFFED = 1_000

_WRITTEN = re.compile(r"JSON|row")
"""What is expected of a line's words; else the file itself is damaged, and no form mends it."""

_CLAIMS = "labelled claims, no answers: they train a verifier (`ragassay finetune verifier --data`)"
_ELSEWHERE: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"Q&A"}),
        "question-answer pairs of papers (SciQAG): `ragassay qa evaluate` measures and rates them",
    ),
    (
        frozenset({"question", "papers"}),
        "questions of YESciEval: name the file of their answers, and this one with `--questions`",
    ),
    (frozenset({"intervention", "comparator", "outcome", "evidence"}), _CLAIMS),
    (frozenset({"PromptID", "Annotations"}), _CLAIMS),
    (frozenset({"claim", "label"}), _CLAIMS),
    (frozenset({"claim", "evidence"}), _CLAIMS),
)
"""What a file holds that has no answers, by its fields, and what can be done with it."""


@dataclass(frozen=True)
class Format:
    """The fields that identify a format.

    Attributes:
        name: Its name in `ReadResult.format`.
        required: Fields that are needed; alternatives together. A field of the metadata is written
            "metadata.qa_id".
        leading: A line with this field and no unknown one has the format, even without required
            ones.
        keys: The fields, as shown to people.
        unanswered: What else a file of this format may be, where its answers are empty.
        read: Turns an item into one record or several; it takes the topics' questions as well
            where `has_topics`. Problems may stand beside the records.
        read_labels: Turns an item into people's labels and problems; None where it has none.
        has_topics: Whether the questions may be in a file of topics.
        is_repeating: Whether an answer is repeated for each judge, rubric or comparison.
        is_open: Whether people add fields of their own, which may hold the sources.
    """

    name: str
    required: tuple[tuple[str, ...], ...]
    fields: frozenset[str]
    leading: str
    keys: str
    unanswered: str = ""
    read: Callable[..., Outcome | Sequence[Outcome]] | None = None
    read_labels: Callable[[Item], Sequence[HumanLabel | Problem]] | None = None
    has_topics: bool = False
    is_repeating: bool = False
    is_open: bool = False

    def is_complete(self, keys: Collection[str]) -> bool:
        """Return whether all required fields are present."""
        return all(any(name in keys for name in names) for names in self.required)

    def is_close(self, keys: Collection[str]) -> bool:
        """Return whether all required fields are present, some possibly misspelt."""
        return all(any(close_name(name, keys) for name in names) for names in self.required)

    def is_named(self, keys: Collection[str]) -> bool:
        """Return whether the required fields are there, spelled like "User Input" or not."""
        folded = set(map(fold, _own(keys)))
        return all(any(fold(name) in folded for name in names) for names in self.required)

    def is_begun(self, keys: Collection[str]) -> bool:
        """Return whether the fields are of this format, though required ones are missing."""
        return self.leading in keys and self.fields.issuperset(_own(keys))


def _own(keys: Collection[str]) -> set[str]:
    """Return the keys without those inside the metadata."""
    return {key for key in keys if key.partition(".")[0] not in METADATA_FIELDS or "." not in key}


def recognise(keys: Collection[str], formats: Sequence[Format]) -> Format | None:
    """Return the format of an object with these fields; None where there is none."""
    return complete_format(keys, formats) or _close_format(keys, formats)


def complete_format(keys: Collection[str], formats: Sequence[Format]) -> Format | None:
    """Return the format whose required fields are all there; None where there is none."""
    return _fitting(Format.is_complete, keys, formats)


def _close_format(keys: Collection[str], formats: Sequence[Format]) -> Format | None:
    """Return a format whose fields are misspelt, or of which some are missing."""
    close = _fitting(Format.is_close, keys, formats)
    return close or _fitting(Format.is_begun, keys, formats)


def _fitting(
    fits: Callable[[Format, Collection[str]], bool],
    keys: Collection[str],
    formats: Sequence[Format],
) -> Format | None:
    fitting = [one for one in formats if fits(one, keys)]
    return max(fitting, key=lambda one: len(one.fields.intersection(_own(keys))), default=None)


def sniff(
    items: Iterable[Item | Rejection],
    formats: Sequence[Format],
    name: str,
    by_shape: Callable[[Item], Format | None] = lambda item: None,
) -> tuple[Format, Iterator[Item | Rejection]]:
    """Find the format by the first object, of at most 1,000, that has one; else by its shape.

    Returns:
        The format, and all items from the first on.

    Raises:
        InputError: there are no items, or none has a known format.
    """
    stream = iter(items)
    head = list(islice(stream, MAX_SNIFFED))
    if not head:
        raise InputError(f"{name} is empty: it has no record")
    for item in head:
        if isinstance(item, Item):
            match = complete_format(item.keys, formats) or by_shape(item)
            match = match or _close_format(item.keys, formats)
            if match is not None:
                return match, chain(head, stream)
    raise InputError(_describe_unrecognised(head[0], formats, name))


def _describe_unrecognised(first: Item | Rejection, formats: Sequence[Format], name: str) -> str:
    if isinstance(first, Rejection) and not _WRITTEN.search(first.expected):
        return f"{name}:{first.line}: {first.problem}; expected {first.expected}"
    if isinstance(first, Item):
        seen = f"line {first.place.line} is {describe_value(first.fields)}"
    else:
        seen = f"line {first.line}: {first.problem}"
    hint = next(
        (h for fields, h in _ELSEWHERE if isinstance(first, Item) and fields <= first.keys), ""
    )
    holds = f"; it holds {hint}" if hint else ""
    if isinstance(first, Item) and not hint and first.place.label.startswith("row-"):
        holds = "; name its columns (--map question=COLUMN,answer=COLUMN, or column_map= in Python)"
    known = "\n".join(f"  {one.name}: {one.keys}" for one in formats)
    return f"{name} is in no format that can be read ({seen}){holds}. Known formats:\n{known}"
