"""Prepare a question-answer pair, its ratings and its faults for display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.qa.scores import NEAR_DUPLICATE, NEAR_DUPLICATE_BY, SAME_INTENT
from ragassay.records.inputs import QAPair
from ragassay.records.qa import (
    RACAR_SCALE,
    AnswerNumber,
    ContextMark,
    IntentSimilarity,
    PairMeasures,
    PairPart,
    RacarRating,
)
from ragassay.reports.display import Tone, choose_label_tone, format_unscored
from ragassay.reports.labels import Severity
from ragassay.reports.text import humanise, join_words

MarkKind = Literal["", "number", "look", "context"]


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """A part of a text; its `kind` is empty if it is not highlighted."""

    text: str
    kind: MarkKind = ""


def mark_parts(
    text: str,
    part: PairPart,
    context: Sequence[ContextMark] = (),
    numbers: Sequence[AnswerNumber] = (),
) -> tuple[MarkedPart, ...]:
    """Split a text into highlighted and other parts.

    The highlighted parts are words that depend on the paper and, in answers, numbers that the paper
    does not contain or contains only in a different context. Highlights that overlap an earlier
    highlight or extend beyond the text are ignored.
    """
    spans: dict[tuple[int, int], MarkKind] = {
        (mark.start, mark.end): "context" for mark in context if mark.part == part
    }
    if part == "answer":
        spans |= {
            (number.start, number.end): "look" if number.is_found else "number"
            for number in numbers
            if not (number.is_found and number.is_near)
        }
    parts: list[MarkedPart] = []
    position = 0
    for (start, end), kind in sorted(spans.items()):
        if not position <= start < end <= len(text):
            continue
        parts += [MarkedPart(text[position:start]), MarkedPart(text[start:end], kind)]
        position = end
    parts.append(MarkedPart(text[position:]))
    return tuple(marked for marked in parts if marked.text)


TONES: Mapping[int, Tone] = {3: "good", 2: "plain", 1: "bad"}
SEVERITIES: tuple[Severity, ...] = ("serious", "caution", "note")
PARTS = {"question": "The question", "answer": "The answer"}


@dataclass(frozen=True, slots=True)
class RatingView:
    """A rating of one RACAR dimension, or in `word` the reason why there is none."""

    title: str
    word: str
    tone: Tone
    reason: str
    quotes: tuple[str, ...]
    is_low: bool


@dataclass(frozen=True, slots=True)
class PairFault:
    """A possible fault of a pair, with quotes from the paper or from another pair."""

    message: str
    severity: Severity
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairView:
    """A question-answer pair for display; sorting by `rank` puts the worst pairs first."""

    number: int
    anchor: str
    id: str
    paper: str
    paper_number: int
    question: tuple[MarkedPart, ...]
    answer: tuple[MarkedPart, ...]
    faults: tuple[PairFault, ...]
    ratings: tuple[RatingView, ...]
    closest: str
    closest_text: str
    n_chunks: int | None
    rank: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PairFacts:
    """A question-answer pair with its measures, ratings and intent scores."""

    pair: QAPair
    measures: PairMeasures | None
    ratings: Sequence[RacarRating]
    intents: Sequence[IntentSimilarity]
    sentences: Sequence[str]
    questions: Mapping[str, str]
    embedder: str


def view_pair(number: int, paper: str, paper_number: int, facts: PairFacts) -> PairView:
    """Prepare a pair for display. Pairs and papers are numbered from 1."""
    pair, measures = facts.pair, facts.measures
    context = measures.context if measures else ()
    ratings = tuple(map(_view_rating, facts.ratings))
    faults = (
        *_list_measured_faults(facts),
        *_list_rated_faults(ratings),
        *_list_intent_faults(facts),
    )
    serious, caution = (sum(f.severity == kind for f in faults) for kind in SEVERITIES[:2])
    first = measures.closest[0] if measures and measures.closest else -1
    closest_text = ""
    if measures and first >= 0 and measures.similarity:
        closest_text = (
            f"sentence {first + 1} of {len(measures.similarity)}, "
            f"cosine {measures.similarity[first]:.2f}"
        )
    return PairView(
        number=number,
        anchor=f"p{paper_number}-{number}",
        id=pair.id,
        paper=paper,
        paper_number=paper_number,
        question=mark_parts(pair.question, "question", context),
        answer=mark_parts(pair.answer, "answer", context, measures.numbers if measures else ()),
        faults=tuple(sorted(faults, key=lambda fault: SEVERITIES.index(fault.severity))),
        ratings=ratings,
        closest=facts.sentences[first] if 0 <= first < len(facts.sentences) else "",
        closest_text=closest_text,
        n_chunks=len(measures.chunks) if measures else None,
        rank=(-serious, -caution, -len(faults)),
    )


def _view_rating(rating: RacarRating) -> RatingView:
    tentative_label = None if rating.tentative_rating is None else str(rating.tentative_rating)
    word = format_unscored(rating.failure, tentative_label)
    tone = choose_label_tone(None, rating.failure)
    if rating.rating is not None:
        word, tone = f"{rating.rating} of {RACAR_SCALE[1]}", TONES[rating.rating]
        if rating.score is not None and abs(rating.score - rating.rating) >= 0.05:
            word += f" ({rating.score:.1f})"
    return RatingView(
        title=humanise(rating.dimension),
        word=word,
        tone=tone,
        reason=rating.reason,
        quotes=tuple(span.text for span in rating.evidence),
        is_low=rating.rating is not None and rating.rating < RACAR_SCALE[1],
    )


def _list_rated_faults(ratings: Sequence[RatingView]) -> list[PairFault]:
    return [
        PairFault(
            f"{rating.title} was rated {rating.word}"
            + (f": {rating.reason}" if rating.reason else "."),
            "serious" if rating.tone == "bad" else "caution",
            rating.quotes,
        )
        for rating in ratings
        if rating.is_low
    ]


def _list_measured_faults(facts: PairFacts) -> list[PairFault]:
    measures, faults = facts.measures, list[PairFault]()
    if not facts.pair.answer.strip():
        faults.append(PairFault("The answer is empty.", "serious"))
    if measures is None:
        return faults
    if missing := _quote_texts(number.text for number in measures.numbers if not number.is_found):
        faults.append(PairFault(f"The paper does not contain {missing}.", "serious"))
    if misplaced := _quote_texts(n.text for n in measures.numbers if n.is_found and not n.is_near):
        message = (
            f"Worth a look: the paper contains {misplaced} only with a different unit or in a "
            "different context."
        )
        faults.append(PairFault(message, "caution"))
    for part, label in PARTS.items():
        if marks := _quote_texts(mark.text for mark in measures.context if mark.part == part):
            # The question can provide the context of an answer.
            severity: Severity = "serious" if part == "question" else "note"
            faults.append(PairFault(f"{label} refers to the paper: {marks}.", severity))
    similarity = measures.nearest_similarity or 0.0
    if similarity >= NEAR_DUPLICATE and facts.embedder == NEAR_DUPLICATE_BY:
        other = facts.questions.get(measures.nearest_question or "", "")
        message = f"Another question is almost the same: cosine {similarity:.2f}."
        faults.append(PairFault(message, "caution", (other,) if other else ()))
    return faults


def _quote_texts(texts: Iterable[str]) -> str:
    return join_words(f"\u201c{text}\u201d" for text in dict.fromkeys(texts))


def _list_intent_faults(facts: PairFacts) -> list[PairFault]:
    faults: list[PairFault] = []
    for intent in facts.intents:
        if intent.score is None or intent.score < SAME_INTENT:
            continue
        other_id = intent.second if intent.first == facts.pair.id else intent.first
        other = facts.questions.get(other_id, "")
        message = f"The judge considers another question equivalent: {intent.score:g} of 100."
        faults.append(PairFault(message, "caution", (other,) if other else ()))
    return faults
