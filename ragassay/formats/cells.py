"""Read the cells of tables: text whose type the format's model decides."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from typing import Annotated, Any, get_args, get_origin

from ragassay.formats.json_values import find_bad_value
from ragassay.formats.problems import wrong
from ragassay.formats.shapes import is_list

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0+)?")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_TRUTHS = {"true": True, "false": False}


class Cell(str):
    """Text of a table's cell: a list or a number where a format's model wants one."""

    __slots__ = ()


def typed(cell: Cell, annotation: object, joint: str = "") -> object:
    """Return a cell as the type of its field; text where the field takes text.

    A list is written as JSON, as Python or as NumPy shows it (`['a' 'b']`, which Hugging Face's
    `to_csv` writes). A plain text in place of a list is its only entry, or several with `joint`
    between them.
    """
    kinds = set(_kinds(annotation))
    text = str(cell)
    if str in kinds or not kinds:
        return text
    if kinds & {list, dict, object}:
        value = literal(text)
        if list not in kinds or is_list(value):
            return value
        return text.split(joint) if joint else [text]
    if int in kinds and _WHOLE.fullmatch(text.strip()):
        return int(float(text))
    if float in kinds and _NUMBER.fullmatch(text.strip()):
        return float(text)
    return _TRUTHS.get(text.strip().lower(), text) if bool in kinds else text


def _kinds(annotation: Any) -> list[object]:
    """Return the types that an annotation takes, of its union's parts."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin is list or origin is dict:
        return [origin]
    parts = get_args(annotation)
    return [kind for part in parts for kind in _kinds(part)] if parts else [annotation]


def literal(text: str) -> object:
    """Return the list or object that a text writes; the text itself where it writes none."""
    given = text.strip()
    if (given[:1], given[-1:]) not in {("[", "]"), ("{", "}")}:
        return text
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(_with_commas(given))
        except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
            return text
    problem = find_bad_value(value)
    if problem is not None:
        raise wrong(problem.text, problem.expected)
    return list(value) if isinstance(value, tuple) else value


def _with_commas(text: str) -> str:
    """Return a literal in which no two texts stand side by side, as in NumPy's lists."""
    found: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            continue
        if token.type == tokenize.STRING and found and found[-1].type == tokenize.STRING:
            found.append(token._replace(type=tokenize.OP, string=","))
        found.append(token)
    return " ".join(token.string for token in found)
