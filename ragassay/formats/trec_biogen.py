"""Read and write runs of TREC BioGen.

2024, a JSON document:

    {"team_id", "run_name", "contact_email",
     "results": [{"topic_id", "answer": "Sentence [PMID, PMID].", "references": [PMID]}]}

Only the first three PMIDs in a pair of brackets count. Further PMIDs are removed from the answer,
and the original answer is stored in the metadata `uncut_answer`. References that differ from the
citations of the answer are stored in the metadata `references`. The questions are in the topics
file.

2025, tasks A and B (also BioACE's input), one answer per line:

    A  {"metadata": {"team_id", "run_id", "qa_id", "question"[, "existing_supported_citations"]},
        "answer": [{"text", "supported_citations": [<= 3 PMIDs], "contradicted_citations": [<= 3]}]}
    B  {"metadata": {"team_id", "run_id", "topic_id"[, "question", "answer"]},
        "responses": [{"text", "citations": [at most 3 PMIDs]}]}

Submitted runs also contain `meta_data`, `contradicting_citations`, PMIDs as numbers, and JSON
arrays. Contradicting documents do not count as citations. The metadata `contradicted_citations`
stores the documents as JSON, with a list of PMIDs per sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pydantic import AliasChoices, Field

from ragassay.formats.items import Item
from ragassay.formats.output import (
    JsonRow,
    build_cited_sentences,
    build_write_error,
    find_document_ids,
    restore_metadata,
    split_system,
)
from ragassay.formats.problems import ProblemError, is_list, parse
from ragassay.formats.rows import IdText, Row, collect_unknown_fields
from ragassay.formats.sniff import Format
from ragassay.formats.topics import find_question
from ragassay.formats.trec_rag import (
    REFERENCES,
    RunMetadataRow,
    build_metadata_row,
    build_reference_metadata,
    restore_references,
    run_record,
)
from ragassay.formats.values import parse_text
from ragassay.records import Record, SentenceInput

MAX_PMIDS = 3
CONTACT, UNCUT, RUN_FIELD = "contact_email", "uncut_answer", "run."
CONTRADICTED = "contradicted_citations"

_PMID = r"(?:PMID:?\s*)?[0-9]{1,18}"
_MARKER = re.compile(rf"\[\s*({_PMID}(?:\s*[,;]\s*{_PMID})*)\s*\]", re.IGNORECASE)
_END = re.compile(r"(?<!\s)\s*+(?<![.!?])[.!?]++[\"')\u201d\u2019]*+\s*$")


class RunRow(Row):
    """A 2024 run, without its answers."""

    team_id: IdText
    run_name: IdText
    contact_email: str = ""
    results: object = None


class ResultRow(Row):
    """An answer of a 2024 run."""

    topic_id: IdText
    answer: str
    references: list[IdText] = Field(default_factory=list)


class AnswerMetadataRow(RunMetadataRow):
    """Run and topic of an answer to task B."""

    topic_id: IdText
    question: str | None = None
    answer: str | None = None


class AnswerSentenceRow(Row):
    """A sentence of an answer to task B."""

    text: str
    citations: list[IdText] = Field(default_factory=list, max_length=MAX_PMIDS)


class AnswerRow(Row):
    """An answer to task B."""

    metadata: AnswerMetadataRow = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    responses: list[AnswerSentenceRow]


class GroundedMetadataRow(RunMetadataRow):
    """Run and question of an answer to task A."""

    qa_id: IdText
    question: str | None = None


class GroundedSentenceRow(Row):
    """A sentence with its supporting and contradicting documents."""

    text: str
    supported_citations: list[IdText] = Field(default_factory=list, max_length=MAX_PMIDS)
    contradicted_citations: list[IdText] = Field(
        default_factory=list,
        max_length=MAX_PMIDS,
        validation_alias=AliasChoices(CONTRADICTED, "contradicting_citations"),
    )


class GroundedAnswerRow(Row):
    """An answer to task A."""

    metadata: GroundedMetadataRow = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    answer: list[GroundedSentenceRow]


def read_biogen_2024(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert an answer to a record with the id `team_id/run_name/topic_id`."""
    try:
        run = parse(RunRow, item.around)
    except ProblemError as error:
        problem = error.problem
        text = f"{problem.field} of the run: {problem.text}"
        raise ProblemError("", text, problem.expected) from error
    row = parse(ResultRow, item.fields)
    question = find_question(None, row.topic_id, questions, "topic_id")
    answer = cut_lists(row.answer)
    metadata = build_reference_metadata(row.references, _find_pmids(row.answer))
    metadata |= {UNCUT: row.answer} if answer != row.answer else {}
    metadata |= {CONTACT: run.contact_email} if run.contact_email else {}
    run_fields = {f"{RUN_FIELD}{name}": text for name, text in collect_unknown_fields(run).items()}
    return Record(
        id=f"{run.team_id}/{run.run_name}/{row.topic_id}",
        question=question,
        answer=answer,
        system=f"{run.team_id}/{run.run_name}",
        topic=row.topic_id,
        metadata=collect_unknown_fields(row) | run_fields | metadata,
    )


