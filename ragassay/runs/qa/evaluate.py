"""Judge question-answer pairs: measures without a judge, RACAR, intents, and the report.

The folder is a run folder of papers, and also contains:

    measures.jsonl         what was measured of each paper and its pairs, without a judge
    qa.html, qa.md         the report
    pairs.csv, papers.csv  its figures
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import SettingsError
from ragassay.evaluators.base import Run
from ragassay.instruments.embedded_pair_rater import EmbeddedPairRater
from ragassay.instruments.qa_measures import Compared, measure_papers
from ragassay.model_names import INSTRUMENTS, MINILM
from ragassay.models.cards import load_card
from ragassay.models.kept_vectors import KeptVectors
from ragassay.models.pair_relevance import NAME as PAIR_RATER
from ragassay.models.text_roles import RoleEncoder
from ragassay.options import EvaluateKeywords, Spelling, settings_of
from ragassay.records import IntentSimilarity, Manifest, PaperMeasures, RacarRating
from ragassay.reports.qa.html import render_qa_html
from ragassay.reports.qa.markdown import render_qa_markdown
from ragassay.reports.qa.tables import pairs_csv, papers_csv
from ragassay.reports.qa.view import QAReport
from ragassay.runs.evaluate import RunResult, run
from ragassay.runs.events import Event, Listener
from ragassay.runs.folder import RunFolder, read_lines, write_lines, write_whole
from ragassay.runs.qa.inputs import GivenPairs, pairs_job
from ragassay.settings import Settings
from ragassay.threads import in_thread

PARTS = ("racar", "intents")

MOST_SENTENCES = 100_000
"""An answer of a run of pairs is the text of all pairs of a paper: it has no bound of its own."""

MEASURES = "measures.jsonl"
CUT = "sources_cut"


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs with all that was found of them.

    Attributes:
        given: The papers with their pairs.
        measures: One a paper.
        run: The run of the judge behind the ratings.
        report: What the page shows.
    """

    given: GivenPairs
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
    options: EvaluateKeywords, settings: Settings | None = None, spelled: Spelling = "keyword"
) -> Settings:
    """Return the settings of a run over pairs; it asks for nothing else.

    Raises:
        SettingsError: A setting is wrong, or several judges are named.
    """
    only = options.get("only") or PARTS
    chosen = settings_of({**options, "only": only}, settings, spelled)
    if chosen.judge.panel:
        raise SettingsError(f"one judge rates the pairs, not {', '.join(chosen.judge.judges)}")
    return chosen.model_copy(update={"max_sentences": MOST_SENTENCES})


async def judge_pairs(
    given: GivenPairs,
    tools: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> JudgedPairs:
    """Measure and judge pairs; with a folder, resume an earlier start and write the report there.

    Args:
        given: Papers with their pairs.
        tools: What judges; see `pairs_settings`.
        folder: The run's folder.
        listen: Receives progress events.

    Raises:
        RunMismatchError: The folder has another run.
        FatalModelError: The judge is unavailable.
    """
    kept = KeptVectors(tools.models.embedder)
    if tools.models.pair_rater is not None and kept.name == MINILM:
        tools = tools.with_models(pair_rater=EmbeddedPairRater(kept))
    found = await run(pairs_job(given), tools, folder, listen, has_reports=False)
    compared = tools.settings.grading.qa_coverage
    measures = await in_thread(_measured, given, kept, compared, folder, listen)
    report = QAReport(
        name=given.name or "pairs",
        papers=given.papers,
        pairs=given.pairs,
        measures=measures,
        ratings=_told(found, tools),
        intents=tuple(v for one in found.evaluations for v in one.of(IntentSimilarity)),
        judge=tools.settings.judge.escalated_to or tools.judge.answered_by
        if _has_judge(tools)
        else "",
        embedder=tools.models.embedder.name,
        cards=_cards(found.manifest),
        notes=_notes(given, found),
    )
    if folder is not None:
        write_qa_report(report, folder.path)
    return JudgedPairs(given, measures, found, report)


def write_qa_report(report: QAReport, folder: Path) -> None:
    """Write qa.html, qa.md, pairs.csv and papers.csv."""
    write_whole(folder / "qa.html", render_qa_html(report))
    write_whole(folder / "qa.md", render_qa_markdown(report))
    write_whole(folder / "pairs.csv", pairs_csv(report))
    write_whole(folder / "papers.csv", papers_csv(report))


def _has_judge(tools: Run) -> bool:
    return tools.models.pair_rater is None or bool(tools.settings.judge.escalate)


def _told(found: RunResult, tools: Run) -> tuple[RacarRating, ...]:
    """Return the ratings that a judge gave: those of instruments repeat what was measured."""
    ratings = (rating for one in found.evaluations for rating in one.of(RacarRating))
    alone = tools.models.pair_rater is None
    return tuple(one for one in ratings if alone or one.escalation is not None)


def _cards(manifest: Manifest) -> tuple[str, ...]:
    """Return what is known of the judge, and of the instrument that rates pairs without one."""
    cards = (manifest.card, load_card(PAIR_RATER) if manifest.judge == INSTRUMENTS else None)
    return tuple(f"{card.model}: {card.description}" for card in cards if card is not None)


def _notes(given: GivenPairs, found: RunResult) -> tuple[str, ...]:
    notes = [f"{one.file}, line {one.line}: {one.problem}" for one in given.rejections]
    notes += [
        f"{one.record_id}: {finding.message}"
        for one in found.evaluations
        for finding in one.findings
        if finding.kind == CUT
    ]
    notes += [f"{one.record_id} was not judged: {one.failure.detail}" for one in found.failures]
    if given.unused:
        notes.append(f"Papers without a pair: {', '.join(given.unused)}")
    return tuple(notes)


def _measured(
    given: GivenPairs,
    embedder: KeptVectors,
    compared: Compared,
    folder: RunFolder | None,
    listen: Listener,
) -> tuple[PaperMeasures, ...]:
    """Measure, or read what an earlier start of the same run measured."""
    file = folder.path / MEASURES if folder else None
    if file and file.exists():
        kept = read_lines(file, PaperMeasures)
        if [one.paper for one in kept] == [paper.id for paper in given.papers]:
            return tuple(kept)
    encode = RoleEncoder(embedder.name, embedder)
    n_done = 0

    def progress(n_papers: int) -> None:
        nonlocal n_done
        listen(Event(n_calls=n_papers - n_done))
        n_done = n_papers

    listen(Event(n_expected=len(given.papers), phase="measuring"))
    work = [(paper, given.of(paper)) for paper in given.papers]
    found = measure_papers(work, encode, progress, compared)
    if file:
        write_lines(file, found)
    return tuple(found)
