"""Recognize the format of a file by its fields."""

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
"""Matches the expected value in a problem that concerns one line, not the whole file."""

_CLAIMS = "labelled claims: train a verifier on them with `ragassay finetune verifier --data`"
_ELSEWHERE: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"Q&A"}),
        "question-answer pairs about papers (SciQAG): evaluate them with `ragassay qa evaluate`",
    ),
    (
        frozenset({"question", "papers"}),
        "YESciEval questions: pass the answer file, and this file with `--questions`",
    ),
    (frozenset({"intervention", "comparator", "outcome", "evidence"}), _CLAIMS),
    (frozenset({"PromptID", "Annotations"}), _CLAIMS),
    (frozenset({"claim", "label"}), _CLAIMS),
    (frozenset({"claim", "evidence"}), _CLAIMS),
)
"""Fields of files that contain no answers, with a text that says which command reads the file."""


@dataclass(frozen=True)
class Format:
    """A file format that is recognized by the fields of its lines.

    Attributes:
        required: Groups of alternative fields. A line has at least one field of each group. A field
            of the metadata is written with its path, such as "metadata.qa_id".
        leading: Field by which the format is recognized if required fields are missing but no field
            is unknown.
        unanswered: Hint for users whose file in this format has empty answers.
        read: Function that converts an item to one or more records and problems. If `has_topics` is
            true, it also accepts a dict of questions by topic.
        read_labels: Function that converts an item to human labels and problems, or None.
        has_topics: Whether the questions may be in a separate file of topics.
        is_repeating: Whether a file may contain the same answer several times, such as once per
            judge.
        is_open: Whether files may contain the sources in fields that the format does not define.
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
        """Return whether all required fields are present, although names may be misspelled."""
        return all(any(close_name(name, keys) for name in names) for names in self.required)

    def is_named(self, keys: Collection[str]) -> bool:
        """Return whether all required fields are present in any spelling, such as "User Input"."""
        folded = set(map(fold, _select_own_keys(keys)))
        return all(any(fold(name) in folded for name in names) for names in self.required)

    def fits_partly(self, keys: Collection[str]) -> bool:
        """Return whether `leading` is present and all fields belong to this format."""
        return self.leading in keys and self.fields.issuperset(_select_own_keys(keys))


def _select_own_keys(keys: Collection[str]) -> set[str]:
    return {key for key in keys if key.partition(".")[0] not in METADATA_FIELDS or "." not in key}


def detect_format(keys: Collection[str], formats: Sequence[Format]) -> Format | None:
    """Return the format that best fits the fields, or None if no format fits."""
    return complete_format(keys, formats) or _close_format(keys, formats)


def complete_format(keys: Collection[str], formats: Sequence[Format]) -> Format | None:
    """Return the best format whose required fields are all present, or None if there is none."""
    return _choose_format(Format.is_complete, keys, formats)


def _close_format(keys: Collection[str], formats: Sequence[Format]) -> Format | None:
    close = _choose_format(Format.is_close, keys, formats)
    return close or _choose_format(Format.fits_partly, keys, formats)


def _choose_format(
    fits: Callable[[Format, Collection[str]], bool],
    keys: Collection[str],
    formats: Sequence[Format],
) -> Format | None:
    fitting = [one for one in formats if fits(one, keys)]
    return max(
        fitting, key=lambda one: len(one.fields.intersection(_select_own_keys(keys))), default=None
    )


def sniff(
    items: Iterable[Item | Rejection],
    formats: Sequence[Format],
    name: str,
    by_shape: Callable[[Item], Format | None] = lambda item: None,
) -> tuple[Format, Iterator[Item | Rejection]]:
    """Return the format detected from the first 1,000 items, and an iterator over all items.

    `by_shape` is called with items that lack required fields, and may return their format.
    """
    stream = iter(items)
    head = list(islice(stream, MAX_SNIFFED))
    if not head:
        raise InputError(f"{name} is empty; at least one record is required")
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
    fields = first.keys if isinstance(first, Item) else frozenset[str]()
    if isinstance(first, Item):
        seen = f"line {first.place.line} is {describe_value(first.fields)}"
    else:
        seen = f"line {first.line}: {first.problem}"
    hint = next((hint for required, hint in _ELSEWHERE if required <= fields), "")
    advice = f"; it contains {hint}" if hint else ""
    if isinstance(first, Item) and not hint and first.place.label.startswith("row-"):
        advice = "; map its columns (--map question=COLUMN,answer=COLUMN, or column_map= in Python)"
    known = "\n".join(f"  {one.name}: {one.keys}" for one in formats)
    return f"{name} has an unknown format ({seen}){advice}. Known formats:\n{known}"
