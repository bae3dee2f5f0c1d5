"""Fill the templates of answers: JSON with placeholders.

- A text that is one placeholder (`$n_prompt`) becomes its value, of any type.
- A placeholder within a text (`id-$key`, `${wait_s}s`) becomes text; `$$` is a dollar sign.
- A text `$*name` in a list becomes the items of that value.
- A key that ends in `~` is left out where its value is None, 0 or empty.
- An object in a list is left out where a key of it that ends in `!` has such a value.

Example:
    >>> fill({"content": [{"text!": "$text"}], "stop~": "$stop"}, {"text": "Hi.", "stop": None})
    {'content': [{'text': 'Hi.'}]}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_PLACEHOLDER = re.compile(r"\$(?:\$|\{([a-z_]+)\}|\*?([a-z_]+))")


class _Missing:
    """Marks an item that is left out."""


_MISSING = _Missing()


def fill(template: object, values: Mapping[str, object]) -> Any:
    """Return a template with its placeholders filled.

    Raises:
        KeyError: a placeholder has no value.
    """
    if isinstance(template, str):
        return _fill_text(template, values)
    if isinstance(template, Mapping):
        filled = _fill_object(cast(Mapping[str, object], template), values)
        return None if filled is _MISSING else filled
    if isinstance(template, Sequence):
        return _fill_list(cast(Sequence[object], template), values)
    return template


def mentions(template: object, name: str) -> bool:
    """Return whether a placeholder stands anywhere in a template."""
    if isinstance(template, str):
        return any(name in m.groups() for m in _PLACEHOLDER.finditer(template))
    if isinstance(template, Mapping):
        return any(mentions(value, name) for value in cast(Mapping[str, object], template).values())
    return isinstance(template, Sequence) and any(
        mentions(item, name) for item in cast(Sequence[object], template)
    )


def _fill_text(text: str, values: Mapping[str, object]) -> object:
    whole = _PLACEHOLDER.fullmatch(text)
    name = whole and (whole[1] or whole[2])
    if name:
        return values[name]
    return _PLACEHOLDER.sub(lambda match: _fill_part(match, values), text)


def _fill_part(match: re.Match[str], values: Mapping[str, object]) -> str:
    name = match[1] or match[2]
    return str(values[name]) if name else "$"


def _fill_object(
    template: Mapping[str, object], values: Mapping[str, object]
) -> dict[str, object] | _Missing:
    filled: dict[str, object] = {}
    for key, inner in template.items():
        value = fill(inner, values)
        if key[-1] in "~!" and value in (None, "", 0, [], {}):
            if key.endswith("!"):
                return _MISSING
            continue
        filled[key.rstrip("~!")] = value
    return filled


def _fill_list(template: Sequence[object], values: Mapping[str, object]) -> list[object]:
    filled: list[object] = []
    for item in template:
        if isinstance(item, str) and item.startswith("$*"):
            filled.extend(cast(Sequence[object], values[item[2:]]))
        elif isinstance(item, Mapping):
            made = _fill_object(cast(Mapping[str, object], item), values)
            if made is not _MISSING:
                filled.append(made)
        else:
            filled.append(fill(item, values))
    return filled
