"""Scores of an answer that need the other systems' answers to the same question (MedAESQA)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.citations import RELEVANT
from ragassay.metrics.intervals import SEED
from ragassay.metrics.scores import share
from ragassay.records import Evaluation, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COMPLETENESS = "sentences.completeness"
CITATION_RECALL = "citations.recall"
POOLED_SCORES = (COMPLETENESS, CITATION_RECALL)

N_CLUSTERS = 10
"""Clusters of sentences for a question, as in MedAESQA."""

CLUSTERED_LABELS = frozenset({"required", "borderline"})

_PUBLIC_ID = re.compile(r"(?i)(pmid|pmc|doi)?[\s:]*(\d{4,9}|10\.\d{4,9}/\S+)")


def clustered_sentences(evaluation: Evaluation) -> list[str]:
    """Return the sentences of an answer that are required or borderline."""
    wanted = {v.sentence for v in evaluation.labels if v.label in CLUSTERED_LABELS}
    return [s.text for s in evaluation.sentences if s.index in wanted]


def completeness_scores(
    answers: Sequence[Evaluation], vectors: Mapping[str, NDArray[np.floating]]
) -> dict[str, Score]:
    """Return the share of what all answers to a question say, in sentence clusters, that each says.

    KMeans groups the required and borderline sentences of all answers into ten clusters, or into as
    many as there are different sentences. An unscored sentence may belong to any cluster, or to one
    more while there are fewer than ten.

    Args:
        answers: All answers to one question; one whose sentences were not labelled is left out.
        vectors: The embedding of each of `clustered_sentences`.

    Returns:
        By record id; `n` counts clusters, `n_unscored` the failed labels, those of other answers
        included. None where no sentence is required or borderline, or every label of the answer is
        missing. Empty for fewer than two answers.
    """
    labelled = [e for e in answers if e.labels or not e.sentences]
    if len(labelled) < 2 or not any(e.labels for e in labelled):
        return {}
    texts = sorted(text for e in labelled for text in clustered_sentences(e))
    cluster = _clusters(texts, vectors)
    n = len(set(cluster.values()))
    missing = {e.record_id: sum(v.label is None for v in e.labels) for e in labelled}
    n_missing = sum(missing.values())
    return {
        e.record_id: _completeness(e, cluster, n, missing[e.record_id], n_missing) for e in labelled
    }


def citation_recall_scores(answers: Sequence[Evaluation]) -> dict[str, Score]:
    """Return the share of a question's relevant documents, cited in any answer, that each cites.

    A document is relevant for an answer where it supports, contradicts or is neutral to a sentence
    that cites it. In the bounds an undecided document, of this or another answer, may be relevant
    or not.

    Args:
        answers: All answers to one question.

    Returns:
        By record id; `n` counts documents, `n_unscored` the undecided ones of all answers. None
        where no answer cites a relevant document, or every one that this answer cites is undecided.
        Empty for fewer than two answers, or where no citation was verified.
    """
    if len(answers) < 2 or not any(e.citations for e in answers):
        return {}
    relevant = {e.record_id: _documents(e, RELEVANT) for e in answers}
    undecided = {e.record_id: _documents(e, {None}) - relevant[e.record_id] for e in answers}
    return {e.record_id: _recall(e, relevant, undecided) for e in answers}


def document_key(evaluation: Evaluation, document: str) -> tuple[str, str]:
    """Return a key that identifies a document across answers.

    A PMID or DOI means the same everywhere; "1" or "s2" only within its record, so the text is part
    of the key.
    """
    known = public_id(document)
    if known:
        return known, ""
    text = next((f"{d.title}\n{d.text}" for d in evaluation.sources if d.id == document), "")
    return document, text


def public_id(document: str) -> str | None:
    """Return the bare PMID or DOI in an id; None for an id that is local to its record.

    Example:
        >>> public_id("PMID: 31180123"), public_id("10.1000/ABC"), public_id("s2")
        ('31180123', '10.1000/abc', None)
    """
    known = _PUBLIC_ID.fullmatch(document.strip())
    return known.group(2).lower() if known else None


def _clusters(texts: Sequence[str], vectors: Mapping[str, NDArray[np.floating]]) -> dict[str, int]:
    if not texts:
        return {}
    import numpy as np
    from sklearn.cluster import KMeans

    matrix = np.stack([vectors[text] for text in texts]).astype(np.float64)
    n_different = len(np.unique(matrix, axis=0))
    kmeans = KMeans(
        n_clusters=min(N_CLUSTERS, n_different),
        n_init=10,  # pyright: ignore[reportArgumentType]
        random_state=SEED,
    )
    places = kmeans.fit_predict(matrix)
    return {text: int(place) for text, place in zip(texts, places, strict=True)}


def _completeness(
    evaluation: Evaluation, cluster: Mapping[str, int], n: int, n_own: int, n_missing: int
) -> Score:
    n_hits = len({cluster[text] for text in clustered_sentences(evaluation)})
    is_unknown = bool(evaluation.labels) and n_own == len(evaluation.labels)
    found = share(COMPLETENESS, n_hits, 0 if is_unknown else n, n_missing, evaluation.judge)
    if not n_missing:
        return found
    # Sentences of other answers can open clusters that this one does not reach.
    n_most = max(n, min(N_CLUSTERS, n + n_missing - n_own))
    worst = n_hits / n_most if n_most else 0.0
    best = min(1.0, (n_hits + n_own) / n) if n else float(n_own > 0)
    return found.model_copy(update={"worst": round(worst, 4), "best": round(best, 4)})


def _documents(
    evaluation: Evaluation, verdicts: frozenset[str] | set[None]
) -> set[tuple[str, str]]:
    return {
        document_key(evaluation, v.citation.document)
        for v in evaluation.citations
        if v.citation.document and v.verdict in verdicts
    }


def _recall(
    evaluation: Evaluation,
    relevant: Mapping[str, set[tuple[str, str]]],
    undecided: Mapping[str, set[tuple[str, str]]],
) -> Score:
    own, name = relevant[evaluation.record_id], evaluation.record_id
    unknown = undecided[name]
    every = set().union(*relevant.values())
    of_others = set().union(*(found for other, found in undecided.items() if other != name))
    is_unknown = bool(unknown) and not any(
        v.verdict is not None for v in evaluation.citations if v.citation.document
    )
    found = share(
        CITATION_RECALL,
        len(own),
        0 if is_unknown else len(every),
        len(unknown | of_others - every),
        _verifier(evaluation),
    )
    if not found.n_unscored:
        return found
    n_most = len(every | of_others)
    n_best = len(every | unknown)
    worst = len(own) / n_most if n_most else 0.0
    best = len(own | unknown) / n_best if n_best else 0.0
    return found.model_copy(update={"worst": round(worst, 4), "best": round(best, 4)})


def _verifier(evaluation: Evaluation) -> str:
    """Return the model that gave the verdicts on citations: the judge or a separate verifier."""
    known = evaluation.scores.get("citations.support")
    return known.judge if known else evaluation.judge
