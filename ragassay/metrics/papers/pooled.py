"""Score answers relative to other systems' answers to the same question (MedAESQA)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.metrics.papers.answer_scores import score_share
from ragassay.metrics.papers.citations import RELEVANT
from ragassay.metrics.stats.intervals import SEED
from ragassay.records import AnswerSentence, Evaluation, Score

N_CLUSTERS = 10
"""Number of sentence clusters per question, as in MedAESQA."""


@dataclass(frozen=True)
class RecallKind:
    """One of MedAESQA's three recall measures.

    Attributes:
        is_supported: Whether only sentences with a supporting citation count.
        cluster_name: Field that contains the clusters in MedAESQA's published files.
    """

    key: str
    labels: frozenset[str]
    is_supported: bool
    cluster_name: str

    def list_sentences(self, evaluation: Evaluation) -> list[AnswerSentence]:
        """Return the sentences of an answer that count for this recall measure."""
        wanted = {v.sentence for v in evaluation.labels if v.label in self.labels}
        if self.is_supported:
            wanted &= {v.sentence for v in evaluation.citations if v.verdict == "supports"}
        return [s for s in evaluation.sentences if s.index in wanted]

    def count_open_sentences(self, evaluation: Evaluation) -> int:
        """Return the number of sentences that could count if no verdict were missing."""
        labels = {v.sentence: v.label for v in evaluation.labels}
        verdicts: dict[int, set[str | None]] = {}
        for verdict in evaluation.citations:
            verdicts.setdefault(verdict.sentence, set()).add(verdict.verdict)
        return sum(
            (label is None or label in self.labels)
            and (not self.is_supported or bool({"supports", None} & verdicts.get(sentence, set())))
            for sentence, label in labels.items()
        ) - len(self.list_sentences(evaluation))


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
"""Record id and 1-based sentence number."""


def list_clustered_texts(evaluation: Evaluation) -> list[str]:
    """Return the required and borderline sentences of an answer."""
    return [sentence.text for sentence in RECALLS[0].list_sentences(evaluation)]


def score_sentence_recall(
    answers: Sequence[Evaluation],
    vectors: Mapping[str, NDArray[np.floating]],
    published: Mapping[str, Mapping[Place, str]] | None = None,
) -> dict[str, dict[str, Score]]:
    """Return the share of a question's sentence clusters that each answer covers.

    For each of `RECALLS`, KMeans groups the sentences of all answers into 10 clusters, or fewer if
    there are fewer distinct sentences. As in MedAESQA, the number of clusters that an answer covers
    is divided by 10. `CLUSTER_RECALL` instead divides by the actual number of clusters of required
    and borderline sentences, which suits questions with few answers.

    Args:
        answers: All answers to one question. Answers without labels are ignored.
        vectors: Embedding of each sentence returned by `list_clustered_texts`.
        published: Cluster of each sentence, keyed by `RecallKind.cluster_name`, used instead of
            KMeans. Sentences without a cluster are ignored.

    Returns:
        Scores, keyed by record id and name. `n` is the number of clusters and `n_unscored` the
        number of sentences with missing verdicts. The value is None if no sentence counts or all
        labels of the answer are missing. The dict is empty for fewer than two answers.
    """
    labelled = [e for e in answers if e.labels or not e.sentences]
    if len(labelled) < 2 or not any(e.labels for e in labelled):
        return {}
    by_record: dict[str, dict[str, Score]] = {e.record_id: {} for e in labelled}
    for kind in RECALLS:
        if kind.is_supported and not any(e.citations for e in labelled):
            continue
        cluster = (
            published.get(kind.cluster_name, {})
            if published
            else _cluster_sentences(kind, labelled, vectors)
        )
        for evaluation in labelled:
            scores = by_record[evaluation.record_id]
            scores[kind.key] = _score_recall_of_ten(kind, evaluation, cluster)
            if kind.key == SENTENCE_RECALL:
                scores[CLUSTER_RECALL] = _cluster_recall(evaluation, cluster, labelled)
    return by_record


def score_document_recall(answers: Sequence[Evaluation]) -> dict[str, Score]:
    """Return the share of the relevant documents of a question that each answer cites.

    A document is relevant if it supports, contradicts or is neutral to a sentence that cites it in
    any answer. The bounds allow for documents with missing verdicts.

    Returns:
        Scores, keyed by record id. `n` is the number of relevant documents and `n_unscored` the
        number of documents with missing verdicts in any answer. The value is None if there are no
        relevant documents or all verdicts of this answer are missing. The dict is empty for fewer
        than two answers or without citation verdicts.
    """
    if len(answers) < 2 or not any(e.citations for e in answers):
        return {}
    relevant = {e.record_id: _collect_documents(e, RELEVANT) for e in answers}
    undecided = {
        e.record_id: _collect_documents(e, {None}) - relevant[e.record_id] for e in answers
    }
    return {e.record_id: _score_own_documents(e, relevant, undecided) for e in answers}


def build_document_key(evaluation: Evaluation, document: str) -> tuple[str, str]:
    """Return a key that identifies a document across answers.

    A PMID or DOI is sufficient to identify a document. The key for other ids includes the document
    text, because these ids are local to a record.
    """
    known = find_public_id(document)
    if known:
        return known, ""
    text = next((f"{d.title}\n{d.text}" for d in evaluation.sources if d.id == document), "")
    return document, text


def find_public_id(document: str) -> str | None:
    """Return the PMID or DOI in a document id, or None if the id is local to its record.

    Example:
        >>> find_public_id("PMID: 31180123"), find_public_id("10.1000/ABC"), find_public_id("s2")
        ('31180123', '10.1000/abc', None)
    """
    known = _PUBLIC_ID.fullmatch(document.strip())
    return known.group(2).lower() if known else None


def _cluster_sentences(
    kind: RecallKind, answers: Sequence[Evaluation], vectors: Mapping[str, NDArray[np.floating]]
) -> dict[Place, str]:
    sentences = {(e.record_id, s.index): s.text for e in answers for s in kind.list_sentences(e)}
    if not sentences:
        return {}
    from sklearn.cluster import KMeans

    texts = sorted(sentences.values())
    matrix = np.stack([vectors[text] for text in texts]).astype(np.float64)
    n_different = len(np.unique(matrix, axis=0))
    kmeans = KMeans(
        n_clusters=min(N_CLUSTERS, n_different),
        n_init=10,  # pyright: ignore[reportArgumentType]
        random_state=SEED,
    )
    labels = dict(zip(texts, map(str, kmeans.fit_predict(matrix)), strict=True))
    return {key: labels[text] for key, text in sentences.items()}


def _find_reached_clusters(
    kind: RecallKind, evaluation: Evaluation, cluster: Mapping[Place, str]
) -> set[str]:
    keys = ((evaluation.record_id, s.index) for s in kind.list_sentences(evaluation))
    return {cluster[key] for key in keys if key in cluster}


def _is_unlabelled(evaluation: Evaluation) -> bool:
    return bool(evaluation.labels) and all(v.label is None for v in evaluation.labels)


def _score_recall_of_ten(
    kind: RecallKind, evaluation: Evaluation, cluster: Mapping[Place, str]
) -> Score:
    reached, n_open = (
        _find_reached_clusters(kind, evaluation, cluster),
        kind.count_open_sentences(evaluation),
    )
    n = 0 if _is_unlabelled(evaluation) or not cluster else N_CLUSTERS
    score = score_share(kind.key, len(reached), n, n_open, evaluation.judge)
    # The denominator is fixed. Each unscored sentence can add at most one cluster.
    best = min(N_CLUSTERS, len(reached) + n_open) / N_CLUSTERS
    if not n and not n_open:
        return score
    return score.model_copy(update={"worst": len(reached) / N_CLUSTERS, "best": best})


def _cluster_recall(
    evaluation: Evaluation, cluster: Mapping[Place, str], answers: Sequence[Evaluation]
) -> Score:
    """Return the share of clusters covered, with bounds for up to ten clusters."""
    n_hits = len(_find_reached_clusters(RECALLS[0], evaluation, cluster))
    n = len(set(cluster.values()))
    n_own = RECALLS[0].count_open_sentences(evaluation)
    n_missing = sum(RECALLS[0].count_open_sentences(one) for one in answers)
    is_unknown = _is_unlabelled(evaluation)
    score = score_share(CLUSTER_RECALL, n_hits, 0 if is_unknown else n, n_missing, evaluation.judge)
    if not n_missing:
        return score
    # Sentences in other answers can add clusters that this answer does not cover.
    n_most = max(n, min(N_CLUSTERS, n + n_missing - n_own))
    worst = n_hits / n_most if n_most else 0.0
    best = min(1.0, (n_hits + n_own) / n) if n else float(n_own > 0)
    return score.model_copy(update={"worst": round(worst, 4), "best": round(best, 4)})


def _collect_documents(
    evaluation: Evaluation, verdicts: frozenset[str] | set[None]
) -> set[tuple[str, str]]:
    return {
        build_document_key(evaluation, v.citation.document)
        for v in evaluation.citations
        if v.citation.document and v.verdict in verdicts
    }


def _score_own_documents(
    evaluation: Evaluation,
    relevant: Mapping[str, set[tuple[str, str]]],
    undecided: Mapping[str, set[tuple[str, str]]],
) -> Score:
    own, name = relevant[evaluation.record_id], evaluation.record_id
    unknown = undecided[name]
    every = set().union(*relevant.values())
    of_others = set().union(*(keys for other, keys in undecided.items() if other != name))
    is_unknown = bool(unknown) and not any(
        v.verdict is not None for v in evaluation.citations if v.citation.document
    )
    score = score_share(
        DOCUMENT_RECALL,
        len(own),
        0 if is_unknown else len(every),
        len(unknown | of_others - every),
        _find_verifier_name(evaluation),
    )
    if not score.n_unscored:
        return score
    n_most = len(every | of_others)
    n_best = len(every | unknown)
    worst = len(own) / n_most if n_most else 0.0
    best = len(own | unknown) / n_best if n_best else 0.0
    return score.model_copy(update={"worst": round(worst, 4), "best": round(best, 4)})


def _find_verifier_name(evaluation: Evaluation) -> str:
    known = evaluation.scores.get("citations.support")
    return known.judge if known else evaluation.judge
