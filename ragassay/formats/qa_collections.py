"""Read question answering collections: BioASQ task B, PubMedQA and ExpertQA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    is_object,
    parse,
    validate,
)
from ragassay.formats.rows import IdText, Row, as_text, collect_unknown_fields, distinguish_ids
from ragassay.formats.sniff import Format
from ragassay.formats.topics import find_question
from ragassay.records import Document, Record

_PMID = re.compile(r"(?:/pubmed/|pubmed\.ncbi\.nlm\.nih\.gov/)([0-9]{1,9})/?$")
_SYSTEM = AliasChoices("system", "model", "username", "run_id")


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class SnippetRow(Row):
    """A passage selected by experts or by a system."""

    document: IdText
    text: str


class SubmitterRow(Row):
    """The object around the list of questions, which may name the submitting system."""

    system: IdText | None = Field(default=None, validation_alias=_SYSTEM)


class BioasqQuestionRow(Row):
    """A question of BioASQ with its ideal and exact answers."""

    id: IdText
    type: str = ""
    body: str | None = Field(default=None, validation_alias=AliasChoices("body", "question"))
    documents: list[str] = Field(default_factory=list)
    snippets: list[SnippetRow] = Field(default_factory=list[SnippetRow])
    ideal_answer: Annotated[list[str], BeforeValidator(_as_list)] = Field(default_factory=list)
    exact_answer: object = None
    system: IdText | None = Field(default=None, validation_alias=_SYSTEM)


def read_bioasq(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert a question to a record, whose answer is empty unless a system submitted the file."""
    row = parse(BioasqQuestionRow, item.fields)
    around = validate(SubmitterRow, item.around)
    system = row.system or (None if isinstance(around, Problem) else around.system)
    if row.body is not None and system is None and not questions:
        return _build_record(row, row.body, "", row.ideal_answer[0] if row.ideal_answer else None)
    try:
        question = find_question(row.body, row.id, questions, "id")
    except ProblemError as error:
        text = f"{error.problem.text}: a submission requires its questions file (--questions)"
        expected = f"{error.problem.expected}, or a BioASQ questions file"
        raise ProblemError("id", text, expected) from error
    if not any(text.strip() for text in row.ideal_answer):
        text = "the field is missing or empty: the submission has no answer"
        raise ProblemError("ideal_answer", text, 'a text in "ideal_answer"')
    return _build_record(row, question, row.ideal_answer[0], None, system)


_FIELDS = frozenset(BioasqQuestionRow.model_fields) | {"questions", "concepts", "triples"}

BIOASQ = Format(
    name="bioasq",
    required=(("body",), ("type",)),
    fields=_FIELDS,
    leading="body",
    keys="questions[{id, type, body, documents[], snippets[{document, text}], ideal_answer, "
    "exact_answer}]",
    unanswered="a system's submission is read with --questions GOLD.json",
    read=read_bioasq,
    has_topics=True,
)
SUBMISSION = Format(
    name="bioasq-submission",
    required=(("id",), ("ideal_answer",)),
    fields=_FIELDS,
    leading="ideal_answer",
    keys="questions[{id, ideal_answer, exact_answer[, documents[], snippets[]]}]",
    read=read_bioasq,
    has_topics=True,
)


def _build_record(
    row: BioasqQuestionRow,
    question: str,
    answer: str,
    reference: str | None,
    system: str | None = None,
) -> Record:
    known = {
        "type": row.type,
        "exact_answer": row.exact_answer,
        "documents": row.documents,
        "ideal_answer": row.ideal_answer[1:],
    }
    metadata = {n: as_text(value) for n, value in known.items() if value not in (None, "", [])}
    names = [
        match[1] if (match := _PMID.search(snippet.document)) else snippet.document
        for snippet in row.snippets
    ]
    return Record(
        id=f"{system}/{row.id}" if system else row.id,
        question=question,
        answer=answer,
        sources=tuple(
            Document(id=one, text=snippet.text, part_of=name if names.count(name) > 1 else "")
            for one, name, snippet in zip(distinguish_ids(names), names, row.snippets, strict=True)
        ),
        reference=reference,
        system=system,
        topic=row.id,
        metadata=collect_unknown_fields(row) | metadata,
    )


class DecidedRow(Row):
    """A question with its contexts and reference answer."""

    pmid: IdText | None = None
    question: str
    contexts: list[str] = Field(default_factory=list)
    long_answer: str
    final_decision: str = ""


def read_pubmedqa(item: Item) -> Record:
    """Convert a question to a record without an answer."""
    row = parse(DecidedRow, item.fields)
    decision = {"final_decision": row.final_decision} if row.final_decision else {}
    return Record(
        id=row.pmid or item.place.label,
        question=row.question,
        answer="",
        sources=tuple(
            Document(id=str(i), text=text) for i, text in enumerate(row.contexts, start=1)
        ),
        reference=row.long_answer,
        topic=row.pmid,
        metadata=collect_unknown_fields(row) | decision,
    )


