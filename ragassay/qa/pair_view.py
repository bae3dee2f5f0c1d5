"""View of one question-answer pair: what is wrong with it, in words, and where."""

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
from ragassay.reports.display import Tone, label_tone, unscored_text
from ragassay.reports.labels import Severity
from ragassay.reports.text import humanise, join_words

MarkKind = Literal["", "number", "look", "context"]


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """A part of a text: marked, or with kind "" plain."""

    text: str
    kind: MarkKind = ""


def mark_parts(
    text: str,
    part: PairPart,
    context: Sequence[ContextMark] = (),
    numbers: Sequence[AnswerNumber] = (),
) -> tuple[MarkedPart, ...]:
    """Return a text in parts, which joined are the text.

    Marked are numbers that the paper lacks or has elsewhere only, and words that need the paper. A
    place outside the text or inside another mark is passed over, and so are marks of the other
    part, and numbers that were found in place.
    """
    spans: dict[tuple[int, int], MarkKind] = {
        (mark.start, mark.end): "context" for mark in context if mark.part == part
    }
    if part == "answer":
        spans |= {
            (one.start, one.end): "look" if one.is_found else "number"
            for one in numbers
            if not (one.is_found and one.is_near)
        }
    parts: list[MarkedPart] = []
    position = 0
    for (start, end), kind in sorted(spans.items()):
        if not position <= start < end <= len(text):
            continue
        parts += [MarkedPart(text[position:start]), MarkedPart(text[start:end], kind)]
        position = end
    parts.append(MarkedPart(text[position:]))
    return tuple(one for one in parts if one.text)


TONES: Mapping[int, Tone] = {3: "good", 2: "plain", 1: "bad"}
SEVERITIES: tuple[Severity, ...] = ("serious", "caution", "note")
PARTS = {"question": "The question", "answer": "The answer"}


@dataclass(frozen=True, slots=True)
class RatingView:
    """A rating of one dimension; `word` is the rating, or why there is none."""

    title: str
    word: str
    tone: Tone
    reason: str
    quotes: tuple[str, ...]
    is_low: bool


@dataclass(frozen=True, slots=True)
class PairFault:
    """Something to look at: `quote` is the paper's or another pair's text that belongs to it."""

    message: str
    severity: Severity
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairView:
    """A pair; `rank` sorts the worst first."""

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
    """Everything known of a pair.

    Ratings are in RACAR's order; intents compare its question; sentences and questions (by pair)
    are of its paper; the embedder is behind the cosines.
    """

    pair: QAPair
    measures: PairMeasures | None
    ratings: Sequence[RacarRating]
    intents: Sequence[IntentSimilarity]
    sentences: Sequence[str]
    questions: Mapping[str, str]
    embedder: str


def view_pair(number: int, paper: str, paper_number: int, facts: PairFacts) -> PairView:
    """Return the view of a pair; its number, and its paper's, count from 1."""
    pair, measures = facts.pair, facts.measures
    context = measures.context if measures else ()
    ratings = tuple(map(_rating, facts.ratings))
    faults = (*_measured_faults(facts), *_rated_faults(ratings), *_intent_faults(facts))
    serious, caution = (sum(f.severity == kind for f in faults) for kind in SEVERITIES[:2])
    first = measures.closest[0] if measures and measures.closest else -1
    closest_text = ""
    if measures and first >= 0 and measures.similarity:
        place = f"sentence {first + 1} of {len(measures.similarity)}"
        closest_text = f"{place}, cosine {measures.similarity[first]:.2f}"
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


def _rating(rating: RacarRating) -> RatingView:
    tentative_label = None if rating.tentative_rating is None else str(rating.tentative_rating)
    word = unscored_text(rating.failure, tentative_label)
    tone = label_tone(None, rating.failure)
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


def _rated_faults(ratings: Sequence[RatingView]) -> list[PairFault]:
    return [
        PairFault(
            f"{one.title} was rated {one.word}{': ' + one.reason if one.reason else '.'}",
            "serious" if one.tone == "bad" else "caution",
            one.quotes,
        )
        for one in ratings
        if one.is_low
    ]


def _measured_faults(facts: PairFacts) -> list[PairFault]:
    measures, found = facts.measures, list[PairFault]()
    if not facts.pair.answer.strip():
        found.append(PairFault("The answer is empty.", "serious"))
    if measures is None:
        return found
    if missing := _quote(one.text for one in measures.numbers if not one.is_found):
        found.append(PairFault(f"The paper does not have {missing}.", "serious"))
    if astray := _quote(n.text for n in measures.numbers if n.is_found and not n.is_near):
        message = f"Worth a look: the paper has {astray} with another unit or among other words."
        found.append(PairFault(message, "caution"))
    for part, words in PARTS.items():
        if marks := _quote(mark.text for mark in measures.context if mark.part == part):
            # An answer still has its question to lean on.
            severity: Severity = "serious" if part == "question" else "note"
            found.append(PairFault(f"{words} needs the paper: {marks}.", severity))
    likeness = measures.nearest_similarity or 0.0
    if likeness >= NEAR_DUPLICATE and facts.embedder == NEAR_DUPLICATE_BY:
        other = facts.questions.get(measures.nearest_question or "", "")
        message = f"Another question is almost the same: cosine {likeness:.2f}."
        found.append(PairFault(message, "caution", (other,) if other else ()))
    return found


def _quote(texts: Iterable[str]) -> str:
    return join_words(f"\u201c{text}\u201d" for text in dict.fromkeys(texts))


def _intent_faults(facts: PairFacts) -> list[PairFault]:
    found: list[PairFault] = []
    for one in facts.intents:
        if one.score is None or one.score < SAME_INTENT:
            continue
        other = facts.questions.get(one.second if one.first == facts.pair.id else one.first, "")
        message = f"The judge finds that another question asks for the same: {one.score:g} of 100."
        found.append(PairFault(message, "caution", (other,) if other else ()))
    return found
