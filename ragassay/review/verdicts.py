"""A verdict of any evaluator as an item to review, and its priority."""

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
    decided_text,
    format_share,
    label_text,
    label_tone,
    unscored_text,
)
from ragassay.reports.text import humanise, verdict_title
from ragassay.review.items import Choice, Opinion, ReviewItem, State, Value

LEADS, DIFFERS, UNSURE = 3.0, 2.0, 1.0
MISSING: dict[VerdictState, float] = {UNDECIDED: 2.0, UNSCORED: 1.5}
"""How much each counts at most. What leads a report is read by everybody, so it comes first."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reasons for a second look at a verdict.

    Attributes:
        confidence: Of the value or the tentative choice; None where not given.
        entropy_bits: Of the distribution; None where not given.
        spread: How far judges are apart: 0 where they agree, 1 where they could not be further.
        leads: Whether a finding that leads the report is about it.
    """

    confidence: float | None = None
    entropy_bits: float | None = None
    n_choices: int = 2
    spread: float = 0.0
    state: VerdictState = "decided"
    leads: bool = False

    @property
    def uncertainty(self) -> float:
        """In [0, 1]: the entropy as a share of the most there can be, else 1 - confidence."""
        if self.entropy_bits is not None and self.n_choices > 1:
            return min(1.0, self.entropy_bits / math.log2(self.n_choices))
        return 0.0 if self.confidence is None else 1 - self.confidence

    @property
    def priority(self) -> float:
        """The priority of a review; 0 where nothing calls for one."""
        parts = (
            LEADS * self.leads,
            MISSING.get(self.state, 0.0),
            DIFFERS * (0.5 + self.spread / 2) * (self.spread > 0),
            UNSURE * self.uncertainty,
        )
        return round(sum(parts), 4)

    @property
    def states(self) -> tuple[State, ...]:
        """The states that speak for it."""
        missing: tuple[State, ...] = () if self.state == "decided" else (self.state,)
        return ("leads",) * self.leads + missing + ("judges",) * (self.spread > 0)

    @property
    def because(self) -> tuple[str, ...]:
        """The same in words."""
        words = tuple(STATES.get(state, state) for state in self.states)
        is_unsure = self.uncertainty >= 0.5 and self.state != UNDECIDED
        return (*words, "unsure") if is_unsure else words


STATES: dict[State, str] = {"leads": "leads the report", "judges": "judges differ"}
"""What speaks for a look in other words than its own name."""


def spread_of(values: Sequence[object], n_choices: int = 2) -> float:
    """Return how far values are apart: of numbers, their range as a share of the scale's.

    Example:
        >>> spread_of([1, 5], 5), spread_of(["yes", "no"]), spread_of(["yes"])
        (1.0, 1.0, 0.0)
    """
    chosen = [value for value in values if value is not None]
    if len(set(chosen)) < 2:
        return 0.0
    numbers = [value for value in chosen if isinstance(value, int | float)]
    if len(numbers) < len(chosen):
        return 1.0
    return min(1.0, (max(numbers) - min(numbers)) / max(1, n_choices - 1))


RIGHT = (Choice(True, "right", "good"), Choice(False, "wrong", "bad"))
"""What can be said of a list of texts, which has no label."""

WRITTEN = ("nuggets", "facts")
"""Fields of such lists."""

LONGEST_PLACE = 24


