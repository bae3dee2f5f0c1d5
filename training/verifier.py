r"""Train the embedded verifiers.

    python -m training.verifier --shared ../shared --out ragassay/models/adapters/verifier_whole
    python -m training.verifier --shared ../shared --out ragassay/models/adapters/verifier_closest \
        --reads closest_first --epochs 6 --rate 1e-3
    python -m training.verifier --shared ../shared --out ragassay/models/adapters/smollm2_verifier \
        --base smollm2-135m --epochs 2

The training data are sentences of model answers with the abstracts that they cite, in original and
edited form, trial findings, titles and conclusions of abstracts, and labelled claims of SciFact,
Citation-Integrity and BioASQ. A fifth of YESciEval's questions and of SciFact's groups is held out
and used to fit the temperature. Training requires `pip install 'ragassay[train]'`. It takes minutes
on a GPU and about a day on two cores. An interrupted run resumes from its last checkpoint.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ragassay.model_names import MINILM, SMOLLM2
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, PACKAGED, SUPPORTS, load_pair_encoder
from ragassay.optimizers.finetuning.claims import (
    NOT_CONTRADICTED,
    Example,
    LabelledClaim,
    build_claim_examples,
    reverse_label,
)
from ragassay.settings import load_settings
from ragassay.text.search import rank_texts
from training.abstracts import article_claims
from training.bioasq import FragmentSearch, read_bioasq
from training.cited import CitedSentence, Overlap, cited_sentences, is_dev, whole_answers
from training.claims import SEED, read_citation_integrity, split_scifact
from training.correctness import CORRECT, bioasq_pairs
from training.edits import Made, edited
from training.findings import finding_claims, read_findings

SCIFACT_WEIGHT, CITED_WEIGHT = 3, 2
"""Repetitions of the human-labeled claims of SciFact and Citation-Integrity."""

NOT_CITED, NOT_CITED_UNCLEAR = 0.2, 0.3
"""Sampling rates of uncited documents, of which one answer has dozens."""

WINDOW_SHARE, WINDOW_COVERED = 0.6, 0.45
"""Share of supported sentences also paired with three sentences of their document, and minimum word
coverage of these."""

ELSEWHERE = 0.3
"""Share of edited sentences also paired with an unrelated document."""

BATCH = {MINILM: 128, SMOLLM2: 32}

FEWER_NEGATIONS = 0.4
"""Share of negated titles and conclusions to drop, because they are so frequent."""


def verifier_claims(shared: Path) -> list[Made]:
    """Return all training claims, with human-labeled ones repeated."""
    rng = random.Random(SEED)
    scifact, held = split_scifact(shared)
    known = frozenset(claim.title for claim in held)
    pairs = [p for p in cited_sentences(whole_answers(shared)) if not is_dev(_question(p))]
    articles = article_claims(shared, known, rng)
    return [
        *cited_claims(pairs, rng),
        *(made for claim in scifact for made in _labelled(claim, rng)),
        *([Made(c, "cited work") for c in read_citation_integrity(shared, "train")] * CITED_WEIGHT),
        *finding_claims(read_findings(shared, "train"), rng, 2),
        *(m for m in articles if m.kind != "negation" or rng.random() >= FEWER_NEGATIONS),
        *_answers(shared, rng),
    ]


def cited_claims(pairs: Sequence[CitedSentence], rng: random.Random) -> Iterator[Made]:
    """Yield answer sentences with documents, in original and edited form."""
    overlap = Overlap({" ".join(pair.claim.sentences) for pair in pairs})
    elsewhere: dict[tuple[str, str], list[LabelledClaim]] = defaultdict(list)
    for pair in pairs:
        if not pair.is_cited and pair.is_clear:
            elsewhere[pair.answer, pair.claim.claim].append(pair.claim)
    for pair in pairs:
        is_open = dataclasses.replace(pair.claim, label=NOT_CONTRADICTED)
        if pair.is_cited and pair.is_clear:
            yield from _supported(pair, elsewhere[pair.answer, pair.claim.claim], overlap, rng)
        elif pair.is_cited:
            yield Made(is_open, "cited, unclear")
        elif pair.is_clear and rng.random() < NOT_CITED:
            yield Made(pair.claim, "not cited")
        elif not pair.is_clear and rng.random() < NOT_CITED_UNCLEAR:
            yield Made(is_open, "not cited, unclear")


def _supported(
    pair: CitedSentence, elsewhere: Sequence[LabelledClaim], overlap: Overlap, rng: random.Random
) -> Iterator[Made]:
    claim = pair.claim
    yield Made(claim, "cited")
    turned = list(edited(claim, pair.closest, rng))
    yield from turned
    if len(claim.sentences) > 3 and rng.random() < WINDOW_SHARE:
        first = max(0, min(pair.closest[0] - 1, len(claim.sentences) - 3))
        window = claim.sentences[first : first + 3]
        if overlap.shares(claim.claim, list(window))[-1] >= WINDOW_COVERED:
            beside = dataclasses.replace(claim, sentences=window)
            yield Made(beside, "cited window")
            yield from edited(beside, [pair.closest[0] - first], rng)
    for made in turned:
        is_odd = made.claim.label == CONTRADICTS and made.claim.sentences == claim.sentences
        if elsewhere and is_odd and rng.random() < ELSEWHERE:
            other = rng.choice(elsewhere)
            moved = {"title": other.title, "sentences": other.sentences, "label": NEUTRAL}
            yield Made(dataclasses.replace(made.claim, **moved), "edited elsewhere")


def _labelled(claim: LabelledClaim, rng: random.Random) -> Iterator[Made]:
    """Yield a SciFact claim with its abstract and with its rationale, and edited versions."""
    yield from [Made(claim, "scifact")] * SCIFACT_WEIGHT
    if claim.rationale:
        marked = tuple(claim.sentences[place] for place in claim.rationale)
        rest = [s for place, s in enumerate(claim.sentences) if place not in claim.rationale]
        alone = dataclasses.replace(claim, title="", rationale=())
        yield Made(dataclasses.replace(alone, sentences=marked), "scifact rationale")
        if rest:
            other = dataclasses.replace(alone, sentences=(rng.choice(rest),), label=NEUTRAL)
            yield Made(other, "scifact other sentence")
    turned = reverse_label(claim, rng)
    if turned:
        yield Made(turned, "scifact contrary")
    if claim.label == SUPPORTS:
        yield from edited(
            claim, [place for place, _ in rank_texts(claim.claim, claim.sentences)], rng
        )


def _answers(shared: Path, rng: random.Random) -> Iterator[Made]:
    """Yield sentences of BioASQ's ideal answers with their snippets."""
    answers = read_bioasq(shared)
    fragments = FragmentSearch(d for answer in answers for d in answer.documents)
    first = [dataclasses.replace(a, sentences=a.sentences[:2]) for a in answers]
    for pair in bioasq_pairs(first, fragments):
        label = SUPPORTS if pair.label == CORRECT else NEUTRAL
        claim = LabelledClaim(pair.sentence, "", (pair.passage,), (), label, pair.group)
        yield Made(claim, "bioasq")
        if pair.label == CORRECT:
            yield from edited(claim, [0], rng)


