"""Measure how often signals rate cohesion lower after a BioASQ answer is perturbed.

    python benchmarks/cohesion.py --shared ../shared

Uses the unperturbed answers of four systems to YESciEval's held-out BioASQ questions. Each answer
is compared with versions that have the last two, two adjacent, or any two sentences swapped, or the
connectives removed. A tie counts as half. Intervals resample questions.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_records
from ragassay.graphs.case import convert_to_case
from ragassay.judges.signals import SignalJudge
from ragassay.metrics.stats.intervals import compute_mean_interval
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.optimizers.finetuning.judge_replies import is_held_out
from ragassay.perturbations.wording_attacks import remove_connectives
from ragassay.records import Record
from ragassay.settings import load_settings

ANSWERS = Path("data/yescieval/bioasq-train-answers.jsonl.gz")


def swapped(sentences: Sequence[str], first: int, second: int) -> list[str]:
    changed = list(sentences)
    changed[first], changed[second] = changed[second], changed[first]
    return changed


def swap_neighbours(sentences: Sequence[str], rng: random.Random) -> list[str]:
    first = rng.randrange(len(sentences) - 1)
    return swapped(sentences, first, first + 1)


DAMAGES: dict[str, Callable[[Sequence[str], random.Random], list[str]]] = {
    "last two sentences swapped": lambda sentences, rng: swapped(sentences, -1, -2),
    "two neighbours swapped": swap_neighbours,
    "any two sentences swapped": lambda sentences, rng: swapped(
        sentences, *rng.sample(range(len(sentences)), 2)
    ),
    "connectives removed": lambda sentences, rng: [remove_connectives(one) for one in sentences],
}


class Cohesion:
    """Cohesion rater that uses signals only."""

    def __init__(self) -> None:
        self._run = build_run(load_settings(evidence_rounds=0))
        self._judge = SignalJudge(load_shipped_rater())

    def sentences(self, record: Record) -> list[str]:
        case = convert_to_case(record, self._run.settings, self._run.retrieval.corpus)
        return [case.answer[one.start : one.end] for one in case.sentences]

    def rate(self, record: Record, sentences: Sequence[str]) -> float:
        changed = record.model_copy(update={"answer": " ".join(sentences)})
        case = convert_to_case(changed, self._run.settings, self._run.retrieval.corpus)
        meter = self._run.models.meter
        assert meter is not None
        score = self._judge.judge(meter.signals(case), "cohesion").score
        assert score is not None
        return score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    records = read_records(parser.parse_args().shared / ANSWERS).records
    cohesion, rng = Cohesion(), random.Random(1)
    found: dict[str, list[float]] = {name: [] for name in DAMAGES}
    questions: dict[str, list[str]] = {name: [] for name in DAMAGES}
    for record in records:
        question = record.topic or record.id
        if record.metadata["variant"] != "benign" or not is_held_out(question):
            continue
        sentences = cohesion.sentences(record)
        if len(sentences) < 2:
            continue
        original = cohesion.rate(record, sentences)
        for name, damage in DAMAGES.items():
            changed = damage(sentences, rng)
            if changed != sentences:
                drop = original - cohesion.rate(record, changed)
                found[name].append(0.5 if drop == 0 else float(drop > 0))
                questions[name].append(question)
    for name, wins in found.items():
        low, high = compute_mean_interval(wins, questions[name]) or (float("nan"), float("nan"))
        print(f"{name:<28} {fmean(wins):.2f} ({low:.2f} to {high:.2f}; {len(wins)} pairs)")


if __name__ == "__main__":
    main()
