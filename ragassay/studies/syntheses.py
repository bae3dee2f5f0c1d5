"""Generate syntheses with several models, and rate them with judges."""

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
from ragassay.models.prompt_caching import CHARS_PER_TOKEN
from ragassay.options import EvaluateKeywords, OptionStyle, create_settings, to_tuple
from ragassay.process import run_in_thread, run_sync
from ragassay.records import Record, Usage
from ragassay.runs.compare import format_file_stem
from ragassay.runs.evaluate import build_job, plan, run_job
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Bar
from ragassay.runs.resume import build_store_path, lock_for_writing
from ragassay.settings import Settings
from ragassay.store import hash_parts
from ragassay.studies.synthesis_questions import (
    N_PAPERS,
    PaperSearch,
    Queries,
    Questions,
    find_missing_papers,
    format_first_ids,
    has_text,
    read_synthesis_questions,
)
from ragassay.studies.synthesis_writer import ModelSyntheses, Synthesis, Writing

ANSWERS, RUNS = "answers.jsonl", "runs"
"""Names of the file with the syntheses, and of the folder with the judges' runs."""

TOKENS_A_WORD = 4
"""Maximum number of reply tokens per word. English with citations needs 1.75, and text in other
scripts needs 3.5."""

CHARS_A_WORD = 7


@dataclass(frozen=True)
class Syntheses:
    """Syntheses of several questions by several models.

    Attributes:
        syntheses: Synthesis by each model for each question, ordered by model.
    """

    questions: Questions
    syntheses: tuple[Synthesis, ...]
    file: Path

    @property
    def records(self) -> tuple[Record, ...]:
        """Successful syntheses, as answers to evaluate."""
        return tuple(one.record for one in self.syntheses if one.text)

    @property
    def failed(self) -> tuple[Synthesis, ...]:
        """Failed syntheses."""
        return tuple(one for one in self.syntheses if not one.text)

    @property
    def usage(self) -> Usage:
        """Usage of all calls, including those in earlier runs."""
        return sum((one.usage for one in self.syntheses), Usage())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about missing syntheses, one for each model and problem."""
        missing: dict[tuple[str, str], list[str]] = {}
        for one in self.failed:
            missing.setdefault((one.generator, one.problem), []).append(one.question.id)
        n_questions = len(self.questions.records)
        return tuple(
            f"{name} has no synthesis for {len(ids)} of {n_questions} questions "
            f"({format_first_ids(ids)}): {problem}"
            for (name, problem), ids in missing.items()
        )

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that wrote syntheses, without duplicates."""
        return tuple(dict.fromkeys(one.generator for one in self.syntheses))

    @property
    def is_partial(self) -> bool:
        """True if a synthesis failed, or if a question was skipped or rejected."""
        return bool(self.failed or self.questions.bare or self.questions.rejections)

    @property
    def fields(self) -> dict[str, object]:
        """Fields of a JSON object that describes the outcome."""
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


def build_writing_settings(
    options: EvaluateKeywords, base: Settings | None = None, style: OptionStyle = "keyword"
) -> Settings:
    """Return settings in which the models that write syntheses take the place of judges.

    Raises:
        InputError: If a model is specified twice.
        SettingsError: If no model is specified, or a setting is invalid.
    """
    names = Counter(split_endpoint(name)[0] for name in to_tuple(options.get("model")))
    duplicate = next((name for name, n in names.items() if n > 1), None)
    if duplicate:
        raise InputError(f"model {duplicate} is specified twice; each model writes only one answer")
    settings = create_settings(options, base, style)
    if not settings.judge.has_judge:
        option = "--model NAME" if style == "flag" else "`model=`"
        raise SettingsError(f"no model to write answers; pass {option}")
    return settings


def list_writer_settings(settings: Settings, words: int) -> list[Settings]:
    """Return the settings of each model. The maximum reply length is derived from `words`."""
    update = {"max_reply_tokens": max(16, TOKENS_A_WORD * words), "escalate": ""}
    return [
        settings.build_judge_settings(i).model_copy(update=update)
        for i in range(len(settings.judge.judges))
    ]


async def prepare_questions(
    queries: Queries,
    options: EvaluateKeywords,
    settings: Settings,
    n_papers: int = N_PAPERS,
    *,
    states: Path | None = None,
    bar: Bar,
) -> Questions:
    """Read questions, and find papers for the questions without sources.

    Args:
        states: File in which the papers that were found are stored, so that they can be reused.

    Raises:
        InputError: If the file cannot be read, or contains no question with papers.
        SettingsError, CorpusError: If the corpus cannot be searched.
    """
    questions = await run_in_thread(read_synthesis_questions, queries, options, settings)
    corpus, limit = options.get("corpus"), options.get("limit")
    search: PaperSearch | None = None
    if corpus is not None:
        search = await run_in_thread(PaperSearch.open_search, corpus, settings, n_papers)
    unsourced = [one for one in questions.records[:limit] if not has_text(one.sources)]
    with bar(len(unsourced) if search else 0, "finding papers") as listen:
        return await find_missing_papers(
            questions, search, limit=limit, states=states, listen=listen
        )


