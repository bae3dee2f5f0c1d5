"""Turn verdicts into review items with a priority."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from ragassay.records import VERDICT_SETS, EvidenceSpan, Verdict, VerdictBase, VerdictState
from ragassay.reports.display import (
    SHARE_SCALE,
    UNDECIDED,
    UNSCORED,
    Tone,
    choose_label_tone,
    describe_escalation,
    format_label,
    format_share,
    format_unscored,
)
from ragassay.reports.text import find_verdict_title, humanise
from ragassay.review.items import Choice, Opinion, ReviewItem, State, Value

LEADS, DIFFERS, UNSURE = 3.0, 2.0, 1.0
MISSING: dict[VerdictState, float] = {UNDECIDED: 2.0, UNSCORED: 1.5}
"""Weights of the reasons to review a verdict; main findings come first, because all readers of the
report see them."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Facts that make a verdict worth reviewing.

    Attributes:
        confidence: Confidence of the verdict or of its tentative label, or None if unknown.
        entropy_bits: Entropy of the verdict's distribution in bits, or None if unknown.
        n_choices: Number of values that a reviewer can choose.
        spread: Disagreement of the judges, from 0 (none) to 1 (maximum).
        leads: Whether the verdict belongs to a main finding.
    """

    confidence: float | None = None
    entropy_bits: float | None = None
    n_choices: int = 2
    spread: float = 0.0
    state: VerdictState = "decided"
    leads: bool = False

    @property
    def uncertainty(self) -> float:
        """Uncertainty in [0, 1]: the normalized entropy, or 1 - confidence without an entropy."""
        if self.entropy_bits is not None and self.n_choices > 1:
            return min(1.0, self.entropy_bits / math.log2(self.n_choices))
        return 0.0 if self.confidence is None else 1 - self.confidence

    @property
    def priority(self) -> float:
        """Review priority, or 0 if there is no reason to review."""
        parts = (
            LEADS * self.leads,
            MISSING.get(self.state, 0.0),
            DIFFERS * (0.5 + self.spread / 2) * (self.spread > 0),
            UNSURE * self.uncertainty,
        )
        return round(sum(parts), 4)

    @property
    def states(self) -> tuple[State, ...]:
        """Reasons to review the verdict, as keys for filters."""
        missing: tuple[State, ...] = () if self.state == "decided" else (self.state,)
        return ("leads",) * self.leads + missing + ("judges",) * (self.spread > 0)

    @property
    def because(self) -> tuple[str, ...]:
        """Reasons to review the verdict, as text for display."""
        reasons = tuple(STATES.get(state, state) for state in self.states)
        is_uncertain = self.uncertainty >= 0.5 and self.state != UNDECIDED
        return (*reasons, "low confidence") if is_uncertain else reasons


STATES: dict[State, str] = {"leads": "main finding", "judges": "judges differ"}
"""Texts of reasons to review, if they differ from the key."""


def compute_spread(values: Sequence[object], n_choices: int = 2) -> float:
    """Return the disagreement of values, from 0 to 1.

    The disagreement of numbers is the difference between the highest and the lowest, as a share of
    the scale.

    Example:
        >>> compute_spread([1, 5], 5), compute_spread(["yes", "no"]), compute_spread(["yes"])
        (1.0, 1.0, 0.0)
    """
    known = [value for value in values if value is not None]
    if len(set(known)) < 2:
        return 0.0
    numbers = [value for value in known if isinstance(value, int | float)]
    if len(numbers) < len(known):
        return 1.0
    return min(1.0, (max(numbers) - min(numbers)) / max(1, n_choices - 1))


RIGHT = (Choice(True, "right", "good"), Choice(False, "wrong", "bad"))
"""Values that a reviewer can choose for a list of texts, which has no label."""

WRITTEN = ("nuggets", "facts")
"""Fields of verdicts that contain lists of texts."""

LONGEST_PLACE = 24


def build_review_item(
    verdict: VerdictBase,
    record: str,
    item_text: str,
    *,
    system: str = "",
    labels: Sequence[str] = (),
    hints: Mapping[Value, str] | None = None,
    n_labels: int = 0,
    leads: bool = False,
    opinions: Sequence[tuple[str, VerdictBase]] = (),
) -> ReviewItem:
    """Return the review item for a verdict.

    Args:
        item_text: Text that the verdict judges.
        labels: Labels that the reviewer can choose, if the verdict does not define them.
        hints: Explanation of each value that the reviewer can choose.
        n_labels: Number of support labels in the run (2, 3 or 4), or 0 if unknown.
        leads: Whether the verdict belongs to a main finding.
        opinions: Names and verdicts of several graders, if they are not in the verdict itself.
    """
    choices = list_review_choices(verdict, labels, hints or {}, n_labels)
    is_written = choices == RIGHT and verdict.failure is None
    opinions = opinions or tuple(_list_opinions(verdict))
    doubt = _measure_doubt(verdict, [opinion for _, opinion in opinions], len(choices), leads)
    return ReviewItem(
        evaluator=verdict.evaluator,
        record=record,
        item=verdict.item,
        field=choose_review_field(choices),
        kind=humanise(find_verdict_title(verdict.evaluator)),
        place=describe_verdict_place(verdict),
        item_text=item_text,
        system=system,
        model_choice=True if is_written else verdict.choice,
        tentative_choice=_find_tentative_choice(verdict, choices),
        word=summarize_verdict(verdict),
        tone=choose_verdict_tone(verdict),
        choices=choices,
        edits=(choose_review_field(choices), *(("texts",) if choices == RIGHT else ())),
        written=list_verdict_texts(verdict),
        confidence="" if verdict.confidence is None else format_share(verdict.confidence),
        why=describe_reason(verdict),
        states=doubt.states,
        priority=doubt.priority,
        because=doubt.because,
        opinions=tuple(_build_opinion(name, opinion) for name, opinion in opinions),
        sentence=find_sentence_number(verdict),
    )


def _build_opinion(name: str, verdict: VerdictBase) -> Opinion:
    tone = choose_verdict_tone(verdict)
    return Opinion(name, summarize_verdict(verdict), tone, describe_reason(verdict))


def _measure_doubt(
    verdict: VerdictBase, opinions: Sequence[VerdictBase], n_choices: int, leads: bool
) -> Doubt:
    return Doubt(
        confidence=verdict.confidence,
        entropy_bits=verdict.entropy_bits,
        n_choices=n_choices,
        spread=_compute_verdict_spread(verdict, opinions, n_choices),
        state=verdict.state,
        leads=leads,
    )


def _compute_verdict_spread(
    verdict: VerdictBase, opinions: Sequence[VerdictBase], n_choices: int
) -> float:
    """Return how much judges disagree on the verdict, or on whether the passage covers the item."""
    choices = [opinion.choice for opinion in opinions if opinion.item == verdict.item]
    covered = [getattr(opinion, "is_correct", None) for opinion in opinions]
    return max(compute_spread(choices, n_choices), compute_spread(covered))


def list_review_choices(
    verdict: VerdictBase, labels: Sequence[str], hints: Mapping[Value, str], n_labels: int = 0
) -> tuple[Choice, ...]:
    """Return what a reviewer can choose: labels, ratings, or right and wrong for a text list."""
    known: Sequence[Value] = verdict.choices or tuple(labels)
    if not known:
        return RIGHT
    unused: Collection[Value] = set(get_args(Verdict)) - set(VERDICT_SETS.get(n_labels, known))
    return tuple(
        Choice(
            value,
            format_label(f"{value:g}" if isinstance(value, float) else str(value)),
            choose_value_tone(value),
            hints.get(value, ""),
        )
        for value in known
        if value not in unused
    )


def choose_review_field(choices: Sequence[Choice]) -> str:
    """Return the field of a review that the choices set: "rating", "right" or "label"."""
    kind = type(choices[0].value)
    return {int: "rating", float: "rating", bool: "right"}.get(kind, "label")


def summarize_verdict(verdict: VerdictBase) -> str:
    """Return a verdict's label, rating or failure as short text."""
    if verdict.failure is not None:
        return format_unscored(verdict.failure)
    if verdict.choice is None:
        texts = list_verdict_texts(verdict)
        return f"{len(texts)} listed" if texts else "none"
    if isinstance(verdict.choice, str):
        return format_label(verdict.choice)
    low, high = getattr(verdict, "scale", SHARE_SCALE)
    return (
        f"{verdict.choice:g}" if (low, high) == SHARE_SCALE else f"{verdict.choice:g} of {high:g}"
    )


