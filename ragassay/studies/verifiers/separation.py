"""Does a score tell a sentence's own documents from others (BioACE, algorithm 1)?"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import build_score, mean_interval
from ragassay.models.correctness import CorrectnessModel
from ragassay.records import Document, Score
from ragassay.studies.verifiers.sentences import CitedSentence, best_of, best_score

FIGURES = ("positive", "negative", "accuracy", "auc")


@dataclass(frozen=True)
class QuestionSeparation:
    """Separation of one question's sentences.

    Attributes:
        positive: Mean score of sentences with passages that support them.
        negative: Mean score of the same sentences with passages of another question.
        accuracy: Share of sentences whose positive score is above their negative one.
        auc: Area under the ROC curve of positive against negative scores.
        n_sentences: The question's sentences.
    """

    positive: float
    negative: float
    accuracy: float
    auc: float
    n_sentences: int


@dataclass(frozen=True)
class Separation:
    """Separation of a sentence's own passages from those of another question by a score.

    Attributes:
        positive: Mean score of sentences with passages that support them.
        negative: Mean score of the same sentences with passages of another question.
        accuracy: Share of sentences whose positive score is above their negative one.
        auc: Area under the ROC curve of positive against negative scores.
        n_questions: The number of questions averaged over.
        pooled_auc: The area over the sentences of all questions at once, which the paper does not
            give: with one sentence a question the mean of the areas is the accuracy.
        questions: The figures by question; those above are their means.
    """

    positive: float
    negative: float
    accuracy: float
    auc: float
    n_questions: int
    pooled_auc: float
    questions: Mapping[str, QuestionSeparation]

    def score(self, figure: str) -> Score:
        """Return one of `FIGURES` as a mean over questions, with its interval."""
        values = [float(getattr(one, figure)) for one in self.questions.values()]
        interval = mean_interval(values, list(self.questions))
        scale = (-1.0, 1.0) if figure in ("positive", "negative") else (0.0, 1.0)
        return build_score(getattr(self, figure), len(values), 0, interval, scale=scale)


def separation(
    scores: Mapping[str, Sequence[tuple[float, float]]],
) -> Separation | None:
    """Compare positive with sampled negative scores: the semantic route (BioACE, algorithm 1).

    Args:
        scores: For each question, the positive and the negative score of each answer sentence; each
            is the best over the passages of a document.

    Returns:
        Means over questions, each counted once; None without a question that has a sentence.

    Example:
        >>> found = separation({"q1": [(0.9, 0.2), (0.4, 0.5)]})
        >>> found.accuracy, found.auc
        (0.5, 0.75)
    """
    rows = {question: _of_question(pairs) for question, pairs in scores.items() if pairs}
    if not rows:
        return None
    means = {
        name: sum(float(getattr(row, name)) for row in rows.values()) / len(rows)
        for name in FIGURES
    }
    pooled = _area([pair for pairs in scores.values() for pair in pairs])
    return Separation(**means, n_questions=len(rows), pooled_auc=pooled, questions=rows)


def _of_question(pairs: Sequence[tuple[float, float]]) -> QuestionSeparation:
    n = len(pairs)
    positive, negative = (sum(pair[side] for pair in pairs) / n for side in (0, 1))
    n_above = sum(1 for above, below in pairs if above > below)
    return QuestionSeparation(positive, negative, n_above / n, _area(pairs), n)


def _area(pairs: Sequence[tuple[float, float]]) -> float:
    from sklearn.metrics import roc_auc_score

    positive, negative = ([pair[side] for pair in pairs] for side in (0, 1))
    return float(roc_auc_score([1] * len(pairs) + [0] * len(pairs), [*positive, *negative]))


def borne_out(
    scores: Sequence[Sequence[float | None] | None],
    threshold: float,
    questions: Sequence[str],
    k: int | None = None,
    judge: str = "",
) -> Score:
    """Return the share of sentences that one of their first documents bears out.

    With the cited documents this is BioACE's Supp(AS), with those of them that experts call
    supporting its Supp(CS) (figure 7a); with the k best hits of a search, correctness at k (7b).

    Args:
        scores: For each sentence, the best score of each of its documents, best documents first.
            None for a sentence without a document: unscored, where BioACE counts it as wrong. A
            score of None is a document that could not be scored.
        threshold: Least score of evidence.
        questions: The question of each sentence; the interval resamples questions.
        k: Documents that count; None for all.
        judge: The model that scored.

    Returns:
        Over all sentences, each counted once, as in the paper. A sentence that nothing bears out,
        and of which a document is unscored, is unscored.

    Example:
        >>> borne_out([[0.2, 0.9], [0.4]], 0.5, ["q1", "q2"], k=1).value
        0.0
    """
    decided: list[tuple[bool, str]] = []
    n_unscored = 0
    for row, question in zip(scores, questions, strict=True):
        first = None if row is None else row[:k]
        is_borne_out = any(score is not None and score >= threshold for score in first or ())
        if is_borne_out or (first and None not in first):
            decided.append((is_borne_out, question))
        else:
            n_unscored += 1
    values = [float(hit) for hit, _ in decided]
    n_hits, total = sum(values), len(scores)
    bounds = (n_hits / total, (n_hits + n_unscored) / total) if total else (None, None)
    interval = mean_interval(values, [question for _, question in decided])
    value = n_hits / len(values) if values else None
    return build_score(value, len(values), n_unscored, interval, bounds, judge=judge)


Source = Literal["documents", "evidence"]


@dataclass(frozen=True)
class SentencePair:
    """A sentence with what supports it, and with what supports a sentence of another question."""

    sentence: CitedSentence
    other: CitedSentence


@dataclass(frozen=True)
class Separated:
    """The separation by one model.

    Attributes:
        model: Its name.
        source: "documents" in runs of three sentences, or the "evidence" that people marked.
        result: None where no sentence has any.
        n_unscored: Sentences left out, as the model did not score one of the two sides.
    """

    model: str
    source: Source
    result: Separation | None
    n_unscored: int


def sample_pairs(sentences: Sequence[CitedSentence], seed: int = 0) -> list[SentencePair]:
    """Pair sentences that a document supports with the first such one of another question.

    BioACE takes the first sentence of the other row; here the first one that has a supporting
    document, so that there is something to compare with. A row is an answer.

    Args:
        sentences: In their order; those without a supporting document are left out.
        seed: Of the draw, which does not depend on the order of the questions.

    Raises:
        InputError: Fewer than two questions have such a sentence.
    """
    supported = [one for one in sentences if supporting(one)]
    first: dict[str, CitedSentence] = {}
    for one in supported:
        first.setdefault(one.record, one)
    rows = [first[name] for name in sorted(first)]
    if len({row.topic for row in rows}) < 2:
        raise InputError(
            f"{len({row.topic for row in rows})} question has a sentence with a document that "
            "people call supporting and whose text is here: two are needed"
        )
    pairs: list[SentencePair] = []
    for one in supported:
        rng = random.Random(f"{seed}:{one.record}:{one.number}")
        others = [row for row in rows if row.topic != one.topic]
        pairs.append(SentencePair(one, rng.choice(others)))
    return pairs


def supporting(sentence: CitedSentence) -> list[Document]:
    """Return the cited documents that people call supporting and whose text is here."""
    cited = (one for one in sentence.documents if one.label == "supports")
    return [one.document for one in cited if one.document is not None]


def separate(
    pairs: Sequence[SentencePair], model: CorrectnessModel, step: Callable[[], None] = lambda: None
) -> list[Separated]:
    """Score sentences against their own documents and another question's (algorithm 1).

    A document's score is that of its best run of three sentences, a sentence's that of its best
    document. Where people marked evidence, the same is done with it instead of the runs.

    Args:
        pairs: From `sample_pairs`.
        model: The model.
        step: Called after each pair.

    Returns:
        One for documents, and one for evidence where there is any.
    """
    rows: dict[Source, dict[str, list[tuple[float, float]]]] = {"documents": {}, "evidence": {}}
    n_unscored: dict[Source, int] = {"documents": 0, "evidence": 0}
    for pair in pairs:
        text, topic = pair.sentence.text, pair.sentence.topic
        sides = (pair.sentence, pair.other)
        by_source: dict[Source, list[float | None]] = {
            "documents": [_best_document(model, text, side) for side in sides]
        }
        marked = [_evidence(side) for side in sides]
        if all(marked):
            by_source["evidence"] = [best_of(model, text, texts) for texts in marked]
        for source, (positive, negative) in by_source.items():
            if positive is None or negative is None:
                n_unscored[source] += 1
                continue
            rows[source].setdefault(topic, []).append((positive, negative))
        step()
    return [
        Separated(model.name, source, separation(found), n_unscored[source])
        for source, found in rows.items()
        if found or source == "documents"
    ]


def _best_document(model: CorrectnessModel, text: str, side: CitedSentence) -> float | None:
    scores = [best_score(model, text, document) for document in supporting(side)]
    return max((score for score in scores if score is not None), default=None)


def _evidence(side: CitedSentence) -> list[str]:
    cited = (one for one in side.documents if one.label == "supports")
    return [text for one in cited for text in one.evidence]
