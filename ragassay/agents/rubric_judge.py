"""Rate an answer on one rubric, or on a user's own question."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import fence_text, mark_of
from ragassay.agents.sampling import SampledChoice
from ragassay.prompts import Rubric, Strategy, load_prompts
from ragassay.prompts.compiled import CompiledPredictor, CompiledPrompt
from ragassay.records import Assessment, Case, Judgment, Usage

LIKERT = (1, 5)
"""The scale of the signature for optimizers; a call uses the rubric's own."""

MOST_SENTENCES = 8
"""Most sentence numbers of a rationale, for models that can enforce it."""

_WORDS = load_prompts().agents["rubric_judge"]

# Small models continue with "1.1.1." after a rating: a rationale starts with a word.
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
    more_inputs: tuple[str, ...] = (),
    thinks: bool = False,
) -> type[dspy.Signature]:
    """Return the signature of a rating; the same object for the same arguments.

    Args:
        bounds: The scale's lowest and highest rating.
        more_inputs: Further inputs, in order, besides context and rubric; with "facts" among
            them the reply names sentences.
        thinks: Whether the reply reasons before it rates.
    """
    ratings: Any = Literal[tuple(range(bounds[0], bounds[1] + 1))]  # type: ignore[valid-type]
    fields: dict[str, Any] = {
        name: (str, dspy.InputField()) for name in ("context", "rubric", *more_inputs)
    }
    if thinks:
        fields["reasoning"] = (Reasoning, dspy.OutputField())
    fields["rating"] = (ratings, dspy.OutputField())
    if "facts" in more_inputs:
        fields["sentences"] = (Numbers, dspy.OutputField())
    fields["rationale"] = (Rationale, dspy.OutputField())
    return dspy.make_signature(fields, instruction, signature_name="RateAnswer")


def expert_hint(rating: int) -> str:
    """Return the hint, true or not, that tells a judge how a person rated the answer."""
    return _WORDS.additions["hint"].replace("{rating}", str(rating))


