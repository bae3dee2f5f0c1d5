"""Which items of a test bank say what another one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ragassay.formats.workbench.banks import BankKind
from ragassay.text.questions import is_one_question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Turns texts into unit vectors, shape (n_texts, n_dimensions)."""

ALIKE = {"nuggets": 0.93, "questions": 0.7}
"""Least cosine similarity of duplicates, on vectors of all-MiniLM-L6-v2.

Nuggets: of the closest 76 pairs of DL20's on one query (0.926 and up), 5 say two things. Questions
must also ask for the same in the same words, see `is_one_question`; 0.7 is the median of all pairs
on one query."""


def repeats(
    texts: Sequence[str], kind: BankKind, encode: Encode, least: float | None = None
) -> dict[int, int]:
    """Return the texts that say what an earlier one does: position -> the first one's position.

    Args:
        texts: Of one query.
        kind: Whether they are nuggets or questions.
        encode: The embedder's.
        least: Least similarity of nuggets; by default that of `ALIKE`.
    """
    if len(texts) < 2:
        return {}
    plain = [" ".join(text.casefold().split()).strip(" .?!") for text in texts]
    vectors = encode(texts)
    alike = vectors @ vectors.T
    bound = ALIKE[kind] if kind == "questions" or least is None else least
    found: dict[int, int] = {}
    for later in range(1, len(texts)):
        for first in range(later):
            if first in found:
                continue
            is_close = alike[later, first] >= bound and (
                kind == "nuggets" or is_one_question(texts[first], texts[later])
            )
            if plain[first] == plain[later] or is_close:
                found[later] = first
                break
    return found
