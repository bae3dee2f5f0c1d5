"""Grade a passage by a test bank without a language model: interface and embedded grader."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import SettingsError
from ragassay.metrics.stats.calibration import bound_of, explain_undecided
from ragassay.metrics.stats.uncertainty import rounded_bits
from ragassay.models.entailment import NEUTRAL, SUPPORTS, EntailmentModel
from ragassay.models.fitted_raters import EXAM_RATER, ExamModel, shipped_exam_model
from ragassay.records import DirectGrader, ExamGrade, ExamGrader, ExamItem, Failure, RelevanceGrade
from ragassay.retrievers.rerankers import TextEncoder, best_matches, encode_tokens
from ragassay.text.search import passage_of_sentences, tokenize
from ragassay.text.sentences import sentences_of


class ExamInstrument(ABC):
    """Grades passages. Calls compute, so make them in a thread; they are safe across threads.

    Attributes:
        digest: SHA-256 of its numbers or weights; empty where not known.
        graders: How it can grade items.
        direct_graders: How it can grade relevance; empty where it cannot.
        refusal: Why it cannot grade otherwise.
    """

    name: str
    digest: str
    graders: frozenset[ExamGrader]
    direct_graders: frozenset[DirectGrader] = frozenset()
    refusal: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """Name, digests and bounds: all that its grades depend on besides the texts."""
        return (self.name, self.digest)

    @abstractmethod
    def grade(
        self, items: Sequence[ExamItem], passage: str, grader: ExamGrader = "rating"
    ) -> list[ExamGrade]:
        """Grade a passage by all items of a bank, in one batch.

        Args:
            items: Questions and nuggets, in any order; may be empty.
            grader: One of `graders`.

        Returns:
            A grade for each item, in their order; one that it cannot tell is undecided.

        Raises:
            SettingsError: The model is unavailable, or cannot grade so.
        """

    def relevance(self, query: str, passage: str, grader: DirectGrader) -> RelevanceGrade:
        """Grade a passage's relevance to its query, without items.

        Raises:
            SettingsError: The model is unavailable, or cannot grade so.
        """
        self.refuse(grader)

    def refuse(self, grader: ExamGrader | DirectGrader) -> NoReturn:
        """Raise a `SettingsError` that says why it cannot grade so."""
        raise SettingsError(f"{self.name} cannot grade by {grader}: {self.refusal}")


MOST_LOG_ODDS = 6.0
"""Largest log-odds of a probability, of either sign."""


@dataclass(frozen=True)
class ItemSignals:
    """The measures of an item and a passage.

    Attributes:
        signals: By name; of each more means better covered. `sentence`: highest cosine of item and
            sentence; `bank`: its mean over all items; `tokens`: mean cosine of the item's tokens
            with the passage's closest ones; `least`: the lowest of these; `words`: share of the
            item's words in the passage; `supports`, `settles`: log-odds by the verifier that the
            passage supports the item as a claim, and that it does not leave it open.
    """

    signals: Mapping[str, float]
    sentence: str


def measure(
    items: Sequence[ExamItem], passage: str, embedder: TextEncoder, verifier: EntailmentModel
) -> list[ItemSignals]:
    """Measure a passage against all items of a bank.

    Args:
        items: The bank's items; `bank` is their mean, so a part of a bank gives another one.
        embedder: Gives the similarities; of tokens too, where it can.
        verifier: Gives the log-odds.
    """
    sentences = sentences_of(passage) or [passage.strip()]
    found = encode_tokens(embedder, [*sentences, *(item.text for item in items)])
    read, asked = found[: len(sentences)], found[len(sentences) :]
    tokens = np.concatenate([one.tokens for one in read])
    cosines = np.array([[float(a.vector @ one.vector) for one in read] for a in asked])
    cosines = cosines.reshape(len(items), len(sentences))
    bank = float(cosines.max(axis=1).mean()) if len(items) else 0.0
    words = set(tokenize(passage))
    pairs = [(item.text, passage_of_sentences(item.text, sentences)) for item in items]
    shares = verifier.probabilities(pairs)
    rows: list[ItemSignals] = []
    for item, one, row, share in zip(items, asked, cosines, shares, strict=True):
        own = tokenize(item.text)
        signals = {
            "sentence": float(row.max()),
            "bank": bank,
            **_token_signals(one.tokens, tokens),
            "words": sum(word in words for word in own) / len(own) if own else 0.0,
            "supports": _log_odds(float(share[SUPPORTS])),
            "settles": -_log_odds(float(share[NEUTRAL])),
        }
        rows.append(ItemSignals(signals, sentences[int(row.argmax())]))
    return rows


def _token_signals(
    item: NDArray[np.floating], passage: NDArray[np.floating]
) -> Mapping[str, float]:
    matches = best_matches(item, passage)
    if not len(matches):
        return {"tokens": 0.0, "least": 0.0}
    return {"tokens": float(matches.mean()), "least": float(matches.min())}


def _log_odds(share: float) -> float:
    odds = math.log(max(share, 1e-9) / max(1 - share, 1e-9))
    return max(-MOST_LOG_ODDS, min(MOST_LOG_ODDS, odds))


EMPTY = Failure(reason="empty_answer", detail="the passage has no text")


class EmbeddedExamGrader(ExamInstrument):
    """Grades by similarity and verifier; undecided where these cannot tell.

    Args:
        embedder: The packaged one is what the numbers were fitted to.
        model: By default the shipped numbers.
    """

    name = EXAM_RATER
    graders: frozenset[ExamGrader] = frozenset({"rating"})
    refusal = "it rates by a test bank; name a model with --model, or a local grader"

    def __init__(
        self, embedder: TextEncoder, verifier: EntailmentModel, model: ExamModel | None = None
    ) -> None:
        self._embedder, self._verifier = embedder, verifier
        self._model = model or shipped_exam_model()
        self.digest = self._model.digest

    @property
    def identity(self) -> tuple[str, ...]:
        """Name and digests of the numbers, the embedder and the verifier."""
        embedder = str(getattr(self._embedder, "digest", ""))
        return (self.name, self.digest, embedder, self._verifier.digest)

    def grade(
        self, items: Sequence[ExamItem], passage: str, grader: ExamGrader = "rating"
    ) -> list[ExamGrade]:
        """See `ExamInstrument`; the answer is the sentence closest to a covered item.

        The items of a bank are measured together: how close the passage is to the bank counts for
        each of them.
        """
        if grader not in self.graders:
            self.refuse(grader)
        if not passage.strip():
            return [ExamGrade(exam_item=item.id, failure=EMPTY) for item in items]
        found = measure(items, passage, self._embedder, self._verifier)
        return [self._grade(item, one) for item, one in zip(items, found, strict=True)]

    def _grade(self, item: ExamItem, measured: ItemSignals) -> ExamGrade:
        weights = self._model.kinds[item.kind]
        reached = weights.reach_probabilities(measured.signals)
        is_covered = reached[0] >= 0.5
        tentative_label = "yes" if is_covered else "no"
        confidence = round(max(reached[0], 1 - reached[0]), 4)
        bits = rounded_bits((reached[0], 1 - reached[0]))
        bound = bound_of(weights.bounds, tentative_label, "verdict")
        doubt = explain_undecided(bound, tentative_label, confidence) if bound else None
        rating = sum(share >= 0.5 for share in reached)
        told = {"exam_item": item.id, "confidence": confidence, "entropy_bits": bits}
        if doubt:
            return ExamGrade(
                **told, tentative_label=tentative_label, tentative_rating=rating, failure=doubt
            )
        return ExamGrade(
            **told,
            rating=rating,
            score=round(sum(reached), 4),
            answer=measured.sentence if is_covered else "",
            is_correct=is_covered,
        )
