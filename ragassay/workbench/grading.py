"""Grade passages with test banks or directly, and write the graded file (Dietz 2024, 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.formats.row_mapping import parse_column_map
from ragassay.formats.workbench.paragraphs import (
    QueryParagraphs,
    build_response_id,
    write_graded_paragraphs,
)
from ragassay.metrics.papers.retrieval import COVERED_FROM
from ragassay.options import EvaluateKeywords, OptionStyle, create_settings
from ragassay.records import (
    DirectGrader,
    Evaluation,
    ExamGrade,
    ExamGrader,
    ItemKind,
    RelevanceGrade,
)
from ragassay.runs.banks import GradedFile
from ragassay.runs.evaluate import RunResult, run_job
from ragassay.runs.folder import RunFolder
from ragassay.runs.job import Job, build_job, open_corpus
from ragassay.runs.progress import Listener
from ragassay.settings import Settings
from ragassay.text.search import PASSAGE_WORDS
from ragassay.workbench.evaluation import compute_cover_tables
from ragassay.workbench.evaluation_tables import CoverTable
from ragassay.workbench.grades import GradeFilter, add_grades, select_grades
from ragassay.workbench.passages import Passages, read_passages

PART = "grades"

GRADED_FILE = "graded.jsonl.gz"


@dataclass(frozen=True)
class Graded:
    """Graded passages.

    Attributes:
        queries: The passages with their new grades. A passage for which grading failed has no new
            grade.
        n_undecided: Number of grades that the grader left undecided.
    """

    queries: tuple[QueryParagraphs, ...]
    grader: str
    run: RunResult
    n_grades: int
    n_unscored: int
    n_undecided: int

    @property
    def is_partial(self) -> bool:
        """Return whether a grade failed or an input record was rejected."""
        return bool(self.n_unscored or self.run.failures or self.run.rejections)


def compute_covers(graded: Graded) -> dict[ItemKind, CoverTable]:
    """Return the share of questions and nuggets that each system covers with a rating of 4 or 5."""
    passages = [passage for query in graded.queries for passage in query.paragraphs]
    tables: dict[ItemKind, CoverTable] = {}
    for kind in get_args(ItemKind):
        chosen = GradeFilter(graded.grader, items=kind, self_rated=True)
        is_rated = any(select_grades(passage, chosen) for passage in passages)
        if is_rated and any(passage.paragraph_data.rankings for passage in passages):
            file = GradedFile(graded.queries)
            (tables[kind],) = compute_cover_tables(file, chosen, min_ratings=(COVERED_FROM,))
    return tables


def build_grading_settings(
    options: EvaluateKeywords, settings: Settings | None = None, style: OptionStyle = "keyword"
) -> Settings:
    """Return settings for a run that only grades passages.

    Raises:
        InputError: Neither a test bank nor a direct grader is set.
        SettingsError: A setting is invalid.
    """
    chosen = create_settings({**options, "only": (PART,)}, settings, style)
    testbank = options.get("testbank")
    if testbank is None and any(way in get_args(ExamGrader) for way in chosen.grading.grades):
        raise InputError(
            "grading requires a test bank (--testbank FILE) or a direct grader "
            f"(--grade {' | '.join(get_args(DirectGrader))})"
        )
    if testbank is not None and not isinstance(testbank, str | Path):
        raise InputError("the test bank must be the path of a file")
    return chosen


def prepare_passages(
    responses: Sequence[Path],
    options: EvaluateKeywords,
    *,
    most_words: int = PASSAGE_WORDS,
    depth: int = 0,
    settings: Settings | None = None,
    style: OptionStyle = "keyword",
) -> Passages:
    """Read passages to grade from the files that the options name.

    Args:
        responses: See `read_passages`.
        settings: Settings to use, by default built from the options.
        style: How error messages name options.

    Raises:
        InputError: A file is missing, or its content is invalid.
        SettingsError: A setting is invalid.
    """
    chosen = settings or create_settings(options, style=style)
    testbank, questions = options.get("testbank"), options.get("questions")
    corpus = options.get("corpus")
    opened = None if corpus is None else open_corpus(corpus, chosen)
    passages = read_passages(
        responses,
        testbank=Path(testbank) if isinstance(testbank, str | Path) else None,
        corpus=opened.literature if opened else None,
        questions=Path(questions) if questions else None,
        columns=parse_column_map(options.get("column_map")),
        most_words=most_words,
        depth=depth,
    )
    if opened is not None:
        rejections = (*passages.rejections, *opened.rejections)
        passages = replace(passages, rejections=rejections, note=opened.note)
    return passages


async def grade_passages(
    passages: Passages,
    run: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
    *,
    like_original: bool = False,
) -> Graded:
    """Grade passages with a test bank or directly, and write the graded file.

    Args:
        passages: Passages, and the test bank items to grade them with.
        run: Run with settings from `build_grading_settings`.
        folder: Run folder, in which an interrupted run resumes and `graded.jsonl.gz` is written.
        like_original: Whether to rate failed grades 1 and mark them as correct, as the original
            workbench does.

    Raises:
        RunMismatchError: The folder belongs to a different run.
        FatalModelError: The judge is unavailable.
    """
    result = await run_job(build_grading_job(passages, run), run, folder, listen, has_reports=False)
    by_id = {evaluation.record_id: evaluation for evaluation in result.evaluations}
    grader = run.add_second_judge_name(run.grading.name)
    queries = tuple(
        _add_query_grades(query, passages, by_id, grader, like_original)
        for query in passages.queries
    )
    if folder is not None:
        write_graded_paragraphs(queries, folder.path / GRADED_FILE)
    verdicts = [verdict for evaluation in result.evaluations for verdict in evaluation.verdicts]
    n_undecided = sum(verdict.is_undecided for verdict in verdicts)
    n_failed = sum(verdict.failure is not None for verdict in verdicts)
    return Graded(
        queries=queries,
        grader=grader,
        run=result,
        n_grades=len(verdicts) - n_failed,
        n_unscored=n_failed - n_undecided,
        n_undecided=n_undecided,
    )


def _add_query_grades(
    query: QueryParagraphs,
    passages: Passages,
    evaluations: dict[str, Evaluation],
    model: str,
    like_original: bool,
) -> QueryParagraphs:
    items = passages.items.get(query.query_id, ())
    paragraphs = []
    for paragraph in query.paragraphs:
        evaluation = evaluations.get(build_response_id(query.query_id, paragraph.paragraph_id))
        if evaluation is not None:
            paragraph = add_grades(
                paragraph,
                items,
                evaluation.select_verdicts(ExamGrade),
                evaluation.select_verdicts(RelevanceGrade),
                model,
                like_original=like_original,
            )
        paragraphs.append(paragraph)
    return QueryParagraphs(query.query_id, tuple(paragraphs))


def build_grading_job(passages: Passages, run: Run) -> Job:
    """Return the job that grades the passages.

    The fingerprint of the job depends only on the passages. If the test bank changes, a run in the
    same folder grades only the items that changed.
    """
    records = passages.records
    bare = [record.model_copy(update={"exam": ()}) for record in records]
    corpus = run.retrieval.corpus
    fingerprint = build_job(bare, corpus).answers
    return replace(build_job(records, corpus, passages.rejections), answers=fingerprint)
