"""Scores of sentences against documents: of each, the best of its runs of three sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.models.correctness import (
    CorrectnessModel,
    CosineCorrectness,
    EntailmentCorrectness,
    correctness_model,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import present_model
from ragassay.records import Document
from ragassay.retrievers.passages import windows
from ragassay.text.sentences import sentences_of


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
