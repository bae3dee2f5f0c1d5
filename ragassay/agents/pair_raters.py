"""Rate question-answer pairs by RACAR, and how similar two questions are (Wan et al. 2024, 3.3)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import fence_mark, fence_text, mark_of
from ragassay.agents.sampling import SampledChoice
from ragassay.errors import UnparsableReplyError
from ragassay.prompts import load_prompts
from ragassay.records import (
    MOST_INTENT,
    RACAR_SCALE,
    Case,
    EvidenceSpan,
    IntentSimilarity,
    QAPair,
    RacarDimension,
    RacarRating,
    Usage,
)
from ragassay.text.grounding import find_quote

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
    """An agent that rates pairs in one dimension."""

    name = "racar_relevance"

    def __init__(self, dimension: RacarDimension) -> None:
        self.dimension: RacarDimension = dimension
        super().__init__(_signature(1, dimension not in PAPERLESS, ""), f"racar_{dimension}")

    def request(self, case: Case, pairs: Sequence[QAPair]) -> AgentRequest:
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
        signature = _signature(n, has_paper, self.instructions)
        mark = mark_of(case)
        shown = [fence_text(SHOWN[self.dimension](pair), mark) for pair in pairs]

        def read(found: dspy.Prediction, usage: Usage) -> list[RacarRating]:
            fields = zip(*(names(stem, n) for stem in ("quotes", "reason", "rating")), strict=True)
            return [
                self._rating(case, pair, found, field, usage.unpaid if place else usage)
                for place, (pair, field) in enumerate(zip(pairs, fields, strict=True))
            ]

        context = case.context if has_paper else load_prompts().context.pairs
        inputs = {"context": context} | dict(zip(names("pair", n), shown, strict=True))
        demos = tuple(predictor.demos) if n == 1 else ()
        return AgentRequest(signature, inputs, demos, read, n_parts=n)

    def _rating(
        self,
        case: Case,
        pair: QAPair,
        found: dspy.Prediction,
        fields: tuple[str, str, str],
        usage: Usage,
    ) -> RacarRating:
        quotes, reason, name = fields
        chosen = SampledChoice.of(found, name, RATINGS)
        return RacarRating(
            pair=pair.id,
            dimension=self.dimension,
            rating=found[name],
            score=round(chosen.mean, 4),
            reason=found[reason].strip(),
            evidence=_spans(found.get(quotes) or (), case),
            usage=usage,
            **chosen.sureness,
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


_INTENT_WORDS = load_prompts().agents["intent_comparer"]
Thought = Annotated[str, StringConstraints(max_length=_INTENT_WORDS.reasoning_chars)]
Similarity = Annotated[int, Field(ge=0, le=MOST_INTENT)]


@functools.lru_cache(maxsize=128)
def _intent_signature(n: int, instruction: str) -> type[dspy.Signature]:
    fields: dict[str, Any] = {
        "context": (str, dspy.InputField()),
        "question": (str, dspy.InputField()),
    }
    fields |= {name: (str, dspy.InputField()) for name in names("other", n)}
    for thought, similarity in zip(names("thought", n), names("similarity", n), strict=True):
        fields[thought] = (Thought, dspy.OutputField())
        fields[similarity] = (Similarity, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="CompareIntents")


class IntentComparer(Agent):
    """An agent that compares a question with others by their intent."""

    name = "intent_comparer"
    signature = _intent_signature(1, "")
    wants_logprobs = False

    def request(self, pair: QAPair, others: Sequence[QAPair]) -> AgentRequest:
        """Return the request to compare one pair's question with those of others.

        Args:
            others: At least one.

        Returns:
            The request; its reply is read as one similarity for each of the others. The call's
            usage counts with the first.
        """
        predictor: Any = self.predict
        n = len(others)
        mark = fence_mark([pair.question, *(other.question for other in others)])
        inputs = {
            "context": load_prompts().context.questions,
            "question": fence_text(pair.question, mark),
            **{
                name: fence_text(other.question, mark)
                for name, other in zip(names("other", n), others, strict=True)
            },
        }

        def read(found: dspy.Prediction, usage: Usage) -> list[IntentSimilarity]:
            scores = [int(found[name]) for name in names("similarity", n)]
            unknown = next((score for score in scores if not 0 <= score <= MOST_INTENT), None)
            if unknown is not None:
                raise UnparsableReplyError(f"similarity {unknown} is not between 0 and 100")
            return [
                IntentSimilarity(
                    first=pair.id,
                    second=other.id,
                    score=score,
                    usage=usage.unpaid if place else usage,
                )
                for place, (other, score) in enumerate(zip(others, scores, strict=True))
            ]

        signature = _intent_signature(n, predictor.signature.instructions)
        return AgentRequest(signature, inputs, tuple(predictor.demos) if n == 1 else (), read, n)
