"""Rate question-answer pairs on RACAR's dimensions without a language model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers
from ragassay.metrics.stats.calibration import bound_of, explain_undecided
from ragassay.models.fitted_raters import PAIR_RATER, RelevanceModel, load_relevance_model
from ragassay.records import RACAR_SCALE, Case, Failure, QAPair, RacarDimension, RacarRating
from ragassay.text.questions import find_context_marks
from ragassay.text.search import tokenize
from ragassay.text.sentences import extract_sentences


class ManyEncoder(Protocol):
    """Encoder that encodes many texts at once, such as `ragassay.models.embeddings.Embedder`."""

    def encode_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors with shape (n_texts, n_dimensions)."""
        ...


class PaperSignals:
    """Compares questions with papers, and caches the vectors of the most recent papers."""

    def __init__(self, embedder: ManyEncoder) -> None:
        self._embedder = embedder
        self._read = functools.lru_cache(maxsize=8)(self._encode_text)

    def _encode_text(self, text: str) -> tuple[NDArray[np.float32], frozenset[str]]:
        return self._embedder.encode_many(extract_sentences(text)), frozenset(tokenize(text))

    def measure(self, questions: Sequence[str], text: str) -> list[tuple[float, float]]:
        """Return two measures per question, in [-1, 1] and [0, 1].

        The first is the highest cosine between the question and a sentence of the paper, and the
        second the share of the question's words that occur in the paper. Both are 0 if there are no
        sentences or words.
        """
        vectors, words = self._read(text)
        queries = self._embedder.encode_many(questions)
        cosines = (queries @ vectors.T).max(axis=1) if len(vectors) and len(queries) else None
        return [
            (float(cosines[n]) if cosines is not None else 0.0, _compute_share(question, words))
            for n, question in enumerate(questions)
        ]


def _compute_share(question: str, words: frozenset[str]) -> float:
    own = set(tokenize(question))
    return len(own & words) / len(own) if own else 0.0


LOW, HIGH = RACAR_SCALE
RULES = "1"
"""Version of the rules, which identifies them in a run. Increase it if a rule changes."""

_NO_JUDGE = Failure.leave_open("this needs a judge; choose one with --model")


class EmbeddedPairRater:
    """Rates question-answer pairs by rules and two similarities.

    Ratings with too low a confidence are undecided. The rater is thread-safe and should run in a
    worker thread. The packaged parameters were fitted for the packaged embedder.
    """

    name = PAIR_RATER
    dimensions: frozenset[RacarDimension] = frozenset({"relevance", "agnosticism", "accuracy"})

    def __init__(self, embedder: ManyEncoder, model: RelevanceModel | None = None) -> None:
        self._signals = PaperSignals(embedder)
        self._model = model or load_relevance_model()
        self._embedder = str(getattr(embedder, "digest", ""))
        self._numbers = functools.lru_cache(maxsize=8)(SourceNumbers.from_text)
        self.digest = self._model.digest

    @property
    def identity(self) -> tuple[str, ...]:
        """Name of the rater, version of its rules, and digests of its parameters and embedder."""
        return (self.name, RULES, self.digest, self._embedder)

    def rate(
        self, dimension: RacarDimension, pairs: Sequence[QAPair], case: Case
    ) -> list[RacarRating]:
        """Return a rating of each pair on one dimension, in the order of the pairs.

        The paper is the source of the case.
        """
        text = case.sources[0].text
        rate: Callable[[QAPair], RacarRating]
        match dimension:
            case "relevance":
                return self._rate_relevance(pairs, text)
            case "agnosticism":
                rate = _rate_agnosticism
            case "accuracy":
                rate = functools.partial(_rate_accuracy, source=self._numbers(text))
            case _:
                rate = functools.partial(_leave_open, dimension)
        return [rate(pair) for pair in pairs]

    def _rate_relevance(self, pairs: Sequence[QAPair], text: str) -> list[RacarRating]:
        measured = self._signals.measure([pair.question for pair in pairs], text)
        return [self._rate_relation(p, *both) for p, both in zip(pairs, measured, strict=True)]

    def _rate_relation(self, pair: QAPair, closest: float, covered: float) -> RacarRating:
        share = self._model.predict_probability(closest, covered)
        rating, sure = (HIGH, share) if share >= 0.5 else (LOW, 1 - share)
        confidence = round(sure, 4)
        bound = bound_of(self._model.bounds, str(rating), "verdict")
        failure = explain_undecided(bound, str(rating), confidence) if bound else None
        reason = (
            f"The paper contains {covered:.0%} of the question's words. Its most similar sentence "
            f"has a similarity of {closest:.2f}."
        )
        fields = {"pair": pair.id, "reason": reason, "confidence": confidence}
        if failure is not None:
            fields |= {"tentative_label": str(rating), "tentative_rating": rating}
            fields["failure"] = failure
        else:
            fields |= {"rating": rating, "score": rating}
        return RacarRating.model_validate({"dimension": "relevance", **fields})


def _rate_agnosticism(pair: QAPair) -> RacarRating:
    marks = [mark for mark in find_context_marks(pair.question, "") if mark.part == "question"]
    if not marks:
        why = "no words that depend on the paper were found, but the question may still need it"
        return _leave_open("agnosticism", pair, HIGH, why)
    words = ", ".join(dict.fromkeys(f'"{mark.text}"' for mark in marks))
    return _rate_lowest("agnosticism", pair, f"Needs the paper: {words}.")


def _rate_accuracy(pair: QAPair, source: SourceNumbers) -> RacarRating:
    numbers = check_answer_numbers(pair.answer, source)
    lost = [one.text for one in numbers if not one.is_found]
    if lost:
        return _rate_lowest("accuracy", pair, f"The paper does not contain {', '.join(lost)}.")
    astray = [one.text for one in numbers if not one.is_near]
    if astray:
        why = f"the paper contains {', '.join(astray)} with another unit or in another context"
        return _leave_open("accuracy", pair, LOW, why)
    numbers_text = "the numbers are in the paper" if numbers else "the answer has no numbers"
    return _leave_open("accuracy", pair, HIGH, f"{numbers_text}; the rest needs a judge")


def _rate_lowest(dimension: RacarDimension, pair: QAPair, reason: str) -> RacarRating:
    return RacarRating(pair=pair.id, dimension=dimension, rating=LOW, score=LOW, reason=reason)


def _leave_open(
    dimension: RacarDimension, pair: QAPair, tentative_label: int | None = None, why: str = ""
) -> RacarRating:
    failure = Failure.leave_open(why) if why else _NO_JUDGE
    return RacarRating(
        pair=pair.id,
        dimension=dimension,
        tentative_label="" if tentative_label is None else str(tentative_label),
        tentative_rating=tentative_label,
        failure=failure,
    )
