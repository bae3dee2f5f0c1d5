"""Rates an answer on one rubric, as a model that was fine-tuned for it is asked.

The prompt is as short as it can be: a small model has learnt what the rubrics mean, and its context
is the question and the answer, sentence by sentence, so that it can point to them. It sees no
sources. It says first what each sentence is, which is easier to see and to learn than a rating.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.base import Agent
from ragassay.agents.context import fence_mark, fenced
from ragassay.agents.rubric_judge import Numbers, judgment_of
from ragassay.prompts import load_prompts
from ragassay.prompts.rationales import MARKS
from ragassay.records import Case, Judgment

Rating = Literal[1, 2, 3, 4, 5]
Reason = Annotated[
    str,
    StringConstraints(
        pattern=rf"^[A-Z].{{10,{load_prompts().agents['tuned_judge'].rationale_chars}}}$"
    ),
]
MarkText = Annotated[str, StringConstraints(pattern=rf"^[0-9]{{1,3}} ({'|'.join(MARKS)})$")]

MOST_SENTENCES = 40
"""Sentences of an answer that are shown; a small model loses the thread in a longer one."""


@functools.lru_cache(maxsize=MOST_SENTENCES + 1)
def rating_signature(n_sentences: int) -> type[dspy.Signature]:
    """The signature of a rating: what is to be said of each sentence, then of the whole."""
    n = n_sentences
    marks: Any = Annotated[list[MarkText], Field(min_length=n, max_length=n)]
    fields: dict[str, Any] = {
        "context": (str, dspy.InputField()),
        "rubric": (str, dspy.InputField()),
        "marks": (marks, dspy.OutputField()),
        "rating": (Rating, dspy.OutputField()),
        "sentences": (Numbers, dspy.OutputField()),
        "rationale": (Reason, dspy.OutputField()),
    }
    task = load_prompts().agents["tuned_judge"].task
    return dspy.make_signature(fields, task, signature_name="RateAnswer")


class TunedJudge(Agent):
    """A case and a rubric's name in, a judgment out; for models that `ragassay finetune` made."""

    name = "tuned_judge"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(rating_signature(1))

    async def aforward(self, case: Case, rubric: str) -> Judgment:
        """Rate the case's answer; the score is the expectation over the five ratings.

        Raises:
            ModelError: The model gave no usable reply.
        """
        signature = rating_signature(min(len(case.sentences), MOST_SENTENCES))
        found, usage = await self.ask(signature, **self.inputs(case, rubric))
        return judgment_of(found, usage, case, rubric, (1, 5))

    def messages(self, case: Case, rubric: str) -> list[dict[str, str]]:
        """The prompt as the model sees it, for whoever trains one."""
        return self.adapter.format(self.predict.signature, [], self.inputs(case, rubric))

    @staticmethod
    def inputs(case: Case, rubric: str) -> dict[str, str]:
        """What the signature is given."""
        words = load_prompts().context
        shown = case.sentences[:MOST_SENTENCES]
        # The number stands behind the sentence too: a causal model knows there what it has read.
        lines = "\n".join(f"{s.index}. {s.text} [{s.index}]" for s in shown)
        # Answers to the same question share their prompts' start.
        mark = fence_mark([case.question, lines], case.question)
        parts = [words.question, fenced(case.question, mark), words.answer, fenced(lines, mark)]
        return {"context": "\n".join(parts), "rubric": rubric.replace("_", " ")}
