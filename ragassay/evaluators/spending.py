"""Add up what the calls on one answer took, by part of the evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.evaluators.base import Run
from ragassay.evaluators.cases import CaseFile
from ragassay.records import EvidenceSearch, Usage

SEARCHES = "searches"
"""The model's part in looking for evidence: queries, judgments, an agent's turns."""


def usage_by_part(file: CaseFile, searches: Sequence[EvidenceSearch], run: Run) -> dict[str, Usage]:
    """Return the usage of all questions, by the part that asked them, in the evaluators' order.

    It counts the verdicts as they were given, also those that serve only other evaluators: a merged
    or reported verdict may leave a call out, or repeat it.
    """
    part_of = {evaluator.name: evaluator.part for evaluator in run.registered}
    found = {evaluator.part: Usage() for evaluator in run.evaluators}
    for key, verdict in file.verdicts.items():
        part = part_of[key.evaluator]
        found[part] = found.get(part, Usage()) + verdict.usage
    found[SEARCHES] = sum((search.usage for search in searches), Usage())
    return {part: usage for part, usage in found.items() if usage.n_calls}