def read_biogen_2025_a(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert an answer to task A to a record with the id `team_id/run_id/qa_id`."""
    row = parse(GroundedAnswerRow, item.fields)
    topic = row.metadata.qa_id
    question = find_question(row.metadata.question, topic, questions, "metadata.question")
    contradicted = [part.contradicted_citations for part in row.answer]
    metadata = collect_unknown_fields(row)
    if any(contradicted):
        metadata[CONTRADICTED] = json.dumps(contradicted, ensure_ascii=False)
    answer = tuple(
        SentenceInput(text=part.text, citations=tuple(part.supported_citations))
        for part in row.answer
    )
    return run_record(row.metadata, topic, question, answer, metadata)


def read_biogen_2025_b(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert an answer to task B to a record with the id `team_id/run_id/topic_id`."""
    row = parse(AnswerRow, item.fields)
    topic = row.metadata.topic_id
    question = find_question(row.metadata.question, topic, questions, "metadata.question")
    metadata = {} if row.metadata.answer is None else {"answer": row.metadata.answer}
    answer = tuple(
        SentenceInput(text=part.text, citations=tuple(part.citations)) for part in row.responses
    )
    return run_record(row.metadata, topic, question, answer, metadata | collect_unknown_fields(row))


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
    """Remove all but the first three PMIDs from each pair of brackets in an answer.

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


def _find_pmids(text: str) -> list[str]:
    return re.findall("[0-9]+", " ".join(match[1] for match in _MARKER.finditer(text)))


def build_biogen_2024_run(record: Record) -> JsonRow:
    """Return the JSON object of the run to which a record belongs, without any results."""
    team, run = split_system(record)
    run_fields = {
        name.removeprefix(RUN_FIELD): text
        for name, text in record.metadata.items()
        if name.startswith(RUN_FIELD)
    }
    row: JsonRow = {"team_id": team, "run_name": run, CONTACT: record.metadata.get(CONTACT, "")}
    return restore_metadata(row, run_fields, {"results"})


def build_biogen_2024_row(record: Record) -> JsonRow:
    """Convert a record to a result, whose answer has up to three PMIDs per sentence in brackets."""
    answer = _mark_answer(record)
    references = restore_references(record.metadata)
    row: JsonRow = {
        "topic_id": record.topic or record.id,
        "answer": answer,
        "references": list(dict.fromkeys([*references, *_find_pmids(answer)])),
    }
    run_fields = {name for name in record.metadata if name.startswith(RUN_FIELD)}
    return restore_metadata(row, record.metadata, {REFERENCES, UNCUT, CONTACT, *run_fields})


def _mark_answer(record: Record) -> str:
    if not isinstance(record.answer, str):
        return " ".join(_mark_sentence(record, sentence) for sentence in record.answer)

    def replace_positions(match: re.Match[str]) -> str:
        pmids = find_document_ids(_split(match[1]), record.sources)
        return f"[{', '.join(pmids)}]" if pmids != _split(match[1]) else match[0]

    uncut = record.metadata.get(UNCUT, "")
    is_uncut = cut_lists(uncut) == record.answer
    return uncut if is_uncut else _MARKER.sub(replace_positions, record.answer)


def _mark_sentence(record: Record, sentence: SentenceInput) -> str:
    present = set(_find_pmids(sentence.text))
    cited = find_document_ids(sentence.citations, record.sources)
    pmids = [name for name in cited if name not in present]
    _check_pmids(record, pmids, len(present))
    if not pmids:
        return sentence.text
    end = _END.search(sentence.text)
    cut = end.start() if end else len(sentence.text)
    return f"{sentence.text[:cut]} [{', '.join(pmids)}]{sentence.text[cut:].lstrip()}"


def _check_pmids(record: Record, pmids: Sequence[str], n_present: int) -> None:
    for name in pmids:
        if not re.fullmatch("[0-9]{1,18}", name):
            raise build_write_error(
                record,
                "answer",
                f"the citation {name!r} is not a PMID",
                "a PMID, which is a number",
            )
    if len(pmids) + n_present > MAX_PMIDS:
        problem = f"a sentence has {len(pmids) + n_present} citations"
        raise build_write_error(record, "answer", problem, f"at most {MAX_PMIDS}")


def build_biogen_2025_a_row(record: Record) -> JsonRow:
    """Convert a record to a line for task A."""
    metadata = build_metadata_row(record, "qa_id", "question")
    sentences = build_cited_sentences(record)
    contradicted = _read_contradicted(record, len(sentences))
    row: JsonRow = {
        "metadata": metadata,
        "answer": [
            {
                "text": sentence.text,
                "supported_citations": list(sentence.citations),
                CONTRADICTED: contradicted[i],
            }
            for i, sentence in enumerate(sentences)
        ],
    }
    return restore_metadata(row, record.metadata, {CONTRADICTED})


def _read_contradicted(record: Record, n_sentences: int) -> Sequence[object]:
    if CONTRADICTED not in record.metadata:
        return [[] for _ in range(n_sentences)]
    value = parse_text(record.metadata[CONTRADICTED])
    if not is_list(value) or len(value) != n_sentences:
        field, expected = f"metadata.{CONTRADICTED}", "a JSON list with the PMIDs for each sentence"
        raise build_write_error(
            record, field, "the value is not a list with an entry for each sentence", expected
        )
    return value


def build_biogen_2025_b_row(record: Record) -> JsonRow:
    """Convert a record to a line for task B."""
    metadata = build_metadata_row(record, "topic_id", "question")
    if "answer" in record.metadata:
        metadata["answer"] = record.metadata["answer"]
    row: JsonRow = {
        "metadata": metadata,
        "responses": [
            {"text": sentence.text, "citations": list(sentence.citations)}
            for sentence in build_cited_sentences(record)
        ],
    }
    return restore_metadata(row, record.metadata, {"answer"})
