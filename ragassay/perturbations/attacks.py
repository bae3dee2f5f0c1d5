"""List all attacks, in the order in which they are reported."""

from __future__ import annotations

from ragassay.perturbations.added import ADDED
from ragassay.perturbations.attack import Attack
from ragassay.perturbations.clinical import CLINICAL
from ragassay.perturbations.connectives import CONNECTIVES
from ragassay.perturbations.injection import injections
from ragassay.perturbations.order import ORDER
from ragassay.perturbations.redundancy import REDUNDANCY
from ragassay.records import AttackFamily, Severity

_RUBRIC = (*ADDED, *ORDER, *CONNECTIVES, *REDUNDANCY)
_ALL_RUBRICS = tuple(dict.fromkeys(target for attack in _RUBRIC for target in attack.targets))

ATTACKS: tuple[Attack, ...] = (*_RUBRIC, *CLINICAL, *injections(_ALL_RUBRICS))


def attacks_of(
    family: AttackFamily | None = None,
    severity: Severity | None = None,
    target: str | None = None,
) -> tuple[Attack, ...]:
    """Return the attacks of a kind, in the order of `ATTACKS`.

    Args:
        family: None for any.
        severity: None for any.
        target: Only those that should lower this score, e.g. "rubric.relevancy"; None for any.
    """
    return tuple(
        attack
        for attack in ATTACKS
        if family in (None, attack.family)
        and severity in (None, attack.severity)
        and (target is None or target in attack.targets)
    )
