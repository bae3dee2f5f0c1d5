"""Original and perturbed answers with fixed scores, for tests of audits."""

from __future__ import annotations

from collections.abc import Sequence

from answers import answer

from ragassay.records import AttackFamily, Evaluation, PerturbedAnswer, Record, Score, Severity
from ragassay.studies.audit_scores import PerturbedPair, build_perturbed_pairs

LIKERT = (1.0, 5.0)

Scored = tuple[float | None, float | None]
"""Original and perturbed score. None means unscored."""


def likert(value: float | None) -> Score:
    """Return a rating, or a missing one."""
    n = int(value is not None)
    return Score(value=value, n=n, n_unscored=1 - n, scale=LIKERT, judge="judge")


def damage(
    n: int,
    attack: str = "off_topic",
    family: AttackFamily = "rubric",
    severity: Severity = "extreme",
    targets: Sequence[str] = ("rubric.cohesion",),
    topic: str | None = None,
) -> PerturbedAnswer:
    """Return the perturbed version of answer `n`, with its own topic by default."""
    record = Record(id=f"a{n}~{attack}", question="?", answer="x", topic=topic or f"q{n}")
    return PerturbedAnswer(
        record=record,
        original=f"a{n}",
        attack=attack,
        family=family,
        severity=severity,
        targets=tuple(targets),
    )


def pairs_of(
    scored: Sequence[Scored],
    target: str = "rubric.cohesion",
    topics: Sequence[str] | None = None,
    **fields: object,
) -> tuple[PerturbedPair, ...]:
    """Return a pair for each two scores of one target and attack."""
    hurt = [
        damage(n, targets=(target,), topic=topics[n] if topics else None, **fields)  # type: ignore[arg-type]
        for n in range(len(scored))
    ]
    evaluations: dict[str, Evaluation] = {}
    for found, (benign, damaged) in zip(hurt, scored, strict=True):
        for name, value in ((found.original, benign), (found.record.id, damaged)):
            evaluations[name] = answer(name, found.record.topic or "", scores=None)
            evaluations[name] = evaluations[name].model_copy(
                update={"scores": {target: likert(value)}}
            )
    return build_perturbed_pairs(hurt, evaluations)
