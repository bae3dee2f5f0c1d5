"""Options of a hosted model's calls that a user gives as NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ragassay.safe_text import keep_secret

SECRET_OPTIONS = ("headers", "extra_headers", "api_key")
"""Options that no file of a run stores."""


def written_options(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return options as NAME=VALUE; None leaves one out.

    Example:
        >>> written_options({"temperature": 1, "logprobs": None, "reasoning_effort": "low"})
        ('temperature=1', 'logprobs=', 'reasoning_effort=low')
    """
    return tuple(
        f"{name}={value if isinstance(value, str) else '' if value is None else json.dumps(value)}"
        for name, value in given.items()
    )


def parse_options(given: Iterable[str]) -> dict[str, Any]:
    """Return options from NAME=VALUE, where a value is JSON or else text; NAME= leaves one out.

    Raises:
        ValueError: One has no "=".

    Example:
        >>> parse_options(["reasoning_effort=low", "temperature=", 'extra_body={"k": 1}'])
        {'reasoning_effort': 'low', 'temperature': None, 'extra_body': {'k': 1}}
    """
    options: dict[str, Any] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"{one!r} must be NAME=VALUE, or NAME= to leave out")
        try:
            options[name.strip()] = json.loads(value) if value.strip() else None
        except ValueError:
            options[name.strip()] = value
    if "headers" in options:  # LiteLLM's name for it.
        options["extra_headers"] = options.pop("headers")
    for secret in (options.get("extra_headers") or {}).values():
        for part in str(secret).split():  # "Bearer KEY" hides the key too
            keep_secret(part)
    keep_secret(options.get("api_key"))
    return options


def noted_options(given: Iterable[str]) -> tuple[str, ...]:
    """Return options as a run stores them: without those that may hold a key."""
    return tuple(one for one in given if one.partition("=")[0].strip() not in SECRET_OPTIONS)
