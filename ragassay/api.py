"""`evaluate`, `audit`, `grade`, `evaluate_pairs`, `plan`, and their async versions."""

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
    settings_of,
    shows,
)
from ragassay.process import in_thread, run_sync
from ragassay.records import Audit, Paper, QAPair
from ragassay.requests import (
    EvaluationRequest,
    folder_of,
    request_audit,
    request_grading,
    request_pairs,
)
from ragassay.results import BelowError, Result, Results, UnjudgedError, UnmeasuredError
from ragassay.runs.job import record_of
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
"""Whether to show a bar on stderr, or a function that receives each `ragassay.Event`."""


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
@shows(RunKeywords)
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
    """Evaluate one answer or many.

    One answer: give `question` and `answer`. Many: give `answers`.

    Args:
        answers: A path to a file in any known format; a list of dictionaries, records, samples of
            ragas or test cases of DeepEval, or one of the last three; a table: a frame of pandas or
            polars, an Arrow table, a dataset of Hugging Face, a dictionary of columns.
        question: The question of one answer.
        answer: One answer, with citation markers such as `[1]` or `[PMID 123]`; or a response of
            LlamaIndex, whose nodes are its sources if no others are given.
        sources: The documents it was written from, numbered `[1]`, `[2]` in order: texts,
            dictionaries, documents of ragassay or of LangChain, nodes of LlamaIndex.
        reference: A reference answer.
        settings: The settings that the options change; by default those of the environment.
        progress: True shows a bar on stderr. A function receives each `ragassay.Event`, in the
            thread of the run, so it returns quickly; sum them up for totals.
        options: See below; give a list for an option that can be repeated on the command line.

    Returns:
        A `Result` for one answer, else `Results`. What failed is in its `failed`.

    Raises:
        InputError: The arguments or the data cannot be used.
        SettingsError: A setting is wrong.
        FatalModelError: The judge is unavailable.
        UnjudgedError: One answer could not be evaluated at all; or see `raise_on_failure`.
        BelowError, UnmeasuredError: See `fail_under`.
    """
    arguments: Any = {
        "answers": answers,
        "question": question,
        "answer": answer,
        "sources": sources,
    }
    more: Any = {"reference": reference, "settings": settings, "progress": progress}
    return run_sync(aevaluate(**arguments, **more, **options))


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
@shows(RunKeywords)
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
    """Run `evaluate` inside a running event loop; same arguments, results and errors."""
    await check(options, RunKeywords, settings)
    is_one = answers is None
    if answers is None:
        if question is None or answer is None:
            raise InputError("give `answers`, or `question` and `answer`")
        nuggets = options.pop("nuggets", None)
        if isinstance(nuggets, str | Path):
            raise InputError("one answer takes a list of nuggets, many answers take a file of them")
        answers = [record_of(answer, question, sources, nuggets, reference)]
    elif question is not None or answer is not None:
        raise InputError("give `answers`, or `question` and `answer`, not both")
    presenter = Presenter(progress)
    request = EvaluationRequest.of(answers, options, settings, presenter)
    found = await request.run(folder_of(options), presenter, Result if is_one else Results)
    return raise_where_asked(found, options)


def raise_where_asked(results: Results, options: RunKeywords) -> Results:
    """Return results, unless something failed or missed a threshold that is to raise an error."""
    is_lacking = options.get("raise_on_failure") and (results.failed or results.rejections)
    if is_lacking or (isinstance(results, Result) and results.failures):
        raise UnjudgedError(results)
    missed = "; ".join(line for _, line in results.verdicts if line)
    if missed:
        is_below = any(kind == "below" for kind, _ in results.verdicts)
        raise (BelowError if is_below else UnmeasuredError)(missed, results)
    return results


@shows(EvaluateKeywords)
def plan(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[EvaluateKeywords]
) -> Plan:
    """Count the calls and tokens that an evaluation would take, without asking a model.

    Args:
        answers: As for `evaluate`.
        settings: As for `evaluate`.
        options: See below; give a list for an option that can be repeated on the command line.

    Returns:
        Answers, most calls, approximate tokens, and the most that a second judge would cost.

    Raises:
        InputError: The data cannot be used.
        SettingsError: A setting is wrong.
    """
    check_options(options, EvaluateKeywords)
    asked: RunKeywords = {**options}
    return EvaluationRequest.of(answers, asked, settings, Presenter()).plan()


