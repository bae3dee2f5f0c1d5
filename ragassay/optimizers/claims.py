"""Claims with the passages that people compared them with, to train and measure verifiers on."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from scipy.cluster.hierarchy import DisjointSet

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.sentences import sentences_of

SEED = 20250714
"""Of the split of SciFact's claims, and of all draws for the shipped verifiers."""

HELD_OUT = 0.2

NOT_RELEVANT = 3
"""Of a claim beside a document of another subject; the sets that are read here have none."""

_LABELS = {
    "support": SUPPORTS,
    "supports": SUPPORTS,
    "contradict": CONTRADICTS,
    "contradicts": CONTRADICTS,
    "refute": CONTRADICTS,
    "refutes": CONTRADICTS,
    "nei": NEUTRAL,
    "neutral": NEUTRAL,
    "not_relevant": NOT_RELEVANT,
    "not relevant": NOT_RELEVANT,
}
"""The words of several collections (SciFact, HealthVer, FEVER) in small letters."""

_MARK = r"<\|(?:multi_|other_)?cit\|>"
_CITED = re.compile(rf"\s*[\[(][^\[\]()]*{_MARK}[^\[\]()]*[\])]|\s*{_MARK}")
"""Where Citation-Integrity stands a mark in place of a citation: the brackets around one hold
other citations, what follows one without brackets is the sentence."""


@dataclass(frozen=True)
class LabelledClaim:
    """A claim, a document, and what the document says of it.

    Attributes:
        claim: A sentence.
        title: The document's; may be empty.
        sentences: The document's.
        rationale: Which of them decide the label, 0-based; empty where nobody said so.
        label: `SUPPORTS`, `CONTRADICTS`, `NEUTRAL` or `NOT_RELEVANT`.
        group: Claims that share a text share it; no group may be on both sides of a split.
    """

    claim: str
    title: str
    sentences: tuple[str, ...]
    rationale: tuple[int, ...]
    label: int
    group: str


def read_scifact_claims(shared: Path) -> list[LabelledClaim]:
    """SciFact's training pairs; grouped by claim and abstract."""
    folder = shared / "data" / "scifact"
    corpus = {row["doc_id"]: row for row in _rows(folder / "corpus.jsonl.gz")}
    pairs = list(_rows(folder / "pairs_train.jsonl"))
    groups = linked((f"claim {p['claim_id']}", f"abstract {p['doc_id']}") for p in pairs)
    found: list[LabelledClaim] = []
    for pair in pairs:
        group = groups[f"claim {pair['claim_id']}"]
        known = corpus.get(pair["doc_id"])
        sentences = known["abstract"] if known else sentences_of(pair["abstract"])
        found.append(
            LabelledClaim(
                claim=pair["claim"],
                title=pair["title"],
                sentences=tuple(sentence.strip() for sentence in sentences),
                rationale=tuple(pair["evidence_sentences"]),
                label=_LABELS[pair["label"].lower()],
                group=f"scifact {group}",
            )
        )
    return found


def split_scifact(shared: Path) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """SciFact's claims to train on, and the fifth of their groups that is held out."""
    claims = read_scifact_claims(shared)
    held = held_out(claims, HELD_OUT, SEED)
    return [c for c in claims if not held[c.group]], [c for c in claims if held[c.group]]


def read_citation_integrity(shared: Path, part: str) -> list[LabelledClaim]:
    """Citing sentences and what they cite.

    Accurate citations support their sentence, inaccurate ones are taken to contradict it, and
    irrelevant ones leave it open.

    Args:
        shared: Holds data/citation-integrity.
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
                claim=without_citations(row["claim"]),
                title=document["title"],
                sentences=tuple(document["abstract"]),
                rationale=(),
                label=_LABELS[labels[0].lower()] if labels else NEUTRAL,
                group=f"citation-integrity {part} {document['doc_id']}",
            )
        )
    return found


def read_healthver(shared: Path) -> list[LabelledClaim]:
    """HealthVer's development pairs, for measuring only; grouped by claim."""
    return [
        LabelledClaim(
            claim=row["claim"],
            title="",
            sentences=(row["evidence"],),
            rationale=(),
            label=_LABELS[row["label"].lower()],
            group=f"healthver {row['claim']}",
        )
        for row in _rows(shared / "data" / "healthver" / "dev.jsonl")
    ]


def without_citations(text: str) -> str:
    """A citing sentence of Citation-Integrity without its citations.

    Example:
        >>> without_citations("In a trial (Lee et al., <|other_cit|>), it fell.<|cit|>")
        'In a trial, it fell.'
    """
    return _CITED.sub("", text).strip()


def label_of(text: str) -> int | None:
    """The label that a word of some collection means; None for a word of none.

    Example:
        >>> label_of("REFUTES") == CONTRADICTS, label_of("maybe")
        (True, None)
    """
    return _LABELS.get(text.strip().lower())


def linked(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Which names hang together, each pair tying two: a name for each group.

    Example:
        >>> groups = linked([("a", "x"), ("b", "x"), ("c", "y")])
        >>> groups["a"] == groups["b"], groups["a"] == groups["c"]
        (True, False)
    """
    sets = DisjointSet()
    for left, right in pairs:
        sets.add(left)
        sets.add(right)
        sets.merge(left, right)
    return {name: min(subset) for subset in sets.subsets() for name in subset}


class Grouped(Protocol):
    """Anything that belongs to a group."""

    @property
    def group(self) -> str:
        """Its group's name."""
        ...


def held_out(items: Iterable[Grouped], share: float, seed: int) -> Mapping[str, bool]:
    """Which groups are held out of training: about `share` of them, the same for the same seed."""
    import random

    groups = sorted({item.group for item in items})
    random.Random(seed).shuffle(groups)
    n = round(share * len(groups))
    return {group: place < n for place, group in enumerate(groups)}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open("r")
    with opened as lines:
        yield from map(json.loads, lines)
