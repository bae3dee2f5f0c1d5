"""Compute pooled scores, which depend on all answers to the same question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.papers.pooled import (
    DOCUMENT_RECALL,
    POOLED_SCORES,
    Place,
    list_clustered_texts,
    score_document_recall,
    score_sentence_recall,
)
from ragassay.metrics.stats.aggregates import identify_question
from ragassay.records import Evaluation, Score, list_outlines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]


Clusters = Mapping[str, Mapping[str, Mapping[Place, str]]]
"""Clusters of sentences, keyed by question and kind; a sentence is a system and a number."""


def add_pooled_scores(
    evaluations: Sequence[Evaluation], encode: Encode, clusters: Clusters | None = None
) -> Iterator[Evaluation]:
    """Yield the evaluations with scores that `ragassay.metrics.papers.pooled` computes."""
    changed = pool_record_scores(evaluations, encode, clusters)
    for evaluation in evaluations:
        scores = changed.get(evaluation.record_id, evaluation.scores)
        yield evaluation.model_copy(update={"scores": scores})


def pool_record_scores(
    evaluations: Sequence[Evaluation], encode: Encode, clusters: Clusters | None = None
) -> dict[str, dict[str, Score]]:
    """Return all scores of each evaluation, including pooled scores, keyed by record id.

    Args:
        evaluations: All evaluations of a run. Existing pooled scores are replaced.
        encode: Function that embeds texts. It is not called for questions with only one answer or
            with published clusters.
        clusters: Published sentence clusters of some questions. Sentences of other questions are
            clustered by similarity.
    """
    by_question: dict[str, list[int]] = {}
    outlines = list_outlines(evaluations)
    for position, outline in enumerate(outlines):
        by_question.setdefault(identify_question(outline), []).append(position)
    pooled: dict[str, dict[str, Score]] = {}
    for question, positions in by_question.items():
        if len(positions) < 2:
            continue
        answers = [evaluations[position] for position in positions]
        published = _map_clusters(answers, (clusters or {}).get(question))
        vectors = {} if published else _embed_sentences(answers, encode)
        for record_id, scores in score_sentence_recall(answers, vectors, published).items():
            pooled.setdefault(record_id, {}).update(scores)
        for record_id, score in score_document_recall(answers).items():
            pooled.setdefault(record_id, {})[DOCUMENT_RECALL] = score
    return {
        outline.record_id: _merge_scores(outline.scores, pooled.get(outline.record_id, {}))
        for outline in outlines
        if outline.record_id in pooled or not outline.scores.keys().isdisjoint(POOLED_SCORES)
    }


def _embed_sentences(
    answers: Sequence[Evaluation], encode: Encode
) -> dict[str, NDArray[np.float32]]:
    texts = sorted({text for answer in answers for text in list_clustered_texts(answer)})
    return dict(zip(texts, encode(texts), strict=True)) if texts else {}


def _map_clusters(
    answers: Sequence[Evaluation], kinds: Mapping[str, Mapping[Place, str]] | None
) -> dict[str, dict[Place, str]]:
    records = {answer.system: answer.record_id for answer in answers}
    return {
        kind: {
            (records[system], number): cluster
            for (system, number), cluster in places.items()
            if system in records
        }
        for kind, places in (kinds or {}).items()
    }


def _merge_scores(scores: Mapping[str, Score], pooled: Mapping[str, Score]) -> dict[str, Score]:
    merged = {key: score for key, score in scores.items() if key not in POOLED_SCORES}
    merged.update(pooled)
    groups = list(dict.fromkeys(map(_extract_group, merged)))
    return {
        key: merged[key]
        for key in sorted(merged, key=lambda key: groups.index(_extract_group(key)))
    }


def _extract_group(key: str) -> str:
    return key.partition(".")[0]
