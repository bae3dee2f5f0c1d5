"""Read papers and pairs, and judge them: measures without a judge, RACAR, intents, the report."""

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
from ragassay.models.embeddings import KeptVectors, RoleEncoder
from ragassay.models.fitted_raters import PAIR_RATER
from ragassay.models.weights import sha256_of
from ragassay.options import EvaluateKeywords, OptionStyle, settings_of
from ragassay.process import in_thread
from ragassay.qa.measures import Compared, measured_groups
from ragassay.qa.report import pairs_csv, papers_csv, render_qa_html, render_qa_markdown
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
from ragassay.records.qa import paper_record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import RunResult, run
from ragassay.runs.folder import RunFolder, read_lines, write_lines, write_whole
from ragassay.runs.job import Job, job_of
from ragassay.runs.progress import Event, Listener
from ragassay.settings import Settings


@dataclass(frozen=True)
class InputPairs:
    """Papers that have a pair, in the order of the input, and their pairs.

    Name and SHA-256 are of the file of pairs, empty for pairs in memory; unused are the ids of
    papers without a pair.
    """

    papers: tuple[Paper, ...]
    pairs: tuple[QAPair, ...]
    rejections: tuple[Rejection, ...] = ()
    unused: tuple[str, ...] = ()
    name: str = ""
    sha256: str = ""

    def of(self, paper: Paper) -> Sequence[QAPair]:
        """Return the pairs of a paper."""
        return self._pairs[paper.id]

    @functools.cached_property
    def _pairs(self) -> dict[str, list[QAPair]]:
        return _by_paper(self.pairs)

    def first(self, n_papers: int | None) -> InputPairs:
        """Return the first papers with their pairs; all without a number."""
        if n_papers is None:
            return self
        first = pair_with_papers(self.papers[:n_papers], self.pairs)
        return replace(self, papers=first.papers, pairs=first.pairs)


def pair_with_papers(papers: Iterable[Paper], pairs: Iterable[QAPair]) -> InputPairs:
    """Put pairs to their papers; papers without a pair, and pairs without a paper, are left out."""
    input_pairs, by_paper = list(papers), _by_paper(pairs)
    used = tuple(paper for paper in input_pairs if paper.id in by_paper)
    return InputPairs(
        papers=used,
        pairs=tuple(pair for paper in used for pair in by_paper[paper.id]),
        unused=tuple(paper.id for paper in input_pairs if paper.id not in by_paper),
    )


def _by_paper(pairs: Iterable[QAPair]) -> dict[str, list[QAPair]]:
    found: dict[str, list[QAPair]] = {}
    for pair in pairs:
        found.setdefault(pair.paper, []).append(pair)
    return found


def read_paper_pairs(
    pairs: str | Path | Sequence[QAPair], papers: str | Path | Sequence[Paper] | None = None
) -> InputPairs:
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
        both, name, sha256 = pair_with_papers(known, pairs), "", ""
    else:
        path = Path(pairs)
        found = read_pairs(path, known)
        both = pair_with_papers(found.papers, found.pairs)
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


def pairs_job(input_pairs: InputPairs) -> Job:
    """Return the job of judging pairs: one record a paper."""
    return records_job(
        [paper_record(paper, input_pairs.of(paper)) for paper in input_pairs.papers], input_pairs
    )


def records_job(records: Sequence[Record], input_pairs: InputPairs) -> Job:
    """Return a job of records that were made of papers and pairs."""
    job = job_of(records, Corpus(), input_pairs.rejections)
    name = input_pairs.name or job.answers.name
    told = {"name": name, "n_items": len(input_pairs.pairs), "format": "pairs"}
    fingerprint = job.answers.model_copy(update=told)
    return replace(job, answers=fingerprint)


PARTS = ("racar", "intents")

MOST_SENTENCES = 100_000
"""An answer of a run of pairs is the text of all pairs of a paper: it has no bound of its own."""

