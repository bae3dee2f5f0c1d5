"""Rates an answer on one rubric."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of
from ragassay.prompts import Rubric, Strategy, load_prompts
from ragassay.prompts.compiled import CompiledPredictor, CompiledPrompt
from ragassay.records import Case, Judgment, Usage

LIKERT = (1, 5)
"""The scale of the signature that an optimizer sees; a call takes the rubric's own."""

MOST_SENTENCES = 8
"""Most sentence numbers of a rationale, for a model that can be held to it."""

_WORDS = load_prompts().agents["rubric_judge"]

# Small models fall into "1.1.1." after a rating: a rationale starts with a word.
Rationale = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z][a-z]+ .{{20,{_WORDS.rationale_chars}}}$")
]
Reasoning = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z][a-z]+ .{{20,{_WORDS.reasoning_chars}}}$")
]
Numbers = Annotated[list[Annotated[int, Field(ge=1, le=999)]], Field(max_length=MOST_SENTENCES)]


@functools.lru_cache(maxsize=256)
def rating_signature(
    bounds: tuple[int, int],
    instruction: str = _WORDS.task,
    given: tuple[str, ...] = (),
    thinks: bool = False,
) -> type[dspy.Signature]:
    """The signature of a rating; the same object for the same arguments.

    Args:
        bounds: The scale's lowest and highest rating.
        instruction: What is to be done.
        given: Inputs beside context and rubric, in their order; with "facts" among them the reply
            names sentences.
        thinks: Whether the reply reasons before it rates.
    """
    ratings: Any = Literal[tuple(range(bounds[0], bounds[1] + 1))]  # type: ignore[valid-type]
    fields: dict[str, Any] = {
        name: (str, dspy.InputField()) for name in ("context", "rubric", *given)
    }
    if thinks:
        fields["reasoning"] = (Reasoning, dspy.OutputField())
    fields["rating"] = (ratings, dspy.OutputField())
    if "facts" in given:
        fields["sentences"] = (Numbers, dspy.OutputField())
    fields["rationale"] = (Rationale, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="RateAnswer")


def expert_hint(rating: int) -> str:
    """What tells a judge, truly or not, how a person rated the answer."""
    return _WORDS.additions["hint"].replace("{rating}", str(rating))


class RubricJudge(Agent):
    """A case and a rubric in, a judgment out.

    Args:
        strategy: How it is asked.
        hints: What it is told that an expert said, by the record's id and the rubric's name.
    """

    name = "rubric_judge"

    def __init__(
        self,
        strategy: Strategy = "knowledge",
        hints: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        super().__init__(rating_signature(LIKERT))
        self.strategy: Strategy = strategy
        self.hints = dict(hints or {})
        self.of_rubric: dict[str, CompiledPredictor] = {}
        """What is said of a rubric that has a compiled prompt of its own."""

    def use(self, compiled: CompiledPrompt) -> None:
        """As every agent; what is compiled for some rubrics is said of those alone.

        Raises:
            SettingsError: As every agent.
        """
        if not compiled.rubrics:
            super().use(compiled)
            return
        self.check(compiled)
        self.of_rubric |= dict.fromkeys(compiled.rubrics, compiled.predictor)

    def request(
        self, case: Case, rubric: Rubric, facts: str = "", others: str = "", hint: str = ""
    ) -> Request:
        """Rate the case's answer.

        The score is the expectation over the rating tokens where the model gives
        log-probabilities, and the written rating where it gives none.

        Args:
            case: The case.
            rubric: What the answer is rated on, and the scale.
            facts: What was measured on the answer's sentences, by their numbers; untrusted.
            others: What other judges said of the same answer; untrusted.
            hint: What an expert is said to have said; ours.
        """
        mark = mark_of(case)
        hint = hint or self.hints.get((case.record_id, rubric.name), "")
        beside = {
            "examples": rubric.rendered_examples() if self.strategy == "few_shot" else "",
            "facts": fenced(facts, mark) if facts else "",
            "others": fenced(others, mark) if others else "",
            "hint": hint,
        }
        given = {name: text for name, text in beside.items() if text}
        occasions = (self.strategy, *(name for name in given if name in ("facts", "others")))
        added = [_WORDS.additions[name] for name in occasions if name in _WORDS.additions]
        low, high = rubric.bounds
        predictor: Any = self.predict
        own = self.of_rubric.get(rubric.name)
        instruction = own.instructions if own else predictor.signature.instructions
        task = " ".join([instruction, *added])
        signature = rating_signature(
            rubric.bounds,
            task.replace("{low}", str(low)).replace("{high}", str(high)),
            tuple(given),
            self.strategy == "chain_of_thought",
        )
        inputs = {"context": case.context, "rubric": rubric.rendered(self.strategy), **given}

        def read(found: dspy.Prediction, usage: Usage) -> Judgment:
            return judgment_of(found, usage, case, rubric.name, rubric.bounds)

        return Request(signature, inputs, tuple(own.demos if own else predictor.demos), read)


def judgment_of(
    found: dspy.Prediction, usage: Usage, case: Case, rubric: str, bounds: tuple[int, int]
) -> Judgment:
    """What a judge's reply says, with the distribution over its ratings where there is one.

    Args:
        found: Has `rating` and `rationale`, perhaps `sentences` and `logprobs`.
        usage: What the call took.
        case: What was rated.
        rubric: On what.
        bounds: The scale's lowest and highest rating.
    """
    low, high = bounds
    ratings = [str(rating) for rating in range(low, high + 1)]
    weights = choice_distribution(found.get("logprobs"), "rating", ratings)
    score = float(found.rating)
    if weights is not None:
        score = sum(int(rating) * weight for rating, weight in weights.items())
    return Judgment(
        rubric=rubric,
        scale=bounds,
        rating=found.rating,
        score=round(min(float(high), max(float(low), score)), 4),
        distribution=tuple(round(w, 6) for w in weights.values()) if weights else None,
        rationale=found.rationale.strip(),
        sentences=_known(found.get("sentences") or (), len(case.sentences)),
        usage=usage,
    )


def _known(numbers: Iterable[int], n_sentences: int) -> tuple[int, ...]:
    """Numbers of sentences that there are, each once."""
    return tuple(dict.fromkeys(n for n in numbers if 1 <= n <= n_sentences))
