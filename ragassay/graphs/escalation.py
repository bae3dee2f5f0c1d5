"""The cascade: what the judge was not sure of goes to a second judge, which decides.

weigh -> escalate -> aggregate. The first judge's verdict is kept inside the second one's; where the
second one gives none, the first stands and the failure is kept with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from langgraph.runtime import Runtime

from ragassay.errors import InputError
from ragassay.graphs import nodes
from ragassay.graphs.citation_nuggets import nugget_tasks, verify_nugget
from ragassay.graphs.state import State, Task
from ragassay.graphs.tasks import (
    case_tasks,
    claim_tasks,
    n_most_verdicts,
    rubric_tasks,
    wanted_passages,
)
from ragassay.graphs.toolbox import Toolbox, toolbox
from ragassay.metrics.uncertainty import Weighed, parse_condition
from ragassay.records import (
    Case,
    CitationVerdict,
    Escalation,
    EvidenceVerdict,
    Failure,
    Judgment,
    NuggetAssignment,
    NuggetVerdict,
    SentenceLabel,
)

Update = dict[str, Any]
"""A part of the state."""

Place = tuple[object, ...]
"""What a verdict is about; the same for the verdicts of both judges."""

ASKED: dict[str, Callable[..., Any]] = {
    "judge_rubric": nodes.judge_rubric,
    "label_sentence": nodes.label_sentence,
    "assign_nugget": nodes.assign_nugget,
    "verify_claim": nodes.verify_claim,
    "verify_nugget": verify_nugget,
}
"""Nodes whose verdicts a judge can be more or less sure of."""


async def weigh(state: State) -> Update:
    """Wait until the first judge's verdicts are all there."""
    return {}


def unsure_tasks(case: Case, state: State, tools: Toolbox) -> list[Task]:
    """One task for each question on which the first judge was not sure; none without a second.

    A sentence and a passage are one question, also where both its evidence and a citation rest on
    the answer.
    """
    if tools.second is None:
        return []
    condition = parse_condition(tools.settings.when)
    known = {_place(verdict): verdict for verdict in _verdicts(state)}
    tasks: list[Task] = []
    for task in _tasks(case, state, tools):
        said = tuple(known[place] for place in _places(task) if place in known)
        if said and condition.is_unsure(said[0]):
            tasks.append(replace(task, said=said))
    return tasks


async def escalate(task: Task, runtime: Runtime[Toolbox]) -> Update:
    """Ask the second judge what the first was not sure of."""
    second = toolbox(runtime).second
    if second is None:
        raise InputError("a question was sent on, and there is no second judge")
    found: Update = await ASKED[task.kind](task, runtime.override(context=second))
    said = {_place(verdict): verdict for verdict in task.said}
    return {
        field: [_decided(said[_place(one)], one, second.settings.model) for one in verdicts]
        for field, verdicts in found.items()
    }


def _decided(first: Weighed, verdict: Weighed, judge: str) -> Weighed:
    """The second judge's verdict, with the first one's in it."""
    kept = {
        "escalation": Escalation(judge=judge, usage=verdict.usage),
        "escalated_from": first,
        "usage": first.usage + verdict.usage,
    }
    return verdict.model_copy(update=kept)


def upheld(task: Task, failure: Failure, tools: Toolbox) -> Update:
    """What stands where the second judge gave no verdict: the first one's, with the reason."""
    judge = tools.second.settings.model if tools.second else ""
    escalation = Escalation(judge=judge, failure=failure)
    update: Update = {}
    for verdict in task.said:
        kept = verdict.model_copy(update={"escalation": escalation})
        update.setdefault(_field(verdict), []).append(kept)
    return update


def n_most_escalated(case: Case, tools: Toolbox) -> int:
    """How many calls of the second judge an answer can take at most: one for each question."""
    if tools.second is None or not case.sentences:
        return 0
    asked = [task for task in case_tasks(case, tools.settings) if task.kind in ASKED]
    rubrics = rubric_tasks(case, tools.rubrics)
    return len(asked) + len(rubrics) + n_most_verdicts(case, tools.settings, tools.has_corpus)


def _tasks(case: Case, state: State, tools: Toolbox) -> list[Task]:
    """Every question of an answer that the first judge was asked, as it was asked."""
    found, cited = wanted_passages(state, tools.settings)
    asked = [task for task in case_tasks(case, tools.settings) if task.kind in ASKED]
    by_nugget = (
        nugget_tasks(case, state.cited, state.facts, state.nuggets)
        if tools.settings.cites_by_nuggets
        else []
    )
    rubrics = rubric_tasks(case, tools.rubrics, signals=state.signals)
    return [*rubrics, *asked, *claim_tasks(case, found, cited), *by_nugget]


def _verdicts(state: State) -> Iterator[Weighed]:
    return chain(
        state.judgments,
        state.labels,
        state.assignments,
        state.evidence,
        state.citations,
        state.nugget_verdicts,
    )


def _places(task: Task) -> list[Place]:
    """What the verdicts of a task are about, in the order in which its node files them."""
    match task.kind:
        case "judge_rubric":
            return [("judgments", task.rubric)]
        case "label_sentence":
            return [("labels", task.item)]
        case "assign_nugget":
            return [("assignments", task.item - 1)]
        case "verify_nugget":
            return [("nugget_verdicts", task.item, task.document, task.nugget)]
        case _:
            found = [("evidence", task.item, task.side, task.rank)] if task.side else []
            return [*found, *(("citations", task.item, marker) for marker in task.markers)]


def _place(verdict: Weighed) -> Place:
    match verdict:
        case Judgment():
            return _field(verdict), verdict.rubric
        case SentenceLabel():
            return _field(verdict), verdict.sentence
        case NuggetAssignment():
            return _field(verdict), verdict.gold
        case EvidenceVerdict():
            return _field(verdict), verdict.sentence, verdict.side, verdict.rank
        case CitationVerdict():
            return _field(verdict), verdict.sentence, verdict.citation.marker
        case NuggetVerdict():
            return _field(verdict), verdict.sentence, verdict.document, verdict.nugget


_FIELDS: dict[type, str] = {
    Judgment: "judgments",
    SentenceLabel: "labels",
    NuggetAssignment: "assignments",
    EvidenceVerdict: "evidence",
    CitationVerdict: "citations",
    NuggetVerdict: "nugget_verdicts",
}


def _field(verdict: Weighed) -> str:
    """Where the state keeps a verdict."""
    return _FIELDS[type(verdict)]
