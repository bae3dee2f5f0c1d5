"""View of an answer's facts and of the gold nuggets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ragassay.records import Evaluation, NuggetMatch
from ragassay.reports.chips import Chip, chip_of
from ragassay.reports.labels import Tone, label_tone
from ragassay.reports.text import NOT_JUDGED, is_number, score_text


@dataclass(frozen=True, slots=True)
class NuggetView:
    """A fact that the answer states."""

    text: str
    sentence: int | None
    origin: str
    extractive: bool


@dataclass(frozen=True, slots=True)
class MatchView:
    """The answer's nugget that states a gold nugget."""

    text: str
    similarity: str


@dataclass(frozen=True, slots=True)
class GoldView:
    """A gold nugget: "stated", "missed" or "unscored (reason)", with the judge's verdict."""

    text: str
    importance: str
    status: str
    tone: Tone
    matches: tuple[MatchView, ...]
    assignment: Chip | None = None


@dataclass(frozen=True, slots=True)
class NuggetsView:
    """All nuggets of one answer, with notes for the reader."""

    answer: tuple[NuggetView, ...]
    gold: tuple[GoldView, ...]
    note: str


def view_nuggets(evaluation: Evaluation) -> NuggetsView:
    """Return an evaluation's nuggets, the gold ones with their outcome."""
    return NuggetsView(
        answer=tuple(
            NuggetView(
                text=nugget.text,
                sentence=nugget.sentence,
                origin="" if nugget.origin == "answer" else nugget.origin,
                extractive=nugget.method == "extractive",
            )
            for nugget in evaluation.nuggets
        ),
        gold=_gold(evaluation),
        note=_note(evaluation),
    )


def _gold(evaluation: Evaluation) -> tuple[GoldView, ...]:
    matches: dict[int, list[NuggetMatch]] = defaultdict(list)
    for match in evaluation.matches:
        matches[match.gold].append(match)
    assigned = {
        a.gold: chip_of(a.assignment, a.confidence, a.failure, leaning=a.leaning)
        for a in evaluation.assignments
    }
    fate = _fate_without_match(evaluation)
    views = []
    for position, nugget in enumerate(evaluation.gold_nuggets):
        status = "stated" if matches[position] else fate
        tone = label_tone(status if status in {"stated", "missed"} else None)
        found = tuple(_match(evaluation, match) for match in matches[position])
        chip = assigned.get(position)
        views.append(GoldView(nugget.text, nugget.importance or "", status, tone, found, chip))
    return tuple(views)


def _match(evaluation: Evaluation, match: NuggetMatch) -> MatchView:
    known = match.nugget < len(evaluation.nuggets)
    text = evaluation.nuggets[match.nugget].text if known else "(no such nugget in this answer)"
    return MatchView(text, f"{match.similarity_score:.2f}")


def _fate_without_match(evaluation: Evaluation) -> str:
    """Return the outcome of an unmatched gold nugget: "missed" only if the matching succeeded."""
    recall = evaluation.scores.get("nuggets.recall")
    if recall is not None:
        return "missed" if is_number(recall.value) else score_text(recall)
    return "missed" if evaluation.nuggets or evaluation.matches else NOT_JUDGED


def _note(evaluation: Evaluation) -> str:
    recall = evaluation.scores.get("nuggets.recall")
    if not evaluation.gold_nuggets or recall is None or not recall.n_unscored:
        return ""
    if not is_number(recall.value):
        return ""
    return (
        f"{recall.n_unscored} unscored: a nugget marked as missed may stand in a sentence "
        "whose facts are missing."
    )
