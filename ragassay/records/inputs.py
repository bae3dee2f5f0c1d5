"""Input records, parsed cases, and PubMed articles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen, Importance, ItemKind, NuggetMethod, NuggetOrigin


class Document(Frozen):
    """A source of an answer, or a document or passage of a corpus.

    Attributes:
        id: Id that is unique within the record or corpus, such as a PMID.
        text: Text with which citing sentences are compared.
        part_of: Id of the document that contains this passage (empty for a whole document). A
            citation of this document is checked against all its passages.
    """

    id: str = Field(min_length=1)
    text: str
    title: str = ""
    part_of: str = ""
    url: str = ""


class Nugget(Frozen):
    """A single fact, as short as possible.

    Attributes:
        method: How the nugget was created: "given" by the user, written by the "model",
            "extractive" (a copy of the sentence, because the sentence did not support the model's
            nugget), or "clause" (split by rule).
        sentence: 1-based number of the sentence that states the nugget, or None for gold nuggets.
    """

    text: str = Field(min_length=1)
    importance: Importance | None = None
    origin: NuggetOrigin = "gold"
    method: NuggetMethod = "given"
    sentence: int | None = Field(default=None, ge=1)


class ExamItem(Frozen):
    """Exam question or nugget that a good response should cover.

    Attributes:
        id: Id that is unique within the bank: `query_id/` and the MD5 hash of the first text.
        answers: Known correct answers to a question. May be empty.
        facet: Part of the query that the item covers (empty for the whole query).
    """

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    kind: ItemKind = "question"
    answers: tuple[str, ...] = ()
    facet: str = ""


class QAPair(Frozen):
    """Question-answer pair about a paper.

    Attributes:
        id: Id that is unique within a run, by default the id of the paper and a number.
        sources: Sentences of the paper that contain the answer. Empty if unknown.
    """

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answer: str
    paper: str = ""
    system: str | None = None
    sources: tuple[str, ...] = ()


class SentenceInput(Frozen):
    """Sentence of an answer that is already split into sentences, with citations.

    Attributes:
        citations: Document ids, or 1-based positions in the sources of the record.
    """

    text: str
    citations: tuple[str, ...] = ()


class CitedSpan(Frozen):
    """Character range of an answer, and the sources that the application cites for it.

    Attributes:
        end: End offset (exclusive). Equal to `start` for a citation at a position.
        documents: Source ids, or 1-based positions in the sources of the record.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    documents: tuple[str, ...]


class Turn(Frozen):
    """Earlier message of the conversation to which an answer belongs."""

    role: Literal["user", "assistant"]
    text: str


