"""Compute verifier and baseline values for human-labeled claims from real texts.

    python -m training.natural --shared ../shared --work natural --sets expertqa
    python -m training.natural --shared ../shared --work natural

Each claim is compared with each of its sources, without bounds. Results are appended to SET.jsonl
in the --work folder, and existing rows are not recomputed. `training.natural_bounds` finds bounds
in these rows, and `benchmarks/natural.py` prints them.

- expertqa: claims in answers of real systems (dev). Complete counts as supported, Partial and
  Incomplete do not.
- citation-integrity: citing sentences of papers (dev).
- numbers: citing sentences of Citation-Integrity's training part in which a rule finds a different
  value of a number. The verifier was trained on this part, but the rule was not.
- scifact: claims that all fits hold out.
- healthver: claims with an evidence sentence (dev).
- medaesqa: sentences of machine answers compared with the expert's answer, with the label of their
  answer. Contains all inaccurate answers and a sample of twice as many accurate ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.models.embeddings import Embedder, find_closest_cosine
from ragassay.models.entailment import COLUMNS, SUPPORTS, EntailmentModel
from ragassay.models.verifiers import open_entailment_model
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Document
from ragassay.settings import load_settings
from ragassay.text.differences import find_difference
from ragassay.text.search import extract_passage, rank_texts
from ragassay.text.sentences import extract_sentences
from training.claims import SEED, read_citation_integrity, read_healthver, split_scifact

N_CLOSEST = 3
"""Number of source sentences, by BM25, in which to look for a claim's words."""

EXPERTQA_LABELS = {"Complete": "supports", "Partial": "partial", "Incomplete": "incomplete"}
_MARK = re.compile(r"\[\d{1,3}(?:, ?\d{1,3}){0,9}\]")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class NaturalClaim:
    """A claim with its sources and a label.

    Attributes:
        id: Claim id. MedAESQA's sentences use the id of their answer.
        group: Id shared by dependent claims: a question, a document or a claim.
        text: Claim without citation marks.
        sources: Sources that have a text.
        label: "supports", "contradicts" or "neutral". ExpertQA also has "partial" and "incomplete",
            and MedAESQA has "accurate" and "inaccurate".
    """

    id: str
    group: str
    text: str
    sources: tuple[Document, ...]
    label: str


@dataclass(frozen=True)
class PairRow:
    """Values of a claim and one of its sources.

    Attributes:
        claim: Claim id.
        group: Group of the claim.
        label: Label of the claim.
        verdict: Verdict or tentative label of the verifier, without bounds but with its rules.
        confidence: Probability of the verdict, in [0, 1].
        is_asserted: Whether `verdict` is a verdict instead of a tentative label.
        difference: Kind of difference found by a rule. Empty if none.
        turned: Whether a rule finds a different direction or negation.
        supports: Probability that the source supports the claim, without rules.
        words: Share of the claim's words and numbers in the closest sentences.
        cosine: Cosine of the claim with the closest sentence.
    """

    claim: str
    group: str
    label: str
    verdict: str
    confidence: float
    is_asserted: bool
    difference: str
    turned: bool
    supports: float
    words: float
    cosine: float


def read_expertqa(shared: Path) -> Iterator[NaturalClaim]:
    """Yield the claims of ExpertQA dev that cite a source with text, grouped by question."""
    for row in _rows(shared / "data" / "expertqa" / "dev.jsonl.gz"):
        known = {one["id"]: one["text"] for one in row["sources"] if one["text"].strip()}
        for n, claim in enumerate(row["claims"]):
            cited = [mark for mark in map(str, claim["markers"]) if mark in known]
            if cited and claim["support"] in EXPERTQA_LABELS:
                yield NaturalClaim(
                    f"{row['id']} {n}",
                    row["question"],
                    " ".join(_MARK.sub(" ", claim["claim"]).split()),
                    tuple(Document(id=mark, text=known[mark]) for mark in cited),
                    EXPERTQA_LABELS[claim["support"]],
                )


def read_medaesqa(shared: Path) -> Iterator[NaturalClaim]:
    """Yield sentences of machine answers with the expert's answer, grouped by question."""
    folder = shared / "data" / "medaesqa"
    experts = {r["question"]: r["answer"] for r in _rows(folder / "expert_answers.jsonl.gz")}
    bad = list(_rows(folder / "inaccurate_machine_answers.jsonl.gz"))
    good = list(_rows(folder / "accurate_machine_answers.jsonl.gz"))
    drawn = random.Random(SEED).sample(good, 2 * len(bad))
    for label, rows in (("inaccurate", bad), ("accurate", drawn)):
        for row in rows:
            source = Document(id="expert", text=experts[row["question"]])
            for sentence in extract_sentences(row["answer"]):
                name = f"{row['question']} {row['machine_id']}"
                yield NaturalClaim(name, row["question"], sentence, (source,), label)


