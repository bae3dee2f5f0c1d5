"""Evaluation requests, which read the input, count the model calls and run the evaluation.

The command line, the Python API and the pytest plugin all build these requests. Slow libraries are
imported after the input has been read, so that input errors are reported quickly.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ragassay.errors import InputError
from ragassay.files import limit_line_length
from ragassay.formats.row_mapping import parse_column_map
from ragassay.options import (
    Answers,
    AuditKeywords,
    EvaluateKeywords,
    Keywords,
    RunKeywords,
    create_settings,
    select_custom_evaluators,
)
from ragassay.process import delay_collection, speed_up_import
from ragassay.records import Paper, QAPair
from ragassay.runs.folder import RunFolder
from ragassay.runs.job import Job, read_job
from ragassay.runs.progress import Presenter
from ragassay.settings import Settings

if TYPE_CHECKING:
    from ragassay.evaluators.base import Run
    from ragassay.qa.evaluate import InputPairs, JudgedPairs
    from ragassay.results import Results
    from ragassay.retrievers.literature import Literature
    from ragassay.runs.audit_job import AuditJob, AuditOptions
    from ragassay.runs.evaluate import Plan
    from ragassay.runs.gates import Threshold
    from ragassay.studies.audit import AuditResult
    from ragassay.workbench.grading import Graded

T = TypeVar("T")

REST = "ragassay.runs.evaluate"
"""Module whose import also loads the remaining dependencies of a run."""


class Request(Generic[T]):
    """Request for an evaluation, with validated input.

    `plan` counts the model calls and `execute` makes them.
    """

    run: Run

    @property
    def models(self) -> tuple[str, ...]:
        """Models called by the request."""
        return self.run.settings.judge.judges

    def plan(self) -> Plan:
        """Count the calls and tokens without calling a model."""
        raise NotImplementedError

    async def execute(self, folder: RunFolder | None, presenter: Presenter) -> T:
        """Run the request. If a run folder is given, results are stored in it and reused."""
        raise NotImplementedError


@dataclass(frozen=True)
class EvaluationRequest(Request["Results"]):
    """Request to evaluate answers.

    Attributes:
        n_audited: Number of answers to perturb after the evaluation to audit the judge.
        n_times: Number of times to judge each answer.
    """

    job: Job
    run: Run
    thresholds: Sequence[Threshold] = ()
    n_audited: int = 0
    n_times: int = 1

    @classmethod
    def from_answers(
        cls,
        answers: Answers,
        options: RunKeywords,
        settings: Settings | None,
        presenter: Presenter,
        *,
        answered: bool = True,
    ) -> EvaluationRequest:
        """Read the answers and the corpus, and load the evaluators."""
        job, resolved = read_input(answers, options, settings, presenter, answered=answered)
        run = open_run(resolved, options, presenter, job.corpus)
        # Imported late because it imports the evaluators.
        from ragassay.runs.gates import read_thresholds

        return cls(
            job,
            run,
            read_thresholds(options.get("fail_under"), run, presenter.style),
            options.get("audit") or 0,
            options.get("repeat") or 1,
        )

    def plan(self) -> Plan:
        """Count the calls and tokens, including repeats and the audit."""
        from ragassay.runs.evaluate import plan

        found = once = plan(self.job, self.run)
        for _ in range(1, self.n_times):
            found += once
        if self.n_audited:
            from ragassay.runs.audit_job import AuditOptions, build_audit_job
            from ragassay.studies.audit import plan_audit

            options = AuditOptions(self.n_audited)
            perturbed = build_audit_job(self.job, self.run, options, is_judged=True)
            found += plan_audit(perturbed, self.run)
        return found

    async def execute(
        self, folder: RunFolder | None, presenter: Presenter, kind: type[Results] | None = None
    ) -> Results:
        """Judge the answers, repeat and audit if requested, and check the thresholds."""
        from ragassay.results import Results
        from ragassay.runs.evaluate import run_job

        job, run = self.job, self.run
        with presenter.show_bar(len(job.records), "evaluating") as listen:
            found = await run_job(job, run, folder, listen)
        presenter.show(found)
        repeats = audit = None
        if self.n_times > 1 and found.evaluations:
            from ragassay.studies.repeats import repeat_run

            n_again = len(job.records) * (self.n_times - 1)
            with presenter.show_bar(n_again, "judging again") as listen:
                repeats = await repeat_run(job, found, run, self.n_times, folder, listen)
            presenter.show(repeats)
        if self.n_audited and found.evaluations:
            from ragassay.runs.audit_job import AuditOptions
            from ragassay.studies.audit import audit_run_judge, prepare_run_audit

            perturbed = prepare_run_audit(job, found, run, AuditOptions(self.n_audited))
            with presenter.show_bar(len(perturbed.asks), "auditing") as listen:
                audit = (await audit_run_judge(perturbed, found, run, folder, listen)).audit
            presenter.show(audit)
        verdicts = [threshold.check_summary(found.summary) for threshold in self.thresholds]
        return (kind or Results)(found, audit, repeats, verdicts)


@dataclass(frozen=True)
class SimpleRequest(Request[T]):
    """Request that runs in a single stage.

    Attributes:
        start: Function that runs the request, called with the arguments `folder` and `listen`.
        writers: Models called in addition to the judges.
    """

    run: Run
    count: Callable[[], Plan]
    start: Callable[..., Coroutine[Any, Any, T]]
    n_items: int
    description: str
    writers: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Models called by the request."""
        return tuple(dict.fromkeys((*super().models, *self.writers)))

    def plan(self) -> Plan:
        """Count the calls and tokens."""
        return self.count()

    async def execute(self, folder: RunFolder | None, presenter: Presenter) -> T:
        """Run the request and show one progress bar."""
        with presenter.show_bar(self.n_items, self.description) as listen:
            return await self.start(folder=folder, listen=listen)


