"""Read the labelled claims used to train and evaluate the verifiers.

    python -m training.claims --shared ../shared --out claims

The command writes training data of the shipped SmolLM2 verifier for `ragassay finetune verifier`:
the claims of SciFact and Citation-Integrity. The fifth of SciFact's groups used to evaluate all
verifiers is written to a separate file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ragassay.formats.claims import remove_citations
from ragassay.models.entailment import NEUTRAL
from ragassay.optimizers.finetuning.claims import LABEL_OF, WORDS, LabelledClaim, link_names
from ragassay.text.sentences import extract_sentences

SEED = 20250714
"""Seed of the SciFact split and of all sampling for the shipped verifiers."""

HELD_OUT = 0.2


def read_scifact_claims(shared: Path) -> list[LabelledClaim]:
    """Read SciFact's training pairs, grouped by claim and abstract."""
    folder = shared / "data" / "scifact"
    corpus = {row["doc_id"]: row for row in _rows(folder / "corpus.jsonl.gz")}
    pairs = list(_rows(folder / "pairs_train.jsonl"))
    groups = link_names((f"claim {p['claim_id']}", f"abstract {p['doc_id']}") for p in pairs)
    found: list[LabelledClaim] = []
    for pair in pairs:
        group = groups[f"claim {pair['claim_id']}"]
        known = corpus.get(pair["doc_id"])
        sentences = known["abstract"] if known else extract_sentences(pair["abstract"])
        found.append(
            LabelledClaim(
                claim=pair["claim"],
                title=pair["title"],
                sentences=tuple(sentence.strip() for sentence in sentences),
                rationale=tuple(pair["evidence_sentences"]),
                label=LABEL_OF[pair["label"].lower()],
                group=f"scifact {group}",
            )
        )
    return found


def split_scifact(shared: Path) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """Split SciFact's claims into training claims and a held-out fifth of the groups."""
    claims = read_scifact_claims(shared)
    held = held_out(claims, HELD_OUT, SEED)
    return [c for c in claims if not held[c.group]], [c for c in claims if held[c.group]]


def read_citation_integrity(shared: Path, part: str) -> list[LabelledClaim]:
    """Read citing sentences with the abstracts that they cite.

    The labels are supports (accurate), contradicts (inaccurate) and neutral (irrelevant).

    Args:
        shared: Folder that contains data/.
        part: "train" or "dev".
    """
    folder = shared / "data" / "citation-integrity"
    corpus = {row["doc_id"]: row for row in _rows(folder / "corpus.jsonl.gz")}
    found: list[LabelledClaim] = []
    for row in _rows(folder / f"claims_{part}.jsonl"):
        document = corpus[row["cited_doc_ids"][0]]
        labels = [one["label"] for given in row["evidence"].values() for one in given]
        found.append(
            LabelledClaim(
                claim=remove_citations(row["claim"]),
                title=document["title"],
                sentences=tuple(document["abstract"]),
                rationale=(),
                label=LABEL_OF[labels[0].lower()] if labels else NEUTRAL,
                group=f"citation-integrity {part} {document['doc_id']}",
            )
        )
    return found


def read_healthver(shared: Path) -> list[LabelledClaim]:
    """Read HealthVer's development pairs, used only for evaluation and grouped by claim."""
    return [
        LabelledClaim(
            claim=row["claim"],
            title="",
            sentences=(row["evidence"],),
            rationale=(),
            label=LABEL_OF[row["label"].lower()],
            group=f"healthver {row['claim']}",
        )
        for row in _rows(shared / "data" / "healthver" / "dev.jsonl")
    ]


class Grouped(Protocol):
    """An item that belongs to a group."""

    @property
    def group(self) -> str:
        """Group name."""
        ...


def held_out(items: Iterable[Grouped], share: float, seed: int) -> Mapping[str, bool]:
    """Return whether each group is held out, for about `share` of the groups.

    The result depends only on the group names and the seed.
    """
    groups = sorted({item.group for item in items})
    random.Random(seed).shuffle(groups)
    n = round(share * len(groups))
    return {group: place < n for place, group in enumerate(groups)}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open("r")
    with opened as lines:
        yield from map(json.loads, lines)


def write_claims(claims: Sequence[LabelledClaim], path: Path) -> None:
    """Write claims in the format of `read_claims`."""
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
    """Write the claims, one file per set."""
    parser = argparse.ArgumentParser(description="Write training data of a verifier.")
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--out", type=Path, required=True, help="output folder")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    scifact, held = split_scifact(arguments.shared)
    cited = read_citation_integrity(arguments.shared, "train")
    for name, claims in (("scifact", scifact), ("scifact-held-out", held), ("cited", cited)):
        write_claims(claims, out / f"{name}.jsonl")
        print(f"{out / name}.jsonl: {len(claims)} claims")


if __name__ == "__main__":
    main()
