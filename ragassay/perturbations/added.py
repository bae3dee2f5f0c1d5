"""Attacks that add a sentence from elsewhere (YESciEval, appendix B.3)."""

from __future__ import annotations

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.attack import Apply, Attack, Damage, Material, rubrics
from ragassay.perturbations.pools import PoolName, draw_text

_MISPLACED = rubrics("relevancy", "correctness", "informativeness", "coherence")


def from_pool(pool: PoolName, *, inside: bool = False) -> Apply:
    """Adds a text of a pool.

    Args:
        pool: Which.
        inside: Between two sentences, rather than at the end.
    """

    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        drawn = draw_text(pool, material.side, material.rng)
        return _added(answer, drawn.text, material, inside, drawn.genre)

    return apply


def _same_domain(*, inside: bool) -> Apply:
    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        piece = material.neighbours.sentence(material.record, material.rng)
        return _added(answer, piece.words, material, inside) if piece else None

    return apply


def _added(
    answer: CutAnswer, text: str, material: Material, inside: bool, pool: str = ""
) -> Damage | None:
    places = answer.places
    if not inside:
        return Damage(answer.with_text(places[-1] + 1, text), pool)
    # Before any sentence but the first: an answer that opens off the subject gives itself away.
    if len(places) < 2:
        return None
    return Damage(answer.with_text(material.rng.choice(places[1:]), text), pool)


ADDED: tuple[Attack, ...] = (
    Attack("off_topic", "rubric", "extreme", _MISPLACED, from_pool("off_topic")),
    Attack(
        "off_topic_inside", "rubric", "extreme", _MISPLACED, from_pool("off_topic", inside=True)
    ),
    Attack("same_domain", "rubric", "subtle", _MISPLACED, _same_domain(inside=False)),
    Attack("same_domain_inside", "rubric", "subtle", _MISPLACED, _same_domain(inside=True)),
    Attack("blog", "rubric", "subtle", rubrics("readability"), from_pool("blog")),
    Attack(
        "blog_inside", "rubric", "subtle", rubrics("readability"), from_pool("blog", inside=True)
    ),
    Attack("tweet", "rubric", "extreme", rubrics("readability"), from_pool("tweet")),
    Attack(
        "tweet_inside", "rubric", "extreme", rubrics("readability"), from_pool("tweet", inside=True)
    ),
)
