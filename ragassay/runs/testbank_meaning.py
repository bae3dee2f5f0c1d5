"""Find items of a test bank that say what another one does, and fold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragassay.formats import RubricBank
from ragassay.formats.workbench.bank_items import BankKind
from ragassay.text.questions import is_one_question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Turns texts into unit vectors, shape (n_texts, n_dimensions)."""

ALIKE = {"nuggets": 0.93, "questions": 0.7}
"""Least cosine similarity of duplicates, on vectors of all-MiniLM-L6-v2.

Nuggets: of the 35 of DL20's 540 that say what another one does by this bound, 32 do, as read.
Questions must also ask for the same in the same words, see `is_one_question`; 0.7 is the median of
all pairs on one query."""


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


def folded_banks(
    banks: Sequence[RubricBank], encode: Encode, least: float | None = None
) -> tuple[tuple[RubricBank, ...], tuple[tuple[str, str], ...]]:
    """Leave out items that say what an earlier one of their query and kind does.

    Args:
        banks: In their order; the parts of a query are compared with each other.
        encode: The embedder's.
        least: Least similarity of nuggets; see `repeats`.

    Returns:
        The banks, and the query and text of each item that was left out. The known answers of a
        folded question go to the one that stays.
    """
    groups: dict[tuple[str, BankKind], list[int]] = {}
    for i, bank in enumerate(banks):
        groups.setdefault((bank.query_id, bank.kind), []).append(i)
    result, folded = list(banks), list[tuple[str, str]]()
    for (query, kind), members in groups.items():
        items = [(i, item) for i in members for item in banks[i].items]
        first = repeats([item.text for _, item in items], kind, encode, least)
        folded += [(query, items[later][1].text) for later in first]
        kept = {n: item for n, (_, item) in enumerate(items) if n not in first}
        for later, n in first.items():
            both = (*kept[n].answers, *items[later][1].answers)
            kept[n] = replace(kept[n], answers=both)
        for i in members:
            own = tuple(item for n, item in kept.items() if items[n][0] == i)
            result[i] = replace(banks[i], items=own)
    return tuple(bank for bank in result if bank.items), tuple(folded)
