"""Settings from keywords and the environment, and as a manifest stores them.

Each setting can be set as `RAGASSAY_<GROUP>__<SETTING>`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from ragassay.errors import SettingsError, first_problem
from ragassay.model_names import noted_options, provider_of, split_endpoint
from ragassay.settings.group import AffectsResult
from ragassay.settings.settings import FIELDS, GROUP_OF, Settings

PREFIX = "RAGASSAY_"


def with_panel(judges: Sequence[str], api_base: str | None = None) -> dict[str, object]:
    """Return the settings' fields for a user's list of judges, for `load_settings`.

    Args:
        judges: LiteLLM names, optionally with an endpoint; the first is the run's judge. Without
            any, the settings stay unchanged.
        api_base: The endpoint that was given separately.

    Raises:
        SettingsError: The first has its own endpoint, and it is unclear whether another judge of
            its provider shares it.
    """
    if not judges:
        return {"api_base": api_base}
    model, own = split_endpoint(judges[0])
    for judge in judges[1:]:
        if own and provider_of(judge) == provider_of(model) and not split_endpoint(judge)[1]:
            raise SettingsError(f"{judge}: name its endpoint too, as {judges[0]} has one")
    return {"model": model, "panel": tuple(judges[1:]), "api_base": own or api_base}


def load_settings(
    _base: Settings | None = None, _style: Mapping[str, str] | None = None, /, **overrides: object
) -> Settings:
    """Make settings from the given values, then `_base`, else the environment, then the defaults.

    Args:
        _base: Settings to change; the environment is then ignored.
        _style: Returns the user's spelling of a field, for error messages.
        **overrides: Fields by name; None means "not given".

    Raises:
        SettingsError: A value is wrong; the message names the field.
    """
    fields = _base.values() if _base else {}
    fields |= {name: value for name, value in overrides.items() if value is not None}
    if _base is None:
        _check_variables(os.environ)
    try:
        return Settings(**fields)
    except ValidationError as error:
        where, problem = first_problem(error)
        name = next((n for n in where.split(".") if n in FIELDS or n in fields), "")
        if not name:
            variable = PREFIX + where.replace(".", "__").upper()
            problem_text = (
                f"{variable}: {problem}" if variable in map(str.upper, os.environ) else problem
            )
            raise SettingsError(problem_text) from error
        given_as = name if name in fields else _variable(name)
        raise SettingsError(f"{(_style or {}).get(name) or given_as}: {problem}") from error


def _check_variables(names: Iterable[str]) -> None:
    """Refuse a variable that is one of ours but for its spelling; others may be anybody's."""
    known = {_variable(name).upper(): name for name in FIELDS}
    for variable in names:
        if not variable.upper().startswith(PREFIX) or variable.upper() in known:
            continue
        bare = re.sub(f"{PREFIX}(.*__)?", "", variable.upper()).lower()
        meant = difflib.get_close_matches(bare, FIELDS, n=1, cutoff=0.7)
        if meant:
            raise SettingsError(
                f"{variable}: there is no such setting; {_variable(meant[0])} may be meant"
            )


def _variable(name: str) -> str:
    return f"{PREFIX}{GROUP_OF[name]}__{name}".upper()


RESULT_FIELDS: Mapping[str, str] = {
    next(mark.stored_as for mark in field.metadata if isinstance(mark, AffectsResult)) or name: name
    for name, field in FIELDS.items()
    if any(isinstance(mark, AffectsResult) for mark in field.metadata)
}
"""The settings that affect a result, by the names that a manifest stores; no key, no endpoint."""


def result_values(settings: Settings) -> dict[str, object]:
    """Return the settings that affect a result, computed where the field is marked so."""
    found: dict[str, object] = {}
    for stored, name in RESULT_FIELDS.items():
        group = getattr(settings, GROUP_OF[name])
        found[stored] = getattr(group if hasattr(group, stored) else settings, stored)
    return found


def noted_settings(settings: Settings) -> dict[str, str | int | float | bool | None]:
    """Return the settings that affect a result, as a manifest stores them."""
    noted = {name: _plain(value) for name, value in result_values(settings).items()}
    if overrides := noted_options(settings.judge.model_options):
        noted["model_options"] = _plain(overrides)
    return noted


def default_of(name: str) -> str | int | float | bool | None:
    """Return a setting's default as a manifest stores it; None for one that is computed."""
    field = FIELDS.get(name)
    return _plain(field.default) if field else None


def _plain(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
