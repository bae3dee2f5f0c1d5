"""Damage answers or mislead a judge, by pure seeded functions."""

from ragassay.perturbations.attack import Attack, Rephrase
from ragassay.perturbations.lexicon import Side
from ragassay.perturbations.perturb import (
    ATTACKS,
    Inversion,
    PerturbedAnswers,
    attacks_of,
    mode_rating,
    perturb_answers,
    perturbed_rating,
)

__all__ = [
    "ATTACKS",
    "Attack",
    "Inversion",
    "PerturbedAnswers",
    "Rephrase",
    "Side",
    "attacks_of",
    "mode_rating",
    "perturb_answers",
    "perturbed_rating",
]
