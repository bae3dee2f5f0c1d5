"""Measures of question-answer pairs without a judge (SciQAG, section 3.3)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen

PairPart = Literal["question", "answer"]


class AnswerNumber(Frozen):
    """A number that an answer states, and whether its paper has it (equation 2).

    Attributes:
        text: As the answer writes it.
        start: First character in the answer (0-based).
        end: One past the last character.
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
        part: Where they stand.
        text: The words.
        start: First character in that part (0-based).
        end: One past the last character.
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
        pair: The pair's id.
        numbers: Numbers of the answer, in order.
        context: Words that need the paper, in order.
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
        paper: The paper's id.
        title: Its title.
        n_sentences: Sentences of the paper.
        coverage: Share of chunks with a sentence close to some answer, in [0, 1] (equation 1);
            None for a paper without a sentence, or without pairs.
        question_similarity: Cosine similarity of the questions, shape (n_pairs, n_pairs).
        pairs: One per pair, in the paper's order.
    """

    paper: str
    title: str = ""
    n_sentences: int = Field(ge=0)
    coverage: float | None = Field(default=None, ge=0, le=1)
    question_similarity: tuple[tuple[float, ...], ...] = ()
    pairs: tuple[PairMeasures, ...] = ()
