"""Find how systems ranked passages: in a graded file, in run files, on an official leaderboard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.json_values import parse_json
from ragassay.formats.lines import iter_lines
from ragassay.formats.problems import Problem
from ragassay.formats.qrels import iter_columns
from ragassay.formats.shapes import is_object
from ragassay.formats.trec.runs import RetrievalRun
from ragassay.formats.workbench.paragraphs import QueryParagraphs

Rankings = Mapping[str, Mapping[str, Mapping[str, int]]]
"""System to query to passage to rank, best passage first."""


def rankings_in(queries: Sequence[QueryParagraphs]) -> Rankings:
    """Return the rankings that a graded file has.

    A passage that a system ranks twice, as for two facets, has its best rank. Passages of the same
    rank, as of a generated text, keep the file's order.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    for query in queries:
        for one in query.paragraphs:
            for ranking in one.paragraph_data.rankings:
                ranks = found.setdefault(ranking.method, {}).setdefault(query.query_id, {})
                best = min(ranking.rank, ranks.get(one.paragraph_id, ranking.rank))
                ranks[one.paragraph_id] = best
    return {
        system: {
            query: dict(sorted(ranks.items(), key=lambda pair: pair[1]))
            for query, ranks in by_query.items()
        }
        for system, by_query in found.items()
    }


def rankings_of(runs: Iterable[RetrievalRun]) -> Rankings:
    """Return the rankings of run files: by score, as trec_eval does, equal scores by id descending.

    Raises:
        InputError: Two runs have the same tag.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    for run in runs:
        if run.tag in found:
            raise InputError(f"two runs have the tag {run.tag!r}: each system needs its own")
        found[run.tag] = {}
        for query, ranking in run.rankings.items():
            order = sorted(ranking, key=lambda one: (one.score, one.id), reverse=True)
            found[run.tag][query] = {one.id: rank for rank, one in enumerate(order, start=1)}
    return found


def read_official(path: Path) -> dict[str, float]:
    """Read an official leaderboard, as scores: higher is better.

    Args:
        path: JSON `{system: rank}`, 1 the best; or two columns, system and score.

    Returns:
        By system. Ranks are negated, so that the best rank is the highest score.

    Raises:
        InputError: The file is missing, empty or malformed; the message names the line.
    """
    if path.name.endswith(".json"):
        return {name: -rank for name, rank in _ranks(path).items()}
    found: dict[str, float] = {}
    for number, columns in iter_columns(path):
        if len(columns) != 2:
            raise InputError(f"{path}:{number}: expected `system score`, two columns")
        score = _number(columns[1])
        if score is None and number == 1:
            continue
        if score is None or columns[0] in found:
            problem = "is there twice" if score is not None else "has no number as its score"
            raise InputError(f"{path}:{number}: {columns[0]!r} {problem}")
        found[columns[0]] = score
    if not found:
        raise InputError(f"{path} has no system")
    return found


def _ranks(path: Path) -> dict[str, float]:
    data = b"\n".join(line.data for line in iter_lines(path))
    value = parse_json(data)
    if isinstance(value, Problem) or not is_object(value) or not value:
        raise InputError(f"{path}: expected one object {{system: rank}}")
    ranks = {name: _number(rank) for name, rank in value.items()}
    bad = next((name for name, rank in ranks.items() if rank is None), None)
    if bad is not None:
        raise InputError(f"{path}: the rank of {bad!r} is not a number")
    return {name: rank for name, rank in ranks.items() if rank is not None}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
