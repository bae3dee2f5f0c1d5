"""Recognize the fields of an answer by common names, and report how they were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from ragassay.formats.fields import (
    ANSWER_NAMES,
    ONE_PASSAGE_NAMES,
    PASSAGE_ID_NAMES,
    QUESTION_NAMES,
    REFERENCE_NAMES,
    SOURCE_NAMES,
    TITLE_NAMES,
    find_all,
    find_name,
    fold,
    has_value,
)
from ragassay.formats.items import METADATA_FIELDS
from ragassay.formats.problems import is_list, is_object
from ragassay.formats.source_values import build_source_rows, count_texts, find_unread_paths
from ragassay.records import Record

_NAMES = {"question": QUESTION_NAMES, "answer": ANSWER_NAMES, "reference": REFERENCE_NAMES}
_MOST_UNREAD = 5


@dataclass(frozen=True)
class NamedFields:
    """Fields of an answer, renamed to the names in ragassay's format.

    Attributes:
        fields: All fields, with the recognized fields renamed.
        names: Field names in the file, keyed by "question", "answer", "reference" and "sources".
        unread: Paths of up to five fields with text that may be a source but was not read.
    """

    fields: dict[str, object]
    names: Mapping[str, str]
    unread: tuple[str, ...] = ()


def rename_fields(raw_fields: Mapping[str, object]) -> NamedFields:
    """Find the question, answer, reference and sources by common field names, and rename them."""
    names: dict[str, str] = {}
    for own, known in _NAMES.items():
        name = own if has_value(raw_fields.get(own)) else find_name(raw_fields, known) or own
        if name in raw_fields and name not in names.values():
            names[own] = name
    left = {key: value for key, value in raw_fields.items() if key not in names.values()}
    if (source := find_sources(left)) is not None:
        names["sources"] = source
    own_names = {name: own for own, name in names.items()}
    rest = {key: value for key, value in raw_fields.items() if key not in own_names}
    renamed = {own: raw_fields[name] for own, name in names.items()}
    if source is not None and is_one_passage(source):
        renamed["sources"] = _add_passage_id(build_source_rows(raw_fields[source]), source, rest)
    # Error messages list the fields, so the order of the file is preserved.
    order = [own_names.get(key, key) for key in raw_fields if key in own_names or key in rest]
    fields = {key: (rest | renamed)[key] for key in order}
    return NamedFields(fields, names, find_unread(rest, has_sources=source is not None))


def find_sources(fields: Mapping[str, object]) -> str | None:
    """Return the name of the field that contains the sources, or None if no field does.

    A field named `sources` or `contexts` is returned even if it contains no text, so that errors in
    the field are reported.
    """
    for name in ("sources", "contexts"):
        if has_value(fields.get(name)):
            return name
    candidates = find_all(fields, SOURCE_NAMES)
    return next((name for name in candidates if count_texts(fields[name], name)), None)


def find_unread(fields: Mapping[str, object], *, has_sources: bool) -> tuple[str, ...]:
    """Return the paths of up to five fields whose texts were not read."""
    paths = (
        path
        for name, value in fields.items()
        if name not in METADATA_FIELDS
        for path in find_unread_paths(value, name, long_text=not has_sources)
    )
    return tuple(islice(paths, _MOST_UNREAD))


def _add_passage_id(rows: object, source: str, rest: dict[str, object]) -> object:
    """Add an id and a title to the only passage of a row if other columns contain them."""
    if not (is_list(rows) and len(rows) == 1):
        return rows
    row = rows[0]
    if not is_object(row) or row.get("id") is not None:
        return rows
    titles = tuple(f"{source}_{name}" for name in TITLE_NAMES)
    name, title = find_name(rest, PASSAGE_ID_NAMES), find_name(rest, titles)
    if name is not None and isinstance(rest[name], str | int):
        row = row | {"id": remove_brackets(rest.pop(name))}
    if title is not None and isinstance(rest[title], str):
        row = row | {"title": str(rest.pop(title))}
    return [row]


def remove_brackets(value: object) -> object:
    """Remove citation brackets from a passage id, so that "[1]" becomes "1"."""
    return str(value).strip().strip("[]") or value if isinstance(value, str) else value


def is_one_passage(name: str) -> bool:
    """Return whether a field with this name may contain one passage per row."""
    return fold(name) in {fold(one) for one in ONE_PASSAGE_NAMES}


def has_one_text(fields: Mapping[str, object], name: str) -> bool:
    """Return whether a field contains a single passage: an object, or text that is not a list."""
    value = fields.get(name)
    is_text = isinstance(value, str) and not value.lstrip().startswith(("[{", '["', "['", "{"))
    return is_one_passage(name) and (is_text or is_object(value))


@dataclass
class FieldTally:
    """Counts the names in the input for each field of ragassay's format."""

    names: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])

    def add(self, names: Mapping[str, str]) -> None:
        """Count the names that the fields of one record had in the input."""
        for own, name in names.items():
            counts = self.names.setdefault(own, {})
            counts[name] = counts.get(name, 0) + 1

    def list_renamed_fields(self) -> dict[str, str]:
        """Return the names that each renamed field had in the input, joined with "or"."""
        return {
            own: " or ".join(counts)
            for own, counts in self.names.items()
            if any(name != own for name in counts)
        }


_OWN_ORDER = ("question", "answer", "reference", "sources")


def describe_input(fields: Mapping[str, str], records: Iterable[Record]) -> tuple[str, ...]:
    """Return notes on how the input was read, to be shown with the results.

    Args:
        fields: Field names in the input, keyed by the field name in ragassay's format.

    Example:
        >>> describe_input({"answer": "output", "sources": "docs"}, [])
        ('Read `output` as answer, `docs` as sources.',)
    """
    order = [*filter(fields.get, _OWN_ORDER), *(f for f in fields if f not in _OWN_ORDER)]
    read = ", ".join(f"`{_escape_name(fields[own])}` as {own}" for own in order)
    notes = [f"Read {read}."] if read else []
    rows = list(records)
    for name, n in Counter(name for record in rows for name in record.unread).items():
        answers = "1 answer has" if n == 1 else f"{n:,} answers have"
        notes.append(
            f"{answers} text in `{_escape_name(name)}` that was not read; "
            f"to read it as sources, pass --map sources={_escape_name(name)}"
        )
    if n := sum(bool(record.turns) for record in rows):
        answers = "1 answer is" if n == 1 else f"{n:,} answers are"
        notes.append(
            f"{answers} the last turn of a conversation; earlier turns were read as context, "
            "not judged."
        )
    return tuple(notes)


def _escape_name(name: str) -> str:
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in name[:200])
