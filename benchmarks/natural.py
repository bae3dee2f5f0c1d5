"""The embedded verifier on claims of real answers that experts labelled, beside simple baselines.

    python benchmarks/natural.py --shared ../shared
    python benchmarks/natural.py --shared ../shared --limit 130 --show

ExpertQA (dev) holds answers of six systems; an expert said of each claim whether its cited sources
support it: complete, partial or incomplete. Each claim is compared with each of its cited sources
that has a text, as `ragassay evaluate --citations document` does without a judge.

- supports: of the claims where the verifier says so for a source, the share that is "complete".
- contradicts: of the claims where it says so and a rule names a difference, the share that is not
  "complete". That is generous: an incomplete support is no contradiction. By the kind of
  difference, and from a confidence of .8 on, where a finding could lead the report.
- baselines: always "supports"; and, of as many claims as the verifier says "supports" of, those
  with the highest share of words in the source, and with the highest cosine with a sentence of it.

Intervals are Wilson's, at 95 %; claims of one answer depend on each other, so they are narrow.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from statements import CITATION, read_answers, words_of

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import entailment_model
from ragassay.records import Comparison, Document
from ragassay.settings import load_settings
from ragassay.text.bm25 import rank
from ragassay.text.sentences import sentences_of

LABELS = ("Complete", "Partial", "Incomplete")
FROM = 0.8
N_NEAR = 12
"""Sentences of a source, by BM25, whose cosine with the claim is taken."""


@dataclass(frozen=True)
class LabelledClaim:
    """A claim, its cited sources, and the expert's label."""

    text: str
    sources: tuple[Document, ...]
    label: str


@dataclass(frozen=True)
class Measured:
    """A claim with what the verifier and the baselines say of it.

    Attributes:
        found: One comparison a source.
        words: Highest share of its words in a source.
        cosine: Highest cosine with a sentence of a source.
    """

    claim: LabelledClaim
    found: tuple[Comparison, ...]
    words: float
    cosine: float

    @property
    def is_supported(self) -> bool:
        """Whether the expert found the support complete."""
        return self.claim.label == "Complete"


def read_claims(shared: Path, n_answers: int | None) -> Iterator[LabelledClaim]:
    """Yield the claims that cite a source with a text."""
    for n, (record, rows) in enumerate(read_answers(shared)):
        if n == n_answers:
            return
        known = {one.id: one for one in record.sources if one.text.strip()}
        for row in rows:
            marks = row["markers"]
            assert isinstance(marks, list)
            sources = tuple(known[mark] for mark in map(str, marks) if mark in known)
            if sources and row["support"] in LABELS:
                yield LabelledClaim(bare(str(row["claim"])), sources, str(row["support"]))


def bare(claim: str) -> str:
    """Return a claim without its citation marks."""
    return " ".join(CITATION.sub(" ", claim).split())


def measure(claim: LabelledClaim, verifier: EncoderVerifier, embedder: Embedder) -> Measured:
    """Compare a claim with its sources."""
    found: list[Comparison] = []
    words: list[float] = []
    cosines: list[float] = []
    own = set(words_of(claim.text))
    for source in claim.sources:
        beside = [other.text for other in claim.sources if other is not source]
        found.append(verifier.compare(claim.text, source.text, source.title, beside))
        words.append(len(own & set(words_of(source.text))) / max(1, len(own)))
        sentences = sentences_of(source.text)
        near = [sentences[n] for n, _ in rank(claim.text, sentences)[:N_NEAR]] or sentences[:1]
        vectors = embedder.encode([claim.text, *near])
        cosines.append(float((vectors[1:] @ vectors[0]).max()))
    return Measured(claim, tuple(found), max(words), max(cosines))


def wilson(n_right: int, n: int) -> str:
    """Return a share with its interval, in words."""
    if not n:
        return "none"
    z, share = 1.96, n_right / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{share:.3f} ({middle - half:.2f} to {middle + half:.2f}) of {n}"


def precision(rows: Sequence[Measured], is_right: Callable[[Measured], bool]) -> str:
    """Return the share of rows that are right."""
    return wilson(sum(map(is_right, rows)), len(rows))


def contradictions(rows: Sequence[Measured]) -> dict[str, list[tuple[Measured, Comparison]]]:
    """Return the claims of which a source is said to contradict them, by kind of difference."""
    kinds: dict[str, list[tuple[Measured, Comparison]]] = defaultdict(list)
    for row in rows:
        said = [one for one in row.found if one.verdict == "contradicts" and one.difference]
        if said:
            one = max(said, key=lambda one: one.confidence or 0.0)
            kind = "other value" if one.difference.startswith("the source says") else "wording"
            kinds[kind].append((row, one))
    return kinds


def report(rows: Sequence[Measured]) -> None:
    """Print the table."""
    supported = [row for row in rows if any(one.verdict == "supports" for one in row.found)]
    n = len(supported)
    by_words = sorted(rows, key=lambda row: -row.words)[:n]
    by_cosine = sorted(rows, key=lambda row: -row.cosine)[:n]
    print(f"{len(rows)} claims; {n / len(rows):.2f} of them are said to be supported")
    lines = {
        "the verifier": supported,
        "always": rows,
        "highest share of words": by_words,
        "highest cosine": by_cosine,
    }
    for name, those in lines.items():
        print(f"  supports, {name:<24}{precision(those, lambda row: row.is_supported)}")
    for kind, found in sorted(contradictions(rows).items()):
        for least in (0.0, FROM):
            those = [row for row, one in found if (one.confidence or 0.0) >= least]
            title = f"contradicts, {kind}, from {least:.1f}"
            print(f"  {title:<34}{precision(those, lambda row: not row.is_supported)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="holds data/")
    parser.add_argument("--limit", type=int, help="answers to read; all by default")
    parser.add_argument("--show", action="store_true", help="print each contradiction to read it")
    parser.add_argument("--model", default="ragassay/minilm-verifier", help="the verifier")
    given = parser.parse_args()
    embedder = Embedder()
    model = entailment_model(given.model, load_settings().cache_dir)
    verifier = EncoderVerifier(model, embedder)
    rows = [measure(one, verifier, embedder) for one in read_claims(given.shared, given.limit)]
    report(rows)
    if given.show:
        shown = [pair for found in contradictions(rows).values() for pair in found]
        random.Random(1).shuffle(shown)
        for row, one in shown:
            print(f"\n{row.claim.label}, {one.confidence}: {one.difference}\n  {row.claim.text}")


if __name__ == "__main__":
    main()
