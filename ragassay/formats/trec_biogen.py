"""Read and write runs of TREC BioGen.

2024, one JSON document:

    {"team_id", "run_name", "contact_email",
     "results": [{"topic_id", "answer": "Sentence [PMID, PMID].", "references": [PMID]}]}

Of a list of PMIDs the first three count; the others are removed from the answer's text, and the
submitted answer is kept in the metadata `uncut_answer`. References that differ from what the answer
cites, in order, are kept in the metadata `references`; questions come from the topics.

2025, tasks A and B (also BioACE's input), one answer a line:

    A  {"metadata": {"team_id", "run_id", "qa_id", "question"[, "existing_supported_citations"]},
        "answer": [{"text", "supported_citations": [<= 3 PMIDs], "contradicted_citations": [<= 3]}]}
    B  {"metadata": {"team_id", "run_id", "topic_id"[, "question", "answer"]},
        "responses": [{"text", "citations": [at most 3 PMIDs]}]}

Runs in the wild also write `meta_data`, `contradicting_citations`, PMIDs as numbers, and one JSON
array. A contradicting document is not a citation: in a record it is kept in the metadata
`contradicted_citations`, as JSON, a list of PMIDs for each sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pydantic import AliasChoices, Field

from ragassay.errors import InputError
from ragassay.formats.items import Item
from ragassay.formats.output import (
    JsonRow,
    document_ids,
    restore_metadata,
    sentences_of,
    team_and_run,
    unwritable,
)
from ragassay.formats.problems import ProblemError, is_list, parse
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.formats.topics import question_of
from ragassay.formats.trec_rag import (
    REFERENCES,
    RunMetadataRow,
    kept_references,
    references_of,
    run_record,
)
from ragassay.records import Record, SentenceInput

MAX_PMIDS = 3
CONTACT, UNCUT, RUN_FIELD = "contact_email", "uncut_answer", "run."
CONTRADICTED = "contradicted_citations"

_PMID = r"(?:PMID:?\s*)?[0-9]{1,18}"
_MARKER = re.compile(rf"\[\s*({_PMID}(?:\s*[,;]\s*{_PMID})*)\s*\]", re.IGNORECASE)
_END = re.compile(r"(?<!\s)\s*+(?<![.!?])[.!?]++[\"')\u201d\u2019]*+\s*$")


class RunRow(Row):
    """The run around the answers of 2024."""

    team_id: IdText
    run_name: IdText
    contact_email: str = ""
    results: object = None


class ResultRow(Row):
    """An answer of 2024."""

    topic_id: IdText
    answer: str
    references: list[IdText] = Field(default_factory=list)


class AnswerMetadataRow(RunMetadataRow):
    """The run and the topic of an answer of task B."""

    topic_id: IdText
    question: str | None = None
    answer: str | None = None


class AnswerSentenceRow(Row):
    """A sentence of an answer of task B."""

    text: str
    citations: list[IdText] = Field(default_factory=list, max_length=MAX_PMIDS)


class AnswerRow(Row):
    """An answer of task B."""

    metadata: AnswerMetadataRow = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    responses: list[AnswerSentenceRow]


class GroundedMetadataRow(RunMetadataRow):
    """The run that grounded an answer, and the question."""

    qa_id: IdText
    question: str | None = None


class GroundedSentenceRow(Row):
    """A sentence with the documents that support and contradict it."""

    text: str
    supported_citations: list[IdText] = Field(default_factory=list, max_length=MAX_PMIDS)
    contradicted_citations: list[IdText] = Field(
        default_factory=list,
        max_length=MAX_PMIDS,
        validation_alias=AliasChoices(CONTRADICTED, "contradicting_citations"),
    )


class GroundedAnswerRow(Row):
    """An answer of task A."""

    metadata: GroundedMetadataRow = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    answer: list[GroundedSentenceRow]


def read_biogen_2024(item: Item, questions: Mapping[str, str]) -> Record:
    """Turn an answer into a record; its id is `team_id/run_name/topic_id`."""
    try:
        run = parse(RunRow, item.around)
    except ProblemError as error:
        problem = error.problem
        text = f"{problem.field} of the run: {problem.text}"
        raise ProblemError("", text, problem.expected) from error
    row = parse(ResultRow, item.fields)
    question = question_of(None, row.topic_id, questions, "topic_id")
    answer = cut_lists(row.answer)
    kept = kept_references(row.references, _pmids(row.answer))
    kept |= {UNCUT: row.answer} if answer != row.answer else {}
    kept |= {CONTACT: run.contact_email} if run.contact_email else {}
    around = {f"{RUN_FIELD}{name}": text for name, text in kept_fields(run).items()}
    return Record(
        id=f"{run.team_id}/{run.run_name}/{row.topic_id}",
        question=question,
        answer=answer,
        system=f"{run.team_id}/{run.run_name}",
        topic=row.topic_id,
        metadata=kept_fields(row) | around | kept,
    )


def read_biogen_2025_a(item: Item, questions: Mapping[str, str]) -> Record:
    """Turn an answer of task A into a record; its id is `team_id/run_id/qa_id`."""
    row = parse(GroundedAnswerRow, item.fields)
    topic = row.metadata.qa_id
    question = question_of(row.metadata.question, topic, questions, "metadata.question")
    against = [part.contradicted_citations for part in row.answer]
    kept = {CONTRADICTED: json.dumps(against, ensure_ascii=False)} if any(against) else {}
    answer = tuple(
        SentenceInput(text=part.text, citations=tuple(part.supported_citations))
        for part in row.answer
    )
    return run_record(row.metadata, topic, question, answer, kept_fields(row) | kept)


def read_biogen_2025_b(item: Item, questions: Mapping[str, str]) -> Record:
    """Turn an answer of task B into a record; its id is `team_id/run_id/topic_id`."""
    row = parse(AnswerRow, item.fields)
    topic = row.metadata.topic_id
    question = question_of(row.metadata.question, topic, questions, "metadata.question")
    kept = {} if row.metadata.answer is None else {"answer": row.metadata.answer}
    answer = tuple(
        SentenceInput(text=part.text, citations=tuple(part.citations)) for part in row.responses
    )
    return run_record(row.metadata, topic, question, answer, kept | kept_fields(row))


BIOGEN_2024 = Format(
    name="biogen-2024",
    required=(("results",), ("topic_id",), ("answer",)),
    fields=frozenset(ResultRow.model_fields) | frozenset(RunRow.model_fields),
    leading="team_id",
    keys="team_id, run_name, contact_email, results[{topic_id, answer, references[]}]",
    read=read_biogen_2024,
    has_topics=True,
)
BIOGEN_A = Format(
    name="biogen-2025-a",
    required=(("metadata.qa_id", "meta_data.qa_id"), ("answer",)),
    fields=frozenset({"metadata", "meta_data", "answer"}),
    leading="answer",
    keys="metadata{team_id, run_id, qa_id, question}, "
    "answer[{text, supported_citations[], contradicted_citations[]}]",
    read=read_biogen_2025_a,
    has_topics=True,
)
BIOGEN_B = Format(
    name="biogen-2025-b",
    required=(("metadata", "meta_data"), ("responses",)),
    fields=frozenset({"metadata", "meta_data", "responses"}),
    leading="responses",
    keys="metadata{team_id, run_id, topic_id[, question]}, responses[{text, citations[]}]",
    read=read_biogen_2025_b,
    has_topics=True,
)


def cut_lists(text: str) -> str:
    """Return an answer with the first three PMIDs of each list.

    Example:
        >>> cut_lists("It helps [1, 2,3; 4].")
        'It helps [1, 2, 3].'
    """

    def cut_match(match: re.Match[str]) -> str:
        pmids = _split(match[1])
        return match[0] if len(pmids) <= MAX_PMIDS else f"[{', '.join(pmids[:MAX_PMIDS])}]"

    return _MARKER.sub(cut_match, text)


def _split(listed: str) -> list[str]:
    return [part.strip() for part in re.split("[,;]", listed)]


def _pmids(text: str) -> list[str]:
    return re.findall("[0-9]+", " ".join(match[1] for match in _MARKER.finditer(text)))


def biogen_2024_run(record: Record) -> JsonRow:
    """Return the run that a record belongs to, without its results.

    Raises:
        InputError: its system is not `team_id/run_name`.
    """
    team, run = team_and_run(record)
    row: JsonRow = {
        "team_id": team,
        "run_name": run,
        CONTACT: record.metadata.get(CONTACT, ""),
    }
    around = {
        name.removeprefix(RUN_FIELD): text
        for name, text in record.metadata.items()
        if name.startswith(RUN_FIELD)
    }
    return restore_metadata(row, around, {"results"})


def biogen_2024_row(record: Record) -> JsonRow:
    """Turn a record into a result; sentences become text with their PMIDs in brackets.

    Raises:
        InputError: a citation is not a PMID, or a sentence cites more than three.
    """
    answer = _text(record)
    references = references_of(record.metadata)
    row: JsonRow = {
        "topic_id": record.topic or record.id,
        "answer": answer,
        "references": list(dict.fromkeys([*references, *_pmids(answer)])),
    }
    around = {name for name in record.metadata if name.startswith(RUN_FIELD)}
    return restore_metadata(row, record.metadata, {REFERENCES, UNCUT, CONTACT, *around})


def _text(record: Record) -> str:
    if not isinstance(record.answer, str):
        return " ".join(_mark_sentence(record, sentence) for sentence in record.answer)
    uncut = record.metadata.get(UNCUT, "")
    return uncut if cut_lists(uncut) == record.answer else _by_id(record)


def _by_id(record: Record) -> str:
    """Return the answer's text with bracketed positions in its sources replaced by their ids."""

    def by_id(match: re.Match[str]) -> str:
        pmids = document_ids(_split(match[1]), record.sources)
        return f"[{', '.join(pmids)}]" if pmids != _split(match[1]) else match[0]

    return _MARKER.sub(by_id, str(record.answer))


