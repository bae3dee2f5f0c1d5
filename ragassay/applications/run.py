"""`run` and `arun`: ask an application, then evaluate what it answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from ragassay.api import Progress, raise_where_asked
from ragassay.applications.apps import App, app_name, found_app
from ragassay.applications.asking import Asking, Parse, ask_all, use_of
from ragassay.applications.retrieval import RetrievalEvaluator
from ragassay.errors import InputError
from ragassay.formats.retrieval import read_qrels
from ragassay.options import Answers, RunKeywords, check_options, several, shows
from ragassay.process import run_sync
from ragassay.records import FileFingerprint, Rejection
from ragassay.requests import EvaluationRequest, Request, folder_of
from ragassay.results import Results
from ragassay.runs.folder import RunFolder
from ragassay.runs.job import Job, question_rows
from ragassay.runs.progress import Presenter
from ragassay.settings import Settings

if TYPE_CHECKING:
    Queries = Sequence[str] | Answers
    QrelsLike = str | Path | Mapping[str, Mapping[str, int]]
else:
    Queries = QrelsLike = Any


@shows(RunKeywords)
def run(
    app: App,
    queries: Queries,
    *,
    parse: Parse | None = None,
    qrels: QrelsLike | None = None,
    at_once: int = 8,
    retries: int = 0,
    timeout_s: float | None = 300.0,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Results:
    """Ask a RAG application questions, and evaluate its answers and what it retrieved.

    A question that the application does not answer is a failure: it is kept, counted and shown, and
    the others are evaluated. `results.summary.application` has latency, tokens and cost. With
    `out`, answers are kept in `answers.jsonl` there, and the same call again asks only what has no
    answer yet; `retry_failed` also asks again what failed.

    Args:
        app: An async or plain function of the question; a Runnable of LangChain; a compiled graph
            of LangGraph; a query engine of LlamaIndex; a URL that takes `{"question": ...}` by
            POST; or `module:name` of one of these. It returns text, a dictionary (answer, response
            or output; sources, contexts, documents or citations; `cost_usd`), a state with
            messages, a message, a response of LlamaIndex, or a `Record`.
        queries: Texts, a file in any known format, or rows as for `evaluate`; references, gold
            nuggets, ids and topics are kept, answers are not read.
        parse: Makes one of these returns of anything else.
        qrels: Judged documents, by topic or record id: a file of trec_eval or BEIR, or grades.
            With them, or gold nuggets, the scores `retrieval.precision`, `retrieval.recall` and
            `retrieval.nDCG` measure the sources; see `RetrievalEvaluator`.
        at_once: Most questions at once. `concurrency` limits the judge's calls.
        retries: How often a question is asked again that got no answer.
        timeout_s: Most seconds for one call; None for no limit. A plain function goes on in its
            thread, but is no longer waited for.
        settings: As for `evaluate`.
        progress: As for `evaluate`; while the application is asked, events have a phase only.
        options: See below; give a list for an option that can be repeated on the command line.

    Returns:
        As `evaluate` for many answers.

    Raises:
        InputError: The application or the questions cannot be used.
        RunMismatchError: The folder has another application's or other questions' answers.
        SettingsError, FatalModelError, UnjudgedError, BelowError, UnmeasuredError: As for
            `evaluate`.
    """
    how: Any = {"parse": parse, "at_once": at_once, "retries": retries, "timeout_s": timeout_s}
    more: Any = {"qrels": qrels, "settings": settings, "progress": progress}
    return run_sync(arun(app, queries, **how, **more, **options))


@shows(RunKeywords)
async def arun(
    app: App,
    queries: Queries,
    *,
    parse: Parse | None = None,
    qrels: QrelsLike | None = None,
    at_once: int = 8,
    retries: int = 0,
    timeout_s: float | None = 300.0,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[RunKeywords],
) -> Results:
    """Run `run` inside a running event loop; same arguments, results and errors."""
    check_options(options, RunKeywords)
    how = Asking(parse, at_once, retries, timeout_s)
    presenter = Presenter(progress)
    request = ApplicationRequest.of(app, queries, how, qrels, options, settings, presenter)
    return raise_where_asked(await request.run(folder_of(options), presenter), options)


@dataclass(frozen=True)
class ApplicationRequest(Request[Results]):
    """Questions to an application, whose answers are evaluated.

    Attributes:
        evaluation: The evaluation; its job has the questions.
    """

    evaluation: EvaluationRequest
    app: App
    name: str
    how: Asking

    @classmethod
    def of(
        cls,
        app: App,
        queries: Queries,
        how: Asking,
        qrels: QrelsLike | None,
        options: RunKeywords,
        settings: Settings | None,
        presenter: Presenter,
    ) -> ApplicationRequest:
        """Read the questions; see `run` for the arguments and errors."""
        called, name = found_app(app), app_name(app)
        grades, rejected = _grades(qrels)
        own = [*several(options.get("evaluators")), RetrievalEvaluator(grades)]
        keywords = cast("RunKeywords", {**options, "evaluators": own})
        rows = question_rows(queries)
        request = EvaluationRequest.of(rows, keywords, settings, presenter, answered=False)
        job = replace(request.job, rejections=(*request.job.rejections, *rejected))
        return cls(replace(request, job=_identify_run(job, name)), called, name, how)

    async def run(self, folder: RunFolder | None, presenter: Presenter) -> Results:
        """Ask the questions that have no answer in the folder, and evaluate all answers."""
        from ragassay.runs.evaluate import manifest_of

        job, tools = self.evaluation.job, self.evaluation.tools
        with folder.open_locked(manifest_of(job, tools)) if folder else nullcontext():
            with presenter.steps(len(job.records), "asking") as step:
                asked = await ask_all(self.app, self.name, job.records, self.how, folder, step)
        ids = [record.id for record in job.records]
        job = replace(
            job,
            records=tuple(asked.answers[i] for i in ids if i in asked.answers),
            failures=tuple(asked.failures[i] for i in ids if i in asked.failures),
            application=use_of(self.name, asked),
        )
        return await replace(self.evaluation, job=job).run(folder, presenter)


def _identify_run(job: Job, name: str) -> Job:
    """Identify a run by its application and questions: its answers come to be as it runs."""
    digest = hashlib.sha256(f"{name}\n{job.answers.sha256}".encode()).hexdigest()
    fingerprint = FileFingerprint(
        name=name, sha256=digest, n_items=len(job.records), format="application"
    )
    return replace(job, answers=fingerprint)


def _grades(
    qrels: QrelsLike | None,
) -> tuple[Mapping[str, Mapping[str, int]] | None, list[Rejection]]:
    if qrels is None:
        return None, []
    if isinstance(qrels, Mapping):
        return qrels, []
    path = Path(qrels)
    if not path.is_file():
        raise InputError(f"{path} is not a file of judged documents")
    return read_qrels(path)
