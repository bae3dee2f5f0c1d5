"""Measure how alike several systems' answers to the same questions are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix, clustered_score
from ragassay.model_names import MINILM
from ragassay.models.token_vectors import TokenCloud, TokenEncoder
from ragassay.records import Record, Rejection, Score
from ragassay.studies.matrix_tables import records_where, write_matrices
from ragassay.studies.text_similarity import (
    SIMILARITY_KINDS,
    TEXT_MEASURES,
    SimilarityKind,
    has_synonyms,
    inverse_document_frequencies,
    mover_score,
    rarity_weights,
    transport_distance,
    words_of,
)

Pair = tuple[str, str]
"""The texts of a reference and of a candidate."""

WordReading = Literal["context", "alone"]
"""How word mover's distance gets its vectors: each token in its text, each of length 1; or each
word read by itself, as YESciEval's program does (`TokenEncoder.encode_alone`)."""

READINGS: Mapping[WordReading, str] = {
    "context": "each token in its text",
    "alone": "each word by itself",
}
"""The readings in words."""

_N_AT_A_TIME = 512
"""Pairs of texts whose vectors BERTScore keeps at a time."""


class MeasuredTexts:
    """Measures of pairs of texts, with vectors computed once."""

    def __init__(
        self, pairs: Sequence[Pair], encoder: TokenEncoder, reading: WordReading = "context"
    ) -> None:
        self._pairs = pairs
        self._encoder = encoder
        self._reading: WordReading = reading
        self._clouds: dict[str, TokenCloud] | None = None

    def values(self, kind: SimilarityKind) -> dict[Pair, float | None]:
        """Return the measure of each pair, reference first."""
        pairs = self._pairs
        if kind.is_symmetric:
            pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))
        found = dict(zip(pairs, self._compute_missing(kind.key, pairs), strict=True))
        if kind.is_symmetric:
            found |= {(two, one): value for (one, two), value in found.items()}
        return found

    def notes(self) -> tuple[str, ...]:
        """Return notes on what was left out."""
        n_cut = sum(cloud.n_cut > 0 for cloud in (self._clouds or {}).values())
        if not n_cut:
            return ()
        return (f"{n_cut} texts were longer than the embedding model reads, and were cut",)

    def _compute_missing(self, key: str, pairs: Sequence[Pair]) -> list[float | None]:
        if key in TEXT_MEASURES:
            measure = TEXT_MEASURES[key]
            return [measure(one, two) for one, two in pairs]
        if key == "bertscore":
            return self._bertscores(pairs)
        distance = self._moverscore() if key == "moverscore" else self._wmd()
        return [distance(one, two) for one, two in pairs]

    def _bertscores(self, pairs: Sequence[Pair]) -> list[float | None]:
        found: list[float | None] = []
        for start in range(0, len(pairs), _N_AT_A_TIME):
            part = pairs[start : start + _N_AT_A_TIME]
            found += self._encoder.bertscore_f1([one for one, _ in part], [two for _, two in part])
        return found

    def _wmd(self) -> Callable[[str, str], float | None]:
        if self._reading == "alone":
            return self._wmd_alone()
        words = {text: cloud.select(cloud.is_word) for text, cloud in self._encode_texts().items()}
        return lambda one, two: transport_distance(words[one].vectors, words[two].vectors)

    def _wmd_alone(self) -> Callable[[str, str], float | None]:
        import numpy as np

        words = {text: words_of(text) for pair in self._pairs for text in pair}
        vectors = self._encoder.encode_alone([word for one in words.values() for word in one])
        clouds = {
            text: np.array([vectors[word] for word in one]).reshape(len(one), -1)
            for text, one in words.items()
        }
        return lambda one, two: transport_distance(clouds[one], clouds[two])

    def _moverscore(self) -> Callable[[str, str], float | None]:
        clouds = self._encode_texts()
        words = {text: c.select(c.is_word & c.is_start) for text, c in clouds.items()}
        rarity = inverse_document_frequencies([cloud.ids for cloud in words.values()])
        weights = {text: rarity_weights(cloud.ids, rarity) for text, cloud in words.items()}

        def score(one: str, two: str) -> float | None:
            ends = words[one].vectors, words[two].vectors
            return mover_score(transport_distance(*ends, weights[one], weights[two]))

        return score

    def _encode_texts(self) -> dict[str, TokenCloud]:
        if self._clouds is None:
            texts = list(dict.fromkeys(text for pair in self._pairs for text in pair))
            self._clouds = dict(zip(texts, self._encoder.encode(texts), strict=True))
        return self._clouds


