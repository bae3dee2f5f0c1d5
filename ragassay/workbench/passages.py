"""The passages of systems that are to be graded, from any form in which users have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats import ReadResult, read_graded_paragraphs, read_records
from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.files import iter_lines
from ragassay.formats.retrieval import read_run
from ragassay.formats.workbench.paragraphs import (
    GradedParagraph,
    ParagraphData,
    ParagraphJudgment,
    ParagraphRanking,
    QueryParagraphs,
    is_paragraph_file,
    response_id,
)
from ragassay.records import ExamItem, Record, Rejection
from ragassay.retrievers.literature import Literature
from ragassay.runs.banks import items_by_query, read_bank_file
from ragassay.text.search import PASSAGE_WORDS, passages_of
from ragassay.text.segmenter import judged_text

_RUN_COLUMNS = 6


@dataclass
class Passages:
    """Passages to grade, and the items that grade them.

    Attributes:
        queries: The passages of each query, with ranks, judgments and earlier grades.
        items: The items of each query's test bank.
        note: A note for the user on how the corpus is searched.
    """

    queries: tuple[QueryParagraphs, ...]
    texts: Mapping[str, str]
    items: Mapping[str, tuple[ExamItem, ...]] = field(default_factory=dict)
    rejections: tuple[Rejection, ...] = ()
    note: str = ""

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """One record a passage: its text is the answer, its query the question."""
        return tuple(
            Record(
                id=response_id(query.query_id, one.paragraph_id),
                question=self.texts.get(query.query_id, ""),
                answer=one.text,
                topic=query.query_id,
                exam=self.items.get(query.query_id, ()),
            )
            for query in self.queries
            for one in query.paragraphs
        )


def read_passages(
    paths: Sequence[Path],
    *,
    testbank: Path | None = None,
    corpus: Literature | None = None,
    questions: Path | None = None,
    columns: Mapping[str, str] | None = None,
    most_words: int = PASSAGE_WORDS,
    depth: int = 0,
) -> Passages:
    """Read passages, and the items that grade them.

    Args:
        paths: Graded files of the Rubric workbench, rankings of trec_eval, or answers in any known
            format; each answer is one response of its system.
        testbank: File of test banks, read with what people changed in it.
        corpus: Where the texts of ranked documents are looked up.
        questions: The queries' texts, where neither the answers nor the test bank have them.
        columns: As for `read_records`.
        most_words: Longer texts are cut at ends of sentences; a passage that has grades is not.
        depth: How many documents of a ranking are graded; 0 for all.

    Raises:
        InputError: A file cannot be read, rankings come without a corpus, or nothing is there.
    """
    reading = _PassageReading(corpus, questions, depth, columns)
    for path in paths:
        reading.add(path)
    bank = read_bank_file(testbank) if testbank else None
    texts = {b.query_id: b.query_text for b in bank.banks if b.query_text} if bank else {}
    texts |= reading.texts
    if questions:
        asked = read_exam_queries(questions)
        texts |= {query.id: query.text for query in asked.queries}
        reading.rejections += asked.rejections
    items = items_by_query(bank.banks) if bank else {}
    queries = tuple(QueryParagraphs(q, reading.pieces(q, most_words)) for q in reading.queries)
    if not any(query.paragraphs for query in queries):
        first = reading.rejections[:1]
        why = f": {first[0].file}:{first[0].line}: {first[0].problem}" if first else ""
        raise InputError(f"{paths[0]} has no passage to grade{why}")
    _refuse_other_bank(queries, items, testbank)
    rejections = (*reading.rejections, *(bank.rejections if bank else ()))
    return Passages(queries, texts, items, rejections)


def _refuse_other_bank(
    queries: Sequence[QueryParagraphs],
    items: Mapping[str, tuple[ExamItem, ...]],
    testbank: Path | None,
) -> None:
    if testbank and items and not any(query.query_id in items for query in queries):
        names = ", ".join(list(items)[:3])
        raise InputError(
            f"{testbank} has queries {names}, and none of the passages' ({queries[0].query_id}, …)"
        )


class _PassageReading:
    """Passages of several files, each once a query."""

    def __init__(
        self,
        corpus: Literature | None,
        questions: Path | None,
        depth: int,
        columns: Mapping[str, str] | None,
    ) -> None:
        self._corpus, self._questions, self._depth = corpus, questions, depth
        self._columns = columns
        self.queries: dict[str, dict[str, GradedParagraph]] = {}
        self.texts: dict[str, str] = {}
        self.responses: set[tuple[str, str]] = set()
        self.rejections: list[Rejection] = []

    def add(self, path: Path) -> None:
        if is_paragraph_file(path):
            found = read_graded_paragraphs(path)
            self.rejections += found.rejections
            for query in found.queries:
                for one in query.paragraphs:
                    self._add(query.query_id, one)
        elif _is_run(path):
            self._add_run(path)
        else:
            self._add_answers(path)

    def _add(self, query: str, new: GradedParagraph) -> None:
        known = self.queries.setdefault(query, {})
        first = known.get(new.paragraph_id)
        if first is not None:
            if first.text != new.text:
                raise InputError(
                    f"query {query}: the passage {new.paragraph_id} has two different texts"
                )
            new = _with_rankings(first, new.paragraph_data.rankings)
        known[new.paragraph_id] = new

    def _add_run(self, path: Path) -> None:
        if self._corpus is None:
            raise InputError(
                f"{path} ranks documents by id: name where their texts are (--corpus FILE)"
            )
        run, rejected = read_run(path)
        self.rejections += rejected
        for query, ranking in run.rankings.items():
            ranked = sorted(ranking, key=lambda document: (document.rank, document.id))
            for document in ranked[: self._depth or None]:
                text = self._text(document.id)
                if text is None:
                    self.rejections.append(_missing(path, query, document.id))
                    continue
                place = ParagraphRanking(
                    method=run.tag,
                    paragraphId=document.id,
                    queryId=query,
                    rank=document.rank,
                    score=document.score,
                )
                self._add(query, _paragraph(document.id, text, (place,)))

    def _text(self, name: str) -> str | None:
        document = self._corpus.get(name) if self._corpus else None
        if document is None:
            return None
        return "\n".join(part for part in (document.title, document.text) if part)

    def _add_answers(self, path: Path) -> None:
        found = _answers(path, self._questions, self._columns)
        self.rejections += found.rejections
        for record in found.records:
            query = record.topic or record.id
            method = record.system or path.name.split(".")[0]
            text = judged_text(record)
            self.texts.setdefault(query, record.question)
            place = ParagraphRanking(
                method=method, paragraphId=record.id, queryId=query, rank=1, score=1.0
            )
            self.responses.add((query, record.id))
            self._add(query, _paragraph(record.id, text, (place,)))

    def pieces(self, query: str, most_words: int) -> tuple[GradedParagraph, ...]:
        """Return a query's passages, long ones in pieces."""
        return tuple(
            piece
            for name, one in self.queries[query].items()
            for piece in _split_paragraph(one, most_words, (query, name) in self.responses)
        )


