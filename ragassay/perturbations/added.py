"""Attacks that add a sentence from elsewhere (YESciEval, appendix B.3)."""

from __future__ import annotations

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.attack import Apply, Attack, Damage, Material, rubrics
from ragassay.perturbations.pools import PoolName, draw_text

_MISPLACED = rubrics("relevancy", "correctness", "informativeness", "coherence")


def _from_pool(pool: PoolName, inside: bool = False) -> Apply:
    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        drawn = draw_text(pool, material.side, material.rng)
        return _added(answer, drawn.text, material, inside, drawn.genre)

    return apply


def _same_domain(*, inside: bool) -> Apply:
    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        piece = material.neighbours.sentence(material.record, material.rng)
        if piece is None:
            return None
        cited = [p for p in answer.pieces if p.markers or p.citations]
        if not cited:
            return _added(answer, piece.words, material, inside)
        # It cites as its new neighbours do: otherwise it would be easy to spot.
        lender = material.rng.choice(cited)
        text = _with_marker(piece.words, lender.markers[0]) if lender.markers else piece.words
        return _added(answer, text, material, inside, citations=lender.citations)

    return apply


def _with_marker(text: str, marker: str) -> str:
    ending = text[len(text.rstrip(".!?")) :]
    return f"{text.removesuffix(ending)} {marker}{ending}"


def _added(
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
