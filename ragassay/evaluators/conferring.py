"""Disagreement in a panel: each judge hears the others once."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.metrics.panel import is_disputed
from ragassay.prompts import load_prompts
from ragassay.records import Judgment


def disputed_members(judgments: Sequence[Judgment]) -> list[tuple[Judgment, list[Judgment]]]:
    """Return each judge that rated a disputed rubric, with what the others said of it.

    Args:
        judgments: First ratings of all judges, in any order.

    Returns:
        In the order of rubrics and judges; empty where nobody is far off.
    """
    by_rubric: dict[str, dict[str, Judgment]] = {}
    for one in judgments:
        if one.judge:
            by_rubric.setdefault(one.rubric, {})[one.judge] = one
    found: list[tuple[Judgment, list[Judgment]]] = []
    for _, members in sorted(by_rubric.items()):
        rated = [members[judge] for judge in sorted(members) if members[judge].rating is not None]
        if is_disputed(rated):
            found += [(one, [other for other in rated if other is not one]) for one in rated]
    return found


def others_text(others: Sequence[Judgment]) -> str:
    """Return what other judges said, a line each: rating, sentences, reason; never who they are.

    A name would weigh more than a reason. The text is a model's and as untrusted as what it was
    made of: the rubric judge shows it fenced.
    """
    return "\n".join(f"{n}. {_line(other)}" for n, other in enumerate(others, 1))


def _line(judgment: Judgment) -> str:
    words = load_prompts().panel
    low, high = judgment.scale
    said = [words.rating.format(rating=judgment.rating, low=low, high=high)]
    if judgment.sentences:
        said.append(words.sentences.format(numbers=", ".join(map(str, judgment.sentences))))
    if judgment.rationale:
        said.append(words.reason.format(reason=" ".join(judgment.rationale.split())))
    return " ".join(said)
