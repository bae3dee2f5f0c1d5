"""Let generators write syntheses, and judges rate each of them: YESciEval's figure 3."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.graphs.synthesis import WORDS
from ragassay.models.limiter import RunLimiter
from ragassay.records import Record
from ragassay.runs.compare import file_stem
from ragassay.runs.evaluate import job_of, plan, run
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Bar
from ragassay.runs.syntheses import Syntheses, write_all
from ragassay.runs.synthesis_questions import Questions
from ragassay.runs.synthesis_writer import Synthesis, Writing
from ragassay.settings import Settings
from ragassay.store import hash_of
from ragassay.threads import run_sync

ANSWERS, RUNS = "answers.jsonl", "runs"
"""Names in the folder: the syntheses, the judges' run folders."""

CHARS_A_WORD, CHARS_A_TOKEN = 7, 4


@dataclass(frozen=True)
class GeneratedAnswers:
    """The generators' syntheses, and the folders of the judges' ratings.

    Attributes:
        written: What the generators wrote.
        runs: The judges' run folders.
    """

    written: Syntheses
    runs: tuple[Path, ...]


@dataclass(frozen=True)
class CallPlan:
    """The most calls that generating and rating would take, about how many tokens sent."""

    n_questions: int
    n_syntheses: int
    n_ratings: int
    n_prompt_tokens: int


def planned(
    questions: Questions,
    generators: Sequence[Settings],
    judges: Sequence[Settings] = (),
    words: int = WORDS,
) -> CallPlan:
    """Count calls and tokens without asking a model, as if nothing were kept yet."""
    asked = questions.records
    n_tokens = sum(_source_chars(q, s) // CHARS_A_TOKEN for q in asked for s in generators)
    n_ratings = 0
    for judge in judges:
        tools = build_run(judge)
        stand_ins = [_stand_in(question, words) for question in asked]
        rated = plan(job_of(stand_ins, tools.retrieval.corpus), tools)
        n_ratings += rated.n_calls * len(generators)
        n_tokens += rated.n_prompt_tokens * len(generators)
    return CallPlan(len(asked), len(asked) * len(generators), n_ratings, n_tokens)


def _source_chars(question: Record, settings: Settings) -> int:
    return min(settings.source_chars, sum(len(source.text) for source in question.sources))


def _stand_in(question: Record, words: int) -> Record:
    """Return an answer of the length that is asked for."""
    sentence = f"{'It helps many patients' + ' and others' * 8}."
    n = max(1, math.ceil(words * CHARS_A_WORD / len(sentence)))
    return Synthesis(question, "any", " ".join([sentence] * n)).record


def generate_and_judge(
    questions: Questions,
    generators: Sequence[Settings],
    judges: Sequence[Settings],
    out: Path,
    how: Writing,
    bar: Bar,
) -> GeneratedAnswers:
    """Let every generator write, and every judge rate what they wrote, its own included.

    Args:
        questions: The questions with their papers.
        generators: From `writers_of`, each of another model.
        judges: Each of another judge.
        out: The folder; finished work in it is not repeated.
        how: How the syntheses are written, and whether what failed is tried again.
        bar: Opens a progress bar.

    Raises:
        FatalModelError: A model is unavailable; finished work is kept.
        InputError: A model is named twice, or nothing could be written.
        RunMismatchError: The folder has the ratings of other questions or settings.
    """
    name, n = Counter(s.judge.model for s in judges).most_common(1)[0]
    if n > 1:
        raise InputError(f"the judge {name} is named twice")
    written = run_sync(write_all(questions, generators, out / ANSWERS, how, bar))
    # What was asked for, not what was written: a synthesis may be missing until a later start.
    digests = (_digest(question, how.words) for question in questions.records)
    asked = hash_of(*(s.judge.model for s in generators), *digests)
    runs: list[Path] = []
    limiter = RunLimiter.of(judges[0])  # one bound for writing and for all judges
    limiter.count(written.usage.cost_usd, written.usage.n_calls)
    for settings in judges:
        tools = replace(build_run(settings), limiter=limiter)
        job = job_of(written.records, tools.retrieval.corpus)
        stamp = job.answers.model_copy(update={"name": ANSWERS, "sha256": asked})
        folder = RunFolder(out / RUNS / file_stem(settings.judge.model))
        if how.retry_failed and folder.path.exists():
            folder.forget_failures()
        with bar(len(written.records), f"{settings.judge.model} judges") as listen:
            run_sync(run(replace(job, answers=stamp), tools, folder, listen))
        runs.append(folder.path)
    return GeneratedAnswers(written, tuple(runs))


def _digest(question: Record, words: int) -> str:
    sources = (source.model_dump_json() for source in question.sources)
    return hash_of(question.id, question.question, str(words), *sources)
