"""Find the bounds of a verifier on natural data, and write them.

    python -m training.natural --shared ../shared --work natural
    python -m training.natural_bounds --work natural

The rows of `training.natural` are of answers and papers that people wrote or real systems gave, and
that people labelled. One verdict of each question, document or claim is drawn.

- What contradicts is bounded by kind: another value of a number, or other words. Leanings, which no
  rule supports, are measured and never decided. A kind must hold on each set with at least
  `N_ENOUGH` such verdicts, and the strictest bound counts. ExpertQA has no label
  for contradiction: any support that is not complete counts as right, which is generous.
- What is about something else is right where the label is neutral, or incomplete on ExpertQA. That
  is generous too: a neutral passage may be on the subject.
- A finding leads where at least `PRECISION` of them are right, and with confidence 1 - `DELTA` more
  than 1 - `RISK_OF_FINDING`.
- Where all sets together have fewer than `N_ENOUGH`, nothing can be tested: such a verdict is
  undecided and never leads, and the bound says so.
- What supports must lean to it, differ in no direction or negation that a rule finds, and be close.
  The least cosine is the highest that decides a third of ExpertQA's claims, which uses no label. It
  counts if 1 - `RISK_OF_SUPPORT` of those are right that are decided held out: each of `N_FOLDS`
  parts of the questions by the least cosine of the others. That is an estimate (delta .5), since so
  few answers cannot guarantee such a precision.

`training.bounds` finds the other bound: that of the verdict that a passage is about something else.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ragassay.metrics.stats.calibration import risk_bound
from ragassay.metrics.stats.intervals import share_interval
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
"""Share of the claims that support decides at least."""

LEANS = 0.5
"""Least probability of support. The cosine decides; the verifier can only object."""

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
    """Return whether a verdict is right; on ExpertQA what is not supported is right of the rest."""
    if label == "not_relevant":
        return row.label in ("neutral", "incomplete")
    if row.label in ("partial", "incomplete"):
        return label != "supports"
    return row.label == label


def verdicts(claims: Claims, label: str, kind: str) -> list[PairRow]:
    """Return the surest verdict of this label and kind of each claim that has one."""
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
    """Return the kind of a contradiction."""
    return "number" if is_other_value(row.difference) else "words"


def fit(
    sets: dict[str, Claims], label: str, kind: str, level: BoundLevel, n_enough: int = N_ENOUGH
) -> Bound:
    """Return the strictest bound of a kind of verdict, as the module's text says."""
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
    # None is above any threshold; of several such that with the most verdicts is shown.
    return max(bounds, key=lambda one: (one.threshold or 2.0, one.n))


def _bound(rows: Sequence[PairRow], label: str, kind: str, level: BoundLevel, data: str) -> Bound:
    """Return the bound of verdicts, with the precision of all of them where none is found."""
    is_finding = level == "finding"
    right = [is_right(row, label) for row in rows]
    bound = risk_bound(
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
    interval = share_interval(sum(right), len(right))
    low, high = (round(end, 4) for end in interval) if interval else (None, None)
    precision = round(sum(right) / len(right), 4) if right else None
    return {"precision": precision, "low": low, "high": high, "n_measured": len(right)}


def halves(claims: Claims) -> tuple[Claims, Claims]:
    """Split claims by question; they come question by question in an order drawn once."""
    groups = list(dict.fromkeys(rows[0].group for rows in claims))
    first = set(groups[: len(groups) // 2])
    return (
        [rows for rows in claims if rows[0].group in first],
        [rows for rows in claims if rows[0].group not in first],
    )


def is_close(rows: Iterable[PairRow], least: float) -> bool:
    """Return whether some source is close enough, and neither verifier nor rules object."""
    return any(row.supports >= LEANS and not row.turned and row.cosine >= least for row in rows)


def least_cosine_of(claims: Claims) -> float:
    """Return the highest least cosine that decides enough claims; no label is used."""
    n_least = COVERAGE * len(claims)
    return next(c for c in LEAST_COSINES if sum(is_close(r, c) for r in claims) >= n_least)


def decided_held_out(claims: Claims) -> list[bool]:
    """Return whether each decided claim is supported; held out by question from its bound."""
    groups = list(dict.fromkeys(rows[0].group for rows in claims))
    right: list[bool] = []
    for n in range(N_FOLDS):
        held = set(groups[n::N_FOLDS])
        least = least_cosine_of([rows for rows in claims if rows[0].group not in held])
        own = (rows for rows in claims if rows[0].group in held and is_close(rows, least))
        right += [rows[0].label == "supports" for rows in own]
    return right


def fit_support(claims: Claims) -> Bound:
    """Return the bound of what supports: the highest cosine that decides enough claims.

    Its precision is that of `decided_held_out`. That the cosine decides, and a third of the claims,
    was chosen in sight of these claims: the precision may still lean high.
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
    """Return the bounds that natural data decide."""
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
    """Write bounds into the packaged file, in place of those of the same kinds; return all."""
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
    parser.add_argument("--model", default="ragassay/minilm-verifier", help="the verifier")
    parser.add_argument("--work", type=Path, required=True, help="the rows of training.natural")
    given = parser.parse_args()
    bounds = fit_all({name: read_rows(given.work, name) for name in NAMES})
    write_bounds(given.model, bounds)
    for bound in bounds:
        print(bound.model_dump_json())


if __name__ == "__main__":
    main()
