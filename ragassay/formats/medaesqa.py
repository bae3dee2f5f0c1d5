"""Read answers, labels, evidence and clusters from MedAESQA and TREC BioGen 2024 assessments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
)

from ragassay.errors import InputError, find_first_problem
from ragassay.formats.items import Item, iter_items, read_item
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    is_object,
    parse,
    quote_text,
)
from ragassay.formats.rows import IdText, Row, collect_unknown_fields
from ragassay.formats.sniff import Format
from ragassay.formats.topics import find_question, read_small_file
from ragassay.records import (
    RELEVANCE_LABELS,
    CitationLabel,
    Document,
    HumanLabel,
    LabelTask,
    Record,
    SentenceInput,
)

RELATIONS: Mapping[str, CitationLabel] = {
    "supporting": "supports",
    "contradicting": "contradicts",
    "neutral": "neutral",
    "not relevant": "not_relevant",
    "invalid citation": "invalid",
}
"""Citation labels, keyed by MedAESQA's names for the relation between an article and a sentence."""

_ANSWERS = "machine_generated_answers"
_RELEVANCE = {label: label for label in RELEVANCE_LABELS}
_ACCURACY = {"yes": "yes", "no": "no"}


def _drop_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


class AssessmentRow(Row):
    """A citation with its label and evidence. A citation without a PMID is ignored."""

    cited_pmid: Annotated[IdText | None, BeforeValidator(_drop_blank)] = None
    evidence_relation: str | None = None
    evidence_support: object = None


class AssessedSentenceRow(Row):
    """A sentence of an answer."""

    answer_sentence_id: IdText | None = None
    answer_sentence: str
    answer_sentence_relevance: str | None = None
    citation_assessment: list[AssessmentRow] = Field(default_factory=list[AssessmentRow])


class MachineAnswerRow(Row):
    """An answer by a system."""

    answer: str = ""
    is_answer_accurate: str | None = None
    answer_sentences: list[AssessedSentenceRow] = Field(default_factory=list[AssessedSentenceRow])


class AssessedQuestionRow(Row):
    """A question with the answers of all systems."""

    question_id: IdText = Field(
        validation_alias=AliasChoices("question_id", "topic_id", "qa_id", "id")
    )
    question: str | None = None
    expert_curated_answer: str | None = None
    machine_generated_answers: dict[str, object]


class ExtractRow(Row):
    """A line of a file extracted from MedAESQA: a question with either an answer or evidence."""

    question: str = Field(min_length=1)
    machine_id: IdText | None = None
    answer: str = ""
    evidence: str | None = None


@dataclass(frozen=True)
class _AssessedAnswer:
    question: AssessedQuestionRow
    system: str
    row: MachineAnswerRow

    @property
    def id(self) -> str:
        return f"{self.question.question_id}/{self.system}"

    def list_sentences(self) -> list[tuple[int, AssessedSentenceRow]]:
        """Return the sentences of the answer that are not blank, with their 0-based positions."""
        rows = enumerate(self.row.answer_sentences)
        return [(i, sentence) for i, sentence in rows if sentence.answer_sentence.strip()]


def read_medaesqa(item: Item, questions: Mapping[str, str]) -> list[Record | Problem]:
    """Return a record for each system's answer to a question, with ids such as `question_id/M1`.

    Blank sentences are dropped before sentences are numbered, and labels use the same numbers.
    """
    return [
        answer if isinstance(answer, Problem) else _build_record(answer, questions)
        for answer in _read_answers(item)
    ]


def read_extract(item: Item) -> Record:
    """Convert a line of an extracted file to a record whose id contains the line number."""
    row = parse(ExtractRow, item.fields)
    evidence = () if row.evidence is None else (Document(id="1", text=row.evidence),)
    return Record(
        id=item.place.label,
        question=row.question,
        answer=row.answer,
        sources=evidence,
        system=row.machine_id,
        topic=row.question,
        metadata=collect_unknown_fields(row),
    )


EXTRACTED_EVIDENCE = Format(
    name="medaesqa-evidence",
    required=(("question",), ("evidence",)),
    fields=frozenset({"question", "evidence"}),
    leading="evidence",
    keys="question, evidence",
    read=read_extract,
)


EXTRACTED_ANSWERS = Format(
    name="medaesqa-answers",
    required=(("question",), ("machine_id",), ("answer",)),
    fields=frozenset({"question", "machine_id", "answer"}),
    leading="machine_id",
    keys="question, machine_id, answer",
    read=read_extract,
)


