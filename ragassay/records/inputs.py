"""A record, the case that it is cut into, and PubMed's record of an article."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen, Importance, ItemKind, NuggetMethod, NuggetOrigin


class Document(Frozen):
    """A source, a passage or an abstract.

    Attributes:
        id: Unique within its record or corpus; a PMID where there is one.
        text: The text that its citations are checked against.
        part_of: Id of the document that this is one of several passages of; empty for a whole
            document. A citation of that id is checked against all its passages.
    """

    id: str = Field(min_length=1)
    text: str
    title: str = ""
    part_of: str = ""
    url: str = ""


class Nugget(Frozen):
    """One atomic fact.

    Attributes:
        origin: Its source: the user's gold list, the answer, or the reference answer.
        method: "given" by the user, written by the "model", "extractive": copied from its sentence
            because that did not support the model's wording, or "clause": cut out by rule.
        sentence: The 1-based sentence that states it (answer or reference); None for gold.
    """

    text: str = Field(min_length=1)
    importance: Importance | None = None
    origin: NuggetOrigin = "gold"
    method: NuggetMethod = "given"
    sentence: int | None = Field(default=None, ge=1)


class ExamItem(Frozen):
    """An exam question, or a nugget, that a good response to a query answers or mentions.

    Attributes:
        id: Unique in its bank; `query_id/` and the MD5 of the first text.
        answers: Known correct answers of a question; empty where none are known.
        facet: The part of the query that it covers; empty for the whole.
    """

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    kind: ItemKind = "question"
    answers: tuple[str, ...] = ()
    facet: str = ""


class QAPair(Frozen):
    """A question about what a paper says, and its answer.

    Attributes:
        id: Unique among the pairs of a run; the paper's id and a number where the file has none.
        paper: Id of the paper that it was written from.
        sources: Sentences of the paper that the answer was taken from, if known.
    """

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answer: str
    paper: str = ""
    system: str | None = None
    sources: tuple[str, ...] = ()


class SentenceInput(Frozen):
    """A sentence of a pre-cut answer, with its citations.

    Attributes:
        citations: Document ids, or 1-based positions in the record's sources.
    """

    text: str
    citations: tuple[str, ...] = ()


class CitedSpan(Frozen):
    """Characters of an answer for which the application itself names sources.

    Attributes:
        end: One past the last character; the same as `start` for a point.
        documents: Ids of sources, or 1-based positions in the record's sources.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    documents: tuple[str, ...]


class Turn(Frozen):
    """An earlier message of a conversation."""

    role: Literal["user", "assistant"]
    text: str


class Record(Frozen):
    """One answer to evaluate: the row of an input file, the argument of `ragassay.evaluate`.

    Attributes:
        id: Unique within a run.
        answer: Plain text with citation markers, or sentences with explicit citations.
        sources: The documents that the answer was written from: `[1]` is the one with the id "1",
            else the first.
        pairs: Question-answer pairs that were written from the one source, if that is to be judged;
            the answer is then their text.
        topic: The question's id, shared by the answers of several systems.
        date: When the answer was written: "2024", "2024-05" or "2024-05-01".
        rubrics: The only rubrics for this answer; empty for those of the run.
        metadata: Other fields of the user's file, as text.
        citations: Sources that the application names by offsets into an answer of plain text.
        turns: The conversation before the question, oldest first; read as context, not judged.
        unread: Names of fields of the user's file that hold texts and were not read as sources.
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
    """A pointer from a sentence to a document.

    Attributes:
        marker: The pointer as the answer writes it: "1", "PMID 123".
        document: The id of the document that it resolves to; None where it is invalid.
        other: The source that the marker's number counts to, where that is another one: a number
            may be an id or a position, and an id comes first. None where every number of the answer
            is an id.
        is_unresolved: Whether it looks like a citation and nothing tells what it points to: an
            author and a year that no source names, an address, a number without any source. An
            invalid one points beyond the sources instead.
    """

    marker: str
    document: str | None = None
    other: str | None = None
    is_unresolved: bool = False


class AnswerSentence(Frozen):
    """A sentence of an answer.

    Attributes:
        text: Without its citation markers.
        start: First character in the answer's text (0-based).
        end: One past the last character.
        citations: In the order of appearance, without repeats.
    """

    index: int = Field(ge=1)
    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    citations: tuple[Citation, ...] = ()


class Case(Frozen):
    """A record cut into the parts that judges read. All calls on one answer share it.

    Attributes:
        answer: The answer as it was handed in; sentence offsets count in it.
        reasoning: (start, end) of the model's reasoning in the answer, which is not judged.
        sources: Numbered from 1: the given sources, then cited documents found in the corpus.
        reference_sentences: The reference answer's sentences; empty without one.
        rubrics: The rubrics for this answer; empty for those of the run.
        context: The question, sources and answer, fenced; byte-identical in every prompt of
            this case.
        n_source_chars_cut: Characters of sources that did not fit into the context.
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
        """The answer without the model's reasoning: what judges read."""
        return without_spans(self.answer, self.reasoning)


def without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text without some stretches, in order, and the white space that this leaves outside.

    Example:
        >>> without_spans("<think>Hm.</think> It fell.", [(0, 18)])
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
"""The relation of another article to this one. A retracted article has a link "retracted_by"; the
notice that retracts it has "retraction_of". A preprint that was published in a journal has
"published_as", the journal's article "preprint_of"."""

Notice = Literal["retracted", "concern", "corrected", "preprint"]
"""A reason not to cite an article without comment."""


class ArticleLink(Frozen):
    """A link to another article.

    Attributes:
        id: Its PMID; empty where PubMed names none.
        source: Its reference as PubMed writes it ("Lancet. 2020 Jun 13;395(10240):1820").
    """

    kind: LinkKind
    id: str = ""
    source: str = ""


class Article(Document):
    """A PubMed record. Its text is the abstract, one labelled section per line ("METHODS: ...").

    Attributes:
        published: As exactly as known: "2021", "2021-03" or "2021-03-09"; empty where unknown.
        doi: In lower case, without a resolver's address; empty where there is none.
        publication_types: As PubMed names them: "Randomized Controlled Trial", "Preprint".
        mesh: Descriptor names of its MeSH headings.
        links: Retractions, expressions of concern, errata, preprints.
        version: PubMed's version of the record, 1 for the first.
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
        """The reasons not to cite it without comment, the gravest first."""
        kinds = {link.kind for link in self.links}
        types = {kind.lower() for kind in self.publication_types}
        found: list[Notice] = []
        if "retracted_by" in kinds or "retracted publication" in types:
            found.append("retracted")
        if "concern_by" in kinds:
            found.append("concern")
        if "corrected_by" in kinds:
            found.append("corrected")
        if "preprint" in types:
            found.append("preprint")
        return tuple(found)
