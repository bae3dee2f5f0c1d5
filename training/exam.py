"""Fit the embedded test bank grader to the Workbench's released grades.

    python -m training.exam --shared ../shared --work w.json --out ragassay/models/raters/exam.json

The data are FLAN-T5-large's ratings of 40 passages for each of 25 queries, for items with known
texts (`training.released_grades`). Queries are split into five folds by their hash. Figures and
decision bounds come from cross-validation. The shipped weights are fitted on all data. Computing
the signals takes ten minutes, and they are stored in `--work`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from ragassay.instruments.exam_grader import measure
from ragassay.metrics.stats.calibration import find_risk_bound
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_raters import ExamModel, ExamWeights
from ragassay.models.verifiers import load_minilm_verifier
from ragassay.records import MOST_EXAM_RATING, Bound, ItemKind
from training.released_grades import FILE, read_released

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNALS = ("least", "bank", "settles")
"""Signals used by the model: the item's least covered word, the passage's similarity to the bank,
and the verifier. The other signals are nearly redundant."""

N_FOLDS = 5
DELTA = 0.1
RISK: dict[ItemKind, float] = {"question": 0.2, "nugget": 0.25}
"""Maximum share of wrong decisions, tested on one sampled grade per nugget. Too few question texts
are known, so questions use one grade per passage. That bound does not extend to new questions."""

NEVER: frozenset[tuple[ItemKind, str]] = frozenset({("nugget", "yes")})
"""Labels that are never decided, although FLAN-T5-large agrees with them. It marks 73 % of all
nuggets as mentioned, and GPT-4o agreed with .43 of such decisions on TREC RAG 2024."""

THRESHOLDS = tuple(round(0.95 - 0.05 * step, 2) for step in range(10))
PENALTY = 1.0
KINDS: tuple[ItemKind, ...] = ("question", "nugget")


@dataclass(frozen=True)
class Row:
    """Signals of an item and a passage, with the released rating."""

    query: str
    passage: int
    item: str
    kind: ItemKind
    rating: int
    signals: Mapping[str, float]


def measured_rows(shared: Path) -> list[Row]:
    """Compute the signals of all sampled passages."""
    embedder, verifier, released = Embedder(), load_minilm_verifier(), read_released(shared)
    return [
        Row(one.query, number, item.id, item.kind, one.ratings[item.id], found.signals)
        for number, one in enumerate(released.passages)
        for item, found in zip(
            released.banks[one.query],
            measure(released.banks[one.query], one.passage, embedder, verifier),
            strict=True,
        )
        if item.id in one.ratings
    ]


def kept_rows(shared: Path, work: Path) -> list[Row]:
    """Read the stored rows, or compute and store them."""
    if not work.is_file():
        rows = [vars(row) for row in measured_rows(shared)]
        work.write_text(json.dumps(rows), encoding="utf-8")
    return [Row(**row) for row in json.loads(work.read_text(encoding="utf-8"))]


def fold_of(query: str) -> int:
    """Return the fold of a query from its hash."""
    return int(hashlib.sha256(query.encode()).hexdigest(), 16) % N_FOLDS


def fit(rows: Sequence[Row], names: Sequence[str] = SIGNALS) -> ExamWeights:
    """Fit proportional odds with non-negative weights."""
    table = np.array([[row.signals[name] for name in names] for row in rows])
    means, scales = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-6)
    ratings = np.array([row.rating for row in rows])
    start = np.concatenate([np.full(len(names), 0.1), [0.0], np.full(MOST_EXAM_RATING - 1, 0.1)])
    bounds = [(0, None)] * len(names) + [(None, None)] + [(1e-3, None)] * (MOST_EXAM_RATING - 1)
    found = minimize(
        _loss, start, args=((table - means) / scales, ratings), method="L-BFGS-B", bounds=bounds
    ).x
    weights = found[: len(names)] / scales
    thresholds = np.cumsum(found[len(names) :]) + float(weights @ means)
    return ExamWeights(
        weights={name: round(float(w), 4) for name, w in zip(names, weights, strict=True)},
        thresholds=tuple(round(float(threshold), 4) for threshold in thresholds),
    )


def _loss(
    values: NDArray[np.float64], table: NDArray[np.float64], ratings: NDArray[np.int_]
) -> float:
    width = table.shape[1]
    z = table @ values[:width]
    cuts = np.concatenate([[-np.inf], np.cumsum(values[width:]), [np.inf]])
    above = 1 / (1 + np.exp(-(z[:, None] - cuts[None, :])))
    rows = np.arange(len(ratings))
    shares = above[rows, ratings] - above[rows, ratings + 1]
    return float(-np.log(np.maximum(shares, 1e-12)).sum() + PENALTY * (values[:width] ** 2).sum())


def held_out(rows: Sequence[Row]) -> list[ExamWeights]:
    """Return the weights fitted to the other folds for each row. All rows have one kind."""
    fitted = [fit([r for r in rows if fold_of(r.query) != fold]) for fold in range(N_FOLDS)]
    return [fitted[fold_of(row.query)] for row in rows]


def bounds_of(rows: Sequence[Row]) -> tuple[Bound, ...]:
    """Return the bounds of held-out decisions. All rows have one kind."""
    shares = [
        one.reach_probabilities(row.signals)[0]
        for row, one in zip(rows, held_out(rows), strict=True)
    ]
    return tuple(_bound(label, rows, shares) for label in ("yes", "no"))


def _bound(label: str, rows: Sequence[Row], shares: Sequence[float]) -> Bound:
    is_yes, kind = label == "yes", rows[0].kind
    said = [(row, p) for row, p in zip(rows, shares, strict=True) if (p >= 0.5) == is_yes]
    return find_risk_bound(
        label,
        [max(p, 1 - p) for _, p in said],
        [(row.rating > 0) == is_yes for row, _ in said],
        risk=RISK[kind],
        delta=DELTA,
        clusters=[row.item if kind == "nugget" else str(row.passage) for row, _ in said],
        data="FLAN-T5-large's released grades",
        thresholds=() if (kind, label) in NEVER else THRESHOLDS,
    )


def fit_model(rows: Sequence[Row]) -> ExamModel:
    """Fit the shipped weights on all rows, with bounds from cross-validation."""
    kinds: dict[ItemKind, ExamWeights] = {}
    for kind in KINDS:
        mine = [row for row in rows if row.kind == kind]
        kinds[kind] = fit(mine).model_copy(update={"bounds": bounds_of(mine)})
    text = json.dumps([vars(row) for row in rows], sort_keys=True)
    return ExamModel(
        data=FILE.name, data_sha256=hashlib.sha256(text.encode()).hexdigest(), kinds=kinds
    )


def main() -> None:
    """Fit the model and write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="file of computed signals")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    model = fit_model(kept_rows(args.shared, args.work))
    args.out.write_text(model.model_dump_json(indent=2) + "\n", encoding="utf-8")
    print(model.model_dump_json(indent=2))


if __name__ == "__main__":
    main()
