"""Say how far questions ask for the same thing (Wan et al. 2024, section 3.3 and appendix C).

As in the paper the model first says what each question is after, then how alike that is, 0 to 100.
The prompt is ours; one question may be compared with several others in one call.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fence_mark, fenced
from ragassay.agents.racar_rater import names
from ragassay.errors import UnparsableReplyError
from ragassay.prompts import load_prompts
from ragassay.records import MOST_INTENT, IntentSimilarity, QAPair, Usage

_WORDS = load_prompts().agents["intent_comparer"]
Thought = Annotated[str, StringConstraints(max_length=_WORDS.reasoning_chars)]
Similarity = Annotated[int, Field(ge=0, le=MOST_INTENT)]


@functools.lru_cache(maxsize=128)
def _signature(n: int, instruction: str) -> type[dspy.Signature]:
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
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(_signature(1, ""))

    def request(self, pair: QAPair, others: Sequence[QAPair]) -> Request:
        """Return the request to compare one pair's question with those of others.

        Args:
            pair: The pair.
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
            "question": fenced(pair.question, mark),
            **{
                name: fenced(other.question, mark)
                for name, other in zip(names("other", n), others, strict=True)
            },
        }

        def read(found: dspy.Prediction, usage: Usage) -> list[IntentSimilarity]:
            scores = [int(found[name]) for name in names("similarity", n)]
            strange = next((score for score in scores if not 0 <= score <= MOST_INTENT), None)
            if strange is not None:
                raise UnparsableReplyError(f"similarity {strange} is not between 0 and 100")
            return [
                IntentSimilarity(
                    first=pair.id,
                    second=other.id,
                    score=score,
                    usage=usage.unpaid if place else usage,
                )
                for place, (other, score) in enumerate(zip(others, scores, strict=True))
            ]

        signature = _signature(n, predictor.signature.instructions)
        return Request(signature, inputs, tuple(predictor.demos) if n == 1 else (), read, n)
