"""Grade passages by test banks or by their queries; write the graded file (Dietz 2024, 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.formats.row_mapping import column_map
from ragassay.formats.workbench.paragraphs import (
    QueryParagraphs,
    response_id,
    write_graded_paragraphs,
)
from ragassay.metrics.papers.retrieval import COVERED_FROM
from ragassay.options import EvaluateKeywords, OptionStyle, settings_of
from ragassay.records import (
    DirectGrader,
    Evaluation,
    ExamGrade,
    ExamGrader,
    ItemKind,
    RelevanceGrade,
)
from ragassay.runs.banks import GradedFile
from ragassay.runs.evaluate import RunResult, run
from ragassay.runs.folder import RunFolder
from ragassay.runs.job import Job, job_of, opened_corpus
from ragassay.runs.progress import Listener
from ragassay.settings import Settings
from ragassay.text.search import PASSAGE_WORDS
from ragassay.workbench.evaluation import cover_tables
from ragassay.workbench.evaluation_tables import CoverTable
from ragassay.workbench.grades import GradeFilter, add_grades, grades_of
from ragassay.workbench.passages import Passages, read_passages

PART = "grades"

GRADED_FILE = "graded.jsonl.gz"


@dataclass(frozen=True)
class Graded:
    """Passages with their grades.

    Attributes:
        queries: As they were read, grades added; a passage that failed has no new ones.
        n_undecided: Grades that the grader left open.
    """

    queries: tuple[QueryParagraphs, ...]
    grader: str
    run: RunResult
    n_grades: int
    n_unscored: int
    n_undecided: int

    @property
    def is_partial(self) -> bool:
        """Return whether something failed or could not be read."""
        return bool(self.n_unscored or self.run.failures or self.run.rejections)


def covers(graded: Graded) -> dict[ItemKind, CoverTable]:
    """Return what each system covers of the questions and of the nuggets, rated 4 or 5."""
    passages = [one for query in graded.queries for one in query.paragraphs]
    file, found = GradedFile(graded.queries), dict[ItemKind, CoverTable]()
    for kind in get_args(ItemKind):
        chosen = GradeFilter(graded.grader, items=kind, self_rated=True)
        is_rated = any(grades_of(one, chosen) for one in passages)
        if is_rated and any(one.paragraph_data.rankings for one in passages):
            (found[kind],) = cover_tables(file, chosen, min_ratings=(COVERED_FROM,))
    return found


def grading_settings(
    options: EvaluateKeywords, settings: Settings | None = None, style: OptionStyle = "keyword"
) -> Settings:
    """Return the settings of a run that grades and does nothing else.

    Raises:
        InputError: There is nothing to grade by.
        SettingsError: A setting is wrong.
    """
    chosen = settings_of({**options, "only": (PART,)}, settings, style)
    testbank = options.get("testbank")
    if testbank is None and any(way in get_args(ExamGrader) for way in chosen.grading.grades):
        raise InputError(
            "name what the passages are graded by: a test bank (--testbank FILE), or a direct "
            f"grader (--grade {' | '.join(get_args(DirectGrader))})"
        )
    if testbank is not None and not isinstance(testbank, str | Path):
        raise InputError("several passages take a file of test banks")
    return chosen


def prepared_passages(
    responses: Sequence[Path],
    options: EvaluateKeywords,
    *,
    most_words: int = PASSAGE_WORDS,
    depth: int = 0,
    settings: Settings | None = None,
    style: OptionStyle = "keyword",
) -> Passages:
    """Return passages from a user's input.

    Args:
        responses: As for `read_passages`.
        most_words: As for `read_passages`.
        depth: As for `read_passages`.
        settings: The settings; by default those of the options.
        style: Returns an option's name for an error.

    Raises:
        InputError: The data cannot be used.
        SettingsError: A setting is wrong.
    """
    chosen = settings or settings_of(options, style=style)
    testbank, questions = options.get("testbank"), options.get("questions")
    corpus = options.get("corpus")
    opened = None if corpus is None else opened_corpus(corpus, chosen)
    passages = read_passages(
        responses,
        testbank=Path(testbank) if isinstance(testbank, str | Path) else None,
        corpus=opened.literature if opened else None,
        questions=Path(questions) if questions else None,
        columns=column_map(options.get("column_map")),
        most_words=most_words,
        depth=depth,
    )
    if opened is not None:
        rejections = (*passages.rejections, *opened.rejections)
        passages = replace(passages, rejections=rejections, note=opened.note)
    return passages


async def grade_passages(
    passages: Passages,
    tools: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
    *,
    like_original: bool = False,
) -> Graded:
    """Grade passages; with a folder, resume an earlier start and write `graded.jsonl.gz` there.

    Args:
        passages: What is graded, and by what.
        tools: What grades; its settings ask for grades only.
        listen: Receives progress events.
        like_original: Whether grades that could not be had become 1 and correct, as the
            original makes them.

    Raises:
        RunMismatchError: The folder has another run.
        FatalModelError: The judge is unavailable.
    """
    found = await run(grading_job(passages, tools), tools, folder, listen, has_reports=False)
    by_id = {evaluation.record_id: evaluation for evaluation in found.evaluations}
    grader = tools.or_second(tools.grading.name)
    queries = tuple(
        _with_grades(query, passages, by_id, grader, like_original) for query in passages.queries
    )
    if folder is not None:
        write_graded_paragraphs(queries, folder.path / GRADED_FILE)
    verdicts = [verdict for one in found.evaluations for verdict in one.verdicts]
    n_undecided = sum(verdict.is_undecided for verdict in verdicts)
    n_lost = sum(verdict.failure is not None for verdict in verdicts)
    return Graded(
        queries=queries,
        grader=grader,
        run=found,
        n_grades=len(verdicts) - n_lost,
        n_unscored=n_lost - n_undecided,
        n_undecided=n_undecided,
    )


def _with_grades(
    query: QueryParagraphs,
    passages: Passages,
    evaluations: dict[str, Evaluation],
    model: str,
    like_original: bool,
) -> QueryParagraphs:
    items = passages.items.get(query.query_id, ())
    found = []
    for one in query.paragraphs:
        evaluation = evaluations.get(response_id(query.query_id, one.paragraph_id))
        if evaluation is not None:
            one = add_grades(
                one,
                items,
                evaluation.of(ExamGrade),
                evaluation.of(RelevanceGrade),
                model,
                like_original=like_original,
            )
        found.append(one)
    return QueryParagraphs(query.query_id, tuple(found))


def grading_job(passages: Passages, tools: Run) -> Job:
    """Return the job of grading passages.

    Its fingerprint is that of the passages alone: where the test bank was changed, the same folder
    goes on, and only what the change touches is asked again.
    """
    records = passages.records
    bare = [record.model_copy(update={"exam": ()}) for record in records]
    corpus = tools.retrieval.corpus
    fingerprint = job_of(bare, corpus).answers
    return replace(job_of(records, corpus, passages.rejections), answers=fingerprint)
