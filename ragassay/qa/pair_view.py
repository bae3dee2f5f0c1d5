"""View of one question-answer pair: what is wrong with it, in words, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def marked(
    text: str,
    part: PairPart,
    context: Sequence[ContextMark] = (),
    numbers: Sequence[AnswerNumber] = (),
) -> tuple[MarkedPart, ...]:
    """Return a text in parts, which joined are the text.

    Marked are numbers that the paper lacks or has elsewhere only, and words that need the paper. A
    place outside the text or inside another mark is passed over.

    Args:
        text: The question or the answer.
        part: Which of them it is.
        context: Marks of the pair; those of the other part are passed over.
        numbers: Numbers of the answer; those that were found in place are passed over.
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

    Attributes:
        pair: The pair.
        measures: None where it was not measured.
        ratings: Its ratings, in RACAR's order; may be empty.
        intents: The judge's comparisons of its question; may be empty.
        sentences: The sentences of its paper.
        questions: The questions of its paper by pair.
        embedder: The model behind the cosines.
    """

    pair: QAPair
    measures: PairMeasures | None
    ratings: Sequence[RacarRating]
    intents: Sequence[IntentSimilarity]
    sentences: Sequence[str]
    questions: Mapping[str, str]
    embedder: str


def view_pair(number: int, paper: str, paper_number: int, facts: PairFacts) -> PairView:
    """Return the view of a pair.

    Args:
        number: 1-based place among the paper's pairs.
        paper: What the paper is called.
        paper_number: 1-based place of the paper in the report.
        facts: What is known of the pair.
    """
    pair, measures = facts.pair, facts.measures
    context = measures.context if measures else ()
    ratings = tuple(map(_rating, facts.ratings))
    faults = (*_measured_faults(facts), *_rated_faults(ratings), *_intent_faults(facts))
    serious, caution = (sum(f.severity == kind for f in faults) for kind in SEVERITIES[:2])
    return PairView(
        number=number,
        anchor=f"p{paper_number}-{number}",
        id=pair.id,
        paper=paper,
        paper_number=paper_number,
        question=marked(pair.question, "question", context),
        answer=marked(pair.answer, "answer", context, measures.numbers if measures else ()),
        faults=tuple(sorted(faults, key=lambda fault: SEVERITIES.index(fault.severity))),
        ratings=ratings,
        closest=_closest(facts),
        closest_text=_closest_text(measures),
        n_chunks=len(measures.chunks) if measures else None,
        rank=(-serious, -caution, -len(faults)),
    )


def _closest(facts: PairFacts) -> str:
    """Return the paper's sentence closest to the answer; "" without one."""
    closest = facts.measures.closest if facts.measures else ()
    return facts.sentences[closest[0]] if closest and closest[0] < len(facts.sentences) else ""


def _closest_text(measures: PairMeasures | None) -> str:
    if not measures or not measures.closest or not measures.similarity:
        return ""
    place = measures.closest[0]
    n = len(measures.similarity)
    return f"sentence {place + 1} of {n}, cosine {measures.similarity[place]:.2f}"


def _rating(rating: RacarRating) -> RatingView:
    leaning = None if rating.leaning_rating is None else str(rating.leaning_rating)
    word = unscored_text(rating.failure, leaning)
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
    missing = list(dict.fromkeys(one.text for one in measures.numbers if not one.is_found))
    if missing:
        said = join_words(f"\u201c{text}\u201d" for text in missing)
        found.append(PairFault(f"The paper does not have {said}.", "serious"))
    astray = [one.text for one in measures.numbers if one.is_found and not one.is_near]
    if astray:
        said = join_words(f"\u201c{text}\u201d" for text in dict.fromkeys(astray))
        message = f"Worth a look: the paper has {said} with another unit or among other words."
        found.append(PairFault(message, "caution"))
    found += [_context_fault(part, words, measures.context) for part, words in PARTS.items()]
    likeness = measures.nearest_similarity or 0.0
    if likeness >= NEAR_DUPLICATE and facts.embedder == NEAR_DUPLICATE_BY:
        other = facts.questions.get(measures.nearest_question or "", "")
        message = f"Another question is almost the same: cosine {likeness:.2f}."
        found.append(PairFault(message, "caution", (other,) if other else ()))
    return [fault for fault in found if fault.message]


def _context_fault(part: str, words: str, context: Sequence[ContextMark]) -> PairFault:
    own = list(dict.fromkeys(mark.text for mark in context if mark.part == part))
    if not own:
        return PairFault("", "note")
    said = join_words(f"\u201c{text}\u201d" for text in own)
    # An answer still has its question to lean on.
    return PairFault(
        f"{words} needs the paper: {said}.", "serious" if part == "question" else "note"
    )


def _intent_faults(facts: PairFacts) -> list[PairFault]:
    found: list[PairFault] = []
    for one in facts.intents:
        if one.score is None or one.score < SAME_INTENT:
            continue
        other = facts.questions.get(one.second if one.first == facts.pair.id else one.first, "")
        message = f"The judge finds that another question asks for the same: {one.score:g} of 100."
        found.append(PairFault(message, "caution", (other,) if other else ()))
    return found