@shows(AuditKeywords)
def audit(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[AuditKeywords]
) -> Audit:
    """Measure what a judge detects: perturb answers, and judge them and the unperturbed ones.

    Args:
        answers: As for `evaluate`; those whose metadata name a `variant` other than "benign" are
            already perturbed, and are left out.
        settings: As for `evaluate`.
        options: See below; give a list for an option that can be repeated on the command line.

    Returns:
        Figures by attack and score, mean ratings by damage, and the certificate.

    Raises:
        InputError: The data cannot be used, an attack is unknown, or nothing can be perturbed.
        SettingsError: A setting is wrong.
        FatalModelError: The judge is unavailable.
    """
    return run_sync(aaudit(answers, settings=settings, **options))


@shows(AuditKeywords)
async def aaudit(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[AuditKeywords]
) -> Audit:
    """Run `audit` inside a running event loop; same arguments, result and errors."""
    await check(options, AuditKeywords, settings)
    presenter = Presenter()
    request = request_audit(answers, options, settings, presenter)
    for one in presenter.rejections[:1]:  # Unlike results, an audit has no field for them.
        n, where = len(presenter.rejections), f"{one.file}:{one.line}: {one.problem}"
        warnings.warn(f"{n} lines were rejected, first {where}", stacklevel=2)
    return (await request.run(folder_of(options), presenter)).audit


@shows(EvaluateKeywords)
def grade(
    responses: str | Path | Sequence[str | Path],
    *,
    words: int = PASSAGE_WORDS,
    depth: int = 20,
    like_original: bool = False,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Graded:
    """Grade passages by the items of a test bank, or by their query alone (Dietz 2024).

    Args:
        responses: Files of passages: graded files of the Rubric workbench, rankings of trec_eval
            with a `corpus`, or answers in any known format.
        words: Longer texts are cut at ends of sentences.
        depth: Documents of a ranking that are graded; 0 for all.
        like_original: Whether a grade that could not be had becomes 1 and correct.
        settings: As for `evaluate`.
        options: See below; `testbank` and `grades` say what the passages are graded by.

    Returns:
        The passages with their grades, and the run; with `out`, they are written there.

    Raises:
        InputError: The data cannot be used.
        SettingsError: A setting is wrong.
        FatalModelError: The judge is unavailable.
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


@shows(EvaluateKeywords)
async def agrade(
    responses: str | Path | Sequence[str | Path],
    *,
    words: int = PASSAGE_WORDS,
    depth: int = 20,
    like_original: bool = False,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Graded:
    """Run `grade` inside a running event loop; same arguments, result and errors."""
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
    return await request.run(folder_of(options), presenter)


@shows(EvaluateKeywords)
def evaluate_pairs(
    pairs: str | Path | Sequence[QAPair],
    papers: str | Path | Sequence[Paper] | None = None,
    *,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> JudgedPairs:
    """Measure and rate question-answer pairs against the papers that they were written from.

    Args:
        pairs: A file of pairs, or pairs.
        papers: A file or folder of papers, or papers; not needed where the file of pairs brings
            them (SciQAG's JSON).
        settings: As for `evaluate`.
        options: See below; without a `model`, what no judge is needed for.

    Returns:
        The pairs with measures and ratings; with `out`, the report is written there.

    Raises:
        InputError: The data cannot be used.
        SettingsError: A setting is wrong.
        FatalModelError: The judge is unavailable.
    """
    return run_sync(aevaluate_pairs(pairs, papers, settings=settings, **options))


@shows(EvaluateKeywords)
async def aevaluate_pairs(
    pairs: str | Path | Sequence[QAPair],
    papers: str | Path | Sequence[Paper] | None = None,
    *,
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> JudgedPairs:
    """Run `evaluate_pairs` inside a running event loop; same arguments, result and errors."""
    await check(options, EvaluateKeywords, settings)
    presenter = Presenter()
    request = request_pairs(pairs, papers, options, settings, presenter)
    return await request.run(folder_of(options), presenter)


async def check(
    options: Mapping[str, Any], keywords: type, settings: Settings | None, **more: Any
) -> None:
    """Refuse wrong options, and a run that cannot work; `more` is of `check_ready`."""
    check_options(options, keywords)
    await in_thread(partial(check_ready, **more), settings_of(options, settings), options)
