"""Agents that write test bank items, syntheses and paraphrases."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import build_sources_context, fence_mark, fence_text, render_sources
from ragassay.errors import UnparsableReplyError
from ragassay.prompts import load_prompts
from ragassay.records import Document, Paraphrase, Usage
from ragassay.text.quantities import extract_numbers
from ragassay.text.search import tokenize

_WORDS = load_prompts().agents["exam_writer"]

_WORD = re.compile(r"[^\W\d_]{2}")

ITEMS_PER_PART = 4
"""Number of items, with their answers, that fit within the token limit in the settings."""

ExamKind = Literal["questions", "nuggets"]
Line = Annotated[str, StringConstraints(min_length=3, max_length=_WORDS.nugget_chars)]


@functools.lru_cache(maxsize=256)
def _build_signature(
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
    instructions = [_WORDS.additions[f"facet_{kind}" if has_facet else kind], _WORDS.task]
    instructions += [_WORDS.additions["sources"]] if has_sources else []
    instructions += [_WORDS.additions["answers"]] if wants_answers else []
    return dspy.make_signature(fields, " ".join(instructions), signature_name="WriteExam")


@dataclass(frozen=True)
class WrittenExam:
    """Test bank items for a query.

    Attributes:
        texts: Questions or nuggets without duplicates, in the order of the reply.
        answers: Answer to each item, or an empty string.
        n_unfounded: Number of answers dropped because no source states them.
    """

    texts: tuple[str, ...]
    answers: tuple[str, ...]
    n_unfounded: int
    usage: Usage


class ExamWriter(Agent):
    """Writes all test bank items for a query or a facet in one call."""

    name = "exam_writer"
    signature = _build_signature("questions", False, False, False, 10)
    wants_logprobs = False

    def request(
        self,
        query: str,
        kind: ExamKind,
        *,
        facet: str = "",
        sources: Sequence[Document] = (),
        wants_answers: bool = False,
        number: int = 10,
    ) -> AgentRequest:
        """Request the items for a query.

        Args:
            query: Query, or the title of the topic that the facet belongs to.
            sources: Source texts, shortened to fit into a prompt.
        """
        wants_answers = wants_answers and kind == "questions"
        signature = _build_signature(kind, bool(facet), bool(sources), wants_answers, number)

        def read(reply: dspy.Prediction, usage: Usage) -> WrittenExam:
            texts = [_collapse_spaces(text) for text in getattr(reply, kind)]
            keys = (
                [_collapse_spaces(text) for text in reply.answers]
                if wants_answers
                else [""] * number
            )
            if wants_answers and len(keys) != len(texts):
                raise UnparsableReplyError(
                    f"the reply has {len(texts)} questions but {len(keys)} answers"
                )
            pairs = dict(reversed([p for p in zip(texts, keys, strict=False) if p[0]]))
            kept = [text for text in dict.fromkeys(texts) if _WORD.search(text)][:number]
            if not kept:
                raise UnparsableReplyError(f"none of the {kind} has text: {texts[:3]}")
            stated = {t: k for t, k in pairs.items() if not sources or is_stated(k, sources)}
            answers = tuple(stated.get(text, "") for text in kept)
            n_unfounded = sum(bool(pairs[t]) and not stated.get(t) for t in kept)
            return WrittenExam(tuple(kept), answers, n_unfounded, usage)

        inputs = {"context": _build_exam_context(query, facet, sources), "number": str(number)}
        n_parts = math.ceil(number / ITEMS_PER_PART)
        return AgentRequest(signature, inputs, (), read, n_parts)


def _build_exam_context(query: str, facet: str, sources: Sequence[Document]) -> str:
    mark = fence_mark([query, facet, *(d.title + d.text for d in sources)])
    words = load_prompts().context
    parts = [words.title if facet else words.query, fence_text(query, mark)]
    parts += [words.subtopic, fence_text(facet, mark)] if facet else []
    parts += [words.sources, fence_text(render_sources(sources), mark)] if sources else []
    return "\n".join(parts)


def is_stated(answer: str, sources: Sequence[Document]) -> bool:
    """Return whether a source contains an answer verbatim, ignoring case."""
    words = _collapse_spaces(answer).casefold().strip(" .")
    return bool(words) and any(words in _collapse_spaces(d.text).casefold() for d in sources)


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


class WriteSynthesis(dspy.Signature):
    """A question and its papers in, the synthesis out."""

    context: str = dspy.InputField()
    words: str = dspy.InputField()
    synthesis: str = dspy.OutputField()


@dataclass(frozen=True)
class WrittenSynthesis:
    """A synthesis as a single line of text, and the usage of the call."""

    text: str
    usage: Usage


class Synthesizer(Agent):
    """Writes a synthesis of papers about a question."""

    name = "synthesizer"
    signature = WriteSynthesis
    wants_logprobs = False

    def request(self, question: str, sources: Sequence[Document], words: int = 200) -> AgentRequest:
        """Request a synthesis.

        Args:
            sources: Papers, shortened to fit into a prompt, and cited by number from 1.
            words: Approximate length of the synthesis in words.
        """

        def read(reply: dspy.Prediction, usage: Usage) -> WrittenSynthesis:
            text = " ".join(reply.synthesis.split())
            if not any(character.isalpha() for character in text):
                raise UnparsableReplyError(f"the synthesis has no text: {text[:80]!r}")
            return WrittenSynthesis(text, usage)

        mark = fence_mark([question, *(d.title + d.text for d in sources)])
        context = build_sources_context(question, sources, mark)
        return self.build_request(read, context=context, words=str(words))


_MOST_CHARS = load_prompts().agents["paraphraser"].restatement_chars

Restatement = Annotated[str, StringConstraints(pattern=rf"^[A-Za-z0-9].{{8,{_MOST_CHARS}}}$")]

_ABOUT = (
    r"(?:sentence|version|statement|restatement|paraphrase|rewording|rephrasing|rewrite|redundan\w+"
    r"|wordy|wordier|verbose)"
)
_INTRODUCED = re.compile(
    r"\W*(?:(?:sure|certainly|of course|okay|absolutely)\s*[,!.:]"
    rf"|(?:here(?:['\u2019]s| is| are)|below is|this is|the following is)\b[^.]{{0,60}}\b{_ABOUT}\b"
    rf"|(?:an? |the |my )?(?:\w+ ){{0,3}}{_ABOUT}(?: \w+){{0,4}}\s*:)",
    re.IGNORECASE,
)


class Restate(dspy.Signature):
    """Paraphrase a sentence."""

    context: str = dspy.InputField()
    restatement: Restatement = dspy.OutputField()


class Paraphraser(Agent):
    """Paraphrases a sentence in more words."""

    name = "paraphraser"
    signature = Restate
    wants_logprobs = False

    def request(self, sentence: str) -> AgentRequest:
        """Request a paraphrase of a sentence without citation markers.

        The result has no text if the reply is not a valid paraphrase. See `is_restatement`.
        """

        def read(reply: dspy.Prediction, usage: Usage) -> Paraphrase:
            text = " ".join(reply.restatement.split())
            if is_restatement(text, sentence):
                return Paraphrase(sentence=sentence, text=text, usage=usage)
            return Paraphrase(sentence=sentence, refused=text, usage=usage)

        return self.build_request(read, context=fence_text(sentence, fence_mark([sentence])))


def is_restatement(text: str, sentence: str) -> bool:
    """Return whether a one-line text is a usable paraphrase of a sentence.

    An empty text, the same sentence, or an introduction ("Here is a wordy version") would reveal
    the perturbation. A text with new numbers, or without any content word of the sentence, has
    another meaning.

    Example:
        >>> is_restatement("It was pain that the drug lowered.", "The drug lowered pain.")
        True
        >>> is_restatement("Here is a redundant sentence: pain fell.", "Pain fell.")
        False
    """
    words = re.findall(r"\w+", text.lower())
    if not words or words == re.findall(r"\w+", sentence.lower()) or _INTRODUCED.match(text):
        return False
    if not extract_numbers(text) <= extract_numbers(sentence):
        return False
    content = set(tokenize(sentence))
    return not content or not content.isdisjoint(tokenize(text))
