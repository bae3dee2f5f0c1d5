"""Rate answers on a rubric or on a user-defined question."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import fence_text, find_fence_mark
from ragassay.agents.sampling import SampledChoice
from ragassay.prompts import Rubric, Strategy, load_prompts
from ragassay.prompts.compiled import CompiledPredictor, CompiledPrompt
from ragassay.records import Assessment, Case, Judgment, Usage

LIKERT = (1, 5)
"""Rating scale that optimizers see. In calls of the judge, the rubric defines the scale."""

MOST_SENTENCES = 8
"""Maximum number of sentence numbers in a reply, for models that enforce a schema."""

_WORDS = load_prompts().agents["rubric_judge"]

# Small models continue with "1.1.1." after a rating, so rationales must start with a word.
Rationale = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z][a-z]+ .{{20,{_WORDS.rationale_chars}}}$")
]
Reasoning = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z][a-z]+ .{{20,{_WORDS.reasoning_chars}}}$")
]
Numbers = Annotated[list[Annotated[int, Field(ge=1, le=999)]], Field(max_length=MOST_SENTENCES)]


@functools.lru_cache(maxsize=256)
def build_rating_signature(
    bounds: tuple[int, int],
    instruction: str = _WORDS.task,
    more_inputs: tuple[str, ...] = (),
    thinks: bool = False,
) -> type[dspy.Signature]:
    """Return the cached signature for a rating call.

    Args:
        more_inputs: Names of additional inputs. With "facts", the reply also has sentence numbers.
        thinks: Whether the reply includes reasoning before the rating.
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


def build_expert_hint(rating: int) -> str:
    """Return a prompt text that tells the judge that an expert gave this rating."""
    return _WORDS.additions["hint"].replace("{rating}", str(rating))


class RubricJudge(Agent):
    """Rates a case on a rubric.

    Args:
        hints: Ratings attributed to an expert, keyed by record id and rubric name.
        examples: Untrusted examples that replace the rubric's examples, keyed by record id and
            rubric name.
    """

    name = "rubric_judge"

    def __init__(
        self,
        strategy: Strategy = "knowledge",
        hints: Mapping[tuple[str, str], str] | None = None,
        examples: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        super().__init__(build_rating_signature(LIKERT))
        self.strategy: Strategy = strategy
        self.hints = dict(hints or {})
        self.examples = dict(examples or {})
        self.of_rubric: dict[str, CompiledPredictor] = {}
        """Compiled prompts, keyed by rubric name."""

    def use(self, compiled: CompiledPrompt) -> None:
        """Use a compiled prompt. If the prompt specifies rubrics, use it only for these rubrics.

        Raises:
            SettingsError: See `Agent.use`.
        """
        if not compiled.rubrics:
            super().use(compiled)
            return
        self.check(compiled)
        self.of_rubric |= dict.fromkeys(compiled.rubrics, compiled.predictor)

    def request(
        self, case: Case, rubric: Rubric, facts: str = "", others: str = "", hint: str = ""
    ) -> AgentRequest:
        """Request the rating of the answer.

        The score is the expected rating if there is a distribution, otherwise the written rating.

        Args:
            facts: Measurements of the answer as text, which is untrusted.
            others: Untrusted rationales of other judges.
            hint: Rating attributed to an expert. Trusted.
        """
        mark = find_fence_mark(case)
        hint = hint or self.hints.get((case.record_id, rubric.name), "")
        optional = {
            "examples": self._choose_examples(case, rubric) if self.strategy == "few_shot" else "",
            "facts": fence_text(facts, mark) if facts else "",
            "others": fence_text(others, mark) if others else "",
            "hint": hint,
        }
        more_inputs = {name: text for name, text in optional.items() if text}
        occasions = (self.strategy, *(name for name in more_inputs if name in ("facts", "others")))
        added = [_WORDS.additions[name] for name in occasions if name in _WORDS.additions]
        low, high = rubric.bounds
        predictor: Any = self.predict
        own = self.of_rubric.get(rubric.name)
        instruction = own.instructions if own else predictor.signature.instructions
        task = " ".join([instruction, *added])
        signature = build_rating_signature(
            rubric.bounds,
            task.replace("{low}", str(low)).replace("{high}", str(high)),
            tuple(more_inputs),
            self.strategy == "chain_of_thought",
        )
        inputs = {"context": case.context, "rubric": rubric.render(self.strategy), **more_inputs}

        def read(reply: dspy.Prediction, usage: Usage) -> Judgment:
            return build_judgment(reply, usage, case, rubric.name, rubric.bounds)

        return AgentRequest(signature, inputs, tuple(own.demos if own else predictor.demos), read)

    def _choose_examples(self, case: Case, rubric: Rubric) -> str:
        examples = self.examples.get((case.record_id, rubric.name))
        return fence_text(examples, find_fence_mark(case)) if examples else rubric.render_examples()


def build_judgment(
    found: dspy.Prediction, usage: Usage, case: Case, rubric: str, bounds: tuple[int, int]
) -> Judgment:
    """Return the judgment in a reply, including the distribution over ratings if available.

    Args:
        found: Reply with `rating`, `rationale` and optional `sentences` and `logprobs`.
    """
    low, high = bounds
    choice = SampledChoice.from_reply(found, "rating", range(low, high + 1))
    weights = choice.weights
    sentences = (n for n in found.get("sentences") or () if 1 <= n <= len(case.sentences))
    return Judgment(
        rubric=rubric,
        scale=bounds,
        rating=found.rating,
        score=round(min(float(high), max(float(low), choice.mean)), 4),
        distribution=tuple(round(w, 6) for w in weights.values()) if weights else None,
        rationale=found.rationale.strip(),
        sentences=tuple(dict.fromkeys(sentences)),
        usage=usage,
    )


_ASKER_WORDS = load_prompts().agents["asker"]

Reason = Annotated[str, StringConstraints(max_length=_ASKER_WORDS.rationale_chars * 2)]


@functools.lru_cache(maxsize=256)
def _build_question_signature(
    values: tuple[str | int, ...], has_subject: bool
) -> type[dspy.Signature]:
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
    """Answers a user-defined question about a case with one of several values."""

    name = "asker"
    signature = _build_question_signature(("yes", "no"), False)

    def request(
        self, case: Case, question: str, values: Sequence[str | int], about: str = ""
    ) -> AgentRequest:
        """Request an answer. The result is an assessment and its usage.

        Args:
            question: Question of the user. Trusted.
            values: Possible labels or ratings, at least two.
            about: Untrusted sentence or text of the case that the question is about.
        """

        def read(reply: dspy.Prediction, usage: Usage) -> tuple[Assessment, Usage]:
            choice = SampledChoice.from_reply(reply, "reply", values)
            has_mean = isinstance(reply.reply, int) and choice.weights
            value = choice.mean if has_mean else reply.reply
            return Assessment(value=value, reason=reply.rationale.strip(), **choice.sureness), usage

        signature = _build_question_signature(tuple(values), bool(about))
        inputs = {"context": case.context, "question": question}
        if about:
            inputs["subject"] = fence_text(about, find_fence_mark(case))
        return AgentRequest(signature, inputs, (), read)
