"""Rate question-answer pairs of a paper in one dimension of RACAR (Wan et al. 2024, appendix B).

As in the paper, each dimension sees what it needs: relevance the paper and the questions,
agnosticism the questions alone, completeness and accuracy paper and pairs, reasonableness paper and
answers. The prompts are ours. The paper comes first, so that all calls on it share it as a prefix.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.prompts import load_prompts
from ragassay.records import (
    RACAR_SCALE,
    Case,
    EvidenceSpan,
    QAPair,
    RacarDimension,
    RacarRating,
    Usage,
)
from ragassay.text.quotes import find_quote

RATINGS = tuple(range(RACAR_SCALE[0], RACAR_SCALE[1] + 1))
MOST_QUOTES = 3

Rating = Literal[1, 2, 3]
_WORDS = load_prompts().agents["racar_relevance"]
Reason = Annotated[str, StringConstraints(max_length=_WORDS.rationale_chars)]
Quotes = Annotated[
    list[Annotated[str, StringConstraints(max_length=_WORDS.answer_chars)]],
    Field(max_length=MOST_QUOTES),
]


def _question(pair: QAPair) -> str:
    return pair.question


def _both(pair: QAPair) -> str:
    return f"Question: {pair.question}\nAnswer: {pair.answer}"


def _answer(pair: QAPair) -> str:
    return pair.answer


SHOWN: dict[RacarDimension, Callable[[QAPair], str]] = {
    "relevance": _question,
    "agnosticism": _question,
    "completeness": _both,
    "accuracy": _both,
    "reasonableness": _answer,
}
"""What a dimension sees of a pair."""

PAPERLESS: frozenset[RacarDimension] = frozenset({"agnosticism"})
"""Dimensions that do not see the paper."""


@functools.lru_cache(maxsize=128)
def _signature(n: int, has_paper: bool, instruction: str) -> type[dspy.Signature]:
    fields: dict[str, Any] = {"context": (str, dspy.InputField())}
    fields |= {name: (str, dspy.InputField()) for name in names("pair", n)}
    for place in range(n):
        if has_paper:
            fields[names("quotes", n)[place]] = (Quotes, dspy.OutputField())
        fields[names("reason", n)[place]] = (Reason, dspy.OutputField())
        fields[names("rating", n)[place]] = (Rating, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="RatePairs")


def names(stem: str, n: int) -> list[str]:
    """Return the names of n fields of a kind: numbered from 1 where there are several."""
    return [stem] if n == 1 else [f"{stem}_{place}" for place in range(1, n + 1)]


class RacarRater(Agent):
    """An agent that rates pairs in one dimension.

    Args:
        dimension: The dimension.
    """

    name = "racar_relevance"

    def __init__(self, dimension: RacarDimension) -> None:
        self.dimension: RacarDimension = dimension
        super().__init__(_signature(1, dimension not in PAPERLESS, ""), f"racar_{dimension}")

    def request(self, case: Case, pairs: Sequence[QAPair]) -> Request:
        """Return the request to rate several pairs of a case at once.

        Args:
            case: The case; its source is the paper.
            pairs: At least one.

        Returns:
            The request; its reply is read as one rating a pair. The call's usage counts with the
            first.
        """
        predictor: Any = self.predict
        n, has_paper = len(pairs), self.dimension not in PAPERLESS
        signature = _signature(n, has_paper, predictor.signature.instructions)
        mark = mark_of(case)
        shown = [fenced(SHOWN[self.dimension](pair), mark) for pair in pairs]

        def read(found: dspy.Prediction, usage: Usage) -> list[RacarRating]:
            fields = zip(*(names(stem, n) for stem in ("quotes", "reason", "rating")), strict=True)
            return [
                self._rating(case, pair, found, field, usage.unpaid if place else usage)
                for place, (pair, field) in enumerate(zip(pairs, fields, strict=True))
            ]

        context = case.context if has_paper else load_prompts().context.pairs
        inputs = {"context": context} | dict(zip(names("pair", n), shown, strict=True))
        demos = tuple(predictor.demos) if n == 1 else ()
        return Request(signature, inputs, demos, read, n_parts=n)

    def _rating(
        self,
        case: Case,
        pair: QAPair,
        found: dspy.Prediction,
        fields: tuple[str, str, str],
        usage: Usage,
    ) -> RacarRating:
        quotes, reason, name = fields
        rating: int = found[name]
        weights = choice_distribution(found.get("logprobs"), name, [str(r) for r in RATINGS])
        mean = sum(int(label) * share for label, share in weights.items()) if weights else rating
        return RacarRating(
            pair=pair.id,
            dimension=self.dimension,
            rating=rating,
            score=round(mean, 4),
            reason=found[reason].strip(),
            evidence=_spans(found.get(quotes) or (), case),
            confidence=round(weights[str(rating)], 4) if weights else None,
            entropy_bits=rounded_bits(weights.values() if weights else None),
            usage=usage,
        )


def _spans(quotes: Sequence[str], case: Case) -> tuple[EvidenceSpan, ...]:
    """Return the places of the paper that are quoted, each once."""
    (paper,) = case.sources
    places = dict.fromkeys(find_quote(quote, paper.text) for quote in quotes)
    return tuple(
        EvidenceSpan(
            document=paper.id, start=start, end=end, text=paper.text[start:end], title=paper.title
        )
        for start, end in filter(None, places)
    )
