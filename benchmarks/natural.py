"""The embedded verifier on natural data that people labelled, beside simple baselines.

    python -m training.natural --shared ../shared --work natural
    python benchmarks/natural.py --work natural

The first command compares each claim with each of its sources and keeps what it finds in a folder,
a second or so a pair; the table is made of that.

ExpertQA (dev) holds answers of six systems; an expert said of each claim whether its cited sources
support it: complete, partial or incomplete.

- supports: AUC of the highest value over a claim's sources, complete against the rest; and of the
  claims with the highest values, at equal coverage, the share that is complete. The last line is
  the default's rule: close enough, and the verifier does not object.
- contradicts, neutral, about something else: of the claims where the verifier says so, without
  bounds but with its rules, the share that is right. On ExpertQA all that is not complete counts as
  right, which is generous.

What an objection of the verifier is worth: of the claims that are close enough to a source and in
which no rule finds a difference, how many of each label are called supported, with and without it.

MedAESQA (machine answers to consumer questions, judged accurate or not): each sentence beside the
expert's answer; AUC of the mean over an answer's sentences.

Intervals of shares are Wilson's, at 95 %; claims of one answer depend on each other, so they are
narrow. Those of AUC are bootstrapped over questions.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ragassay.metrics.stats.agreement import discrimination
from ragassay.metrics.stats.calibration import bound_of
from ragassay.metrics.stats.intervals import share_interval
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models.adapters import bounds_of_means

sys.path.insert(0, str(Path(__file__).parents[1]))  # where training/ stands

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
    """Return a share with its interval and n."""
    interval = share_interval(sum(right), len(right))
    if interval is None:
        return "none"
    low, high = interval
    return f"{np.mean(right):.3f} ({low:.2f} to {high:.2f}) of {len(right)}"


def auc_text(values: Sequence[float], labels: Sequence[bool], groups: Sequence[str]) -> str:
    """Return an AUC with its interval."""
    score = discrimination(values, labels, groups).auroc
    return f"AUC {score.value:.3f} ({score.low:.2f} to {score.high:.2f})"


def report_support(claims: Claims) -> None:
    """Print how well each way tells complete support on ExpertQA."""
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
    bound = bound_of(bounds_of_means()[MINILM_VERIFIER], "supports", "verdict")
    if bound is None or bound.least_cosine is None:
        return
    one, other = halves(claims)
    for name, part in (("one half", one), ("other half", other), ("both", claims)):
        those = [rows for rows in part if is_close(rows, bound.least_cosine)]
        right = share_text([rows[0].label == "supports" for rows in those])
        print(f"  the default, {name}: {right}, coverage {len(those) / len(part):.2f}")
    right = decided_held_out(claims)
    print(f"  cross-validated: {share_text(right)}, coverage {len(right) / len(claims):.2f}")


def report_verdicts(name: str, claims: Claims) -> None:
    """Print how often what the verifier says against a claim is right."""
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
    """Print how many claims of each label count as supported, with the verifier and without it."""
    totals = Counter(rows[0].label for rows in claims)
    close = [rows for rows in claims if any(r.cosine >= least and not r.turned for r in rows)]
    without = Counter(rows[0].label for rows in close)
    kept = Counter(rows[0].label for rows in close if is_close(rows, least))
    for label, total in sorted(totals.items()):
        shares = f"supported {without[label]} without it, {kept[label]} with it"
        print(f"{NAMES[name]}, {label}: {total}, {shares}")


def report_answers(claims: Claims) -> None:
    """Print how well each way parts accurate from inaccurate answers of MedAESQA."""
    rows = sorted((rows[0] for rows in claims), key=lambda row: row.claim)
    answers = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row.claim)]
    labels = [group[0].label == "accurate" for group in answers]
    print(f"MedAESQA: {len(answers)} answers, {sum(labels)} of them accurate")
    for name, value_of in WAYS.items():
        values = [float(np.mean([value_of(row) for row in group])) for group in answers]
        print(f"  {name:<16}{auc_text(values, labels, [group[0].group for group in answers])}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="rows of training.natural")
    given = parser.parse_args()
    report_support(read_rows(given.work, "expertqa"))
    for name in NAMES:
        report_verdicts(name, read_rows(given.work, name))
    bound = bound_of(bounds_of_means()[MINILM_VERIFIER], "supports", "verdict")
    if bound is not None and bound.least_cosine is not None:
        for name in ("expertqa", "scifact", "healthver", "citation-integrity"):
            report_objections(name, read_rows(given.work, name), bound.least_cosine)
    report_answers(read_rows(given.work, "medaesqa"))


if __name__ == "__main__":
    main()
