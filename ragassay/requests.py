"""Requests to judge something: each reads its input, counts its calls, and runs.

The command line, Python's functions and the pytest plugin make the same requests and run them here;
they only read arguments and show what was found. Libraries that take seconds to load are imported
after the input was read.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ragassay.errors import InputError
from ragassay.formats.column_map import column_map
from ragassay.garbage import patient_collector
from ragassay.limits import line_limit
from ragassay.options import (
    Answers,
    AuditKeywords,
    EvaluateKeywords,
    Keywords,
    RunKeywords,
    own_of,
    settings_of,
)
from ragassay.records import Paper, QAPair
from ragassay.results import Results
from ragassay.runs.folder import RunFolder
from ragassay.runs.job import Job, read_job
from ragassay.runs.progress import Presenter
from ragassay.runs.thresholds import Threshold, thresholds_of
from ragassay.settings import Settings
from ragassay.text.cutting import PASSAGE_WORDS

if TYPE_CHECKING:
    from ragassay.evaluators.toolbox import Toolbox
    from ragassay.retrievers.literature import Literature
    from ragassay.runs.audit import AuditResult
    from ragassay.runs.audit_job import AuditJob, AuditOptions
    from ragassay.runs.evaluate import Plan
    from ragassay.runs.grading import Graded
    from ragassay.runs.passages import Passages
    from ragassay.runs.qa.evaluate import JudgedPairs
    from ragassay.runs.qa.inputs import GivenPairs

T = TypeVar("T")

QUIET = Presenter()
"""Shows no progress, and warns of how the input was read."""


class Request(Generic[T]):
    """Something to judge, read and checked, and what judges it."""

    tools: Toolbox

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are asked."""
        return self.tools.settings.judges

    def plan(self) -> Plan:
        """Count the calls and tokens that it would take, without asking a model."""
        raise NotImplementedError

    async def run(self, folder: RunFolder | None, presenter: Presenter = QUIET) -> T:
        """Judge it.

        Args:
            folder: Where finished work is kept; None to keep nothing.
            presenter: Shows the progress.

        Raises:
            RunMismatchError: The folder contains another run.
            FatalModelError: A model is unavailable.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class EvaluationRequest(Request[Results]):
    """Answers to evaluate.

    Attributes:
        job: The answers and their corpus.
        tools: What judges them.
        thresholds: Least means.
        n_audited: Answers of the run that are then damaged, to audit the judge; 0 for none.
        n_times: How often each answer is judged.
    """

    job: Job
    tools: Toolbox
    thresholds: Sequence[Threshold] = ()
    n_audited: int = 0
    n_times: int = 1

    @classmethod
    def of(
        cls,
        answers: Answers,
        options: RunKeywords,
        settings: Settings | None = None,
        presenter: Presenter = QUIET,
        *,
        answered: bool = True,
    ) -> EvaluationRequest:
        """Read the answers and the corpus, and load what judges them.

        Args:
            answers: As for `ragassay.evaluate`.
            options: The given options.
            settings: The settings that the options change.
            presenter: Shows what was read.
            answered: As for `read_job`.

        Raises:
            InputError: The data cannot be used, or a threshold names no score or needs a judge.
            SettingsError: A setting is wrong.
        """
        job, chosen = read_input(answers, options, settings, presenter, answered=answered)
        tools = open_tools(chosen, options, presenter, job.corpus)
        return cls(
            job,
            tools,
            thresholds_of(options.get("fail_under"), tools, presenter.spelled),
            options.get("audit") or 0,
            options.get("repeat") or 1,
        )

    def plan(self) -> Plan:
        """Count calls and tokens, those of repetitions and of the audit too."""
        from ragassay.runs.audit import plan_audit
        from ragassay.runs.audit_job import AuditOptions, audit_job
        from ragassay.runs.evaluate import plan

        found = once = plan(self.job, self.tools)
        for _ in range(1, self.n_times):
            found += once
        if self.n_audited:
            options = AuditOptions(self.n_audited)
            damaged = audit_job(self.job, self.tools, options, is_judged=True)
            found += plan_audit(damaged, self.tools)
        return found

    async def run(
        self,
        folder: RunFolder | None,
        presenter: Presenter = QUIET,
        kind: type[Results] = Results,
    ) -> Results:
        """Judge the answers, judge them again, audit the judge, and compare with the thresholds.

        Args:
            folder: As for every request.
            presenter: Shows the progress, and what each stage has found.
            kind: The class of the results.

        Raises:
            RunMismatchError, FatalModelError: As for every request.
        """
        from ragassay.runs.audit import audit_of_run, job_of_run
        from ragassay.runs.audit_job import AuditOptions
        from ragassay.runs.evaluate import run
        from ragassay.runs.repeats import repeat_run

        job, tools = self.job, self.tools
        with presenter.bar(len(job.records), "evaluating") as listen:
            found = await run(job, tools, folder, listen)
        presenter.show(found)
        repeats = audit = None
        if self.n_times > 1 and found.evaluations:
            n_again = len(job.records) * (self.n_times - 1)
            with presenter.bar(n_again, "judging again") as listen:
                repeats = await repeat_run(job, found, tools, self.n_times, folder, listen)
            presenter.show(repeats)
        if self.n_audited and found.evaluations:
            damaged = job_of_run(job, found, tools, AuditOptions(self.n_audited))
            with presenter.bar(len(damaged.asks), "auditing") as listen:
                audit = (await audit_of_run(damaged, found, tools, folder, listen)).audit
            presenter.show(audit)
        verdicts = [threshold.verdict(found.summary) for threshold in self.thresholds]
        return kind(found, audit, repeats, verdicts)


@dataclass(frozen=True)
class AuditRequest(Request["AuditResult"]):
    """Answers to damage, to see what a judge detects.

    Attributes:
        job: Whole and damaged answers.
        tools: What judges them.
    """

    job: AuditJob
    tools: Toolbox

    @classmethod
    def of(
        cls,
        answers: Answers,
        options: AuditKeywords,
        settings: Settings | None = None,
        presenter: Presenter = QUIET,
    ) -> AuditRequest:
        """Read and damage answers; arguments and errors are those of `EvaluationRequest.of`."""
        every: Any = {**options, "limit": None}
        job, chosen = read_input(answers, every, settings, presenter)
        tools = open_tools(chosen, options, presenter, job.corpus)
        from ragassay.runs.audit_job import audit_job, audit_options

        return cls(audit_job(job, tools, audit_options(options)), tools)

    @classmethod
    def of_pairs(
        cls,
        pairs: Path,
        papers: Path | None,
        damage: AuditOptions,
        options: EvaluateKeywords,
        presenter: Presenter = QUIET,
    ) -> AuditRequest:
        """Read question-answer pairs and damage them; a judge rates each alone with its paper."""
        from ragassay.runs.qa.audit import PART, pairs_audit_job

        only: EvaluateKeywords = {**options, "only": (PART,), "limit": None}
        whole = PairsRequest.of(pairs, papers, only, None, presenter)
        return cls(pairs_audit_job(whole.given, damage), whole.tools)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are asked, and the one that paraphrases."""
        from ragassay.runs.paraphrasing import paraphraser_name

        writer = filter(None, [paraphraser_name(self.job)])
        return tuple(dict.fromkeys((*super().models, *writer)))

    def plan(self) -> Plan:
        """Count calls and tokens, those of a paraphraser too."""
        from ragassay.runs.audit import plan_audit

        return plan_audit(self.job, self.tools)

    async def run(self, folder: RunFolder | None, presenter: Presenter = QUIET) -> AuditResult:
        """Judge whole and damaged answers; see `run_audit`."""
        from ragassay.runs.audit import run_audit

        with presenter.bar(len(self.job.asks), "auditing") as listen:
            return await run_audit(self.job, self.tools, folder, listen)


