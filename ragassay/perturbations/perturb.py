"""All attacks in the order of reports, answers perturbed by them, and misleading ratings."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragassay.errors import InputError
from ragassay.perturbations.attack import (
    Attack,
    Material,
    Neighbours,
    Perturbation,
    Rephrase,
    cut_answer,
)
from ragassay.perturbations.clinical import CLINICAL, RETRACTED
from ragassay.perturbations.lexicon import Side
from ragassay.perturbations.sentence_attacks import ADDED, ORDER, injections
from ragassay.perturbations.wording_attacks import CONNECTIVES, REDUNDANCY
from ragassay.records import PerturbedAnswer, Record

_RUBRIC = (*ADDED, *ORDER, *CONNECTIVES, *REDUNDANCY)
_ALL_RUBRICS = tuple(dict.fromkeys(target for attack in _RUBRIC for target in attack.targets))

ATTACKS: tuple[Attack, ...] = (*_RUBRIC, *CLINICAL, *injections(_ALL_RUBRICS))


@dataclass(frozen=True)
class PerturbedAnswers:
    """The perturbed answers, by record, then by attack, in the given order.

    `n_unchanged` says for each attack how many answers it left unchanged, because they lack a
    connective, a number, a second sentence; those are not among `answers`.
    """

    answers: tuple[PerturbedAnswer, ...]
    n_unchanged: dict[str, int] = field(default_factory=dict)


def perturb_answers(
    records: Sequence[Record],
    *,
    attacks: Sequence[Attack] | None = None,
    pools: Side = "audit",
    seed: int = 0,
    retracted: Collection[str] = (),
    rephrase: Rephrase | None = None,
    among: Sequence[Record] | None = None,
) -> PerturbedAnswers:
    """Apply every attack to every answer, one at a time.

    The result of an attack on an answer depends on the seed, the record and the attack alone,
    except for what it takes from other records: sentences of the same domain, drugs and PMIDs.

    Args:
        records: Unperturbed answers; ids are unique.
        attacks: None for all of them.
        pools: Which texts are inserted: those for fitting a judge or those for auditing one.
        seed: The seed of all draws.
        retracted: PMIDs of retracted articles; without them, the attack that cites one is left out.
        rephrase: Paraphrases a sentence, for redundant sentences; None for rules.
        among: The records that supply sentences of the same domain, drugs and PMIDs, so that the
            perturbation does not depend on how many answers are perturbed; None for `records`.

    Returns:
        Empty without a record. An answer without a sentence is unchanged by all attacks.
    """
    chosen = [a for a in (ATTACKS if attacks is None else attacks) if retracted or a != RETRACTED]
    neighbours = Neighbours(records if among is None else among)
    pmids = sorted(retracted)
    answers: list[PerturbedAnswer] = []
    n_unchanged = {attack.name: 0 for attack in chosen}
    for record in records:
        unperturbed = cut_answer(record)
        for attack in chosen:
            rng = random.Random(f"{seed}:{record.id}:{attack.name}")
            material = Material(record, rng, pools, neighbours, pmids, rephrase)
            perturbation = attack.apply(unperturbed, material) if unperturbed.places else None
            if perturbation is None or perturbation.answer.join_pieces() == record.answer:
                n_unchanged[attack.name] += 1
            else:
                answers.append(_perturbed_answer(record, attack, perturbation))
    return PerturbedAnswers(tuple(answers), n_unchanged)


def _perturbed_answer(
    record: Record, attack: Attack, perturbation: Perturbation
) -> PerturbedAnswer:
    labels = {"attack": attack.name} | ({"pool": perturbation.pool} if perturbation.pool else {})
    prefix = "rubric."
    update = {
        "id": f"{record.id}~{attack.name}",
        "answer": perturbation.answer.join_pieces(),
        "rubrics": tuple(t.removeprefix(prefix) for t in attack.targets if t.startswith(prefix)),
        "metadata": record.metadata | labels,
    }
    return PerturbedAnswer(
        record=record.model_copy(update=update),
        original=record.id,
        attack=attack.name,
        family=attack.family,
        severity=attack.severity,
        targets=attack.targets,
        sentences=perturbation.answer.changed_sentences(record.sources),
    )


Inversion = Literal["extreme", "mirror"]
"""How a rating is turned over: to the opposite end of the scale, or to its mirror image."""


def mode_rating(ratings: Sequence[int]) -> int:
    """Return the rating that most raters gave.

    Where all differ the paper takes the highest; here that holds for every tie of modes. (Chaudhary
    et al., Towards Understanding the Robustness of LLM-based Evaluations under Perturbations,
    section 3.3.)

    Raises:
        InputError: There is no rating.

    Example:
        >>> mode_rating([2, 2, 5]), mode_rating([1, 3, 4]), mode_rating([1, 1, 4, 4])
        (2, 4, 4)
    """
    if not ratings:
        raise InputError("No rating was given: the mode needs at least one rater.")
    counts = Counter(ratings)
    return max(counts, key=lambda rating: (counts[rating], rating))


def perturbed_rating(
    ratings: Sequence[int], low: int, high: int, inversion: Inversion = "extreme"
) -> int:
    """Turn the mode of people's ratings over, to mislead a judge.

    Equation 1 of Chaudhary et al. (section 3.3) is missing in the published text. What it says of
    it: the mode of the experts' ratings is determined, the highest rating where all three differ;
    the perturbed rating "is not simply the mode", it "inverts the rating scale based on the mode's
    value to emphasize edge cases"; it "inverts low and high ratings"; and it is made in the same
    way on every scale (0 to 1, 1 to 3 and 1 to 5). Both readings of this:

    - extreme: the opposite end of the scale, its top for a low mode and its bottom for a high one.
      A mode in the middle counts as low: 3 of 1 to 5 becomes 5. It never is the mode itself.
    - mirror: low + high - mode: 2 of 1 to 5 becomes 4, and 3 stays 3, which misleads nobody.

    They agree at the ends of a scale, and so on 0 to 1 always.

    Args:
        ratings: The raters' ratings of one answer on one metric, each from low to high.
        low: The scale's lowest rating.
        high: The scale's highest rating.
        inversion: Which of the readings.

    Raises:
        InputError: There is no rating, one lies outside the scale, or the scale is empty.

    Example:
        >>> perturbed_rating([1, 2, 2], 1, 5), perturbed_rating([5, 4, 4], 1, 5)
        (5, 1)
        >>> perturbed_rating([1, 2, 2], 1, 5, "mirror"), perturbed_rating([3, 3, 4], 1, 5, "mirror")
        (4, 3)
        >>> perturbed_rating([3, 3, 4], 1, 5), perturbed_rating([0, 0, 1], 0, 1)
        (5, 1)
    """
    if low >= high:
        raise InputError(f"A scale needs a lowest rating below its highest, not {low} to {high}.")
    outside = [rating for rating in ratings if not low <= rating <= high]
    if outside:
        raise InputError(f"Rating {outside[0]} is outside the scale of {low} to {high}.")
    mode = mode_rating(ratings)
    if inversion == "mirror":
        return low + high - mode
    return high if 2 * mode <= low + high else low
