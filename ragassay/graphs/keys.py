"""What a verdict depends on, as keys: of the node cache, and of what a run need not redo."""

from __future__ import annotations

from dataclasses import replace

from ragassay.graphs.evidence_state import QueryTask
from ragassay.graphs.state import Task
from ragassay.graphs.toolbox import Toolbox, hash_of
from ragassay.records import Record


def fingerprint(tools: Toolbox, record: Record) -> str:
    """Hash of everything that the evaluation of a record depends on."""
    return hash_of(tools.identity, record.model_dump_json())


def task_key(tools: Toolbox, task: Task) -> str:
    """Hash of everything that one verdict depends on.

    The second judge's depends on what the first had said, which is kept in it.
    """
    if task.said and tools.second is not None:
        said = (verdict.model_dump_json() for verdict in task.said)
        return hash_of(task_key(tools.second, replace(task, said=())), *said)
    passage = task.passage.text if task.passage else ""
    return hash_of(
        *_asking(tools),
        task.case.context,
        *(task.kind, task.rubric, task.origin, str(task.item), task.text, passage),
        *(str(task.side), str(task.rank), *task.markers),
        *(task.document, task.nugget, *task.facts),
        *(tools.verifier_name, str(tools.settings.verdict_labels)),
        *(tools.settings.rubric_set, tools.settings.strategy),
        *_seat(task),
        *tools.tuned_weights,
        *_measured(tools, task),
        *(task.reading.marks if task.reading else ()),
    )


def query_key(tools: Toolbox, node: str, task: QueryTask) -> str:
    """Hash of everything that the queries for a sentence, or an agent's search, depend on."""
    bounds = tools.settings.evidence_turns, tools.settings.evidence_tokens
    return hash_of(
        *_asking(tools),
        task.case.context,
        *(node, str(task.item), str(task.round), *task.tried, *task.found),
        *((tools.corpus.sha256, *map(str, bounds)) if node == "run_agent" else ()),
    )


def _asking(tools: Toolbox) -> tuple[str, ...]:
    """What every call depends on: the model, how it computes, what is said to it."""
    settings = tools.settings
    return (
        settings.model,
        settings.local_dtype,
        str(settings.max_reply_tokens),
        tools.prompts_sha256,
    )


def _seat(task: Task) -> tuple[str, ...]:
    """What the rating of a panel's judge depends on beside the case; empty for a single judge."""
    if not task.judge:
        return ()
    return task.judge, task.others, task.first.model_dump_json() if task.first else ""


def _measured(tools: Toolbox, task: Task) -> tuple[str, ...]:
    """What a rating depends on where the answer was measured; empty where it was not."""
    if task.signals is None:
        return ()
    digest = tools.rater.rater.digest if tools.rater else ""
    return digest, task.signals.model_dump_json()
