"""Measure the similarity of several systems' answers to the same questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix, build_clustered_score
from ragassay.model_names import MINILM
from ragassay.models.token_vectors import TokenCloud, TokenEncoder
from ragassay.records import Record, Rejection, Score
from ragassay.studies.matrix_tables import select_records, write_matrices
from ragassay.studies.text_similarity import (
    SIMILARITY_KINDS,
    TEXT_MEASURES,
    SimilarityKind,
    compute_rarity_weights,
    has_synonyms,
    inverse_document_frequencies,
    mover_score,
    tokenize_words,
    transport_distance,
)

Pair = tuple[str, str]

WordReading = Literal["context", "alone"]
"""Vectors for word mover's distance. "context" stands for contextual token vectors of length 1, and
"alone" for words that are encoded separately, as in YESciEval's program
(`TokenEncoder.encode_alone`)."""

READINGS: Mapping[WordReading, str] = {
    "context": "each token in its context",
    "alone": "each word separately",
}

_N_AT_A_TIME = 512
"""Number of text pairs in a batch for BERTScore, to limit memory use."""


class MeasuredTexts:
    """Similarity measures of text pairs. The vectors of the texts are cached."""

    def __init__(
        self, pairs: Sequence[Pair], encoder: TokenEncoder, reading: WordReading = "context"
    ) -> None:
        self._pairs = pairs
        self._encoder = encoder
        self._reading: WordReading = reading
        self._clouds: dict[str, TokenCloud] | None = None

    def compute_values(self, kind: SimilarityKind) -> dict[Pair, float | None]:
        """Return the value of a measure for each pair of a reference and a candidate."""
        pairs = self._pairs
        if kind.is_symmetric:
            pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))
        values = dict(zip(pairs, self._compute(kind.key, pairs), strict=True))
        if kind.is_symmetric:
            values |= {(two, one): value for (one, two), value in values.items()}
        return values

    def list_notes(self) -> tuple[str, ...]:
        """Return a note on truncated texts, or nothing if there are none."""
        n_cut = sum(cloud.n_cut > 0 for cloud in (self._clouds or {}).values())
        if not n_cut:
            return ()
        return (f"{n_cut} texts were longer than the embedding model's limit and were truncated",)

    def _compute(self, key: str, pairs: Sequence[Pair]) -> list[float | None]:
        if key in TEXT_MEASURES:
            measure = TEXT_MEASURES[key]
            return [measure(one, two) for one, two in pairs]
        if key == "bertscore":
            return self._compute_bertscores(pairs)
        distance = self._build_moverscore() if key == "moverscore" else self._build_wmd()
        return [distance(one, two) for one, two in pairs]

    def _compute_bertscores(self, pairs: Sequence[Pair]) -> list[float | None]:
        scores: list[float | None] = []
        for start in range(0, len(pairs), _N_AT_A_TIME):
            part = pairs[start : start + _N_AT_A_TIME]
            scores += self._encoder.bertscore_f1([one for one, _ in part], [two for _, two in part])
        return scores

    def _build_wmd(self) -> Callable[[str, str], float | None]:
        if self._reading == "alone":
            return self._build_wmd_alone()
        words = {text: cloud.select(cloud.is_word) for text, cloud in self._encode_texts().items()}
        return lambda one, two: transport_distance(words[one].vectors, words[two].vectors)

    def _build_wmd_alone(self) -> Callable[[str, str], float | None]:
        import numpy as np

        words = {text: tokenize_words(text) for pair in self._pairs for text in pair}
        vectors = self._encoder.encode_alone([word for one in words.values() for word in one])
        clouds = {
            text: np.array([vectors[word] for word in one]).reshape(len(one), -1)
            for text, one in words.items()
        }
        return lambda one, two: transport_distance(clouds[one], clouds[two])

    def _build_moverscore(self) -> Callable[[str, str], float | None]:
        clouds = self._encode_texts()
        words = {text: c.select(c.is_word & c.is_start) for text, c in clouds.items()}
        rarity = inverse_document_frequencies([cloud.ids for cloud in words.values()])
        weights = {text: compute_rarity_weights(cloud.ids, rarity) for text, cloud in words.items()}

        def compute_moverscore(one: str, two: str) -> float | None:
            ends = words[one].vectors, words[two].vectors
            return mover_score(transport_distance(*ends, weights[one], weights[two]))

        return compute_moverscore

    def _encode_texts(self) -> dict[str, TokenCloud]:
        if self._clouds is None:
            texts = list(dict.fromkeys(text for pair in self._pairs for text in pair))
            self._clouds = dict(zip(texts, self._encoder.encode(texts), strict=True))
        return self._clouds


@dataclass(frozen=True)
class Similarity:
    """Similarity of systems.

    Attributes:
        matrices: A matrix for each measure, whose rows are the references.
        embedder: Name of the embedding model, or an empty string if none was used.
    """

    matrices: tuple[Matrix, ...]
    embedder: str = ""
    notes: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def measure_similarity(
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
    """Compare the systems in a file of answers.

    Args:
        answers: File in a format supported by `ragassay.formats.read_records`.
        metrics: Keys of `SIMILARITY_KINDS` (empty for all).
        wmd_vectors: Names of encoders for word mover's distance, with a matrix for each. If empty,
            `embedder` is used. YESciEval uses SPECTER2 (figure 15) and SciBERT (figure 14).
        wmd_words: Way in which the encoders represent words.
        lower_case: Whether to convert texts to lower case, as YESciEval's program does.

    Raises:
        InputError: If a measure is unknown, vectors are specified without word mover's distance,
            the file cannot be read, there are fewer than two systems, or a system answers a
            question twice.
        ExtraError: If a library is missing.
    """
    from ragassay.formats import read_records

    kinds = _select_kinds(metrics)
    result = read_records(Path(answers), questions=questions, answered=True, columns=columns)
    records = select_records(result.records, where)
    if (wmd_vectors or wmd_words != "context") and all(kind.key != "wmd" for kind in kinds):
        raise InputError("vectors for word mover's distance require --metric wmd")
    texts = group_texts_by_system(records, limit)
    if lower_case:
        texts = {name: {q: t.lower() for q, t in one.items()} for name, one in texts.items()}
    return compare_texts(
        texts, kinds, embedder, result.rejections, wmd_vectors=wmd_vectors, wmd_words=wmd_words
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
    """Compare systems by their answers, keyed by system and question.

    The remaining arguments are those of `similarity`.
    """
    questions = list(dict.fromkeys(q for answers in texts.values() for q in answers))
    pairs: dict[Pair, None] = {}
    for question in questions:
        own = [answers[question] for answers in texts.values() if question in answers]
        pairs |= dict.fromkeys((one, two) for one in own for two in own)
    measured = MeasuredTexts(list(pairs), TokenEncoder(embedder))
    matrices: list[Matrix] = []
    notes: tuple[str, ...] = ()
    others = wmd_vectors or ((embedder,) if wmd_words != "context" else ())
    for kind in kinds:
        if kind.key != "wmd" or not others:
            matrices.append(_build_matrix(kind, texts, questions, measured.compute_values(kind)))
            continue
        for name in dict.fromkeys(others):
            by_name = MeasuredTexts(list(pairs), TokenEncoder(name), wmd_words)
            named = _name_wmd(kind, name, wmd_words)
            matrices.append(_build_matrix(named, texts, questions, by_name.compute_values(kind)))
            notes += (f"word mover's distance uses vectors of {name} for {READINGS[wmd_words]}",)
            notes += tuple(f"{name}: {note}" for note in by_name.list_notes())
    notes += measured.list_notes()
    if any(kind.key == "meteor" for kind in kinds) and not has_synonyms():
        notes = ("METEOR was computed without synonyms, because NLTK's WordNet is missing", *notes)
    without = {*TEXT_MEASURES, "wmd"} if others else set(TEXT_MEASURES)
    is_embedded = any(kind.key not in without for kind in kinds)
    return Similarity(tuple(matrices), embedder if is_embedded else "", notes, tuple(rejections))


def group_texts_by_system(
    records: Sequence[Record], limit: int | None
) -> dict[str, dict[str, str]]:
    """Return answers keyed by system and question, for at most `limit` questions.

    Raises:
        InputError: If an answer has no system, a system answers a question twice, or there are
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
            raise InputError(f"answer {record.id!r} has no system")
        answers = texts.setdefault(record.system, {})
        if question in answers:
            raise InputError(
                f"{record.system!r} answers {question!r} more than once (again in {record.id!r}); "
                "select one answer for each question, for example with --where variant=benign"
            )
        text = record.answer
        answers[question] = text if isinstance(text, str) else " ".join(one.text for one in text)
    if len(texts) < 2:
        raise InputError(f"found {len(texts)} systems, but similarity requires at least two")
    return texts


