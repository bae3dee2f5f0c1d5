"""Parse JSON values that are safe to work with: finite, whole, not too deep, no repeated names."""

from __future__ import annotations

import json
import math

from ragassay.formats.encodings import encoding_note
from ragassay.formats.problems import Problem, dotted, found_text
from ragassay.formats.shapes import is_list, is_object

MAX_DEPTH = 100

_MAX_BITS = 4_096


class _RepeatedNameError(Exception):
    """An object with two fields of the same name, of which JSON parsers keep the last."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _RepeatedNameError(name)
            seen.add(name)
    return fields


class _Constant(float):
    """NaN or an infinity as written in the file, so that its field can be named."""


def parse_json(data: bytes) -> object | Problem:
    """Parse JSON; return a problem where it is invalid."""
    expected = "a JSON object in UTF-8"
    if b"\x00" in data:
        text = f"a NUL byte at byte {data.index(0) + 1}"
        return Problem("", f"{text}{encoding_note(data)}", expected)
    try:
        return json.loads(
            data.decode("utf-8"), parse_constant=_Constant, object_pairs_hook=_object_of
        )
    except _RepeatedNameError as error:
        text = f"the field {found_text(error.name)} occurs twice in one object"
        return Problem("", text, "each field once")
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        text = f"not UTF-8: byte {byte} at byte {error.start + 1}"
        return Problem("", f"{text}{encoding_note(data)}", expected)
    except json.JSONDecodeError as error:
        return Problem("", f"not JSON: {error.msg} at character {error.pos + 1}", expected)
    except RecursionError:
        return Problem("", "nested too deeply", f"at most {MAX_DEPTH} levels")
    except ValueError:
        return Problem("", "a number with too many digits", "numbers of ordinary length")


def find_bad_value(value: object) -> Problem | None:
    """Find what would break later steps: lone surrogates, NUL, NaN, endless digits, deep nests."""
    stack: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while stack:
        path, part = stack.pop()
        if len(path) > MAX_DEPTH:
            return Problem(dotted(path[:3]), "nested too deeply", f"at most {MAX_DEPTH} levels")
        if is_object(part):
            for key in part:
                problem = _bad_text(path, str(key), "a field name")
                if problem is not None:
                    return problem
            stack.extend(((*path, key), part[key]) for key in reversed(part))
        elif is_list(part):
            stack.extend(((*path, i), part[i]) for i in reversed(range(len(part))))
        else:
            problem = _bad_scalar(path, part)
            if problem is not None:
                return problem
    return None


def _bad_scalar(path: tuple[str | int, ...], part: object) -> Problem | None:
    if isinstance(part, str):
        return _bad_text(path, part, "text")
    if isinstance(part, float) and not math.isfinite(part):
        name = "NaN" if math.isnan(part) else "an infinite number"
        return Problem(dotted(path), f"found {name}", "a finite number, or null")
    if isinstance(part, int) and part.bit_length() > _MAX_BITS:
        return Problem(dotted(path), "a number with too many digits", "a number that fits")
    return None


def _bad_text(path: tuple[str | int, ...], text: str, what: str) -> Problem | None:
    if "\x00" in text:
        return Problem(dotted(path), f"{what} with a NUL character (\\u0000)", "text without it")
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        problem = f"{what} with a lone surrogate ({half}): half of a character"
        return Problem(dotted(path), problem, "whole characters, which UTF-8 can write")
    return None