class RubricJudge(Agent):
    """An agent that rates a case on a rubric.

    Args:
        hints: Ratings attributed to an expert, by the record's id and the rubric's name.
        examples: Examples to show instead of the rubric's own, by the same; untrusted.
    """

    name = "rubric_judge"

    def __init__(
        self,
        strategy: Strategy = "knowledge",
        hints: Mapping[tuple[str, str], str] | None = None,
        examples: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        super().__init__(rating_signature(LIKERT))
        self.strategy: Strategy = strategy
        self.hints = dict(hints or {})
        self.examples = dict(examples or {})
        self.of_rubric: dict[str, CompiledPredictor] = {}
        """Compiled prompts of single rubrics."""

    def use(self, compiled: CompiledPrompt) -> None:
        """Use a compiled prompt; one for some rubrics is used for those only.

        Raises:
            SettingsError: As for every agent.
        """
        if not compiled.rubrics:
            super().use(compiled)
            return
        self.check(compiled)
        self.of_rubric |= dict.fromkeys(compiled.rubrics, compiled.predictor)

    def request(
        self, case: Case, rubric: Rubric, facts: str = "", others: str = "", hint: str = ""
    ) -> AgentRequest:
        """Return the request to rate the case's answer.

        The score is the expectation over the ratings where the judge gives a distribution, else the
        written rating.

        Args:
            rubric: The rubric, with its scale.
            facts: Measurements of the answer's sentences, by their numbers; untrusted.
            others: Other judges' reasons for the same answer; untrusted.
            hint: A rating attributed to an expert; trusted.
        """
        mark = mark_of(case)
        hint = hint or self.hints.get((case.record_id, rubric.name), "")
        beside = {
            "examples": self._examples(case, rubric) if self.strategy == "few_shot" else "",
            "facts": fence_text(facts, mark) if facts else "",
            "others": fence_text(others, mark) if others else "",
            "hint": hint,
        }
        more_inputs = {name: text for name, text in beside.items() if text}
        occasions = (self.strategy, *(name for name in more_inputs if name in ("facts", "others")))
        added = [_WORDS.additions[name] for name in occasions if name in _WORDS.additions]
        low, high = rubric.bounds
        predictor: Any = self.predict
        own = self.of_rubric.get(rubric.name)
        instruction = own.instructions if own else predictor.signature.instructions
        task = " ".join([instruction, *added])
        signature = rating_signature(
            rubric.bounds,
            task.replace("{low}", str(low)).replace("{high}", str(high)),
            tuple(more_inputs),
            self.strategy == "chain_of_thought",
        )
        inputs = {"context": case.context, "rubric": rubric.render(self.strategy), **more_inputs}

        def read(found: dspy.Prediction, usage: Usage) -> Judgment:
            return judgment_of(found, usage, case, rubric.name, rubric.bounds)

        return AgentRequest(signature, inputs, tuple(own.demos if own else predictor.demos), read)

    def _examples(self, case: Case, rubric: Rubric) -> str:
        more_inputs = self.examples.get((case.record_id, rubric.name))
        return fence_text(more_inputs, mark_of(case)) if more_inputs else rubric.rendered_examples()


def judgment_of(
    found: dspy.Prediction, usage: Usage, case: Case, rubric: str, bounds: tuple[int, int]
) -> Judgment:
    """Return the judgment in a judge's reply, with the distribution over its ratings if given.

    Args:
        found: The reply: `rating` and `rationale`, perhaps `sentences` and `logprobs`.
        rubric: The rubric's name.
        bounds: The scale's lowest and highest rating.
    """
    low, high = bounds
    chosen = SampledChoice.of(found, "rating", range(low, high + 1))
    weights = chosen.weights
    return Judgment(
        rubric=rubric,
        scale=bounds,
        rating=found.rating,
        score=round(min(float(high), max(float(low), chosen.mean)), 4),
        distribution=tuple(round(w, 6) for w in weights.values()) if weights else None,
        rationale=found.rationale.strip(),
        sentences=_keep_existing_numbers(found.get("sentences") or (), len(case.sentences)),
        usage=usage,
    )


def _keep_existing_numbers(numbers: Iterable[int], n_sentences: int) -> tuple[int, ...]:
    """Return the existing sentence numbers, each once."""
    return tuple(dict.fromkeys(n for n in numbers if 1 <= n <= n_sentences))


_ASKER_WORDS = load_prompts().agents["asker"]

Reason = Annotated[str, StringConstraints(max_length=_ASKER_WORDS.rationale_chars * 2)]


@functools.lru_cache(maxsize=256)
def _question_signature(values: tuple[str | int, ...], has_subject: bool) -> type[dspy.Signature]:
    possible: Any = Literal[values]  # type: ignore[valid-type]
    fields: dict[str, Any] = {"context": (str, dspy.InputField())}
    if has_subject:
        fields["subject"] = (str, dspy.InputField())
    fields |= {
        "question": (str, dspy.InputField()),
        "reply": (possible, dspy.OutputField()),
        "rationale": (Reason, dspy.OutputField()),
    }
    return dspy.make_signature(fields, _ASKER_WORDS.task, signature_name="AskOwn")


class Asker(Agent):
    """An agent that answers a user's question on a case with one of the given values."""

    name = "asker"
    signature = _question_signature(("yes", "no"), False)

    def request(
        self, case: Case, question: str, values: Sequence[str | int], about: str = ""
    ) -> AgentRequest:
        """Return the request to ask about the case's answer.

        Args:
            question: The user's question; trusted.
            values: The possible labels or ratings, at least two.
            about: The sentence or text of the case in question; untrusted.

        Returns:
            The request; its reply is read as the value and its usage.
        """

        def read(found: dspy.Prediction, usage: Usage) -> tuple[Assessment, Usage]:
            chosen = SampledChoice.of(found, "reply", values)
            has_mean = isinstance(found.reply, int) and chosen.weights
            value = chosen.mean if has_mean else found.reply
            return Assessment(value=value, reason=found.rationale.strip(), **chosen.sureness), usage

        signature = _question_signature(tuple(values), bool(about))
        inputs = {"context": case.context, "question": question}
        if about:
            inputs["subject"] = fence_text(about, mark_of(case))
        return AgentRequest(signature, inputs, (), read)
