"""Papers, and what is measured and rated of question-answer pairs (SciQAG)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal, get_args

from pydantic import Field

from ragassay.records.base import Frozen, renamed_field
from ragassay.records.inputs import Document, QAPair, Record
from ragassay.records.verdicts import EvidenceSpan, RatingVerdict, WeighedVerdict

RacarDimension = Literal["relevance", "agnosticism", "completeness", "accuracy", "reasonableness"]
RACAR: tuple[RacarDimension, ...] = get_args(RacarDimension)
"""The dimensions, in the order of the name."""

RACAR_SCALE = (1, 3)
"""1: unacceptable, 3: fully acceptable (Wan et al. 2024, section 3.3)."""

MOST_INTENT = 100


class RacarRating(RatingVerdict):
    """A rating of a question-answer pair in one dimension (Wan et al. 2024, section 3.3).

    Attributes:
        score: The expectation over the rating tokens, 1 to 3; the rating where not given.
        evidence: Places of the paper that the judge quotes; a quote that the paper does not have
            is left out.
        tentative_rating: What an undecided rating leant to.
    """

    item_fields = ("dimension", "pair")

    evaluator: str = "racar"
    pair: str
    dimension: RacarDimension
    rating: int | None = Field(default=None, ge=1, le=3)
    score: float | None = Field(default=None, ge=1, le=3)
    reason: str = ""
    evidence: tuple[EvidenceSpan, ...] = ()
    tentative_rating: int | None = renamed_field(
        "tentative_rating", "leaning_rating", default=None, ge=1, le=3
    )

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest rating."""
        return RACAR_SCALE


class IntentSimilarity(WeighedVerdict):
    """The similarity of the intents of two questions (Wan et al. 2024, appendix C).

    Attributes:
        second: Id of the other; behind the first in the paper's list.
        score: 0 for nothing in common to 100 for the same intent; None where unscored.
    """

    item_fields, value_field = ("first", "second"), "score"

    evaluator: str = "intent"
    first: str
    second: str
    score: float | None = Field(default=None, ge=0, le=MOST_INTENT)

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest score."""
        return 0, MOST_INTENT

    @property
    def choice(self) -> int | None:
        """The closest of `choices`."""
        return None if self.score is None else round(self.score / 25) * 25

    @property
    def choices(self) -> tuple[int, ...]:
        """See `VerdictBase`."""
        return tuple(range(0, MOST_INTENT + 1, 25))


PairPart = Literal["question", "answer"]


class AnswerNumber(Frozen):
    """A number that an answer states, and whether its paper has it (equation 2).

    Attributes:
        start: First character in the answer (0-based).
        is_found: Whether the paper states it, in whatever notation.
        where: First character of the place in `Paper.evidence_text`; None where it is not found.
        is_near: Whether it stands there with the answer's unit, among the answer's words; a wrong
            number may occur elsewhere by chance.
    """

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    is_found: bool
    where: int | None = None
    is_near: bool = False


class ContextMark(Frozen):
    """Words that a reader without the paper cannot resolve: "this paper", "Figure 5".

    Attributes:
        start: First character in that part (0-based).
        kind: What they point to, e.g. "paper", "figure", "authors", "pointing".
    """

    part: PairPart
    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    kind: str


class PairMeasures(Frozen):
    """Measures of one pair.

    Attributes:
        chunks: Chunks of the paper, from 1, that hold a sentence close to the pair, or its answer.
        closest: Numbers (0-based) of the paper's ten sentences closest to it, the closest first.
        similarity: Cosine similarity of it and each sentence of the paper, in [-1, 1].
        nearest_question: Id of the pair with the most similar question; None for an only pair.
        nearest_similarity: Cosine similarity of the two questions; None for an only pair.
    """

    pair: str
    numbers: tuple[AnswerNumber, ...] = ()
    context: tuple[ContextMark, ...] = ()
    chunks: tuple[int, ...] = ()
    closest: tuple[int, ...] = ()
    similarity: tuple[float, ...] = ()
    nearest_question: str | None = None
    nearest_similarity: float | None = None


class PaperMeasures(Frozen):
    """Measures of the pairs of one paper.

    Attributes:
        coverage: Share of chunks with a sentence close to some answer, in [0, 1] (equation 1);
            None for a paper without a sentence, or without pairs.
        question_similarity: Cosine similarity of the questions, shape (n_pairs, n_pairs).
    """

    paper: str
    title: str = ""
    n_sentences: int = Field(ge=0)
    coverage: float | None = Field(default=None, ge=0, le=1)
    question_similarity: tuple[tuple[float, ...], ...] = ()
    pairs: tuple[PairMeasures, ...] = ()


SectionKind = Literal["abstract", "body", "table", "caption", "reference", "back"]
"""What a section is; "back": acknowledgements, funding, conflicts of interest and the like."""

PROSE: tuple[SectionKind, ...] = ("abstract", "body")
"""Kinds of sections that are read as running text."""

EVIDENCE: tuple[SectionKind, ...] = (*PROSE, "caption", "table")
"""Kinds of sections that can bear a fact out."""

SECTION_BREAK = "\n\n"


class PaperSection(Frozen):
    """One section of a paper.

    Attributes:
        title: Its heading, with those above it ("Methods / Participants"); may be empty.
        text: Its own text, without that of the sections below it. Rows of a table are lines, their
            cells tab-separated.
    """

    title: str = ""
    text: str
    kind: SectionKind = "body"


class Paper(Frozen):
    """A paper.

    Attributes:
        id: Unique in its collection: a DOI, a PMCID, or the file's name.
        keywords: The authors', or found by TopicRank.
        licence: As the file names it; may be empty.
    """

    id: str = Field(min_length=1)
    title: str = ""
    sections: tuple[PaperSection, ...]
    keywords: tuple[str, ...] = ()
    journal: str = ""
    licence: str = ""

    @functools.cached_property
    def text(self) -> str:
        """Abstract and body as running text; offsets into a paper count in it."""
        return SECTION_BREAK.join(section.text for section in self._of(PROSE))

    @functools.cached_property
    def evidence_text(self) -> str:
        """The running text, then captions and tables: all that can bear a fact out."""
        rest = [section.text for section in self._of(EVIDENCE) if section.kind not in PROSE]
        return SECTION_BREAK.join([self.text, *rest])

    def _of(self, kinds: tuple[SectionKind, ...]) -> list[PaperSection]:
        return [section for section in self.sections if section.kind in kinds and section.text]


def paper_record(paper: Paper, pairs: Sequence[QAPair], name: str = "") -> Record:
    """Return a record whose one source is the paper, and whose answer is the text of the pairs.

    `name` is the id of the record; by default the paper's.
    """
    systems = dict.fromkeys(pair.system for pair in pairs)
    return Record(
        id=name or paper.id,
        question=paper.title or paper.id,
        answer="\n\n".join(f"{pair.question}\n{pair.answer}" for pair in pairs),
        sources=(Document(id=paper.id, title=paper.title, text=paper.evidence_text),),
        pairs=tuple(pairs),
        system=next(iter(systems)) if len(systems) == 1 else None,
        topic=paper.id,
    )
