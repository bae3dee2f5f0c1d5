"""Mark the sentences of an answer and rate it with a fine-tuned model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, AgentRequest, CompactAdapter
from ragassay.agents.context import fence_mark, fence_text, render_sources
from ragassay.agents.rubric_judge import build_judgment
from ragassay.agents.sampling import SampledChoice
from ragassay.prompts import load_prompts
from ragassay.records import FINE, MARKS, Case, Judgment, Mark, Reading, Usage
from ragassay.text.search import condense_documents

MOST_SENTENCES = 40
"""Maximum number of sentences to mark, because small models lose track in longer answers."""

SURE = 0.9
"""Minimum fault probability for marking a sentence. Of 16 flawless answers to held-out questions,
`ragassay/judge` marks 2 with this threshold and 5 with 0.5. The detection rate is 0.90 (0.87 with
0.5) for extreme perturbations, and 0.78 (0.81 with 0.5) for subtle ones."""


class MarkSentence(dspy.Signature):
    """An answer up to one of its sentences in, what that sentence is out."""

    context: str = dspy.InputField()
    mark: Mark = dspy.OutputField()


class AnswerReader(Agent):
    """Labels the sentences of an answer with a model trained by `ragassay finetune judge`."""

    name = "answer_reader"
    signature = MarkSentence
    adapter = CompactAdapter()

    async def aforward(self, case: Case) -> Reading:
        """Mark all sentences.

        Raises:
            ModelError: The model returned no valid reply for a sentence.
        """
        numbers = range(1, len(list_numbered_sentences(case)) + 1)
        replies = await asyncio.gather(*(self.ask(self.request(case, n)) for n in numbers))
        return Reading(
            marks=tuple(mark for mark, _ in replies),
            usage=sum((usage for _, usage in replies), Usage()),
        )

    def request(self, case: Case, n: int) -> AgentRequest:
        """Request the mark for the n-th sentence."""

        def read(reply: dspy.Prediction, usage: Usage) -> tuple[Mark, Usage]:
            return choose_likeliest_mark(
                reply.mark, SampledChoice.from_reply(reply, "mark", MARKS).weights
            ), usage

        return self.build_request(read, context=read_context(case, n))

    def build_messages(self, case: Case, n: int) -> list[dict[str, str]]:
        """Return the messages about one sentence, which are also used for training."""
        inputs: dict[str, Any] = {"context": read_context(case, n)}
        return self.adapter.format(self.predict.signature, [], inputs)


def choose_likeliest_mark(own_mark: Mark, weights: Mapping[str, float] | None) -> Mark:
    """Return the most likely fault of a sentence, or "fine" if no fault is likely enough.

    Args:
        own_mark: Mark that the model wrote, which is returned if there are no probabilities.
        weights: Probability of each mark, or None if unknown.

    Example:
        >>> choose_likeliest_mark("subject", {"fine": 0.3, "subject": 0.7})
        'fine'
    """
    if weights is None:
        return own_mark
    if weights[FINE] > 1 - SURE:
        return FINE
    faults: list[Mark] = [mark for mark in MARKS if mark != FINE]
    return max(faults, key=lambda mark: weights.get(mark, 0.0))


def list_numbered_sentences(case: Case) -> list[str]:
    """Return the numbered sentences to mark."""
    return [f"{s.index}. {s.text}" for s in case.sentences[:MOST_SENTENCES]]


def read_context(case: Case, n: int = MOST_SENTENCES) -> str:
    """Return the question and the answer up to its n-th sentence, from 1."""
    words, lines = load_prompts().context, list_numbered_sentences(case)
    # With the question as seed, answers to the same question share their prefix.
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
    """Rates an answer on a rubric with a fine-tuned model, which sees the sentence marks."""

    name = "tuned_judge"
    signature = RateAnswer
    adapter = CompactAdapter()

    def request(self, case: Case, reading: Reading, rubric: str, papers: str = "") -> AgentRequest:
        """Request the rating of the answer. The score is the expected rating."""

        def read(reply: dspy.Prediction, usage: Usage) -> Judgment:
            reply["sentences"] = find_named_sentences(reply.rationale, reading.faults)
            return build_judgment(reply, usage, case, rubric, (1, 5))

        return self.build_request(read, **build_rating_inputs(case, reading.faults, rubric, papers))

    def build_messages(
        self, case: Case, faults: Mapping[int, Mark], rubric: str, papers: str = ""
    ) -> list[dict[str, str]]:
        """Return the messages for a rating, which are also used for training."""
        inputs = build_rating_inputs(case, faults, rubric, papers)
        return self.adapter.format(self.predict.signature, [], inputs)


def build_rating_inputs(
    case: Case, faults: Mapping[int, Mark], rubric: str, papers: str = ""
) -> dict[str, str]:
    """Return the inputs for a rating."""
    marks = ", ".join(f"{n} {mark}" for n, mark in sorted(faults.items())) or "none"
    context = "\n".join(filter(None, (read_context(case), papers)))
    return {"context": context, "marks": marks, "rubric": rubric.replace("_", " ")}


def render_papers(case: Case, n_chars: int) -> str:
    """Return the sources shown to a judge that was trained with sources (YESciEval, figure 17).

    Args:
        n_chars: Maximum number of characters of the sources, or 0 to omit the sources. The
            sentences most similar to the question and answer are included. Titles are dropped if
            they need more than half of the limit.
    """
    if not n_chars or not case.sources:
        return ""
    sources, n_titles = case.sources, sum(len(source.title) for source in case.sources)
    if n_titles > n_chars // 2:
        sources = tuple(source.model_copy(update={"title": ""}) for source in sources)
        n_titles = 0
    query = f"{case.question} {case.judged_answer}"
    shown = render_sources(condense_documents(sources, query, n_chars - n_titles))
    return f"{load_prompts().context.sources}\n{fence_text(shown, fence_mark([shown]))}"


def find_named_sentences(rationale: str, faults: Mapping[int, Mark]) -> tuple[int, ...]:
    """Return the numbers of all sentences a rationale refers to, in order.

    If a rationale names a few sentences "and others", all sentences with the same mark count.

    Example:
        >>> find_named_sentences("Sentence 2 is off the subject.", {2: "subject", 5: "subject"})
        (2, 5)
    """
    named = {int(number) for number in re.findall(r"\d+", rationale)}
    marks = {faults[n] for n in named if n in faults}
    return tuple(sorted(named | {n for n, mark in faults.items() if mark in marks}))
