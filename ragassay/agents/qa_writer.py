"""Write question-answer pairs from a paper, and repair them (Wan et al. 2024, sections 3.1, 3.2).

The prompts are not those of the paper, but also request ten pairs at once. All prompts about a
paper, including RACAR prompts, start with its text, which providers can cache. The keywords, the
number of pairs and the known questions come last.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import dspy
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ragassay.agents.base import ADAPTER, Agent, AgentRequest
from ragassay.agents.context import build_paper_context, fence_mark, fence_text
from ragassay.errors import UnparsableReplyError
from ragassay.prompts import load_prompts
from ragassay.records import Document, QAPair, Usage

_WORDS = load_prompts().agents["qa_writer"]
_WORD = re.compile(r"[^\W\d_]{2}")
_CONTROL = re.compile(r"[\s\x00-\x1f]+")


def _limit_chars(n_chars: int) -> Any:
    # For models that enforce a schema. Longer replies are valid.
    return Field(json_schema_extra={"maxLength": n_chars})


def _as_strict(schema: dict[str, Any]) -> None:
    """Adapt a schema to strict mode. Replies that contain extra fields are still valid."""
    del schema["description"]
    schema["additionalProperties"] = False


class WrittenPair(BaseModel):
    """A question-answer pair in a model's reply.

    Attributes:
        quote: Text that the model claims to quote from the paper.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra=_as_strict)

    question: str = _limit_chars(_WORDS.nugget_chars)
    answer: str = _limit_chars(_WORDS.answer_chars)
    quote: str = _limit_chars(_WORDS.restatement_chars)

    @model_validator(mode="before")
    @classmethod
    def _add_missing_quote(cls, raw: Any) -> Any:
        return {"quote": "", **raw} if isinstance(raw, dict) else raw

    @property
    def is_complete(self) -> bool:
        """Return whether the question contains a word and the answer is not empty."""
        return bool(_WORD.search(self.question) and self.answer.strip())


@dataclass(frozen=True)
class WrittenPairs:
    """The question-answer pairs in a reply.

    Attributes:
        pairs: Question-answer pairs, in the order of the reply. `PairRepairer` returns None for
            pairs it could not repair.
        n_empty: Number of dropped pairs without a question or an answer.
    """

    pairs: tuple[WrittenPair | None, ...]
    n_empty: int
    usage: Usage


@dataclass(frozen=True)
class FaultyPair:
    """A question-answer pair to repair, with descriptions of its faults."""

    question: str
    answer: str
    faults: tuple[str, ...]


@functools.lru_cache(maxsize=64)
def _build_signature(instruction: str, least: int, most: int, *names: str) -> type[dspy.Signature]:
    pairs: Any = Annotated[list[WrittenPair], Field(min_length=least, max_length=most)]
    fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in ("context", *names)}
    fields["pairs"] = (pairs, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="WritePairs")


def build_shared_context(paper: Document) -> str:
    """Return the context shared by all prompts about a paper or a part of a paper."""
    return build_paper_context([paper], ())


class QAWriter(Agent):
    """Writes all question-answer pairs for a paper, or for a part of a paper, in one call."""

    name = "qa_writer"
    signature = _build_signature("", 1, 10, "keywords", "number")
    wants_logprobs = False

    def request(
        self, paper: Document, keywords: Sequence[str], number: int, known: Sequence[str] = ()
    ) -> AgentRequest:
        """Request new pairs. The result is `WrittenPairs`.

        Args:
            known: Existing questions to avoid.
        """
        signature, inputs = _build_request(self.instructions, keywords, number, known)
        context = build_shared_context(paper)
        return self.build_request(
            _build_reader(number), signature, number, context=context, **inputs
        )


class PairRepairer(Agent):
    """Repairs all faulty pairs of a paper in one call."""

    name = "qa_mender"
    signature = _build_signature("", 1, 10, "faulty")
    wants_logprobs = False

    def request(self, paper: Document, pairs: Sequence[FaultyPair]) -> AgentRequest:
        """Request repaired pairs. The result is `WrittenPairs` with one entry per pair.

        Args:
            pairs: One or more pairs to repair.
        """
        n = len(pairs)
        signature = _build_signature(self.instructions, n, n, "faulty")

        def read(reply: dspy.Prediction, usage: Usage) -> WrittenPairs:
            if len(reply.pairs) != n:
                raise UnparsableReplyError(f"expected {n} pairs, got {len(reply.pairs)}")
            repaired = tuple(
                _clean_pair(pair) if pair.is_complete else None for pair in reply.pairs
            )
            return WrittenPairs(repaired, repaired.count(None), usage)

        shown = "\n\n".join(map(_describe_faults, pairs))
        context = build_shared_context(paper)
        return self.build_request(read, signature, n, context=context, faulty=_add_own_fence(shown))


class SelfQuestioner(Agent):
    """Writes pairs for one paragraph, as a baseline (Fang et al. 2024)."""

    name = "self_questioner"
    signature = _build_signature("", 1, 10, "number")
    wants_logprobs = False

    def request(self, paragraph: str, number: int = 5) -> AgentRequest:
        """Request pairs for a paragraph. Fang et al. request five pairs."""
        signature = _build_signature(self.instructions, 1, number, "number")
        context = "\n".join((load_prompts().context.passage, _add_own_fence(paragraph)))
        read = _build_reader(number)
        return self.build_request(read, signature, number, context=context, number=str(number))


def render_generator_task(keywords: Sequence[str], number: int) -> str:
    """Return the part of the `QAWriter` prompt after the paper, for `number` pairs."""
    return ADAPTER.render_task(*_build_request(_WORDS.task, keywords, number, ()))


def build_generator_reply(pairs: Sequence[QAPair]) -> dict[str, list[dict[str, str]]]:
    """Return the expected reply, a JSON object that contains these pairs."""
    written = [
        WrittenPair(question=pair.question, answer=pair.answer, quote=" ".join(pair.sources[:1]))
        for pair in pairs
    ]
    return {"pairs": [pair.model_dump() for pair in written]}


def _build_request(
    instruction: str, keywords: Sequence[str], number: int, known: Sequence[str]
) -> tuple[type[dspy.Signature], dict[str, str]]:
    task = " ".join((instruction, _WORDS.additions["known"])) if known else instruction
    inputs = {"keywords": _add_own_fence("; ".join(keywords)), "number": str(number)}
    if known:
        inputs["known"] = _add_own_fence(
            "\n".join(f"- {_replace_controls(text)}" for text in known)
        )
    return _build_signature(task, 1, number, *inputs), inputs


def _build_reader(number: int) -> Any:
    def read(reply: dspy.Prediction, usage: Usage) -> WrittenPairs:
        complete = [pair for pair in reply.pairs if pair.is_complete]
        if not complete:
            raise UnparsableReplyError(f"none of the {len(reply.pairs)} pairs has text")
        kept = tuple(map(_clean_pair, complete[:number]))
        return WrittenPairs(kept, len(reply.pairs) - len(complete), usage)

    return read


def _describe_faults(pair: FaultyPair) -> str:
    faults = "".join(f"\n- {_replace_controls(fault)}" for fault in pair.faults)
    return f"Question: {pair.question}\nAnswer: {pair.answer}\nFaults:{faults}"


def _add_own_fence(text: str) -> str:
    # The mark does not depend on the paper, so that the text after the paper is always the same.
    return fence_text(text, fence_mark([text]))


def _clean_pair(pair: WrittenPair) -> WrittenPair:
    return WrittenPair(
        **{name: _replace_controls(text) for name, text in pair.model_dump().items()}
    )


def _replace_controls(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()
