"""Apply attacks to answers, and invert ratings to mislead a judge."""

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
from ragassay.perturbations.sentence_attacks import ADDED, ORDER, build_injections
from ragassay.perturbations.wording_attacks import CONNECTIVES, REDUNDANCY
from ragassay.records import PerturbedAnswer, Record

_RUBRIC = (*ADDED, *ORDER, *CONNECTIVES, *REDUNDANCY)
_ALL_RUBRICS = tuple(dict.fromkeys(target for attack in _RUBRIC for target in attack.targets))

ATTACKS: tuple[Attack, ...] = (*_RUBRIC, *CLINICAL, *build_injections(_ALL_RUBRICS))


@dataclass(frozen=True)
class PerturbedAnswers:
    """Perturbed answers.

    Attributes:
        answers: Perturbed answers, ordered by record and then by attack.
        n_unchanged: Number of answers that each attack could not change, for example because they
            contain no number. The unchanged answers are not in `answers`.
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
    """Apply each attack to each answer separately.

    The result depends only on the seed, the record, the attack and the records in `among`.
    Answers without a sentence are never changed.

    Args:
        records: Unperturbed answers with unique ids.
        pools: Whether inserted texts come from the pool for fitting or for auditing judges.
        retracted: PMIDs of retracted articles. If empty, no attack cites a retracted article.
        rephrase: Paraphraser for redundant sentences. Without a paraphraser, rules paraphrase the
            sentences.
        among: Records that supply sentences and PMIDs for the attacks. None means `records`.
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
                answers.append(_build_perturbed_answer(record, attack, perturbation))
    return PerturbedAnswers(tuple(answers), n_unchanged)


def _build_perturbed_answer(
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
        sentences=perturbation.answer.find_changed_sentences(record.sources),
    )


Inversion = Literal["extreme", "mirror"]
"""How to invert a rating: to the opposite end of the scale, or to its mirror image."""


def find_mode_rating(ratings: Sequence[int]) -> int:
    """Return the most frequent rating, or the highest if several are equally frequent.

    The method follows Chaudhary et al., Towards Understanding the Robustness of LLM-based
    Evaluations under Perturbations, section 3.3. The paper defines ties only for three different
    ratings.

    Raises:
        InputError: If `ratings` is empty.

    Example:
        >>> find_mode_rating([2, 2, 5]), find_mode_rating([1, 3, 4]), find_mode_rating([1, 1, 4, 4])
        (2, 4, 4)
    """
    if not ratings:
        raise InputError("`ratings` is empty; pass at least one rating.")
    counts = Counter(ratings)
    return max(counts, key=lambda rating: (counts[rating], rating))


def invert_rating(
    ratings: Sequence[int], low: int, high: int, inversion: Inversion = "extreme"
) -> int:
    """Invert the mode of human ratings to mislead a judge.

    The published paper of Chaudhary et al. lacks equation 1 in section 3.3. The text says that the
    perturbed rating "is not simply the mode" but "inverts the rating scale based on the mode's
    value to emphasize edge cases", on scales of 0 to 1, 1 to 3 and 1 to 5. The text allows two
    inversions, which agree at both ends of a scale:

    - extreme: the highest rating if the mode is low, and the lowest rating if the mode is high. A
      mode in the middle counts as low. On 1 to 5, 3 becomes 5.
    - mirror: low + high - mode. On 1 to 5, 2 becomes 4 and 3 is unchanged.

    Raises:
        InputError: If there are no ratings, a rating is outside the scale, or `low` is not below
            `high`.

    Example:
        >>> invert_rating([1, 2, 2], 1, 5), invert_rating([5, 4, 4], 1, 5)
        (5, 1)
        >>> invert_rating([1, 2, 2], 1, 5, "mirror"), invert_rating([3, 3, 4], 1, 5, "mirror")
        (4, 3)
        >>> invert_rating([3, 3, 4], 1, 5), invert_rating([0, 0, 1], 0, 1)
        (5, 1)
    """
    if low >= high:
        raise InputError(f"Invalid scale of {low} to {high}: low must be less than high.")
    outside = [rating for rating in ratings if not low <= rating <= high]
    if outside:
        raise InputError(f"Rating {outside[0]} is outside the scale of {low} to {high}.")
    mode = find_mode_rating(ratings)
    if inversion == "mirror":
        return low + high - mode
    return high if 2 * mode <= low + high else low
