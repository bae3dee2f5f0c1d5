"""Scores of an answer that need the other systems' answers to the same question (MedAESQA)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.metrics.papers.answer_scores import share
from ragassay.metrics.papers.citations import RELEVANT
from ragassay.metrics.stats.intervals import SEED
from ragassay.records import AnswerSentence, Evaluation, Score

N_CLUSTERS = 10
"""Clusters of sentences for a question, as in MedAESQA."""


@dataclass(frozen=True)
class RecallKind:
    """One of MedAESQA's three recalls: which sentences of an answer are clustered.

    Attributes:
        key: Name of the score.
        labels: Labels of the sentences that count.
        is_supported: Whether a citation must support them too.
        cluster_name: Name of their clusters in MedAESQA's published files.
    """

    key: str
    labels: frozenset[str]
    is_supported: bool
    cluster_name: str

    def sentences(self, evaluation: Evaluation) -> list[AnswerSentence]:
        """Return the sentences of an answer that count."""
        wanted = {v.sentence for v in evaluation.labels if v.label in self.labels}
        if self.is_supported:
            wanted &= {v.sentence for v in evaluation.citations if v.verdict == "supports"}
        return [s for s in evaluation.sentences if s.index in wanted]

    def n_open(self, evaluation: Evaluation) -> int:
        """Return how many sentences might count too, if their failed verdicts were known."""
        labels = {v.sentence: v.label for v in evaluation.labels}
        verdicts: dict[int, set[str | None]] = {}
        for verdict in evaluation.citations:
            verdicts.setdefault(verdict.sentence, set()).add(verdict.verdict)
        return sum(
            (label is None or label in self.labels)
            and (not self.is_supported or bool({"supports", None} & verdicts.get(place, set())))
            for place, label in labels.items()
        ) - len(self.sentences(evaluation))


SENTENCE_RECALL = "sentences.recall"
CLUSTER_RECALL = "sentences.cluster_recall"
DOCUMENT_RECALL = "citations.document_recall"

RECALLS = (
    RecallKind(
        SENTENCE_RECALL,
        frozenset({"required", "borderline"}),
        False,
        "required_and_borderline_answer_sentences_cluster",
    ),
    RecallKind(
        "sentences.recall_required",
        frozenset({"required"}),
        False,
        "required_answer_sentences_cluster",
    ),
    RecallKind(
        "sentences.recall_supported",
        frozenset({"required"}),
        True,
        "supported_required_answer_sentences_cluster",
    ),
)
POOLED_SCORES = (*(kind.key for kind in RECALLS), CLUSTER_RECALL, DOCUMENT_RECALL)

_PUBLIC_ID = re.compile(r"(?i)(pmid|pmc|doi)?[\s:]*(\d{4,9}|10\.\d{4,9}/\S+)")

Place = tuple[str, int]
"""A record's id and the number of a sentence of its answer (1-based)."""


def clustered_sentences(evaluation: Evaluation) -> list[str]:
    """Return the sentences of an answer that are required or borderline."""
    return [sentence.text for sentence in RECALLS[0].sentences(evaluation)]


def sentence_recall_scores(
    answers: Sequence[Evaluation],
    vectors: Mapping[str, NDArray[np.floating]],
    published: Mapping[str, Mapping[Place, str]] | None = None,
) -> dict[str, dict[str, Score]]:
    """Return each answer's share of the sentence clusters of all answers to its question.

    KMeans groups the sentences of all answers, those that each of `RECALLS` counts, into ten
    clusters, or into as many as there are different sentences. As in MedAESQA the recalls divide by
    ten. `CLUSTER_RECALL` divides those of required and borderline sentences by the clusters that
    there are, which is what a question with few answers needs.

    Args:
        answers: All answers to one question; one whose sentences were not labelled is left out.
        vectors: The embedding of each of `clustered_sentences`.
        published: By `RecallKind.cluster_name`, the cluster of each sentence, in place of KMeans. A
            sentence that is in none of them reaches none.

    Returns:
        By record id and score; `n` counts clusters, `n_unscored` sentences without a verdict. None
        where no sentence counts, or every label of the answer is missing. Empty for fewer than two
        answers.
    """
    labelled = [e for e in answers if e.labels or not e.sentences]
    if len(labelled) < 2 or not any(e.labels for e in labelled):
        return {}
    found: dict[str, dict[str, Score]] = {e.record_id: {} for e in labelled}
    for kind in RECALLS:
        if kind.is_supported and not any(e.citations for e in labelled):
            continue
        cluster = (
            published.get(kind.cluster_name, {})
            if published
            else _clusters(kind, labelled, vectors)
        )
        for evaluation in labelled:
            scores = found[evaluation.record_id]
            scores[kind.key] = _recall_of_ten(kind, evaluation, cluster)
            if kind.key == SENTENCE_RECALL:
                scores[CLUSTER_RECALL] = _cluster_recall(evaluation, cluster, labelled)
    return found