class Record(Frozen):
    """An answer to evaluate, with its question and sources.

    Attributes:
        id: Id that is unique within a run.
        answer: Plain text with citation markers, or sentences with explicit citations.
        sources: Documents given to the system. `[1]` refers to the document with the id "1", or to
            the first document if no document has this id.
        pairs: Question-answer pairs to evaluate, if `answer` is the text of pairs that were
            generated from the only source.
        topic: Id of the question, which is the same for the answers of all systems.
        date: Date of the answer: "2024", "2024-05" or "2024-05-01".
        rubrics: Names of the rubrics for this answer (empty to use the rubrics of the run).
        metadata: Input fields without a corresponding field in this class, as text.
        citations: Character ranges of a plain-text answer for which the application cites sources.
        turns: Messages before the question, oldest first. Judges see these messages but do not
            judge them.
        unread: Names of input fields whose texts were not read as sources.
    """

    id: str = Field(min_length=1)
    question: str
    answer: str | tuple[SentenceInput, ...]
    sources: tuple[Document, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    exam: tuple[ExamItem, ...] = ()
    pairs: tuple[QAPair, ...] = ()
    reference: str | None = None
    system: str | None = None
    topic: str | None = None
    date: str | None = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    rubrics: tuple[str, ...] = ()
    metadata: dict[str, str] = Field(default_factory=dict)
    citations: tuple[CitedSpan, ...] = ()
    turns: tuple[Turn, ...] = ()
    unread: tuple[str, ...] = ()


class Citation(Frozen):
    """Citation of a document in a sentence.

    Attributes:
        marker: Citation as written in the answer, such as "1" or "PMID 123".
        document: Id of the cited document, or None if the citation is invalid or unresolved.
        other: Id of the source at the cited position, if the number is also the id of another
            source, which takes precedence, otherwise None.
        is_unresolved: Whether there is no source to match the citation with, as for a URL, an
            unknown author and year, or a number in an answer without sources. With a number beyond
            the sources, a citation is invalid instead.
    """

    marker: str
    document: str | None = None
    other: str | None = None
    is_unresolved: bool = False


class AnswerSentence(Frozen):
    """Sentence of an answer.

    Attributes:
        text: Sentence without citation markers.
        start: Start offset in the answer (0-based).
        end: End offset (exclusive).
    """

    index: int = Field(ge=1)
    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    citations: tuple[Citation, ...] = ()


class Case(Frozen):
    """A parsed record, which all calls about its answer share.

    Attributes:
        answer: Original answer, which sentence offsets refer to.
        reasoning: (start, end) offsets of model reasoning in the answer, which is not judged.
        sources: Sources of the record, followed by cited documents from the corpus. Numbered from
            1.
        reference_sentences: Sentences of the reference answer (empty if there is none).
        rubrics: Names of the rubrics for this answer (empty to use the rubrics of the run).
        context: Beginning of every prompt about the case: question, sources and answer, in
            delimiters.
        n_source_chars_cut: Number of source characters that did not fit into the context.
    """

    record_id: str
    question: str
    answer: str
    sentences: tuple[AnswerSentence, ...]
    reasoning: tuple[tuple[int, int], ...] = ()
    sources: tuple[Document, ...] = ()
    reference_sentences: tuple[str, ...] = ()
    gold: tuple[Nugget, ...] = ()
    exam: tuple[ExamItem, ...] = ()
    pairs: tuple[QAPair, ...] = ()
    rubrics: tuple[str, ...] = ()
    context: str = ""
    n_source_chars_cut: int = 0

    @property
    def judged_answer(self) -> str:
        """Answer without model reasoning, as shown to judges."""
        return remove_spans(self.answer, self.reasoning)


def remove_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Remove character ranges from a text and strip the result.

    The ranges (start, end) must be sorted.

    Example:
        >>> remove_spans("<think>Hm.</think> It fell.", [(0, 18)])
        'It fell.'
    """
    if not spans:
        return text
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True)).strip()


LinkKind = Literal[
    "retracted_by",
    "concern_by",
    "corrected_by",
    "republished_as",
    "published_as",
    "preprint_of",
    "retraction_of",
    "concern_for",
    "correction_of",
]
"""Relation of an article to another article. A retracted article has "retracted_by" and its
retraction notice "retraction_of". A published preprint has "published_as" and the journal article
"preprint_of"."""

Notice = Literal["retracted", "concern", "corrected", "preprint"]
"""Reason why an article should not be cited without comment."""


class ArticleLink(Frozen):
    """Relation of an article to another article, such as to its retraction notice.

    Attributes:
        id: PMID of the other article (empty if it is unknown).
        source: Reference in PubMed format, such as "Lancet. 2020 Jun 13;395(10240):1820".
    """

    kind: LinkKind
    id: str = ""
    source: str = ""


class Article(Document):
    """PubMed article. `text` is the abstract with one labelled section per line ("METHODS: ...").

    Attributes:
        published: Publication date, "2021", "2021-03" or "2021-03-09". Empty if unknown.
        doi: Lower-case DOI without resolver URL. Empty if missing.
        publication_types: PubMed publication types, such as "Randomized Controlled Trial".
        links: Links to retractions, expressions of concern, errata and preprints.
        version: Version number of the PubMed record, from 1.
    """

    journal: str = ""
    published: str = Field(default="", pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")
    doi: str = ""
    publication_types: tuple[str, ...] = ()
    mesh: tuple[str, ...] = ()
    links: tuple[ArticleLink, ...] = ()
    version: int = Field(default=1, ge=1)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Reasons why the article should not be cited without comment, most serious first."""
        kinds = {link.kind for link in self.links}
        types = {kind.lower() for kind in self.publication_types}
        applies: dict[Notice, bool] = {
            "retracted": "retracted_by" in kinds or "retracted publication" in types,
            "concern": "concern_by" in kinds,
            "corrected": "corrected_by" in kinds,
            "preprint": "preprint" in types,
        }
        return tuple(notice for notice, is_true in applies.items() if is_true)
