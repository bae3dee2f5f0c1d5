"""Seeded perturbations of answers, and misleading ratings for judges."""

from ragassay.perturbations.attack import Attack, Rephrase
from ragassay.perturbations.lexicon import Side
from ragassay.perturbations.perturb import ATTACKS, mode_rating, perturb_answers, perturbed_rating

__all__ = [
    "ATTACKS",
    "Attack",
    "Rephrase",
    "Side",
    "mode_rating",
    "perturb_answers",
    "perturbed_rating",
]
