"""Read an answer sentence by sentence, then rate it, with a model fine-tuned for both."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, AgentRequest, CompactAdapter
from ragassay.agents.context import fence_mark, fence_text, source_lines
from ragassay.agents.rubric_judge import judgment_of
from ragassay.agents.sampling import SampledChoice
from ragassay.prompts import load_prompts
from ragassay.records import FINE, MARKS, Case, Judgment, Mark, Reading, Usage
from ragassay.text.search import condense

MOST_SENTENCES = 40
"""Most sentences read; a small model loses track in a longer answer."""

SURE = 0.9
"""Probability of a fault from which a sentence is marked. Of 16 whole answers to held-out
questions `ragassay/judge` marks 2 with it, and 5 where the likeliest mark counts, as with .5
here; it detects .90 of extreme damage instead of .87, and .78 of subtle damage instead of .81."""


class MarkSentence(dspy.Signature):
    """An answer up to one of its sentences in, what that sentence is out."""

    context: str = dspy.InputField()
    mark: Mark = dspy.OutputField()


class AnswerReader(Agent):
    """Marks the sentences of a case; for models made by `ragassay finetune judge`."""

    name = "answer_reader"
    signature = MarkSentence
    adapter = CompactAdapter()

    async def aforward(self, case: Case) -> Reading:
        """Mark each sentence.

        Raises:
            ModelError: The model gave no usable reply for one of them.
        """
        numbers = range(1, len(shown_lines(case)) + 1)
        replies = await asyncio.gather(*(self.ask(self.request(case, n)) for n in numbers))
        return Reading(
            marks=tuple(mark for mark, _ in replies),
            usage=sum((usage for _, usage in replies), Usage()),
        )

    def request(self, case: Case, n: int) -> AgentRequest:
        """Say what the n-th sentence is."""

        def read(found: dspy.Prediction, usage: Usage) -> tuple[Mark, Usage]:
            return sure_mark(found.mark, SampledChoice.of(found, "mark", MARKS).weights), usage

        return self.asking(read, context=read_context(case, n))

    def messages(self, case: Case, n: int) -> list[dict[str, str]]:
        """Return the prompt for a sentence as the model sees it, for training."""
        inputs: dict[str, Any] = {"context": read_context(case, n)}
        return self.adapter.format(self.predict.signature, [], inputs)


def sure_mark(own_mark: Mark, weights: Mapping[str, float] | None) -> Mark:
    """Return the likeliest fault of a sentence, or "fine" where no fault is probable enough.

    Args:
        own_mark: The model's mark.
        weights: Probability of each mark; None where unknown, and the given mark counts.

    Example:
        >>> sure_mark("subject", {"fine": 0.3, "subject": 0.7})
        'fine'
    """
    if weights is None:
        return own_mark
    if weights[FINE] > 1 - SURE:
        return FINE
    faults: list[Mark] = [mark for mark in MARKS if mark != FINE]
    return max(faults, key=lambda mark: weights.get(mark, 0.0))


def shown_lines(case: Case) -> list[str]:
    """Return the sentences that are read, each with its number."""
    return [f"{s.index}. {s.text}" for s in case.sentences[:MOST_SENTENCES]]


def read_context(case: Case, n: int = MOST_SENTENCES) -> str:
    """Return the question and the answer up to its n-th sentence, counted from 1."""
    words, lines = load_prompts().context, shown_lines(case)
    # Prompts of answers to the same question share their beginning, wherever they end.
    mark = fence_mark([case.question, *lines], case.question)
    answer = fence_text("\n".join(lines[:n]), mark)
    return "\n".join([words.question, fence_text(case.question, mark), words.answer, answer])


Reason = Annotated[
    str,
    StringConstraints(
        pattern=rf"^[A-Z].{{10,{load_prompts().agents['tuned_judge'].rationale_chars}}}$"
    ),
]


class RateAnswer(dspy.Signature):
    """An answer that was read in, its rating on one rubric out."""

    context: str = dspy.InputField()
    marks: str = dspy.InputField()
    rubric: str = dspy.InputField()
    rating: Literal[1, 2, 3, 4, 5] = dspy.OutputField()
    rationale: Reason = dspy.OutputField()


class TunedJudge(Agent):
    """Rates a case that was read on a rubric; for fine-tuned models."""

    name = "tuned_judge"
    signature = RateAnswer
    adapter = CompactAdapter()

    def request(self, case: Case, reading: Reading, rubric: str, papers: str = "") -> AgentRequest:
        """Rate the case's answer; the score is the expectation over the five ratings."""

        def read(found: dspy.Prediction, usage: Usage) -> Judgment:
            found["sentences"] = sentences_named(found.rationale, reading.faults)
            return judgment_of(found, usage, case, rubric, (1, 5))

        return self.asking(read, **rating_inputs(case, reading.faults, rubric, papers))

    def messages(
        self, case: Case, faults: Mapping[int, Mark], rubric: str, papers: str = ""
    ) -> list[dict[str, str]]:
        """Return the prompt as the model sees it, for training."""
        inputs = rating_inputs(case, faults, rubric, papers)
        return self.adapter.format(self.predict.signature, [], inputs)


def rating_inputs(
    case: Case, faults: Mapping[int, Mark], rubric: str, papers: str = ""
) -> dict[str, str]:
    """Return the inputs of a rating.

    Args:
        faults: The faults of its sentences, by their numbers.
        rubric: The rubric's name.
        papers: From `papers_shown`; empty for none.
    """
    marks = ", ".join(f"{n} {mark}" for n, mark in sorted(faults.items())) or "none"
    context = "\n".join(filter(None, (read_context(case), papers)))
    return {"context": context, "marks": marks, "rubric": rubric.replace("_", " ")}


def papers_shown(case: Case, n_chars: int) -> str:
    """Return the sources as a judge reads them that was trained with sources (figure 17).

    Args:
        n_chars: Budget of all texts and titles; the sentences closest to question and answer are
            kept, and no titles where these alone would take half of it. 0 for no sources.
    """
    if not n_chars or not case.sources:
        return ""
    sources, n_titles = case.sources, sum(len(source.title) for source in case.sources)
    if n_titles > n_chars // 2:
        sources = tuple(source.model_copy(update={"title": ""}) for source in sources)
        n_titles = 0
    query = f"{case.question} {case.judged_answer}"
    shown = source_lines(condense(sources, query, n_chars - n_titles))
    return f"{load_prompts().context.sources}\n{fence_text(shown, fence_mark([shown]))}"


def sentences_named(rationale: str, faults: Mapping[int, Mark]) -> tuple[int, ...]:
    """Return the numbers of the sentences that a reason names, in order.

    A reason names a few and adds "and others": those with the same mark.

    Example:
        >>> sentences_named("Sentence 2 is about another subject.", {2: "subject", 5: "subject"})
        (2, 5)
    """
    named = {int(number) for number in re.findall(r"\d+", rationale)}
    alike = {faults[n] for n in named if n in faults}
    return tuple(sorted(named | {n for n, mark in faults.items() if mark in alike}))
