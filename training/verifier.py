"""Train the adapter of the embedded verifier.

    python -m training.verifier --shared ../shared --out ragassay/models/adapters/verifier

all-MiniLM-L6-v2 learns to read claim and passage together. It learns from SciFact's and
Citation-Integrity's labelled claims, from the pairs of `correctness`, and from contradicted
sentences. A fifth of SciFact's groups is held out: the temperature is fitted to it, and the card's
figures on SciFact are from it. Needs `pip install 'ragassay[train]'`; an interrupted run resumes
from its last checkpoint.

The other shipped verifier learns from claims alone: `ragassay finetune verifier` trains it.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from pathlib import Path

from ragassay.models.embeddings import EMBEDDED, Embedder
from ragassay.models.pair_encoders import pair_encoder
from ragassay.optimizers.finetuning.pairs import Example, claim_examples
from ragassay.optimizers.finetuning.vectors import CachedEncoder
from ragassay.retrievers.rerank import TextEncoder
from training.bioasq import FragmentSearch, read_bioasq
from training.claims import SEED, read_citation_integrity, split_scifact
from training.correctness import bioasq_pairs, scifact_pairs
from training.pairs import pair_examples, rationale_examples

EPOCHS = 2.0
SCIFACT_WEIGHT = 2
"""Repetitions per epoch of SciFact's claims, which people wrote and labelled with care."""


def verifier_examples(shared: Path, embedder: TextEncoder) -> list[Example]:
    """Return all training examples of the adapter."""
    rng = random.Random(SEED)
    scifact, _ = split_scifact(shared)
    cited = read_citation_integrity(shared, "train")
    answers = read_bioasq(shared)
    fragments = FragmentSearch(d for answer in answers for d in answer.documents)
    # The first sentence of an ideal answer answers the question; the others often elaborate.
    first = [dataclasses.replace(a, sentences=a.sentences[:1]) for a in answers]
    pairs = [*bioasq_pairs(first, fragments), *scifact_pairs(scifact)]
    return [
        *claim_examples(scifact, embedder) * SCIFACT_WEIGHT,
        *claim_examples(cited, embedder),
        *rationale_examples(scifact),
        *pair_examples(pairs, rng),
    ]


def main() -> None:
    """Train, calibrate and save."""
    import torch

    from ragassay.optimizers.finetuning.adapting import train
    from ragassay.optimizers.finetuning.calibrating import write_trained
    from ragassay.optimizers.finetuning.tunings import TUNINGS

    parser = argparse.ArgumentParser(description="Train the adapter of the embedded verifier.")
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    parser.add_argument("--out", type=Path, required=True, help="folder of the adapter")
    parser.add_argument("--work", type=Path, default=Path("runs/verifier"), help="checkpoints")
    parser.add_argument("--epochs", type=float, default=EPOCHS)
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    with CachedEncoder(Embedder(), work / "vectors.npz") as embedder:
        examples = verifier_examples(arguments.shared, embedder)
        held = claim_examples(split_scifact(arguments.shared)[1], embedder)
    labels = [example.label for example in examples]
    print(f"{len(examples)} examples: {[labels.count(i) for i in range(3)]}", flush=True)
    tuning = TUNINGS[EMBEDDED]
    torch.manual_seed(SEED)  # the head starts at random
    encoder = pair_encoder(EMBEDDED, work)
    tensors = train(encoder, examples, tuning, work, arguments.epochs, seed=SEED)
    shape = write_trained(arguments.out, encoder, tensors, tuning.n_tokens, held)
    print(f"{arguments.out}: temperature {shape.temperature:.2f}")


if __name__ == "__main__":
    main()