def _mark_sentence(record: Record, sentence: SentenceInput) -> str:
    there = set(_pmids(sentence.text))
    pmids = [name for name in document_ids(sentence.citations, record.sources) if name not in there]
    _check(record, pmids, len(there))
    if not pmids:
        return sentence.text
    end = _END.search(sentence.text)
    cut = end.start() if end else len(sentence.text)
    return f"{sentence.text[:cut]} [{', '.join(pmids)}]{sentence.text[cut:].lstrip()}"


def _check(record: Record, pmids: Sequence[str], n_there: int) -> None:
    for name in pmids:
        if not re.fullmatch("[0-9]{1,18}", name):
            raise unwritable(record, "answer", f"the citation {name!r} is not a PMID", "a number")
    if len(pmids) + n_there > MAX_PMIDS:
        found = f"a sentence with {len(pmids) + n_there} citations"
        raise unwritable(record, "answer", found, f"at most {MAX_PMIDS} count")


def biogen_2025_a_row(record: Record) -> JsonRow:
    """Turn a record into a line of task A.

    Raises:
        InputError: it does not fit.
    """
    metadata = _metadata_row(record, "qa_id")
    sentences = sentences_of(record)
    against = _read_contradicted(record, len(sentences))
    row: JsonRow = {
        "metadata": metadata,
        "answer": [
            {
                "text": sentence.text,
                "supported_citations": list(sentence.citations),
                CONTRADICTED: against[i],
            }
            for i, sentence in enumerate(sentences)
        ],
    }
    return restore_metadata(row, record.metadata, {CONTRADICTED})