@dataclass(frozen=True)
class Similarity:
    """Several systems compared by their texts: a matrix for each measure, references in rows.

    `embedder` is the model behind the measures that need one; notes are about the measures.
    """

    matrices: tuple[Matrix, ...]
    embedder: str = ""
    notes: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def similarity(
    answers: str | Path,
    metrics: Sequence[str] = (),
    *,
    where: Sequence[str] = (),
    limit: int | None = None,
    questions: Path | None = None,
    columns: Mapping[str, str] | None = None,
    embedder: str = MINILM,
    wmd_vectors: Sequence[str] = (),
    wmd_words: WordReading = "context",
    lower_case: bool = False,
) -> Similarity:
    """Compare the systems of a file of answers.

    Args:
        answers: In any format that `ragassay.formats.read_records` knows.
        metrics: Keys of `SIMILARITY_KINDS`; by default all.
        where: Only answers with these values, as `records_where` takes them.
        limit: Only this many questions, the first ones.
        questions: The questions' file, for formats that need one.
        columns: As for `read_records`.
        embedder: An encoder that transformers can load.
        wmd_vectors: Encoders for word mover's distance, each with a matrix of its own; by default
            the embedder. YESciEval shows SPECTER2 (figure 15) and SciBERT (figure 14).
        wmd_words: How they read words.
        lower_case: Whether all texts are compared in lower case, as YESciEval's program does.

    Raises:
        InputError: A measure is unknown, vectors are given for one that is not asked for, the file
            cannot be read, there are fewer than two systems, or a system answers a question twice.
        ExtraError: A library is missing.
    """
    from ragassay.formats import read_records

    kinds = _kinds(metrics)
    found = read_records(Path(answers), questions=questions, answered=True, columns=columns)
    records = records_where(found.records, where)
    if (wmd_vectors or wmd_words != "context") and all(kind.key != "wmd" for kind in kinds):
        raise InputError("the vectors are for word mover's distance: ask for it, --metric wmd")
    texts = texts_by_system(records, limit)
    if lower_case:
        texts = {name: {q: t.lower() for q, t in one.items()} for name, one in texts.items()}
    return compare_texts(
        texts,
        kinds,
        embedder,
        found.rejections,
        wmd_vectors=wmd_vectors,
        wmd_words=wmd_words,
    )


def compare_texts(
    texts: Mapping[str, Mapping[str, str]],
    kinds: Sequence[SimilarityKind],
    embedder: str = MINILM,
    rejections: Sequence[Rejection] = (),
    *,
    wmd_vectors: Sequence[str] = (),
    wmd_words: WordReading = "context",
) -> Similarity:
    """Compare systems by their texts (system to question to answer); see `similarity`."""
    questions = list(dict.fromkeys(q for of_system in texts.values() for q in of_system))
    pairs: dict[Pair, None] = {}
    for question in questions:
        having = [of_system[question] for of_system in texts.values() if question in of_system]
        pairs |= dict.fromkeys((one, two) for one in having for two in having)
    measured = MeasuredTexts(list(pairs), TokenEncoder(embedder))
    matrices: list[Matrix] = []
    notes: tuple[str, ...] = ()
    others = wmd_vectors or ((embedder,) if wmd_words != "context" else ())
    for kind in kinds:
        if kind.key != "wmd" or not others:
            matrices.append(_matrix(kind, texts, questions, measured.values(kind)))
            continue
        for name in dict.fromkeys(others):
            own = MeasuredTexts(list(pairs), TokenEncoder(name), wmd_words)
            matrices.append(
                _matrix(_wmd_by(kind, name, wmd_words), texts, questions, own.values(kind))
            )
            notes += (f"word mover's distance over vectors of {name}, {READINGS[wmd_words]}",)
            notes += tuple(f"{name}: {note}" for note in own.notes())
    notes += measured.notes()
    if any(kind.key == "meteor" for kind in kinds) and not has_synonyms():
        notes = ("METEOR aligned forms and stems, no synonyms: nltk's WordNet is missing", *notes)
    without = {*TEXT_MEASURES, "wmd"} if others else set(TEXT_MEASURES)
    is_embedded = any(kind.key not in without for kind in kinds)
    return Similarity(tuple(matrices), embedder if is_embedded else "", notes, tuple(rejections))


