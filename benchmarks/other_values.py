"""Count claims whose number has a different value in the source, by human label.

    python benchmarks/other_values.py --shared ../shared

Runs the number rule on all labelled pairs of train and dev parts, without a model, in about six
minutes. Each finding is printed with its label. Claims about trials (Evidence Inference) come from
templates, in original and reversed form. Their numbers are doses and times of the arms, so the
label does not depend on them. Sentences that authors and experts wrote about their own sources
(PubMedQA, BioASQ) should have no findings.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ragassay.models.entailment import COLUMNS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Document
from ragassay.text.differences import find_difference
from ragassay.text.number_comparison import compare_numbers
from ragassay.text.search import rank_texts
from ragassay.text.sentences import extract_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.claims import SEED, read_citation_integrity, read_healthver, read_scifact_claims
from training.findings import finding_claims, read_findings
from training.natural import NaturalClaim, read_expertqa, read_medaesqa

N_DOCUMENTS = 3
"""Number of documents compared with each sentence of a BioASQ answer."""


def natural(name: str, claims: Iterable[LabelledClaim]) -> Iterator[NaturalClaim]:
    """Yield labelled claims with one source each."""
    for one in claims:
        source = Document(id="source", title=one.title, text="\n".join(one.sentences))
        yield NaturalClaim(name, one.group, one.claim, (source,), COLUMNS[one.label])


def medaesqa_evidence(shared: Path) -> Iterator[NaturalClaim]:
    """Yield snippets that experts marked, each with the closest answer sentence."""
    folder = shared / "data" / "medaesqa"
    sentences: dict[str, list[str]] = {}
    for kind in ("accurate", "inaccurate"):
        for row in rows_of(folder / f"{kind}_machine_answers.jsonl.gz"):
            sentences.setdefault(row["question"], []).extend(extract_sentences(row["answer"]))
    for label in ("contradicting", "neutral"):
        for row in rows_of(folder / f"{label}_evidence.jsonl.gz"):
            candidates = sentences[row["question"]]
            closest = candidates[rank_texts(row["evidence"], candidates)[0][0]]
            source = Document(id="evidence", text=row["evidence"])
            yield NaturalClaim("medaesqa", row["question"], closest, (source,), label)


def own_words(shared: Path) -> Iterator[tuple[str, NaturalClaim]]:
    """Yield authors' conclusions with their abstract, and experts' answers with their documents."""
    data = shared / "data"
    for row in rows_of(data / "pubmedqa" / "train.jsonl.gz"):
        source = Document(id="abstract", title=row["question"], text="\n".join(row["contexts"]))
        for text in extract_sentences(row["long_answer"]):
            yield "pubmedqa", NaturalClaim("", row["question"], text, (source,), "own words")
    texts = {r["pmid"]: r["text"] for r in rows_of(data / "bioasq" / "snippet_documents.jsonl.gz")}
    for row in rows_of(data / "bioasq" / "questions.jsonl.gz"):
        sources = [Document(id=name, text=texts[name]) for name in row["pmids"] if name in texts]
        for text in extract_sentences((row["ideal_answer"] or [""])[0]):
            closest = [
                sources[n] for n, _ in rank_texts(text, [one.text for one in sources])[:N_DOCUMENTS]
            ]
            yield "bioasq", NaturalClaim("", row["id"], text, tuple(closest), "own words")


def all_claims(shared: Path) -> Iterator[tuple[str, NaturalClaim]]:
    """Yield the claims of all sets, each with its set name."""
    parts = ("train", "dev")
    sets: dict[str, Iterable[NaturalClaim]] = {
        **{
            f"citation-integrity {part}": natural(part, read_citation_integrity(shared, part))
            for part in parts
        },
        "scifact": natural("scifact", read_scifact_claims(shared)),
        "healthver": natural("healthver", read_healthver(shared)),
        "expertqa": read_expertqa(shared),
        "medaesqa answers": read_medaesqa(shared),
        "medaesqa evidence": medaesqa_evidence(shared),
        **{
            f"evidence inference {part}, in templates": natural(
                part,
                (m.claim for m in finding_claims(read_findings(shared, part), _draws(), 1)),
            )
            for part in parts
        },
    }
    for name, claims in sets.items():
        yield from ((name, claim) for claim in claims)
    yield from own_words(shared)


def _draws() -> random.Random:
    return random.Random(SEED)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    args = parser.parse_args()
    n_pairs, n_numbers, fired = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for name, claim in all_claims(args.shared):
        for source in claim.sources:
            n_pairs[name] += 1
            if not compare_numbers(claim.text, ""):
                continue
            n_numbers[name] += 1
            other_texts = [other.text for other in claim.sources if other is not source]
            difference = find_difference(
                claim.text, extract_sentences(source.text), source.title, other_texts
            )
            if difference and difference.kind == "number":
                fired[name, claim.label] += 1
                print(f"{name}, {claim.label}: {difference.words} | {claim.text}", flush=True)
    for name, n in n_pairs.items():
        labels = {label: n for (of, label), n in fired.items() if of == name}
        print(f"{name}: {n} pairs, {n_numbers[name]} with a number, fired on {labels or 'none'}")


if __name__ == "__main__":
    main()
