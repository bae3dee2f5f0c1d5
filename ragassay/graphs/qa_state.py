"""The state of the graph that writes question-answer pairs from a paper, and its tools."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ragassay.evaluators.base import Run
from ragassay.models.gateway import JudgeLM
from ragassay.records import Failure, Paper, QAPair, RacarDimension, RacarRating, Usage

Way = Literal["pairs", "self-questioning"]
"""How pairs are written: SciQAG's way, or the baseline, paragraph by paragraph (Fang et al. 2024).
"""

Long = Literal["whole", "sections"]
"""The part of a paper that a prompt has: all, or a group of sections."""

QAEnd = Literal["done", "out_of_rounds", "out_of_tokens", "does_not_fit"]
"""Why the work on a paper ended."""

FlawKind = Literal[
    "context",
    "wording",
    "number",
    "too_short",
    "no_specifics",
    "answer_told",
    "duplicate",
    "rated_low",
    "given_up",
]
"""A flaw of a pair; "given_up": the model had no better one."""

Rate = Callable[[Paper, RacarDimension, Sequence[QAPair]], Awaitable[Sequence[RacarRating]]]
"""Rates pairs of a paper in one dimension of RACAR, one rating a pair."""

Fold = Callable[[Sequence[str]], Mapping[int, int]]
"""Returns the questions that ask what an earlier one does: position -> the earlier one's."""


@dataclass(frozen=True)
class QATools:
    """The graph's run-time context.

    Attributes:
        tools: The agents and the settings.
        writer: The model that writes and repairs.
        fold: Finds duplicates.
        rate: The second model's ratings; None where rules alone check.
        rater: Name of the second model; empty without one.
        window_tokens: Tokens that the writer reads and writes in one call; None where unknown.
        window_chars: Characters of a paper in a prompt, where that is unknown.
    """

    tools: Run
    writer: JudgeLM
    papers: Mapping[str, Paper]
    fold: Fold
    rate: Rate | None = None
    rater: str = ""
    window_tokens: int | None = None
    window_chars: int = 200_000


@dataclass(frozen=True)
class QAJob:
    """A paper from which pairs are to be written: the input of the graph.

    Attributes:
        paper: Its id.
        keywords: What they should be about; empty for the paper's own, or those found in it.
        way: How they are written.
        long: What of the paper a prompt has.
        section_chars: Most characters of a group of sections.
        rounds: Most rounds of repair, in which missing pairs are written too.
        max_tokens: Tokens after which no further call begins; 0 for no bound.
        least: Lowest rating that a pair may have in any dimension.
    """

    paper: str = ""
    number: int = 10
    keywords: tuple[str, ...] = ()
    way: Way = "pairs"
    long: Long = "whole"
    section_chars: int = 8_000
    rounds: int = 2
    max_tokens: int = 0
    least: int = 2


@dataclass(frozen=True)
class PairFlaw:
    """A flaw of a pair, and the words that tell it to the model that repairs it."""

    kind: FlawKind
    why: str


@dataclass(frozen=True)
class DraftPair:
    """A pair in the making.

    Attributes:
        pair: The pair; its id is new with each repair.
        place: Its number among all that were drafted.
        part: The part of the paper that it is from.
        n_mended: How often it was repaired.
    """

    pair: QAPair
    place: int
    part: int
    n_mended: int = 0
    flaws: tuple[PairFlaw, ...] = ()


@dataclass(frozen=True)
class RatingTask:
    """The payload of a `Send`: pairs to rate in one dimension."""

    paper: str
    pairs: tuple[QAPair, ...]
    dimension: RacarDimension


@dataclass
class QAState:
    """The state of one paper.

    Attributes:
        paper, number, keywords, way, long, section_chars, rounds, max_tokens, least: The job.
        shares: Pairs to write from each part.
        queue: Parts to write from next, each with a number of pairs.
        closed: Parts whose call failed; no more pairs are requested from them.
        n_drafted: Pairs and repairs so far; numbers the next one.
        round: Rounds of repair so far.
        open: Pairs that are not settled.
        kept: Pairs that are.
        dropped: Pairs that were given up, with their flaws.
        n_empty: Pairs of the model without a question or an answer.
        end: Why the work ended; None before.
        failures: Failed calls.
        usage: The cost of all calls.
    """

    paper: str = ""
    number: int = 10
    keywords: tuple[str, ...] = ()
    way: Way = "pairs"
    long: Long = "whole"
    section_chars: int = 8_000
    rounds: int = 2
    max_tokens: int = 0
    least: int = 2
    shares: tuple[int, ...] = ()
    queue: tuple[tuple[int, int], ...] = ()
    closed: Annotated[list[int], operator.add] = field(default_factory=list)
    n_drafted: int = 0
    round: int = 0
    open: tuple[DraftPair, ...] = ()
    kept: tuple[DraftPair, ...] = ()
    dropped: Annotated[list[DraftPair], operator.add] = field(default_factory=list)
    ratings: Annotated[list[RacarRating], operator.add] = field(default_factory=list)
    n_empty: Annotated[int, operator.add] = 0
    end: QAEnd | None = None
    failures: Annotated[list[Failure], operator.add] = field(default_factory=list)
    usage: Annotated[Usage, operator.add] = field(default_factory=Usage)

    @property
    def has_tokens(self) -> bool:
        """Return whether another call may begin."""
        used = self.usage.n_prompt_tokens + self.usage.n_completion_tokens
        return not self.max_tokens or used < self.max_tokens


@dataclass(frozen=True)
class QAPairs:
    """The output of the graph; see `QAState`.

    Attributes:
        kept: In the order of the paper's parts, then as drafted.
        dropped: As they were given up.
        ratings: All ratings, of repaired versions too.
        n_empty: See `QAState`.
        end: Why the work ended.
        failures: Failed calls.
        usage: The cost of all calls.
    """

    kept: Sequence[DraftPair]
    dropped: list[DraftPair]
    ratings: list[RacarRating]
    n_empty: int
    end: QAEnd
    failures: list[Failure]
    usage: Usage
