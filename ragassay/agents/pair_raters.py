"""Rate question-answer pairs with RACAR and compare questions (Wan et al. 2024, 3.3)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import fence_mark, fence_text, find_fence_mark
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


def _format_pair(pair: QAPair) -> str:
    return f"Question: {pair.question}\nAnswer: {pair.answer}"


SHOWN: dict[RacarDimension, Callable[[QAPair], str]] = {
    "relevance": lambda pair: pair.question,
    "agnosticism": lambda pair: pair.question,
    "completeness": _format_pair,
    "accuracy": _format_pair,
    "reasonableness": lambda pair: pair.answer,
}
"""For each dimension, the function that returns the pair's text for the prompt."""

PAPERLESS: frozenset[RacarDimension] = frozenset({"agnosticism"})
"""Dimensions whose prompts do not include the paper."""


@functools.lru_cache(maxsize=128)
def _build_signature(n: int, has_paper: bool, instruction: str) -> type[dspy.Signature]:
    fields: dict[str, Any] = {"context": (str, dspy.InputField())}
    fields |= {name: (str, dspy.InputField()) for name in build_field_names("pair", n)}
    outputs = zip(
        build_field_names("quotes", n),
        build_field_names("reason", n),
        build_field_names("rating", n),
        strict=True,
    )
    for quotes, reason, rating in outputs:
        if has_paper:
            fields[quotes] = (Quotes, dspy.OutputField())
        fields[reason] = (Reason, dspy.OutputField())
        fields[rating] = (Rating, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="RatePairs")


def build_field_names(stem: str, n: int) -> list[str]:
    """Return `n` field names: the stem alone if `n` is 1, otherwise stem_1, stem_2 and so on."""
    return [stem] if n == 1 else [f"{stem}_{i}" for i in range(1, n + 1)]


class RacarRater(Agent):
    """Rates question-answer pairs on one RACAR dimension."""

    name = "racar_relevance"

    def __init__(self, dimension: RacarDimension) -> None:
        self.dimension: RacarDimension = dimension
        super().__init__(_build_signature(1, dimension not in PAPERLESS, ""), f"racar_{dimension}")

    def request(self, case: Case, pairs: Sequence[QAPair]) -> AgentRequest:
        """Request the ratings of several pairs at once.

        The result is a list with one rating per pair. The usage of the call is stored in the first
        rating.

        Args:
            case: Case with the paper as its source.
            pairs: One or more pairs to rate.
        """
        predictor: Any = self.predict
        n, has_paper = len(pairs), self.dimension not in PAPERLESS
        signature = _build_signature(n, has_paper, self.instructions)
        mark = find_fence_mark(case)
        shown = [fence_text(SHOWN[self.dimension](pair), mark) for pair in pairs]

        def read(reply: dspy.Prediction, usage: Usage) -> list[RacarRating]:
            fields = zip(
                *(build_field_names(stem, n) for stem in ("quotes", "reason", "rating")),
                strict=True,
            )
            return [
                self._read_rating(case, pair, reply, field, usage.unpaid if i else usage)
                for i, (pair, field) in enumerate(zip(pairs, fields, strict=True))
            ]

        context = case.context if has_paper else load_prompts().context.pairs
        inputs = {"context": context} | dict(zip(build_field_names("pair", n), shown, strict=True))
        demos = tuple(predictor.demos) if n == 1 else ()
        return AgentRequest(signature, inputs, demos, read, n_parts=n)

    def _read_rating(
        self,
        case: Case,
        pair: QAPair,
        reply: dspy.Prediction,
        fields: tuple[str, str, str],
        usage: Usage,
    ) -> RacarRating:
        quotes, reason, rating = fields
        choice = SampledChoice.from_reply(reply, rating, RATINGS)
        return RacarRating(
            pair=pair.id,
            dimension=self.dimension,
            rating=reply[rating],
            score=round(choice.mean, 4),
            reason=reply[reason].strip(),
            evidence=_find_quotes(reply.get(quotes) or (), case),
            usage=usage,
            **choice.sureness,
        )


def _find_quotes(quotes: Sequence[str], case: Case) -> tuple[EvidenceSpan, ...]:
    (paper,) = case.sources
    offsets = dict.fromkeys(find_quote(quote, paper.text) for quote in quotes)
    return tuple(
        EvidenceSpan(
            document=paper.id, start=start, end=end, text=paper.text[start:end], title=paper.title
        )
        for start, end in filter(None, offsets)
    )


_INTENT_WORDS = load_prompts().agents["intent_comparer"]
Thought = Annotated[str, StringConstraints(max_length=_INTENT_WORDS.reasoning_chars)]
Similarity = Annotated[int, Field(ge=0, le=MOST_INTENT)]


@functools.lru_cache(maxsize=128)
def _build_intent_signature(n: int, instruction: str) -> type[dspy.Signature]:
    fields: dict[str, Any] = {
        "context": (str, dspy.InputField()),
        "question": (str, dspy.InputField()),
    }
    fields |= {name: (str, dspy.InputField()) for name in build_field_names("other", n)}
    for thought, similarity in zip(
        build_field_names("thought", n), build_field_names("similarity", n), strict=True
    ):
        fields[thought] = (Thought, dspy.OutputField())
        fields[similarity] = (Similarity, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="CompareIntents")


class IntentComparer(Agent):
    """Compares the intent of a question with the intents of other questions."""

    name = "intent_comparer"
    signature = _build_intent_signature(1, "")
    wants_logprobs = False

    def request(self, pair: QAPair, others: Sequence[QAPair]) -> AgentRequest:
        """Request the similarity of one pair's question to the questions of other pairs.

        The result is a list of similarities. The usage of the call is stored in the first
        similarity.

        Args:
            others: Pairs to compare with, at least one.
        """
        predictor: Any = self.predict
        n = len(others)
        mark = fence_mark([pair.question, *(other.question for other in others)])
        inputs = {
            "context": load_prompts().context.questions,
            "question": fence_text(pair.question, mark),
            **{
                name: fence_text(other.question, mark)
                for name, other in zip(build_field_names("other", n), others, strict=True)
            },
        }

        def read(reply: dspy.Prediction, usage: Usage) -> list[IntentSimilarity]:
            scores = [int(reply[name]) for name in build_field_names("similarity", n)]
            for score in scores:
                if not 0 <= score <= MOST_INTENT:
                    raise UnparsableReplyError(f"similarity {score} is not between 0 and 100")
            return [
                IntentSimilarity(
                    first=pair.id,
                    second=other.id,
                    score=score,
                    usage=usage.unpaid if i else usage,
                )
                for i, (other, score) in enumerate(zip(others, scores, strict=True))
            ]

        signature = _build_intent_signature(n, predictor.signature.instructions)
        return AgentRequest(signature, inputs, tuple(predictor.demos) if n == 1 else (), read, n)
