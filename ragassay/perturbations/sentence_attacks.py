"""Attacks that add, drop or move a sentence, or address the judge (YESciEval, appendix B.3)."""

from __future__ import annotations

from ragassay.perturbations.attack import Apply, Attack, CutAnswer, Damage, Material, rubrics
from ragassay.perturbations.lexicon import PoolName, draw_text

_MISPLACED = rubrics("relevancy", "correctness", "informativeness", "coherence")


def _from_pool(pool: PoolName, inside: bool = False) -> Apply:
    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        drawn = draw_text(pool, material.side, material.rng)
        return _add_sentence(answer, drawn.text, material, inside, drawn.genre)

    return apply


def _same_domain(*, inside: bool) -> Apply:
    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        piece = material.neighbours.sentence(material.record, material.rng)
        if piece is None:
            return None
        cited = [p for p in answer.pieces if p.markers or p.citations]
        if not cited:
            return _add_sentence(answer, piece.words, material, inside)
        # It cites as its new neighbours do: otherwise it would be easy to spot.
        lender = material.rng.choice(cited)
        text = _with_marker(piece.words, lender.markers[0]) if lender.markers else piece.words
        return _add_sentence(answer, text, material, inside, citations=lender.citations)

    return apply


def _with_marker(text: str, marker: str) -> str:
    ending = text[len(text.rstrip(".!?")) :]
    return f"{text.removesuffix(ending)} {marker}{ending}"


def _add_sentence(
    answer: CutAnswer,
    text: str,
    material: Material,
    inside: bool,
    pool: str = "",
    citations: tuple[str, ...] = (),
) -> Damage | None:
    places = answer.places
    if not inside:
        return Damage(answer.with_text(places[-1] + 1, text, citations), pool)
    # Before any sentence but the first: an answer that opens off topic is easy to spot.
    if len(places) < 2:
        return None
    return Damage(answer.with_text(material.rng.choice(places[1:]), text, citations), pool)


_READABLE = rubrics("readability")

ADDED: tuple[Attack, ...] = (
    Attack("off_topic", "rubric", "extreme", _MISPLACED, _from_pool("off_topic")),
    Attack("off_topic_inside", "rubric", "extreme", _MISPLACED, _from_pool("off_topic", True)),
    Attack("same_domain", "rubric", "subtle", _MISPLACED, _same_domain(inside=False)),
    Attack("same_domain_inside", "rubric", "subtle", _MISPLACED, _same_domain(inside=True)),
    Attack("blog", "rubric", "subtle", _READABLE, _from_pool("blog")),
    Attack("blog_inside", "rubric", "subtle", _READABLE, _from_pool("blog", True)),
    Attack("tweet", "rubric", "extreme", _READABLE, _from_pool("tweet")),
    Attack("tweet_inside", "rubric", "extreme", _READABLE, _from_pool("tweet", True)),
)


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


def injections(targets: tuple[str, ...]) -> tuple[Attack, ...]:
    """Return the attacks of this family.

    Args:
        targets: All rubrics: none may rise.
    """
    return tuple(
        Attack(name, "injection", "extreme", targets, apply)
        for name, apply in (
            ("instruction", _inject_text("instruction")),
            ("forged_rating", _inject_text("rating", at_end=True)),
            ("forged_end", _inject_text("end", at_end=True)),
            ("experts_said", _inject_text("experts")),
            ("flattery", _inject_text("flattery")),
        )
    )


def _inject_text(genre: str, *, at_end: bool = False) -> Apply:
    """Insert a text of a genre, at the end or anywhere."""

    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        drawn = draw_text("injection", material.side, material.rng, f"{genre}_")
        ends = [0, *(place + 1 for place in answer.places)]
        index = ends[-1] if at_end else material.rng.choice(ends)
        return Damage(answer.with_text(index, drawn.text), drawn.genre)

    return apply
