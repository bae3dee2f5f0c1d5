"""Evaluate question-answer pairs about papers: measures, RACAR ratings, intents and reports."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError, SettingsError
from ragassay.evaluators.base import Run
from ragassay.formats.papers.files import read_papers
from ragassay.formats.papers.pairs import read_pairs
from ragassay.instruments.pair_rater import EmbeddedPairRater
from ragassay.model_names import INSTRUMENTS, MINILM
from ragassay.models.cards import load_card
from ragassay.models.embeddings import RoleEncoder, VectorCache
from ragassay.models.fitted_raters import PAIR_RATER
from ragassay.models.weights import compute_sha256
from ragassay.options import EvaluateKeywords, OptionStyle, create_settings
from ragassay.process import run_in_thread
from ragassay.qa.measures import Compared, measure_paper_groups
from ragassay.qa.report import (
    render_pairs_csv,
    render_papers_csv,
    render_qa_html,
    render_qa_markdown,
)
from ragassay.qa.view import QAReport
from ragassay.records import (
    IntentSimilarity,
    Manifest,
    Paper,
    PaperMeasures,
    QAPair,
    RacarRating,
    Record,
    Rejection,
)
from ragassay.records.qa import build_paper_record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import RunResult, run_job
from ragassay.runs.folder import RunFolder, read_lines, write_atomically, write_lines
from ragassay.runs.job import Job, build_job
from ragassay.runs.progress import Event, Listener
from ragassay.settings import Settings


@dataclass(frozen=True)
class InputPairs:
    """Question-answer pairs and the papers that they are about, in input order.

    Attributes:
        unused: Ids of papers without pairs.
        name: Name of the file with the pairs, or empty if the pairs were not read from a file.
        sha256: SHA-256 of the file with the pairs, or empty if there is no file.
    """

    papers: tuple[Paper, ...]
    pairs: tuple[QAPair, ...]
    rejections: tuple[Rejection, ...] = ()
    unused: tuple[str, ...] = ()
    name: str = ""
    sha256: str = ""

    def get_pairs(self, paper: Paper) -> Sequence[QAPair]:
        """Return the pairs of a paper."""
        return self._pairs[paper.id]

    @functools.cached_property
    def _pairs(self) -> dict[str, list[QAPair]]:
        return _group_by_paper(self.pairs)

    def limit_papers(self, n_papers: int | None) -> InputPairs:
        """Return the first `n_papers` papers with their pairs, or all papers if it is None."""
        if n_papers is None:
            return self
        first = match_pairs_to_papers(self.papers[:n_papers], self.pairs)
        return replace(self, papers=first.papers, pairs=first.pairs)


def match_pairs_to_papers(papers: Iterable[Paper], pairs: Iterable[QAPair]) -> InputPairs:
    """Match pairs to papers, and drop papers without pairs and pairs without a paper."""
    known, by_paper = list(papers), _group_by_paper(pairs)
    used = tuple(paper for paper in known if paper.id in by_paper)
    return InputPairs(
        papers=used,
        pairs=tuple(pair for paper in used for pair in by_paper[paper.id]),
        unused=tuple(paper.id for paper in known if paper.id not in by_paper),
    )


def _group_by_paper(pairs: Iterable[QAPair]) -> dict[str, list[QAPair]]:
    by_paper: dict[str, list[QAPair]] = {}
    for pair in pairs:
        by_paper.setdefault(pair.paper, []).append(pair)
    return by_paper


def read_paper_pairs(
    pairs: str | Path | Sequence[QAPair], papers: str | Path | Sequence[Paper] | None = None
) -> InputPairs:
    """Read question-answer pairs and the papers that they are about.

    Args:
        pairs: The pairs, or the path of a file that `read_pairs` can read.
        papers: The papers, or the path of a file or folder that `read_papers` can read. None if the
            file with the pairs also contains the papers.

    Raises:
        InputError: A file cannot be read, or no pair belongs to one of the papers.
    """
    known, rejections = _read_papers(papers)
    if not isinstance(pairs, str | Path):
        matched, name, sha256 = match_pairs_to_papers(known, pairs), "", ""
    else:
        path = Path(pairs)
        result = read_pairs(path, known)
        matched = match_pairs_to_papers(result.papers, result.pairs)
        rejections = (*rejections, *result.rejections)
        name, sha256 = path.name, compute_sha256(path) if path.is_file() else ""
    if not matched.pairs:
        problem = "has no pairs about these papers"
        if papers is None:
            problem = "does not include its papers; pass them with --papers FILE or FOLDER"
        raise InputError(f"{name or 'the list of pairs'} {problem}")
    return replace(matched, rejections=rejections, name=name, sha256=sha256)


def load_papers(
    papers: str | Path | Sequence[Paper],
) -> tuple[Sequence[Paper], tuple[Rejection, ...]]:
    """Return papers and rejected records, given a path or a list of papers.

    Raises:
        InputError: The file, folder or list contains no papers.
    """
    known, rejections = _read_papers(papers)
    if not known:
        reason = f": {rejections[0].problem}" if rejections else ""
        raise InputError(f"no papers to write pairs from{reason}")
    return known, rejections


def _read_papers(
    papers: str | Path | Sequence[Paper] | None,
) -> tuple[Sequence[Paper], tuple[Rejection, ...]]:
    if papers is None:
        return (), ()
    if not isinstance(papers, str | Path):
        return papers, ()
    result = read_papers(Path(papers))
    return result.papers, result.rejections


def build_pairs_job(input_pairs: InputPairs) -> Job:
    """Return an evaluation job in which each record is a paper with all its pairs."""
    return build_records_job(
        [build_paper_record(paper, input_pairs.get_pairs(paper)) for paper in input_pairs.papers],
        input_pairs,
    )


def build_records_job(records: Sequence[Record], input_pairs: InputPairs) -> Job:
    """Return an evaluation job for the given records of papers and pairs."""
    job = build_job(records, Corpus(), input_pairs.rejections)
    name = input_pairs.name or job.answers.name
    update = {"name": name, "n_items": len(input_pairs.pairs), "format": "pairs"}
    return replace(job, answers=job.answers.model_copy(update=update))


PARTS = ("racar", "intents")

MOST_SENTENCES = 100_000
"""Maximum number of sentences in a record, high enough for all pairs of a paper."""

MEASURES = "measures.jsonl"
CUT = "sources_cut"


@dataclass(frozen=True)
class JudgedPairs:
    """Result of `judge_pairs`: the pairs with their measures, the judge's run and the report."""

    input_pairs: InputPairs
    measures: tuple[PaperMeasures, ...]
    run: RunResult
    report: QAReport

    @property
    def is_partial(self) -> bool:
        """Return whether a rating failed or an input record was rejected."""
        verdicts = (v for evaluation in self.run.evaluations for v in evaluation.verdicts)
        has_failed = any(v.failure is not None and not v.is_undecided for v in verdicts)
        return bool(has_failed or self.run.failures or self.run.rejections)


