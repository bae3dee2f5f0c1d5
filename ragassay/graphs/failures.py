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
from ragassay.evaluators.toolbox import Toolbox
from ragassay.graphs.evidence_state import (
    Draft,
    QueryTask,
    Report,
    SufficiencyJudgment,
    SufficiencyTask,
)
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


def file_failed_query(
    task: QueryTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["retrieve"]]:
    """Record that a sentence has no queries: it is searched for as it stands.

    Raises:
        FatalModelError, InputError, CorpusError: As `failure_of`.
    """
    draft = Draft(task.item, task.round, failure=failure_of(error.error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"drafts": [draft]}, goto="retrieve")


def file_failed_judgment(
    task: SufficiencyTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["end_searches"]]:
    """Record that it was not judged whether passages are enough: the search goes on.

    Raises:
        FatalModelError, InputError, CorpusError: As `failure_of`.
    """
    judgment = SufficiencyJudgment(task.item, task.key, failure=failure_of(error.error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"judgments": [judgment]}, goto="end_searches")


def file_failed_search(
    task: QueryTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["choose_passages"]]:
    """Record that an agent failed: the other sentences' hits are used.

    Raises:
        FatalModelError, InputError, CorpusError: As `failure_of`.
    """
    report = Report(task.item, failure=failure_of(error.error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"reports": [report]}, goto="choose_passages")


def failure_of(error: BaseException) -> Failure:
    """Return the failure to record for an error.

    Raises:
        FatalModelError, InputError, CorpusError, StorageError: The run or the record cannot go on.
    """
    if isinstance(error, FatalModelError | InputError | CorpusError | StorageError):
        raise error
    reason = error.reason if isinstance(error, ModelError) else "error"
    told = without_secrets(str(error))
    if not isinstance(error, RagassayError):
        told = f"{type(error).__name__}: {told}"
    return Failure(reason=reason, detail=told[:400])
