"""Rate an answer on one rubric, with a model fine-tuned for it.

The prompt is as short as possible: the model has learnt the rubrics, and its context is the
question, the answer sentence by sentence, and its own marks on them. It sees sources only where it
was trained with them (`ragassay finetune judge --source-chars`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.answer_reader import read_context
from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fence_mark, fenced, source_lines
from ragassay.agents.rubric_judge import judgment_of
from ragassay.prompts import load_prompts
from ragassay.records import Case, Judgment, Mark, Reading, Usage
from ragassay.retrievers.passages import condense

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
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(RateAnswer)

    def request(self, case: Case, reading: Reading, rubric: str, papers: str = "") -> Request:
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
        case: The case.
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
        case: The case.
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
    return f"{load_prompts().context.sources}\n{fenced(shown, fence_mark([shown]))}"


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
