"""Base class of groups of settings, and markers for the fields of a group."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, SecretStr, model_validator

from ragassay.model_names import split_endpoint
from ragassay.safe_text import hide_secrets, keep_address, keep_secret

LIST = 'a JSON list, such as ["rubrics", "citations"]'


class SettingsGroup(BaseModel):
    """Base class of a group of settings. No two groups have a field with the same name."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    @model_validator(mode="after")
    def _hide_secrets(self) -> Self:
        for value in vars(self).values():
            if isinstance(value, SecretStr):
                keep_secret(value.get_secret_value())
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str):
                    keep_address(split_endpoint(text)[1] or text)
        return self

    def __repr__(self) -> str:
        """Return the settings without user names and passwords in URLs."""
        return hide_secrets(super().__repr__())

    __str__ = __repr__


@dataclass(frozen=True)
class AffectsResult:
    """Marks a setting that affects results and is stored in the manifest.

    Attributes:
        stored_as: Name of a computed property to store instead of the field's value.
    """

    stored_as: str = ""


RESULT = AffectsResult()


@dataclass(frozen=True)
class Flag:
    """Command-line option of a field, if the name and type of the field do not determine it.

    Attributes:
        metavar: Placeholder for the value in the help. By default, the type or the choices are
            shown.
        group: Heading in the help, for an option without a setting.
    """

    names: tuple[str, ...] = ()
    metavar: str | None = None
    kind: type | None = None
    group: str = "Input"


def _read_list(raw: object, expected: str = LIST) -> object:
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except ValueError as error:
        raise ValueError(f"must be {expected}") from error


def _split_at_commas(raw: object) -> object:
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        raw = _read_list(raw, "names separated by commas, or a JSON list")
    names = [raw] if isinstance(raw, str) else raw
    if not isinstance(names, list | tuple):
        return names
    parts = [part.strip() for name in names for part in str(name).split(",")]
    return tuple(dict.fromkeys(parts))


def _read_number(raw: object) -> object:
    return int(raw) if isinstance(raw, str) and raw.isdigit() else raw


READ_LIST = BeforeValidator(lambda raw: _read_list(raw))
READ_SPLIT = BeforeValidator(_split_at_commas)
READ_NUMBER = BeforeValidator(_read_number)
"""Converts text to the number of a `Literal`, because pydantic does not."""
