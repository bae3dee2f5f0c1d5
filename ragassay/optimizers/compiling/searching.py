"""DSPy's optimizers, with parameters for a small budget."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import dspy

from ragassay.optimizers.compiling.compiling_lm import CompilingLM
from ragassay.optimizers.compiling.items import CompileItem, split_by_group
from ragassay.optimizers.compiling.metrics import Grade, mark_unusable
from ragassay.optimizers.compiling.proposing import ProposalAdapter, propose_instructions
from ragassay.optimizers.compiling.student import Student
from ragassay.optimizers.compiling.task import CompileTask

OptimizerName = Literal["bootstrap", "miprov2", "gepa", "copro"]
OPTIMIZERS: tuple[OptimizerName, ...] = get_args(OptimizerName)

ROUNDS: Mapping[str, int] = {"light": 6, "medium": 15, "heavy": 40}
"""Passes of each named budget over the data for comparing candidates."""

MOST_DEMOS = 3
DEPTH = 2
"""Rounds of COPRO's proposals: the first from the instruction, the next from the results of those.
"""

REFLECTED = 3
"""Cases that GEPA reads before it writes an instruction."""

NEVER = 10**9
"""Limit of errors: failed replies are graded, so they never end a job."""

TEMPERATURE = 1.0
"""Temperature for writing candidates."""


@dataclass(frozen=True)
class Search:
    """The inputs of an optimizer.

    Attributes:
        task: Grades replies.
        examples: The training examples, by item.
        tried: The part that candidates are compared on; the rest gives examples and mistakes.
        n_calls: Approximate limit of calls of the agent.
        seed: The seed of all draws.
        n_threads: Concurrent calls.
        task_lm: The model that the prompt is for.
        writer: The model that writes candidates.
    """

    task: CompileTask
    taught: Sequence[dspy.Example]
    tried: Sequence[dspy.Example]
    n_calls: int
    seed: int
    n_threads: int
    task_lm: CompilingLM
    writer: CompilingLM

    @property
    def n_rounds(self) -> int:
        """Number of affordable passes over the examples for comparing candidates."""
        return max(2, self.n_calls // max(1, len(self.tried)))

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


def n_calls_of(budget: str, n_tried: int) -> int | None:
    """Return the calls of the agent that a budget allows; None for neither a name nor a number."""
    if budget in ROUNDS:
        return ROUNDS[budget] * n_tried
    return int(budget) if budget.isdecimal() and int(budget) > 0 else None


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
    with dspy.context(lm=given.task_lm, adapter=ProposalAdapter()), _printing_to(log):
        return _SEARCHES[name](student, given)


def _bootstrap(student: Student, given: Search) -> Student:
    from dspy.teleprompt import BootstrapFewShotWithRandomSearch

    # Three uncounted candidates come first: no, labelled and unshuffled examples.
    optimizer = BootstrapFewShotWithRandomSearch(
        metric=given.value,
        metric_threshold=given.task.accept,
        max_bootstrapped_demos=MOST_DEMOS,
        max_labeled_demos=given.n_labelled,
        num_candidate_programs=max(0, given.n_rounds - 3),
        num_threads=given.n_threads,
        max_errors=NEVER,
    )
    return optimizer.compile(student, trainset=list(given.taught), valset=list(given.tried))


def _miprov2(student: Student, given: Search) -> Student:
    from dspy.teleprompt import MIPROv2

    n_trials = given.n_rounds - 1
    optimizer = MIPROv2(
        metric=given.value,
        metric_threshold=given.task.accept,
        prompt_model=given.writer,
        task_model=given.task_lm,
        max_bootstrapped_demos=MOST_DEMOS,
        max_labeled_demos=given.n_labelled,
        auto=None,
        num_candidates=max(3, n_trials // 2),
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
        num_trials=n_trials,
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
        max_metric_calls=given.n_calls,
        reflection_minibatch_size=min(REFLECTED, len(given.taught)),
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
        breadth=max(2, given.n_rounds // DEPTH),
        depth=DEPTH,
        init_temperature=TEMPERATURE,
    )
    options = {"num_threads": given.n_threads, "display_progress": False}
    return optimizer.compile(student, trainset=list(given.tried), eval_kwargs=options)


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
