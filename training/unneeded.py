"""Find signal bounds above which a sentence is considered unnecessary.

    python -m training.unneeded ANSWERS [ANSWERS ...] --rows rows.jsonl

ANSWERS are YESciEval files. Original answers to held-out questions are compared with versions that
have one additional sentence, from another text or repeated. The bounds were chosen on the first
half of the questions: the lowest bound without false positives, plus one logit for other texts. The
second half measures their quality. The measured sentences are stored in --rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_records
from ragassay.graphs.case import convert_to_case
from ragassay.instruments.signals.extractor import compute_signals, measure
from ragassay.models.entailment import CachedEntailment
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.models.verifiers import load_signals_verifier
from ragassay.optimizers.finetuning.judge_replies import SEED, is_held_out, sample_systems
from ragassay.perturbations import ATTACKS, perturb_answers
from ragassay.settings import load_settings

ADDED = ("off_topic", "same_domain", "blog", "tweet", "repeat_last", "repeat_inside")
"""Name prefixes of attacks that add one sentence."""

Row = dict[str, float | str | bool]


def rows_of(answers: Sequence[Path]) -> Iterator[Row]:
    """Measure the sentences of original answers and of versions with one added sentence."""
    run = build_run(load_settings(signals=True))
    verifier, rater = CachedEntailment(load_signals_verifier()), load_shipped_rater()
    attacks = [attack for attack in ATTACKS if attack.name.startswith(ADDED)]
    for path in answers:
        held = [r for r in read_records(path).records if is_held_out(r.topic or r.id)]
        benign = [record for record in held if record.metadata.get("variant") == "benign"]
        chosen = sample_systems(benign, 1)
        perturbed = perturb_answers(chosen, attacks=attacks, seed=SEED, among=benign).answers
        for record in chosen:
            versions = [("", record, ())] + [
                (one.attack, one.record, one.sentences)
                for one in perturbed
                if one.original == record.id
            ]
            for attack, version, added in versions:
                case = convert_to_case(version, run.settings, run.retrieval.corpus)
                found = compute_signals(measure(case, run.models.embedder, verifier), rater)
                for sentence in found.sentences:
                    yield {
                        "question": record.topic or record.id,
                        "attack": attack,
                        "n": sentence.sentence,
                        "twin": float(sentence.twin or 0),
                        "is_added": sentence.sentence in added,
                        **sentence.values,
                    }


def print_bounds(rows: Sequence[Row]) -> None:
    """Print true and false positives in both halves for a grid of bounds."""
    kinds = {"foreign": (0, 1, 2, 3, 4, 5, 6), "redundancy": (0.9, 0.92, 0.94, 0.96, 0.97, 0.98)}
    for signal, grid in kinds.items():
        for bound in grid:
            halves = (_found([r for r in rows if _half(r) == h], signal, bound) for h in (0, 1))
            print(signal, bound, *halves, sep="\t")


def _found(rows: Sequence[Row], signal: str, bound: float) -> str:
    is_repeat = signal == "redundancy"
    added = [r for r in rows if r["is_added"] and _repeats(r) == is_repeat]
    # A repetition also marks the original sentence, so count false positives in original answers.
    own = [r for r in rows if not r["is_added"] and (not is_repeat or not r["attack"])]

    def is_told(row: Row) -> bool:
        if is_repeat and float(row["twin"]) >= float(row["n"]):
            return False
        return float(row.get(signal, 0.0)) >= bound

    n_right, n_wrong = sum(map(is_told, added)), sum(map(is_told, own))
    return f"{n_right} of {len(added)}, wrongly {n_wrong} of {len(own)}"


def _repeats(row: Row) -> bool:
    return str(row["attack"]).startswith("repeat")


def _half(row: Row) -> int:
    digest = hashlib.sha256(str(row["question"]).encode()).hexdigest()
    return int(digest, 16) // 100 % 2


def main() -> None:
    """Measure the sentences if needed, and compare bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", nargs="+", type=Path)
    parser.add_argument("--rows", type=Path, required=True)
    given = parser.parse_args()
    if not given.rows.exists():
        with given.rows.open("w", encoding="utf-8") as out:
            for row in rows_of(given.answers):
                out.write(json.dumps(row) + "\n")
    lines = given.rows.read_text(encoding="utf-8").splitlines()
    print_bounds([json.loads(line) for line in lines])


if __name__ == "__main__":
    main()
