"""Answer sentences with their cited documents and people's labels, scored by documents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.labels import read_labels
from ragassay.formats.medaesqa import EvidenceKey, read_evidence
from ragassay.models.correctness import (
    CorrectnessModel,
    CosineCorrectness,
    EntailmentCorrectness,
    correctness_model,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import present_model
from ragassay.records import Document, Record
from ragassay.retrievers.literature import Literature
from ragassay.text.search import windows
from ragassay.text.segmenter import segment
from ragassay.text.sentences import sentences_of

LabelKey = tuple[str, int, str]


@dataclass(frozen=True)
class CitedDocument:
    """A document that a sentence cites.

    Attributes:
        id: As the answer names it.
        document: Its text; None where neither the answer nor the corpus has it.
        label: What people said of the citation; empty if nothing.
        evidence: What people marked in it as evidence of the sentence.
    """

    id: str
    document: Document | None
    label: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class CitedSentence:
    """A sentence of an answer.

    Attributes:
        record: The answer's id.
        topic: What its question is called: its id where the file has one, else its text.
        question: The question's text.
        number: 1-based.
        text: Without its citation markers.
        documents: What it cites.
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
        records: The answers.
        corpus: Where documents are looked up that the answers do not bring.
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
            topic = record.topic or record.question
            found.append(
                CitedSentence(
                    record.id, topic, record.question, sentence.index, sentence.text, tuple(cited)
                )
            )
    return found


def citation_labels(path: Path, records: Sequence[Record]) -> dict[LabelKey, str]:
    """Return what people said of citations, by answer, sentence and document.

    Of several labels of one citation the most frequent counts; of equally many "supports", as in
    BioACE's program, else the first.

    Args:
        path: Any file of labels.
        records: The answers; a label may name its answer by topic and system.

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
    """Return sentences with what people said of their citations.

    Args:
        path: The answers; MedAESQA has the labels too.
        records: The same, read.
        corpus: Where documents are looked up.
        labels: The labels, where they are in another file.

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
    """Return the models that score whether a text bears a sentence out.

    Args:
        verifiers: Verifiers, or fitted classifiers of correctness (.json).
        embedders: Embedding models, whose cosine is the score.
        cache_dir: The folder of converted weights.

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

    Returns:
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
