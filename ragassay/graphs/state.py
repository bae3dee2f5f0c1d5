"""State, input and output of the evaluation graph."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from langgraph.channels import UntrackedValue

from ragassay.evaluators.cases import Cited, Found, VerdictKey
from ragassay.records import Evaluation, EvidenceSearch, Finding, Reading, Signals, VerdictBase
from ragassay.records import Record as Record  # LangGraph resolves the annotations below.


def merge_verdicts(
    known: Mapping[VerdictKey, VerdictBase], new: Mapping[VerdictKey, VerdictBase]
) -> dict[VerdictKey, VerdictBase]:
    """Return all verdicts; a new one takes the place of a known one."""
    return {**known, **new}


@dataclass
class State:
    """The state of one evaluation. The case itself is in the run-time context, not here.

    Attributes:
        case: Id of the case's file.
        prepared: Preparations that were made.
        found: Passages that were found for sentences, in the order of the sentences.
        cited: Passages of cited documents, in the order of the citations.
        searches: How evidence was looked for.
        notices: What is known against cited articles.
        signals: Measurements of the answer; None where there are none.
        readings: Readings by fine-tuned judges, by their names.
        verdicts: All verdicts, by evaluator and item.
        evaluation: The outcome.
    """

    case: str = ""
    prepared: Annotated[list[str], operator.add] = field(default_factory=list)
    found: tuple[Found, ...] = ()
    cited: tuple[Cited, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()
    notices: tuple[Finding, ...] = ()
    signals: Signals | None = None
    readings: dict[str, Reading] = field(default_factory=dict)
    verdicts: Annotated[dict[VerdictKey, VerdictBase], merge_verdicts] = field(default_factory=dict)
    evaluation: Evaluation | None = None


@dataclass(frozen=True)
class Input:
    """The input of the graph: a record, or the id of a file that the caller has opened.

    The record is never checkpointed.
    """

    record: Annotated[Record | None, UntrackedValue] = None
    case: str = ""


@dataclass(frozen=True)
class Output:
    """The output of the graph."""

    evaluation: Evaluation
