"""Answer sentences with cited documents and labels; does a score tell them from others (BioACE)?"""

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
from ragassay.metrics.stats.intervals import build_score, mean_interval
from ragassay.models.correctness import (
    CorrectnessModel,
    CosineCorrectness,
    EntailmentCorrectness,
    correctness_model,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import present_model
from ragassay.records import Document, Record, Score
from ragassay.retrievers.literature import Literature
from ragassay.text.search import windows
from ragassay.text.segmenter import segment
from ragassay.text.sentences import sentences_of

LabelKey = tuple[str, int, str]
Source = Literal["documents", "evidence"]
Step = Callable[[], None]

FIGURES = ("positive", "negative", "accuracy", "auc")


@dataclass(frozen=True)
class CitedDocument:
    """A document that a sentence cites, with people's label, and the evidence that they marked.

    `document` is None where neither the answer nor the corpus has its text.
    """

    id: str
    document: Document | None
    label: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class CitedSentence:
    """A sentence of an answer, numbered from 1, its text without citation markers.

    `topic` is the question's id where the file has one, else its text.
    """

    record: str
    topic: str
    question: str
    number: int
    text: str
    documents: tuple[CitedDocument, ...]


def cited_sentences(
    records: Iterable[Record],
    corpus: Literature,
    labels: Mapping[LabelKey, str] | None = None,
    evidence: Mapping[EvidenceKey, tuple[str, ...]] | None = None,
) -> list[CitedSentence]:
    """Return the sentences of answers in their order, with the documents that they cite.

    Args:
        corpus: Where to look up documents that the answers do not contain.
        labels: What people said of citations, by answer, sentence and document.
        evidence: What people marked, by the same.
    """
    found: list[CitedSentence] = []
    for record in records:
        _, sentences, documents = segment(record, corpus.get)
        by_id = {document.id: document for document in documents}
        for sentence in sentences:
            cited: list[CitedDocument] = []
            for one in sentence.citations:
                names = [one.marker, *([one.document] if one.document else [])]
                keys = [(record.id, sentence.index, name) for name in names]
                told = next((labels[key] for key in keys if labels and key in labels), "")
                marked = next((evidence[key] for key in keys if evidence and key in evidence), ())
                document = by_id.get(one.document) if one.document else None
                cited.append(CitedDocument(one.document or one.marker, document, told, marked))
            found.append(
                CitedSentence(
                    record=record.id,
                    topic=record.topic or record.question,
                    question=record.question,
                    number=sentence.index,
                    text=sentence.text,
                    documents=tuple(cited),
                )
            )
    return found


def citation_labels(path: Path, records: Sequence[Record]) -> dict[LabelKey, str]:
    """Return what people said of citations, by answer, sentence and document.

    Of several labels of one citation the most frequent counts; of equally many "supports", as in
    BioACE's program, else the first.

    Raises:
        InputError: The file has no labels of citations.
    """
    by_name = {(record.topic, record.system): record.id for record in records}
    given: dict[LabelKey, list[str]] = {}
    for one in read_labels(path).labels:
        record = one.record_id or by_name.get((one.topic, one.system))
        if one.task == "citation" and record and one.sentence:
            given.setdefault((record, one.sentence, one.item), []).append(one.label)
    if not given:
        raise InputError(f"{path} has no labels of citations: name a file of them with --labels")
    return {key: _take_majority(labels) for key, labels in given.items()}


def has_citation_labels(path: Path) -> bool:
    """Return whether a file of answers has people's labels of their citations too."""
    try:
        return any(one.task == "citation" for one in read_labels(path).labels)
    except InputError:
        return False


def _take_majority(labels: Sequence[str]) -> str:
    counts = Counter(labels)
    most = max(counts.values())
    first = [label for label, n in counts.items() if n == most]
    return "supports" if "supports" in first else first[0]


def labelled_sentences(
    path: Path, records: Sequence[Record], corpus: Literature, labels: Path | None = None
) -> list[CitedSentence]:
    """Return sentences with what people said of their citations, in this or another file.

    Raises:
        InputError: There are no labels of citations.
    """
    told = citation_labels(labels or path, records)
    return cited_sentences(records, corpus, told, read_evidence(path))


def check_documents(sentences: Sequence[CitedSentence]) -> int:
    """Return how many citations have no text.

    Raises:
        InputError: None has one.
    """
    cited = [one for sentence in sentences for one in sentence.documents]
    n_missing = sum(one.document is None for one in cited)
    if n_missing == len(cited):
        first = f", such as {cited[0].id}," if cited else ""
        raise InputError(
            f"none of {len(cited)} citations{first} has a document: name the corpus with --corpus"
        )
    return n_missing


def open_models(
    verifiers: Sequence[str], embedders: Sequence[str], cache_dir: Path
) -> list[CorrectnessModel]:
    """Return the models that score whether a text supports a sentence.

    Raises:
        InputError: None is named.
        SettingsError: One is unavailable.
    """
    found: list[CorrectnessModel] = []
    for name in verifiers:
        if not name.endswith(".json"):
            found.append(EntailmentCorrectness(present_model(name, cache_dir, 2)))
            continue
        model = correctness_model(name, Embedder(), cache_dir)
        assert model is not None  # only of "judge" there is none
        found.append(model)
    found += [CosineCorrectness(Embedder(name)) for name in embedders]
    if not found:
        raise InputError("name a verifier (--verifier) or an embedding model (--embedder)")
    return found


def best_score(model: CorrectnessModel, sentence: str, document: Document) -> float | None:
    """Return the best score of a sentence over a document's runs of three sentences.

    None for a document without text, and where the model scores no run.
    """
    return best_of(model, sentence, [span.text for span in windows(document)])


def best_of(model: CorrectnessModel, sentence: str, texts: Sequence[str]) -> float | None:
    """Return the best score of a sentence over texts; None where none is scored."""
    if not texts:
        return None
    # An inference model reads a title, here none, and a sentence a line.
    reads_lines = isinstance(model, EntailmentCorrectness)
    read = ["\n".join(["", *sentences_of(text)]) if reads_lines else text for text in texts]
    scores = model.scores([(sentence, text) for text in read]).tolist()
    return max((score for score in scores if not math.isnan(score)), default=None)


@dataclass(frozen=True)
class QuestionSeparation:
    """Separation of one question's sentences.

    Attributes:
        positive: Mean score of sentences with passages that support them.
        negative: Mean score of the same sentences with passages of another question.
        accuracy: Share of sentences whose positive score is above their negative one.
        auc: Area under the ROC curve of positive against negative scores.
    """

    positive: float
    negative: float
    accuracy: float
    auc: float
    n_sentences: int


@dataclass(frozen=True)
class Separation:
    """Separation of a sentence's own passages from another question's: means over questions.

    `pooled_auc` is the area over the sentences of all questions at once, which the paper does not
    give: with one sentence a question the mean of the areas is the accuracy.
    """

    positive: float
    negative: float
    accuracy: float
    auc: float
    pooled_auc: float
    questions: Mapping[str, QuestionSeparation]

    @property
    def n_questions(self) -> int:
        """The number of questions averaged over."""
        return len(self.questions)

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
    return Separation(**means, pooled_auc=pooled, questions=rows)


def _of_question(pairs: Sequence[tuple[float, float]]) -> QuestionSeparation:
    n = len(pairs)
    positive, negative = (sum(pair[side] for pair in pairs) / n for side in (0, 1))
    n_above = sum(1 for above, below in pairs if above > below)
    return QuestionSeparation(positive, negative, n_above / n, _area(pairs), n)


def _area(pairs: Sequence[tuple[float, float]]) -> float:
    from sklearn.metrics import roc_auc_score

    positive, negative = ([pair[side] for pair in pairs] for side in (0, 1))
    return float(roc_auc_score([1] * len(pairs) + [0] * len(pairs), [*positive, *negative]))


@dataclass(frozen=True)
class SentencePair:
    """A sentence with what supports it, and with what supports a sentence of another question."""

    sentence: CitedSentence
    other: CitedSentence


@dataclass(frozen=True)
class Separated:
    """The separation by one model, with documents in runs of three sentences, or with evidence.

    `result` is None where no sentence has any; of `n_unscored` sentences the model did not score
    one of the two sides.
    """

    model: str
    source: Source
    result: Separation | None
    n_unscored: int


def sample_pairs(sentences: Sequence[CitedSentence], seed: int = 0) -> list[SentencePair]:
    """Pair sentences that a document supports with the first such one of another question.

    BioACE takes the first sentence of the other row; here the first one that has a supporting
    document, so that there is something to compare with. A row is an answer.

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
    pairs: Sequence[SentencePair], model: CorrectnessModel, step: Step = lambda: None
) -> list[Separated]:
    """Score sentences against their own documents and another question's (algorithm 1).

    A document's score is that of its best run of three sentences, a sentence's that of its best
    document. Where people marked evidence, the same is done with it instead of the runs.

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