def write_similarity(found: Similarity, out: Path) -> tuple[Path, ...]:
    """Write similarity.csv, similarity.tex, index.html and an SVG heatmap for each measure.

    Raises:
        InputError: If the folder cannot be created.
    """
    lines = [f"Token vectors by {found.embedder}"] if found.embedder else []
    title = "Similarity of the systems' answers"
    return write_matrices(found.matrices, "similarity", title, (*lines, *found.notes), out)


def _name_wmd(kind: SimilarityKind, name: str, reading: WordReading) -> SimilarityKind:
    ending = "" if reading == "context" else f"-{reading}"
    return replace(
        kind,
        key=f"{kind.key}-{name.rstrip('/').rpartition('/')[2]}{ending}",
        title=f"{kind.title} ({name}, {READINGS[reading]})",
        scale=kind.scale if reading == "context" else (0.0, math.inf),
    )


def _build_matrix(
    kind: SimilarityKind,
    texts: Mapping[str, Mapping[str, str]],
    questions: Sequence[str],
    values: Mapping[Pair, float | None],
) -> Matrix:
    def build_cell(reference: Mapping[str, str], candidate: Mapping[str, str]) -> Score:
        own = [
            values[reference[q], candidate[q]] if q in reference and q in candidate else None
            for q in questions
        ]
        return build_clustered_score(
            own, questions, kind.scale, lower_is_better=kind.lower_is_better
        )

    systems = tuple(texts)
    cells = tuple(tuple(build_cell(texts[one], texts[two]) for two in systems) for one in systems)
    return Matrix(
        key=kind.key,
        title=f"{kind.title}: {'lower' if kind.lower_is_better else 'higher'} is more similar",
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


def _select_kinds(metrics: Sequence[str]) -> list[SimilarityKind]:
    unknown = [key for key in metrics if key not in SIMILARITY_KINDS]
    if unknown:
        raise InputError(f"unknown --metric {unknown[0]}; use one of {', '.join(SIMILARITY_KINDS)}")
    return [SIMILARITY_KINDS[key] for key in dict.fromkeys(metrics or SIMILARITY_KINDS)]
