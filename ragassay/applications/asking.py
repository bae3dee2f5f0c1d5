"""Ask an application many questions, and keep each answer or failure as it comes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragassay.applications.apps import App, AppAnswer, AppReply, Caller, opened_app, read_reply
from ragassay.errors import InputError, RunMismatchError
from ragassay.formats.problems import empty_answer
from ragassay.formats.replies import UNREAD_CITATIONS
from ragassay.records import ApplicationUse, Failure, FailureReason, Record, RecordFailure
from ragassay.runs.folder import RunFolder, append_line, read_lines
from ragassay.safe_text import without_secrets

ANSWERS_FILE = "answers.jsonl"
STAGE = "ask"

Parse = Callable[[Any], Any]


@dataclass(frozen=True)
class Asking:
    """The way in which an application is asked.

    Attributes:
        parse: Turns its reply into one that `read_reply` knows.
        retries: How often a question is asked again that got no answer.
        timeout_s: Most seconds for one call; None for no limit.
    """

    parse: Parse | None = None
    at_once: int = 8
    retries: int = 0
    timeout_s: float | None = 300.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.at_once < 1:
            raise InputError(f"`at_once=` is {self.at_once}: it must be at least 1")
        if self.retries < 0:
            raise InputError(f"`retries=` is {self.retries}: it must be at least 0")
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise InputError(f"`timeout_s=` is {self.timeout_s:g}: it must be more than 0")


@dataclass
class AskedQuestions:
    """The answers and failures of an application, by record id."""

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
    """Ask an application questions that have no answer in the folder yet.

    Args:
        app: See `apps.App`.
        name: Its name, kept with its answers.
        questions: Records without an answer; ids differ.
        folder: Keeps the answers in `answers.jsonl`, and the failures.
        step: Called after each question.

    Raises:
        RunMismatchError: The folder has another application's answers.
    """
    asked = _read_earlier_answers(folder, name, questions)
    waiting = [q for q in questions if q.id not in asked.answers | asked.failures]
    slots = asyncio.Semaphore(how.at_once)

    async def ask(caller: Caller, question: Record) -> None:
        async with slots:
            found = await _ask_question(caller, name, question, how)
        kind = asked.answers if isinstance(found, Record) else asked.failures
        kind[question.id] = found  # type: ignore[assignment]
        if folder is not None:
            is_answer = isinstance(found, Record)
            append_line(_answers(folder) if is_answer else folder.failures_file, found)
        step()

    async with opened_app(app, how.at_once) as caller, asyncio.TaskGroup() as group:
        for question in waiting:
            group.create_task(ask(caller, question))
    return asked


def _answers(folder: RunFolder) -> Path:
    return folder.path / ANSWERS_FILE


def _read_earlier_answers(
    folder: RunFolder | None, name: str, questions: Sequence[Record]
) -> AskedQuestions:
    if folder is None:
        return AskedQuestions()
    wanted = {question.id: question.question for question in questions}
    known = read_lines(_answers(folder), Record)
    other = next((r.metadata["app"] for r in known if r.metadata.get("app") != name), None)
    if other is not None:
        raise RunMismatchError(
            f"{folder.path} has answers of {other}, not of {name}; choose another folder"
        )
    return AskedQuestions(
        {r.id: r for r in known if wanted.get(r.id) == r.question},
        {f.record_id: f for f in folder.failures() if f.stage == STAGE and f.record_id in wanted},
    )


async def _ask_question(
    caller: Caller, name: str, question: Record, how: Asking
) -> Record | RecordFailure:
    """Run one unit of work: whatever the application raises becomes the question's failure."""
    failure = Failure(reason="error")
    for _ in range(1 + how.retries):
        started, limit = time.perf_counter(), asyncio.timeout(how.timeout_s)
        try:
            async with limit:
                reply = await caller(question.question)
            taken_s = time.perf_counter() - started
            record = _record(question, name, reply, taken_s, how.parse)
        except Exception as error:
            failure = _failure(error, how.timeout_s if limit.expired() else None)
        else:
            problem = empty_answer(record)
            if problem is None:
                return record
            failure = Failure(reason="empty_answer", detail="the application answered nothing")
    return RecordFailure(record_id=question.id, stage=STAGE, failure=failure)


def _record(
    question: Record, name: str, reply: AppReply, taken_s: float, parse: Parse | None
) -> Record:
    found: AppAnswer = read_reply(parse(reply.value) if parse else reply.value)
    counted = reply.usage
    told = {
        "latency_s": round(taken_s, 4),
        "cost_usd": found.cost_usd if found.cost_usd is not None or not counted else None,
        "n_prompt_tokens": found.n_prompt_tokens,
        "n_completion_tokens": found.n_completion_tokens,
    }
    if counted is not None:
        own = {name: getattr(counted, name) for name in told if hasattr(counted, name)}
        told |= {name: value for name, value in own.items() if told[name] is None}
    told |= {"app": name}
    metadata = {key: str(value) for key, value in told.items() if value is not None}
    if found.problems:
        metadata[UNREAD_CITATIONS] = json.dumps(found.problems)
    return question.model_copy(
        update={
            "answer": found.answer,
            "sources": found.sources,
            "citations": found.citations,
            "system": question.system or name,
            "metadata": question.metadata | metadata,
        }
    )


def _failure(error: Exception, expired_s: float | None) -> Failure:
    if expired_s is not None:
        return Failure(reason="timeout", detail=f"no answer within {expired_s:g} s")
    return Failure(
        reason=_reason(error), detail=without_secrets(f"{type(error).__name__}: {error}")[:400]
    )


def _reason(error: Exception) -> FailureReason:
    import httpx

    if isinstance(error, InputError):
        return "unparsable"
    if isinstance(error, httpx.HTTPStatusError):
        code = error.response.status_code
        return "rate_limit" if code == 429 else "server_error" if code >= 500 else "refused"
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return "timeout"
    is_lost = isinstance(error, ConnectionError | httpx.TransportError)
    return "connection" if is_lost else "error"


def use_of(name: str, asked: AskedQuestions) -> ApplicationUse:
    """Return what an application took to answer."""
    import numpy as np

    kept = [record.metadata for record in asked.answers.values()]
    times = [float(one["latency_s"]) for one in kept if "latency_s" in one]
    costs = [float(one["cost_usd"]) for one in kept if "cost_usd" in one]
    median, most = np.percentile(times, (50, 95)).round(4).tolist() if times else (None, None)
    return ApplicationUse(
        name=name,
        n_asked=len(asked.answers) + len(asked.failures),
        n_failed=len(asked.failures),
        latency_p50_s=median,
        latency_p95_s=most,
        n_prompt_tokens=sum(int(one.get("n_prompt_tokens", 0)) for one in kept),
        n_completion_tokens=sum(int(one.get("n_completion_tokens", 0)) for one in kept),
        n_priced=len(costs),
        cost_usd=sum(costs) if costs else None,
    )