def item_of(
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
    """Return a verdict as an item.

    Args:
        record: The answer's id.
        item_text: What is judged.
        system: Who wrote the answer.
        labels: Labels of the evaluator, where the verdict does not know them.
        hints: When to choose a value.
        n_labels: Number of labels that verdicts on claims were chosen from; 0 where unknown.
        leads: Whether a finding that leads the report is about it.
        opinions: Several graders' verdicts with their names, in place of the panel's.
    """
    choices = choices_of(verdict, labels, hints or {}, n_labels)
    chosen: Value | None = verdict.choice
    if choices == RIGHT and verdict.failure is None:
        chosen = True
    voices = tuple(opinions) or tuple(_voices(verdict))
    doubt = Doubt(
        confidence=verdict.confidence,
        entropy_bits=verdict.entropy_bits,
        n_choices=len(choices),
        spread=_spread(verdict, [one for _, one in voices], len(choices)),
        state=verdict.state,
        leads=leads,
    )
    return ReviewItem(
        evaluator=verdict.evaluator,
        record=record,
        item=verdict.item,
        field=field_of(choices),
        kind=humanise(verdict_title(verdict.evaluator)),
        place=place_of(verdict),
        item_text=item_text,
        system=system,
        model_choice=chosen,
        tentative_choice=_tentative_choice(verdict, choices),
        word=word_of(verdict),
        tone=tone_of(verdict),
        choices=choices,
        edits=(field_of(choices), *(("texts",) if choices == RIGHT else ())),
        written=texts_of(verdict),
        confidence="" if verdict.confidence is None else format_share(verdict.confidence),
        why=reason_of(verdict),
        states=doubt.states,
        priority=doubt.priority,
        because=doubt.because,
        opinions=tuple(
            Opinion(name, word_of(one), tone_of(one), reason_of(one)) for name, one in voices
        ),
        sentence=sentence_of(verdict),
    )


def _spread(verdict: VerdictBase, voices: Sequence[VerdictBase], n_choices: int) -> float:
    """Return how far judges are apart on the same item, or on whether the passage covers it."""
    same = [one.choice for one in voices if one.item == verdict.item]
    covered = [getattr(one, "is_correct", None) for one in voices]
    return max(spread_of(same, n_choices), spread_of(covered))


def choices_of(
    verdict: VerdictBase, labels: Sequence[str], hints: Mapping[Value, str], n_labels: int = 0
) -> tuple[Choice, ...]:
    """Return what can be said of a verdict with one key; right or wrong of a list of texts."""
    known: Sequence[Value] = verdict.choices or tuple(labels)
    if not known:
        return RIGHT
    unused: Collection[Value] = set(get_args(Verdict)) - set(VERDICT_SETS.get(n_labels, known))
    return tuple(
        Choice(
            value,
            label_text(f"{value:g}" if isinstance(value, float) else str(value)),
            tone_of_value(value),
            hints.get(value, ""),
        )
        for value in known
        if value not in unused
    )


def field_of(choices: Sequence[Choice]) -> str:
    """Return what a choice says: "rating" for a number, "right" for a list, else "label"."""
    kind = type(choices[0].value)
    return {int: "rating", float: "rating", bool: "right"}.get(kind, "label")


def word_of(verdict: VerdictBase) -> str:
    """Return a verdict in a word or two: its label or rating, or why there is none."""
    if verdict.failure is not None:
        return unscored_text(verdict.failure)
    if verdict.choice is None:
        texts = texts_of(verdict)
        return f"{len(texts)} written" if texts else "none"
    if isinstance(verdict.choice, str):
        return label_text(verdict.choice)
    low, high = getattr(verdict, "scale", SHARE_SCALE)
    return (
        f"{verdict.choice:g}" if (low, high) == SHARE_SCALE else f"{verdict.choice:g} of {high:g}"
    )


def tone_of(verdict: VerdictBase) -> Tone:
    """Return the colour of a verdict."""
    if verdict.failure is not None:
        return verdict.failure.state
    return tone_of_value(verdict.choice)


def tone_of_value(value: Value | None) -> Tone:
    """Return the colour of a value: numbers and unknown labels are plain."""
    if value == "yes":
        return "good"
    return label_tone(value) if isinstance(value, str) else "plain"


def _tentative_choice(verdict: VerdictBase, choices: Sequence[Choice]) -> Value | None:
    by_text = {str(choice.value): choice.value for choice in choices}
    return by_text.get(verdict.tentative_label or "")


def _voices(verdict: VerdictBase) -> Iterator[tuple[str, VerdictBase]]:
    """Yield the judges behind a verdict: a panel's, or the first and the second one."""
    for member in getattr(verdict, "members", ()):
        yield member.judge or "judge", member
    before = getattr(verdict, "escalated_from", None)
    if before is not None:
        yield "first judge", before
        yield verdict.escalation.judge if verdict.escalation else "second judge", verdict


def sentence_of(verdict: VerdictBase) -> int | None:
    """Return the sentence (1-based) that a verdict is about; None for the whole answer."""
    return getattr(verdict, "sentence", None)


def place_of(verdict: VerdictBase) -> str:
    """Return where a verdict is: "sentence 2", "sentence 2 · 1" for its citation."""
    sentence = sentence_of(verdict)
    if sentence is None:
        return ""
    marker = getattr(getattr(verdict, "citation", None), "marker", "")
    others = verdict.item.split("/")
    if str(sentence) in others:
        others.remove(str(sentence))
    rest = f"[{marker}]" if marker else " ".join(part for part in others if part != "answer")
    parts = [f"sentence {sentence}", rest if len(rest) <= LONGEST_PLACE else ""]
    return " · ".join(part for part in parts if part)


def reason_of(verdict: VerdictBase) -> str:
    """Return a verdict's reason, in the judge's words or by what it found."""
    reason = getattr(verdict, "rationale", "") or getattr(verdict, "reason", "")
    difference = getattr(verdict, "difference", "")
    answer = getattr(verdict, "answer", "")
    parts = [
        reason,
        f"not supported: {difference}" if difference else "",
        f"extracted: {answer}" if answer else "",
        verdict.failure.detail if verdict.failure else "",
        decided_text(verdict),
    ]
    return " ".join(part.strip() for part in parts if part.strip())


def texts_of(verdict: VerdictBase) -> tuple[str, ...]:
    """Return the texts that a verdict lists: nuggets, facts."""
    lists = (getattr(verdict, name, ()) for name in WRITTEN)
    listed = [one for texts in lists for one in texts]
    return tuple(str(getattr(one, "text", None) or getattr(one, "nugget", one)) for one in listed)


def spans_of(verdict: VerdictBase) -> tuple[EvidenceSpan, ...]:
    """Return the passages that a verdict rests on."""
    evidence = getattr(verdict, "evidence", None)
    return (evidence,) if isinstance(evidence, EvidenceSpan) else ()