def request_audit(
    answers: Answers,
    options: AuditKeywords,
    settings: Settings | None,
    presenter: Presenter,
) -> SimpleRequest[AuditResult]:
    """Read answers, and perturb them to test which errors a judge detects. See `ragassay.audit`."""
    every: Any = {**options, "limit": None}
    job, resolved = read_input(answers, every, settings, presenter)
    run = open_run(resolved, options, presenter, job.corpus)
    from ragassay.runs.audit_job import build_audit_job, build_audit_options

    return _build_audit_request(build_audit_job(job, run, build_audit_options(options)), run)


def request_pairs_audit(
    pairs: Path,
    papers: Path | None,
    perturbation: AuditOptions,
    options: EvaluateKeywords,
    presenter: Presenter,
) -> SimpleRequest[AuditResult]:
    """Read and perturb question-answer pairs, which the judge rates together with their papers."""
    from ragassay.qa.audit import PART, build_pairs_audit_job

    input_pairs, run = _read_pairs(pairs, papers, {**options, "only": (PART,)}, None, presenter)
    return _build_audit_request(build_pairs_audit_job(input_pairs, perturbation), run)


def _build_audit_request(perturbed: AuditJob, run: Run) -> SimpleRequest[AuditResult]:
    from ragassay.studies.audit import get_paraphraser_name, plan_audit, run_audit

    return SimpleRequest(
        run,
        partial(plan_audit, perturbed, run),
        partial(run_audit, perturbed, run),
        len(perturbed.asks),
        "auditing",
        tuple(filter(None, [get_paraphraser_name(perturbed)])),
    )


def request_grading(
    responses: Sequence[Path],
    options: EvaluateKeywords,
    settings: Settings | None,
    presenter: Presenter,
    *,
    words: int,
    depth: int,
    like_original: bool = False,
) -> SimpleRequest[Graded]:
    """Read passages and their grading questions. See `ragassay.grade`."""
    from ragassay.evaluators.build_run import build_run
    from ragassay.runs.evaluate import plan
    from ragassay.workbench.grading import (
        build_grading_job,
        build_grading_settings,
        grade_passages,
        prepare_passages,
    )

    resolved = build_grading_settings(options, settings, presenter.style)
    with limit_line_length(resolved.limits.max_line_bytes):
        passages = prepare_passages(
            responses, options, most_words=words, depth=depth, settings=resolved
        )
    presenter.note_input(passages.rejections, passages.note)
    run = build_run(resolved)
    return SimpleRequest(
        run,
        lambda: plan(build_grading_job(passages, run), run),
        partial(grade_passages, passages, run, like_original=like_original),
        len(passages.records),
        "grading passages",
    )


