"""Compare signal ratings of unperturbed answers with other judgments, and with length alone.

    python benchmarks/ratings.py --shared ../shared

Only signals rate the answers, without a language model:

- YESciEval's original answers to held-out questions, by four systems, compared with the ratings of
  four LLM judges, each centered on its mean
- MedAESQA's accurate and inaccurate machine answers, with and without the expert's answer as the
  source. Phrases of non-answers were selected after reading these.
- Topical-Chat turns (USR), compared with the overall human rating

The figure is the share of pairs of answers to one question that are ranked as judges, experts or
people rank them. A tie counts as half. "Like length" contains only pairs whose lengths differ by at
most a sixth. Length is also evaluated as a rating. Intervals resample questions.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_labels, read_records
from ragassay.graphs.case import convert_to_case
from ragassay.judges.signals import SignalJudge
from ragassay.metrics.stats.correlation import spearman_rho
from ragassay.metrics.stats.intervals import compute_mean_interval
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.optimizers.finetuning.judge_replies import is_held_out
from ragassay.records import Document, Record
from ragassay.settings import load_settings

MIN_DIFFERENCE = 0.25
"""Minimum difference of the judges' means."""

LIKE_LENGTH = math.log(7 / 6)

MEAN, LENGTH = "mean of all", "length alone"


@dataclass(frozen=True)
class Rated:
    """An answer with its ratings by rubric and the reference judgments."""

    question: str
    length: int
    ratings: Mapping[str, float]
    truth: Mapping[str, float]

    def value(self, name: str) -> float:
        if name == LENGTH:
            return self.length
        # An answer that could not be rated gets the lowest rating.
        return (
            fmean(self.ratings.values() or [1.0]) if name == MEAN else self.ratings.get(name, 1.0)
        )


class Raters:
    """Signal rater for all rubrics."""

    def __init__(self) -> None:
        self._run = build_run(load_settings(evidence_rounds=0))
        self._judge = SignalJudge(load_shipped_rater())
        self.rubrics = tuple(self._judge.rater.rubrics)

    def rate(self, record: Record, question: str, truth: Mapping[str, float]) -> Rated:
        case = convert_to_case(record, self._run.settings, self._run.retrieval.corpus)
        meter = self._run.models.meter
        assert meter is not None
        signals = meter.signals(case)
        judged = ((rubric, self._judge.judge(signals, rubric).score) for rubric in self.rubrics)
        ratings = {rubric: score for rubric, score in judged if score is not None}
        return Rated(question, len(case.answer), ratings, truth)


def won(
    rated: Sequence[Rated],
    value: Callable[[Rated], float],
    truth: str,
    least: float,
    *,
    like_length: bool = False,
) -> str:
    """Return the share of pairs ranked as in the reference, as text."""
    by_question: dict[str, list[Rated]] = defaultdict(list)
    for one in rated:
        if truth in one.truth:
            by_question[one.question].append(one)
    wins: list[float] = []
    questions: list[str] = []
    for question, same in by_question.items():
        for a, b in itertools.combinations(same, 2):
            difference = a.truth[truth] - b.truth[truth]
            differs_in_length = abs(math.log(max(a.length, 1) / max(b.length, 1))) > LIKE_LENGTH
            if abs(difference) >= least and not (like_length and differs_in_length):
                sign = (value(a) - value(b)) * difference
                wins.append(0.5 if sign == 0 else float(sign > 0))
                questions.append(question)
    limits = compute_mean_interval(wins, questions) or (math.nan, math.nan)
    if not wins:
        return "no pair"
    return f"{fmean(wins):.2f} ({limits[0]:.2f} to {limits[1]:.2f}; {len(wins)} pairs)"


def show(rated: Sequence[Rated], name: str, truth: str, least: float) -> None:
    def value(one: Rated) -> float:
        return one.value(name)

    free = won(rated, value, truth, least)
    like = won(rated, value, truth, least, like_length=True)
    print(f"  {name:<16} {free:<34} like length {like}", flush=True)