def choose_verdict_tone(verdict: VerdictBase) -> Tone:
    """Return the colour in which the page shows a verdict."""
    if verdict.failure is not None:
        return verdict.failure.state
    return choose_value_tone(verdict.choice)


def choose_value_tone(value: Value | None) -> Tone:
    """Return the colour in which the page shows a value: "plain" for numbers and unknown labels."""
    if value == "yes":
        return "good"
    return choose_label_tone(value) if isinstance(value, str) else "plain"


def _find_tentative_choice(verdict: VerdictBase, choices: Sequence[Choice]) -> Value | None:
    by_text = {str(choice.value): choice.value for choice in choices}
    return by_text.get(verdict.tentative_label or "")


def _list_opinions(verdict: VerdictBase) -> Iterator[tuple[str, VerdictBase]]:
    """Yield the name and verdict of each panel judge, or of the first and the second judge."""
    for member in vars(verdict).get("members", ()):
        yield member.judge or "judge", member
    before = vars(verdict).get("escalated_from")
    if before is not None:
        yield "first judge", before
        yield verdict.escalation.judge if verdict.escalation else "second judge", verdict


def find_sentence_number(verdict: VerdictBase) -> int | None:
    """Return the number of the judged sentence, starting at 1, or None for the whole answer."""
    return vars(verdict).get("sentence")


