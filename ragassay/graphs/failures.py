"""What becomes of what could not be had: it is asked for again, then filed with its reason."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy

from ragassay.agents.rubric_judge import LIKERT
from ragassay.errors import (
    CorpusError,
    FatalModelError,
    InputError,
    ModelError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.graphs.citation_nuggets import nugget_verdict, unlisted
from ragassay.graphs.escalation import upheld
from ragassay.graphs.evidence_state import Draft, QueryTask, Report
from ragassay.graphs.panel import unheard
from ragassay.graphs.state import Task
from ragassay.graphs.tasks import claim_verdicts
from ragassay.graphs.toolbox import Toolbox, toolbox
from ragassay.records import (
    Failure,
    Judgment,
    NuggetAssignment,
    SentenceLabel,
    SentenceNuggets,
)


def retry_policies(max_attempts: int) -> list[RetryPolicy]:
    """Passing trouble is retried with growing pauses; an unparsable reply once; nothing else.

    Args:
        max_attempts: How often a call is tried, the first time counted.
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


Next = Literal["gather", "weigh", "aggregate"]


def after(node: str) -> Next:
    """Where the verdict of a node goes: to the others, to be weighed with them, or to the end."""
    if node == "escalate":
        return "aggregate"
    return "weigh" if node in ("verify_nugget", "confer") else "gather"


def file_failure(task: Task, error: NodeError, runtime: Runtime[Toolbox]) -> Command[Next]:
    """The unscored verdict of a task whose node failed for good.

    The edges of the failed node do not count for its handler: where to go next is said here.

    Raises:
        FatalModelError: The run cannot go on: a wrong key, an unknown model.
        InputError: The record itself is at fault.
        CorpusError: The corpus cannot be reached.
    """
    failure, tools = failure_of(error), toolbox(runtime)
    runtime.stream_writer({"done": 1, "failed": 1})
    if task.said:
        return Command(update=upheld(task, failure, tools), goto=after("escalate"))
    rubric = tools.rubrics.get(task.rubric)
    scale = rubric.bounds if rubric else LIKERT
    return Command(update=unscored(task, failure, scale), goto=after(task.kind))


def file_failed_query(
    task: QueryTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["retrieve"]]:
    """No queries for a sentence: it is searched for as it stands.

    Raises:
        FatalModelError, InputError, CorpusError: As `file_failure`.
    """
    draft = Draft(task.item, task.round, failure=failure_of(error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"drafts": [draft]}, goto="retrieve")


def file_failed_search(
    task: QueryTask, error: NodeError, runtime: Runtime[Toolbox]
) -> Command[Literal["choose_passages"]]:
    """No report of an agent: what was found for the other sentences is looked at.

    Raises:
        FatalModelError, InputError, CorpusError: As `file_failure`.
    """
    report = Report(task.item, failure=failure_of(error))
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update={"reports": [report]}, goto="choose_passages")


def failure_of(error: NodeError) -> Failure:
    """What went wrong, to be kept.

    Raises:
        FatalModelError, InputError, CorpusError: The run, or the record, cannot go on.
    """
    if isinstance(error.error, FatalModelError | InputError | CorpusError):
        raise error.error
    reason = error.error.reason if isinstance(error.error, ModelError) else "error"
    return Failure(reason=reason, detail=f"{type(error.error).__name__}: {error.error}"[:400])


def unscored(task: Task, failure: Failure, scale: tuple[int, int] = LIKERT) -> dict[str, Any]:
    """The verdict of a task, with a failure in the verdict's place.

    Args:
        task: The task.
        failure: What went wrong.
        scale: Of the task's rubric, where it has one.
    """
    match task.kind:
        case "judge_rubric":
            kept = Judgment(rubric=task.rubric, scale=scale, judge=task.judge, failure=failure)
            return {"judgments": [kept]}
        case "confer":
            return {"judgments": [unheard(task, failure)]}
        case "label_sentence":
            return {"labels": [SentenceLabel(sentence=task.item, failure=failure)]}
        case "nuggetize":
            return {
                "nuggets": [
                    SentenceNuggets(origin=task.origin, sentence=task.item, failure=failure)
                ]
            }
        case "assign_nugget":
            return {"assignments": [NuggetAssignment(gold=task.item - 1, failure=failure)]}
        case "verify_claim":
            return claim_verdicts(task, failure=failure)
        case "list_facts":
            return {"facts": [unlisted(task, failure)]}
        case "verify_nugget":
            return {"nugget_verdicts": [nugget_verdict(task, failure=failure)]}