def build_pairs_settings(
    options: EvaluateKeywords, settings: Settings | None = None, style: OptionStyle = "keyword"
) -> Settings:
    """Return the settings for a run that judges question-answer pairs and nothing else.

    Raises:
        SettingsError: A setting is invalid, or a panel of several judges is set.
    """
    only = options.get("only") or PARTS
    chosen = create_settings({**options, "only": only}, settings, style)
    if chosen.judge.panel:
        judges = ", ".join(chosen.judge.judges)
        raise SettingsError(f"pairs are rated by a single judge, got {judges}")
    return chosen.model_copy(update={"max_sentences": MOST_SENTENCES})


async def judge_pairs(
    input_pairs: InputPairs,
    run: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> JudgedPairs:
    """Measure and judge question-answer pairs.

    Args:
        folder: Folder for verdicts and reports, in which an interrupted run is resumed, or None to
            write no files.

    Raises:
        RunMismatchError: The folder belongs to a different run.
        FatalModelError: The judge is unavailable.
    """
    embedder = VectorCache(run.models.embedder)
    if run.models.pair_rater is not None and embedder.name == MINILM:
        run = run.with_models(pair_rater=EmbeddedPairRater(embedder))
    result = await run_job(build_pairs_job(input_pairs), run, folder, listen, has_reports=False)
    compared = run.settings.grading.qa_coverage
    measures = await run_in_thread(_measure_pairs, input_pairs, embedder, compared, folder, listen)
    has_judge = run.models.pair_rater is None or bool(run.settings.judge.escalate)
    report = QAReport(
        name=input_pairs.name or "pairs",
        papers=input_pairs.papers,
        pairs=input_pairs.pairs,
        measures=measures,
        ratings=_select_judge_ratings(result, run),
        intents=tuple(
            v for one in result.evaluations for v in one.select_verdicts(IntentSimilarity)
        ),
        judge=(run.settings.judge.escalated_to or run.judge.answered_by) if has_judge else "",
        embedder=run.models.embedder.name,
        cards=_describe_models(result.manifest),
        notes=_collect_notes(input_pairs, result),
    )
    if folder is not None:
        write_qa_report(report, folder.path)
    return JudgedPairs(input_pairs, measures, result, report)


def write_qa_report(report: QAReport, folder: Path) -> None:
    """Write the report to qa.html, qa.md, pairs.csv and papers.csv in a folder."""
    write_atomically(folder / "qa.html", render_qa_html(report))
    write_atomically(folder / "qa.md", render_qa_markdown(report))
    write_atomically(folder / "pairs.csv", render_pairs_csv(report))
    write_atomically(folder / "papers.csv", render_papers_csv(report))


def _select_judge_ratings(result: RunResult, run: Run) -> tuple[RacarRating, ...]:
    """Return the ratings by a judge, without ratings by instruments, which repeat the measures."""
    ratings = (rating for one in result.evaluations for rating in one.select_verdicts(RacarRating))
    is_judged = run.models.pair_rater is None
    return tuple(rating for rating in ratings if is_judged or rating.escalation is not None)


def _describe_models(manifest: Manifest) -> tuple[str, ...]:
    cards = (manifest.card, load_card(PAIR_RATER) if manifest.judge == INSTRUMENTS else None)
    return tuple(f"{card.model}: {card.description}" for card in cards if card is not None)


def _collect_notes(input_pairs: InputPairs, result: RunResult) -> tuple[str, ...]:
    notes = [f"{bad.file}, line {bad.line}: {bad.problem}" for bad in input_pairs.rejections]
    notes += [
        f"{evaluation.record_id}: {finding.message}"
        for evaluation in result.evaluations
        for finding in evaluation.findings
        if finding.kind == CUT
    ]
    notes += [f"{one.record_id} was not judged: {one.failure.detail}" for one in result.failures]
    if input_pairs.unused:
        notes.append(f"Papers without pairs: {', '.join(input_pairs.unused)}")
    return tuple(notes)


def _measure_pairs(
    input_pairs: InputPairs,
    embedder: VectorCache,
    compared: Compared,
    folder: RunFolder | None,
    listen: Listener,
) -> tuple[PaperMeasures, ...]:
    """Measure the pairs of all papers, or load the measures that an earlier run stored."""
    file = folder.path / MEASURES if folder else None
    if file and file.exists():
        stored = read_lines(file, PaperMeasures)
        if [one.paper for one in stored] == [paper.id for paper in input_pairs.papers]:
            return tuple(stored)
    encode = RoleEncoder(embedder.name, embedder)
    listen(Event(n_expected=len(input_pairs.papers), phase="measuring"))
    work = [(paper, input_pairs.get_pairs(paper)) for paper in input_pairs.papers]
    measures: list[PaperMeasures] = []
    for group in measure_paper_groups(work, encode, compared):
        measures += group
        listen(Event(n_calls=len(group)))
    if file:
        write_lines(file, measures)
    return tuple(measures)