async def write_all(
    questions: Questions, writers: Sequence[Settings], file: Path, how: Writing, bar: Bar
) -> Syntheses:
    """Generate syntheses with one model after another, and write all syntheses to a file.

    The cost limit applies to all models together, including earlier runs. Finished work is stored
    next to the file, and remains there after an error.

    Raises:
        FatalModelError: If a model is unavailable or the cost limit is reached.
        InputError: If there are no syntheses, or another process is writing the file.
        StorageError: If the disk is full.
    """
    with lock_for_writing(file) as states:
        models = [ModelSyntheses(questions.records, writer, states, how) for writer in writers]
        await _run_models(models, bar)
        result = Syntheses(questions, tuple(one for m in models for one in m.syntheses), file)
        if not result.records:
            raise InputError(f"no synthesis could be written: {result.failed[0].problem}")
        write_records(result.records, file)
    return result


async def _run_models(models: Sequence[ModelSyntheses], bar: Bar) -> None:
    from ragassay.runs.distributed.driver import open_cluster

    settings = models[0].run.settings
    usage = sum((one.usage for model in models for one in model.syntheses), Usage())
    spent, n_calls = usage.cost_usd, usage.n_calls
    limits = settings.limits
    # All models share a cluster, because starting one takes seconds.
    uses_cluster = limits.engine == "ray" and any(model.left for model in models)
    with open_cluster(limits.address, limits.workers) if uses_cluster else nullcontext():
        for model in models:
            model.run.limiter.count(spent, n_calls)
            with bar(model.n_questions, f"{model.run.settings.judge.model} writes") as listen:
                await model.write(listen)
            spent, n_calls = model.run.limiter.spent_usd, model.run.limiter.n_priced


async def make_syntheses(
    queries: Queries,
    file: Path,
    settings: Settings,
    options: EvaluateKeywords,
    how: Writing,
    n_papers: int,
    bar: Bar,
) -> Syntheses:
    """Read questions, find papers, and generate syntheses with all models in the settings.

    The arguments and errors are those of `prepare_questions` and `write_all`.
    """
    writers = list_writer_settings(settings, how.words)
    questions = await prepare_questions(
        queries, options, settings, n_papers, states=build_store_path(file), bar=bar
    )
    return await write_all(questions, writers, file, how, bar)


@dataclass(frozen=True)
class GeneratedAnswers:
    """Generated syntheses, and the run folders with the judges' ratings."""

    written: Syntheses
    runs: tuple[Path, ...]


@dataclass(frozen=True)
class GenerationPlan:
    """Estimated maximum number of calls and of prompt tokens, for generation and rating."""

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
    """Estimate the number of calls and tokens, assuming that no work is finished."""
    records = questions.records
    sizes = [sum(len(source.text) for source in question.sources) for question in records]
    n_tokens = sum(min(s.source_chars, n) // CHARS_PER_TOKEN for n in sizes for s in generators)
    n_ratings = 0
    for judge in judges:
        run = build_run(judge)
        answers = [_build_placeholder_answer(question, words) for question in records]
        rated = plan(build_job(answers, run.retrieval.corpus), run)
        n_ratings += rated.n_calls * len(generators)
        n_tokens += rated.n_prompt_tokens * len(generators)
    return GenerationPlan(len(records), len(records) * len(generators), n_ratings, n_tokens)


def _build_placeholder_answer(question: Record, words: int) -> Record:
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
    """Generate syntheses with all generators, and rate all syntheses with each judge.

    Finished work that is stored in the folder is reused.

    Raises:
        FatalModelError: If a model is unavailable. Finished work remains in the folder.
        InputError: If a judge is specified twice, or there are no syntheses.
        RunMismatchError: If the folder contains ratings of other questions or settings.
    """
    name, n = Counter(s.judge.model for s in judges).most_common(1)[0]
    if n > 1:
        raise InputError(f"judge {name} is specified twice")
    written = run_sync(write_all(questions, generators, out / ANSWERS, how, bar))
    # Depends on the questions, not the answers, because a later run can add answers that failed.
    digests = (_hash_question(question, how.words) for question in questions.records)
    sha256 = hash_parts(*(s.judge.model for s in generators), *digests)
    runs: list[Path] = []
    limiter = RunLimiter.from_settings(judges[0])  # shared by generation and all judges
    limiter.count(written.usage.cost_usd, written.usage.n_calls)
    for settings in judges:
        run = replace(build_run(settings), limiter=limiter)
        job = build_job(written.records, run.retrieval.corpus)
        fingerprint = job.answers.model_copy(update={"name": ANSWERS, "sha256": sha256})
        folder = RunFolder(out / RUNS / format_file_stem(settings.judge.model))
        if how.retry_failed and folder.path.exists():
            folder.forget_failures()
        with bar(len(written.records), f"{settings.judge.model} judges") as listen:
            run_sync(run_job(replace(job, answers=fingerprint), run, folder, listen))
        runs.append(folder.path)
    return GeneratedAnswers(written, tuple(runs))


def _hash_question(question: Record, words: int) -> str:
    sources = (source.model_dump_json() for source in question.sources)
    return hash_parts(question.id, question.question, str(words), *sources)
