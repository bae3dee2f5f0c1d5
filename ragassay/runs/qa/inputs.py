"""Read papers and the question-answer pairs that were written from them, as the job of a run."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.papers.files import read_papers
from ragassay.formats.papers.pairs import read_pairs
from ragassay.models.weights import sha256_of
from ragassay.records import FileStamp, Paper, QAPair, Record, Rejection
from ragassay.records.papers import paper_record
from ragassay.retrievers.memory import Corpus
from ragassay.runs.job import Job, job_of


@dataclass(frozen=True)
class GivenPairs:
    """Papers, each with its pairs.

    Attributes:
        papers: Those that have a pair, in the order of the input.
        pairs: In the order of the papers.
        rejections: What could not be read.
        unused: Ids of papers without a pair.
        name: Name of the file of pairs.
        sha256: Its SHA-256; empty for pairs in memory.
    """

    papers: tuple[Paper, ...]
    pairs: tuple[QAPair, ...]
    rejections: tuple[Rejection, ...] = ()
    unused: tuple[str, ...] = ()
    name: str = ""
    sha256: str = ""

    def of(self, paper: Paper) -> tuple[QAPair, ...]:
        """Return the pairs of a paper."""
        return self._by_paper[paper.id]

    @functools.cached_property
    def _by_paper(self) -> dict[str, tuple[QAPair, ...]]:
        found = dict[str, list[QAPair]]()
        for pair in self.pairs:
            found.setdefault(pair.paper, []).append(pair)
        return {name: tuple(pairs) for name, pairs in found.items()}

    def first(self, n_papers: int | None) -> GivenPairs:
        """Return the first papers with their pairs; all without a number."""
        if n_papers is None:
            return self
        first = paired(self.papers[:n_papers], self.pairs)
        return replace(self, papers=first.papers, pairs=first.pairs)


def paired(papers: Iterable[Paper], pairs: Iterable[QAPair]) -> GivenPairs:
    """Put pairs to their papers; papers without a pair, and pairs without a paper, are left out."""
    given, by_paper = list(papers), dict[str, list[QAPair]]()
    for pair in pairs:
        by_paper.setdefault(pair.paper, []).append(pair)
    used = tuple(paper for paper in given if paper.id in by_paper)
    return GivenPairs(
        papers=used,
        pairs=tuple(pair for paper in used for pair in by_paper[paper.id]),
        unused=tuple(paper.id for paper in given if paper.id not in by_paper),
    )


def read_paper_pairs(
    pairs: str | Path | Sequence[QAPair], papers: str | Path | Sequence[Paper] | None = None
) -> GivenPairs:
    """Read pairs and their papers.

    Args:
        pairs: A file (see `read_pairs`), or pairs.
        papers: A file or folder (see `read_papers`), or papers; None where the file of pairs brings
            them.

    Raises:
        InputError: A file cannot be read, or no pair has its paper.
    """
    known, rejections = _papers(papers)
    if not isinstance(pairs, str | Path):
        both, name, sha256 = paired(known, pairs), "", ""
    else:
        path = Path(pairs)
        found = read_pairs(path, known)
        both = paired(found.papers, found.pairs)
        rejections = (*rejections, *found.rejections)
        name, sha256 = path.name, sha256_of(path) if path.is_file() else ""
    if not both.pairs:
        what = "names papers that are not there: give them with --papers FILE or FOLDER"
        if papers is not None:
            what = "has no pair about one of the papers"
        raise InputError(f"{name or 'the list of pairs'} {what}")
    return replace(both, rejections=rejections, name=name, sha256=sha256)


def papers_of(
    papers: str | Path | Sequence[Paper],
) -> tuple[Sequence[Paper], tuple[Rejection, ...]]:
    """Return papers that are given, or those of a file or folder, and what cannot be read.

    Raises:
        InputError: Nothing can be read.
    """
    found, rejections = _papers(papers)
    if not found:
        why = f": {rejections[0].problem}" if rejections else ""
        raise InputError(f"there is no paper to write pairs from{why}")
    return found, rejections


def _papers(
    papers: str | Path | Sequence[Paper] | None,
) -> tuple[Sequence[Paper], tuple[Rejection, ...]]:
    if papers is None:
        return (), ()
    if not isinstance(papers, str | Path):
        return papers, ()
    found = read_papers(Path(papers))
    return found.papers, found.rejections


def pairs_job(given: GivenPairs) -> Job:
    """Return the job of judging pairs: one record a paper."""
    return records_job([paper_record(paper, given.of(paper)) for paper in given.papers], given)


def records_job(records: Sequence[Record], given: GivenPairs) -> Job:
    """Return a job of records that were made of papers and pairs."""
    job = job_of(records, Corpus(), given.rejections)
    stamp = FileStamp(
        name=given.name or job.answers.name,
        sha256=job.answers.sha256,
        n_items=len(given.pairs),
        format="pairs",
    )
    return Job(job.records, job.rejections, stamp, job.corpus)
