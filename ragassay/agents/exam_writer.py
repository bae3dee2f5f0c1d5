"""Write the exam questions or nuggets of a query (Dietz 2024, section 3.1 and table 1).

The prompts are ours. As in the paper there is a family for plain queries and one for a title with
a subtopic; the paper writes from the query alone, here documents or a known answer may be given.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fence_mark, fenced, source_lines
from ragassay.errors import UnparsableReplyError
from ragassay.prompts import load_prompts
from ragassay.records import Document, Usage

_WORDS = load_prompts().agents["exam_writer"]

_WORD = re.compile(r"[^\W\d_]{2}")

ITEMS_PER_PART = 4
"""Items, with their answers, that fit into the longest reply of the settings."""

ExamKind = Literal["questions", "nuggets"]
Line = Annotated[str, StringConstraints(min_length=3, max_length=_WORDS.nugget_chars)]


@functools.lru_cache(maxsize=256)
def _signature(
    kind: ExamKind, has_facet: bool, has_sources: bool, wants_answers: bool, number: int
) -> type[dspy.Signature]:
    lines: Any = Annotated[list[Line], Field(min_length=1, max_length=number)]
    fields: dict[str, Any] = {
        "context": (str, dspy.InputField()),
        "number": (str, dspy.InputField()),
        kind: (lines, dspy.OutputField()),
    }
    if wants_answers:
        fields["answers"] = (lines, dspy.OutputField())
    said = [_WORDS.additions[f"facet_{kind}" if has_facet else kind], _WORDS.task]
    said += [_WORDS.additions["sources"]] if has_sources else []
    said += [_WORDS.additions["answers"]] if wants_answers else []
    return dspy.make_signature(fields, " ".join(said), signature_name="WriteExam")


@dataclass(frozen=True)
class WrittenExam:
    """The items that were written for a query.

    Attributes:
        texts: Questions or nuggets, each once, in the model's order.
        answers: The known answer to each; "" where there is none.
        n_unfounded: Answers that no source states: they were left out.
        usage: The cost.
    """

    texts: tuple[str, ...]
    answers: tuple[str, ...]
    n_unfounded: int
    usage: Usage


class ExamWriter(Agent):
    """Writes all items of a query, or of one part of it, in one call."""

    name = "exam_writer"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(_signature("questions", False, False, False, 10))

    def request(
        self,
        query: str,
        kind: ExamKind,
        *,
        facet: str = "",
        sources: Sequence[Document] = (),
        wants_answers: bool = False,
        number: int = 10,
    ) -> Request:
        """Write the items of a query.

        Args:
            query: The query, or the title that the facet belongs to.
            kind: What to write.
            facet: The subtopic; empty for the whole query.
            sources: Texts that state what is asked for, cut to what fits into a prompt.
            wants_answers: Whether each question comes with its answer.
            number: The number of items.
        """
        wants_answers = wants_answers and kind == "questions"
        signature = _signature(kind, bool(facet), bool(sources), wants_answers, number)

        def read(found: dspy.Prediction, usage: Usage) -> WrittenExam:
            texts = [_one_line(text) for text in getattr(found, kind)]
            keys = [_one_line(text) for text in found.answers] if wants_answers else [""] * number
            if wants_answers and len(keys) != len(texts):
                raise UnparsableReplyError(f"{len(texts)} questions with {len(keys)} answers")
            pairs = dict(reversed([p for p in zip(texts, keys, strict=False) if p[0]]))
            kept = [text for text in dict.fromkeys(texts) if _WORD.search(text)][:number]
            if not kept:
                raise UnparsableReplyError(f"no {kind} of words in {texts[:3]}")
            stated = {t: k for t, k in pairs.items() if not sources or is_stated(k, sources)}
            answers = tuple(stated.get(text, "") for text in kept)
            n_unfounded = sum(bool(pairs[t]) and not stated.get(t) for t in kept)
            return WrittenExam(tuple(kept), answers, n_unfounded, usage)

        mark = fence_mark([query, facet, *(d.title + d.text for d in sources)])
        words = load_prompts().context
        parts = [words.title if facet else words.query, fenced(query, mark)]
        parts += [words.subtopic, fenced(facet, mark)] if facet else []
        parts += [words.sources, fenced(source_lines(sources), mark)] if sources else []
        inputs = {"context": "\n".join(parts), "number": str(number)}
        n_parts = math.ceil(number / ITEMS_PER_PART)
        return Request(signature, inputs, (), read, n_parts)


def is_stated(answer: str, sources: Sequence[Document]) -> bool:
    """Return whether a source has the words of an answer, in a row."""
    words = _one_line(answer).casefold().strip(" .")
    return bool(words) and any(words in _one_line(d.text).casefold() for d in sources)


def _one_line(text: str) -> str:
    return " ".join(text.split())
