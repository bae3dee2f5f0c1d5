"""Load settings from keywords and the environment, and format them for the manifest.

The environment variable of a setting is `RAGASSAY_<GROUP>__<SETTING>`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from ragassay.errors import SettingsError, find_first_problem
from ragassay.model_names import find_provider, remove_secret_options, split_endpoint
from ragassay.settings.group import AffectsResult
from ragassay.settings.settings import FIELDS, GROUP_OF, Settings

PREFIX = "RAGASSAY_"


def convert_judges(judges: Sequence[str], api_base: str | None = None) -> dict[str, object]:
    """Convert a list of judges to overrides for `load_settings`.

    Args:
        judges: LiteLLM names, optionally as NAME@URL. The first name is the main judge. If the list
            is empty, the judges in the settings are left unchanged.
        api_base: URL of the main judge's endpoint, if it is set separately.

    Raises:
        SettingsError: The first judge has an endpoint, but another judge of the same provider has
            none.
    """
    if not judges:
        return {"api_base": api_base}
    model, own = split_endpoint(judges[0])
    for judge in judges[1:]:
        if own and find_provider(judge) == find_provider(model) and not split_endpoint(judge)[1]:
            raise SettingsError(
                f"{judge} has no endpoint, but {judges[0]} has one; write {judge}@URL"
            )
    return {"model": model, "panel": tuple(judges[1:]), "api_base": own or api_base}


def load_settings(
    _base: Settings | None = None, _style: Mapping[str, str] | None = None, /, **overrides: object
) -> Settings:
    """Create settings from overrides, then from `_base` or the environment, then from defaults.

    Args:
        _base: Settings to update. If it is given, the environment is ignored.
        _style: For error messages: how the user wrote the name of each field.
        **overrides: Values by field name. None is ignored.

    Raises:
        SettingsError: A value is invalid. The message contains the field name.
    """
    fields = _base.collect_values() if _base else {}
    fields |= {name: value for name, value in overrides.items() if value is not None}
    if _base is None:
        _check_variables(os.environ)
    try:
        return Settings(**fields)
    except ValidationError as error:
        location, problem = find_first_problem(error)
        name = next((n for n in location.split(".") if n in FIELDS or n in fields), "")
        if not name:
            variable = PREFIX + location.replace(".", "__").upper()
            is_set = variable in map(str.upper, os.environ)
            raise SettingsError(f"{variable}: {problem}" if is_set else problem) from error
        source = (_style or {}).get(name) or (
            name if name in fields else _build_variable_name(name)
        )
        raise SettingsError(f"{source}: {problem}") from error


def _check_variables(names: Iterable[str]) -> None:
    """Reject RAGASSAY_ variables that misspell a setting, and ignore other unknown variables."""
    known = {_build_variable_name(name).upper(): name for name in FIELDS}
    for variable in names:
        if not variable.upper().startswith(PREFIX) or variable.upper() in known:
            continue
        bare = re.sub(f"{PREFIX}(.*__)?", "", variable.upper()).lower()
        if similar := difflib.get_close_matches(bare, FIELDS, n=1, cutoff=0.7):
            raise SettingsError(
                f"{variable}: unknown setting; did you mean {_build_variable_name(similar[0])}?"
            )


def _build_variable_name(name: str) -> str:
    return f"{PREFIX}{GROUP_OF[name]}__{name}".upper()


RESULT_FIELDS: Mapping[str, str] = {
    next(mark.stored_as for mark in field.metadata if isinstance(mark, AffectsResult)) or name: name
    for name, field in FIELDS.items()
    if any(isinstance(mark, AffectsResult) for mark in field.metadata)
}
"""Names of all settings that affect results, by their key in the manifest."""


def collect_result_values(settings: Settings) -> dict[str, object]:
    """Return the settings that affect results, by manifest key."""
    values: dict[str, object] = {}
    for key, name in RESULT_FIELDS.items():
        group = getattr(settings, GROUP_OF[name])
        values[key] = getattr(group if hasattr(group, key) else settings, key)
    return values


def format_settings(settings: Settings) -> dict[str, str | int | float | bool | None]:
    """Return the settings that affect results, as stored in the manifest."""
    noted = {name: _convert_value(value) for name, value in collect_result_values(settings).items()}
    if overrides := remove_secret_options(settings.judge.model_options):
        noted["model_options"] = _convert_value(overrides)
    return noted


def find_default(name: str) -> str | int | float | bool | None:
    """Return a setting's default as stored in the manifest; None for a computed setting."""
    field = FIELDS.get(name)
    return _convert_value(field.default) if field else None


def _convert_value(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
