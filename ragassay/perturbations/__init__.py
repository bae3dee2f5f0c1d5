"""Seeded perturbations of answers, and misleading ratings for judges."""

from ragassay.perturbations.attack import Attack, Rephrase
from ragassay.perturbations.lexicon import Side
from ragassay.perturbations.perturb import ATTACKS, find_mode_rating, invert_rating, perturb_answers

__all__ = [
    "ATTACKS",
    "Attack",
    "Rephrase",
    "Side",
    "find_mode_rating",
    "invert_rating",
    "perturb_answers",
]
