"""Let generators write syntheses, and judges rate each of them: YESciEval's figure 3."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.evaluators.toolbox import Toolbox, hash_of
from ragassay.graphs.synthesis_state import SynthesisJob
from ragassay.records import Record
from ragassay.runs.compare import file_stem
from ragassay.runs.engine import Listener
from ragassay.runs.evaluate import job_of, plan, run, run_sync
from ragassay.runs.folder import RunFolder
from ragassay.runs.syntheses import (
    Questions,
    Synthesis,
    write_answers,
    write_syntheses,
)
from ragassay.settings import Settings

ANSWERS, STATES, RUNS = "answers.jsonl", "syntheses.state.sqlite", "runs"
"""Names in the folder: the syntheses, the state of writing, the judges' run folders."""

Bar = Callable[[int, str], AbstractContextManager[Listener]]
"""Opens a progress bar for so many answers under a description."""

CHARS_A_WORD, CHARS_A_TOKEN = 7, 4


@dataclass(frozen=True)
class GeneratedAnswers:
    """The generators' syntheses, and the folders of the judges' ratings.

    Attributes:
        syntheses: One for each generator and question.
        answers: The file of those that there are.
        runs: The judges' run folders.
    """

    syntheses: tuple[Synthesis, ...]
    answers: Path
    runs: tuple[Path, ...]

    @property
    def n_written(self) -> int:
        """The number of syntheses."""
        return sum(bool(one.text) for one in self.syntheses)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which syntheses are missing, one sentence for each generator and reason."""
        missing = Counter((one.generator, one.problem) for one in self.syntheses if one.problem)
        n_asked = Counter(one.generator for one in self.syntheses)
        return tuple(
            f"{name} has no synthesis for {n} of {n_asked[name]} questions, which nobody could "
            f"rate: {problem}"
            for (name, problem), n in missing.items()
        )


@dataclass(frozen=True)
class CallPlan:
    """The most calls that generating and rating would take, about how many tokens sent."""

    n_questions: int
    n_syntheses: int
    n_ratings: int
    n_prompt_tokens: int


def planned(
    questions: Questions, generators: Sequence[Settings], judges: Sequence[Settings]
) -> CallPlan:
    """Count calls and tokens without asking a model, as if nothing were kept yet."""
    jobs = questions.jobs
    n_tokens = sum(_source_chars(j, s) // CHARS_A_TOKEN for j in jobs for s in generators)
    n_ratings = 0
    for judge in judges:
        tools = Toolbox.of(judge)
        rated = plan(job_of([_stand_in(job) for job in jobs], tools.retrieval.corpus), tools)
        n_ratings += rated.n_calls * len(generators)
        n_tokens += rated.n_prompt_tokens * len(generators)
    return CallPlan(len(jobs), len(jobs) * len(generators), n_ratings, n_tokens)


def _source_chars(job: SynthesisJob, settings: Settings) -> int:
    return min(settings.source_chars, sum(len(source.text) for source in job.sources))


def _stand_in(job: SynthesisJob) -> Record:
    """Return an answer of the length that is asked for."""
    sentence = f"{'It helps many patients' + ' and others' * 8}."
    n = max(1, math.ceil(job.words * CHARS_A_WORD / len(sentence)))
    return Synthesis(job, "any", " ".join([sentence] * n)).record


def generate_and_judge(
    questions: Questions,
    generators: Sequence[Settings],
    judges: Sequence[Settings],
    out: Path,
    *,
    max_tokens: int = 0,
    bar: Bar,
) -> GeneratedAnswers:
    """Let every generator write, and every judge rate what they wrote, its own included.

    Args:
        questions: The questions with their papers.
        generators: From `generator_settings`, each of another model.
        judges: Each of another judge.
        out: The folder; finished work in it is not repeated.
        max_tokens: Tokens of one generator after which it begins no synthesis; 0 for no bound.
        bar: Opens a progress bar.

    Raises:
        FatalModelError: A model is unavailable; finished work is kept.
        InputError: A model is named twice, or nothing could be written.
        RunMismatchError: The folder has the ratings of other questions or settings.
    """
    for role, group in (("generator", generators), ("judge", judges)):
        name, n = Counter(s.model for s in group).most_common(1)[0]
        if n > 1:
            raise InputError(f"the {role} {name} is named twice")
    syntheses: list[Synthesis] = []
    for settings in generators:
        with bar(len(questions.jobs), f"{settings.model} writes") as listen:
            writing = write_syntheses(
                questions.jobs, settings, out / STATES, max_tokens=max_tokens, listen=listen
            )
            syntheses += run_sync(writing)
    records = write_answers(syntheses, out / ANSWERS)
    runs: list[Path] = []
    for settings in judges:
        tools = Toolbox.of(settings)
        job = job_of(records, tools.retrieval.corpus)
        # What was asked for, not what was written: a synthesis may be missing until a later start.
        asked = hash_of(*(s.model for s in generators), *map(_digest, questions.jobs))
        stamp = job.answers.model_copy(update={"name": ANSWERS, "sha256": asked})
        runs.append(out / RUNS / file_stem(settings.model))
        with bar(len(records), f"{settings.model} judges") as listen:
            judging = run(replace(job, answers=stamp), tools, RunFolder(runs[-1]), listen)
            run_sync(judging)
    return GeneratedAnswers(tuple(syntheses), out / ANSWERS, tuple(runs))


def _digest(job: SynthesisJob) -> str:
    sources = (source.model_dump_json() for source in job.sources)
    return hash_of(job.topic, job.question, str(job.words), *sources)
