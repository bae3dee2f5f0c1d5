"""Have several models write syntheses into one file of answers, and judges rate them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError, SettingsError
from ragassay.evaluators.build_run import build_run
from ragassay.formats import write_records
from ragassay.graphs.writing import WORDS
from ragassay.model_names import split_endpoint
from ragassay.models.limiter import RunLimiter
from ragassay.models.prompt_caching import CHARS_A_TOKEN
from ragassay.options import EvaluateKeywords, OptionStyle, settings_of, several
from ragassay.process import in_thread, run_sync
from ragassay.records import Record, Usage
from ragassay.runs.compare import file_stem
from ragassay.runs.evaluate import job_of, plan, run
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Bar
from ragassay.runs.resume import states_of, written_alone
from ragassay.settings import Settings
from ragassay.store import hash_of
from ragassay.studies.synthesis_questions import (
    N_PAPERS,
    PaperSearch,
    Queries,
    Questions,
    first_ids,
    has_text,
    read_synthesis_questions,
    with_papers,
)
from ragassay.studies.synthesis_writer import ModelSyntheses, Synthesis, Writing

ANSWERS, RUNS = "answers.jsonl", "runs"
"""Names in the folder of generators and judges: the syntheses, the judges' run folders."""

TOKENS_A_WORD = 4
"""Longest reply: 200 words with citations take some 350 tokens, in other scripts twice as many."""

CHARS_A_WORD = 7


@dataclass(frozen=True)
class Syntheses:
    """The syntheses of several models: one for each model and question, by model, in their order.

    The file has those that there are.
    """

    questions: Questions
    syntheses: tuple[Synthesis, ...]
    file: Path

    @property
    def records(self) -> tuple[Record, ...]:
        """The answers, as they are in the file."""
        return tuple(one.record for one in self.syntheses if one.text)

    @property
    def failed(self) -> tuple[Synthesis, ...]:
        """Those that could not be had, each with its problem."""
        return tuple(one for one in self.syntheses if not one.text)

    @property
    def usage(self) -> Usage:
        """The cost of all calls, whenever they were made."""
        return sum((one.usage for one in self.syntheses), Usage())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which syntheses are missing, one sentence for each model and reason."""
        missing: dict[tuple[str, str], list[str]] = {}
        for one in self.failed:
            missing.setdefault((one.generator, one.problem), []).append(one.question.id)
        n_asked = len(self.questions.records)
        return tuple(
            f"{name} has no synthesis for {len(ids)} of {n_asked} questions "
            f"({first_ids(ids)}): {problem}"
            for (name, problem), ids in missing.items()
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked, in their order."""
        return tuple(dict.fromkeys(one.generator for one in self.syntheses))

    @property
    def is_partial(self) -> bool:
        """Return whether something is missing, or could not be read."""
        return bool(self.failed or self.questions.bare or self.questions.rejections)

    @property
    def fields(self) -> dict[str, object]:
        """The outcome, for a JSON object."""
        return {
            "file": str(self.file),
            "n_questions": len(self.questions.records),
            "n_written": {
                name: sum(one.generator == name for one in self.syntheses if one.text)
                for name in self.models
            },
            "failed": [
                {"question": one.question.id, "model": one.generator, "problem": one.problem}
                for one in self.failed
            ],
            "without_paper": list(self.questions.bare),
            "n_rejected": len(self.questions.rejections),
            "usage": self.usage.model_dump(),
        }


def writing_settings(
    options: EvaluateKeywords, base: Settings | None = None, style: OptionStyle = "keyword"
) -> Settings:
    """Return the settings that name the models that write, in their order, as a panel's judges.

    Raises:
        InputError: A model is named twice.
        SettingsError: No model is named, or a setting is wrong.
    """
    names = Counter(split_endpoint(name)[0] for name in several(options.get("model")))
    twice = next((name for name, n in names.items() if n > 1), None)
    if twice:
        raise InputError(f"the model {twice} is named twice: each writes one answer to a question")
    settings = settings_of(options, base, style)
    if not settings.judge.has_judge:
        option = "--model NAME" if style == "flag" else "`model=`"
        raise SettingsError(f"answers are written by models: name one or more, {option}")
    return settings


def writers_of(settings: Settings, words: int) -> list[Settings]:
    """Return the settings of each model that writes about so many words."""
    given = {"max_reply_tokens": max(16, TOKENS_A_WORD * words), "escalate": ""}
    alone = (settings.of_judge(place) for place in range(len(settings.judge.judges)))
    return [writer.model_copy(update=given) for writer in alone]


