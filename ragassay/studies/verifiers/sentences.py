"""Measure how well scores separate a sentence's own documents from others (BioACE)."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragassay.errors import InputError
from ragassay.formats.labels import read_labels
from ragassay.formats.medaesqa import EvidenceKey, read_evidence
from ragassay.metrics.stats.intervals import build_score, compute_mean_interval
from ragassay.models.correctness import (
    CorrectnessModel,
    CosineCorrectness,
    EntailmentCorrectness,
    open_correctness_model,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import require_verifier
from ragassay.records import Document, Record, Score
from ragassay.retrievers.literature import Literature
from ragassay.text.search import list_windows
from ragassay.text.segmenter import segment
from ragassay.text.sentences import extract_sentences

LabelKey = tuple[str, int, str]
Source = Literal["documents", "evidence"]
Step = Callable[[], None]

FIGURES = ("positive", "negative", "accuracy", "auc")


@dataclass(frozen=True)
class CitedDocument:
    """A cited document.

    Attributes:
        id: Id of the document, or the citation marker if the citation is invalid.
        label: Human label of the citation, or an empty string if there is none.
    """

    id: str
    document: Document | None
    label: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class CitedSentence:
    """A sentence of an answer, with the documents that it cites.

    Attributes:
        topic: Topic of the record, or the question if it has no topic.
        text: Text of the sentence without citation markers.
    """

    record: str
    topic: str
    question: str
    number: int
    text: str
    documents: tuple[CitedDocument, ...]


def list_cited_sentences(
    records: Iterable[Record],
    corpus: Literature,
    labels: Mapping[LabelKey, str] | None = None,
    evidence: Mapping[EvidenceKey, tuple[str, ...]] | None = None,
) -> list[CitedSentence]:
    """Return the sentences in the answers, with the documents that each sentence cites.

    Args:
        corpus: Corpus that contains the documents which are missing in the answers.
        labels: Human citation labels, keyed by record id, sentence number and document.
        evidence: Passages that humans marked as evidence, keyed by record id, sentence number and
            document.
    """
    cited_by: list[CitedSentence] = []
    for record in records:
        _, sentences, documents = segment(record, corpus.get)
        by_id = {document.id: document for document in documents}
        for sentence in sentences:
            cited: list[CitedDocument] = []
            for one in sentence.citations:
                names = [one.marker, *([one.document] if one.document else [])]
                keys = [(record.id, sentence.index, name) for name in names]
                label = next((labels[key] for key in keys if labels and key in labels), "")
                marked = next((evidence[key] for key in keys if evidence and key in evidence), ())
                document = by_id.get(one.document) if one.document else None
                cited.append(CitedDocument(one.document or one.marker, document, label, marked))
            cited_by.append(
                CitedSentence(
                    record=record.id,
                    topic=record.topic or record.question,
                    question=record.question,
                    number=sentence.index,
                    text=sentence.text,
                    documents=tuple(cited),
                )
            )
    return cited_by


def read_citation_labels(path: Path, records: Sequence[Record]) -> dict[LabelKey, str]:
    """Return human citation labels, keyed by record id, sentence number and document.

    If a citation has several labels, the most frequent one is used. If several labels are equally
    frequent, "supports" is used, as in BioACE's program, or else the first of these labels.

    Raises:
        InputError: If the file contains no citation labels.
    """
    by_system = {(record.topic, record.system): record.id for record in records}
    labels: dict[LabelKey, list[str]] = {}
    for one in read_labels(path).labels:
        record = one.record_id or by_system.get((one.topic, one.system))
        if one.task == "citation" and record and one.sentence:
            labels.setdefault((record, one.sentence, one.item), []).append(one.label)
    if not labels:
        raise InputError(f"{path} contains no citation labels; pass a file with --labels")
    return {key: _choose_majority_label(own) for key, own in labels.items()}


def has_citation_labels(path: Path) -> bool:
    """Return whether a file contains human citation labels."""
    try:
        return any(one.task == "citation" for one in read_labels(path).labels)
    except InputError:
        return False


def _choose_majority_label(labels: Sequence[str]) -> str:
    counts = Counter(labels)
    most = max(counts.values())
    candidates = [label for label, n in counts.items() if n == most]
    return "supports" if "supports" in candidates else candidates[0]


def read_labelled_sentences(
    path: Path, records: Sequence[Record], corpus: Literature, labels: Path | None = None
) -> list[CitedSentence]:
    """Return answer sentences with human citation labels, from `labels` or from the same file.

    Raises:
        InputError: If there are no citation labels.
    """
    by_citation = read_citation_labels(labels or path, records)
    return list_cited_sentences(records, corpus, by_citation, read_evidence(path))


def check_documents(sentences: Sequence[CitedSentence]) -> int:
    """Return the number of citations whose document has no known text.

    Raises:
        InputError: If no citation has a document with text.
    """
    cited = [one for sentence in sentences for one in sentence.documents]
    n_missing = sum(one.document is None for one in cited)
    if n_missing == len(cited):
        first = f", such as {cited[0].id}," if cited else ""
        raise InputError(
            f"none of {len(cited)} citations{first} has a document; pass the corpus with --corpus"
        )
    return n_missing


def open_models(
    verifiers: Sequence[str], embedders: Sequence[str], cache_dir: Path
) -> list[CorrectnessModel]:
    """Load models that score how well a text supports a sentence.

    Raises:
        InputError: If no model is specified.
        SettingsError: If a model is unavailable.
    """
    models: list[CorrectnessModel] = []
    for name in verifiers:
        if not name.endswith(".json"):
            models.append(EntailmentCorrectness(require_verifier(name, cache_dir, 2)))
            continue
        model = open_correctness_model(name, Embedder(), cache_dir)
        assert model is not None  # None is returned only for "judge".
        models.append(model)
    models += [CosineCorrectness(Embedder(name)) for name in embedders]
    if not models:
        raise InputError(
            "no model was selected; pass a verifier (--verifier) or an embedding model (--embedder)"
        )
    return models


def find_best_window_score(
    model: CorrectnessModel, sentence: str, document: Document
) -> float | None:
    """Return the best score over all windows of three consecutive sentences in a document.

    The result is None if the document has no text or no window has a score.
    """
    return find_best_score(model, sentence, [span.text for span in list_windows(document)])


def find_best_score(model: CorrectnessModel, sentence: str, texts: Sequence[str]) -> float | None:
    """Return the best score of a sentence with any of the texts, or None without scores."""
    if not texts:
        return None
    if isinstance(model, EntailmentCorrectness):
        # Entailment models get an empty title, and a text with one sentence per line.
        texts = ["\n".join(["", *extract_sentences(text)]) for text in texts]
    scores = model.score_pairs([(sentence, text) for text in texts]).tolist()
    return max((score for score in scores if not math.isnan(score)), default=None)


@dataclass(frozen=True)
class QuestionSeparation:
    """Separation of documents by scores, for the sentences of one question.

    Attributes:
        positive: Mean score of the sentences with their own supporting documents.
        negative: Mean score of the sentences with documents of another question.
        accuracy: Share of sentences whose positive score is higher than the negative score.
        auc: Area under the ROC curve of positive and negative scores.
    """

    positive: float
    negative: float
    accuracy: float
    auc: float
    n_sentences: int


@dataclass(frozen=True)
class Separation:
    """Separation of a sentence's own documents from others, as means over questions.

    `pooled_auc` is the area under the ROC curve over all sentences, which BioACE does not report.
    `auc` is the mean of the areas of single questions. If each question has one sentence, `auc`
    equals `accuracy`, unless scores are tied.
    """

    positive: float
    negative: float
    accuracy: float
    auc: float
    pooled_auc: float
    questions: Mapping[str, QuestionSeparation]

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.questions)

    def compute_figure_score(self, figure: str) -> Score:
        """Return one of `FIGURES` as a score, with an interval computed by resampling questions."""
        values = [float(getattr(one, figure)) for one in self.questions.values()]
        interval = compute_mean_interval(values, list(self.questions))
        scale = (-1.0, 1.0) if figure in ("positive", "negative") else (0.0, 1.0)
        return build_score(getattr(self, figure), len(values), 0, interval, scale=scale)


def measure_separation(scores: Mapping[str, Sequence[tuple[float, float]]]) -> Separation | None:
    """Compare positive and negative scores (BioACE, algorithm 1), or return None without scores.

    Args:
        scores: Pairs of the positive and the negative score of a sentence, keyed by question.

    Example:
        >>> separated = measure_separation({"q1": [(0.9, 0.2), (0.4, 0.5)]})
        >>> separated.accuracy, separated.auc
        (0.5, 0.75)
    """
    rows = {question: _separate_question(pairs) for question, pairs in scores.items() if pairs}
    if not rows:
        return None
    means = {
        name: sum(float(getattr(row, name)) for row in rows.values()) / len(rows)
        for name in FIGURES
    }
    pooled = _compute_area([pair for pairs in scores.values() for pair in pairs])
    return Separation(**means, pooled_auc=pooled, questions=rows)


def _separate_question(pairs: Sequence[tuple[float, float]]) -> QuestionSeparation:
    n = len(pairs)
    positive, negative = (sum(pair[side] for pair in pairs) / n for side in (0, 1))
    n_above = sum(1 for above, below in pairs if above > below)
    return QuestionSeparation(positive, negative, n_above / n, _compute_area(pairs), n)


def _compute_area(pairs: Sequence[tuple[float, float]]) -> float:
    from sklearn.metrics import roc_auc_score

    positive, negative = ([pair[side] for pair in pairs] for side in (0, 1))
    return float(roc_auc_score([1] * len(pairs) + [0] * len(pairs), [*positive, *negative]))


@dataclass(frozen=True)
class SentencePair:
    """A supported sentence, and a supported sentence from an answer to another question."""

    sentence: CitedSentence
    other: CitedSentence


@dataclass(frozen=True)
class Separated:
    """Separation of documents by the scores of one model.

    Attributes:
        source: Whether whole documents or marked evidence were scored.
        result: Separation, or None if no sentences were scored.
        n_unscored: Number of sentences whose positive or negative score is missing.
    """

    model: str
    source: Source
    result: Separation | None
    n_unscored: int


def sample_pairs(sentences: Sequence[CitedSentence], seed: int = 0) -> list[SentencePair]:
    """Pair supported sentences with supported sentences from answers to other questions.

    Each sentence is paired with the first supported sentence of a random answer to another
    question. BioACE uses the first sentence of that answer, even if it is unsupported.

    Raises:
        InputError: If fewer than two questions have a supported sentence.
    """
    supported = [one for one in sentences if list_supporting_documents(one)]
    first: dict[str, CitedSentence] = {}
    for one in supported:
        first.setdefault(one.record, one)
    rows = [first[name] for name in sorted(first)]
    n_questions = len({row.topic for row in rows})
    if n_questions < 2:
        raise InputError(
            "at least two questions must have a sentence that a document with text supports "
            f"according to humans; found {n_questions}"
        )
    pairs: list[SentencePair] = []
    for one in supported:
        rng = random.Random(f"{seed}:{one.record}:{one.number}")
        others = [row for row in rows if row.topic != one.topic]
        pairs.append(SentencePair(one, rng.choice(others)))
    return pairs


def list_supporting_documents(sentence: CitedSentence) -> list[Document]:
    """Return the cited documents that humans labelled as supporting, if their text is known."""
    cited = (one for one in sentence.documents if one.label == "supports")
    return [one.document for one in cited if one.document is not None]


def separate(
    pairs: Sequence[SentencePair], model: CorrectnessModel, step: Step = lambda: None
) -> list[Separated]:
    """Score sentences with their own and with another question's documents (algorithm 1).

    The score of a document is the best score of any three consecutive sentences. If there are
    several documents, the best score is used.
    """
    rows: dict[Source, dict[str, list[tuple[float, float]]]] = {"documents": {}, "evidence": {}}
    n_unscored: dict[Source, int] = {"documents": 0, "evidence": 0}
    for pair in pairs:
        text, topic = pair.sentence.text, pair.sentence.topic
        sides = (pair.sentence, pair.other)
        by_source: dict[Source, list[float | None]] = {
            "documents": [_score_documents(model, text, side) for side in sides]
        }
        marked = [_list_evidence(side) for side in sides]
        if all(marked):
            by_source["evidence"] = [find_best_score(model, text, texts) for texts in marked]
        for source, (positive, negative) in by_source.items():
            if positive is None or negative is None:
                n_unscored[source] += 1
                continue
            rows[source].setdefault(topic, []).append((positive, negative))
        step()
    return [
        Separated(model.name, source, measure_separation(scores), n_unscored[source])
        for source, scores in rows.items()
        if scores or source == "documents"
    ]


def _score_documents(model: CorrectnessModel, text: str, side: CitedSentence) -> float | None:
    scores = [
        find_best_window_score(model, text, document)
        for document in list_supporting_documents(side)
    ]
    return max((score for score in scores if score is not None), default=None)


def _list_evidence(side: CitedSentence) -> list[str]:
    cited = (one for one in side.documents if one.label == "supports")
    return [text for one in cited for text in one.evidence]
