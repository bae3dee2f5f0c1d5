"""Read the passages to grade from graded files, ranked runs or answer files."""

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
    ParagraphRanking,
    QueryParagraphs,
    build_response_id,
    is_paragraph_file,
)
from ragassay.records import ExamItem, Record, Rejection
from ragassay.retrievers.literature import Literature
from ragassay.runs.banks import group_items, read_bank_file
from ragassay.text.search import PASSAGE_WORDS, cut_passages
from ragassay.text.segmenter import extract_judged_text

_RUN_COLUMNS = 6


@dataclass
class Passages:
    """Passages to grade, and the test bank items to grade them with.

    Attributes:
        queries: Passages of each query, with their ranks, judgments and earlier grades.
    """

    queries: tuple[QueryParagraphs, ...]
    texts: Mapping[str, str]
    items: Mapping[str, tuple[ExamItem, ...]] = field(default_factory=dict)
    rejections: tuple[Rejection, ...] = ()
    note: str = ""

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """One record per passage, with the query as the question and the passage as the answer."""
        return tuple(
            Record(
                id=build_response_id(query.query_id, paragraph.paragraph_id),
                question=self.texts.get(query.query_id, ""),
                answer=paragraph.text,
                topic=query.query_id,
                exam=self.items.get(query.query_id, ()),
            )
            for query in self.queries
            for paragraph in query.paragraphs
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
    """Read passages, and the test bank items to grade them with.

    Args:
        paths: Graded files of the Rubric workbench, trec_eval runs, or answers in any supported
            format. An answer is graded as the passage that its system ranks first.
        testbank: Path of the test banks, to which the changes in their journal are applied.
        corpus: Documents with the texts for files that contain only document ids.
        questions: Path of a file with query texts, for answers and test banks without query texts.
        columns: See `read_records`.
        most_words: Maximum number of words of a passage. A longer passage is split at sentence
            boundaries, unless it already has grades.
        depth: Number of top-ranked documents to grade for each query, or 0 for all.

    Raises:
        InputError: A file cannot be read, a run is passed without a corpus, or no passages remain.
    """
    reader = _PassageReader(corpus, questions, depth, columns)
    for path in paths:
        reader.read(path)
    bank = read_bank_file(testbank) if testbank else None
    texts = {b.query_id: b.query_text for b in bank.banks if b.query_text} if bank else {}
    texts |= reader.texts
    if questions:
        query_file = read_exam_queries(questions)
        texts |= {query.id: query.text for query in query_file.queries}
        reader.rejections += query_file.rejections
    items = group_items(bank.banks) if bank else {}
    queries = tuple(QueryParagraphs(q, reader.split(q, most_words)) for q in reader.queries)
    if not any(query.paragraphs for query in queries):
        first = reader.rejections[:1]
        reason = f": {first[0].file}:{first[0].line}: {first[0].problem}" if first else ""
        raise InputError(f"{paths[0]} has no passages to grade{reason}")
    if items and not any(query.query_id in items for query in queries):
        raise InputError(
            f"the passages and {testbank} have no query in common: the passages have "
            f"{queries[0].query_id}, the test bank has {', '.join(list(items)[:3])}"
        )
    rejections = (*reader.rejections, *(bank.rejections if bank else ()))
    return Passages(queries, texts, items, rejections)


class _PassageReader:
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

    def read(self, path: Path) -> None:
        if is_paragraph_file(path):
            result = read_graded_paragraphs(path)
            self.rejections += result.rejections
            for query in result.queries:
                for paragraph in query.paragraphs:
                    self._add(query.query_id, paragraph)
        elif _is_run(path):
            self._read_run(path)
        else:
            self._read_answers(path)

    def _add(self, query: str, new: GradedParagraph) -> None:
        known = self.queries.setdefault(query, {})
        first = known.get(new.paragraph_id)
        if first is not None:
            if first.text != new.text:
                raise InputError(
                    f"query {query}: the passage {new.paragraph_id} has two different texts"
                )
            new = _add_rankings(first, new.paragraph_data.rankings)
        known[new.paragraph_id] = new

    def _read_run(self, path: Path) -> None:
        if self._corpus is None:
            raise InputError(
                f"{path} contains only document ids; pass the documents with --corpus FILE"
            )
        run, rejected = read_run(path)
        self.rejections += rejected
        for query, ranking in run.rankings.items():
            ranked = sorted(ranking, key=lambda document: (document.rank, document.id))
            for document in ranked[: self._depth or None]:
                text = self._get_text(document.id)
                if text is None:
                    problem = f"query {query}: the document {document.id} is not in the corpus"
                    self.rejections.append(
                        Rejection(
                            file=str(path),
                            line=0,
                            problem=problem,
                            expected="a corpus with all ranked documents",
                        )
                    )
                    continue
                ranking = ParagraphRanking(
                    method=run.tag,
                    paragraphId=document.id,
                    queryId=query,
                    rank=document.rank,
                    score=document.score,
                )
                self._add(query, _build_paragraph(document.id, text, ranking))

    def _get_text(self, name: str) -> str | None:
        document = self._corpus.get(name) if self._corpus else None
        if document is None:
            return None
        return "\n".join(part for part in (document.title, document.text) if part)

    def _read_answers(self, path: Path) -> None:
        result = _read_records(path, self._questions, self._columns)
        self.rejections += result.rejections
        for record in result.records:
            query = record.topic or record.id
            method = record.system or path.name.split(".")[0]
            self.texts.setdefault(query, record.question)
            ranking = ParagraphRanking(
                method=method, paragraphId=record.id, queryId=query, rank=1, score=1.0
            )
            self.responses.add((query, record.id))
            self._add(query, _build_paragraph(record.id, extract_judged_text(record), ranking))

    def split(self, query: str, most_words: int) -> tuple[GradedParagraph, ...]:
        """Return the passages of a query, and split those with more than `most_words` words."""
        return tuple(
            piece
            for name, paragraph in self.queries[query].items()
            for piece in _split_paragraph(paragraph, most_words, (query, name) in self.responses)
        )


def _read_records(
    path: Path, questions: Path | None, columns: Mapping[str, str] | None
) -> ReadResult:
    """Read answers. `questions` is ignored if the file contains the questions."""
    try:
        return read_records(path, questions=questions, answered=True, columns=columns)
    except InputError:
        if questions is None:
            raise
        return read_records(path, answered=True, columns=columns)


def _is_run(path: Path) -> bool:
    """Return whether the first line has the format `qid Q0 docid rank score tag`."""
    for line in islice(iter_lines(path), 1):
        columns = line.data.split()
        return len(columns) == _RUN_COLUMNS and columns[3].isdigit() and line.data[:1] != b"{"
    return False


def _build_paragraph(name: str, text: str, ranking: ParagraphRanking) -> GradedParagraph:
    data = ParagraphData(rankings=(ranking,))
    return GradedParagraph(paragraph_id=name, text=text, paragraph="", paragraph_data=data)


def _add_rankings(paragraph: GradedParagraph, more: Iterable[ParagraphRanking]) -> GradedParagraph:
    data = paragraph.paragraph_data
    known = {(ranking.method, ranking.query_id) for ranking in data.rankings}
    new = tuple(ranking for ranking in more if (ranking.method, ranking.query_id) not in known)
    return paragraph.model_copy(
        update={"paragraph_data": data.model_copy(update={"rankings": (*data.rankings, *new)})}
    )


def _split_paragraph(
    paragraph: GradedParagraph, most_words: int, is_response: bool
) -> Iterator[GradedParagraph]:
    """Yield the pieces of a long passage.

    The pieces of a response are ranked in the order of the text. The pieces of a document have the
    rank of the document.
    """
    pieces = cut_passages(paragraph.text, most_words)
    if len(pieces) == 1 or paragraph.exam_grades or paragraph.grades:
        yield paragraph
        return
    for number, text in enumerate(pieces, 1):
        name = f"{paragraph.paragraph_id}#{number}"
        data = ParagraphData(
            judgments=tuple(
                judgment.model_copy(update={"paragraph_id": name})
                for judgment in paragraph.paragraph_data.judgments
            ),
            rankings=tuple(
                ranking.model_copy(
                    update={
                        "paragraph_id": name,
                        "rank": number if is_response else ranking.rank,
                    }
                )
                for ranking in paragraph.paragraph_data.rankings
            ),
        )
        yield paragraph.model_copy(
            update={"paragraph_id": name, "text": text, "paragraph_data": data}
        )
