"""Damage answers with every attack."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ragassay.perturbations.answer import cut
from ragassay.perturbations.attack import Attack, Damage, Material, Rephrase
from ragassay.perturbations.attacks import ATTACKS
from ragassay.perturbations.clinical import RETRACTED
from ragassay.perturbations.neighbours import Neighbours
from ragassay.perturbations.pools import Side
from ragassay.records import DamagedAnswer, Record


@dataclass(frozen=True)
class Damaged:
    """The result of damaging answers.

    Attributes:
        answers: The damaged answers, by record, then by attack, in the given order.
        n_unchanged: For each attack, how many answers it left unchanged, because they lack a
            connective, a number, a second sentence; those are not among `answers`.
    """

    answers: tuple[DamagedAnswer, ...]
    n_unchanged: dict[str, int] = field(default_factory=dict)


def damage_answers(
    records: Sequence[Record],
    *,
    attacks: Sequence[Attack] | None = None,
    pools: Side = "audit",
    seed: int = 0,
    retracted: Collection[str] = (),
    rephrase: Rephrase | None = None,
    among: Sequence[Record] | None = None,
) -> Damaged:
    """Apply every attack to every answer, one at a time.

    The result of an attack on an answer depends on the seed, the record and the attack alone,
    except for what it takes from other records: sentences of the same domain, drugs and PMIDs.

    Args:
        records: Whole answers; ids are unique.
        attacks: None for all of them.
        pools: Which texts are inserted: those for fitting a judge or those for auditing one.
        seed: The seed of all draws.
        retracted: PMIDs of retracted articles; without them, the attack that cites one is left out.
        rephrase: Paraphrases a sentence, for redundant sentences; None for rules.
        among: The records that supply sentences of the same domain, drugs and PMIDs, so that the
            damage does not depend on how many answers are damaged; None for `records`.

    Returns:
        Empty without a record. An answer without a sentence is unchanged by all attacks.
    """
    chosen = [a for a in (ATTACKS if attacks is None else attacks) if retracted or a != RETRACTED]
    neighbours = Neighbours(records if among is None else among)
    pmids = sorted(retracted)
    answers: list[DamagedAnswer] = []
    n_unchanged = {attack.name: 0 for attack in chosen}
    for record in records:
        whole = cut(record)
        for attack in chosen:
            rng = random.Random(f"{seed}:{record.id}:{attack.name}")
            material = Material(record, rng, pools, neighbours, pmids, rephrase)
            damage = attack.apply(whole, material) if whole.places else None
            if damage is None or damage.answer.joined() == record.answer:
                n_unchanged[attack.name] += 1
            else:
                answers.append(_damaged_answer(record, attack, damage))
    return Damaged(tuple(answers), n_unchanged)


def _damaged_answer(record: Record, attack: Attack, damage: Damage) -> DamagedAnswer:
    labels = {"attack": attack.name} | ({"pool": damage.pool} if damage.pool else {})
    prefix = "rubric."
    update = {
        "id": f"{record.id}~{attack.name}",
        "answer": damage.answer.joined(),
        "rubrics": tuple(t.removeprefix(prefix) for t in attack.targets if t.startswith(prefix)),
        "metadata": record.metadata | labels,
    }
    return DamagedAnswer(
        record=record.model_copy(update=update),
        original=record.id,
        attack=attack.name,
        family=attack.family,
        severity=attack.severity,
        targets=attack.targets,
        sentences=damage.answer.changed_sentences(record.sources),
    )
