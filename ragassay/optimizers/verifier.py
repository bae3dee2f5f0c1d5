"""Train the adapter of the embedded verifier.

python -m ragassay.optimizers.verifier --shared ../shared --out ragassay/models/adapters/verifier

A low-rank adapter on all-MiniLM-L6-v2, which reads claim and passage together. It learns from
SciFact's and Citation-Integrity's labelled claims, from the pairs of `correctness`, and from
sentences turned into their contradiction. A fifth of SciFact's groups is held out: the temperature
is fitted to it, and the card's figures on SciFact are from it. Needs
`pip install 'ragassay[train]'`; a run that was broken off goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from collections.abc import Iterable
from pathlib import Path

from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CONTRADICTS, N_SENTENCES, NEUTRAL, SUPPORTS, titled
from ragassay.optimizers.adapting import N_TOKENS, SCALE, SEED, Example, fit_temperature, train
from ragassay.optimizers.bioasq import FragmentSearch, read_bioasq
from ragassay.optimizers.claims import (
    LabelledClaim,
    held_out,
    read_citation_integrity,
    read_scifact_claims,
)
from ragassay.optimizers.contradictions import contradict
from ragassay.optimizers.correctness import CorrectnessPair, bioasq_pairs, scifact_pairs
from ragassay.optimizers.vectors import CachedEncoder
from ragassay.retrievers.closest import closest_sentences
from ragassay.retrievers.rerank import TextEncoder

HELD_OUT = 0.2
SCIFACT_WEIGHT = 2
"""How often SciFact's claims, which people wrote and labelled with care, come in an epoch."""

CONTRADICTED = 0.8
"""Share of correct pairs of which a contradiction is made as well."""


def claim_examples(claims: Iterable[LabelledClaim], embedder: TextEncoder) -> list[Example]:
    """Claims with their document's title and the sentences that are closest to them."""
    return [
        Example(c.claim, titled(c.title, _closest(c, embedder)), c.label)
        for c in claims
    ]  # fmt: skip


def _closest(claim: LabelledClaim, embedder: TextEncoder) -> str:
    return " ".join(closest_sentences(claim.claim, claim.sentences, embedder, N_SENTENCES))


def pair_examples(pairs: Iterable[CorrectnessPair], rng: random.Random) -> list[Example]:
    """Correct pairs as support, incorrect ones as neutral, and contradictions of the correct."""
    found: list[Example] = []
    for pair in pairs:
        label = SUPPORTS if pair.correct else NEUTRAL
        found.append(Example(pair.sentence, pair.passage, label))
        if pair.correct and rng.random() < CONTRADICTED:
            changed = contradict(pair.sentence, rng)
            if changed:
                found.append(Example(changed, pair.passage, CONTRADICTS))
    return found


def rationale_examples(claims: Iterable[LabelledClaim]) -> list[Example]:
    """Contradicted claims with the sentences that contradict them, and nothing else."""
    return [
        Example(c.claim, " ".join(c.sentences[i] for i in c.rationale), CONTRADICTS)
        for c in claims
        if c.label == CONTRADICTS and c.rationale
    ]


def training_examples(shared: Path, embedder: TextEncoder) -> list[Example]:
    """All that the adapter learns from."""
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


def split_scifact(shared: Path) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """SciFact's claims to train on, and those held out."""
    claims = read_scifact_claims(shared)
    held = held_out(claims, HELD_OUT, SEED)
    return [c for c in claims if not held[c.group]], [c for c in claims if held[c.group]]


def main() -> None:
    """Train, calibrate and save."""
    import torch

    from ragassay.models.cross_encoder import load_base, pair_tokens, save_adapter

    parser = argparse.ArgumentParser(description="Train the adapter of the embedded verifier.")
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    parser.add_argument("--out", type=Path, required=True, help="folder of the adapter")
    parser.add_argument("--work", type=Path, default=Path("runs/verifier"), help="checkpoints")
    parser.add_argument("--epochs", type=float, default=2.0)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    with CachedEncoder(Embedder(), arguments.work / "vectors.npz") as embedder:
        examples = training_examples(arguments.shared, embedder)
        held = claim_examples(split_scifact(arguments.shared)[1], embedder)
    labels = [example.label for example in examples]
    print(f"{len(examples)} examples: {[labels.count(i) for i in range(3)]}", flush=True)
    encoder, tensors = train(examples, arguments.work, arguments.epochs)
    tokenizer = load_base()[1]
    with torch.inference_mode():
        logits = torch.cat(
            [encoder(pair_tokens(tokenizer, [(e.claim, e.passage)], N_TOKENS)) for e in held]
        )
    temperature = fit_temperature(logits, torch.tensor([e.label for e in held]))
    save_adapter(arguments.out, tensors, SCALE, N_TOKENS, temperature)
    print(f"{arguments.out}: temperature {temperature:.2f}")


if __name__ == "__main__":
    main()
