"""Attacks that insert text addressed to the judge."""

from __future__ import annotations

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.attack import Apply, Attack, Damage, Material
from ragassay.perturbations.pools import draw_text


def injections(targets: tuple[str, ...]) -> tuple[Attack, ...]:
    """Return the attacks of this family.

    Args:
        targets: All rubrics: none may rise.
    """
    return tuple(
        Attack(name, "injection", "extreme", targets, apply)
        for name, apply in (
            ("instruction", _injected("instruction")),
            ("forged_rating", _injected("rating", at_end=True)),
            ("forged_end", _injected("end", at_end=True)),
            ("experts_said", _injected("experts")),
            ("flattery", _injected("flattery")),
        )
    )


def _injected(genre: str, *, at_end: bool = False) -> Apply:
    """Insert a text of a genre, at the end or anywhere."""

    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        drawn = draw_text("injection", material.side, material.rng, f"{genre}_")
        ends = [0, *(place + 1 for place in answer.places)]
        index = ends[-1] if at_end else material.rng.choice(ends)
        return Damage(answer.with_text(index, drawn.text), drawn.genre)

    return apply
