"""Add to each evaluation the scores that need the other answers to its question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.papers.pooled import (
    DOCUMENT_RECALL,
    POOLED_SCORES,
    Place,
    clustered_sentences,
    document_recall_scores,
    sentence_recall_scores,
)
from ragassay.metrics.stats.aggregates import question_of
from ragassay.records import Evaluation, Score, outlines_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]


Clusters = Mapping[str, Mapping[str, Mapping[Place, str]]]
"""By question and kind of cluster, the cluster of each sentence, named by system and number."""


def with_pooled_scores(
    evaluations: Sequence[Evaluation], encode: Encode, clusters: Clusters | None = None
) -> Iterator[Evaluation]:
    """Yield evaluations with the scores of `ragassay.metrics.papers.pooled`, computed anew."""
    changed = pooled_scores(evaluations, encode, clusters)
    for evaluation in evaluations:
        scores = changed.get(evaluation.record_id, evaluation.scores)
        yield evaluation.model_copy(update={"scores": scores})


def pooled_scores(
    evaluations: Sequence[Evaluation], encode: Encode, clusters: Clusters | None = None
) -> dict[str, dict[str, Score]]:
    """Return all scores of each evaluation that `ragassay.metrics.papers.pooled` changes.

    Args:
        evaluations: All of a run; scores from an earlier start are replaced.
        encode: Embeds texts; not called where every question has one answer, or its clusters are
            given.
        clusters: Published clusters of sentences; a question that is not among them is clustered.

    Returns:
        By record id.
    """
    by_question: dict[str, list[int]] = {}
    outlines = outlines_of(evaluations)
    for place, outline in enumerate(outlines):
        by_question.setdefault(question_of(outline), []).append(place)
    found: dict[str, dict[str, Score]] = {}
    for question, places in by_question.items():
        if len(places) < 2:
            continue
        answers = [evaluations[place] for place in places]
        published = _of_records(answers, (clusters or {}).get(question))
        vectors = {} if published else _vectors(answers, encode)
        for record_id, scores in sentence_recall_scores(answers, vectors, published).items():
            found.setdefault(record_id, {}).update(scores)
        for record_id, score in document_recall_scores(answers).items():
            found.setdefault(record_id, {})[DOCUMENT_RECALL] = score
    return {
        one.record_id: _with(one.scores, found.get(one.record_id, {}))
        for one in outlines
        if one.record_id in found or not one.scores.keys().isdisjoint(POOLED_SCORES)
    }


def _vectors(answers: Sequence[Evaluation], encode: Encode) -> dict[str, NDArray[np.float32]]:
    texts = sorted({text for answer in answers for text in clustered_sentences(answer)})
    return dict(zip(texts, encode(texts), strict=True)) if texts else {}


def _of_records(
    answers: Sequence[Evaluation], kinds: Mapping[str, Mapping[Place, str]] | None
) -> dict[str, dict[Place, str]]:
    """Name the sentences of published clusters by record instead of system."""
    records = {answer.system: answer.record_id for answer in answers}
    return {
        kind: {
            (records[system], number): cluster
            for (system, number), cluster in places.items()
            if system in records
        }
        for kind, places in (kinds or {}).items()
    }


def _with(scores: Mapping[str, Score], added: Mapping[str, Score]) -> dict[str, Score]:
    """Insert each added score after the others of its group, in place of earlier ones."""
    every = {key: score for key, score in scores.items() if key not in POOLED_SCORES}
    every.update(added)
    groups = list(dict.fromkeys(map(_group, every)))
    return {key: every[key] for key in sorted(every, key=lambda key: groups.index(_group(key)))}


def _group(key: str) -> str:
    return key.partition(".")[0]
