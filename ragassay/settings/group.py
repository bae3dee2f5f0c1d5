"""A group of settings, and what a field says besides its type and its description."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ragassay.redaction import without_secrets


class SettingsGroup(BaseModel):
    """Settings about one thing. Their names are unique over all groups."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

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


class Flag:
    """An option on the command line, where its name and its type do not say it all.

    Attributes:
        names: Further flags.
        metavar: The value's name in the help; by default its type or the choices.
        kind: The value's type.
        group: The heading in the help, for an option that sets no setting.
    """

    def __init__(
        self,
        *names: str,
        metavar: str | None = None,
        kind: type | None = None,
        group: str = "Input",
    ) -> None:
        """Keep them."""
        self.names, self.metavar, self.kind, self.group = names, metavar, kind, group


def _read_list(given: object) -> object:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)  # As the environment has it.
    except ValueError as error:
        example = '["rubrics", "citations"]'
        raise ValueError(f"it must be a list in JSON, such as {example}") from error


def _split_at_commas(given: object) -> object:
    if isinstance(given, str) and given.lstrip().startswith("["):
        try:
            given = json.loads(given)
        except ValueError as error:
            raise ValueError("it must be names with commas, or a list in JSON") from error
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        return names
    parts = [part.strip() for name in names for part in str(name).split(",")]
    return tuple(dict.fromkeys(parts))


def _read_number(given: object) -> object:
    return int(given) if isinstance(given, str) and given.isdigit() else given


READ_NUMBER = BeforeValidator(_read_number)
"""Read one of several numbers; pydantic reads only other numbers from text."""

READ_LIST, READ_SPLIT = BeforeValidator(_read_list), BeforeValidator(_split_at_commas)
"""Read a list of the environment as JSON, or at commas too."""
