"""Handling of failed calls: retries, then a failure with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy

from ragassay.errors import (
    CorpusError,
    FatalModelError,
    InputError,
    ModelError,
    RagassayError,
    StorageError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.evaluators.base import Task
from ragassay.evaluators.toolbox import Toolbox, toolbox
from ragassay.graphs.escalation import upheld
from ragassay.graphs.evidence_state import (
    Draft,
    QueryTask,
    Report,
    SufficiencyJudgment,
    SufficiencyTask,
)
from ragassay.graphs.files import opened_file
from ragassay.graphs.nodes import filed
from ragassay.records import Failure
from ragassay.redaction import without_secrets


def retry_policies(max_attempts: int) -> list[RetryPolicy]:
    """Retry temporary errors with growing pauses, an unparsable reply once, and nothing else.

    Args:
        max_attempts: Most attempts of a call, including the first.
    """
    return [
        RetryPolicy(
            retry_on=TransientModelError,
            max_attempts=max_attempts,
            initial_interval=0.2,
            backoff_factor=2.0,
            max_interval=20.0,
            jitter=True,
        ),
        RetryPolicy(
            retry_on=UnparsableReplyError, max_attempts=2, initial_interval=0.05, jitter=False
        ),
    ]


def is_retried(error: Exception, attempt: int, policies: Sequence[RetryPolicy]) -> bool:
    """Return whether an error of an attempt (counted from 1) is followed by another attempt."""
    for policy in policies:
        kinds: Any = policy.retry_on
        if isinstance(error, kinds):
            return attempt < policy.max_attempts
    return False


def file_failure(
    task: Task, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["dispatch"]]:
    """Record the unscored verdicts of a question that failed for good.

    The edges of the failed node do not apply to its handler, so this names the next node.

    Raises:
        FatalModelError: The run cannot go on: a wrong key, an unknown model.
        InputError: The record itself is wrong.
        CorpusError: The corpus cannot be reached.
    """
    failure, tools = failure_of(error), toolbox(runtime)
    runtime.stream_writer({"done": 1, "failed": 1})
    file, evaluator = opened_file(task.case, tools), tools.evaluator(task.evaluator)
    subject = file.subjects(evaluator, tools)[task.item]
    verdicts = evaluator.unscored(subject, task, file, tools, failure)
    if task.turn == "second":
        verdicts = upheld(verdicts, failure, file, tools)
    return Command(update=filed(task, verdicts), goto="dispatch")


def file_failed_query(
    task: QueryTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["retrieve"]]:
    """Record that a sentence has no queries: it is searched for as it stands.

    Raises:
        FatalModelError, InputError, CorpusError: As `file_failure`.
    """
    draft = Draft(task.item, task.round, failure=failure_of(error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"drafts": [draft]}, goto="retrieve")


def file_failed_judgment(
    task: SufficiencyTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["end_searches"]]:
    """Record that it was not judged whether passages are enough: the search goes on.

    Raises:
        FatalModelError, InputError, CorpusError: As `file_failure`.
    """
    judgment = SufficiencyJudgment(task.item, task.key, failure=failure_of(error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"judgments": [judgment]}, goto="end_searches")


def file_failed_search(
    task: QueryTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["choose_passages"]]:
    """Record that an agent failed: the other sentences' hits are used.

    Raises:
        FatalModelError, InputError, CorpusError: As `file_failure`.
    """
    report = Report(task.item, failure=failure_of(error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"reports": [report]}, goto="choose_passages")


def failure_of(error: NodeError) -> Failure:
    """Return the failure to record for an error.

    Raises:
        FatalModelError, InputError, CorpusError, StorageError: The run or the record cannot go on.
    """
    if isinstance(error.error, FatalModelError | InputError | CorpusError | StorageError):
        raise error.error
    reason = error.error.reason if isinstance(error.error, ModelError) else "error"
    told = without_secrets(str(error.error))
    if not isinstance(error.error, RagassayError):
        told = f"{type(error.error).__name__}: {told}"
    return Failure(reason=reason, detail=told[:400])
