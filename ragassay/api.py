"""Python API: `evaluate`, `audit`, `grade`, `evaluate_pairs` and `plan`, with async versions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ragassay.errors import InputError
from ragassay.options import (
    AnswerLike,
    Answers,
    AuditKeywords,
    CorpusLike,
    EvaluateKeywords,
    RunKeywords,
    SourceLike,
    check_options,
    create_settings,
    document_options,
)
from ragassay.process import run_in_thread, run_sync
from ragassay.records import Audit, Paper, QAPair
from ragassay.requests import (
    EvaluationRequest,
    prepare_run_folder,
    request_audit,
    request_grading,
    request_pairs,
)
from ragassay.results import BelowError, Result, Results, UnjudgedError, UnmeasuredError
from ragassay.runs.job import build_record
from ragassay.runs.preflight import check_ready
from ragassay.runs.progress import Listener, Presenter
from ragassay.settings import Settings
from ragassay.text.search import PASSAGE_WORDS

if TYPE_CHECKING:
    from ragassay.qa.evaluate import JudgedPairs
    from ragassay.runs.evaluate import Plan
    from ragassay.workbench.grading import Graded

__all__ = [
    "Answers",
    "CorpusLike",
    "Progress",
    "SourceLike",
    "aaudit",
    "aevaluate",
    "aevaluate_pairs",
    "agrade",
    "audit",
    "evaluate",
    "evaluate_pairs",
    "grade",
    "plan",
]


Progress = bool | Listener
"""True to show a progress bar on stderr, or a function that receives each `ragassay.Event`."""


@overload
def evaluate(
    answers: None = None,
    *,
    question: str,
    answer: AnswerLike,
    sources: Iterable[SourceLike] = (),
    reference: str | None = None,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Result: ...
@overload
def evaluate(
    answers: Answers,
    *,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Results: ...
@document_options(RunKeywords)
def evaluate(
    answers: Answers | None = None,
    *,
    question: str | None = None,
    answer: AnswerLike | None = None,
    sources: Iterable[SourceLike] = (),
    reference: str | None = None,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Results:
    """Evaluate one or more answers.

    For a single answer, pass `question` and `answer`. For several answers, pass `answers`.

    Args:
        answers: Path of a file in any supported format; a list of dictionaries, records, ragas
            samples or DeepEval test cases (or a single record, sample or test case); or a table: a
            pandas or polars data frame, Arrow table, Hugging Face dataset or dictionary of columns.
        question: Question for a single answer.
        answer: Single answer with citation markers such as `[1]` or `[PMID 123]`, or a LlamaIndex
            response. The nodes of a LlamaIndex response become the sources unless you pass
            `sources`.
        sources: Sources of the answer, numbered `[1]`, `[2]` and so on. A source can be a string, a
            dictionary, a ragassay or LangChain document, or a LlamaIndex node.
        reference: Reference answer.
        settings: Base settings, overridden by `options`. By default, settings are read from the
            environment.
        progress: True shows a progress bar on stderr. A function is called with each
            `ragassay.Event` in the thread of the run, so it should return quickly. Each event
            contains the changes since the previous event, not totals.
        options: See below. Options that can be repeated on the command line take a list.

    Returns:
        A `Result` for a single answer, otherwise `Results`. The attribute `failed` of the result
        lists all failures.

    Raises:
        InputError: The arguments or data are invalid.
        SettingsError: A setting is invalid.
        FatalModelError: The judge is unavailable.
        UnjudgedError: A single answer could not be evaluated, or `raise_on_failure` is set and
            there is a failure.
        BelowError, UnmeasuredError: See the option `fail_under`.
    """
    one: Any = {"question": question, "answer": answer, "sources": sources, "reference": reference}
    arguments: Any = {"answers": answers, "settings": settings, "progress": progress}
    return run_sync(aevaluate(**arguments, **one, **options))


@overload
async def aevaluate(
    answers: None = None,
    *,
    question: str,
    answer: AnswerLike,
    sources: Iterable[SourceLike] = (),
    reference: str | None = None,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Result: ...
@overload
async def aevaluate(
    answers: Answers,
    *,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Results: ...
@document_options(RunKeywords)
async def aevaluate(
    answers: Answers | None = None,
    *,
    question: str | None = None,
    answer: AnswerLike | None = None,
    sources: Iterable[SourceLike] = (),
    reference: str | None = None,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Results:
    """Async version of `evaluate`, with the same arguments, results and errors."""
    await check(options, RunKeywords, settings)
    is_one = answers is None
    if answers is None:
        if question is None or answer is None:
            raise InputError("nothing to evaluate; pass `answers`, or `question` and `answer`")
        nuggets = options.pop("nuggets", None)
        if isinstance(nuggets, str | Path):
            raise InputError(
                "`nuggets` must be a list for a single answer; pass `answers` to use a nugget file"
            )
        answers = [build_record(answer, question, sources, nuggets, reference)]
    elif question is not None or answer is not None:
        raise InputError("pass `answers`, or `question` and `answer`, not both")
    presenter = Presenter(progress)
    request = EvaluationRequest.from_answers(answers, options, settings, presenter)
    results = await request.execute(
        prepare_run_folder(options), presenter, Result if is_one else Results
    )
    return raise_failures(results, options)


def raise_failures(results: Results, options: RunKeywords) -> Results:
    """Return the results, or raise an error for a failure or a missed threshold.

    A failure only raises an error if `raise_on_failure` is set or a single answer was not
    evaluated.
    """
    has_failed = options.get("raise_on_failure") and (results.failed or results.rejections)
    if has_failed or (isinstance(results, Result) and results.failures):
        raise UnjudgedError(results)
    missed = "; ".join(line for _, line in results.verdicts if line)
    if missed:
        is_below = any(kind == "below" for kind, _ in results.verdicts)
        raise (BelowError if is_below else UnmeasuredError)(missed, results)
    return results


@document_options(EvaluateKeywords)
def plan(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[EvaluateKeywords]
) -> Plan:
    """Count the calls and tokens of an evaluation without calling a model.

    Args:
        answers: Answers in any form that `evaluate` accepts.
        settings: Same as for `evaluate`.
        options: See below. Options that can be repeated on the command line take a list.

    Returns:
        Number of answers, maximum number of calls, approximate number of tokens, and maximum cost
        of a second judge.

    Raises:
        InputError, SettingsError: Same as for `evaluate`.
    """
    check_options(options, EvaluateKeywords)
    run_options: RunKeywords = {**options}
    return EvaluationRequest.from_answers(answers, run_options, settings, Presenter()).plan()


@document_options(AuditKeywords)
def audit(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[AuditKeywords]
) -> Audit:
    """Measure whether a judge can distinguish perturbed answers from the original answers.

    Args:
        answers: Answers in any form that `evaluate` accepts. Answers whose metadata contain a
            `variant` other than "benign" are already perturbed, so they are skipped.
        settings: Same as for `evaluate`.
        options: See below. Options that can be repeated on the command line take a list.

    Returns:
        Results by attack and score, mean ratings by variant, and the certificate of the judge.

    Raises:
        InputError: The data are invalid, an attack is unknown, or no answer can be perturbed.
        SettingsError, FatalModelError: Same as for `evaluate`.
    """
    return run_sync(aaudit(answers, settings=settings, **options))


@document_options(AuditKeywords)
async def aaudit(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[AuditKeywords]
) -> Audit:
    """Async version of `audit`, with the same arguments, result and errors."""
    await check(options, AuditKeywords, settings)
    presenter = Presenter()
    request = request_audit(answers, options, settings, presenter)
    n = len(presenter.rejections)
    for one in presenter.rejections[:1]:  # `Audit` has no field for rejected lines.
        rejected = "1 line was" if n == 1 else f"{n:,} lines were"
        where = f"{one.file}:{one.line}: {one.problem}"
        warnings.warn(f"{rejected} rejected; the first is {where}", stacklevel=2)
    return (await request.execute(prepare_run_folder(options), presenter)).audit


@document_options(EvaluateKeywords)
def grade(
    responses: str | Path | Sequence[str | Path],
    *,
    words: int = PASSAGE_WORDS,
    depth: int = 20,
    like_original: bool = False,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Graded:
    """Grade passages with a test bank, or by their relevance to the query (Dietz 2024).

    Args:
        responses: Paths of files with grades from the Rubric workbench, rankings in trec_eval
            format (with a `corpus`), or answers in any supported format.
        words: Maximum number of words in a passage. Longer texts are split at sentence boundaries.
        depth: Number of documents to grade per ranking, or 0 for all documents.
        like_original: Whether to rate a failed grade 1 and mark it as correct, as the original
            program does.
        settings: Same as for `evaluate`.
        options: See below. `testbank` and `grades` select the grading methods.

    Returns:
        Graded passages, and information about the run. If `out` is set, the results are also
        written to that folder.

    Raises:
        InputError, SettingsError, FatalModelError: Same as for `evaluate`.
    """
    return run_sync(
        agrade(
            responses,
            words=words,
            depth=depth,
            like_original=like_original,
            settings=settings,
            **options,
        )
    )


@document_options(EvaluateKeywords)
async def agrade(
    responses: str | Path | Sequence[str | Path],
    *,
    words: int = PASSAGE_WORDS,
    depth: int = 20,
    like_original: bool = False,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Graded:
    """Async version of `grade`, with the same arguments, result and errors."""
    await check(options, EvaluateKeywords, settings)
    paths = [responses] if isinstance(responses, str | Path) else responses
    presenter = Presenter()
    request = request_grading(
        [Path(path) for path in paths],
        options,
        settings,
        presenter,
        words=words,
        depth=depth,
        like_original=like_original,
    )
    return await request.execute(prepare_run_folder(options), presenter)


@document_options(EvaluateKeywords)
def evaluate_pairs(
    pairs: str | Path | Sequence[QAPair],
    papers: str | Path | Sequence[Paper] | None = None,
    *,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> JudgedPairs:
    """Measure and rate question-answer pairs based on their papers.

    Args:
        pairs: Path of a pairs file, or question-answer pairs.
        papers: Path of a file or folder with papers, or paper objects. Papers are not needed if the
            file of pairs contains them (SciQAG JSON).
        settings: Same as for `evaluate`.
        options: See below. If no `model` is set, measures that need a judge are omitted.

    Returns:
        Question-answer pairs with measures and ratings. If `out` is set, a report is written to
        that folder.

    Raises:
        InputError, SettingsError, FatalModelError: Same as for `evaluate`.
    """
    return run_sync(aevaluate_pairs(pairs, papers, settings=settings, **options))


@document_options(EvaluateKeywords)
async def aevaluate_pairs(
    pairs: str | Path | Sequence[QAPair],
    papers: str | Path | Sequence[Paper] | None = None,
    *,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> JudgedPairs:
    """Async version of `evaluate_pairs`, with the same arguments, result and errors."""
    await check(options, EvaluateKeywords, settings)
    presenter = Presenter()
    request = request_pairs(pairs, papers, options, settings, presenter)
    return await request.execute(prepare_run_folder(options), presenter)


async def check(
    options: Mapping[str, Any], keywords: type, settings: Settings | None, **more: Any
) -> None:
    """Raise an error if an option is invalid or the run cannot succeed.

    Further arguments are passed to `check_ready`.
    """
    check_options(options, keywords)
    await run_in_thread(partial(check_ready, **more), create_settings(options, settings), options)
