"""Read and write rankings as trec_eval reads them: `qid Q0 docid rank score tag`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.answered import nothing_in
from ragassay.formats.columns import read_columns, write_columns
from ragassay.formats.problems import Problem, found, found_text
from ragassay.records import Rejection

_RANK = re.compile("[0-9]{1,9}")
_COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")


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


def read_run(path: Path) -> tuple[RetrievalRun, list[Rejection]]:
    """Read a ranking, plain or gzip.

    Returns:
        The ranking, and the lines that could not be read; such are those of another tag than the
        first one, and a document that its query has above.

    Raises:
        InputError: The file cannot be opened, or has no ranking.
    """
    tag = ""
    rankings: dict[str, dict[str, RankedDocument]] = {}

    def add(_number: int, columns: list[str]) -> Problem | None:
        nonlocal tag
        if len(columns) != len(_COLUMNS):
            return Problem("", f"found {len(columns)} columns", f"`{' '.join(_COLUMNS)}`")
        query, _, name, rank, score, own_tag = columns
        if not _RANK.fullmatch(rank):
            return Problem("rank", f"found {found(rank)}", "a whole number")
        number = _score(score)
        if number is None:
            return Problem("score", f"found {found(score)}", "a finite number")
        if name in rankings.get(query, {}):
            text = f"{found_text(query)} ranks {found_text(name)} above, which counts"
            return Problem("docid", text, "each document once")
        if tag and own_tag != tag:
            return Problem("tag", f"found {found(own_tag)}", f"{found_text(tag)}, as above")
        rankings.setdefault(query, {})[name] = RankedDocument(name, int(rank), number)
        tag = own_tag
        return None

    rejections = read_columns(path, add)
    if not rankings:
        raise nothing_in(path, "ranking", rejections)
    ranked = {query: tuple(ranking.values()) for query, ranking in rankings.items()}
    return RetrievalRun(tag, ranked), rejections


def _score(text: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        return None
    return score if math.isfinite(score) else None


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
