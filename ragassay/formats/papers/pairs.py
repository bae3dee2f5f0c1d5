"""Read and write question-answer pairs about papers.

{"id", "question", "answer", "paper", "system", "sources"} per line, or in an array
{"doi", "txt", "Q&A": [{"Q", "A"}]}: SciQAG, which includes the paper
question,answer,paper[,id,system]: CSV, also with tabs or semicolons
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.files import iter_lines
from ragassay.formats.items import Item, Place, content_of, iter_items
from ragassay.formats.output import write_values
from ragassay.formats.papers.files import PAIR, PAPER, PairRow, files_of, read_paper_row
from ragassay.formats.papers.prose import plain_id
from ragassay.formats.problems import Problem, ProblemError, parse, quote_text
from ragassay.formats.sniff import detect_format
from ragassay.formats.topics import read_small_file
from ragassay.records import Paper, QAPair, Rejection

SHAPES = (__doc__ or "").partition("\n\n")[2]
_DELIMITERS = ("\t", ";", ",")
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
    reading = _PairReading({paper.id: paper for paper in papers})
    for file, name in files_of(path):
        for item in _items(file):
            if isinstance(item, Rejection):
                reading.rejections.append(item)
            else:
                reading.add(item, name)
    result = reading.result()
    if not result.pairs:
        first = next((f" (line {r.line}: {r.problem})" for r in result.rejections), "")
        raise InputError(f"{path} has no question-answer pair{first}; expected:\n{SHAPES}")
    return result


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


def _items(path: Path) -> Iterator[Item | Rejection]:
    if (head := next(iter_lines(path), None)) is None:
        raise InputError(f"{path} is empty; expected:\n{SHAPES}")
    start = head.data.lstrip()
    if head.problem or start.startswith((b"{", b"[")):
        return iter_items(path)
    return _table_items(path)


def _table_items(path: Path) -> Iterator[Item | Rejection]:
    try:
        text = read_small_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error}); expected:\n{SHAPES}") from error
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().lower() for name in next(rows, [])]
    except csv.Error as error:
        raise InputError(f"{path} is not valid CSV ({error}); expected:\n{SHAPES}") from error
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{path} contains the column {twice!r} twice; rename one of the two columns"
        )
    if detect_format({name.upper() if len(name) == 1 else name for name in names}, (PAIR,)) is None:
        expected = f"expected a header with question and answer, or:\n{SHAPES}"
        raise InputError(f"{path} starts with {quote_text(header)}; {expected}")
    while True:
        line = rows.line_num + 1
        try:
            cells = next(rows, None)
        except csv.Error as error:
            place = Place(str(path), line, f"line-{line}", "")
            yield place.reject(Problem("", f"the row is not CSV: {error}", "properly quoted cells"))
            return
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield _row_item(Place(str(path), line, f"line-{line}", content_of(cells)), names, cells)


def _row_item(place: Place, names: list[str], cells: list[str]) -> Item | Rejection:
    if len(cells) > len(names):
        text = f"the row has {len(cells)} cells, but there are {len(names)} columns"
        return place.reject(Problem("", text, "quotes around cells that contain the delimiter"))
    return Item(
        place, {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()}
    )


@dataclass
class _PairReading:
    known_papers: dict[str, Paper]
    file_papers: dict[str, Paper] = field(default_factory=dict[str, Paper])
    rows: list[tuple[PairRow, Place]] = field(default_factory=list[tuple[PairRow, Place]])
    rejections: list[Rejection] = field(default_factory=list[Rejection])

    def add(self, item: Item, name: str) -> None:
        try:
            if detect_format(item.keys, (PAIR, PAPER)) is PAPER:
                self._add_paper(item, name)
            else:
                self.rows.append((parse(PairRow, item.fields), item.place))
        except ProblemError as error:
            self._reject(item.place, error.problem)

    def _add_paper(self, item: Item, name: str) -> None:
        paper, rows = read_paper_row(item, name)
        if paper.id in self.file_papers:
            text = f"the paper {quote_text(paper.id)} already appeared"
            raise ProblemError("doi", text, "unique ids")
        self.file_papers[paper.id] = paper
        self.rows.extend((row.model_copy(update={"paper": paper.id}), item.place) for row in rows)

    def _reject(self, place: Place, problem: Problem) -> None:
        self.rejections.append(place.reject(problem))

    def result(self) -> PairFile:
        papers = self.known_papers | self.file_papers | self.known_papers
        pairs: dict[str, QAPair] = {}
        lines: dict[str, int] = {}
        numbers: Counter[str] = Counter()
        for row, place in self.rows:
            paper = self._paper_of(row, papers)
            if isinstance(paper, Problem):
                self._reject(place, paper)
                continue
            numbers[paper] += 1
            name = row.id or f"{paper or _NO_PAPER}/{numbers[paper]}"
            if name in pairs:
                text = f"the pair {quote_text(name)} is already on line {lines[name]}"
                self._reject(place, Problem("id", text, "unique ids"))
            else:
                pairs[name], lines[name] = _pair(row, name, paper), place.line
        return PairFile(tuple(pairs.values()), tuple(self.rejections), tuple(papers.values()))

    def _paper_of(self, row: PairRow, papers: dict[str, Paper]) -> str | Problem:
        name = row.paper
        if not papers:
            return name or ""
        if name is None:
            if len(papers) == 1:
                return next(iter(papers))
            text = f"the pair does not specify a paper, but there are {len(papers)} papers"
            return Problem("paper", text, f"a paper id such as {next(iter(papers))!r}")
        for known in (name, plain_id(name)):
            if known in papers:
                return known
        text = f"the paper {quote_text(name)} is unknown"
        return Problem(
            "paper", text, f"one of the {len(papers)} paper ids, such as {next(iter(papers))!r}"
        )


def _pair(row: PairRow, name: str, paper: str) -> QAPair:
    return QAPair(
        id=name,
        question=row.question,
        answer=row.answer,
        paper=paper,
        system=row.system,
        sources=tuple(row.sources),
    )
