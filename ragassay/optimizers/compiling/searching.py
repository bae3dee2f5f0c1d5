"""DSPy's optimizers, with parameters for a small budget."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from ragassay.optimizers.compiling.compiling_lm import CompilingLM
from ragassay.optimizers.compiling.items import CompileItem, split_by_group
from ragassay.optimizers.compiling.metrics import Grade, mark_unusable
from ragassay.optimizers.compiling.planning import DEPTH, OptimizerName, Sizes
from ragassay.optimizers.compiling.proposing import ProposalAdapter, propose_instructions
from ragassay.optimizers.compiling.student import Student, predictor_of
from ragassay.optimizers.compiling.task import CompileTask

MOST_DEMOS = 3
NEVER = 10**9
"""Limit of errors: failed replies are graded, so they never end a job."""

TEMPERATURE = 1.0
"""Temperature for writing candidates."""


@dataclass(frozen=True)
class Search:
    """The inputs of an optimizer.

    Attributes:
        task: Grades replies.
        taught: The part that gives examples and mistakes.
        tried: The part that candidates are compared on.
        n_budget: Approximate limit of calls of the agent.
        seed: The seed of all draws.
        n_threads: Concurrent calls.
        task_lm: The model that the prompt is for.
        writer: The model that writes candidates.
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
        """The sizes of the search."""
        return Sizes(len(self.taught), len(self.tried), self.n_budget)

    @property
    def n_labelled(self) -> int:
        """Most labelled demonstrations; none if right replies are known only in part."""
        return MOST_DEMOS if all(example.item.reply for example in self.taught) else 0

    def mark(self, example: dspy.Example, found: dspy.Prediction) -> Grade:
        """Grade a student's prediction; 0 without a record."""
        if found.found is None:
            return mark_unusable(found.problem)
        return self.task.mark(example.item, found.found)

    def value(self, example: dspy.Example, found: dspy.Prediction, trace: object = None) -> float:
        """Return the grade as a number."""
        return self.mark(example, found).value

    def remark(
        self,
        example: dspy.Example,
        found: dspy.Prediction,
        trace: object = None,
        pred_name: str | None = None,
        pred_trace: object = None,
    ) -> dspy.Prediction:
        """Return the grade with its feedback, as GEPA needs it."""
        mark = self.mark(example, found)
        return dspy.Prediction(score=mark.value, feedback=mark.feedback)


def parts_of(
    items: Sequence[CompileItem], seed: int
) -> tuple[list[CompileItem], list[CompileItem]]:
    """Split items into training examples and those to compare candidates on: half the groups."""
    taught, tried = split_by_group(items, 0.5, seed)
    random.Random(f"order:{seed}").shuffle(taught)
    return (taught, tried) if tried else (taught, taught)


def search(name: OptimizerName, student: Student, given: Search, log: Path) -> Student:
    """Search for a better prompt.

    Args:
        name: The optimizer.
        student: The student with the shipped prompt; it is not changed.
        given: The optimizer's inputs.
        log: A file for the optimizer's output.

    Raises:
        JobStopped: No further call may be made.
    """
    adapter = ProposalAdapter(predictor_of(student).instructions)
    with dspy.context(lm=given.task_lm, adapter=adapter), _printing_to(log):
        return _SEARCHES[name](student, given)


def _bootstrap(student: Student, given: Search) -> Student:
    from dspy.teleprompt import BootstrapFewShotWithRandomSearch

    # It counts the candidates besides no, labelled and unshuffled examples.
    optimizer = BootstrapFewShotWithRandomSearch(
        metric=given.value,
        metric_threshold=given.task.accept,
        max_bootstrapped_demos=MOST_DEMOS,
        max_labeled_demos=given.n_labelled,
        num_candidate_programs=given.sizes.n_shuffled,
        num_threads=given.n_threads,
        max_errors=NEVER,
    )
    return optimizer.compile(student, trainset=list(given.taught), valset=list(given.tried))


def _miprov2(student: Student, given: Search) -> Student:
    from dspy.teleprompt import MIPROv2

    optimizer = MIPROv2(
        metric=given.value,
        metric_threshold=given.task.accept,
        prompt_model=given.writer,
        task_model=given.task_lm,
        max_bootstrapped_demos=MOST_DEMOS,
        max_labeled_demos=given.n_labelled,
        auto=None,
        num_candidates=given.sizes.n_candidates,
        num_threads=given.n_threads,
        max_errors=NEVER,
        init_temperature=TEMPERATURE,
        # Zero means DSPy's default there.
        seed=given.seed + 1,
    )
    return optimizer.compile(
        student,
        trainset=list(given.taught),
        valset=list(given.tried),
        num_trials=given.sizes.n_trials,
        minibatch=False,
        # It would send the source code of this package.
        program_aware_proposer=False,
        data_aware_proposer=False,
    )


def _gepa(student: Student, given: Search) -> Student:
    from dspy.teleprompt import GEPA

    # Its type asks for DSPy's own LM; any BaseLM works.
    writer: Any = given.writer
    # No log_dir: it would pickle its state, and all replies are on disk already.
    optimizer = GEPA(
        metric=given.remark,
        max_metric_calls=given.sizes.n_gepa_calls,
        reflection_minibatch_size=given.sizes.n_reflected,
        reflection_lm=writer,
        instruction_proposer=propose_instructions,
        use_merge=False,
        num_threads=given.n_threads,
        seed=given.seed,
    )
    found: Any = optimizer.compile(student, trainset=list(given.taught), valset=list(given.tried))
    return found


def _copro(student: Student, given: Search) -> Student:
    from dspy.teleprompt import COPRO

    optimizer = COPRO(
        prompt_model=given.writer,
        metric=given.value,
        breadth=given.sizes.breadth,
        depth=DEPTH,
        init_temperature=TEMPERATURE,
    )
    options = {"num_threads": given.n_threads, "display_progress": False}
    found = optimizer.compile(student, trainset=list(given.tried), eval_kwargs=options)
    # Among equals COPRO takes the first that it tried; the shipped instruction was its last.
    shipped = predictor_of(student).instructions
    scores = {one["instruction"]: one["score"] for one in reversed(found.candidate_programs)}
    return student if scores.get(shipped) == max(scores.values()) else found


_SEARCHES: Mapping[OptimizerName, Callable[[Student, Search], Student]] = {
    "bootstrap": _bootstrap,
    "miprov2": _miprov2,
    "gepa": _gepa,
    "copro": _copro,
}


@contextlib.contextmanager
def _printing_to(log: Path) -> Iterator[Any]:
    """Redirect what optimizers print, on either stream of the whole process, to a file."""
    with (
        log.open("a", encoding="utf-8") as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        yield file
