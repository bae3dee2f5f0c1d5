"""Measure above which bound a signal tells that an answer does not need a sentence.

    python -m training.unneeded ANSWERS [ANSWERS ...] --rows rows.jsonl

ANSWERS are YESciEval files. Whole answers to questions that nothing was fitted on are compared with
versions that have one sentence more: of another text, or repeated. Half of the questions choose the
bounds, the other half says how good they are. The measured sentences are kept in --rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragassay.evaluators.toolbox import Toolbox
from ragassay.formats import read_records
from ragassay.graphs.files import case_of
from ragassay.instruments.signals.measuring import measure
from ragassay.instruments.signals.meter import signals_of
from ragassay.models.entailment import Remembered
from ragassay.models.signal_rater import shipped_rater
from ragassay.models.verifiers import minilm_verifier
from ragassay.optimizers.finetuning.yescieval import SEED, is_held_out, some_systems
from ragassay.perturbations import ATTACKS, damage_answers
from ragassay.settings import load_settings

ADDED = ("off_topic", "same_domain", "blog", "tweet", "repeat_last", "repeat_inside")
"""Attacks, by the beginning of their names, that add one sentence."""

PRECISION = 0.9
"""Share of right labels that the lower end of the interval must reach, on the choosing half."""

Row = dict[str, float | str | bool]


def rows_of(answers: Sequence[Path]) -> Iterator[Row]:
    """Measure the sentences of whole answers and of those with one sentence more."""
    tools = Toolbox.of(load_settings(signals=True))
    verifier, rater = Remembered(minilm_verifier()), shipped_rater()
    attacks = [attack for attack in ATTACKS if attack.name.startswith(ADDED)]
    for path in answers:
        held = [r for r in read_records(path).records if is_held_out(r.topic or r.id)]
        benign = [record for record in held if record.metadata.get("variant") == "benign"]
        chosen = some_systems(benign, 1)
        damaged = damage_answers(chosen, attacks=attacks, seed=SEED, among=benign).answers
        for record in chosen:
            versions = [("", record, ())] + [
                (one.attack, one.record, one.sentences)
                for one in damaged
                if one.original == record.id
            ]
            for attack, version, added in versions:
                case = case_of(version, tools.settings, tools.retrieval.corpus)
                found = signals_of(measure(case, tools.models.embedder, verifier), rater)
                for sentence in found.sentences:
                    yield {
                        "question": record.topic or record.id,
                        "attack": attack,
                        "n": sentence.sentence,
                        "twin": float(sentence.twin or 0),
                        "is_added": sentence.sentence in added,
                        **sentence.values,
                    }


def main() -> None:
    """Measure, where the rows are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", nargs="+", type=Path)
    parser.add_argument("--rows", type=Path, required=True)
    given = parser.parse_args()
    if not given.rows.exists():
        with given.rows.open("w", encoding="utf-8") as out:
            for row in rows_of(given.answers):
                out.write(json.dumps(row) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
