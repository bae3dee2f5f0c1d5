"""The `info` of a bank or an item: what it said before, whether it is secret, who changed it.

    {"secret": true, "history": [{"who", "when", "field", "value", ...}], ...}

The Workbench takes any JSON there, and hands it on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import Row
from ragassay.formats.shapes import is_object
from ragassay.records import Review

JsonRow = dict[str, object]


_OURS = {"secret", "history", "info"}


class NotesRow(Row):
    """An info with notes of ours; what is no object itself stands under "info"."""

    secret: bool | None = None
    history: list[Review] = Field(default_factory=list[Review])


@dataclass(frozen=True)
class Notes:
    """The content of an info.

    Attributes:
        info: What others said, as JSON; empty where nothing.
        is_secret: Whether systems under evaluation must not see the item.
        history: What people changed, the oldest first.
    """

    info: str = ""
    is_secret: bool = False
    history: tuple[Review, ...] = ()


def read_notes(value: object) -> Notes:
    """Return what an info says; one that holds no notes of ours is kept as it is."""
    row = _notes(value)
    if row is None or not is_object(value):
        return Notes("" if value is None else json.dumps(value, ensure_ascii=False))
    rest = {key: part for key, part in value.items() if key not in NotesRow.model_fields}
    own = rest["info"] if rest.keys() == {"info"} else rest or None
    info = "" if own is None else json.dumps(own, ensure_ascii=False)
    return Notes(info, bool(row.secret), tuple(row.history))


def written_notes(info: str, history: Sequence[Review] = (), is_secret: bool = False) -> JsonRow:
    """Return the field `info` of a file: `read_notes` returns what it was made of.

    Raises:
        InputError: The info is not JSON.
    """
    own = parsed(info) if info else None
    is_ours = _notes(own) is not None  # An info that looks like notes stands inside them.
    if not (history or is_secret or is_ours):
        return {} if own is None else {"info": own}
    notes: JsonRow = {"secret": is_secret}
    if history:
        notes["history"] = [r.model_dump(mode="json", exclude_defaults=True) for r in history]
    if is_object(own) and own and not own.keys() & _OURS:
        return {"info": notes | own}
    return {"info": notes if own is None else notes | {"info": own}}


def parsed(text: str) -> object:
    """Return the value of a text.

    Raises:
        InputError: It is not JSON.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the test bank cannot be written: info is not JSON ({error})") from error
    return value


def _notes(value: object) -> NotesRow | None:
    if not is_object(value) or not value.keys() & {"secret", "history"}:
        return None
    row = validate(NotesRow, value)
    return None if isinstance(row, Problem) else row
