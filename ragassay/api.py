"""`evaluate`, `audit`, `grade`, `evaluate_pairs`, `plan`, and their async versions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, overload

from ragassay.errors import InputError
from ragassay.evaluators.toolbox import Toolbox
from ragassay.formats.objects import response_parts
from ragassay.formats.replies import add_reply
from ragassay.limits import line_limit
from ragassay.options import (
    AnswerLike,
    Answers,
    AuditKeywords,
    CorpusLike,
    EvaluateKeywords,
    Keywords,
    NuggetsLike,
    RunKeywords,
    SourceLike,
    check_options,
    own_of,
    settings_of,
    shows,
)
from ragassay.records import Audit, Nugget, Paper, QAPair, Record
from ragassay.results import BelowError, Result, Results, UnjudgedError, UnmeasuredError
from ragassay.runs.audit import audit_of_run, job_of_run, run_audit
from ragassay.runs.audit_job import AuditOptions, audit_job, audit_options
from ragassay.runs.evaluate import Job, Plan, run, run_sync
from ragassay.runs.evaluate import plan as plan_run
from ragassay.runs.events import Listener
from ragassay.runs.folder import RunFolder
from ragassay.runs.grading import Graded, grade_passages, prepared_grading
from ragassay.runs.job import documents_of, prepared
from ragassay.runs.paraphrasing import forget_failed_paraphrases
from ragassay.runs.progress import shown_progress
from ragassay.runs.qa.evaluate import JudgedPairs, judge_pairs, pairs_settings
from ragassay.runs.qa.inputs import read_paper_pairs
from ragassay.runs.ready import check_ready
from ragassay.runs.repeats import repeat_run
from ragassay.runs.thresholds import check_judged, thresholds_of
from ragassay.settings import Settings
from ragassay.text.cutting import PASSAGE_WORDS
from ragassay.threads import in_thread

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
    given: Any = {"answers": answers, "question": question, "answer": answer, "sources": sources}
    more: Any = {"reference": reference, "settings": settings, "progress": progress}
    return run_sync(aevaluate(**given, **more, **options))


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
    check_options(options, RunKeywords)
    await in_thread(check_ready, settings_of(options, settings), options)
    one = answers is None
    if answers is None:
        if question is None or answer is None:
            raise InputError("give `answers`, or `question` and `answer`")
        parts = response_parts(answer)
        record = Record(
            id="answer",
            question=question,
            answer=parts.text,
            sources=documents_of(list(sources) or parts.sources),
            nuggets=_nuggets(options.pop("nuggets", None)),
            reference=reference,
        )
        if parts.reply is not None:
            record = add_reply(record, parts.reply)
            for problem in parts.reply.problems:
                warnings.warn(problem, stacklevel=2)
        answers = [record]
    elif question is not None or answer is not None:
        raise InputError("give `answers`, or `question` and `answer`, not both")
    job, chosen = prepared(answers, options, limit=options.get("limit"), settings=settings)
    _warn(job)
    tools = Toolbox.of(chosen, job.corpus, *own_of(options))
    return await judged(job, tools, options, progress, Result if one else Results)


async def judged(
    job: Job,
    tools: Toolbox,
    options: RunKeywords,
    progress: Progress = False,
    kind: type[Results] = Results,
) -> Results:
    """Run a job with the options of `evaluate`, and raise what they ask to be raised."""
    thresholds = thresholds_of(
        options.get("fail_under"),
        tools.settings.rubric_set,
        tools.rubrics,
        [one.name for one in tools.registered],
    )
    check_judged(thresholds, tools.judge, tools.rubrics)
    folder = _folder(options)
    n_audited, n_times = options.get("audit"), options.get("repeat")
    with shown_progress(len(job.records), progress is True) as bar:
        listen = progress if callable(progress) else bar
        found = await run(job, tools, folder, listen)
        audited = repeats = None
        if n_times and found.evaluations:
            again = _quiet_listener(progress)
            repeats = await repeat_run(job, found, tools, n_times, folder, again)
        if n_audited and found.evaluations:
            chosen = job_of_run(job, found, tools, AuditOptions(n_audited))
            audited = await audit_of_run(chosen, found, tools, folder, _quiet_listener(progress))
    results = kind(found, audited and audited.audit, repeats)
    is_lacking = options.get("raise_on_failure") and (results.failed or results.rejections)
    if is_lacking or (kind is Result and found.failures):
        raise UnjudgedError(results)
    verdicts = [threshold.verdict(found.summary) for threshold in thresholds]
    missed = "; ".join(told for _, told in verdicts if told)
    if missed:
        is_below = any(kind == "below" for kind, _ in verdicts)
        raise (BelowError if is_below else UnmeasuredError)(missed, results)
    return results


def _quiet_listener(progress: Progress) -> Listener:
    return progress if callable(progress) else lambda event: None


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
    job, chosen = prepared(answers, options, limit=options.get("limit"), settings=settings)
    return plan_run(job, Toolbox.of(chosen, job.corpus, *own_of(options)))


@shows(AuditKeywords)
def audit(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[AuditKeywords]
) -> Audit:
    """Measure what damage a judge detects: damage answers, and have whole and damaged ones judged.

    Args:
        answers: As for `evaluate`; those whose metadata name a `variant` other than "benign" are
            already damaged, and are left out.
        settings: As for `evaluate`.
        options: See below; give a list for an option that can be repeated on the command line.

    Returns:
        Figures by attack and score, mean ratings by damage, and the certificate.

    Raises:
        InputError: The data cannot be used, an attack is unknown, or nothing can be damaged.
        SettingsError: A setting is wrong.
        FatalModelError: The judge is unavailable.
    """
    return run_sync(aaudit(answers, settings=settings, **options))


@shows(AuditKeywords)
async def aaudit(
    answers: Answers, *, settings: Settings | None = None, **options: Unpack[AuditKeywords]
) -> Audit:
    """Run `audit` inside a running event loop; same arguments, result and errors."""
    check_options(options, AuditKeywords)
    await in_thread(check_ready, settings_of(options, settings), options)
    job, chosen = prepared(answers, options, settings=settings)
    _warn(job)
    for rejection in job.rejections[
        :1
    ]:  # An audit has no field for them, unlike the results of a run.
        where = f"{rejection.file}:{rejection.line}: {rejection.problem}"
        warnings.warn(f"{len(job.rejections)} lines were rejected, first {where}", stacklevel=2)
    tools = Toolbox.of(chosen, job.corpus, *own_of(options))
    damaged = audit_job(job, tools, audit_options(options))
    return (await run_audit(damaged, tools, _folder(options))).audit


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
    check_options(options, EvaluateKeywords)
    await in_thread(check_ready, settings_of(options, settings), options)
    paths = [responses] if isinstance(responses, str | Path) else responses
    passages, tools = prepared_grading(
        [Path(path) for path in paths], options, most_words=words, depth=depth, settings=settings
    )
    return await grade_passages(passages, tools, _folder(options), like_original=like_original)


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
    check_options(options, EvaluateKeywords)
    await in_thread(check_ready, settings_of(options, settings), options)
    tools = Toolbox.of(pairs_settings(options, settings))
    with line_limit(tools.settings.max_line_bytes):
        given = read_paper_pairs(pairs, papers).first(options.get("limit"))
    return await judge_pairs(given, tools, _folder(options))


def folder_at(out: str | Path, options: Keywords) -> RunFolder:
    """Return a run's folder, without its failures if they are to be retried."""
    folder = RunFolder(Path(out))
    if options.get("retry_failed"):
        folder.forget_failures()
        folder.audit_folder.forget_failures()
        for repetition in folder.repeat_folders():
            repetition.forget_failures()
        forget_failed_paraphrases(folder.path)
    return folder


def _folder(options: Keywords) -> RunFolder | None:
    out = options.get("out")
    return None if out is None else folder_at(out, options)


def _warn(job: Job) -> None:
    if job.note:
        warnings.warn(job.note, stacklevel=3)


def _nuggets(given: NuggetsLike | None) -> tuple[Nugget, ...]:
    if isinstance(given, str | Path):
        raise InputError("one answer takes a list of nuggets, many answers take a file of them")
    return tuple(_nugget(nugget) for nugget in given or ())


def _nugget(nugget: str | Nugget | Mapping[str, str]) -> Nugget:
    if isinstance(nugget, Nugget):
        return nugget
    if isinstance(nugget, str):
        return Nugget(text=nugget)
    return Nugget.model_validate(dict(nugget))
