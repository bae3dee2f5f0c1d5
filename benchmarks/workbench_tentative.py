"""Measure how well the embedded grader's tentative ratings, including undecided ones, rank systems.

    python benchmarks/workbench_tentative.py --shared ../shared --work w.json

FLAN-T5-large's released grades label 40 passages per query by their highest rating. The embedded
grader, fitted on other queries, labels the same passages. No real runs were released, so 20 seeded
systems rank the passages by FLAN-T5's labels with increasing noise. Kendall's tau compares the two
leaderboards. `--work` is the file written by `training.exam`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from ragassay.workbench.cover import Rankings
from ragassay.workbench.leaderboards import add_official, build_rubric_boards

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.exam import KINDS, Row, held_out, kept_rows

Labels = dict[str, dict[str, int]]

N_SYSTEMS = 20
MEASURES = ("nDCG@10", "RR")


def labels_of(rows: list[Row]) -> tuple[Labels, Labels]:
    """Label passages by FLAN-T5's highest rating and by the embedded grader's."""
    theirs: Labels = {}
    ours: Labels = {}
    for row, weights in zip(rows, held_out(rows), strict=True):
        tentative = sum(share >= 0.5 for share in weights.reach_probabilities(row.signals))
        for labels, rating in ((theirs, row.rating), (ours, tentative)):
            of_query = labels.setdefault(row.query, {})
            name = str(row.passage)
            of_query[name] = max(rating, of_query.get(name, 0))
    return theirs, ours


def systems(labels: Labels) -> Rankings:
    """Rank passages by their labels with noise that increases by system."""
    rng = np.random.default_rng(0)
    found: dict[str, dict[str, dict[str, int]]] = {}
    for number in range(N_SYSTEMS):
        noise = 0.5 + 0.25 * number
        of_system = found.setdefault(f"system-{number:02}", {})
        for query, of_query in labels.items():
            scores = {p: grade + noise * rng.standard_normal() for p, grade in of_query.items()}
            ranked = sorted(scores, key=lambda passage: -scores[passage])
            of_system[query] = {passage: rank for rank, passage in enumerate(ranked, 1)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()
    rows = kept_rows(args.shared, args.work)
    for kind in KINDS:
        theirs, ours = labels_of([row for row in rows if row.kind == kind])
        ranked = systems(theirs)
        for level in (1, 4):
            boards = [
                {
                    board.measure: {row.system: row.score.value for row in board.rows}
                    for board in build_rubric_boards(labels, ranked, MEASURES, level=level)
                }
                for labels in (theirs, ours)
            ]
            for measure in MEASURES:
                official = {name: value or 0.0 for name, value in boards[0][measure].items()}
                found = add_official(boards[1][measure], official)
                pair = (found.kendall.value, found.spearman.value)
                shown = ["none" if value is None else f"{value:.3f}" for value in pair]
                print(
                    f"{kind}s, {len(theirs)} queries, {measure}, relevant from {level}: "
                    f"Kendall {shown[0]}, Spearman {shown[1]}"
                )


if __name__ == "__main__":
    main()