@dataclass(frozen=True)
class GradingRequest(Request["Graded"]):
    """Passages to grade.

    Attributes:
        passages: What is graded, and by what.
        tools: What grades.
        like_original: Whether a grade that could not be had becomes 1 and correct.
    """

    passages: Passages
    tools: Toolbox
    like_original: bool = False

    @classmethod
    def of(
        cls,
        responses: Sequence[Path],
        options: EvaluateKeywords,
        settings: Settings | None = None,
        presenter: Presenter = QUIET,
        *,
        words: int = PASSAGE_WORDS,
        depth: int = 20,
        like_original: bool = False,
    ) -> GradingRequest:
        """Read passages and what they are graded by; see `ragassay.grade`."""
        from ragassay.runs.grading import prepared_grading

        passages, tools = prepared_grading(
            responses,
            options,
            most_words=words,
            depth=depth,
            settings=settings,
            spelled=presenter.spelled,
        )
        presenter.note_input(passages.rejections, passages.note)
        return cls(passages, tools, like_original)

    def plan(self) -> Plan:
        """Count calls and tokens."""
        from ragassay.runs.evaluate import plan
        from ragassay.runs.grading import grading_job

        return plan(grading_job(self.passages, self.tools), self.tools)

    async def run(self, folder: RunFolder | None, presenter: Presenter = QUIET) -> Graded:
        """Grade the passages; see `grade_passages`."""
        from ragassay.runs.grading import grade_passages

        with presenter.bar(len(self.passages.records), "grading passages") as listen:
            return await grade_passages(
                self.passages, self.tools, folder, listen, like_original=self.like_original
            )


