"""Pydantic models that several formats share, and unique ids for passages of a document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ragassay.formats.problems import build_value_error, describe_value, is_list, is_object
from ragassay.formats.values import TableCell, convert_cell
from ragassay.records import (
    Document,
    HumanLabel,
    Importance,
    Nugget,
    NuggetMethod,
    NuggetOrigin,
    Record,
    SentenceInput,
)


class Row(BaseModel):
    """An object in a user's file.

    Unknown fields are allowed, and `collect_unknown_fields` returns them. Null values count as
    absent.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    joint: ClassVar[str] = ""
    """Separator between list entries in a table cell, or "" if cells contain list literals."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: object) -> object:
        if is_object(value):
            return {
                key: cls._convert_cell(key, part) for key, part in value.items() if part is not None
            }
        return value

    @classmethod
    def _convert_cell(cls, name: str, value: object) -> object:
        if not isinstance(value, TableCell):
            return value
        for field, info in cls.model_fields.items():
            alias = info.validation_alias
            names = alias.choices if isinstance(alias, AliasChoices) else [alias or field]
            if name in names:
                return convert_cell(value, info.annotation, cls.joint)
        return str(value)


def _parse_id(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    # pandas turns integer columns with missing values into floats.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str) and not value.strip():
        raise build_value_error("found an empty id", "an id that is not empty")
    if not isinstance(value, str):
        raise build_value_error(f"found {describe_value(value)}", "an id: text or a whole number")
    return value


def wrap_text(value: object) -> object:
    """Return plain text as an object with a `text` field."""
    return {"text": value} if isinstance(value, str) else value


IdText = Annotated[str, BeforeValidator(_parse_id)]
"""An id as text, possibly converted from a whole number."""


class SourceRow(Row):
    """A source, as plain text or an object."""

    id: IdText | None = Field(
        default=None, validation_alias=AliasChoices("id", "pmid", "docid", "doc_id")
    )
    text: str = Field(validation_alias=AliasChoices("text", "abstract", "contents"))
    title: str = ""
    part_of: str = ""
    url: str = ""

    def to_document(self, position: int) -> Document:
        """Return the source as a document whose id defaults to its 1-based position."""
        return Document(
            id=self.id or str(position),
            text=self.text,
            title=self.title,
            part_of=self.part_of,
            url=self.url,
        )


class SentenceRow(Row):
    """A sentence with its citations."""

    text: str
    citations: list[IdText] = Field(default_factory=list)

    def to_sentence(self) -> SentenceInput:
        """Convert the row to a sentence of a record."""
        return SentenceInput(text=self.text, citations=tuple(self.citations))


class NuggetRow(Row):
    """A gold nugget, as plain text or an object."""

    text: str = Field(min_length=1)
    importance: Importance | None = None
    origin: NuggetOrigin = "gold"
    method: NuggetMethod = "given"
    sentence: int | None = Field(default=None, ge=1)

    def to_nugget(self) -> Nugget:
        """Convert the row to a nugget."""
        return Nugget.model_validate(self.model_dump(include=set(Nugget.model_fields)))


SourceEntry = Annotated[SourceRow, BeforeValidator(wrap_text)]
SentenceEntry = Annotated[SentenceRow, BeforeValidator(wrap_text)]
NuggetEntry = Annotated[NuggetRow, BeforeValidator(wrap_text)]


def distinguish_ids(ids: Sequence[str]) -> list[str]:
    """Make ids unique by numbering repeated ids, so that a second "x" becomes "x#2".

    Example:
        >>> distinguish_ids(["x", "y", "x"])
        ['x', 'y', 'x#2']
    """
    distinct: list[str] = []
    used = set(ids)
    seen: set[str] = set()
    for name in ids:
        unique, count = name, 1
        while unique in seen or (count > 1 and unique in used):
            count += 1
            unique = f"{name}#{count}"
        seen.add(unique)
        distinct.append(unique)
    return distinct


def as_text(value: object) -> str:
    """Return text unchanged and any other value as JSON."""
    return str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def collect_unknown_fields(row: Row) -> dict[str, str]:
    """Return the unknown fields of a row and of rows within it as text, keyed by dotted path."""
    return {path: as_text(value) for path, value in _iter_unknown_fields(row, "")}


def _iter_unknown_fields(row: Row, prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in (row.model_extra or {}).items():
        yield f"{prefix}{name}", value
    for name in type(row).model_fields:
        part: object = getattr(row, name)
        if isinstance(part, Row):
            yield from _iter_unknown_fields(part, f"{prefix}{name}.")
        elif is_list(part):
            for i, entry in enumerate(part):
                if isinstance(entry, Row):
                    yield from _iter_unknown_fields(entry, f"{prefix}{name}.{i}.")


def build_rubric_label(
    rubric: str,
    rating: object,
    annotator: str,
    *,
    record_id: str,
    topic: str | None = None,
    system: str | None = None,
    reason: str = "",
) -> HumanLabel:
    """Return the rating of an answer on a rubric as a human label."""
    return HumanLabel(
        task="rubric",
        label=str(rating),
        record_id=record_id,
        topic=topic,
        system=system,
        item=rubric,
        annotator=annotator,
        reason=reason,
    )


def build_record_label(record: Record, rubric: str, rating: object, annotator: str) -> HumanLabel:
    """Return the rating of a record on a rubric as a human label."""
    return build_rubric_label(
        *(rubric, rating, annotator),
        record_id=record.id,
        topic=record.topic,
        system=record.system,
    )


def assign_document_ids(
    documents: Sequence[Document], named: Sequence[bool] = ()
) -> tuple[Document, ...]:
    """Give sources unique ids, and mark sources with the same id as passages of one document.

    Args:
        named: For each source, whether its id comes from the file. Ids that are only positions
            never mark passages of the same document. By default, all ids come from the file.
    """
    owned = [is_own for is_own in named] or [True] * len(documents)
    counts = Counter(d.id for d, is_own in zip(documents, owned, strict=True) if is_own)
    # Ids from the file take precedence over positional ids.
    order = sorted(range(len(documents)), key=lambda n: not owned[n])
    ids = dict(zip(order, distinguish_ids([documents[n].id for n in order]), strict=True))
    return tuple(
        _rename_document(document, ids[n], shares=owned[n] and counts[document.id] > 1)
        for n, document in enumerate(documents)
    )


def _rename_document(document: Document, name: str, *, shares: bool) -> Document:
    if name == document.id and not shares:
        return document
    update = {"id": name} | ({"part_of": document.part_of or document.id} if shares else {})
    return document.model_copy(update=update)


def restore_id(document: Document) -> str:
    """Return the id that a source had in its file, before repeated ids were numbered.

    Example:
        >>> restore_id(Document(id="x#2", text="T", part_of="x"))
        'x'
    """
    base, sign, number = document.id.rpartition("#")
    is_numbered = bool(sign) and base == document.part_of and number.isdecimal()
    return document.part_of if is_numbered else document.id
