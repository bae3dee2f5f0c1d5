"""Read MedAESQA and TREC BioGen 2024 as assessed: answers, labels, evidence, clusters."""

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

from ragassay.errors import InputError, first_problem
from ragassay.formats.items import Item, iter_items, read_item
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    found_text,
    is_object,
    parse,
)
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.formats.topics import question_of, whole_bytes
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
"""MedAESQA's words for the relation of an article to a sentence, with ours."""

_ANSWERS = "machine_generated_answers"
_RELEVANCE = {label: label for label in RELEVANCE_LABELS}
_ACCURACY = {"yes": "yes", "no": "no"}


def _blank_as_absent(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


class AssessmentRow(Row):
    """A citation; one without a PMID is left out."""

    cited_pmid: Annotated[IdText | None, BeforeValidator(_blank_as_absent)] = None
    evidence_relation: str | None = None
    evidence_support: object = None


class AssessedSentenceRow(Row):
    """A sentence of an answer."""

    answer_sentence_id: IdText | None = None
    answer_sentence: str
    answer_sentence_relevance: str | None = None
    citation_assessment: list[AssessmentRow] = Field(default_factory=list[AssessmentRow])


class MachineAnswerRow(Row):
    """A machine's answer."""

    answer: str = ""
    is_answer_accurate: str | None = None
    answer_sentences: list[AssessedSentenceRow] = Field(default_factory=list[AssessedSentenceRow])


class AssessedQuestionRow(Row):
    """A question with the machines' answers."""

    question_id: IdText = Field(
        validation_alias=AliasChoices("question_id", "topic_id", "qa_id", "id")
    )
    question: str | None = None
    expert_curated_answer: str | None = None
    machine_generated_answers: dict[str, object]


class ExtractRow(Row):
    """A line of an extract: an answer, or evidence."""

    question: str = Field(min_length=1)
    machine_id: IdText | None = None
    answer: str = ""
    evidence: str | None = None


@dataclass(frozen=True)
class _AssessedAnswer:
    about: AssessedQuestionRow
    system: str
    row: MachineAnswerRow

    @property
    def id(self) -> str:
        return f"{self.about.question_id}/{self.system}"

    def sentences(self) -> list[tuple[int, AssessedSentenceRow]]:
        """Return the sentences that are not blank, with their 0-based positions in the file."""
        rows = enumerate(self.row.answer_sentences)
        return [(i, sentence) for i, sentence in rows if sentence.answer_sentence.strip()]


def read_medaesqa(item: Item, questions: Mapping[str, str]) -> list[Record | Problem]:
    """Turn a question into a record for each machine's answer; ids are `question_id/M1`.

    A blank sentence is left out; the labels count sentences in the same way.
    """
    return [
        answer if isinstance(answer, Problem) else _record(answer, questions)
        for answer in _answers(item)
    ]


def read_extract(item: Item) -> Record:
    """Turn a line of an extract into a record; its id is its place in the file."""
    row = parse(ExtractRow, item.fields)
    evidence = () if row.evidence is None else (Document(id="1", text=row.evidence),)
    return Record(
        id=item.place.label,
        question=row.question,
        answer=row.answer,
        sources=evidence,
        system=row.machine_id,
        topic=row.question,
        metadata=kept_fields(row),
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
    """Return people's labels of the answers to a question; a null is no label."""
    labels: list[HumanLabel | Problem] = []
    for answer in _answers(item):
        labels.extend([answer] if isinstance(answer, Problem) else _labels(answer))
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


def _answers(item: Item) -> Iterator[_AssessedAnswer | Problem]:
    about = parse(AssessedQuestionRow, item.fields)
    for system, fields in about.machine_generated_answers.items():
        try:
            where = f"{_ANSWERS}.{system[:60]}"
            if not is_object(fields):
                raise ProblemError(where, f"found {describe_value(fields)}", "an object: {…}")
            row = parse(MachineAnswerRow, fields, where)
            if not system.strip():
                text = "an answer of a machine without a name"
                raise ProblemError(_ANSWERS, text, "M1, M2, …")
            yield _AssessedAnswer(about, system, row)
        except ProblemError as error:
            yield error.problem


def _record(answer: _AssessedAnswer, questions: Mapping[str, str]) -> Record:
    about = answer.about
    sentences = tuple(
        SentenceInput(text=row.answer_sentence, citations=_pmids(row.citation_assessment))
        for _, row in answer.sentences()
    )
    kept = kept_fields(about) | kept_fields(answer.row)
    if sentences and answer.row.answer:
        kept["answer"] = answer.row.answer
    return Record(
        id=answer.id,
        question=question_of(about.question, about.question_id, questions, "question"),
        answer=sentences or answer.row.answer,
        reference=about.expert_curated_answer,
        system=answer.system,
        topic=about.question_id,
        metadata=kept,
    )


def _pmids(rows: Sequence[AssessmentRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.cited_pmid for row in rows if row.cited_pmid is not None))


def _labels(answer: _AssessedAnswer) -> Iterator[HumanLabel | Problem]:
    where = f"{_ANSWERS}.{answer.system[:60]}"
    raw_label = answer.row.is_answer_accurate
    yield from _label(answer, "accuracy", raw_label, _ACCURACY, f"{where}.is_answer_accurate")
    for number, (i, sentence) in enumerate(answer.sentences(), start=1):
        at = f"{where}.answer_sentences.{i}"
        raw_label = sentence.answer_sentence_relevance
        field = f"{at}.answer_sentence_relevance"
        yield from _label(answer, "relevance", raw_label, _RELEVANCE, field, number)
        for j, row in enumerate(sentence.citation_assessment):
            if row.cited_pmid is None:
                continue
            field = f"{at}.citation_assessment.{j}.evidence_relation"
            raw_label = row.evidence_relation
            yield from _label(
                answer, "citation", raw_label, RELATIONS, field, number, row.cited_pmid
            )


def _label(
    answer: _AssessedAnswer,
    task: LabelTask,
    raw_label: str | None,
    words: Mapping[str, str],
    field: str,
    sentence: int | None = None,
    item: str = "",
) -> Iterator[HumanLabel | Problem]:
    if raw_label is None or not raw_label.strip():
        return
    label = words.get(" ".join(raw_label.lower().replace("_", " ").split()))
    if label is None:
        yield Problem(field, f"found the text {found_text(raw_label)}", " or ".join(words))
        return
    yield HumanLabel(
        task=task,
        label=label,
        record_id=answer.id,
        topic=answer.about.question_id,
        system=answer.system,
        sentence=sentence,
        item=item,
    )


EvidenceKey = tuple[str, int, str]
"""A record's id, a sentence (1-based), and the id of the document that it cites."""


def read_evidence(path: Path) -> Mapping[EvidenceKey, tuple[str, ...]]:
    """Return the marked evidence of each citation that has some.

    Sentences and records are counted as `read_records` does. `evidence_support` is a text or a list
    of texts; other values, and other files, have none.
    """
    found: dict[EvidenceKey, tuple[str, ...]] = {}
    for item in iter_items(path):
        if isinstance(item, Item) and "machine_generated_answers" in item.fields:
            answers = read_item(lambda item: list(_answers(item)), item)
            for answer in [] if isinstance(answers, Problem) else answers:
                if not isinstance(answer, Problem):
                    found.update(_marked_evidence(answer))
    return found


def _marked_evidence(answer: _AssessedAnswer) -> Iterator[tuple[EvidenceKey, tuple[str, ...]]]:
    for number, (_, sentence) in enumerate(answer.sentences(), 1):
        for cited in sentence.citation_assessment:
            texts = _texts(cited.evidence_support)
            if cited.cited_pmid and texts:
                yield (answer.id, number, cited.cited_pmid), texts


def _texts(value: object) -> tuple[str, ...]:
    raw_label = value if isinstance(value, list) else [value]
    return tuple(one.strip() for one in raw_label if isinstance(one, str) and one.strip())


class _MedaesqaSentence(BaseModel):
    model_config = ConfigDict(extra="allow")
    answer_sentence_id: str

    @property
    def place(self) -> tuple[str, int]:
        system, _, number = self.answer_sentence_id.rpartition("-")
        return system, int(number)


class _ClustersFile(RootModel[dict[str, dict[str, dict[str, list[_MedaesqaSentence]]]]]):
    """By question, kind of cluster and cluster."""


def read_clusters(path: Path) -> dict[str, Mapping[str, Mapping[tuple[str, int], str]]]:
    """Read the clusters of each question's answer sentences.

    Returns:
        By question id and kind of cluster, the cluster of each sentence; a sentence is its system
        and its number, counted from 1.

    Raises:
        InputError: The file cannot be read, or is of another shape; names the place.
    """
    try:
        questions = _ClustersFile.model_validate_json(whole_bytes(path)).root
        return {
            question: {
                kind: {row.place: name for name, rows in clusters.items() for row in rows}
                for kind, clusters in kinds.items()
            }
            for question, kinds in questions.items()
        }
    except ValidationError as error:
        where, problem = first_problem(error)
        raise InputError(f"{path}: {where or 'the file'}: {problem}") from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            f"{path}: an answer_sentence_id is not a system and a number, as M26-2"
        ) from error
