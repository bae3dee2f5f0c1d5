"""A group of settings, and what a field says besides its type and its description."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, SecretStr, model_validator

from ragassay.model_names import split_endpoint
from ragassay.safe_text import keep_address, keep_secret, without_secrets

LIST = 'a list in JSON, such as ["rubrics", "citations"]'


class SettingsGroup(BaseModel):
    """Settings about one thing. Their names are unique over all groups."""

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
        """Return the settings without the users and passwords of addresses."""
        return without_secrets(super().__repr__())

    __str__ = __repr__


@dataclass(frozen=True)
class AffectsResult:
    """Marks a setting that affects a result: a manifest stores it.

    Attributes:
        stored_as: The property that is stored in its place, where another value is computed.
    """

    stored_as: str = ""


RESULT = AffectsResult()


@dataclass(frozen=True)
class Flag:
    """An option on the command line, where its name and its type do not say it all.

    Attributes:
        metavar: The value's name in the help; by default its type or the choices.
        kind: The value's type.
        group: The heading in the help, for an option that sets no setting.
    """

    names: tuple[str, ...] = ()
    metavar: str | None = None
    kind: type | None = None
    group: str = "Input"


def _read_list(raw: object, described: str = LIST) -> object:
    """Read a list as the environment has it."""
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except ValueError as error:
        raise ValueError(f"it must be {described}") from error


def _split_at_commas(raw: object) -> object:
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        raw = _read_list(raw, "names with commas, or a list in JSON")
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
"""For one of several numbers, which pydantic does not read from text."""
