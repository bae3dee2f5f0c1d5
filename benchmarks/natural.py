"""Measure the embedded verifier and simple baselines on human-labeled natural data.

    python -m training.natural --shared ../shared --work natural
    python benchmarks/natural.py --work natural

The first command compares each claim with each of its sources and stores the results in a folder,
at about a second per pair. The second prints tables from that folder.

ExpertQA (dev) contains answers of six systems. An expert labelled whether the cited sources support
each claim: complete, partial or incomplete.

- supports: AUC of the highest value over a claim's sources, for complete against the other labels,
  and the share of complete labels among the highest values at equal coverage. The last line is the
  default rule: a close source without an objection by the verifier.
- contradicts, neutral, not_relevant: share of correct predictions among the claims with that
  verdict, without bounds but with the verifier's rules. On ExpertQA all labels except complete
  count as correct, which is generous.

Objections: for claims that are close to a source and have no difference found by a rule, the number
per label that count as supported, with and without the verifier's objections.

MedAESQA (machine answers to consumer questions, judged accurate or not): AUC of the mean over an
answer's sentences, each compared with the expert's answer.

Intervals of shares are 95 % Wilson intervals. They are too narrow, because claims of one answer
depend on each other. Intervals of AUC are bootstrapped over questions.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ragassay.metrics.stats.agreement import measure_discrimination
from ragassay.metrics.stats.calibration import bound_of
from ragassay.metrics.stats.intervals import compute_share_interval
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models.adapters import load_mean_bounds

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.natural import PairRow, read_rows
from training.natural_bounds import (
    NAMES,
    Claims,
    decided_held_out,
    halves,
    is_close,
    is_right,
    verdicts,
)

CONTRADICTS = "contradicts"
COVERAGES = (0.2, 0.3, 0.4, 0.5)
WAYS: dict[str, Callable[[PairRow], float]] = {
    "verifier": lambda row: row.supports,
    "share of words": lambda row: row.words,
    "cosine": lambda row: row.cosine,
}


def share_text(right: Sequence[bool]) -> str:
    interval = compute_share_interval(sum(right), len(right))
    if interval is None:
        return "none"
    low, high = interval
    return f"{np.mean(right):.3f} ({low:.2f} to {high:.2f}) of {len(right)}"


def auc_text(values: Sequence[float], labels: Sequence[bool], groups: Sequence[str]) -> str:
    score = measure_discrimination(values, labels, groups).auroc
    return f"AUC {score.value:.3f} ({score.low:.2f} to {score.high:.2f})"


def report_support(claims: Claims) -> None:
    """Print how well each method detects complete support on ExpertQA."""
    labels = [rows[0].label == "supports" for rows in claims]
    groups = [rows[0].group for rows in claims]
    print(f"ExpertQA: {len(claims)} claims; always supports: {share_text(labels)}")
    for name, value_of in WAYS.items():
        values = [max(map(value_of, rows)) for rows in claims]
        order = np.argsort([-value for value in values], kind="stable")
        parts = [auc_text(values, labels, groups)]
        for coverage in COVERAGES:
            first = order[: round(coverage * len(claims))]
            parts.append(f"at {coverage:.1f} {np.mean([labels[n] for n in first]):.3f}")
        print(f"  {name:<16}{', '.join(parts)}")
    bound = bound_of(load_mean_bounds()[MINILM_VERIFIER], "supports", "verdict")
    if bound is None or bound.least_cosine is None:
        return
    one, other = halves(claims)
    for name, part in (("one half", one), ("other half", other), ("both", claims)):
        close = [rows for rows in part if is_close(rows, bound.least_cosine)]
        right = share_text([rows[0].label == "supports" for rows in close])
        print(f"  the default, {name}: {right}, coverage {len(close) / len(part):.2f}")
    right = decided_held_out(claims)
    print(f"  cross-validated: {share_text(right)}, coverage {len(right) / len(claims):.2f}")


def report_verdicts(name: str, claims: Claims) -> None:
    """Print how often the verifier's negative verdicts are correct."""
    for label, kind in (
        *((CONTRADICTS, kind) for kind in ("words", "number", "tentative")),
        ("neutral", ""),
        ("not_relevant", ""),
    ):
        rows = verdicts(claims, label, kind)
        if name == "numbers" and kind != "number":
            continue
        for least in (0.0, 0.8):
            right = [is_right(row, label) for row in rows if row.confidence >= least]
            title = f"{NAMES[name]}, {label} {kind}".strip()
            print(f"{title}, from {least:.1f}: {share_text(right)}")


def report_objections(name: str, claims: Claims, least: float) -> None:
    """Print how many claims of each label count as supported, with and without objections."""
    totals = Counter(rows[0].label for rows in claims)
    close = [rows for rows in claims if any(r.cosine >= least and not r.turned for r in rows)]
    without = Counter(rows[0].label for rows in close)
    kept = Counter(rows[0].label for rows in close if is_close(rows, least))
    for label, total in sorted(totals.items()):
        shares = f"supported {without[label]} without it, {kept[label]} with it"
        print(f"{NAMES[name]}, {label}: {total}, {shares}")


def report_answers(claims: Claims) -> None:
    """Print how well each method separates accurate from inaccurate answers of MedAESQA."""
    rows = sorted((rows[0] for rows in claims), key=lambda row: row.claim)
    answers = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row.claim)]
    labels = [group[0].label == "accurate" for group in answers]
    print(f"MedAESQA: {len(answers)} answers, {sum(labels)} of them accurate")
    for name, value_of in WAYS.items():
        values = [float(np.mean([value_of(row) for row in group])) for group in answers]
        print(f"  {name:<16}{auc_text(values, labels, [group[0].group for group in answers])}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="folder written by training.natural"
    )
    args = parser.parse_args()
    report_support(read_rows(args.work, "expertqa"))
    for name in NAMES:
        report_verdicts(name, read_rows(args.work, name))
    bound = bound_of(load_mean_bounds()[MINILM_VERIFIER], "supports", "verdict")
    if bound is not None and bound.least_cosine is not None:
        for name in ("expertqa", "scifact", "healthver", "citation-integrity"):
            report_objections(name, read_rows(args.work, name), bound.least_cosine)
    report_answers(read_rows(args.work, "medaesqa"))


if __name__ == "__main__":
    main()
