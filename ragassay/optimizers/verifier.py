"""Train the adapters of the shipped verifiers.

python -m ragassay.optimizers.verifier minilm|smollm2 --shared ../shared --out FOLDER

Each makes a base model read claim and passage together. MiniLM's learns from SciFact's and
Citation-Integrity's labelled claims, from the pairs of `correctness`, and from sentences turned
into their contradiction; SmolLM2's from SciFact's claims and their contraries. A fifth of
SciFact's groups is held out: the temperature is fitted to it, and the cards' figures on SciFact are
from it. Both ship in `ragassay/models/adapters`. Needs `pip install 'ragassay[train]'`; a run that
was broken off goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CONTRADICTS, N_SENTENCES, NEUTRAL, SUPPORTS, titled
from ragassay.optimizers.adapting import SCALE, SEED, Example, Tuning, fit_temperature, train
from ragassay.optimizers.bioasq import FragmentSearch, read_bioasq
from ragassay.optimizers.claims import (
    LabelledClaim,
    held_out,
    read_citation_integrity,
    read_scifact_claims,
)
from ragassay.optimizers.contradictions import contradict, contrary
from ragassay.optimizers.correctness import CorrectnessPair, bioasq_pairs, scifact_pairs
from ragassay.optimizers.vectors import CachedEncoder
from ragassay.retrievers.closest import closest_sentences
from ragassay.retrievers.rerank import TextEncoder

if TYPE_CHECKING:
    from torch import Tensor

    from ragassay.models.cross_encoder import PairEncoder

MINILM = Tuning(
    targets=("query", "key", "value", "dense"),
    layers=range(2, 6),
    layers_pattern="layer",
    rank=32,
    n_tokens=176,
    learning_rate=4e-4,
    head_rate=4e-4,
    schedule="linear",
    smoothing=0.05,
    excluded=("pooler.dense",),
)

SMOLLM2 = Tuning(
    targets=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    layers=range(8, 20),
    layers_pattern="layers",
    rank=16,
    n_tokens=384,
    learning_rate=2e-4,
    head_rate=1e-3,
    schedule="cosine",
    smoothing=0.0,
)

N_MEASURED = 240
"""Examples that the mean and spread of the features are measured on, before training."""

HELD_OUT = 0.2
SCIFACT_WEIGHT = 2
"""How often SciFact's claims, which people wrote and labelled with care, come in an epoch."""

CONTRADICTED = 0.8
"""Share of correct pairs of which a contradiction is made as well."""


def claim_examples(
    claims: Iterable[LabelledClaim], embedder: TextEncoder, *, marked: bool = False
) -> list[Example]:
    """Claims with their document's title and the sentences that are closest to them.

    Args:
        claims: Any.
        embedder: Tells which are closest.
        marked: Whether sentences that people marked as deciding the label come before others.
    """
    return [
        Example(c.claim, titled(c.title, _closest(c, embedder, marked)), c.label) for c in claims
    ]


def _closest(claim: LabelledClaim, embedder: TextEncoder, marked: bool) -> str:
    wanted = claim.rationale if marked else ()
    return " ".join(closest_sentences(claim.claim, claim.sentences, embedder, N_SENTENCES, wanted))


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


def minilm_examples(shared: Path, embedder: TextEncoder) -> list[Example]:
    """All that MiniLM's adapter learns from."""
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


def smollm2_examples(shared: Path, embedder: TextEncoder) -> list[Example]:
    """All that SmolLM2's adapter learns from."""
    rng = random.Random(SEED)
    scifact, _ = split_scifact(shared)
    turned = [other for claim in scifact if (other := contrary(claim, rng))]
    return claim_examples([*scifact, *turned], embedder, marked=True)


def split_scifact(shared: Path) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """SciFact's claims to train on, and those held out."""
    claims = read_scifact_claims(shared)
    held = held_out(claims, HELD_OUT, SEED)
    return [c for c in claims if not held[c.group]], [c for c in claims if held[c.group]]


def fresh_minilm(examples: Sequence[Example]) -> PairEncoder:
    """MiniLM before training."""
    from ragassay.models.minilm_encoder import MiniLMEncoder

    return MiniLMEncoder.load()


def fresh_smollm2(examples: Sequence[Example]) -> PairEncoder:
    """SmolLM2 before training, its head brought to the mean and spread of what it will see."""
    import torch

    from ragassay.models.smollm2_encoder import SmolLM2Encoder
    from ragassay.settings import load_settings

    encoder = SmolLM2Encoder.load(load_settings().cache_dir).eval()
    chosen = random.Random(SEED).sample(examples, min(N_MEASURED, len(examples)))
    with torch.inference_mode():
        features = torch.cat([_features(encoder, example) for example in chosen])
    encoder.head.standardise(features)
    return encoder


def _features(encoder: PairEncoder, example: Example) -> Tensor:
    from ragassay.models.cross_encoder import padded

    return encoder.pooled(padded([encoder.row(example.claim, example.passage, SMOLLM2.n_tokens)]))


@dataclasses.dataclass(frozen=True)
class Course:
    """How one of the base models is trained.

    Attributes:
        tuning: What is changed, and how fast.
        epochs: How often each example is seen.
        examples: Of the folder with the data, and of what chooses the closest sentences.
        fresh: The base model before training on examples.
    """

    tuning: Tuning
    epochs: float
    examples: Callable[[Path, TextEncoder], list[Example]]
    fresh: Callable[[Sequence[Example]], PairEncoder]


COURSES: Mapping[str, Course] = {
    "minilm": Course(MINILM, 2.0, minilm_examples, fresh_minilm),
    "smollm2": Course(SMOLLM2, 3.0, smollm2_examples, fresh_smollm2),
}


def main() -> None:
    """Train, calibrate and save."""
    import torch

    from ragassay.models.cross_encoder import padded, save_adapter

    parser = argparse.ArgumentParser(description="Train an adapter of a shipped verifier.")
    parser.add_argument("base", choices=sorted(COURSES), help="the base model that is adapted")
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    parser.add_argument("--out", type=Path, required=True, help="folder of the adapter")
    parser.add_argument("--work", type=Path, help="checkpoints; runs/verifier-BASE by default")
    parser.add_argument("--epochs", type=float, help="by default those of the shipped adapter")
    arguments = parser.parse_args()
    name: str = arguments.base
    course = COURSES[name]
    tuning = course.tuning
    work: Path = arguments.work or Path("runs") / f"verifier-{name}"
    work.mkdir(parents=True, exist_ok=True)
    with CachedEncoder(Embedder(), work / "vectors.npz") as embedder:
        examples = course.examples(arguments.shared, embedder)
        held = claim_examples(split_scifact(arguments.shared)[1], embedder)
    labels = [example.label for example in examples]
    print(f"{len(examples)} examples: {[labels.count(i) for i in range(3)]}", flush=True)
    torch.manual_seed(SEED)  # a head may start at random
    encoder = course.fresh(examples)
    tensors = train(encoder, examples, tuning, work, arguments.epochs or course.epochs)
    rows = [encoder.row(e.claim, e.passage, tuning.n_tokens) for e in held]
    with torch.inference_mode():
        logits = torch.cat([encoder(padded([row])) for row in rows])
    temperature = fit_temperature(logits, torch.tensor([e.label for e in held]))
    save_adapter(
        arguments.out,
        tensors,
        base_sha256=encoder.base_sha256,
        scale=SCALE,
        n_tokens=tuning.n_tokens,
        temperature=temperature,
    )
    print(f"{arguments.out}: temperature {temperature:.2f}")


if __name__ == "__main__":
    main()
