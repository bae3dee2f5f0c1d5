"""The agents that can be compiled, by their names for users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.optimizers.compiling.claim_task import ClaimTask
from ragassay.optimizers.compiling.compilable import check_agent
from ragassay.optimizers.compiling.label_tasks import AssignmentTask, SentenceLabelTask
from ragassay.optimizers.compiling.nugget_task import NuggetTask
from ragassay.optimizers.compiling.query_task import QueryWriterTask
from ragassay.optimizers.compiling.rating_task import RatingTask
from ragassay.optimizers.compiling.task import CompileTask


@dataclass(frozen=True)
class TaskOptions:
    """A user's options for a task.

    Attributes:
        rubrics: The rubric judge's rubrics; empty for all.
        n_labels: Number of the verifier's labels.
        gold: A separate file of labels, for judge, labeller and assigner.
        n_damaged: Number of answers to damage as well, for the judge.
        seed: The damage's seed.
    """

    rubrics: tuple[str, ...] = ()
    n_labels: Literal[2, 3, 4] = 4
    gold: Path | None = None
    n_damaged: int = 0
    seed: int = 0


_TASKS: Mapping[str, Callable[[Run, TaskOptions], CompileTask]] = {
    "rubric_judge": lambda tools, o: RatingTask(tools, o.rubrics, o.gold, o.n_damaged, o.seed),
    "verifier": lambda tools, o: ClaimTask(tools, o.n_labels),
    "sentence_labeller": lambda tools, o: SentenceLabelTask(tools, o.gold),
    "nugget_assigner": lambda tools, o: AssignmentTask(tools, o.gold),
    "nugget_writer": lambda tools, o: NuggetTask(tools),
    "query_writer": lambda tools, o: QueryWriterTask(tools),
}


def task_of(agent: str, tools: Run, options: TaskOptions) -> CompileTask:
    """Return an agent's compile task.

    Raises:
        InputError: It cannot be compiled, or the query writer has no corpus to search.
    """
    check_agent(agent)
    if agent == "query_writer" and not tools.retrieval.has_corpus:
        raise InputError("query_writer: name what its queries search, with --corpus")
    return _TASKS[agent](tools, options)