def texts_by_system(records: Sequence[Record], limit: int | None) -> dict[str, dict[str, str]]:
    """Return the answers of each system by question; with a limit, of the first questions.

    Raises:
        InputError: An answer names no system, a system answers a question twice, or there are
            fewer than two systems.
    """
    texts: dict[str, dict[str, str]] = {}
    questions: dict[str, None] = {}
    for record in records:
        question = record.topic or record.question
        if question not in questions and limit is not None and len(questions) >= limit:
            continue
        questions[question] = None
        if not record.system:
            raise InputError(f"the answer {record.id!r} names no system to compare")
        of_system = texts.setdefault(record.system, {})
        if question in of_system:
            raise InputError(
                f"{record.system!r} answers {question!r} more than once (again in {record.id!r}): "
                "choose one answer each, e.g. by --where variant=benign"
            )
        of_system[question] = _text(record)
    if len(texts) < 2:
        raise InputError(f"{len(texts)} systems: similarity needs the answers of two at least")
    return texts


def write_similarity(found: Similarity, out: Path) -> tuple[Path, ...]:
    """Write similarity.csv, similarity.tex, index.html and a heatmap (SVG) for each measure.

    Raises:
        InputError: The folder cannot be created.
    """
    lines = [f"Vectors of tokens by {found.embedder}"] if found.embedder else []
    title = "How alike the answers of systems are"
    return write_matrices(found.matrices, "similarity", title, (*lines, *found.notes), out)


def _wmd_by(kind: SimilarityKind, name: str, reading: WordReading) -> SimilarityKind:
    """Return word mover's distance as the measure by one model's vectors."""
    ending = "" if reading == "context" else f"-{reading}"
    return replace(
        kind,
        key=f"{kind.key}-{name.rstrip('/').rpartition('/')[2]}{ending}",
        title=f"{kind.title} ({name}, {READINGS[reading]})",
        scale=kind.scale if reading == "context" else (0.0, math.inf),
    )


def _matrix(
    kind: SimilarityKind,
    texts: Mapping[str, Mapping[str, str]],
    questions: Sequence[str],
    values: Mapping[Pair, float | None],
) -> Matrix:
    def cell(reference: Mapping[str, str], candidate: Mapping[str, str]) -> Score:
        found = [
            values[reference[q], candidate[q]] if q in reference and q in candidate else None
            for q in questions
        ]
        return clustered_score(found, questions, kind.scale, lower_is_better=kind.lower_is_better)

    systems = tuple(texts)
    cells = tuple(tuple(cell(texts[one], texts[two]) for two in systems) for one in systems)
    return Matrix(
        key=kind.key,
        title=f"{kind.title}: {'lower' if kind.lower_is_better else 'higher'} is more alike",
        rows=systems,
        columns=systems,
        cells=cells,
        row_title="reference",
        column_title="candidate",
        unit="questions",
        n_questions=len(questions),
        own=frozenset((i, i) for i in range(len(systems))),
        is_reflexive=True,
        lower_is_better=kind.lower_is_better,
    )


def _kinds(metrics: Sequence[str]) -> list[SimilarityKind]:
    unknown = [key for key in metrics if key not in SIMILARITY_KINDS]
    if unknown:
        raise InputError(f"--metric {unknown[0]}: choose from {', '.join(SIMILARITY_KINDS)}")
    return [SIMILARITY_KINDS[key] for key in dict.fromkeys(metrics or SIMILARITY_KINDS)]


def _text(record: Record) -> str:
    if isinstance(record.answer, str):
        return record.answer
    return " ".join(sentence.text for sentence in record.answer)