def describe_verdict_place(verdict: VerdictBase) -> str:
    """Return the location of a verdict, such as "sentence 2" or "sentence 2 · [1]"."""
    sentence = find_sentence_number(verdict)
    if sentence is None:
        return ""
    marker = getattr(getattr(verdict, "citation", None), "marker", "")
    others = verdict.item.split("/")
    if str(sentence) in others:
        others.remove(str(sentence))
    rest = f"[{marker}]" if marker else " ".join(part for part in others if part != "answer")
    parts = [f"sentence {sentence}", rest if len(rest) <= LONGEST_PLACE else ""]
    return " · ".join(part for part in parts if part)


def describe_reason(verdict: VerdictBase) -> str:
    """Return the reason for a verdict, including the reason for a failure."""
    fields = vars(verdict)  # A pydantic model is slow to find that it lacks an attribute.
    reason = fields.get("rationale") or fields.get("reason", "")
    difference, answer = fields.get("difference"), fields.get("answer")
    parts = [
        reason,
        f"not supported: {difference}" if difference else "",
        f"extracted: {answer}" if answer else "",
        verdict.failure.detail if verdict.failure else "",
        describe_escalation(verdict),
    ]
    return " ".join(part.strip() for part in parts if part.strip())


def list_verdict_texts(verdict: VerdictBase) -> tuple[str, ...]:
    """Return the texts that a verdict lists, such as nuggets or facts."""
    listed = (entry for name in WRITTEN for entry in vars(verdict).get(name, ()))
    return tuple(
        str(getattr(entry, "text", None) or getattr(entry, "nugget", entry)) for entry in listed
    )


def list_evidence_spans(verdict: VerdictBase) -> tuple[EvidenceSpan, ...]:
    """Return the evidence passages of a verdict."""
    evidence = getattr(verdict, "evidence", None)
    return (evidence,) if isinstance(evidence, EvidenceSpan) else ()
