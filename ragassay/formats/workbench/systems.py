"""Find how systems ranked passages: in a graded file, in run files, on an official leaderboard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.answered import nothing_in
from ragassay.formats.columns import read_columns
from ragassay.formats.items import Place, content_of
from ragassay.formats.json_values import parse_json
from ragassay.formats.problems import Problem, dotted, found, found_text
from ragassay.formats.shapes import is_object
from ragassay.formats.topics import whole_bytes
from ragassay.formats.trec.runs import RetrievalRun
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.records import Rejection

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


def read_official(path: Path) -> tuple[dict[str, float], list[Rejection]]:
    """Read an official leaderboard, as scores: higher is better.

    Args:
        path: JSON `{system: rank}`, 1 the best; or two columns, system and score.

    Returns:
        Scores by system, and what could not be read. Ranks are negated, so that the best rank is
        the highest score.

    Raises:
        InputError: The file cannot be opened, or has no system.
    """
    if path.name.endswith(".json"):
        return _ranks(path)
    scores: dict[str, float] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) != 2:
            return Problem("", f"found {len(columns)} columns", "`system score`")
        score = _number(columns[1])
        if score is None and number == 1:
            return None
        if score is None:
            return Problem("score", f"found {found(columns[1])}", "a number")
        if columns[0] in scores:
            text = f"{found_text(columns[0])} is there above, with the score that counts"
            return Problem("system", text, "each system once")
        scores[columns[0]] = score
        return None

    rejections = read_columns(path, add)
    if not scores:
        raise nothing_in(path, "system", rejections)
    return scores, rejections


def _ranks(path: Path) -> tuple[dict[str, float], list[Rejection]]:
    value = parse_json(whole_bytes(path))
    if isinstance(value, Problem) or not is_object(value) or not value:
        raise InputError(f"{path}: expected one object {{system: rank}}")
    ranks = {name: _number(rank) for name, rank in value.items()}
    rejections = [
        Place(str(path), 0, name, content_of({name: value[name]})).reject(
            Problem(dotted((name,)), f"found {found(value[name])}", "a rank: a number")
        )
        for name, rank in ranks.items()
        if rank is None
    ]
    scores = {name: -rank for name, rank in ranks.items() if rank is not None}
    if not scores:
        raise nothing_in(path, "system", rejections)
    return scores, rejections


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
