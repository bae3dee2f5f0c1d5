"""Run a prompt optimization job: measure the shipped prompt, search, and measure the result."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dspy

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.extras import find_installed_versions
from ragassay.model_names import is_local
from ragassay.models.gateway import JudgeLM
from ragassay.models.tuned import use_base_model
from ragassay.optimizers.compiling.compiling_lm import (
    Budget,
    CompilingLM,
    JobStopped,
    Shared,
    open_loop,
)
from ragassay.optimizers.compiling.items import CompileItem, hash_items
from ragassay.optimizers.compiling.memory import Memory
from ragassay.optimizers.compiling.planning import (
    JobPlan,
    OptimizerName,
    Sizes,
    check_optimizer,
    count_budget_calls,
    plan_job,
    shorten_model_name,
)
from ragassay.optimizers.compiling.searching import Search, search, split_halves
from ragassay.optimizers.compiling.student import (
    Student,
    build_example,
    compare_figures,
    extract_predictor,
    is_better,
    measure,
)
from ragassay.optimizers.compiling.task import CompileTask, JobData, read_job_data
from ragassay.optimizers.compiling.tasks import TaskOptions, create_task
from ragassay.prompts.compiled import PREDICTOR, CompiledPrompt
from ragassay.records import Rejection, Usage
from ragassay.retrievers.literature import Literature
from ragassay.settings import Settings

MOST_THREADS = 16

WRITTEN_TOKENS = 2_048
WRITTEN_TOKENS_LOCAL = 512
"""Maximum number of tokens in a new instruction, for hosted and for local models."""

NOTED_PACKAGES = ("dspy", "gepa", "optuna", "litellm")
"""Libraries whose versions are stored with a compiled prompt."""


@dataclass(frozen=True)
class Steps:
    """Functions that receive the plan of a job, the name of each step, and the usage so far."""

    planned: Callable[[JobPlan], None] = lambda plan: None
    phase: Callable[[str], None] = lambda text: None
    paid: Callable[[Usage], None] = lambda usage: None


@contextmanager
def show_job_steps(enabled: bool) -> Iterator[Steps]:
    """Yield functions that print the progress of a job to stderr, if `enabled` is True."""
    if not enabled:
        yield Steps()
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from ragassay.safe_text import open_console

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    # Uses the original stderr, which is redirected to a file while an optimizer runs.
    console = open_console(stderr=True)
    with Progress(
        *columns, console=console, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        line = progress.add_task("reading", detail="")

        def show_phase(text: str) -> None:
            progress.update(line, description=text)
            if not console.is_terminal:
                console.print(text, highlight=False)

        n_planned = 0

        def record_plan(plan: JobPlan) -> None:
            nonlocal n_planned
            n_planned = plan.calls.n_calls
            console.print(plan.text, highlight=False, markup=False, soft_wrap=True)

        def show_cost(usage: Usage) -> None:
            cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
            n_tokens = usage.n_prompt_tokens + usage.n_completion_tokens
            calls = f"{usage.n_calls:,} of at most {n_planned:,} calls"
            progress.update(line, detail=f"{calls}, {n_tokens:,} tokens, {cost}")

        yield Steps(record_plan, show_phase, show_cost)


@dataclass(frozen=True)
class CompileJob:
    """Options of a prompt optimization job.

    Attributes:
        agent: Prompt key of the agent to optimize, one of `AGENTS`.
        dev: Dev file, or None to hold out half of the questions in `data`.
        budget: "light", "medium", "heavy", or an approximate number of agent calls.
        limit: Maximum number of training items, and of dev items (0 for all).
        max_usd: Maximum cost of the job, or None for no limit.
        max_calls: Maximum number of model calls, or None for no limit.
    """

    agent: str
    data: Path
    dev: Path | None = None
    optimizer: OptimizerName = "bootstrap"
    budget: str = "light"
    seed: int = 0
    limit: int = 0
    max_usd: float | None = None
    options: TaskOptions = field(default_factory=TaskOptions)
    max_calls: int | None = None


@dataclass(frozen=True)
class CompileResult:
    """Result of a prompt optimization job.

    Attributes:
        is_same: Whether the best prompt is the shipped prompt.
        n_shared: Number of training items that were dropped because the dev data contains their
            question.
        n_asked: Number of model calls in this process, without earlier runs of the job.
    """

    prompt: CompiledPrompt
    is_same: bool
    rejections: tuple[Rejection, ...]
    n_shared: int
    n_asked: int


def run_compile_job(
    job: CompileJob,
    settings: Settings,
    work: Path,
    corpus: Literature | None = None,
    steps: Steps | None = None,
) -> CompileResult:
    """Optimize a prompt. If a job is restarted, replies that are already stored are reused.

    While an optimizer runs, stdout and stderr are redirected to optimizer.log in the work folder.

    Args:
        settings: Settings that name the model. In a panel, the second judge writes candidate
            instructions.
        work: Folder in which replies are stored.
        corpus: Literature in which the query writer searches.

    Raises:
        InputError: The data is invalid.
        BudgetError: The limit on the cost or on the number of calls was reached. All replies are
            stored.
        ModelError: The model is unavailable.
    """
    steps = steps or Steps()
    opened = _open(job, settings, corpus)
    with Memory(work, steps.paid) as memory, open_loop() as loop:
        budget = Budget(job.max_usd, job.max_calls)
        shared = Shared(loop, memory, budget, settings.judge.max_attempts)
        try:
            return _RunningJob(opened, shared, steps).run(work)
        except JobStopped as stopped:
            loop.wait(shared.settle)
            raise stopped.reason from stopped


def plan_compile_job(
    job: CompileJob, settings: Settings, corpus: Literature | None = None
) -> JobPlan:
    """Estimate the number of model calls of a job, without calling a model.

    Raises:
        InputError: The data is invalid.
    """
    return _open(job, settings, corpus).plan


@dataclass(frozen=True)
class _OpenJob:
    """A job and its data.

    Training data is split into items to learn from and items to compare on.
    """

    job: CompileJob
    settings: Settings
    task: CompileTask
    data: JobData
    taught: Sequence[CompileItem]
    tried: Sequence[CompileItem]
    n_budget: int

    @property
    def plan(self) -> JobPlan:
        """Estimated number of calls and cost of the job."""
        sizes = Sizes(len(self.taught), len(self.tried), self.n_budget)
        return plan_job(
            self.job.optimizer,
            sizes,
            self.task.make_agent(),
            self.data.dev,
            use_base_model(self.settings.build_judge_settings(0)),
            choose_writer_settings(self.settings),
        )


def _open(job: CompileJob, settings: Settings, corpus: Literature | None) -> _OpenJob:
    check_optimizer(job.optimizer)
    count_budget_calls(job.budget, 1)  # Validates the budget before reading the data.
    plain = settings.model_copy(update={"signals": False, "prompts": ()})
    task = create_task(job.agent, build_run(plain.build_judge_settings(0), corpus), job.options)
    data = read_job_data(task, job.data, job.dev, limit=job.limit, seed=job.seed)
    taught, tried = split_halves(data.train, job.seed)
    return _OpenJob(
        job, plain, task, data, taught, tried, count_budget_calls(job.budget, len(tried))
    )


class _RunningJob:
    def __init__(self, opened: _OpenJob, shared: Shared, steps: Steps) -> None:
        self._opened, self._shared, self._steps = opened, shared, steps
        self._job, self._task, self._data = opened.job, opened.task, opened.data
        settings = opened.settings
        own = use_base_model(settings.build_judge_settings(0))
        self._model, self._lm = (
            shorten_model_name(own.judge.model),
            CompilingLM(JudgeLM(own), shared),
        )
        self._writer = CompilingLM(JudgeLM(choose_writer_settings(settings)), shared)
        self._n_threads = min(MOST_THREADS, settings.n_slots)
        self._student = Student(self._task.make_agent())

    def run(self, work: Path) -> CompileResult:
        shipped = extract_predictor(self._student)
        self._steps.planned(self._opened.plan)
        self._steps.phase("the shipped prompt")
        before = self._measure_student(self._student)
        best = self._search(work / "optimizer.log")
        found = extract_predictor(best)
        self._steps.phase("the compiled prompt")
        after = before if found == shipped else self._measure_student(best)
        figures = compare_figures(self._task, before, after)
        self._steps.phase("done")
        train, dev = self._data.train, self._data.dev
        prompt = CompiledPrompt(
            agent=self._student.agent.prompt,
            rubrics=self._task.rubrics,
            predictors={PREDICTOR: found},
            optimizer=self._job.optimizer,
            model=self._model,
            reflection_model=shorten_model_name(self._writer.model),
            seed=self._job.seed,
            budget=self._opened.n_budget,
            n_train=len(train),
            n_dev=len(dev),
            data_sha256=hash_items(train, self._render_items(train)),
            dev_sha256=hash_items(dev, self._render_items(dev)),
            before_sha256=shipped.sha256,
            after_sha256=found.sha256,
            comparisons=figures,
            is_better=found != shipped and is_better(figures[0]),
            usage=self._shared.memory.usage,
            ragassay=importlib.metadata.version("ragassay"),
            packages=find_installed_versions(NOTED_PACKAGES),
        )
        return CompileResult(
            prompt=prompt,
            is_same=found.sha256 == shipped.sha256,
            rejections=self._data.rejections,
            n_shared=self._data.n_shared,
            n_asked=self._shared.memory.n_asked,
        )

    def _search(self, log: Path) -> Student:
        self._steps.phase(self._job.optimizer)
        setup = Search(
            task=self._task,
            taught=self._build_examples(self._opened.taught),
            tried=self._build_examples(self._opened.tried),
            n_budget=self._opened.n_budget,
            seed=self._job.seed,
            n_threads=self._n_threads,
            task_lm=self._lm,
            writer=self._writer,
        )
        return search(self._job.optimizer, self._student, setup, log)

    def _measure_student(self, student: Student):
        return measure(student, self._task, self._data.dev, self._lm, self._n_threads)

    def _build_examples(self, items: Sequence[CompileItem]) -> list[dspy.Example]:
        inputs = self._render_items(items)
        return [build_example(item, shown) for item, shown in zip(items, inputs, strict=True)]

    def _render_items(self, items: Sequence[CompileItem]) -> list[dict[str, str]]:
        return [self._student.agent.request(*item.arguments).inputs for item in items]


def choose_writer_settings(settings: Settings) -> Settings:
    """Return the settings of the model that writes candidates: the panel's second judge, if any."""
    chosen = use_base_model(settings.build_judge_settings(1 if settings.judge.panel else 0))
    longest = WRITTEN_TOKENS_LOCAL if is_local(chosen.judge.model) else WRITTEN_TOKENS
    return chosen.model_copy(update={"max_reply_tokens": longest})


def write_compiled(prompt: CompiledPrompt, path: Path) -> None:
    """Write a compiled prompt to a file atomically.

    Raises:
        InputError: The file cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(prompt.model_dump_json(indent=2) + "\n", encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
