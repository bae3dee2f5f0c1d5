"""Read and write question-answer pairs about papers.

{"id", "question", "answer", "paper", "system", "sources"} per line, or in an array
{"doi", "txt", "Q&A": [{"Q", "A"}]}: SciQAG, which includes the paper
question,answer,paper[,id,system]: CSV, also with tabs or semicolons
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.items import Item, Place, iter_items, keep_first
from ragassay.formats.output import write_values
from ragassay.formats.papers.files import PAIR, PAPER, PairRow, list_paper_files, read_paper_row
from ragassay.formats.papers.prose import normalize_id
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    build_empty_file_error,
    parse,
    quote_text,
)
from ragassay.formats.sniff import detect_format
from ragassay.records import Paper, QAPair, Rejection

SHAPES = (__doc__ or "").partition("\n\n")[2]
_NO_PAPER = "pair"


@dataclass(frozen=True)
class PairFile:
    """Question-answer pairs in a file, with their papers.

    Attributes:
        rejections: Lines that could not be read, and pairs that name no paper or an unknown one.
        papers: Papers passed to the reader, followed by the papers in the file.
    """

    pairs: tuple[QAPair, ...]
    rejections: tuple[Rejection, ...]
    papers: tuple[Paper, ...]


def read_pairs(path: AnyPath, papers: Sequence[Paper] = ()) -> PairFile:
    """Read question-answer pairs. A pair without an id gets the id `{paper}/{n}`.

    The path is a file, optionally compressed with gzip, or a folder of files. If only one paper is
    known, it is the default paper of all pairs. If no paper is known, the paper ids of the pairs
    are not checked.

    Raises:
        InputError: The path does not exist, cannot be opened, is empty, or contains no pairs in a
            known format.
    """
    path = Path(path)
    by_id = {paper.id: paper for paper in papers}
    found: dict[str, Paper] = {}
    rows: list[tuple[PairRow, Place]] = []
    rejections: list[Rejection] = []
    for file, name in list_paper_files(path):
        for item in iter_items(file):
            if isinstance(item, Rejection):
                rejections.append(item)
                continue
            try:
                rows += [(row, item.place) for row in _read_rows(item, name, found)]
            except ProblemError as error:
                rejections.append(item.place.reject(error.problem))
    known = by_id | found | by_id
    pairs, refused = keep_first(
        _complete_pairs(rows, known),
        key_of=lambda pair: pair.id,
        repeated=lambda pair, first: Problem(
            "id", f"the pair {quote_text(pair.id)} is already on line {first.line}", "unique ids"
        ),
    )
    rejections += refused
    if not pairs:
        raise build_empty_file_error(path, "question-answer pair", rejections, f"one of:\n{SHAPES}")
    return PairFile(pairs, tuple(rejections), tuple(known.values()))


def write_pairs(pairs: Iterable[QAPair], path: AnyPath) -> None:
    """Write pairs as JSON lines, which `read_pairs` can read without loss.

    Raises:
        InputError: Two pairs have the same id, a text is not valid UTF-8, or the file cannot be
            written.
    """
    path = Path(path)
    rows = [pair.model_dump(mode="json", exclude_defaults=True) for pair in pairs]
    twice = next((name for name, n in Counter(str(row["id"]) for row in rows).items() if n > 1), "")
    if twice:
        raise InputError(f"{path} cannot be written: two pairs have the id {twice!r}")
    write_values(rows, path)


def _read_rows(item: Item, name: str, papers: dict[str, Paper]) -> list[PairRow]:
    """Return the pairs in an item, and add its paper, if it contains one, to `papers`."""
    if detect_format(item.keys, (PAIR, PAPER)) is not PAPER:
        return [parse(PairRow, {key.lower(): value for key, value in item.fields.items()})]
    paper, rows = read_paper_row(item, name)
    if paper.id in papers:
        raise ProblemError(
            "doi", f"the paper {quote_text(paper.id)} already appeared", "unique ids"
        )
    papers[paper.id] = paper
    return [row.model_copy(update={"paper": paper.id}) for row in rows]


def _complete_pairs(
    rows: Iterable[tuple[PairRow, Place]], papers: Mapping[str, Paper]
) -> Iterator[tuple[QAPair | Problem, Place]]:
    numbers: Counter[str] = Counter()
    for row, place in rows:
        paper = _find_paper(row, papers)
        if isinstance(paper, Problem):
            yield paper, place
            continue
        numbers[paper] += 1
        pair = QAPair(
            id=row.id or f"{paper or _NO_PAPER}/{numbers[paper]}",
            question=row.question,
            answer=row.answer,
            paper=paper,
            system=row.system,
            sources=tuple(row.sources),
        )
        yield pair, place


def _find_paper(row: PairRow, papers: Mapping[str, Paper]) -> str | Problem:
    if not papers:
        return row.paper or ""
    example = f"such as {next(iter(papers))!r}"
    if row.paper is None:
        if len(papers) == 1:
            return next(iter(papers))
        text = f"the pair does not specify a paper, but there are {len(papers)} papers"
        return Problem("paper", text, f"a paper id {example}")
    for known in (row.paper, normalize_id(row.paper)):
        if known in papers:
            return known
    text = f"the paper {quote_text(row.paper)} is unknown"
    return Problem("paper", text, f"one of the {len(papers)} paper ids, {example}")
