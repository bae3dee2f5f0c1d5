"""Files of cases, made without a graph."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.evaluators.base import CaseFile, Turn, place_of
from ragassay.records import Case, Record, Signals, VerdictBase


def filed(
    case: Case,
    verdicts: Sequence[VerdictBase] = (),
    signals: Signals | None = None,
    turn: Turn = "first",
) -> CaseFile:
    """The file of a case with verdicts of one turn; a judgment stands at its judge's seat."""
    places = {
        place_of(one.evaluator, one.item, getattr(one, "judge", ""), turn): one for one in verdicts
    }
    record = Record(id=case.record_id, question=case.question, answer=case.answer)
    return CaseFile("case", record, case, signals=signals, verdicts=places)
