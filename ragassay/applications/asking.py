"""Send many questions to an application, and save each answer or failure immediately."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragassay.applications.apps import App, AppAnswer, AppReply, Caller, open_app, read_reply
from ragassay.errors import InputError, RunMismatchError
from ragassay.formats.problems import detect_empty_answer
from ragassay.formats.replies import UNREAD_CITATIONS
from ragassay.records import ApplicationUse, Failure, FailureReason, Record, RecordFailure
from ragassay.runs.folder import RunFolder, append_line, read_lines
from ragassay.safe_text import hide_secrets

ANSWERS_FILE = "answers.jsonl"
STAGE = "ask"

Parse = Callable[[Any], Any]


@dataclass(frozen=True)
class Asking:
    """Options for calling an application.

    Attributes:
        parse: Function that converts replies to a form supported by `read_reply`.
        at_once: Maximum number of concurrent questions.
        retries: Maximum number of retries if the application does not answer a question.
        timeout_s: Timeout of a call in seconds, or None for no timeout.
    """

    parse: Parse | None = None
    at_once: int = 8
    retries: int = 0
    timeout_s: float | None = 300.0

    def __post_init__(self) -> None:
        """Validate the options."""
        if self.at_once < 1:
            raise InputError(f"`at_once=` must be at least 1, got {self.at_once}")
        if self.retries < 0:
            raise InputError(f"`retries=` must be at least 0, got {self.retries}")
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise InputError(f"`timeout_s=` must be positive, got {self.timeout_s:g}")


@dataclass
class AskedQuestions:
    """Answers from an application and failed calls, keyed by record id."""

    answers: dict[str, Record] = field(default_factory=dict)
    failures: dict[str, RecordFailure] = field(default_factory=dict)


async def ask_all(
    app: App,
    name: str,
    questions: Sequence[Record],
    how: Asking,
    folder: RunFolder | None = None,
    step: Callable[[], None] = lambda: None,
) -> AskedQuestions:
    """Send the questions without an answer in the folder to an application.

    Args:
        questions: Records without an answer, with unique ids.
        folder: Run folder in which to save answers (`answers.jsonl`) and failures.
        step: Function to call after each question.

    Raises:
        RunMismatchError: The folder contains answers from another application.
    """
    asked = _read_earlier_answers(folder, name, questions)
    waiting = [q for q in questions if q.id not in asked.answers | asked.failures]
    slots = asyncio.Semaphore(how.at_once)

    async def ask(caller: Caller, question: Record) -> None:
        async with slots:
            outcome = await _ask_question(caller, name, question, how)
        if isinstance(outcome, Record):
            asked.answers[question.id] = outcome
        else:
            asked.failures[question.id] = outcome
        if folder is not None:
            is_answer = isinstance(outcome, Record)
            append_line(_locate_answers(folder) if is_answer else folder.failures_file, outcome)
        step()

    async with open_app(app, how.at_once) as caller, asyncio.TaskGroup() as group:
        for question in waiting:
            group.create_task(ask(caller, question))
    return asked


def _locate_answers(folder: RunFolder) -> Path:
    return folder.path / ANSWERS_FILE


def _read_earlier_answers(
    folder: RunFolder | None, name: str, questions: Sequence[Record]
) -> AskedQuestions:
    if folder is None:
        return AskedQuestions()
    texts = {question.id: question.question for question in questions}
    known = read_lines(_locate_answers(folder), Record)
    other = next((r.metadata["app"] for r in known if r.metadata.get("app") != name), None)
    if other is not None:
        raise RunMismatchError(
            f"{folder.path} contains answers from {other}, not from {name}; choose another folder"
        )
    return AskedQuestions(
        {r.id: r for r in known if texts.get(r.id) == r.question},
        {
            f.record_id: f
            for f in folder.read_failures()
            if f.stage == STAGE and f.record_id in texts
        },
    )


async def _ask_question(
    caller: Caller, name: str, question: Record, how: Asking
) -> Record | RecordFailure:
    failure = Failure(reason="error")
    for _ in range(1 + how.retries):
        started, limit = time.perf_counter(), asyncio.timeout(how.timeout_s)
        try:
            async with limit:
                reply = await caller(question.question)
            latency_s = time.perf_counter() - started
            record = _build_record(question, name, reply, latency_s, how.parse)
        except Exception as error:
            if limit.expired():
                detail = f"no answer within {how.timeout_s:g} s"
                failure = Failure(reason="timeout", detail=detail)
            else:
                detail = hide_secrets(f"{type(error).__name__}: {error}")[:400]
                failure = Failure(reason=_classify_error(error), detail=detail)
        else:
            problem = detect_empty_answer(record)
            if problem is None:
                return record
            failure = Failure(reason="empty_answer", detail="the application returned no text")
    return RecordFailure(record_id=question.id, stage=STAGE, failure=failure)


def _build_record(
    question: Record, name: str, reply: AppReply, latency_s: float, parse: Parse | None
) -> Record:
    answer: AppAnswer = read_reply(parse(reply.value) if parse else reply.value)
    fields: dict[str, Any] = {"latency_s": round(latency_s, 4)}
    for field_name in ("cost_usd", "n_prompt_tokens", "n_completion_tokens"):
        value = getattr(answer, field_name)
        fields[field_name] = getattr(reply.usage, field_name, None) if value is None else value
    fields["app"] = name
    metadata = {key: str(value) for key, value in fields.items() if value is not None}
    if answer.problems:
        metadata[UNREAD_CITATIONS] = json.dumps(answer.problems)
    return question.model_copy(
        update={
            "answer": answer.answer,
            "sources": answer.sources,
            "citations": answer.citations,
            "system": question.system or name,
            "metadata": question.metadata | metadata,
        }
    )


def _classify_error(error: Exception) -> FailureReason:
    import httpx

    if isinstance(error, InputError):
        return "unparsable"
    if isinstance(error, httpx.HTTPStatusError):
        code = error.response.status_code
        return "rate_limit" if code == 429 else "server_error" if code >= 500 else "refused"
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return "timeout"
    is_transport = isinstance(error, ConnectionError | httpx.TransportError)
    return "connection" if is_transport else "error"


def use_of(name: str, asked: AskedQuestions) -> ApplicationUse:
    """Return the latency, tokens and cost of an application's answers."""
    import numpy as np

    fields = [record.metadata for record in asked.answers.values()]
    times = [float(one["latency_s"]) for one in fields if "latency_s" in one]
    costs = [float(one["cost_usd"]) for one in fields if "cost_usd" in one]
    p50, p95 = np.percentile(times, (50, 95)).round(4).tolist() if times else (None, None)
    return ApplicationUse(
        name=name,
        n_asked=len(asked.answers) + len(asked.failures),
        n_failed=len(asked.failures),
        latency_p50_s=p50,
        latency_p95_s=p95,
        n_prompt_tokens=sum(int(one.get("n_prompt_tokens", 0)) for one in fields),
        n_completion_tokens=sum(int(one.get("n_completion_tokens", 0)) for one in fields),
        n_priced=len(costs),
        cost_usd=sum(costs) if costs else None,
    )
