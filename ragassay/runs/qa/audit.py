"""Audit a judge of pairs: rate whole and damaged pairs alike, and certify each dimension."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.errors import InputError
from ragassay.perturbations.pairs import PAIR_ATTACKS, damage_pair
from ragassay.records import DamagedAnswer, Paper, Record
from ragassay.records.papers import paper_record
from ragassay.runs.audit_job import Ask, AuditJob, AuditOptions, spread
from ragassay.runs.qa.inputs import GivenPairs, records_job

PART = "racar"


def pairs_audit_job(given: GivenPairs, options: AuditOptions) -> AuditJob:
    """Choose pairs and damage them; each is rated alone with its paper.

    Args:
        given: Papers with their pairs.
        options: How many pairs, which attacks, and the seed.

    Raises:
        InputError: An attack is unknown, or none changes a pair.
    """
    papers = {paper.id: paper for paper in given.papers}
    every = [paper_record(papers[pair.paper], [pair], pair.id) for pair in given.pairs]
    records = spread(every, options.limit, options.seed)
    damaged: list[DamagedAnswer] = []
    n_unchanged: dict[str, int] = {}
    for name in _chosen(options.attacks):
        for record in records:
            hurt = _damaged(record, papers[record.pairs[0].paper], name, given, options.seed)
            if hurt is None:
                n_unchanged[name] = n_unchanged.get(name, 0) + 1
            else:
                damaged.append(hurt)
    if not damaged:
        raise InputError(f"no attack changes any of {len(records)} pairs: name more pairs")
    hurt_of: dict[str, list[DamagedAnswer]] = {}
    for one in damaged:
        hurt_of.setdefault(one.original, []).append(one)
    asks = tuple(
        Ask(record, (PART,))
        for whole in records
        if whole.id in hurt_of
        for record in (whole, *(one.record for one in hurt_of[whole.id]))
    )
    job = records_job(records, given)
    return AuditJob(job, tuple(damaged), asks, options, n_unchanged)


def _chosen(names: Sequence[str]) -> tuple[str, ...]:
    strange = next((name for name in names if name not in PAIR_ATTACKS), None)
    if strange is not None:
        raise InputError(f"unknown attack {strange!r}; there are {', '.join(PAIR_ATTACKS)}")
    return tuple(names) or tuple(PAIR_ATTACKS)


def _damaged(
    record: Record, paper: Paper, attack: str, given: GivenPairs, seed: int
) -> DamagedAnswer | None:
    (pair,) = record.pairs
    hurt = damage_pair(pair, attack, seed, given.pairs)
    if hurt is None or hurt == pair:
        return None
    return DamagedAnswer(
        record=paper_record(paper, [hurt], f"{pair.id}~{attack}"),
        original=record.id,
        attack=attack,
        family="pair",
        severity=PAIR_ATTACKS[attack].severity,
        targets=(f"racar.{PAIR_ATTACKS[attack].dimension}",),
    )
