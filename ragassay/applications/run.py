"""Send questions to an application, and evaluate its answers: `run` and `arun`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from ragassay.api import Progress, raise_failures
from ragassay.applications.apps import App, identify_app, load_app
from ragassay.applications.asking import Asking, Parse, ask_all, use_of
from ragassay.applications.retrieval import RetrievalEvaluator
from ragassay.errors import InputError
from ragassay.formats.retrieval import read_qrels
from ragassay.options import Answers, RunKeywords, check_options, document_options, to_tuple
from ragassay.process import run_sync
from ragassay.records import FileFingerprint, Rejection
from ragassay.requests import EvaluationRequest, Request, prepare_run_folder
from ragassay.results import Results
from ragassay.runs.folder import RunFolder
from ragassay.runs.job import convert_questions
from ragassay.runs.progress import Presenter
from ragassay.settings import Settings

if TYPE_CHECKING:
    Queries = Sequence[str] | Answers
    QrelsLike = str | Path | Mapping[str, Mapping[str, int]]
else:
    Queries = QrelsLike = Any


@document_options(RunKeywords)
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
    """Send questions to a RAG application, and evaluate its answers and retrieved sources.

    Unanswered questions are reported as failures, and the other answers are evaluated.
    `results.summary.application` contains latency, tokens and cost. If `out` is set, answers are
    saved to `answers.jsonl` in that folder, and a repeated call only sends the unanswered
    questions. If `retry_failed` is set, questions that failed earlier are sent again.

    Args:
        app: Sync or async function that takes a question, LangChain Runnable, compiled LangGraph
            graph, LlamaIndex query engine, URL that accepts `{"question": ...}` by POST, or the
            `module:name` of such an object. The application should return text, a dictionary
            (answer, response or output; sources, contexts, documents or citations; `cost_usd`), a
            state with messages, a message, a LlamaIndex response, or a `Record`.
        queries: Question texts, a file in any supported format, or rows as in `evaluate`.
            References, gold nuggets, ids and topics in the file or rows are used, but answers are
            ignored.
        parse: Function that converts other return values of the application to a supported form.
        qrels: Relevance judgments by topic or record id, as a dictionary of grades or as a
            trec_eval or BEIR file. With qrels or gold nuggets, the sources are scored by
            `retrieval.precision`, `retrieval.recall` and `retrieval.nDCG`. See
            `RetrievalEvaluator`.
        at_once: Maximum number of concurrent questions. Calls to the judge are limited by
            `concurrency`.
        retries: Maximum number of retries if the application does not answer a question.
        timeout_s: Timeout of a call in seconds, or None for no timeout. After a timeout, a sync
            function keeps running in its thread.
        settings: Settings, as in `evaluate`.
        progress: Progress reporting, as in `evaluate`. Until the application has answered, events
            contain only a phase.
        options: Options of the evaluation, listed below. Options that can be repeated on the
            command line take a list.

    Returns:
        Results, as in `evaluate` for many answers.

    Raises:
        InputError: The application or the questions are invalid.
        RunMismatchError: The folder contains answers from another application, or to other
            questions.
        SettingsError, FatalModelError, UnjudgedError, BelowError, UnmeasuredError: As in
            `evaluate`.
    """
    how: Any = {"parse": parse, "at_once": at_once, "retries": retries, "timeout_s": timeout_s}
    more: Any = {"qrels": qrels, "settings": settings, "progress": progress}
    return run_sync(arun(app, queries, **how, **more, **options))


@document_options(RunKeywords)
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
    """Async version of `run`, with the same arguments, results and errors."""
    check_options(options, RunKeywords)
    how = Asking(parse, at_once, retries, timeout_s)
    presenter = Presenter(progress)
    request = ApplicationRequest.create_request(
        app, queries, how, qrels, options, settings, presenter
    )
    return raise_failures(await request.execute(prepare_run_folder(options), presenter), options)


@dataclass(frozen=True)
class ApplicationRequest(Request[Results]):
    """Request to send questions to an application and evaluate its answers.

    Attributes:
        evaluation: Evaluation request whose job contains the questions.
    """

    evaluation: EvaluationRequest
    app: App
    name: str
    how: Asking

    @classmethod
    def create_request(
        cls,
        app: App,
        queries: Queries,
        how: Asking,
        qrels: QrelsLike | None,
        options: RunKeywords,
        settings: Settings | None,
        presenter: Presenter,
    ) -> ApplicationRequest:
        """Read the questions and create a request."""
        called, name = load_app(app), identify_app(app)
        grades, rejected = _load_grades(qrels)
        own = [*to_tuple(options.get("evaluators")), RetrievalEvaluator(grades)]
        keywords = cast("RunKeywords", {**options, "evaluators": own})
        rows = convert_questions(queries)
        request = EvaluationRequest.from_answers(
            rows, keywords, settings, presenter, answered=False
        )
        job = replace(request.job, rejections=(*request.job.rejections, *rejected))
        # The answers do not exist yet, so the run is identified by application and questions.
        digest = hashlib.sha256(f"{name}\n{job.answers.sha256}".encode()).hexdigest()
        fingerprint = FileFingerprint(
            name=name, sha256=digest, n_items=len(job.records), format="application"
        )
        job = replace(job, answers=fingerprint)
        return cls(replace(request, job=job), called, name, how)

    async def execute(self, folder: RunFolder | None, presenter: Presenter) -> Results:
        """Send the unanswered questions, and evaluate all answers."""
        from ragassay.runs.evaluate import build_manifest

        job, run = self.evaluation.job, self.evaluation.run
        with folder.open_locked(build_manifest(job, run)) if folder else nullcontext():
            with presenter.show_step_bar(len(job.records), "asking") as step:
                asked = await ask_all(self.app, self.name, job.records, self.how, folder, step)
        ids = [record.id for record in job.records]
        job = replace(
            job,
            records=tuple(asked.answers[i] for i in ids if i in asked.answers),
            failures=tuple(asked.failures[i] for i in ids if i in asked.failures),
            application=use_of(self.name, asked),
        )
        return await replace(self.evaluation, job=job).execute(folder, presenter)


def _load_grades(
    qrels: QrelsLike | None,
) -> tuple[Mapping[str, Mapping[str, int]] | None, list[Rejection]]:
    if qrels is None:
        return None, []
    if isinstance(qrels, Mapping):
        return qrels, []
    path = Path(qrels)
    if not path.is_file():
        raise InputError(f"qrels file not found: {path}")
    return read_qrels(path)
