"""Citation recall and precision as ALCE defines them (Gao et al. 2023, arXiv 2305.14627, 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.metrics.scores import share
from ragassay.records import Score

RECALL, PRECISION = "attribution.recall", "attribution.precision"

Support = bool | None
"""Whether documents support a sentence; None where nobody could tell."""


@dataclass(frozen=True)
class CitingSentence:
    """The documents that one sentence cites, and whether they support it.

    Attributes:
        alone: By document, whether it supports the sentence alone.
        together: Whether all of them do.
        without: By document, whether the others do without it; only of those that do not support
            alone it is asked.
        has_invalid: Whether another citation points nowhere.
    """

    alone: Mapping[str, Support] = field(default_factory=dict[str, Support])
    together: Support = None
    without: Mapping[str, Support] = field(default_factory=dict[str, Support])
    has_invalid: bool = False

    @property
    def is_recalled(self) -> Support:
        """True if its citations support it together; an invalid one spoils them."""
        return False if self.has_invalid or not self.alone else self.together

    @property
    def is_told(self) -> bool:
        """Return whether anything that was asked of it could be told."""
        asked = (*self.alone.values(), self.together, *self.without.values())
        return any(value is not None for value in asked)

    def is_precise(self, document: str) -> Support:
        """Return whether a citation is needed: alone it supports, or the others fail without it."""
        if not self.is_recalled or len(self.alone) == 1 or self.alone[document]:
            return self.is_recalled
        spared = self.without.get(document)
        if spared is False:
            return True
        return None if spared is None or self.alone[document] is None else False


def alce_scores(sentences: Sequence[CitingSentence], judge: str) -> dict[str, Score]:
    """Score an answer's citations.

    Recall is the share of sentences that their citations support together; one without citations,
    or with an invalid one, is not. Precision is the share of citations that are of such a sentence
    and support it alone, or without which the others do not support it. An answer that cites
    nothing has 0 of both.

    ALCE's program leaves the citations of a sentence with an invalid one out of precision; here
    they count as not precise, the invalid one too.

    Args:
        sentences: All of the answer.
        judge: Who compared.

    Returns:
        Keyed "attribution.recall" and "attribution.precision"; an unscored sentence or citation is
        left out, counted and bounded. Where nothing that was asked could be told, all are.
    """
    recalled = [one.is_recalled for one in sentences]
    precise: list[Support] = [one.is_precise(name) for one in sentences for name in one.alone]
    precise += [False for one in sentences if one.has_invalid]
    is_told = any(one.is_told for one in sentences)
    found = {
        RECALL: _share(RECALL, recalled, judge, is_told),
        PRECISION: _share(PRECISION, precise, judge, is_told),
    }
    if sentences and not precise:
        nothing = {"value": 0.0, "decided": 0.0, "worst": 0.0, "best": 0.0}
        found[PRECISION] = found[PRECISION].model_copy(update=nothing)
    return found


def _share(key: str, values: Sequence[Support], judge: str, is_told: bool) -> Score:
    known = [value for value in values if value is not None]
    n_unscored = len(values) - len(known)
    return share(key, sum(known), len(known), n_unscored, judge, is_told=is_told)
