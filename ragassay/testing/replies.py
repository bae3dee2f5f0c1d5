"""Generate default replies from a seed: an instance of a JSON schema, or a sentence."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from ragassay.errors import InputError
from ragassay.testing.chat_completions import JsonSchema

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)

_WORD = re.compile(r"\w[\w'-]*")
_UNSUPPORTED = frozenset(
    (
        *("not", "if", "pattern", "patternProperties", "propertyNames", "contains"),
        *("dependentRequired", "dependentSchemas"),
    )
)
_TYPE_HINTS = {
    "properties": "object",
    "additionalProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "minimum": "number",
    "maximum": "number",
}
_FORMATS = {
    "date": "2024-05-17",
    "date-time": "2024-05-17T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "P3D",
    "email": "reader@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "6f1c2a9e-3b7d-4c55-9a10-2f4e8d7b6c01",
}
_SCALARS = ("null", "boolean", "integer", "number", "string")
_N_QUOTABLE_CHARS = 2000
_DEEP = 6
_TOO_DEEP = 40
_TRIES_PER_ITEM = 50


def build_sentence(text: str, seed: str) -> str:
    """Build a sentence that quotes up to eight words from a text's last 2,000 characters."""
    text = text[-_N_QUOTABLE_CHARS:]
    words = list(_WORD.finditer(text))
    if not words:
        return "There is nothing to quote."
    n_words = min(len(words), 4 + _draw(seed, "length", 5))
    start = _draw(seed, "start", len(words) - n_words + 1)
    quoted = text[words[start].start() : words[start + n_words - 1].end()]
    return f'The text says "{quoted}".'


def build_instance(schema: JsonSchema, text: str, seed: str) -> JsonValue:
    """Build an instance of a JSON schema (draft 2020-12, as used in structured output APIs).

    Supported keywords: type, enum, const, bounds of numbers, multipleOf, lengths of strings,
    format, items, prefixItems, minItems, maxItems, uniqueItems, properties, required,
    minProperties, additionalProperties, anyOf, oneOf (with disjoint branches), allOf and local
    $ref. Optional properties are included, except at deep levels of recursive schemas.

    Args:
        schema: JSON schema. Each $ref must refer to a part of the same schema.
        text: Text from which the strings in the instance quote words.
        seed: Seed. Equal arguments give equal instances in all processes.

    Raises:
        InputError: The schema uses another keyword, or cannot be satisfied.
    """
    return _Filler(schema, text, seed).fill(schema, "$", 0)


