"""Write sentence-passage pairs for `ragassay finetune correctness`.

    python -m training.correctness --shared ../shared --out pairs.jsonl
    ragassay finetune correctness --data pairs.jsonl --method svm --out correctness

Pairs follow BioACE (section 4.1.3). An answer sentence is correct with its marked evidence span. It
is incorrect with the three-sentence fragment outside that span that BM25 ranks first for the
question.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from ragassay.models.adapters import CORRECTNESS
from ragassay.models.entailment import SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair, find_best_fragment
from ragassay.text.search import Bm25Index, list_windows
from training.bioasq import BioasqAnswer, FragmentSearch, read_bioasq
from training.claims import read_scifact_claims

CORRECT, INCORRECT = range(2)


def scifact_pairs(claims: Iterable[LabelledClaim]) -> list[LabelledPair]:
    """Pair claims with their rationale and with the best other fragment of the abstract.

    The claim is used as the question. An abstract without other fragments gives no incorrect pair.
    """
    found: list[LabelledPair] = []
    for claim in claims:
        if claim.label != SUPPORTS or not claim.rationale:
            continue
        marked = " ".join(claim.sentences[i] for i in claim.rationale)
        found.append(LabelledPair(claim.claim, marked, CORRECT, claim.group))
        beside = find_best_fragment(claim.claim, claim.sentences, claim.rationale)
        if beside:
            found.append(LabelledPair(claim.claim, beside, INCORRECT, claim.group))
    return found


def bioasq_pairs(answers: Iterable[BioasqAnswer], fragments: FragmentSearch) -> list[LabelledPair]:
    """Pair answer sentences with their gold snippets and with the best other fragment.

    The evidence is the fragment of the question's snippets that BM25 ranks first for the sentence.
    Incorrect fragments come from documents of other questions, because the rest of the abstracts
    has no labels.
    """
    found: list[LabelledPair] = []
    for answer in answers:
        own = [span.text for document in answer.documents for span in list_windows(document)]
        index = Bm25Index(own)
        beside = fragments.best(answer.question, {d.id for d in answer.documents})
        for sentence in answer.sentences:
            hits = index.search(sentence, 1)
            if hits:
                found.append(LabelledPair(sentence, own[hits[0][0]], CORRECT, answer.group))
                if beside:
                    found.append(LabelledPair(sentence, beside, INCORRECT, answer.group))
    return found


def read_pairs(shared: Path) -> list[LabelledPair]:
    """Read all pairs from SciFact and BioASQ."""
    answers = read_bioasq(shared)
    fragments = FragmentSearch(d for answer in answers for d in answer.documents)
    return [*scifact_pairs(read_scifact_claims(shared)), *bioasq_pairs(answers, fragments)]


def main() -> None:
    """Write the pairs as JSON lines."""
    parser = argparse.ArgumentParser(description="Write sentence-passage pairs.")
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--out", type=Path, required=True, help="output .jsonl file")
    arguments = parser.parse_args()
    with arguments.out.open("w", encoding="utf-8") as file:
        for pair in read_pairs(arguments.shared):
            row = {
                "sentence": pair.sentence,
                "passage": pair.passage,
                "label": CORRECTNESS[pair.label],
                "group": pair.group,
            }
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