@dataclass(frozen=True)
class PairsRequest(Request["JudgedPairs"]):
    """Question-answer pairs to measure and rate.

    Attributes:
        given: The papers with their pairs.
        tools: What rates them.
    """

    given: GivenPairs
    tools: Toolbox

    @classmethod
    def of(
        cls,
        pairs: str | Path | Sequence[QAPair],
        papers: str | Path | Sequence[Paper] | None,
        options: EvaluateKeywords,
        settings: Settings | None = None,
        presenter: Presenter = QUIET,
    ) -> PairsRequest:
        """Read pairs and their papers; see `ragassay.evaluate_pairs`."""
        from ragassay.runs.qa.evaluate import pairs_settings
        from ragassay.runs.qa.inputs import read_paper_pairs

        chosen = pairs_settings(options, settings, presenter.spelled)
        with line_limit(chosen.max_line_bytes):
            given = read_paper_pairs(pairs, papers).first(options.get("limit"))
        presenter.note_input(given.rejections)
        return cls(given, open_tools(chosen, options, presenter))

    def plan(self) -> Plan:
        """Count calls and tokens."""
        from ragassay.runs.evaluate import plan
        from ragassay.runs.qa.inputs import pairs_job

        return plan(pairs_job(self.given), self.tools)

    async def run(self, folder: RunFolder | None, presenter: Presenter = QUIET) -> JudgedPairs:
        """Measure and rate the pairs; see `judge_pairs`."""
        from ragassay.runs.qa.evaluate import judge_pairs

        with presenter.bar(len(self.given.papers), "judging papers") as listen:
            return await judge_pairs(self.given, self.tools, folder, listen)


def read_input(
    answers: Answers,
    options: EvaluateKeywords,
    settings: Settings | None = None,
    presenter: Presenter = QUIET,
    *,
    answered: bool = True,
) -> tuple[Job, Settings]:
    """Read answers and the corpus, and show what could not be read.

    Args:
        answers: As for `read_job`.
        options: The given options.
        settings: The settings that the options change.
        presenter: Shows what was read.
        answered: As for `read_job`.

    Raises:
        InputError: The data cannot be used.
        SettingsError: A setting is wrong.
    """
    with presenter.phase("reading answers and corpus"):
        chosen = settings_of(options, settings, presenter.spelled)
        nuggets = options.get("nuggets") or None
        if nuggets is not None and not isinstance(nuggets, str | Path):
            raise InputError("many answers take a file of nuggets, one answer takes a list of them")
        with line_limit(chosen.max_line_bytes):
            job = read_job(
                answers,
                options.get("corpus"),
                limit=options.get("limit"),
                questions=options.get("questions"),
                nuggets=nuggets,
                testbank=options.get("testbank"),
                settings=chosen,
                answered=answered,
                columns=column_map(options.get("column_map")),
            )
    presenter.note_input(job.rejections, job.note)
    return job, chosen


def open_tools(
    settings: Settings,
    options: Keywords,
    presenter: Presenter = QUIET,
    corpus: Literature | None = None,
) -> Toolbox:
    """Load the libraries of a run, and return what judges.

    Raises:
        SettingsError: As for `Toolbox.of`.
    """
    with presenter.phase("loading libraries"), patient_collector():
        from ragassay.evaluators.toolbox import Toolbox

        importlib.import_module("ragassay.runs.audit")  # the rest of what a run needs
        return Toolbox.of(settings, corpus, *own_of(options))


def folder_of(options: Keywords) -> RunFolder | None:
    """Return a run's folder, without its failures if they are to be retried."""
    out = options.get("out")
    if out is None:
        return None
    folder = RunFolder(Path(out))
    if options.get("retry_failed"):
        from ragassay.runs.paraphrasing import forget_failed_paraphrases

        folder.forget_failures()
        folder.audit_folder.forget_failures()
        for repetition in folder.repeat_folders():
            repetition.forget_failures()
        forget_failed_paraphrases(folder.path)
    return folder
