"""Rate question-answer pairs by RACAR without a language model, where that can be told.

- agnosticism: 1 for a question with words that need the paper ("this study", "Figure 5"); a
  question without such words is undecided
- accuracy: 1 for an answer with a number that the paper does not have; undecided, and leaning to 1,
  where the paper has it only with another unit or among other words
- relevance: by the paper's closest sentence and the share of the question's words in the paper

Completeness and reasonableness nobody rates. `ragassay models show ragassay/pair-rater` says how
often each of these is right.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ragassay.instruments.pair_signals import ManyEncoder, PaperSignals
from ragassay.metrics.qa.numbers import SourceNumbers, answer_numbers
from ragassay.metrics.risk import bound_of, undecided
from ragassay.models.pair_relevance import NAME, RelevanceModel, shipped_relevance
from ragassay.records import (
    RACAR_SCALE,
    Case,
    Failure,
    QAPair,
    RacarDimension,
    RacarRating,
)
from ragassay.text.context_marks import context_marks

LOW, HIGH = RACAR_SCALE
RULES = "1"
"""Version of the rules; raise it when what they decide changes."""

_NOBODY = Failure(reason="undecided", detail="only a judge can tell: name one with --model")


class EmbeddedPairRater:
    """Rates pairs by rules and two similarities; undecided where these cannot tell.

    Args:
        embedder: The packaged one is what the numbers were fitted to.
        model: By default the shipped numbers.
    """

    name = NAME
    dimensions: frozenset[RacarDimension] = frozenset({"relevance", "agnosticism", "accuracy"})

    def __init__(self, embedder: ManyEncoder, model: RelevanceModel | None = None) -> None:
        self._signals = PaperSignals(embedder)
        self._model = model or shipped_relevance()
        self._embedder = str(getattr(embedder, "digest", ""))
        self._numbers = functools.lru_cache(maxsize=8)(SourceNumbers.of)
        self.digest = self._model.digest

    @property
    def identity(self) -> tuple[str, ...]:
        """Name, version of the rules, digests of the numbers and the embedder."""
        return (self.name, RULES, self.digest, self._embedder)

    def rate(
        self, dimension: RacarDimension, pairs: Sequence[QAPair], case: Case
    ) -> list[RacarRating]:
        """See `PairRater`."""
        text = case.sources[0].text
        rate: Callable[[QAPair], RacarRating]
        match dimension:
            case "relevance":
                return self._relevance(pairs, text)
            case "agnosticism":
                rate = _agnosticism
            case "accuracy":
                rate = functools.partial(_accuracy, source=self._numbers(text))
            case _:
                rate = functools.partial(_open, dimension)
        return [rate(pair) for pair in pairs]

    def _relevance(self, pairs: Sequence[QAPair], text: str) -> list[RacarRating]:
        measured = self._signals.measure([pair.question for pair in pairs], text)
        return [self._related(pair, *both) for pair, both in zip(pairs, measured, strict=True)]

    def _related(self, pair: QAPair, closest: float, covered: float) -> RacarRating:
        share = self._model.probability(closest, covered)
        rating, sure = (HIGH, share) if share >= 0.5 else (LOW, 1 - share)
        confidence = round(sure, 4)
        bound = bound_of(self._model.bounds, str(rating), "verdict")
        failure = undecided(bound, str(rating), confidence) if bound else None
        reason = (
            f"The paper has {covered:.0%} of the question's words; its closest sentence is "
            f"{closest:.2f} alike."
        )
        if failure is not None:
            return RacarRating(
                pair=pair.id,
                dimension="relevance",
                reason=reason,
                leaning=str(rating),
                leaning_rating=rating,
                confidence=confidence,
                failure=failure,
            )
        return RacarRating(
            pair=pair.id,
            dimension="relevance",
            rating=rating,
            score=rating,
            reason=reason,
            confidence=confidence,
        )


def _agnosticism(pair: QAPair) -> RacarRating:
    marks = [mark for mark in context_marks(pair.question, "") if mark.part == "question"]
    if not marks:
        return _open("agnosticism", pair, HIGH, "no words that need the paper; it may still do")
    words = ", ".join(dict.fromkeys(f'"{mark.text}"' for mark in marks))
    return _lowest("agnosticism", pair, f"Needs the paper: {words}.")


def _accuracy(pair: QAPair, source: SourceNumbers) -> RacarRating:
    numbers = answer_numbers(pair.answer, source)
    lost = [one.text for one in numbers if not one.is_found]
    if lost:
        return _lowest("accuracy", pair, f"The paper does not have {', '.join(lost)}.")
    astray = [one.text for one in numbers if not one.is_near]
    if astray:
        why = f"the paper has {', '.join(astray)} with another unit or among other words"
        return _open("accuracy", pair, LOW, why)
    said = "its numbers are in the paper" if numbers else "it has no number"
    return _open("accuracy", pair, HIGH, f"{said}; the rest only a judge can tell")


def _lowest(dimension: RacarDimension, pair: QAPair, reason: str) -> RacarRating:
    return RacarRating(pair=pair.id, dimension=dimension, rating=LOW, score=LOW, reason=reason)


def _open(
    dimension: RacarDimension, pair: QAPair, leaning: int | None = None, why: str = ""
) -> RacarRating:
    failure = Failure(reason="undecided", detail=why) if why else _NOBODY
    return RacarRating(
        pair=pair.id,
        dimension=dimension,
        leaning="" if leaning is None else str(leaning),
        leaning_rating=leaning,
        failure=failure,
    )
