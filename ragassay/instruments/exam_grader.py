"""Grade passages on a test bank without a language model: interface and embedded grader."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ragassay.errors import SettingsError
from ragassay.metrics.stats.calibration import bound_of, explain_undecided
from ragassay.metrics.stats.uncertainty import round_entropy
from ragassay.models.entailment import NEUTRAL, SUPPORTS, EntailmentModel
from ragassay.models.fitted_raters import EXAM_RATER, ExamModel, load_exam_model
from ragassay.records import DirectGrader, ExamGrade, ExamGrader, ExamItem, Failure, RelevanceGrade
from ragassay.retrievers.rerankers import TextEncoder, encode_tokens, match_tokens
from ragassay.text.search import build_passage, tokenize
from ragassay.text.sentences import extract_sentences


class ExamInstrument(ABC):
    """Interface of passage graders, which are thread-safe and should run in a worker thread.

    Attributes:
        digest: SHA-256 of the model's parameters. Empty if unknown.
        graders: Supported methods for grading items.
        direct_graders: Supported methods for grading relevance.
        refusal: Text for the user on why other grading methods are not supported.
    """

    name: str
    digest: str
    graders: frozenset[ExamGrader]
    direct_graders: frozenset[DirectGrader] = frozenset()
    refusal: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """Name and digests of the grader's models, which determine the grade of given texts."""
        return (self.name, self.digest)

    @abstractmethod
    def grade(
        self, items: Sequence[ExamItem], passage: str, grader: ExamGrader = "rating"
    ) -> list[ExamGrade]:
        """Grade a passage on all items of a test bank in one batch.

        The result contains one grade per item, in order. Grades with too low a confidence are
        undecided.

        Raises:
            SettingsError: The model is unavailable or does not support the method.
        """

    def grade_relevance(self, query: str, passage: str, grader: DirectGrader) -> RelevanceGrade:
        """Grade the relevance of a passage to its query, without items.

        Raises:
            SettingsError: The model is unavailable or does not support the method.
        """
        self.refuse(grader)

    def refuse(self, grader: ExamGrader | DirectGrader) -> NoReturn:
        """Raise a `SettingsError` for an unsupported grading method."""
        raise SettingsError(f"{self.name} cannot grade by {grader}: {self.refusal}")


MOST_LOG_ODDS = 6.0
"""Maximum absolute value of the log-odds signals."""


@dataclass(frozen=True)
class ItemSignals:
    """Measurements of how well a passage covers a test bank item.

    Attributes:
        signals: Values, keyed by name. Higher values mean better coverage. `sentence`: highest
            cosine between the item and a sentence; `bank`: mean of `sentence` over all items;
            `tokens`: mean cosine of the item's tokens and their closest tokens in the passage;
            `least`: lowest of the cosines that `tokens` averages; `words`: share of the item's
            words in the passage; `supports`: log-odds that the passage supports the item as a
            claim; `settles`: log-odds that the passage is not neutral to the item.
        sentence: Sentence of the passage that is most similar to the item.
    """

    signals: Mapping[str, float]
    sentence: str


def measure(
    items: Sequence[ExamItem], passage: str, embedder: TextEncoder, verifier: EntailmentModel
) -> list[ItemSignals]:
    """Compute the signals of a passage for all items of a complete test bank."""
    sentences = extract_sentences(passage) or [passage.strip()]
    encoded = encode_tokens(embedder, [*sentences, *(item.text for item in items)])
    encoded_text, encoded_items = encoded[: len(sentences)], encoded[len(sentences) :]
    tokens = np.concatenate([one.tokens for one in encoded_text])
    cosines = np.array([[float(a.vector @ b.vector) for b in encoded_text] for a in encoded_items])
    cosines = cosines.reshape(len(items), len(sentences))
    bank = float(cosines.max(axis=1).mean()) if len(items) else 0.0
    words = set(tokenize(passage))
    pairs = [(item.text, build_passage(item.text, sentences)) for item in items]
    shares = verifier.predict_probabilities(pairs)
    rows: list[ItemSignals] = []
    for item, one, row, share in zip(items, encoded_items, cosines, shares, strict=True):
        own_words, matches = tokenize(item.text), match_tokens(one.tokens, tokens)
        signals = {
            "sentence": float(row.max()),
            "bank": bank,
            "tokens": float(matches.mean()) if len(matches) else 0.0,
            "least": float(matches.min()) if len(matches) else 0.0,
            "words": sum(w in words for w in own_words) / len(own_words) if own_words else 0.0,
            "supports": _compute_log_odds(float(share[SUPPORTS])),
            "settles": -_compute_log_odds(float(share[NEUTRAL])),
        }
        rows.append(ItemSignals(signals, sentences[int(row.argmax())]))
    return rows


def _compute_log_odds(share: float) -> float:
    odds = math.log(max(share, 1e-9) / max(1 - share, 1e-9))
    return max(-MOST_LOG_ODDS, min(MOST_LOG_ODDS, odds))


EMPTY = Failure(reason="empty_answer", detail="the passage has no text")


class EmbeddedExamGrader(ExamInstrument):
    """Grades passages by similarity and natural language inference.

    A grade with too low a confidence is undecided. The packaged parameters were fitted for the
    packaged embedder.
    """

    name = EXAM_RATER
    graders: frozenset[ExamGrader] = frozenset({"rating"})
    refusal = "it can only rate with a test bank; choose a judge with --model, or a local grader"

    def __init__(
        self, embedder: TextEncoder, verifier: EntailmentModel, model: ExamModel | None = None
    ) -> None:
        self._embedder, self._verifier = embedder, verifier
        self._model = model or load_exam_model()
        self.digest = self._model.digest

    @property
    def identity(self) -> tuple[str, ...]:
        """Name and digests of the parameters, the embedder and the verifier."""
        embedder = str(getattr(self._embedder, "digest", ""))
        return (self.name, self.digest, embedder, self._verifier.digest)

    def grade(
        self, items: Sequence[ExamItem], passage: str, grader: ExamGrader = "rating"
    ) -> list[ExamGrade]:
        """Grade a passage on all items. The answer is the sentence most similar to a covered item.

        The items of a bank must be graded together, because their mean is one of the signals.
        """
        if grader not in self.graders:
            self.refuse(grader)
        if not passage.strip():
            return [ExamGrade(exam_item=item.id, failure=EMPTY) for item in items]
        measured = measure(items, passage, self._embedder, self._verifier)
        return [self._grade(item, one) for item, one in zip(items, measured, strict=True)]

    def _grade(self, item: ExamItem, measured: ItemSignals) -> ExamGrade:
        weights = self._model.kinds[item.kind]
        reached = weights.reach_probabilities(measured.signals)
        is_covered = reached[0] >= 0.5
        tentative_label = "yes" if is_covered else "no"
        confidence = round(max(reached[0], 1 - reached[0]), 4)
        bits = round_entropy((reached[0], 1 - reached[0]))
        bound = bound_of(weights.bounds, tentative_label, "verdict")
        doubt = explain_undecided(bound, tentative_label, confidence) if bound else None
        rating = sum(share >= 0.5 for share in reached)
        fields = {"exam_item": item.id, "confidence": confidence, "entropy_bits": bits}
        if doubt:
            return ExamGrade(
                **fields, tentative_label=tentative_label, tentative_rating=rating, failure=doubt
            )
        return ExamGrade(
            **fields,
            rating=rating,
            score=round(sum(reached), 4),
            answer=measured.sentence if is_covered else "",
            is_correct=is_covered,
        )
