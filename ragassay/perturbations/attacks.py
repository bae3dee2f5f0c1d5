"""All attacks, in the order in which they are reported."""

from __future__ import annotations

from ragassay.perturbations.added import ADDED
from ragassay.perturbations.attack import Attack
from ragassay.perturbations.order import ORDER
from ragassay.records import AttackFamily, Severity

RETRACTED: Attack | None = None

ATTACKS: tuple[Attack, ...] = (*ADDED, *ORDER)


def attacks_of(
    family: AttackFamily | None = None,
    severity: Severity | None = None,
    target: str | None = None,
) -> tuple[Attack, ...]:
    """The attacks of a kind, in the order of `ATTACKS`.

    Args:
        family: None for any.
        severity: None for any.
        target: Only those that ought to lower this score, e.g. "rubric.relevancy"; None for any.
    """
    return tuple(
        attack
        for attack in ATTACKS
        if family in (None, attack.family)
        and severity in (None, attack.severity)
        and (target is None or target in attack.targets)
    )
