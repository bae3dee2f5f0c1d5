"""Damage answers or mislead a judge, by pure seeded functions."""

from ragassay.perturbations.attack import Attack, Rephrase
from ragassay.perturbations.attacks import ATTACKS, attacks_of
from ragassay.perturbations.damage import Damaged, damage_answers
from ragassay.perturbations.misleading import Inversion, mode_rating, perturbed_rating
from ragassay.perturbations.pools import Side

__all__ = [
    "ATTACKS",
    "Attack",
    "Damaged",
    "Inversion",
    "Rephrase",
    "Side",
    "attacks_of",
    "damage_answers",
    "mode_rating",
    "perturbed_rating",
]