def read_medaesqa_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the human labels of the answers to a question. Null labels are skipped."""
    labels: list[HumanLabel | Problem] = []
    for answer in _read_answers(item):
        labels.extend([answer] if isinstance(answer, Problem) else _read_labels(answer))
    return labels


MEDAESQA = Format(
    name="medaesqa",
    required=(("question_id", "topic_id", "qa_id", "id"), (_ANSWERS,)),
    fields=frozenset(AssessedQuestionRow.model_fields) | {"question_frame"},
    leading=_ANSWERS,
    keys="question_id, question, machine_generated_answers{M1{answer, is_answer_accurate, "
    "answer_sentences[]}}",
    read=read_medaesqa,
    read_labels=read_medaesqa_labels,
    has_topics=True,
)


def _read_answers(item: Item) -> Iterator[_AssessedAnswer | Problem]:
    question = parse(AssessedQuestionRow, item.fields)
    for system, fields in question.machine_generated_answers.items():
        try:
            path = f"{_ANSWERS}.{system[:60]}"
            if not is_object(fields):
                raise ProblemError(path, f"found {describe_value(fields)}", "an object: {…}")
            row = parse(MachineAnswerRow, fields, path)
            if not system.strip():
                raise ProblemError(
                    _ANSWERS, "an answer has a blank system name", "a system name such as M1"
                )
            yield _AssessedAnswer(question, system, row)
        except ProblemError as error:
            yield error.problem


def _build_record(answer: _AssessedAnswer, questions: Mapping[str, str]) -> Record:
    question = answer.question
    sentences = tuple(
        SentenceInput(text=row.answer_sentence, citations=_list_pmids(row.citation_assessment))
        for _, row in answer.list_sentences()
    )
    metadata = collect_unknown_fields(question) | collect_unknown_fields(answer.row)
    if sentences and answer.row.answer:
        metadata["answer"] = answer.row.answer
    return Record(
        id=answer.id,
        question=find_question(question.question, question.question_id, questions, "question"),
        answer=sentences or answer.row.answer,
        reference=question.expert_curated_answer,
        system=answer.system,
        topic=question.question_id,
        metadata=metadata,
    )


def _list_pmids(rows: Sequence[AssessmentRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.cited_pmid for row in rows if row.cited_pmid is not None))


def _read_labels(answer: _AssessedAnswer) -> Iterator[HumanLabel | Problem]:
    path = f"{_ANSWERS}.{answer.system[:60]}"
    raw_label = answer.row.is_answer_accurate
    yield from _read_label(answer, "accuracy", raw_label, _ACCURACY, f"{path}.is_answer_accurate")
    for number, (i, sentence) in enumerate(answer.list_sentences(), start=1):
        sentence_path = f"{path}.answer_sentences.{i}"
        raw_label = sentence.answer_sentence_relevance
        field = f"{sentence_path}.answer_sentence_relevance"
        yield from _read_label(answer, "relevance", raw_label, _RELEVANCE, field, number)
        for j, row in enumerate(sentence.citation_assessment):
            if row.cited_pmid is None:
                continue
            field = f"{sentence_path}.citation_assessment.{j}.evidence_relation"
            raw_label = row.evidence_relation
            yield from _read_label(
                answer, "citation", raw_label, RELATIONS, field, number, row.cited_pmid
            )


def _read_label(
    answer: _AssessedAnswer,
    task: LabelTask,
    raw_label: str | None,
    labels: Mapping[str, str],
    field: str,
    sentence: int | None = None,
    item: str = "",
) -> Iterator[HumanLabel | Problem]:
    if raw_label is None or not raw_label.strip():
        return
    label = labels.get(" ".join(raw_label.lower().replace("_", " ").split()))
    if label is None:
        yield Problem(field, f"found the text {quote_text(raw_label)}", " or ".join(labels))
        return
    yield HumanLabel(
        task=task,
        label=label,
        record_id=answer.id,
        topic=answer.question.question_id,
        system=answer.system,
        sentence=sentence,
        item=item,
    )


EvidenceKey = tuple[str, int, str]
"""Key of a citation: record id, 1-based sentence number, and id of the cited document."""


def read_evidence(path: Path) -> Mapping[EvidenceKey, tuple[str, ...]]:
    """Return the evidence texts of each citation in a MedAESQA file.

    Record ids and sentence numbers match those that `read_records` returns for the same file.
    Citations without evidence are left out, and files in other formats yield no evidence.
    """
    evidence: dict[EvidenceKey, tuple[str, ...]] = {}
    for item in iter_items(path):
        if isinstance(item, Item) and "machine_generated_answers" in item.fields:
            answers = read_item(lambda item: list(_read_answers(item)), item)
            for answer in [] if isinstance(answers, Problem) else answers:
                if not isinstance(answer, Problem):
                    evidence.update(_collect_evidence(answer))
    return evidence


def _collect_evidence(answer: _AssessedAnswer) -> Iterator[tuple[EvidenceKey, tuple[str, ...]]]:
    for number, (_, sentence) in enumerate(answer.list_sentences(), 1):
        for cited in sentence.citation_assessment:
            support = cited.evidence_support
            values = support if isinstance(support, list) else [support]
            texts = tuple(v.strip() for v in values if isinstance(v, str) and v.strip())
            if cited.cited_pmid and texts:
                yield (answer.id, number, cited.cited_pmid), texts


class _MedaesqaSentence(BaseModel):
    model_config = ConfigDict(extra="allow")
    answer_sentence_id: str

    @property
    def key(self) -> tuple[str, int]:
        system, _, number = self.answer_sentence_id.rpartition("-")
        return system, int(number)


# Sentences keyed by question, cluster kind and cluster name.
_ClustersFile = RootModel[dict[str, dict[str, dict[str, list[_MedaesqaSentence]]]]]


def read_clusters(path: Path) -> dict[str, Mapping[str, Mapping[tuple[str, int], str]]]:
    """Return the cluster name of each sentence, by question id, cluster kind and sentence.

    The key of a sentence consists of the system and the 1-based sentence number.
    """
    try:
        questions = _ClustersFile.model_validate_json(read_small_file(path)).root
        return {
            question: {
                kind: {row.key: name for name, rows in clusters.items() for row in rows}
                for kind, clusters in kinds.items()
            }
            for question, kinds in questions.items()
        }
    except ValidationError as error:
        where, problem = find_first_problem(error)
        raise InputError(f"{path}: {where or 'the file'}: {problem}") from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            f"{path}: an answer_sentence_id is invalid; use a system name and a sentence number, "
            "such as M26-2"
        ) from error