def document_recall_scores(answers: Sequence[Evaluation]) -> dict[str, Score]:
    """Return the share of a question's relevant documents, cited in any answer, that each cites.

    A document is relevant for an answer where it supports, contradicts or is neutral to a sentence
    that cites it. In the bounds an undecided document, of this or another answer, may be relevant
    or not.

    Returns:
        By record id; `n` counts documents, `n_unscored` the undecided ones of all answers. None
        where no answer cites a relevant document, or every one that this answer cites is undecided.
        Empty for fewer than two answers, or where no citation was verified.
    """
    if len(answers) < 2 or not any(e.citations for e in answers):
        return {}
    relevant = {e.record_id: _documents(e, RELEVANT) for e in answers}
    undecided = {e.record_id: _documents(e, {None}) - relevant[e.record_id] for e in answers}
    return {e.record_id: _document_recall(e, relevant, undecided) for e in answers}


def document_key(evaluation: Evaluation, document: str) -> tuple[str, str]:
    """Return a key that identifies a document across answers.

    A PMID or DOI means the same everywhere; another id only within its record, so the text is part
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


def _clusters(
    kind: RecallKind,
    answers: Sequence[Evaluation],
    vectors: Mapping[str, NDArray[np.floating]],
) -> dict[Place, str]:
    """Group the sentences that count."""
    places = {(e.record_id, s.index): s.text for e in answers for s in kind.sentences(e)}
    if not places:
        return {}
    from sklearn.cluster import KMeans

    texts = sorted(places.values())
    matrix = np.stack([vectors[text] for text in texts]).astype(np.float64)
    n_different = len(np.unique(matrix, axis=0))
    kmeans = KMeans(
        n_clusters=min(N_CLUSTERS, n_different),
        n_init=10,  # pyright: ignore[reportArgumentType]
        random_state=SEED,
    )
    labels = dict(zip(texts, map(str, kmeans.fit_predict(matrix)), strict=True))
    return {place: labels[text] for place, text in places.items()}


def _find_reached_clusters(
    kind: RecallKind, evaluation: Evaluation, cluster: Mapping[Place, str]
) -> set[str]:
    """Return the clusters that an answer has a sentence in."""
    places = ((evaluation.record_id, s.index) for s in kind.sentences(evaluation))
    return {cluster[place] for place in places if place in cluster}


def _is_unlabelled(evaluation: Evaluation) -> bool:
    return bool(evaluation.labels) and all(v.label is None for v in evaluation.labels)


def _recall_of_ten(kind: RecallKind, evaluation: Evaluation, cluster: Mapping[Place, str]) -> Score:
    reached, n_open = _find_reached_clusters(kind, evaluation, cluster), kind.n_open(evaluation)
    n = 0 if _is_unlabelled(evaluation) or not cluster else N_CLUSTERS
    found = share(kind.key, len(reached), n, n_open, evaluation.judge)
    # The denominator stays: a sentence more is a cluster more, or none.
    best = min(N_CLUSTERS, len(reached) + n_open) / N_CLUSTERS
    if not n and not n_open:
        return found
    return found.model_copy(update={"worst": len(reached) / N_CLUSTERS, "best": best})


def _cluster_recall(
    evaluation: Evaluation, cluster: Mapping[Place, str], answers: Sequence[Evaluation]
) -> Score:
    """Divide by the clusters that there are; an unscored sentence may open one more below ten."""
    n_hits, n = (
        len(_find_reached_clusters(RECALLS[0], evaluation, cluster)),
        len(set(cluster.values())),
    )
    n_own = RECALLS[0].n_open(evaluation)
    n_missing = sum(RECALLS[0].n_open(one) for one in answers)
    is_unknown = _is_unlabelled(evaluation)
    found = share(CLUSTER_RECALL, n_hits, 0 if is_unknown else n, n_missing, evaluation.judge)
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


def _document_recall(
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
        DOCUMENT_RECALL,
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