async def prepared_questions(
    queries: Queries,
    options: EvaluateKeywords,
    settings: Settings,
    n_papers: int = N_PAPERS,
    *,
    states: Path | None = None,
    bar: Bar,
) -> Questions:
    """Read the questions, and find papers for those that have none.

    Raises:
        InputError: The file cannot be read, has no question, or none with a paper.
        SettingsError, CorpusError: The corpus cannot be searched.
    """
    found = await in_thread(read_synthesis_questions, queries, options, settings)
    corpus, limit = options.get("corpus"), options.get("limit")
    search: PaperSearch | None = None
    if corpus is not None:
        search = await in_thread(PaperSearch.of, corpus, settings, n_papers)
    n_searched = sum(not has_text(one.sources) for one in found.records[:limit]) if search else 0
    with bar(n_searched, "finding papers") as listen:
        return await with_papers(found, search, limit=limit, states=states, listen=listen)


async def write_all(
    questions: Questions, writers: Sequence[Settings], file: Path, how: Writing, bar: Bar
) -> Syntheses:
    """Let every model write, one after the other, and write the file of answers.

    A bound of money holds for all models and starts together. Finished work is kept beside the
    file, which `ragassay evaluate` reads.

    Raises:
        FatalModelError: A model is unavailable, or the money is spent; finished work is kept.
        InputError: Nothing could be written, or another process is writing the file.
        StorageError: The disk is full; finished work is kept.
    """
    with written_alone(file) as states:
        models = [ModelSyntheses(questions.records, writer, states, how) for writer in writers]
        await _write_in_turn(models, bar)
        found = Syntheses(questions, tuple(one for m in models for one in m.syntheses), file)
        if not found.records:
            raise InputError(f"no synthesis could be written: {found.failed[0].problem}")
        write_records(found.records, file)
    return found


async def _write_in_turn(models: Sequence[ModelSyntheses], bar: Bar) -> None:
    from ragassay.runs.distributed.driver import opened_cluster

    settings = models[0].tools.settings
    usage = sum((one.usage for model in models for one in model.syntheses), Usage())
    spent, n_calls = usage.cost_usd, usage.n_calls
    limits, is_any_left = settings.limits, any(model.left for model in models)
    # One cluster for all models: each by itself would take seconds.
    is_spread = limits.engine == "ray" and is_any_left
    with opened_cluster(limits.address, limits.workers) if is_spread else nullcontext():
        for model in models:
            model.tools.limiter.count(spent, n_calls)
            with bar(model.n_questions, f"{model.tools.settings.judge.model} writes") as listen:
                await model.write(listen)
            spent, n_calls = model.tools.limiter.spent_usd, model.tools.limiter.n_priced


async def make_syntheses(
    queries: Queries,
    file: Path,
    settings: Settings,
    options: EvaluateKeywords,
    how: Writing,
    n_papers: int,
    bar: Bar,
) -> Syntheses:
    """Read the questions, find their papers, and let every model of the settings write.

    See `prepared_questions` and `write_all` for arguments and errors.
    """
    writers = writers_of(settings, how.words)
    questions = await prepared_questions(
        queries, options, settings, n_papers, states=states_of(file), bar=bar
    )
    return await write_all(questions, writers, file, how, bar)


@dataclass(frozen=True)
class GeneratedAnswers:
    """The generators' syntheses, and the run folders of the judges' ratings."""

    written: Syntheses
    runs: tuple[Path, ...]


@dataclass(frozen=True)
class GenerationPlan:
    """The most calls that generating and rating would take, about how many tokens sent."""

    n_questions: int
    n_syntheses: int
    n_ratings: int
    n_prompt_tokens: int


def plan_calls(
    questions: Questions,
    generators: Sequence[Settings],
    judges: Sequence[Settings] = (),
    words: int = WORDS,
) -> GenerationPlan:
    """Count calls and tokens without asking a model, as if nothing were kept yet."""
    asked = questions.records
    sizes = [sum(len(source.text) for source in question.sources) for question in asked]
    n_tokens = sum(min(s.source_chars, n) // CHARS_A_TOKEN for n in sizes for s in generators)
    n_ratings = 0
    for judge in judges:
        tools = build_run(judge)
        stand_ins = [_stand_in(question, words) for question in asked]
        rated = plan(job_of(stand_ins, tools.retrieval.corpus), tools)
        n_ratings += rated.n_calls * len(generators)
        n_tokens += rated.n_prompt_tokens * len(generators)
    return GenerationPlan(len(asked), len(asked) * len(generators), n_ratings, n_tokens)


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

    Finished work in the folder is not repeated.

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
        fingerprint = job.answers.model_copy(update={"name": ANSWERS, "sha256": asked})
        folder = RunFolder(out / RUNS / file_stem(settings.judge.model))
        if how.retry_failed and folder.path.exists():
            folder.forget_failures()
        with bar(len(written.records), f"{settings.judge.model} judges") as listen:
            run_sync(run(replace(job, answers=fingerprint), tools, folder, listen))
        runs.append(folder.path)
    return GeneratedAnswers(written, tuple(runs))


def _digest(question: Record, words: int) -> str:
    sources = (source.model_dump_json() for source in question.sources)
    return hash_of(question.id, question.question, str(words), *sources)
