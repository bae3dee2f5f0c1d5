"""Pair the answers of two sides, and the findings of two answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ragassay.metrics.aggregates import question_of
from ragassay.records import Evaluation, Finding

SAME_WORDS = 0.6
"""Share of common words from which on two sentences count as the same one, reworded."""


def match_answers(
    old: Sequence[Evaluation], new: Sequence[Evaluation]
) -> list[tuple[Evaluation, Evaluation]]:
    """Pair answers to the same question, each once.

    Of several answers to a question, those with the same id and system are paired first, then those
    with the same system, then what is left, in order.
    """
    waiting: dict[str, list[Evaluation]] = defaultdict(list)
    for evaluation in new:
        waiting[question_of(evaluation)].append(evaluation)
    partners: dict[int, Evaluation] = {}
    for alike in (_same_record, _same_system, _any):
        for place, one in enumerate(old):
            candidates = waiting[question_of(one)]
            found = next(
                (two for two in candidates if place not in partners and alike(one, two)), None
            )
            if found is not None:
                partners[place] = found
                waiting[question_of(one)] = [two for two in candidates if two is not found]
    return [(one, partners[place]) for place, one in enumerate(old) if place in partners]


def _same_record(one: Evaluation, two: Evaluation) -> bool:
    return (one.record_id, one.system) == (two.record_id, two.system)


def _same_system(one: Evaluation, two: Evaluation) -> bool:
    return one.system == two.system


def _any(one: Evaluation, two: Evaluation) -> bool:
    return True


def match_findings(
    old: Evaluation, new: Evaluation
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Tell the findings that lead a report apart: new ones, gone ones, and those still there.

    A finding is still there where one of the same kind is about the same sentence, perhaps
    reworded; one about no sentence, where the other is about none either.
    """
    texts = [{s.index: s.text for s in e.sentences} for e in (old, new)]
    left = list(old.heads)
    appeared: list[Finding] = []
    kept: list[Finding] = []
    for finding in new.heads:
        about = texts[1].get(finding.sentence or 0, "")
        same = next(
            (
                one
                for one in left
                if one.kind == finding.kind
                and words_shared(texts[0].get(one.sentence or 0, ""), about) >= SAME_WORDS
            ),
            None,
        )
        if same is None:
            appeared.append(finding)
        else:
            left.remove(same)
            kept.append(finding)
    return tuple(appeared), tuple(left), tuple(kept)


def words_shared(one: str, two: str) -> float:
    """Return the share of two texts' different words that both have; 1 for two empty texts."""
    first, second = set(one.lower().split()), set(two.lower().split())
    union = first | second
    return len(first & second) / len(union) if union else 1.0
