"""Papers, and measures and ratings of question-answer pairs (SciQAG)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal, get_args

from pydantic import Field

from ragassay.records.base import Frozen, define_renamed_field
from ragassay.records.inputs import Document, QAPair, Record
from ragassay.records.verdicts import EvidenceSpan, RatingVerdict, WeighedVerdict

RacarDimension = Literal["relevance", "agnosticism", "completeness", "accuracy", "reasonableness"]
RACAR: tuple[RacarDimension, ...] = get_args(RacarDimension)
"""Dimensions of RACAR, in the order of the acronym."""

RACAR_SCALE = (1, 3)
"""Scale of RACAR, from 1 (unacceptable) to 3 (fully acceptable) (Wan et al. 2024, section 3.3)."""

MOST_INTENT = 100


class RacarRating(RatingVerdict):
    """Rating of a question-answer pair in one dimension (Wan et al. 2024, section 3.3).

    Attributes:
        score: Expected rating over the rating tokens, 1 to 3, or the rating itself.
        evidence: Passages of the paper quoted by the judge. Quotes that are not in the paper are
            omitted.
        tentative_rating: Most likely rating, if the judge left the rating undecided.
    """

    item_fields = ("dimension", "pair")

    evaluator: str = "racar"
    pair: str
    dimension: RacarDimension
    rating: int | None = Field(default=None, ge=1, le=3)
    score: float | None = Field(default=None, ge=1, le=3)
    reason: str = ""
    evidence: tuple[EvidenceSpan, ...] = ()
    tentative_rating: int | None = define_renamed_field(
        "tentative_rating", "leaning_rating", default=None, ge=1, le=3
    )

    @property
    def scale(self) -> tuple[int, int]:
        """Lowest and highest rating on the scale."""
        return RACAR_SCALE


class IntentSimilarity(WeighedVerdict):
    """Similarity of the intents of two questions (Wan et al. 2024, appendix C).

    Attributes:
        first, second: Ids of the question-answer pairs whose questions are compared.
        score: Similarity from 0 (nothing in common) to 100 (same intent). None if unscored.
    """

    item_fields, value_field = ("first", "second"), "score"

    evaluator: str = "intent"
    first: str
    second: str
    score: float | None = Field(default=None, ge=0, le=MOST_INTENT)

    @property
    def scale(self) -> tuple[int, int]:
        """Lowest and highest possible score."""
        return 0, MOST_INTENT

    @property
    def choice(self) -> int | None:
        """Score rounded to one of `choices`."""
        return None if self.score is None else round(self.score / 25) * 25

    @property
    def choices(self) -> tuple[int, ...]:
        """See `VerdictBase`."""
        return tuple(range(0, MOST_INTENT + 1, 25))


PairPart = Literal["question", "answer"]


class AnswerNumber(Frozen):
    """Number in an answer, and whether it occurs in the paper (equation 2).

    Attributes:
        start: Start offset in the answer (0-based).
        is_found: Whether the number occurs in the paper, in any notation.
        where: Start offset of the number in `Paper.evidence_text`, or None if it does not occur
            there.
        is_near: Whether the number occurs in the paper with the same unit and similar words. A
            wrong number can occur elsewhere in the paper by chance.
    """

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    is_found: bool
    where: int | None = None
    is_near: bool = False


class ContextMark(Frozen):
    """Phrase that requires the paper as context, such as "this paper" or "Figure 5".

    Attributes:
        start: Start offset in `part` (0-based).
        kind: Kind of reference, such as "paper", "figure", "authors" or "pointing".
    """

    part: PairPart
    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    kind: str


class PairMeasures(Frozen):
    """Measures of one question-answer pair.

    Attributes:
        chunks: 1-based numbers of the paper chunks that contain a sentence similar to the pair (or
            to its answer).
        closest: 0-based numbers of the ten most similar sentences of the paper, best first.
        similarity: Cosine similarity of the pair with each sentence of the paper, in [-1, 1].
        nearest_question: Id of the pair with the most similar question, or None if there is no
            other pair.
        nearest_similarity: Cosine similarity with the question of that pair.
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
    """Measures of the question-answer pairs of one paper.

    Attributes:
        coverage: Share of chunks with a sentence similar to an answer, in [0, 1] (equation 1), or
            None for a paper without sentences or pairs.
        question_similarity: Cosine similarities of the questions, shape (n_pairs, n_pairs).
    """

    paper: str
    title: str = ""
    n_sentences: int = Field(ge=0)
    coverage: float | None = Field(default=None, ge=0, le=1)
    question_similarity: tuple[tuple[float, ...], ...] = ()
    pairs: tuple[PairMeasures, ...] = ()


SectionKind = Literal["abstract", "body", "table", "caption", "reference", "back"]
"""Kind of section. "back" is back matter, such as acknowledgements, funding and conflicts of
interest."""

PROSE: tuple[SectionKind, ...] = ("abstract", "body")
"""Kinds of sections that form the running text."""

EVIDENCE: tuple[SectionKind, ...] = (*PROSE, "caption", "table")
"""Kinds of sections that can contain evidence for an answer."""

SECTION_BREAK = "\n\n"


class PaperSection(Frozen):
    """Section of a paper.

    Attributes:
        title: Headings of the section and those above it, such as "Methods / Participants".
        text: Text of the section without its subsections. Each row of a table is a line with
            tab-separated cells.
    """

    title: str = ""
    text: str
    kind: SectionKind = "body"


class Paper(Frozen):
    """Paper with sections.

    Attributes:
        id: DOI, PMCID or file name, unique within the collection.
        licence: Licence as stated in the file. May be empty.
    """

    id: str = Field(min_length=1)
    title: str = ""
    sections: tuple[PaperSection, ...]
    keywords: tuple[str, ...] = ()
    journal: str = ""
    licence: str = ""

    @functools.cached_property
    def text(self) -> str:
        """Running text of the paper: its abstract and body."""
        return SECTION_BREAK.join(section.text for section in self._select_sections(PROSE))

    @functools.cached_property
    def evidence_text(self) -> str:
        """Running text, captions and tables. Offsets into a paper refer to this text."""
        rest = [
            section.text for section in self._select_sections(EVIDENCE) if section.kind not in PROSE
        ]
        return SECTION_BREAK.join([self.text, *rest])

    def _select_sections(self, kinds: tuple[SectionKind, ...]) -> list[PaperSection]:
        return [section for section in self.sections if section.kind in kinds and section.text]


def build_paper_record(paper: Paper, pairs: Sequence[QAPair], name: str = "") -> Record:
    """Return a record with the paper as its source and the text of the pairs as its answer.

    `name` is the id of the record, by default the id of the paper.
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