def held_claims(shared: Path) -> list[LabelledClaim]:
    """Return SciFact's held-out claims and those of YESciEval's development questions."""
    rng = random.Random(SEED)
    pairs = [p for p in cited_sentences(whole_answers(shared)) if is_dev(_question(p))]
    made = (one.claim for one in cited_claims(pairs, rng))
    return [*split_scifact(shared)[1], *(one for one in made if one.label != NOT_CONTRADICTED)]


def _question(pair: CitedSentence) -> str:
    return pair.claim.group.removeprefix("yescieval ")


def _counts(made: Iterable[Made]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in Counter(m.kind for m in made).most_common())


def main() -> None:
    """Train, calibrate and save a verifier."""
    import torch

    from ragassay.optimizers.finetuning.adapting import train, write_trained
    from ragassay.optimizers.finetuning.tunings import TUNINGS

    parser = argparse.ArgumentParser(description="Train an adapter of an embedded verifier.")
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--out", type=Path, required=True, help="output folder of the adapter")
    parser.add_argument(
        "--work", type=Path, help="checkpoint folder (default: next to the adapter)"
    )
    parser.add_argument("--base", choices=tuple(PACKAGED), default=MINILM)
    parser.add_argument("--reads", choices=("whole", "closest_first"), default="whole")
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument(
        "--rate", type=float, help="learning rate (default: that of the base model)"
    )
    given = parser.parse_args()
    work: Path = given.work or given.out.with_suffix(".work")
    work.mkdir(parents=True, exist_ok=True)
    claims = verifier_claims(given.shared)
    print(f"{len(claims)} examples: {_counts(claims)}", flush=True)
    examples: list[Example] = build_claim_examples([one.claim for one in claims])
    tuning = dataclasses.replace(TUNINGS[given.base], reads=given.reads, batch=BATCH[given.base])
    if given.rate:
        tuning = dataclasses.replace(tuning, learning_rate=given.rate, head_rate=given.rate)
    torch.manual_seed(SEED)  # the head is initialized randomly
    encoder = load_pair_encoder(given.base, load_settings().literature.cache_dir)
    tensors = train(encoder, examples, tuning, work, given.epochs, seed=SEED)
    held = build_claim_examples(held_claims(given.shared))
    shape = write_trained(given.out, encoder, tensors, tuning, held)
    print(f"{given.out}: temperature {shape.temperature:.2f}")


if __name__ == "__main__":
    main()
