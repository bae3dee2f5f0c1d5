"""Run DSPy's optimizers with a small budget, and write their requests for new instructions."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from ragassay.agents.base import NO_LOGPROBS, SharedPrefixAdapter, build_response_format
from ragassay.errors import ModelError, RefusedError, UnparsableReplyError
from ragassay.optimizers.compiling.compiling_lm import CompilingLM
from ragassay.optimizers.compiling.items import CompileItem, split_by_group
from ragassay.optimizers.compiling.metrics import Grade, mark_unusable
from ragassay.optimizers.compiling.planning import DEPTH, OptimizerName, Sizes
from ragassay.optimizers.compiling.student import Student, extract_predictor
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.prompts.texts import load_proposals

LONGEST_LOCAL = 600
"""Maximum number of characters in a text that the embedded model writes. Hosted models have no
limit."""

MOST_CASE_CHARS = 700
"""Maximum number of characters to quote from an agent's input or reply in a request for a new
instruction."""

FENCE = "```"


class ProposalAdapter(SharedPrefixAdapter):
    """Adapter for the signatures with which DSPy's optimizers request new instructions.

    If a reply is not the expected JSON, its whole text is used as the instruction, because bad
    instructions are not selected anyway. Refusals and empty replies are skipped, so that they do
    not stop the optimizer. If no reply remains, the current instruction is returned.
    """

    def __init__(self, instruction: str) -> None:
        super().__init__()
        self._instruction = instruction

    def __call__(
        self,
        lm: Any,
        lm_kwargs: dict[str, Any],
        signature: Any,
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Make a request from a thread without an event loop.

        Returns:
            The fields of each reply that contains an instruction. The list has at least one entry.
        """
        options = {**lm_kwargs, **NO_LOGPROBS}
        if lm.takes_schema:
            options["response_format"] = _bound_schema(build_response_format(signature))
        try:
            outputs = lm(messages=self.format(signature, demos, inputs), **options)
        except ModelError:
            outputs = [{"text": ""}]
        replies = [self.parse(signature, output["text"]) for output in outputs]
        # The first output field of these signatures is the instruction. DSPy would replace an
        # empty instruction with one generated from the field names.
        first, *others = signature.output_fields
        return [reply for reply in replies if reply[first]] or [
            {first: self._instruction, **dict.fromkeys(others, "")}
        ]

    def format(
        self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the task as the system message and the inputs as the user message."""
        shape = ", ".join(f'"{name}": "..."' for name in signature.output_fields)
        values = [inputs[name] for name in signature.input_fields]
        texts = ["\n".join(map(str, v)) if isinstance(v, list) else v for v in values]
        parts = map("{}:\n{}".format, signature.input_fields, texts)
        prompt = "\n\n".join([*parts, f"Reply with JSON: {{{shape}}}"])
        return [
            {"role": "system", "content": signature.instructions},
            {"role": "user", "content": prompt},
        ]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the stripped fields of a reply. Without JSON, each field is the whole reply."""
        try:
            fields = super().parse(signature, completion)
        except RefusedError:
            return dict.fromkeys(signature.output_fields, "")
        except UnparsableReplyError:
            return dict.fromkeys(signature.output_fields, _strip_fence(completion))
        return {name: str(value).strip() for name, value in fields.items()}


class BetterInstruction(dspy.Signature):
    """Write a better instruction; the words come from the prompts."""

    instruction: str = dspy.InputField()
    cases: str = dspy.InputField()
    better_instruction: str = dspy.OutputField()


def propose_instructions(
    candidate: dict[str, str],
    reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
    components_to_update: list[str],
) -> dict[str, str]:
    """Write better instructions with DSPy's current model, as a `ProposalFn` for GEPA."""
    words = load_proposals().improve
    ask = dspy.Predict(BetterInstruction.with_instructions(words.task))
    instructions: dict[str, str] = {}
    for name in components_to_update:
        cases = [_format_case(n, one) for n, one in enumerate(reflective_dataset.get(name, ()), 1)]
        with dspy.context(adapter=ProposalAdapter(candidate[name])):
            reply = ask(instruction=candidate[name], cases="\n\n".join(cases))
        instructions[name] = reply.better_instruction
    return instructions


def _format_case(number: int, case: Mapping[str, Any]) -> str:
    words = load_proposals().improve
    parts = [words.case.replace("{number}", str(number))]
    for title, key in ((words.inputs, "Inputs"), (words.replied, "Generated Outputs")):
        values = case.get(key) or {}
        shown = values.items() if isinstance(values, Mapping) else [("", values)]
        parts += [f"{title} {name}: {str(value)[:MOST_CASE_CHARS]}" for name, value in shown]
    return "\n".join([*parts, f"{words.remark}: {case.get('Feedback', '')}"])


def _strip_fence(text: str) -> str:
    """Return the first fenced block in a text, or the whole text if there is none."""
    parts = text.split(FENCE)
    if len(parts) < 3:
        return text.strip()
    _, _, block = parts[1].partition("\n")  # Removes the language name.
    return block.strip() or text.strip()


def _bound_schema(wanted: dict[str, Any]) -> dict[str, Any]:
    """Add length limits to the texts of a schema, so that small models stop."""
    schema = wanted["json_schema"]["schema"]
    properties = {
        name: part | {"maxLength": LONGEST_LOCAL} if part.get("type") == "string" else part
        for name, part in schema["properties"].items()
    }
    bounded = schema | {"properties": properties}
    return wanted | {"json_schema": wanted["json_schema"] | {"schema": bounded}}


MOST_DEMOS = 3
NEVER = 10**9
"""Maximum number of errors, which is never reached because failed replies are graded."""

TEMPERATURE = 1.0
"""Temperature for generating candidates."""


@dataclass(frozen=True)
class Search:
    """Data, models and budget of an optimizer.

    Attributes:
        taught: Examples that can become few-shot examples, and whose wrong replies are shown to the
            writer.
        tried: Examples on which candidate prompts are compared.
        n_budget: Approximate maximum number of agent calls.
        task_lm: Model that will use the prompt.
        writer: Model that writes candidate instructions.
    """

    task: CompileTask
    taught: Sequence[dspy.Example]
    tried: Sequence[dspy.Example]
    n_budget: int
    seed: int
    n_threads: int
    task_lm: CompilingLM
    writer: CompilingLM

    @property
    def sizes(self) -> Sizes:
        """Numbers of examples, and the budget of the search."""
        return Sizes(len(self.taught), len(self.tried), self.n_budget)

    @property
    def n_labelled(self) -> int:
        """Maximum number of labelled few-shot examples, or 0 if an expected reply is incomplete."""
        return MOST_DEMOS if all(example.item.reply for example in self.taught) else 0

    def mark(self, example: dspy.Example, found: dspy.Prediction) -> Grade:
        """Grade an agent's reply to an example."""
        if found.found is None:
            return mark_unusable(found.problem)
        return self.task.mark(example.item, found.found)

    def compute_grade(
        self, example: dspy.Example, found: dspy.Prediction, trace: object = None
    ) -> float:
        """Return the grade of an agent's reply as a number."""
        return self.mark(example, found).value

    def explain_grade(
        self,
        example: dspy.Example,
        found: dspy.Prediction,
        trace: object = None,
        pred_name: str | None = None,
        pred_trace: object = None,
    ) -> dspy.Prediction:
        """Return the grade of an agent's reply and feedback on it, for GEPA."""
        mark = self.mark(example, found)
        return dspy.Prediction(score=mark.value, feedback=mark.feedback)


def split_halves(
    items: Sequence[CompileItem], seed: int
) -> tuple[list[CompileItem], list[CompileItem]]:
    """Split groups of items into halves: one to learn from, and one to compare candidates on."""
    taught, tried = split_by_group(items, 0.5, seed)
    random.Random(f"order:{seed}").shuffle(taught)
    return (taught, tried) if tried else (taught, taught)


def search(name: OptimizerName, student: Student, setup: Search, log: Path) -> Student:
    """Search for a better prompt, and write what the optimizer prints to a log file.

    Raises:
        JobStopped: The job was stopped.
    """
    adapter = ProposalAdapter(extract_predictor(student).instructions)
    with dspy.context(lm=setup.task_lm, adapter=adapter), _redirect_output(log):
        return _SEARCHES[name](student, setup)


def _run_bootstrap(student: Student, setup: Search) -> Student:
    from dspy.teleprompt import BootstrapFewShotWithRandomSearch

    # num_candidate_programs excludes the candidates with no, labelled and unshuffled examples.
    optimizer = BootstrapFewShotWithRandomSearch(
        metric=setup.compute_grade,
        metric_threshold=setup.task.accept,
        max_bootstrapped_demos=MOST_DEMOS,
        max_labeled_demos=setup.n_labelled,
        num_candidate_programs=setup.sizes.n_shuffled,
        num_threads=setup.n_threads,
        max_errors=NEVER,
    )
    return optimizer.compile(student, trainset=list(setup.taught), valset=list(setup.tried))


def _run_miprov2(student: Student, setup: Search) -> Student:
    from dspy.teleprompt import MIPROv2

    optimizer = MIPROv2(
        metric=setup.compute_grade,
        metric_threshold=setup.task.accept,
        prompt_model=setup.writer,
        task_model=setup.task_lm,
        max_bootstrapped_demos=MOST_DEMOS,
        max_labeled_demos=setup.n_labelled,
        auto=None,
        num_candidates=setup.sizes.n_candidates,
        num_threads=setup.n_threads,
        max_errors=NEVER,
        init_temperature=TEMPERATURE,
        # A seed of zero selects DSPy's default seed.
        seed=setup.seed + 1,
    )
    return optimizer.compile(
        student,
        trainset=list(setup.taught),
        valset=list(setup.tried),
        num_trials=setup.sizes.n_trials,
        minibatch=False,
        # Would send the source code of this package to the model.
        program_aware_proposer=False,
        data_aware_proposer=False,
    )


def _run_gepa(student: Student, setup: Search) -> Student:
    from dspy.teleprompt import GEPA

    writer: Any = setup.writer  # GEPA's annotation requires dspy.LM, but any BaseLM works.
    # No log_dir, because GEPA would pickle its state there. All replies are stored anyway.
    optimizer = GEPA(
        metric=setup.explain_grade,
        max_metric_calls=setup.sizes.n_gepa_calls,
        reflection_minibatch_size=setup.sizes.n_reflected,
        reflection_lm=writer,
        instruction_proposer=propose_instructions,
        use_merge=False,
        num_threads=setup.n_threads,
        seed=setup.seed,
    )
    found: Any = optimizer.compile(student, trainset=list(setup.taught), valset=list(setup.tried))
    return found


def _run_copro(student: Student, setup: Search) -> Student:
    from dspy.teleprompt import COPRO

    optimizer = COPRO(
        prompt_model=setup.writer,
        metric=setup.compute_grade,
        breadth=setup.sizes.breadth,
        depth=DEPTH,
        init_temperature=TEMPERATURE,
    )
    options = {"num_threads": setup.n_threads, "display_progress": False}
    found = optimizer.compile(student, trainset=list(setup.tried), eval_kwargs=options)
    # Among equally good candidates, prefer the shipped instruction, which COPRO tries last.
    shipped = extract_predictor(student).instructions
    scores = {one["instruction"]: one["score"] for one in reversed(found.candidate_programs)}
    return student if scores.get(shipped) == max(scores.values()) else found


_SEARCHES: Mapping[OptimizerName, Callable[[Student, Search], Student]] = {
    "bootstrap": _run_bootstrap,
    "miprov2": _run_miprov2,
    "gepa": _run_gepa,
    "copro": _run_copro,
}


@contextlib.contextmanager
def _redirect_output(log: Path) -> Iterator[Any]:
    with (
        log.open("a", encoding="utf-8") as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        yield file
