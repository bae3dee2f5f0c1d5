"""Write question-answer pairs from a paper, and repair them (Wan et al. 2024, sections 3.1, 3.2).

The prompts are ours. The paper comes first, in the same bytes as where RACAR is rated, so that all
calls on it share it as a prefix; keywords, number and known questions come last. The paper's own
prompt asks for ten pairs at once, as this does.
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
    # For models that enforce a schema; a longer text is still a text.
    return Field(json_schema_extra={"maxLength": n_chars})


def _as_strict(schema: dict[str, Any]) -> None:
    """Put a schema in the form that strict modes take; a reply with more is still read."""
    del schema["description"]
    schema["additionalProperties"] = False


class WrittenPair(BaseModel):
    """A pair as a model writes it.

    Attributes:
        quote: What it says to be the paper's words.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra=_as_strict)

    question: str = _limit_chars(_WORDS.nugget_chars)
    answer: str = _limit_chars(_WORDS.answer_chars)
    quote: str = _limit_chars(_WORDS.restatement_chars)

    @model_validator(mode="before")
    @classmethod
    def _needs_no_quote(cls, raw: Any) -> Any:
        return {"quote": "", **raw} if isinstance(raw, dict) else raw

    @property
    def is_whole(self) -> bool:
        """Return whether question and answer have words."""
        return bool(_WORD.search(self.question) and self.answer.strip())


@dataclass(frozen=True)
class WrittenPairs:
    """The pairs of one reply.

    Attributes:
        pairs: In the model's order; of a mender, None in place of a pair that it gave up.
        n_empty: Pairs without a question or an answer: they were left out.
    """

    pairs: tuple[WrittenPair | None, ...]
    n_empty: int
    usage: Usage


@dataclass(frozen=True)
class FaultyPair:
    """A pair to repair.

    Attributes:
        faults: What is wrong with it, in words.
    """

    question: str
    answer: str
    faults: tuple[str, ...]


@functools.lru_cache(maxsize=64)
def _signature(instruction: str, least: int, most: int, *names: str) -> type[dspy.Signature]:
    pairs: Any = Annotated[list[WrittenPair], Field(min_length=least, max_length=most)]
    fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in ("context", *names)}
    fields["pairs"] = (pairs, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="WritePairs")


def paper_context(paper: Document) -> str:
    """Return the beginning of all prompts on a paper, or on a part of it."""
    return build_paper_context([paper], ())


class QAWriter(Agent):
    """Writes all pairs of a paper, or of a part of it, in one call."""

    name = "qa_writer"
    signature = _signature("", 1, 10, "keywords", "number")
    wants_logprobs = False

    def request(
        self, paper: Document, keywords: Sequence[str], number: int, known: Sequence[str] = ()
    ) -> AgentRequest:
        """Return the request to write pairs.

        Args:
            paper: The paper's title and text.
            keywords: What the pairs should be about.
            number: How many pairs.
            known: Questions that are asked already.

        Returns:
            The request; its reply is read as `WrittenPairs`.
        """
        signature, inputs = _build_request(self.instructions, keywords, number, known)
        context = paper_context(paper)
        return self.asking(_reading(number), signature, number, context=context, **inputs)


class QAMender(Agent):
    """Repairs pairs, all of a paper in one call."""

    name = "qa_mender"
    signature = _signature("", 1, 10, "faulty")
    wants_logprobs = False

    def request(self, paper: Document, pairs: Sequence[FaultyPair]) -> AgentRequest:
        """Return the request to repair pairs.

        Args:
            paper: The paper's title and text.
            pairs: At least one.

        Returns:
            The request; its reply is read as `WrittenPairs`, one for each given pair.
        """
        n = len(pairs)
        signature = _signature(self.instructions, n, n, "faulty")

        def read(found: dspy.Prediction, usage: Usage) -> WrittenPairs:
            if len(found.pairs) != n:
                raise UnparsableReplyError(f"{len(found.pairs)} pairs in place of {n}")
            mended = tuple(_plain(pair) if pair.is_whole else None for pair in found.pairs)
            return WrittenPairs(mended, mended.count(None), usage)

        shown = "\n\n".join(map(_fault_lines, pairs))
        context = paper_context(paper)
        return self.asking(read, signature, n, context=context, faulty=_own_fence(shown))


class SelfQuestioner(Agent):
    """Asks and answers questions on one paragraph: the baseline (Fang et al. 2024)."""

    name = "self_questioner"
    signature = _signature("", 1, 10, "number")
    wants_logprobs = False

    def request(self, paragraph: str, number: int = 5) -> AgentRequest:
        """Return the request to write pairs on a paragraph; the paper's number is five."""
        signature = _signature(self.instructions, 1, number, "number")
        context = "\n".join((load_prompts().context.passage, _own_fence(paragraph)))
        read = _reading(number)
        return self.asking(read, signature, number, context=context, number=str(number))


def generator_instruction(keywords: Sequence[str], number: int) -> str:
    """Return what a generator is told after the paper, as a running prompt says it.

    Args:
        number: How many pairs are asked for.
    """
    return ADAPTER.task(*_build_request(_WORDS.task, keywords, number, ()))


def generator_reply(pairs: Sequence[QAPair]) -> dict[str, list[dict[str, str]]]:
    """Return the reply that a generator should give: the object behind its JSON."""
    written = [
        WrittenPair(question=pair.question, answer=pair.answer, quote=" ".join(pair.sources[:1]))
        for pair in pairs
    ]
    return {"pairs": [pair.model_dump() for pair in written]}


def _build_request(
    instruction: str, keywords: Sequence[str], number: int, known: Sequence[str]
) -> tuple[type[dspy.Signature], dict[str, str]]:
    told = " ".join((instruction, _WORDS.additions["known"])) if known else instruction
    inputs = {"keywords": _own_fence("; ".join(keywords)), "number": str(number)}
    if known:
        inputs["known"] = _own_fence("\n".join(f"- {_one_line(text)}" for text in known))
    return _signature(told, 1, number, *inputs), inputs


def _reading(number: int) -> Any:
    def read(found: dspy.Prediction, usage: Usage) -> WrittenPairs:
        whole = [pair for pair in found.pairs if pair.is_whole]
        if not whole:
            raise UnparsableReplyError(f"no pair of words among {len(found.pairs)}")
        kept = tuple(map(_plain, whole[:number]))
        return WrittenPairs(kept, len(found.pairs) - len(whole), usage)

    return read


def _fault_lines(pair: FaultyPair) -> str:
    faults = "".join(f"\n- {_one_line(fault)}" for fault in pair.faults)
    return f"Question: {pair.question}\nAnswer: {pair.answer}\nFaults:{faults}"


def _own_fence(text: str) -> str:
    # A mark of its own: what comes after the paper is the same whatever the paper is.
    return fence_text(text, fence_mark([text]))


def _plain(pair: WrittenPair) -> WrittenPair:
    return WrittenPair(**{name: _one_line(text) for name, text in pair.model_dump().items()})


def _one_line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()
