"""Attacks that add, drop or move sentences, or inject instructions (YESciEval, appendix B.3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ragassay.perturbations.attack import (
    Attack,
    CutAnswer,
    Material,
    Perturbation,
    build_rubric_keys,
)
from ragassay.perturbations.lexicon import PoolName, draw_text
from ragassay.records import Severity

_MISPLACED = build_rubric_keys("relevancy", "correctness", "informativeness", "coherence")


def _add_from_pool(
    answer: CutAnswer, material: Material, *, inside: bool, pool: PoolName
) -> Perturbation | None:
    drawn = draw_text(pool, material.side, material.rng)
    return _add_sentence(answer, drawn.text, material, inside, drawn.genre)


def _add_same_domain(answer: CutAnswer, material: Material, *, inside: bool) -> Perturbation | None:
    piece = material.neighbours.draw_sentence(material.record, material.rng)
    if piece is None:
        return None
    text, citations = piece.words, ()
    citing = [p for p in answer.pieces if p.markers or p.citations]
    if citing:
        # Without a citation in the same style, the sentence would be easy to spot.
        model = material.rng.choice(citing)
        citations = model.citations
        if model.markers:
            end = len(text.rstrip(".!?"))
            text = f"{text[:end]} {model.markers[0]}{text[end:]}"
    return _add_sentence(answer, text, material, inside, citations=citations)


def _add_sentence(
    answer: CutAnswer,
    text: str,
    material: Material,
    inside: bool,
    pool: str = "",
    citations: tuple[str, ...] = (),
) -> Perturbation | None:
    places = answer.places
    if not inside:
        return Perturbation(answer.with_text(places[-1] + 1, text, citations), pool)
    # Not before the first sentence, because an off-topic opening is easy to spot.
    if len(places) < 2:
        return None
    return Perturbation(answer.with_text(material.rng.choice(places[1:]), text, citations), pool)


_READABLE = build_rubric_keys("readability")

_WAYS_TO_ADD: tuple[tuple[str, Severity, tuple[str, ...], Callable[..., Perturbation | None]], ...]
_WAYS_TO_ADD = (
    ("off_topic", "extreme", _MISPLACED, partial(_add_from_pool, pool="off_topic")),
    ("same_domain", "subtle", _MISPLACED, _add_same_domain),
    ("blog", "subtle", _READABLE, partial(_add_from_pool, pool="blog")),
    ("tweet", "extreme", _READABLE, partial(_add_from_pool, pool="tweet")),
)

ADDED: tuple[Attack, ...] = tuple(
    Attack(f"{name}{'_inside' * inside}", "rubric", severity, targets, partial(add, inside=inside))
    for name, severity, targets, add in _WAYS_TO_ADD
    for inside in (False, True)
)


def _drop(answer: CutAnswer, material: Material, *, last: bool) -> Perturbation | None:
    places = answer.places
    if len(places) < 2:
        return None
    return Perturbation(
        answer.remove_piece(places[-1] if last else material.rng.choice(places[:-1]))
    )


def _drop_last_off_topic(answer: CutAnswer, material: Material) -> Perturbation | None:
    places = answer.places
    if len(places) < 2:
        return None
    drawn = draw_text("off_topic", material.side, material.rng)
    # Insert before deleting, because deletion also removes whitespace.
    return Perturbation(
        answer.with_text(places[-1] + 1, drawn.text).remove_piece(places[-1]), drawn.genre
    )


def _swap_last(answer: CutAnswer, material: Material) -> Perturbation | None:
    places = answer.places
    if len(places) < 2:
        return None
    return Perturbation(answer.reorder([*places[:-2], places[-1], places[-2]]))


def _shuffle(answer: CutAnswer, material: Material) -> Perturbation | None:
    places = answer.places
    # With two sentences, this would be the same as swap_last.
    if len(places) < 3:
        return None
    order = list(places)
    while order == places:
        material.rng.shuffle(order)
    return Perturbation(answer.reorder(order))


_COMPLETE, _COHESIVE = build_rubric_keys("completeness"), build_rubric_keys("cohesion")

ORDER: tuple[Attack, ...] = (
    Attack("drop_last", "rubric", "subtle", _COMPLETE, partial(_drop, last=True)),
    Attack("drop_inside", "rubric", "subtle", _COMPLETE, partial(_drop, last=False)),
    Attack("drop_last_off_topic", "rubric", "extreme", _COMPLETE, _drop_last_off_topic),
    Attack("swap_last", "rubric", "subtle", _COHESIVE, _swap_last),
    Attack("shuffle", "rubric", "extreme", _COHESIVE, _shuffle),
)


def build_injections(targets: tuple[str, ...]) -> tuple[Attack, ...]:
    """Return the prompt injection attacks, which must not raise any target score."""
    return tuple(
        Attack(name, "injection", "extreme", targets, partial(_inject_text, genre, at_end))
        for name, genre, at_end in (
            ("instruction", "instruction", False),
            ("forged_rating", "rating", True),
            ("forged_end", "end", True),
            ("experts_said", "experts", False),
            ("flattery", "flattery", False),
        )
    )


def _inject_text(genre: str, at_end: bool, answer: CutAnswer, material: Material) -> Perturbation:
    drawn = draw_text("injection", material.side, material.rng, f"{genre}_")
    ends = [0, *(i + 1 for i in answer.places)]
    index = ends[-1] if at_end else material.rng.choice(ends)
    return Perturbation(answer.with_text(index, drawn.text), drawn.genre)
