"""Plan what is compiled, by which optimizer, and in how many calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ragassay.errors import InputError

AGENTS = (
    "rubric_judge",
    "verifier",
    "sentence_labeller",
    "nugget_assigner",
    "nugget_writer",
    "query_writer",
)

_WRITES = "it writes text of its own, and no file holds its right replies"
_MEASURED = "no data for it are read here; `ragassay meta-evaluate` compares it with people"
_UNLABELLED = "no file holds its right replies"
_TUNED = "a fine-tuned model knows its prompt by heart"

UNCOMPILED: Mapping[str, str] = {
    "answer_checker": _MEASURED,
    "answer_extractor": _MEASURED,
    "answer_nuggetizer": _WRITES,
    "answer_reader": _TUNED,
    "asker": "its question is the user's own",
    "evidence_searcher": "it calls tools, and no file holds its right searches",
    "exam_writer": _WRITES,
    "fact_lister": _WRITES,
    "importance_scorer": _UNLABELLED,
    "intent_comparer": _UNLABELLED,
    "nugget_creator": _WRITES,
    "nugget_extractor": _MEASURED,
    "nugget_rater": _MEASURED,
    "paraphraser": _WRITES,
    "qa_mender": _WRITES,
    "qa_writer": _WRITES,
    "question_rater": _MEASURED,
    "racar_accuracy": _MEASURED,
    "racar_agnosticism": _MEASURED,
    "racar_completeness": _MEASURED,
    "racar_reasonableness": _MEASURED,
    "racar_relevance": _MEASURED,
    "rationale_auditor": _UNLABELLED,
    "relevance_grader": _MEASURED,
    "self_questioner": _WRITES,
    "sufficiency_judge": _UNLABELLED,
    "synthesizer": _WRITES,
    "tuned_judge": _TUNED,
    "tuned_verifier": _TUNED,
    "verifier_binary": "name it verifier, with --labels 2",
    "verifier_ternary": "name it verifier, with --labels 3",
}
"""Why an agent cannot be compiled, by the key of its prompt."""


def check_agent(name: str) -> None:
    """Refuse an agent that cannot be compiled.

    Raises:
        InputError: The message says why, and names those that can.
    """
    if name in AGENTS:
        return
    known = f"`ragassay optimize` compiles {', '.join(AGENTS)}"
    if name in UNCOMPILED:
        raise InputError(f"{name} cannot be compiled: {UNCOMPILED[name]}; {known}")
    raise InputError(f"there is no agent {name!r}; {known}")


OptimizerName = Literal["bootstrap", "miprov2", "gepa", "copro"]
OPTIMIZERS: tuple[OptimizerName, ...] = get_args(OptimizerName)

ROUNDS: Mapping[str, int] = {"light": 6, "medium": 15, "heavy": 40}
"""Passes of each named budget over the data for comparing candidates."""

DEPTH = 2
"""Rounds of COPRO's proposals: the first from the instruction, the next from the results of those.
"""

REFLECTED = 3
"""Cases that GEPA reads before it writes an instruction."""

N_FIXED = 3
"""Candidates that bootstrap always compares: no, labelled and unshuffled examples."""

FEWEST_ROUNDS = 2


def check_optimizer(name: str) -> None:
    """Refuse an unknown optimizer.

    Raises:
        InputError: It names those that there are.
    """
    if name not in OPTIMIZERS:
        raise InputError(f"no optimizer {name!r}; there are {', '.join(OPTIMIZERS)}")


def n_calls_of(budget: str, n_tried: int) -> int:
    """Return the calls of the agent that a budget allows.

    Args:
        budget: "light", "medium", "heavy" or a number.
        n_tried: The number of items that candidates are compared on.

    Raises:
        InputError: It is neither a name nor a number above 0.

    Example:
        >>> n_calls_of("light", 10), n_calls_of("77", 10)
        (60, 77)
    """
    if budget in ROUNDS:
        return ROUNDS[budget] * n_tried
    if budget.isdecimal() and int(budget) > 0:
        return int(budget)
    raise InputError(f"--budget {budget}: {', '.join(ROUNDS)} or a number above 0")


@dataclass(frozen=True)
class Sizes:
    """The sizes of a search.

    Attributes:
        n_taught: Items that give examples and mistakes.
        n_tried: Items that candidates are compared on.
        n_budget: Calls of the agent that the budget allows, approximately.
    """

    n_taught: int
    n_tried: int
    n_budget: int

    @property
    def n_rounds(self) -> int:
        """Affordable passes over the items for comparing candidates; two at least."""
        return max(FEWEST_ROUNDS, self.n_budget // max(1, self.n_tried))

    @property
    def n_shuffled(self) -> int:
        """Sets of examples that bootstrap draws besides the fixed candidates."""
        return max(0, self.n_rounds - N_FIXED)

    @property
    def n_trials(self) -> int:
        """Combinations that MIPROv2 tries besides the shipped prompt."""
        return self.n_rounds - 1

    @property
    def n_candidates(self) -> int:
        """Instructions, and sets of examples, that MIPROv2 combines."""
        return max(3, self.n_trials // 2)

    @property
    def n_reflected(self) -> int:
        """Cases in each step of GEPA."""
        return min(REFLECTED, self.n_taught)

    @property
    def n_gepa_calls(self) -> int:
        """Calls after which GEPA starts no further step; enough for one whole step."""
        return max(self.n_budget, self.n_tried + 2 * self.n_reflected)

    @property
    def breadth(self) -> int:
        """Instructions in each round of COPRO."""
        return max(2, self.n_rounds // DEPTH)


@dataclass(frozen=True)
class CallPlan:
    """The most calls that a job makes; equal requests are made once, so it may make fewer.

    Attributes:
        n_measured: To measure the shipped and the compiled prompt on held-out items.
        n_searched: Calls of the agent in the search.
        n_written: Calls of the model that writes instructions.
    """

    n_measured: int
    n_searched: int
    n_written: int

    @property
    def n_calls(self) -> int:
        """All calls together."""
        return self.n_measured + self.n_searched + self.n_written


def plan_calls(optimizer: OptimizerName, sizes: Sizes, n_dev: int) -> CallPlan:
    """Return the most calls of a job.

    Args:
        optimizer: The optimizer.
        sizes: The sizes of its search.
        n_dev: The number of held-out items.

    Example:
        >>> plan_calls("copro", Sizes(n_taught=50, n_tried=50, n_budget=300), n_dev=100)
        CallPlan(n_measured=200, n_searched=300, n_written=5)
    """
    taught, tried = sizes.n_taught, sizes.n_tried
    n_searched, n_written = {
        # Each set of examples is looked for among the taught items, then tried.
        "bootstrap": (
            (N_FIXED + sizes.n_shuffled) * tried + (1 + sizes.n_shuffled) * taught,
            0,
        ),
        # The first two sets of examples, none and labelled ones, take no call.
        "miprov2": (
            sizes.n_rounds * tried + (sizes.n_candidates - 2) * taught,
            sizes.n_candidates,
        ),
        # A step: the mistakes, the new instruction on the same items, then on all; the last one
        # may begin just below the limit.
        "gepa": (
            sizes.n_gepa_calls + 2 * sizes.n_reflected + tried,
            1 + max(0, sizes.n_gepa_calls - tried) // (2 * sizes.n_reflected),
        ),
        "copro": (DEPTH * sizes.breadth * tried, DEPTH * sizes.breadth - 1),
    }[optimizer]
    return CallPlan(2 * n_dev, n_searched, n_written)