def _answers(path: Path, questions: Path | None, columns: Mapping[str, str] | None) -> ReadResult:
    """Read answers; a format that includes its questions does without those of the file."""
    try:
        return read_records(path, questions=questions, answered=True, columns=columns)
    except InputError:
        if questions is None:
            raise
        return read_records(path, answered=True, columns=columns)


def _is_run(path: Path) -> bool:
    """Return whether the first line is one of a ranking: `qid Q0 docid rank score tag`."""
    for line in islice(iter_lines(path), 1):
        columns = line.data.split()
        return len(columns) == _RUN_COLUMNS and columns[3].isdigit() and line.data[:1] != b"{"
    return False


def _paragraph(
    name: str, text: str, rankings: tuple[ParagraphRanking, ...] = ()
) -> GradedParagraph:
    return GradedParagraph(
        paragraph_id=name, text=text, paragraph="", paragraph_data=ParagraphData(rankings=rankings)
    )


def _with_rankings(paragraph: GradedParagraph, more: Iterable[ParagraphRanking]) -> GradedParagraph:
    data = paragraph.paragraph_data
    known = {(one.method, one.query_id) for one in data.rankings}
    new = tuple(one for one in more if (one.method, one.query_id) not in known)
    return paragraph.model_copy(
        update={"paragraph_data": data.model_copy(update={"rankings": (*data.rankings, *new)})}
    )


def _split_paragraph(
    paragraph: GradedParagraph, most_words: int, is_response: bool
) -> Iterator[GradedParagraph]:
    """Yield the pieces of a long passage.

    Those of a response are its system's ranking; those of a document share the document's rank.
    """
    pieces = passages_of(paragraph.text, most_words)
    if len(pieces) == 1 or paragraph.exam_grades or paragraph.grades:
        yield paragraph
        return
    for number, text in enumerate(pieces, 1):
        name = f"{paragraph.paragraph_id}#{number}"
        data = ParagraphData(
            judgments=tuple(_of_piece(one, name) for one in paragraph.paragraph_data.judgments),
            rankings=tuple(
                one.model_copy(
                    update={
                        "paragraph_id": name,
                        "rank": number if is_response else one.rank,
                    }
                )
                for one in paragraph.paragraph_data.rankings
            ),
        )
        yield paragraph.model_copy(
            update={"paragraph_id": name, "text": text, "paragraph_data": data}
        )


def _of_piece(judgment: ParagraphJudgment, name: str) -> ParagraphJudgment:
    return judgment.model_copy(update={"paragraph_id": name})


def _missing(path: Path, query: str, document: str) -> Rejection:
    return Rejection(
        file=str(path),
        line=0,
        problem=f"query {query}: the document {document} is not in the corpus",
        expected="a corpus that holds what the run ranks",
    )
