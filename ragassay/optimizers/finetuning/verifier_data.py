"""What a citation verifier learns from: labelled claims, and what can be made of them.

python -m ragassay.optimizers.finetuning.verifier_data --shared ../shared --out claims

Of a document the closest sentences are read, and with them those that people marked as deciding
the label. People's sets hold few contradictions, and a verifier that saw few takes shared words for
support. So, where people marked what decides, a supported claim is also learnt turned into its
contradiction, a contradicted one turned into what is supported. A verifier that writes also learns
some claims beside the document of another, which says nothing of them.

The command writes what the shipped verifier on SmolLM2 learns from, for `ragassay finetune
verifier`: SciFact's claims, Citation-Integrity's, and apart from them the fifth of SciFact's groups
that every verifier here is measured on.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import AliasChoices, Field

from ragassay.agents.tuned_verifier import LABELS, N_READ, TunedVerifier, passage_for
from ragassay.formats.items import iter_items
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import Row
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.claims import (
    NOT_RELEVANT,
    LabelledClaim,
    label_of,
    linked,
    read_citation_integrity,
    split_scifact,
)
from ragassay.optimizers.contradictions import contrary
from ragassay.optimizers.finetuning.examples import ChatExample, as_messages, as_reply
from ragassay.records import Rejection, Verdict
from ragassay.retrievers.rerank import TextEncoder
from ragassay.sentences import sentences_of

FOREIGN = 0.1
"""Share of the claims that are also learnt beside the document of another."""

N_MARKED = N_READ - 1
"""Most sentences that are read because people marked them; the closest fill up the rest."""

WORDS: dict[int, Verdict] = {
    SUPPORTS: "supports",
    CONTRADICTS: "contradicts",
    NEUTRAL: "neutral",
    NOT_RELEVANT: "not_relevant",
}


class ClaimRow(Row):
    """A claim, its document and the label: SciFact's pairs and HealthVer's rows are such rows."""

    claim: str = Field(min_length=1)
    text: str = Field(default="", validation_alias=AliasChoices("evidence", "passage", "abstract"))
    sentences: list[str] = Field(default_factory=list[str])
    title: str = ""
    marked: list[int] = Field(
        default_factory=list[int], validation_alias=AliasChoices("evidence_sentences", "rationale")
    )
    label: str


def read_verifier_examples(
    paths: Sequence[Path], embedder: TextEncoder, *, seed: int = 0
) -> tuple[list[ChatExample], list[Rejection]]:
    """Examples of the claims of files, as `read_claims` reads them and `verifier_examples` makes.

    Raises:
        InputError: A file cannot be opened.
    """
    results = [read_claims(path) for path in paths]
    # Files may share claims and documents.
    claims = _grouped([claim for claims, _ in results for claim in claims])
    rejections = [rejection for _, rejected in results for rejection in rejected]
    return verifier_examples(claims, embedder, seed=seed), rejections


def read_claims(path: Path) -> tuple[list[LabelledClaim], list[Rejection]]:
    """Labelled claims of a file, grouped by claim and document.

    Args:
        path: JSON lines or an array, plain or gzip, of claim, evidence (or passage, abstract,
            sentences), label, and perhaps title and evidence_sentences (0-based).

    Returns:
        The claims, and the rows that could not be read.

    Raises:
        InputError: The file cannot be opened.
    """
    claims: list[LabelledClaim] = []
    rejections: list[Rejection] = []
    for item in iter_items(path):
        if isinstance(item, Rejection):
            rejections.append(item)
            continue
        row = validate(ClaimRow, item.fields)
        made = row if isinstance(row, Problem) else _claim(row)
        if isinstance(made, Problem):
            rejections.append(item.place.reject(made))
        else:
            claims.append(made)
    return _grouped(claims), rejections


def _claim(row: ClaimRow) -> LabelledClaim | Problem:
    sentences = tuple(row.sentences or sentences_of(row.text))
    if not sentences:
        return Problem("evidence", "no text to compare the claim with", "evidence, or sentences")
    label = label_of(row.label)
    if label is None:
        return Problem("label", f"found the text {found_text(row.label)}", " or ".join(LABELS))
    if any(not 0 <= place < len(sentences) for place in row.marked):
        wanted = f"numbers from 0 to {len(sentences) - 1}"
        return Problem("evidence_sentences", f"found {row.marked}", wanted)
    return LabelledClaim(row.claim, row.title, sentences, tuple(row.marked), label, "")


def claim_names(claim: LabelledClaim) -> tuple[str, str]:
    """What ties a claim to others: its own text, and its document's."""
    return f"claim {claim.claim}", f"document {' '.join(claim.sentences)}"


def _grouped(claims: Sequence[LabelledClaim]) -> list[LabelledClaim]:
    groups = linked(map(claim_names, claims))
    return [replace(claim, group=groups[claim_names(claim)[0]]) for claim in claims]


def verifier_examples(
    claims: Sequence[LabelledClaim], embedder: TextEncoder, *, seed: int = 0
) -> list[ChatExample]:
    """Examples of claims, with what their document says of each and of its contrary.

    Args:
        claims: Those to learn from, without the groups that are held out.
        embedder: Chooses the sentences that are read.
        seed: Of what is made of them.

    Returns:
        In the order of the claims; those of a claim are of its group.
    """
    rng = random.Random(seed)
    found: list[ChatExample] = []
    for claim in claims:
        found.append(_example(claim, embedder))
        turned = contrary(claim, rng) if claim.rationale else None
        if turned:
            found.append(_example(turned, embedder, "turned"))
        other = rng.choice(claims)
        if other.group != claim.group and rng.random() < FOREIGN:
            beside = replace(other, claim=claim.claim, group=claim.group, label=NOT_RELEVANT)
            found.append(_example(replace(beside, rationale=()), embedder, "foreign"))
    return found


def _example(claim: LabelledClaim, embedder: TextEncoder, kind: str = "") -> ChatExample:
    marked = claim.rationale[:N_MARKED]
    read = passage_for(claim.claim, claim.title, claim.sentences, embedder, marked)
    word = WORDS[claim.label]
    return ChatExample(
        messages=as_messages(_VERIFIER.messages(claim.claim, read)),
        reply=as_reply({"label": word}),
        group=claim.group,
        kind=f"{word}, {kind}" if kind else word,
    )


def write_claims(claims: Sequence[LabelledClaim], path: Path) -> None:
    """Write claims as `read_claims` reads them."""
    with path.open("w", encoding="utf-8") as file:
        for claim in claims:
            row = {
                "claim": claim.claim,
                "title": claim.title,
                "sentences": claim.sentences,
                "evidence_sentences": claim.rationale,
                "label": WORDS[claim.label],
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    """Write the claims, a file each."""
    parser = argparse.ArgumentParser(description="Write what a verifier is fine-tuned on.")
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    scifact, held = split_scifact(arguments.shared)
    cited = read_citation_integrity(arguments.shared, "train")
    for name, claims in (("scifact", scifact), ("scifact-held-out", held), ("cited", cited)):
        write_claims(claims, out / f"{name}.jsonl")
        print(f"{out / name}.jsonl: {len(claims)} claims")


_VERIFIER = TunedVerifier()

if __name__ == "__main__":
    main()