PUBMEDQA = Format(
    name="pubmedqa",
    required=(("question",), ("contexts",), ("long_answer",)),
    fields=frozenset(DecidedRow.model_fields) | {"labels", "year", "mesh"},
    leading="long_answer",
    keys="pmid, question, contexts[], long_answer, final_decision",
    read=read_pubmedqa,
)

_NUMBERED = re.compile(r"\s{0,9}(?:\[(\d{1,3})\][:.]?|Passage ID (\d{1,3}):)\s{0,9}")
_ADDRESS = re.compile(r"https?://\S{1,2000}")


class ExpertAnswerRow(Row):
    """An answer by a system."""

    answer_string: str
    attribution: list[object] = Field(default_factory=list)
    claims: list[dict[str, object]] = Field(default_factory=list)


class ExpertQuestionRow(Row):
    """A question with its answers by system."""

    question: str
    annotator_id: str = ""
    metadata: dict[str, object] = Field(default_factory=dict)
    answers: dict[str, object]


def read_expertqa(item: Item) -> Sequence[Record | Problem]:
    """Convert each answer to a question to a record."""
    row = parse(ExpertQuestionRow, item.fields)
    records: list[Record | Problem] = []
    for system, fields in row.answers.items():
        try:
            records.append(_read_answer(row, system, fields, item))
        except ProblemError as error:
            records.append(error.problem)
    return records


EXPERTQA = Format(
    name="expertqa",
    required=(("question",), ("answers",), ("annotator_id", "metadata.field")),
    fields=frozenset(ExpertQuestionRow.model_fields),
    leading="answers",
    keys="question, metadata{field}, answers{SYSTEM: {answer_string, attribution[], "
    "claims[{claim_string, evidence[]}]}}",
    read=read_expertqa,
)


def _read_answer(row: ExpertQuestionRow, system: str, fields: object, item: Item) -> Record:
    path = f"answers.{system}"
    if not is_object(fields):
        expected = 'an object with an "answer_string"'
        raise ProblemError(path, f"found {describe_value(fields)}", expected)
    answer = parse(ExpertAnswerRow, fields, path)
    sources, urls = _read_sources(answer)
    metadata = {"annotator_id": row.annotator_id} | {
        f"metadata.{name}": as_text(value) for name, value in row.metadata.items()
    }
    metadata = {name: value for name, value in metadata.items() if value}
    metadata |= {"claims": as_text(answer.claims)} if answer.claims else {}
    metadata |= {f"sources.{i}.url": url for i, url in enumerate(urls) if url}
    return Record(
        id=f"{item.place.label}/{system}",
        question=row.question,
        answer=answer.answer_string,
        sources=sources,
        system=system,
        topic=item.place.label,
        metadata=collect_unknown_fields(row) | collect_unknown_fields(answer) | metadata,
    )


def _read_sources(answer: ExpertAnswerRow) -> tuple[tuple[Document, ...], tuple[str, ...]]:
    """Return the sources by number, each with all its texts joined, and the URLs of the sources."""
    texts: dict[str, dict[str, None]] = {}
    urls: dict[str, str] = {}
    for number, url, text in _read_pieces(answer):
        known = next((name for name, other in urls.items() if url and other == url), None)
        name = number or known or str(len(texts) + 1)
        texts.setdefault(name, {})
        urls[name] = urls.get(name) or url
        if text:
            texts[name][text] = None
    ids = sorted(texts, key=lambda name: int(name) if name.isdecimal() else len(texts))
    documents = (Document(id=name, text="\n\n".join(texts[name])) for name in ids)
    return tuple(documents), tuple(urls[name] for name in ids)


def _read_pieces(answer: ExpertAnswerRow) -> Iterator[tuple[str, str, str]]:
    evidence = (claim.get("evidence") for claim in answer.claims)
    lists = (answer.attribution, *(part for part in evidence if isinstance(part, list)))
    for pieces in lists:
        for piece in pieces:
            if is_object(piece):
                number, _, text = split_evidence(str(piece.get("text") or ""))
                yield number, str(piece.get("url") or ""), text
            elif isinstance(piece, str) and piece.strip():
                yield split_evidence(piece)


def split_evidence(piece: str) -> tuple[str, str, str]:
    """Split a piece of evidence into number, URL and text, each of which may be "".

    Example:
        >>> split_evidence("[2] https://a.org It fell.")
        ('2', 'https://a.org', 'It fell.')
    """
    mark = _NUMBERED.match(piece)
    rest = piece[mark.end() :] if mark else piece.strip()
    address = _ADDRESS.match(rest)
    number = (mark[1] or mark[2]) if mark else ""
    if address is None:
        return number, "", rest.strip()
    return number, address[0], rest[address.end() :].strip()
