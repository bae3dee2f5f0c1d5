"""JSON schemas of replies."""

from __future__ import annotations

from typing import Any


def closed(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def as_format(schema: dict[str, Any]) -> Any:
    """Return the `response_format` of a call."""
    return {"type": "json_schema", "json_schema": {"name": "r", "strict": True, "schema": schema}}


RATING = closed(rating={"type": "integer", "enum": [1, 2, 3, 4, 5]})
