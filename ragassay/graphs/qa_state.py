"""State and runtime context of the graph that writes question-answer pairs from a paper."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ragassay.evaluators.base import Run
from ragassay.models.gateway import JudgeLM
from ragassay.records import Failure, Paper, QAPair, RacarDimension, RacarRating, Usage

Way = Literal["pairs", "self-questioning"]
"""Writing method: SciQAG's method, or the paragraph-wise baseline (Fang et al. 2024)."""

Long = Literal["whole", "sections"]
"""What a prompt contains: the whole paper or a group of sections."""

QAEnd = Literal["done", "out_of_rounds", "out_of_tokens", "does_not_fit"]
"""Reason why the work on a paper ended."""

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
"""Flaw of a question-answer pair. "given_up" means that the model could not repair the pair."""

Rate = Callable[[Paper, RacarDimension, Sequence[QAPair]], Awaitable[Sequence[RacarRating]]]
"""Function that returns a rating of each pair on one RACAR dimension."""

Fold = Callable[[Sequence[str]], Mapping[int, int]]
"""Function that maps the position of each duplicate question to that of the first such question."""


@dataclass(frozen=True)
class QARun:
    """Runtime context of the question-answer graph.

    Attributes:
        run: Run with the agents and settings.
        rate: Function that rates pairs with a second model, or None to check them only by rule.
        rater: Name of the model that rates pairs (empty if there is none).
        window_tokens: Context window of the writer in tokens. None if unknown.
        window_chars: Maximum length of a paper in a prompt if the window is unknown.
    """

    run: Run
    writer: JudgeLM
    papers: Mapping[str, Paper]
    fold: Fold
    rate: Rate | None = None
    rater: str = ""
    window_tokens: int | None = None
    window_chars: int = 200_000


@dataclass(frozen=True)
class QAJob:
    """Input of the question-answer graph: a paper, and how to write pairs from it.

    Attributes:
        number: Number of pairs to write.
        keywords: Topics of the pairs. If empty, the paper's keywords are used.
        long: Whether a prompt contains the whole paper or a group of sections.
        section_chars: Maximum length of a group of sections in characters.
        rounds: Maximum number of rounds to repair flawed pairs and write missing pairs.
        max_tokens: Token budget after which no call is started. 0 for no limit.
        min_rating: Minimum rating that a pair needs on every dimension.
    """

    paper: str = ""
    number: int = 10
    keywords: tuple[str, ...] = ()
    way: Way = "pairs"
    long: Long = "whole"
    section_chars: int = 8_000
    rounds: int = 2
    max_tokens: int = 0
    min_rating: int = 2


@dataclass(frozen=True)
class PairFlaw:
    """A flaw of a question-answer pair, and its explanation for the model that repairs the pair."""

    kind: FlawKind
    why: str


@dataclass(frozen=True)
class DraftPair:
    """A question-answer pair that is not final yet.

    Attributes:
        pair: The pair, whose id changes with each repair.
        place: Position of the draft in the order of writing, from 0.
        part: Index of the part of the paper that the pair was written from, from 0.
        n_mended: Number of times that the model repaired the pair.
    """

    pair: QAPair
    place: int
    part: int
    n_mended: int = 0
    flaws: tuple[PairFlaw, ...] = ()


@dataclass(frozen=True)
class RatingTask:
    """Payload of a `Send` that requests ratings of pairs on one dimension."""

    paper: str
    pairs: tuple[QAPair, ...]
    dimension: RacarDimension


@dataclass
class QAState:
    """State of the question-answer graph for one paper.

    Attributes:
        paper, number, keywords, way, long, section_chars: See `QAJob`.
        rounds, max_tokens, min_rating: See `QAJob`.
        shares: Number of pairs to write from each part.
        queue: Parts to write from next, with the number of pairs for each part.
        closed: Parts from which no more pairs are requested, because a call failed.
        n_drafted: Number of drafts and repairs so far.
        round: Number of repair rounds so far.
        open: Drafts that are not accepted yet.
        kept: Accepted drafts.
        dropped: Rejected drafts with their flaws.
        end: Reason why the work on the paper ended, or None while it is in progress.
    """

    paper: str = ""
    number: int = 10
    keywords: tuple[str, ...] = ()
    way: Way = "pairs"
    long: Long = "whole"
    section_chars: int = 8_000
    rounds: int = 2
    max_tokens: int = 0
    min_rating: int = 2
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
        """Return whether the token budget allows another call."""
        used = self.usage.n_prompt_tokens + self.usage.n_completion_tokens
        return not self.max_tokens or used < self.max_tokens


@dataclass(frozen=True)
class QAPairs:
    """Output of the question-answer graph. See `QAState`.

    Attributes:
        kept: Accepted drafts, ordered by part of the paper and then by `place`.
        dropped: Rejected drafts, in the order of rejection.
        ratings: All ratings, including ratings of repaired pairs.
    """

    kept: Sequence[DraftPair]
    dropped: list[DraftPair]
    ratings: list[RacarRating]
    n_empty: int
    end: QAEnd
    failures: list[Failure]
    usage: Usage