def read_labelled(shared: Path, name: str) -> Iterator[NaturalClaim]:
    """Yield the claims of a set with one document per claim."""
    if name == "citation-integrity":
        claims = read_citation_integrity(shared, "dev")
    elif name == "numbers":
        claims = [one for one in read_citation_integrity(shared, "train") if has_other_value(one)]
    elif name == "scifact":
        claims = split_scifact(shared)[1]
    else:
        claims = read_healthver(shared)
    for n, one in enumerate(claims):
        source = Document(id="source", title=one.title, text="\n".join(one.sentences))
        yield NaturalClaim(str(n), one.group, one.claim, (source,), COLUMNS[one.label])


def has_other_value(claim: LabelledClaim) -> bool:
    """Return whether a rule finds a different value of one of the claim's numbers."""
    sentences = extract_sentences("\n".join(claim.sentences))
    found = find_difference(claim.claim, sentences, claim.title, ())
    return found is not None and found.kind == "number"


def read_set(shared: Path, name: str) -> list[NaturalClaim]:
    """Return the claims of a set by question, in a seeded random order."""
    special = {"expertqa": read_expertqa, "medaesqa": read_medaesqa}
    claims = list(special[name](shared) if name in special else read_labelled(shared, name))
    groups = sorted({claim.group for claim in claims})
    random.Random(SEED).shuffle(groups)
    place = {group: n for n, group in enumerate(groups)}
    return sorted(claims, key=lambda claim: place[claim.group])


SETS = ("expertqa", "citation-integrity", "numbers", "scifact", "healthver", "medaesqa")


class Unbounded:
    """A model without bounds, so that all its verdicts are decided."""

    bounds = ()

    def __init__(self, model: EntailmentModel) -> None:
        self.name, self.digest, self.predict_probabilities = (
            model.name,
            model.digest,
            model.predict_probabilities,
        )


def measure(claim: NaturalClaim, verifier: EncoderVerifier, embedder: Embedder) -> list[PairRow]:
    """Compare a claim with its sources."""
    found: list[PairRow] = []
    own = set(_WORD.findall(claim.text.lower()))
    for source in claim.sources:
        beside = [other.text for other in claim.sources if other is not source]
        one = verifier.compare(claim.text, source.text, source.title, beside)
        sentences = extract_sentences(source.text)
        near = [sentences[n] for n, _ in rank_texts(claim.text, sentences)[:N_CLOSEST]]
        differs = find_difference(claim.text, sentences, source.title, beside)
        passage = extract_passage(claim.text, source.text, source.title)
        shares = verifier.model.predict_probabilities([(claim.text, passage)])[0]
        words = set(_WORD.findall(" ".join([source.title, *near]).lower()))
        found.append(
            PairRow(
                claim=claim.id,
                group=claim.group,
                label=claim.label,
                verdict=str(one.verdict or one.tentative_label),
                confidence=one.confidence or 0.0,
                is_asserted=one.verdict is not None,
                difference=one.difference,
                turned=differs is not None and differs.kind != "number",
                supports=float(shares[SUPPORTS]),
                words=len(own & words) / max(1, len(own)),
                cosine=find_closest_cosine(claim.text, sentences, embedder),
            )
        )
    return found


def measure_set(
    shared: Path, name: str, work: Path, verifier: EncoderVerifier, embedder: Embedder
) -> None:
    """Append the missing rows of a set to its file."""
    path = work / f"{name}.jsonl"
    n_known = len(path.read_text("utf-8").splitlines()) if path.exists() else 0
    with path.open("a", encoding="utf-8") as file:
        for claim in read_set(shared, name)[n_known:]:
            rows = measure(claim, verifier, embedder)
            file.write(json.dumps([asdict(row) for row in rows]) + "\n")
            file.flush()


def read_rows(work: Path, name: str) -> list[list[PairRow]]:
    """Return the rows of a set by claim, shape (n_claims, n_sources)."""
    lines = (work / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [[PairRow(**row) for row in json.loads(line)] for line in lines]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute the rows of all sets."""
    parser = argparse.ArgumentParser(description="Measure a verifier on natural data.")
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--model", default="ragassay/minilm-verifier", help="verifier name")
    parser.add_argument("--work", type=Path, required=True, help="folder of computed rows")
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=SETS, help="sets to compute (default: all)"
    )
    given = parser.parse_args(arguments)
    given.work.mkdir(parents=True, exist_ok=True)
    embedder = Embedder()
    model = Unbounded(open_entailment_model(given.model, load_settings().literature.cache_dir))
    verifier = EncoderVerifier(model, embedder, by_rule=True)
    for name in given.sets:
        measure_set(given.shared, name, given.work, verifier, embedder)


if __name__ == "__main__":
    main()
