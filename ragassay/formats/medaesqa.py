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
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, describe_value, found_text, is_object, validate
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.formats.topics import whole_bytes
from ragassay.formats.trec_rag import question_of
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


MEDAESQA = Format(
    name="medaesqa",
    required=(("question_id", "topic_id", "qa_id", "id"), (_ANSWERS,)),
    fields=frozenset(AssessedQuestionRow.model_fields) | {"question_frame"},
    leading=_ANSWERS,
    keys="question_id, question, machine_generated_answers{M1{answer, is_answer_accurate, "
    "answer_sentences[]}}",
)


class ExtractRow(Row):
    """A line of an extract: an answer, or evidence."""

    question: str = Field(min_length=1)
    machine_id: IdText | None = None
    answer: str = ""
    evidence: str | None = None


EXTRACTED_ANSWERS = Format(
    name="medaesqa-answers",
    required=(("question",), ("machine_id",), ("answer",)),
    fields=frozenset({"question", "machine_id", "answer"}),
    leading="machine_id",
    keys="question, machine_id, answer",
)
EXTRACTED_EVIDENCE = Format(
    name="medaesqa-evidence",
    required=(("question",), ("evidence",)),
    fields=frozenset({"question", "evidence"}),
    leading="evidence",
    keys="question, evidence",
)


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

    Args:
        item: The question with its answers.
        questions: The topics' questions by id, for files that do not include them.
    """
    found: list[Record | Problem] = []
    for answer in _answers(item):
        if isinstance(answer, Problem):
            found.append(answer)
            continue
        about = answer.about
        question = question_of(about.question, about.question_id, questions)
        if isinstance(question, Problem):
            return [Problem("question", question.text, question.expected)]
        found.append(_record(answer, question))
    return found


def read_extract(item: Item) -> Record | Problem:
    """Turn a line of an extract into a record; its id is its place in the file."""
    row = validate(ExtractRow, item.fields)
    if isinstance(row, Problem):
        return row
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


def read_medaesqa_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return people's labels of the answers to a question; a null is no label."""
    labels: list[HumanLabel | Problem] = []
    for answer in _answers(item):
        labels.extend([answer] if isinstance(answer, Problem) else _labels(answer))
    return labels


def _answers(item: Item) -> Iterator[_AssessedAnswer | Problem]:
    about = validate(AssessedQuestionRow, item.fields)
    if isinstance(about, Problem):
        yield about
        return
    for system, fields in about.machine_generated_answers.items():
        row = _machine_answer(fields)
        if isinstance(row, Problem):
            field = f"{_ANSWERS}.{system[:60]}.{row.field}"
            yield Problem(field.rstrip("."), row.text, row.expected)
        elif not system.strip():
            yield Problem(_ANSWERS, "an answer of a machine without a name", "M1, M2, …")
        else:
            yield _AssessedAnswer(about, system, row)


def _machine_answer(fields: object) -> MachineAnswerRow | Problem:
    if not is_object(fields):
        return Problem("", f"found {describe_value(fields)}", "an object: {…}")
    return validate(MachineAnswerRow, fields)


def _record(answer: _AssessedAnswer, question: str) -> Record:
    sentences = tuple(
        SentenceInput(text=row.answer_sentence, citations=_pmids(row.citation_assessment))
        for _, row in answer.sentences()
    )
    kept = kept_fields(answer.about) | kept_fields(answer.row)
    if sentences and answer.row.answer:
        kept["answer"] = answer.row.answer
    return Record(
        id=answer.id,
        question=question,
        answer=sentences or answer.row.answer,
        reference=answer.about.expert_curated_answer,
        system=answer.system,
        topic=answer.about.question_id,
        metadata=kept,
    )


def _pmids(rows: Sequence[AssessmentRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.cited_pmid for row in rows if row.cited_pmid is not None))


def _labels(answer: _AssessedAnswer) -> Iterator[HumanLabel | Problem]:
    where = f"{_ANSWERS}.{answer.system[:60]}"
    given = answer.row.is_answer_accurate
    yield from _label(answer, "accuracy", given, _ACCURACY, f"{where}.is_answer_accurate")
    for number, (i, sentence) in enumerate(answer.sentences(), start=1):
        at = f"{where}.answer_sentences.{i}"
        given = sentence.answer_sentence_relevance
        field = f"{at}.answer_sentence_relevance"
        yield from _label(answer, "relevance", given, _RELEVANCE, field, number)
        for j, row in enumerate(sentence.citation_assessment):
            if row.cited_pmid is None:
                continue
            field = f"{at}.citation_assessment.{j}.evidence_relation"
            yield from _label(
                answer,
                "citation",
                row.evidence_relation,
                RELATIONS,
                field,
                number,
                row.cited_pmid,
            )


def _label(
    answer: _AssessedAnswer,
    task: LabelTask,
    given: str | None,
    words: Mapping[str, str],
    field: str,
    sentence: int | None = None,
    item: str = "",
) -> Iterator[HumanLabel | Problem]:
    if given is None or not given.strip():
        return
    label = words.get(" ".join(given.lower().replace("_", " ").split()))
    if label is None:
        yield Problem(field, f"found the text {found_text(given)}", " or ".join(words))
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
            found.update(_of_question(item))
    return found


def _of_question(item: Item) -> Iterator[tuple[EvidenceKey, tuple[str, ...]]]:
    about = validate(AssessedQuestionRow, item.fields)
    if isinstance(about, Problem):
        return
    for system, fields in about.machine_generated_answers.items():
        row = validate(MachineAnswerRow, fields) if is_object(fields) else None
        if row is None or isinstance(row, Problem):
            continue
        written = [one for one in row.answer_sentences if one.answer_sentence.strip()]
        for number, sentence in enumerate(written, 1):
            for cited in sentence.citation_assessment:
                texts = _texts(cited.evidence_support)
                if cited.cited_pmid and texts:
                    yield (f"{about.question_id}/{system}", number, cited.cited_pmid), texts


def _texts(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list) else [value]
    return tuple(one.strip() for one in given if isinstance(one, str) and one.strip())


class _SentenceRow(BaseModel):
    model_config = ConfigDict(extra="allow")
    answer_sentence_id: str

    @property
    def place(self) -> tuple[str, int]:
        system, _, number = self.answer_sentence_id.rpartition("-")
        return system, int(number)


class _ClustersFile(RootModel[dict[str, dict[str, dict[str, list[_SentenceRow]]]]]):
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