def judged_of(path: Path) -> dict[str, dict[str, float]]:
    """Return the deviation of each original answer from the judges' mean ratings.

    The judges' means differ by half a point, and not all of them rate all answers.

    Returns:
        Mean deviation over judges, by record and rubric.
    """
    rows = [
        (label.record_id, label.item, label.annotator, int(label.label))
        for label in read_labels(path).labels
        if label.record_id and label.item and "/benign" in label.record_id
    ]
    usual = _means(((rubric, judge), rating) for _, rubric, judge, rating in rows)
    above = _means(
        ((record, rubric), rating - usual[rubric, judge]) for record, rubric, judge, rating in rows
    )
    found: dict[str, dict[str, float]] = {}
    for (record, rubric), value in above.items():
        found.setdefault(record, {})[rubric] = value
    return found


def _means(pairs: Iterable[tuple[tuple[str, str], float]]) -> dict[tuple[str, str], float]:
    values: dict[tuple[str, str], list[float]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return {key: fmean(ratings_of_key) for key, ratings_of_key in values.items()}


def whole_answers(shared: Path, raters: Raters) -> list[Rated]:
    found = []
    for name in ("bioasq", "orkg-synthesis"):
        path = shared / "data" / "yescieval" / f"{name}-train-answers.jsonl.gz"
        judged = judged_of(path)
        whole = [r for r in read_records(path).records if r.metadata["variant"] == "benign"]
        for record in sorted(whole, key=lambda r: r.topic or ""):
            question = record.topic or record.id
            if is_held_out(question):
                found.append(raters.rate(record, question, judged[record.id]))
    return found


def machine_answers(shared: Path, raters: Raters, *, sourced: bool) -> list[Rated]:
    def rows(name: str) -> Iterable[dict[str, str]]:
        with gzip.open(shared / "data" / "medaesqa" / f"{name}.jsonl.gz", "rt") as lines:
            yield from map(json.loads, lines)

    experts = {row["question"]: row["answer"] for row in rows("expert_answers")}
    return [
        raters.rate(
            Record(
                id=row["machine_id"],
                question=row["question"],
                answer=row["answer"],
                sources=(Document(id="expert", text=experts[row["question"]]),) if sourced else (),
            ),
            row["question"],
            {"accurate": accurate},
        )
        for name, accurate in (("accurate", 1.0), ("inaccurate", 0.0))
        for row in rows(f"{name}_machine_answers")
    ]


def turns(shared: Path, raters: Raters) -> list[Rated]:
    path = shared / "data" / "usr" / "topical_chat.json"
    people: dict[str, list[float]] = defaultdict(list)
    for label in read_labels(path).labels:
        if label.item == "overall" and label.record_id:
            people[label.record_id].append(float(label.label))
    return [
        raters.rate(record, record.topic or record.id, {"overall": fmean(people[record.id])})
        for record in read_records(path).records
        if record.id in people
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--only", choices=("judges", "experts", "people"))
    args = parser.parse_args()
    raters = Raters()
    if args.only in (None, "judges"):
        rated = whole_answers(args.shared, raters)
        print(f"YESciEval: {len(rated)} original answers to held-out questions, by four LLM judges")
        for rubric in raters.rubrics:
            show(rated, rubric, rubric, MIN_DIFFERENCE)
            show(rated, LENGTH, rubric, MIN_DIFFERENCE)
    if args.only in (None, "experts"):
        for sourced in (False, True):
            rated = machine_answers(args.shared, raters, sourced=sourced)
            sources = "with the expert's answer as source" if sourced else "without sources"
            print(f"MedAESQA: {len(rated)} answers, accurate above inaccurate, {sources}")
            for name in (*raters.rubrics, MEAN, LENGTH):
                show(rated, name, "accurate", 1.0)
    if args.only in (None, "people"):
        rated = turns(args.shared, raters)
        print(f"USR: {len(rated)} turns, Spearman's rho with people's overall rating")
        truth = [one.truth["overall"] for one in rated]
        for name in (*raters.rubrics, MEAN, LENGTH):
            rho = spearman_rho([one.value(name) for one in rated], truth)
            print(f"  {name:<16} {rho if rho is None else round(rho, 2)}")


if __name__ == "__main__":
    main()