MEASURES = "measures.jsonl"
CUT = "sources_cut"


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs with all that was found of them: by measuring papers, and by a run of the judge."""

    input_pairs: InputPairs
    measures: tuple[PaperMeasures, ...]
    run: RunResult
    report: QAReport

    @property
    def is_partial(self) -> bool:
        """Return whether something could not be read, or a rating failed."""
        verdicts = (verdict for one in self.run.evaluations for verdict in one.verdicts)
        is_lost = any(v.failure is not None and not v.is_undecided for v in verdicts)
        return bool(is_lost or self.run.failures or self.run.rejections)


def pairs_settings(
    options: EvaluateKeywords, settings: Settings | None = None, style: OptionStyle = "keyword"
) -> Settings:
    """Return the settings of a run over pairs; it asks for nothing else.

    Raises:
        SettingsError: A setting is wrong, or several judges are named.
    """
    only = options.get("only") or PARTS
    chosen = settings_of({**options, "only": only}, settings, style)
    if chosen.judge.panel:
        raise SettingsError(f"one judge rates the pairs, not {', '.join(chosen.judge.judges)}")
    return chosen.model_copy(update={"max_sentences": MOST_SENTENCES})


async def judge_pairs(
    input_pairs: InputPairs,
    tools: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> JudgedPairs:
    """Measure and judge pairs; with a folder, resume an earlier start and write the report there.

    Raises:
        RunMismatchError: The folder has another run.
        FatalModelError: The judge is unavailable.
    """
    kept = KeptVectors(tools.models.embedder)
    if tools.models.pair_rater is not None and kept.name == MINILM:
        tools = tools.with_models(pair_rater=EmbeddedPairRater(kept))
    found = await run(pairs_job(input_pairs), tools, folder, listen, has_reports=False)
    compared = tools.settings.grading.qa_coverage
    measures = await in_thread(_measure_pairs, input_pairs, kept, compared, folder, listen)
    report = QAReport(
        name=input_pairs.name or "pairs",
        papers=input_pairs.papers,
        pairs=input_pairs.pairs,
        measures=measures,
        ratings=_select_judge_ratings(found, tools),
        intents=tuple(v for one in found.evaluations for v in one.of(IntentSimilarity)),
        judge=tools.settings.judge.escalated_to or tools.judge.answered_by
        if _has_judge(tools)
        else "",
        embedder=tools.models.embedder.name,
        cards=_cards(found.manifest),
        notes=_notes(input_pairs, found),
    )
    if folder is not None:
        write_qa_report(report, folder.path)
    return JudgedPairs(input_pairs, measures, found, report)


def write_qa_report(report: QAReport, folder: Path) -> None:
    """Write qa.html, qa.md, pairs.csv and papers.csv."""
    write_whole(folder / "qa.html", render_qa_html(report))
    write_whole(folder / "qa.md", render_qa_markdown(report))
    write_whole(folder / "pairs.csv", pairs_csv(report))
    write_whole(folder / "papers.csv", papers_csv(report))


def _has_judge(tools: Run) -> bool:
    return tools.models.pair_rater is None or bool(tools.settings.judge.escalate)


def _select_judge_ratings(found: RunResult, tools: Run) -> tuple[RacarRating, ...]:
    """Return the ratings that a judge gave: those of instruments repeat what was measured."""
    ratings = (rating for one in found.evaluations for rating in one.of(RacarRating))
    alone = tools.models.pair_rater is None
    return tuple(one for one in ratings if alone or one.escalation is not None)


def _cards(manifest: Manifest) -> tuple[str, ...]:
    """Return what is known of the judge, and of the instrument that rates pairs without one."""
    cards = (manifest.card, load_card(PAIR_RATER) if manifest.judge == INSTRUMENTS else None)
    return tuple(f"{card.model}: {card.description}" for card in cards if card is not None)


def _notes(input_pairs: InputPairs, found: RunResult) -> tuple[str, ...]:
    notes = [f"{one.file}, line {one.line}: {one.problem}" for one in input_pairs.rejections]
    notes += [
        f"{one.record_id}: {finding.message}"
        for one in found.evaluations
        for finding in one.findings
        if finding.kind == CUT
    ]
    notes += [f"{one.record_id} was not judged: {one.failure.detail}" for one in found.failures]
    if input_pairs.unused:
        notes.append(f"Papers without a pair: {', '.join(input_pairs.unused)}")
    return tuple(notes)


def _measure_pairs(
    input_pairs: InputPairs,
    embedder: KeptVectors,
    compared: Compared,
    folder: RunFolder | None,
    listen: Listener,
) -> tuple[PaperMeasures, ...]:
    """Measure, or read what an earlier start of the same run measured."""
    file = folder.path / MEASURES if folder else None
    if file and file.exists():
        kept = read_lines(file, PaperMeasures)
        if [one.paper for one in kept] == [paper.id for paper in input_pairs.papers]:
            return tuple(kept)
    encode = RoleEncoder(embedder.name, embedder)
    listen(Event(n_expected=len(input_pairs.papers), phase="measuring"))
    work = [(paper, input_pairs.of(paper)) for paper in input_pairs.papers]
    found: list[PaperMeasures] = []
    for group in measured_groups(work, encode, compared):
        found += group
        listen(Event(n_calls=len(group)))
    if file:
        write_lines(file, found)
    return tuple(found)
