"""Attacks that remove or move sentences (YESciEval, appendix B.3)."""

from __future__ import annotations

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.attack import Attack, Damage, Material, rubrics
from ragassay.perturbations.pools import draw_text


def _drop_last(answer: CutAnswer, material: Material) -> Damage | None:
    places = answer.places
    return Damage(answer.without(places[-1])) if len(places) > 1 else None


def _drop_inside(answer: CutAnswer, material: Material) -> Damage | None:
    places = answer.places
    return Damage(answer.without(material.rng.choice(places[:-1]))) if len(places) > 1 else None


def _drop_last_off_topic(answer: CutAnswer, material: Material) -> Damage | None:
    places = answer.places
    if len(places) < 2:
        return None
    drawn = draw_text("off_topic", material.side, material.rng)
    # Inserted first: the white space before the last sentence is removed with it.
    return Damage(answer.with_text(places[-1] + 1, drawn.text).without(places[-1]), drawn.genre)


def _swap_last(answer: CutAnswer, material: Material) -> Damage | None:
    places = answer.places
    if len(places) < 2:
        return None
    return Damage(answer.reordered([*places[:-2], places[-1], places[-2]]))


def _shuffle(answer: CutAnswer, material: Material) -> Damage | None:
    places = answer.places
    # The only other order of two sentences is that of swap_last, and as subtle.
    if len(places) < 3:
        return None
    order = list(places)
    while order == places:
        material.rng.shuffle(order)
    return Damage(answer.reordered(order))


ORDER: tuple[Attack, ...] = (
    Attack("drop_last", "rubric", "subtle", rubrics("completeness"), _drop_last),
    Attack("drop_inside", "rubric", "subtle", rubrics("completeness"), _drop_inside),
    Attack(
        "drop_last_off_topic", "rubric", "extreme", rubrics("completeness"), _drop_last_off_topic
    ),
    Attack("swap_last", "rubric", "subtle", rubrics("cohesion"), _swap_last),
    Attack("shuffle", "rubric", "extreme", rubrics("cohesion"), _shuffle),
)
