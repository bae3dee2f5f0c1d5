"""Find a verifier's bounds on natural data, and write them.

    python -m training.natural --shared ../shared --work natural
    python -m training.natural_bounds --work natural

The rows of `training.natural` come from human-written papers and answers of real systems, with
human labels. One verdict is sampled per question, document or claim.

- contradicts is bounded by kind: a different value of a number, or other words. Tentative labels,
  which no rule supports, are measured and never decided. A kind must meet the bound on each set
  with at least `N_ENOUGH` verdicts, and the strictest bound is used. ExpertQA has no contradiction
  label, so any support other than complete counts as right, which is generous.
- not_relevant is right if the label is neutral, or incomplete on ExpertQA. This is also generous,
  because a neutral passage may be on the subject.
- A finding leads if at least `PRECISION` of them are right and the precision exceeds 1 -
  `RISK_OF_FINDING` with confidence 1 - `DELTA`.
- If all sets together have fewer than `N_ENOUGH` verdicts, nothing can be tested. Such a verdict is
  undecided and never leads, and the bound records this.
- supports requires a supporting verifier, no difference in direction or negation found by a rule,
  and a minimum cosine. That minimum is the highest that decides a third of ExpertQA's claims, which
  uses no labels. It is accepted if 1 - `RISK_OF_SUPPORT` of the held-out decisions are right, where
  each of `N_FOLDS` folds uses the minimum of the others. This is an estimate (delta .5), because so
  few answers cannot guarantee that precision.

`training.bounds` finds the remaining bound, of the not_relevant verdict.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ragassay.metrics.stats.calibration import find_risk_bound
from ragassay.metrics.stats.intervals import compute_share_interval
from ragassay.models import adapters
from ragassay.records import Bound, BoundLevel
from ragassay.text.differences import is_other_value
from training.natural import PairRow, read_rows

RISK, DELTA = 0.2, 0.1
RISK_OF_FINDING, DELTA_OF_FINDING, PRECISION = 0.3, 0.05, 0.8
N_ENOUGH = 10
THRESHOLDS: dict[BoundLevel, tuple[float, ...]] = {
    "verdict": (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65),
    "finding": (0.95, 0.9, 0.85, 0.8),
}

LEAST_COSINES = (*(round(0.95 - 0.025 * n, 3) for n in range(38)), -1.0)
COVERAGE = 1 / 3
"""Minimum share of claims decided as supported."""

LEANS = 0.5
"""Minimum probability of support. The cosine decides, and the verifier can only object."""

RISK_OF_SUPPORT = 0.15
N_FOLDS = 10

NAMES = {
    "expertqa": "ExpertQA (dev)",
    "citation-integrity": "Citation-Integrity (dev)",
    "numbers": "Citation-Integrity (train)",
    "scifact": "SciFact (held out)",
    "healthver": "HealthVer (dev)",
}

Claims = Sequence[Sequence[PairRow]]


def is_right(row: PairRow, label: str) -> bool:
    """Return whether a verdict is right. On ExpertQA, unsupported claims fit any other verdict."""
    if label == "not_relevant":
        return row.label in ("neutral", "incomplete")
    if row.label in ("partial", "incomplete"):
        return label != "supports"
    return row.label == label


def verdicts(claims: Claims, label: str, kind: str) -> list[PairRow]:
    """Return the most confident verdict of this label and kind for each claim that has one."""
    found: list[PairRow] = []
    for rows in claims:
        own = [
            row for row in rows if row.verdict == label and row.is_asserted != (kind == "tentative")
        ]
        own = [row for row in own if kind in ("", "tentative") or kind_of(row) == kind]
        if own:
            found.append(max(own, key=lambda row: row.confidence))
    return found


def kind_of(row: PairRow) -> str:
    """Return the kind of a contradiction, "number" or "words"."""
    return "number" if is_other_value(row.difference) else "words"


def fit(
    sets: dict[str, Claims], label: str, kind: str, level: BoundLevel, n_enough: int = N_ENOUGH
) -> Bound:
    """Return the strictest bound of a kind of verdict, as described in the module docstring."""
    known = {
        name: verdicts(claims, label, kind)
        for name, claims in sets.items()
        if kind == "number" or name != "numbers"
    }
    everything = [row for rows in known.values() for row in rows]
    names = " and ".join(NAMES[name] for name, rows in known.items() if rows)
    if len(everything) < n_enough:
        bound = _bound(everything, label, kind, level, names)
        never = {"threshold": None, "is_tested": False, "coverage": 0.0, "n": len(everything)}
        right = [is_right(row, label) for row in everything]
        return bound.model_copy(update=never | measured(right))
    bounds = [
        _bound(rows, label, kind, level, NAMES[name])
        for name, rows in known.items()
        if len(rows) >= n_enough
    ]
    bounds = bounds or [_bound(everything, label, kind, level, names)]
    # None is stricter than any threshold. Ties go to the bound with the most verdicts.
    return max(bounds, key=lambda one: (one.threshold or 2.0, one.n))


def _bound(rows: Sequence[PairRow], label: str, kind: str, level: BoundLevel, data: str) -> Bound:
    """Return the bound of verdicts, or the precision of all verdicts if there is no bound."""
    is_finding = level == "finding"
    right = [is_right(row, label) for row in rows]
    bound = find_risk_bound(
        label,
        [row.confidence for row in rows],
        right,
        risk=RISK_OF_FINDING if is_finding else RISK,
        delta=DELTA_OF_FINDING if is_finding else DELTA,
        clusters=[row.group for row in rows],
        level=level,
        data=data,
        thresholds=THRESHOLDS[level],
    ).model_copy(update={"kind": kind})
    if bound.threshold is not None and (bound.precision or 0.0) >= PRECISION:
        return bound
    never = {"threshold": None, "coverage": 0.0, "n": len(rows)}
    return bound.model_copy(update=never | measured(right))


def measured(right: Sequence[bool]) -> dict[str, float | int | None]:
    """Return precision, its interval and n as fields of a bound."""
    interval = compute_share_interval(sum(right), len(right))
    low, high = (round(end, 4) for end in interval) if interval else (None, None)
    precision = round(sum(right) / len(right), 4) if right else None
    return {"precision": precision, "low": low, "high": high, "n_measured": len(right)}


def halves(claims: Claims) -> tuple[Claims, Claims]:
    """Split claims by question into halves."""
    groups = list(dict.fromkeys(rows[0].group for rows in claims))
    first = set(groups[: len(groups) // 2])
    return (
        [rows for rows in claims if rows[0].group in first],
        [rows for rows in claims if rows[0].group not in first],
    )


def is_close(rows: Iterable[PairRow], least: float) -> bool:
    """Return whether a source is close enough without objections by the verifier or rules."""
    return any(row.supports >= LEANS and not row.turned and row.cosine >= least for row in rows)


def least_cosine_of(claims: Claims) -> float:
    """Return the highest minimum cosine that decides enough claims, without using labels."""
    n_least = COVERAGE * len(claims)
    return next(c for c in LEAST_COSINES if sum(is_close(r, c) for r in claims) >= n_least)


def decided_held_out(claims: Claims) -> list[bool]:
    """Return whether each decided claim is supported, with cross-validated bounds."""
    groups = list(dict.fromkeys(rows[0].group for rows in claims))
    right: list[bool] = []
    for n in range(N_FOLDS):
        held = set(groups[n::N_FOLDS])
        least = least_cosine_of([rows for rows in claims if rows[0].group not in held])
        own = (rows for rows in claims if rows[0].group in held and is_close(rows, least))
        right += [rows[0].label == "supports" for rows in own]
    return right


def fit_support(claims: Claims) -> Bound:
    """Return the bound of supports: the highest cosine that decides enough claims.

    Its precision comes from `decided_held_out`. It may be too high, because the use of the cosine
    and the coverage of a third were chosen on these claims.
    """
    right = decided_held_out(claims)
    is_enough = bool(right) and sum(right) / len(right) >= 1 - RISK_OF_SUPPORT
    bound = Bound(
        label="supports",
        threshold=LEANS if is_enough else None,
        least_cosine=least_cosine_of(claims),
        risk=RISK_OF_SUPPORT,
        delta=0.5,
        coverage=round(len(right) / max(1, len(claims)), 4),
        n=len(claims),
        data=f"{NAMES['expertqa']}, held out",
    )
    return bound.model_copy(update=measured(right))


def fit_all(sets: dict[str, Claims]) -> tuple[Bound, ...]:
    """Return the bounds that natural data determine."""
    levels: tuple[BoundLevel, ...] = ("verdict", "finding")
    return (
        *(
            fit(sets, "contradicts", kind, level)
            for kind in ("number", "words")
            for level in levels
        ),
        fit(sets, "contradicts", "tentative", "finding"),
        fit(sets, "not_relevant", "", "finding"),
        fit_support(sets["expertqa"]),
        fit(sets, "neutral", "", "verdict"),
    )


def write_bounds(model: str, bounds: Sequence[Bound]) -> list[Bound]:
    """Write bounds to the packaged file, replacing those of the same kinds, and return all."""
    path = Path(adapters.__file__).with_name("bounds.json")
    known = json.loads(path.read_text("utf-8"))
    new = {(one.label, one.level, one.kind) for one in bounds}
    rest = [Bound.model_validate(one) for one in known.get(model, ())]
    rest = [one for one in rest if (one.label, one.level, one.kind) not in new]
    every = sorted([*bounds, *rest], key=lambda one: (one.label, one.level, one.kind))
    known[model] = [one.model_dump(mode="json") for one in every]
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    return every


def main() -> None:
    """Find the bounds and write them."""
    parser = argparse.ArgumentParser(description="Write a verifier's bounds on natural data.")
    parser.add_argument("--model", default="ragassay/minilm-verifier", help="verifier name")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder written by training.natural"
    )
    given = parser.parse_args()
    bounds = fit_all({name: read_rows(given.work, name) for name in NAMES})
    write_bounds(given.model, bounds)
    for bound in bounds:
        print(bound.model_dump_json())


if __name__ == "__main__":
    main()