def _draw(seed: str, path: str, n: int) -> int:
    """Return a number in [0, n) from a hash of the seed and the path."""
    digest = hashlib.sha256(f"{seed}|{path}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % n


@dataclass(frozen=True, slots=True)
class _Filler:
    root: JsonSchema
    text: str
    seed: str

    def fill(self, schema: object, path: str, depth: int) -> JsonValue:
        resolved = self._resolve(schema, path, depth)
        if "const" in resolved:
            return cast(JsonValue, resolved["const"])
        if "enum" in resolved:
            return cast(JsonValue, self._choose(_as_sequence(resolved["enum"]), path))
        match self._choose_type(resolved, path):
            case "object":
                return self._fill_object(resolved, path, depth)
            case "array":
                return self._fill_array(resolved, path, depth)
            case "integer":
                return self._fill_integer(resolved, path)
            case "number":
                return self._fill_number(resolved, path)
            case "boolean":
                return bool(_draw(self.seed, path, 2))
            case "null":
                return None
            case _:
                return self._fill_string(resolved, path)

    def _resolve(self, schema: object, path: str, depth: int) -> JsonSchema:
        plain = _as_schema(schema, path)
        for _ in range(_TOO_DEEP):
            if unsupported := _UNSUPPORTED & plain.keys():
                raise InputError(
                    f"{path}: the default reply does not support the keywords "
                    f"{', '.join(sorted(unsupported))}; pass reply=..."
                )
            if "$ref" in plain:
                target = self._resolve_reference(str(plain["$ref"]), path)
                plain = _merge(_remove_key(plain, "$ref"), target)
            elif "allOf" in plain:
                parts = [_as_schema(part, path) for part in _as_sequence(plain["allOf"])]
                plain = _merge(_remove_key(plain, "allOf"), *parts)
            elif branches := plain.keys() & {"anyOf", "oneOf"}:
                name = min(branches)
                branch = self._choose_branch(_as_sequence(plain[name]), path, depth)
                plain = _merge(_remove_key(plain, name), branch)
            elif depth > _TOO_DEEP:
                break
            else:
                return plain
        raise InputError(f"{path}: the schema is infinitely recursive")

    def _resolve_reference(self, reference: str, path: str) -> JsonSchema:
        if not reference.startswith("#"):
            raise InputError(f"{path}: $ref {reference!r} is not local to the schema")
        target = self.root
        for part in reference.lstrip("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if name not in target:
                raise InputError(f"{path}: $ref {reference!r} has no target")
            target = _as_schema(target[name], path)
        return target

    def _choose_branch(self, branches: Sequence[object], path: str, depth: int) -> JsonSchema:
        options = [_as_schema(branch, path) for branch in branches]
        if depth > _DEEP:
            return min(options, key=_weigh_schema)
        return cast(JsonSchema, self._choose(options, f"{path}|branch"))

    def _choose(self, options: Sequence[object], path: str) -> object:
        if not options:
            raise InputError(f"{path}: there are no options to choose from")
        return options[_draw(self.seed, path, len(options))]

    def _choose_type(self, schema: JsonSchema, path: str) -> str:
        kind = schema.get("type")
        if isinstance(kind, str):
            return kind
        if kind is not None:
            return str(self._choose(_as_sequence(kind), f"{path}|type"))
        return next((hint for name, hint in _TYPE_HINTS.items() if name in schema), "string")

    def _fill_object(self, schema: JsonSchema, path: str, depth: int) -> Mapping[str, JsonValue]:
        properties = _as_schema(schema.get("properties", {}), path)
        required = [str(name) for name in _as_sequence(schema.get("required", ()))]
        names = required if depth > _DEEP else list(dict.fromkeys((*properties, *required)))
        other = schema.get("additionalProperties", True)
        n_more = int(cast(int, schema.get("minProperties", 0))) - len(names)
        names += [f"key_{position + 1}" for position in range(n_more)]
        return {
            name: self.fill(properties.get(name, other), f"{path}.{name}", depth + 1)
            for name in names
        }

    def _fill_array(self, schema: JsonSchema, path: str, depth: int) -> Sequence[JsonValue]:
        prefix = _as_sequence(schema.get("prefixItems", ()))
        rest = schema.get("items", True)
        fewest = int(cast(int, schema.get("minItems", 0)))
        most = len(prefix) if rest is False else math.inf
        most = min(most, cast(float, schema.get("maxItems", math.inf)))
        usual = max(fewest, len(prefix), 0 if depth > _DEEP else 1)
        n_items = int(min(usual + (0 if depth > _DEEP else _draw(self.seed, path, 3)), most))
        items: list[JsonValue] = []
        for position in range(n_items * _TRIES_PER_ITEM):
            if len(items) == n_items:
                break
            inner = prefix[len(items)] if len(items) < len(prefix) else rest
            item = self.fill(inner, f"{path}[{position}]", depth + 1)
            if not schema.get("uniqueItems") or json.dumps(item) not in map(json.dumps, items):
                items.append(item)
        if len(items) < fewest:
            raise InputError(f"{path}: cannot generate {fewest} items (minItems, uniqueItems)")
        return items

    def _fill_integer(self, schema: JsonSchema, path: str) -> int:
        step = int(cast(int, schema.get("multipleOf", 1)))
        low, high = _find_bounds(schema, is_integer=True)
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            raise InputError(f"{path}: there is no integer within the bounds")
        return step * (first + _draw(self.seed, path, last - first + 1))

    def _fill_number(self, schema: JsonSchema, path: str) -> float:
        if "multipleOf" in schema:
            return self._fill_multiple(schema, path)
        low, high = _find_bounds(schema, is_integer=False)
        if low > high:
            raise InputError(f"{path}: there is no number within the bounds")
        return low + (high - low) * (1 + _draw(self.seed, path, 15)) / 16

    def _fill_multiple(self, schema: JsonSchema, path: str) -> float:
        step = float(cast(float, schema["multipleOf"]))
        low, high = _find_bounds(schema, is_integer=False)
        multiples = (step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1))
        # Validators that divide floats reject 3 * 0.1 as a multiple of 0.1.
        fitting = [value for value in multiples if (value / step).is_integer()]
        return cast(float, self._choose(fitting, path))

    def _fill_string(self, schema: JsonSchema, path: str) -> str:
        form = schema.get("format")
        if form in _FORMATS:
            return _FORMATS[str(form)]
        sentence = build_sentence(self.text, f"{self.seed}|{path}")
        shortest = int(cast(int, schema.get("minLength", 0)))
        longest = schema.get("maxLength")
        if len(sentence) < shortest:
            sentence = f"{sentence} " * math.ceil(shortest / len(sentence))
        return sentence if longest is None else sentence[: int(cast(int, longest))]


def _find_bounds(schema: JsonSchema, *, is_integer: bool) -> tuple[float, float]:
    """Return the bounds of a number.

    For integers, exclusive bounds are converted to inclusive ones.
    """
    low = cast("float | None", schema.get("minimum"))
    high = cast("float | None", schema.get("maximum"))
    if "exclusiveMinimum" in schema:
        low = cast(float, schema["exclusiveMinimum"])
        low = math.floor(low) + 1 if is_integer else low
    if "exclusiveMaximum" in schema:
        high = cast(float, schema["exclusiveMaximum"])
        high = math.ceil(high) - 1 if is_integer else high
    if low is None:
        low = 0 if high is None or high >= 0 else high - 10
    return low, low + 10 if high is None else high


def _as_schema(schema: object, path: str) -> JsonSchema:
    if isinstance(schema, Mapping):
        return cast(JsonSchema, schema)
    if schema is True:
        return {}
    raise InputError(f"{path}: {schema!r} is not a satisfiable schema")


def _as_sequence(value: object) -> Sequence[object]:
    return cast(Sequence[object], value) if isinstance(value, Sequence) else ()


def _remove_key(schema: JsonSchema, name: str) -> JsonSchema:
    return {key: value for key, value in schema.items() if key != name}


def _merge(*schemas: JsonSchema) -> JsonSchema:
    merged: dict[str, object] = {}
    for schema in schemas:
        properties = {**_as_schema(merged.get("properties", {}), "$")}
        properties.update(_as_schema(schema.get("properties", {}), "$"))
        required = [*_as_sequence(merged.get("required")), *_as_sequence(schema.get("required"))]
        merged.update(schema)
        if properties:
            merged["properties"] = properties
        if required:
            merged["required"] = list(dict.fromkeys(required))
    return merged


def _weigh_schema(schema: JsonSchema) -> int:
    """Return the complexity of a schema: 0 for scalars, 1 for lists that may be empty, else 2."""
    kind = schema.get("type")
    if {"const", "enum"} & schema.keys() or kind in _SCALARS:
        return 0
    return 1 if kind == "array" and not schema.get("minItems") else 2
