"""Damage answers or mislead a judge, by pure seeded functions."""

from ragassay.perturbations.attack import Attack, Rephrase
from ragassay.perturbations.damage import (
    ATTACKS,
    damage_answers,
    mode_rating,
    perturbed_rating,
)
from ragassay.perturbations.lexicon import Side

__all__ = [
    "ATTACKS",
    "Attack",
    "Rephrase",
    "Side",
    "damage_answers",
    "mode_rating",
    "perturbed_rating",
]
