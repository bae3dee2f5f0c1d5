"""Read papers and the question-answer pairs that were written from them, as the job of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.agents.papers import paper_record
from ragassay.errors import InputError
from ragassay.formats.papers.files import read_papers
from ragassay.formats.papers.pairs import read_pairs
from ragassay.models.weights import sha256_of
from ragassay.records import FileStamp, Paper, QAPair, Record, Rejection
from ragassay.retrievers.memory import Corpus
from ragassay.runs.job import Job, job_of


@dataclass(frozen=True)
class PaperPairs:
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
        return tuple(pair for pair in self.pairs if pair.paper == paper.id)

    def first(self, n_papers: int | None) -> PaperPairs:
        """Return the first papers with their pairs; all without a number."""
        if n_papers is None:
            return self
        found = paired(self.papers[:n_papers], self.pairs)
        return PaperPairs(
            found.papers, found.pairs, self.rejections, self.unused, self.name, self.sha256
        )


def paired(papers: Iterable[Paper], pairs: Iterable[QAPair]) -> PaperPairs:
    """Put pairs to their papers; papers without a pair, and pairs without a paper, are left out."""
    given, by_paper = list(papers), dict[str, list[QAPair]]()
    for pair in pairs:
        by_paper.setdefault(pair.paper, []).append(pair)
    used = tuple(paper for paper in given if paper.id in by_paper)
    return PaperPairs(
        papers=used,
        pairs=tuple(pair for paper in used for pair in by_paper[paper.id]),
        unused=tuple(paper.id for paper in given if paper.id not in by_paper),
    )


def read_paper_pairs(pairs: Path, papers: Path | None = None) -> PaperPairs:
    """Read pairs and their papers.

    Args:
        pairs: See `read_pairs`.
        papers: See `read_papers`; None where the file of pairs brings them.

    Raises:
        InputError: A file cannot be read, or no pair has its paper.
    """
    given = read_papers(papers) if papers is not None else None
    found = read_pairs(pairs, given.papers if given else ())
    both = paired(found.papers, found.pairs)
    if not both.pairs:
        raise InputError(
            f"{pairs} names papers that are not there: give them with --papers FILE or FOLDER"
            if papers is None
            else f"no pair of {pairs} is about a paper of {papers}"
        )
    return PaperPairs(
        papers=both.papers,
        pairs=both.pairs,
        rejections=(*(given.rejections if given else ()), *found.rejections),
        unused=both.unused,
        name=pairs.name,
        sha256=sha256_of(pairs) if pairs.is_file() else "",
    )


def pairs_job(given: PaperPairs) -> Job:
    """Return the job of judging pairs: one record a paper."""
    return records_job([paper_record(paper, given.of(paper)) for paper in given.papers], given)


def records_job(records: Sequence[Record], given: PaperPairs) -> Job:
    """Return a job of records that were made of papers and pairs."""
    job = job_of(records, Corpus(), given.rejections)
    stamp = FileStamp(
        name=given.name or job.answers.name,
        sha256=job.answers.sha256,
        n_items=len(given.pairs),
        format="pairs",
    )
    return Job(job.records, job.rejections, stamp, job.corpus)
