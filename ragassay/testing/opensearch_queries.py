"""Score the double's documents as the queries of OpenSearch's REST API ask."""

from __future__ import annotations

import re
from typing import Any


def score_of(query: dict[str, Any], source: dict[str, Any], properties: dict[str, Any]) -> float:
    """Return how well a document matches; 0 where it does not."""
    ((kind, asked),) = query.items()
    if kind == "bool":
        barred = any(score_of(one, source, properties) for one in asked.get("must_not", ()))
        kept = all(score_of(one, source, properties) for one in asked.get("filter", ()))
        scores = [score_of(one, source, properties) for one in asked.get("must", ())]
        if barred or not kept or not all(scores):
            return 0.0
        return sum(scores) if scores else 1.0
    if kind == "match_all":
        return 1.0
    if kind == "knn":
        return _nearness(asked, source, properties)
    if kind == "multi_match":
        words = set(re.findall(r"\w+", asked["query"].lower()))
        return sum(_field_score(one, words, source, properties) for one in asked["fields"])
    ((name, wanted),) = asked.items()
    if kind == "range":
        value = source.get(name)
        return float(value is not None and wanted.get("gte", 0) <= value <= wanted.get("lte", 1e9))
    folds = "normalizer" in properties[name]
    given = source.get(name, [])
    had = set(given if isinstance(given, list) else [given])
    want = set(wanted if kind == "terms" else [wanted])
    if folds:
        had, want = {value.lower() for value in had}, {value.lower() for value in want}
    return float(bool(had & want))


def _field_score(
    boosted: str, words: set[str], source: dict[str, Any], properties: dict[str, Any]
) -> float:
    name, _, boost = boosted.partition("^")
    parts = [key for key, about in properties.items() if about.get("copy_to") == name] or [name]
    text = " ".join(source.get(key, "") for key in parts).lower()
    return float(boost or 1) * len(words & set(re.findall(r"\w+", text)))


def _nearness(asked: dict[str, Any], source: dict[str, Any], properties: dict[str, Any]) -> float:
    """Return the score of an inner product, as documented; 0 for no vector, or one filtered out."""
    ((name, wanted),) = asked.items()
    kept = "filter" not in wanted or score_of(wanted["filter"], source, properties)
    if name not in source or not kept:
        return 0.0
    product = sum(a * b for a, b in zip(wanted["vector"], source[name], strict=True))
    return product + 1.0 if product > 0 else 1.0 / (1.0 - product)