def _metadata_row(record: Record, topic: str) -> JsonRow:
    team, run = team_and_run(record)
    return {
        "team_id": team,
        "run_id": run,
        topic: record.topic or record.id,
        "question": record.question,
    }


def _read_contradicted(record: Record, n_sentences: int) -> Sequence[object]:
    if CONTRADICTED not in record.metadata:
        return [[] for _ in range(n_sentences)]
    try:
        value: object = json.loads(record.metadata[CONTRADICTED])
    except (ValueError, RecursionError) as error:
        raise _bad_contradicted(record, "not JSON") from error
    if not is_list(value) or len(value) != n_sentences:
        raise _bad_contradicted(record, "not a list for each sentence")
    return value


def _bad_contradicted(record: Record, problem: str) -> InputError:
    field = f"metadata.{CONTRADICTED}"
    return unwritable(record, field, problem, "a JSON list with the PMIDs for each sentence")


def biogen_2025_b_row(record: Record) -> JsonRow:
    """Turn a record into a line of task B.

    Raises:
        InputError: it does not fit.
    """
    metadata = _metadata_row(record, "topic_id")
    if "answer" in record.metadata:
        metadata["answer"] = record.metadata["answer"]
    row: JsonRow = {
        "metadata": metadata,
        "responses": [
            {"text": sentence.text, "citations": list(sentence.citations)}
            for sentence in sentences_of(record)
        ],
    }
    return restore_metadata(row, record.metadata, {"answer"})
