"""Read and write rankings as trec_eval reads them: `qid Q0 docid rank score tag`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.qrels import iter_columns, write_columns

_RANK = re.compile("[0-9]{1,9}")


@dataclass(frozen=True)
class RankedDocument:
    """A document in a ranking.

    Attributes:
        id: The document's id.
        rank: As the file gives it; trec_eval itself uses the score.
        score: Higher is better; finite.
    """

    id: str
    rank: int
    score: float


@dataclass(frozen=True)
class RetrievalRun:
    """The rankings of a system.

    Attributes:
        tag: The system's name.
        rankings: Its documents query by query, in the file's order.
    """

    tag: str
    rankings: Mapping[str, tuple[RankedDocument, ...]]


def read_run(path: Path) -> RetrievalRun:
    """Read a ranking, plain or gzip.

    Raises:
        InputError: The file is missing, empty or malformed, or a query names a document twice; the
            message names the line.
    """
    tag = ""
    rankings: dict[str, dict[str, RankedDocument]] = {}
    for number, columns in iter_columns(path):
        if len(columns) != 6:
            problem = f"found {len(columns)} columns, expected `qid Q0 docid rank score tag`"
            raise InputError(f"{path}:{number}: {problem}")
        query, _, name, rank, score, own_tag = columns
        document = RankedDocument(name, _rank(rank, path, number), _score(score, path, number))
        ranking = rankings.setdefault(query, {})
        if name in ranking:
            raise InputError(f"{path}:{number}: {query} ranks {name} twice")
        if tag and own_tag != tag:
            raise InputError(f"{path}:{number}: found the tag {own_tag!r} after {tag!r}")
        ranking[name], tag = document, own_tag
    if not rankings:
        raise InputError(f"{path} has no ranking")
    return RetrievalRun(tag, {query: tuple(found.values()) for query, found in rankings.items()})


def _rank(text: str, path: Path, number: int) -> int:
    if not _RANK.fullmatch(text):
        raise InputError(f"{path}:{number}: the rank {text!r} is not a whole number")
    return int(text)


def _score(text: str, path: Path, number: int) -> float:
    try:
        score = float(text)
    except ValueError as error:
        raise InputError(f"{path}:{number}: the score {text!r} is not a number") from error
    if not math.isfinite(score):
        raise InputError(f"{path}:{number}: the score {text!r} is not finite")
    return score


def write_run(run: RetrievalRun, path: Path) -> None:
    """Write a ranking; `read_run` returns it. A query without documents is not written.

    Raises:
        InputError: An id or the tag is empty or has white space in it, a query ranks a document
            twice, a rank is below 0, a score is not finite, or the file cannot be written.
    """
    rows: list[tuple[str, ...]] = []
    for query, ranking in run.rankings.items():
        seen: set[str] = set()
        for document in ranking:
            if document.id in seen or document.rank < 0 or not math.isfinite(document.score):
                raise InputError(
                    f"{path} cannot be written: {query} {document.id} is there twice, or its "
                    f"rank {document.rank} or score {document.score} is not an ordinary number"
                )
            seen.add(document.id)
            score = repr(float(document.score))
            rows.append((query, "Q0", document.id, str(document.rank), score, run.tag))
    write_columns(rows, path)