def request_pairs(
    pairs: str | Path | Sequence[QAPair],
    papers: str | Path | Sequence[Paper] | None,
    options: EvaluateKeywords,
    settings: Settings | None,
    presenter: Presenter,
) -> SimpleRequest[JudgedPairs]:
    """Read question-answer pairs and their papers. See `ragassay.evaluate_pairs`."""
    from ragassay.qa.evaluate import build_pairs_job, judge_pairs
    from ragassay.runs.evaluate import plan

    input_pairs, run = _read_pairs(pairs, papers, options, settings, presenter)
    return SimpleRequest(
        run,
        lambda: plan(build_pairs_job(input_pairs), run),
        partial(judge_pairs, input_pairs, run),
        len(input_pairs.papers),
        "judging papers",
    )


def _read_pairs(
    pairs: str | Path | Sequence[QAPair],
    papers: str | Path | Sequence[Paper] | None,
    options: EvaluateKeywords,
    settings: Settings | None,
    presenter: Presenter,
) -> tuple[InputPairs, Run]:
    from ragassay.qa.evaluate import build_pairs_settings, read_paper_pairs

    resolved = build_pairs_settings(options, settings, presenter.style)
    with limit_line_length(resolved.limits.max_line_bytes):
        input_pairs = read_paper_pairs(pairs, papers).limit_papers(options.get("limit"))
    presenter.note_input(input_pairs.rejections)
    return input_pairs, open_run(resolved, options, presenter)


def read_input(
    answers: Answers,
    options: EvaluateKeywords,
    settings: Settings | None,
    presenter: Presenter,
    *,
    answered: bool = True,
) -> tuple[Job, Settings]:
    """Read the answers and the corpus as `read_job` does, and report rejected records."""
    with presenter.announce_phase("reading answers and corpus"):
        resolved = create_settings(options, settings, presenter.style)
        nuggets = options.get("nuggets") or None
        if nuggets is not None and not isinstance(nuggets, str | Path):
            raise InputError("with many answers, pass a nugget file instead of a list of nuggets")
        with limit_line_length(resolved.limits.max_line_bytes):
            job = read_job(
                answers,
                options.get("corpus"),
                limit=options.get("limit"),
                questions=options.get("questions"),
                nuggets=nuggets,
                testbank=options.get("testbank"),
                settings=resolved,
                answered=answered,
                columns=parse_column_map(options.get("column_map")),
            )
    presenter.note_input(job.rejections, job.note)
    return job, resolved


def open_run(
    settings: Settings,
    options: Keywords,
    presenter: Presenter,
    corpus: Literature | None = None,
) -> Run:
    """Import the libraries of a run and build its evaluators, or raise `SettingsError`."""
    with presenter.announce_phase("loading libraries"), delay_collection():
        with speed_up_import(REST):
            from ragassay.evaluators.build_run import build_run

            importlib.import_module(REST)
        return build_run(settings, corpus, *select_custom_evaluators(options))


def prepare_run_folder(options: Keywords) -> RunFolder | None:
    """Return the run folder, if any, and delete stored failures if `retry_failed` is set."""
    out = options.get("out")
    if out is None:
        return None
    folder = RunFolder(Path(out))
    if options.get("retry_failed"):
        from ragassay.studies.audit import forget_failed_paraphrases

        folder.forget_failures()
        folder.audit_folder.forget_failures()
        for repetition in folder.repeat_folders():
            repetition.forget_failures()
        forget_failed_paraphrases(folder.path)
    return folder
