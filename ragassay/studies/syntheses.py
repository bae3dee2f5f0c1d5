"""Have several models write syntheses, for comparison, into one file of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError, SettingsError
from ragassay.formats import write_records
from ragassay.model_names import split_endpoint
from ragassay.options import EvaluateKeywords, Spelling, settings_of, several
from ragassay.process import in_thread
from ragassay.records import Record, Usage
from ragassay.runs.progress import Bar
from ragassay.runs.resume import states_of, written_alone
from ragassay.settings import Settings
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

TOKENS_A_WORD = 4
"""Longest reply: 200 words with citations take some 350 tokens, in other scripts twice as many."""


@dataclass(frozen=True)
class Syntheses:
    """The syntheses of several models.

    Attributes:
        questions: The questions with their papers, and those that had none.
        syntheses: One for each model and question, by model, in the questions' order.
        file: The file of those that there are.
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
    options: EvaluateKeywords, base: Settings | None = None, spelled: Spelling = "keyword"
) -> Settings:
    """Return the settings that name the models that write, in their order, as a panel's judges.

    Args:
        options: Their names, and how many calls are under way; see `settings_of`.
        base: The settings that the options change.
        spelled: Returns an option's name for an error.

    Raises:
        InputError: A model is named twice.
        SettingsError: No model is named, or a setting is wrong.
    """
    names = Counter(split_endpoint(name)[0] for name in several(options.get("model")))
    twice = next((name for name, n in names.items() if n > 1), None)
    if twice:
        raise InputError(f"the model {twice} is named twice: each writes one answer to a question")
    settings = settings_of(options, base, spelled)
    if not settings.judge.has_judge:
        option = "--model NAME" if spelled == "flag" else "`model=`"
        raise SettingsError(f"answers are written by models: name one or more, {option}")
    return settings


def writers_of(settings: Settings, words: int) -> list[Settings]:
    """Return the settings of each model that writes.

    Args:
        settings: From `writing_settings`.
        words: About how many words a synthesis has.
    """
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

    Args:
        queries: As for `read_synthesis_questions`.
        options: `corpus`, `limit`, `questions`, `column_map`.
        settings: How the corpus is searched.
        n_papers: Papers of a question that are found.
        states: The file that keeps what was found; None to keep nothing.
        bar: Opens a progress bar.

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

    A bound of money holds for all models and starts together.

    Args:
        questions: From `prepared_questions`.
        writers: From `writers_of`.
        file: The file, which `ragassay evaluate` reads; finished work is kept beside it.
        how: How they are written.
        bar: Opens a progress bar.

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
    settings = models[0].tools.settings
    usage = sum((one.usage for model in models for one in model.syntheses), Usage())
    spent, n_calls = usage.cost_usd, usage.n_calls
    is_spread = settings.limits.engine == "ray" and any(model.left for model in models)
    with _one_cluster(settings) if is_spread else nullcontext():
        for model in models:
            model.tools.limiter.count(spent, n_calls)
            with bar(model.n_questions, f"{model.tools.settings.judge.model} writes") as listen:
                await model.write(listen)
            spent, n_calls = model.tools.limiter.spent_usd, model.tools.limiter.n_priced


def _one_cluster(settings: Settings) -> AbstractContextManager[object]:
    """Join or start the cluster for all models: each by itself would take seconds."""
    from ragassay.runs.distributed.driver import opened_cluster

    return opened_cluster(settings.limits.address, settings.limits.workers)


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
