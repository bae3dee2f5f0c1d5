"""Add to each evaluation the scores that need the other answers to its question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.aggregates import question_of
from ragassay.metrics.pooled import (
    POOLED_SCORES,
    citation_recall_scores,
    clustered_sentences,
    completeness_scores,
)
from ragassay.records import Evaluation, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]


def with_pooled_scores(evaluations: Sequence[Evaluation], encode: Encode) -> tuple[Evaluation, ...]:
    """Return evaluations with the scores of `ragassay.metrics.pooled`, computed anew.

    Args:
        evaluations: All of a run; scores from an earlier start are replaced.
        encode: Embeds texts; not called where every question has one answer.
    """
    by_question: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        by_question.setdefault(question_of(evaluation), []).append(evaluation)
    found: dict[str, dict[str, Score]] = {}
    for answers in by_question.values():
        if len(answers) > 1:
            _add(found, POOLED_SCORES[0], completeness_scores(answers, _vectors(answers, encode)))
            _add(found, POOLED_SCORES[1], citation_recall_scores(answers))
    return tuple(_with(e, found.get(e.record_id, {})) for e in evaluations)


def _vectors(answers: Sequence[Evaluation], encode: Encode) -> dict[str, NDArray[np.float32]]:
    texts = sorted({text for answer in answers for text in clustered_sentences(answer)})
    return dict(zip(texts, encode(texts), strict=True)) if texts else {}


def _add(found: dict[str, dict[str, Score]], key: str, scores: Mapping[str, Score]) -> None:
    for record_id, score in scores.items():
        found.setdefault(record_id, {})[key] = score


def _with(evaluation: Evaluation, added: Mapping[str, Score]) -> Evaluation:
    """Insert each added score after the others of its group."""
    kept = {key: s for key, s in evaluation.scores.items() if key not in POOLED_SCORES}
    if not added and len(kept) == len(evaluation.scores):
        return evaluation
    groups = list(dict.fromkeys(_group(key) for key in (*kept, *added)))
    scores = {**kept, **added}
    order = sorted(scores, key=lambda key: groups.index(_group(key)))
    return evaluation.model_copy(update={"scores": {key: scores[key] for key in order}})


def _group(key: str) -> str:
    return key.partition(".")[0]
