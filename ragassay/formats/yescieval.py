"""Read YESciEval's pair of files: answers, and the questions with their papers.

    *-questions.jsonl  {"id", "question", "papers": [{"title", "abstract"}]}
    *-answers.jsonl    {"question_id", "generator", "variant", "target_rubric", "answer", "ratings"}

Answers cite papers by position: `(1, 2)`. The ratings are other judges' and are left out of the
record, so that no judge sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items, read_once
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, HumanLabel, Record, Rejection

_ANSWERS, _QUESTIONS, _GZIP = "-answers", "-questions", ".gz"


class SourcePaperRow(Row):
    """A paper given as a source for the answer."""

    title: str = ""
    abstract: str


class QuestionRow(Row):
    """A question with its papers."""

    id: IdText
    question: str
    papers: list[SourcePaperRow]


class RatingRow(Row):
    """A judge's rating of an answer on a rubric."""

    rating: int | None = Field(default=None, ge=1, le=5)
    rationale: str = ""


class JudgeRatingsRow(Row):
    """The ratings of all judges: judge, then rubric."""

    ratings: dict[str, dict[str, RatingRow]] = Field(default_factory=dict)


class RatedAnswerRow(Row):
    """An answer, as generated or as damaged for one rubric."""

    question_id: IdText
    generator: str = Field(min_length=1)
    variant: str = Field(min_length=1)
    target_rubric: str | None = None
    answer: str
    ratings: object = None


YESCIEVAL = Format(
    name="yescieval",
    required=(("question_id",), ("generator",), ("variant",), ("answer",)),
    fields=frozenset(RatedAnswerRow.model_fields),
    leading="generator",
    keys="question_id, generator, variant, target_rubric, answer (and a questions file with it)",
)


@dataclass(frozen=True)
class SynthesisQuestion:
    """A question and its papers, numbered "1", "2", … as answers cite them."""

    text: str
    sources: tuple[Document, ...]


def find_questions(answers: Path) -> Path:
    """Return the questions file that belongs to an answers file.

    Raises:
        InputError: its folder has none.
    """
    stem, found, end = answers.name.rpartition(_ANSWERS)
    mend = "pass the YESciEval questions file as `questions`"
    if not found:
        raise InputError(
            f"{answers} has no {_ANSWERS} in its name to find its questions by: {mend}"
        )
    plain = f"{stem}{_QUESTIONS}{end.removesuffix(_GZIP)}"
    candidates = [f"{stem}{_QUESTIONS}{end}", plain, f"{plain}{_GZIP}"]
    for name in candidates:
        if answers.with_name(name).is_file():
            return answers.with_name(name)
    raise InputError(f"there is no {candidates[0]} in the folder of {answers}: {mend}")


def read_questions(path: Path) -> tuple[dict[str, SynthesisQuestion], list[Rejection]]:
    """Read a questions file.

    Returns:
        The questions by id, and the lines that could not be read.

    Raises:
        InputError: the file cannot be opened, or has no question.
    """
    rows, rejections = read_once(
        iter_items(path),
        read=lambda item: validate(QuestionRow, item.fields),
        key_of=lambda row: row.id,
        repeated=lambda row, _: Problem(
            "id", f"the id {found_text(row.id)} is on an earlier line", "unique ids"
        ),
    )
    if not rows:
        first = f" (line {rejections[0].line}: {rejections[0].problem})" if rejections else ""
        raise InputError(f"{path} has no YESciEval question{first}: id, question, papers[]")
    return {row.id: SynthesisQuestion(row.question, _papers(row)) for row in rows}, rejections


def _papers(row: QuestionRow) -> tuple[Document, ...]:
    return tuple(
        Document(id=str(i), text=paper.abstract, title=paper.title)
        for i, paper in enumerate(row.papers, start=1)
    )


def read_yescieval(item: Item, questions: Mapping[str, SynthesisQuestion]) -> Record | Problem:
    """Turn an answer into a record.

    Its id is `question_id/generator/variant`, with `/target_rubric` where there is one.
    """
    row = validate(RatedAnswerRow, item.fields)
    if isinstance(row, Problem):
        return row
    question = questions.get(row.question_id)
    if question is None:
        text = f"the questions file has no {found_text(row.question_id)}"
        return Problem("question_id", text, "the id of a question there")
    about = {"variant": row.variant}
    if row.target_rubric:
        about["target_rubric"] = row.target_rubric
    return Record(
        id=_record_id(row),
        question=question.text,
        answer=row.answer,
        sources=question.sources,
        system=row.generator,
        topic=row.question_id,
        metadata=kept_fields(row) | about,
    )


def _record_id(row: RatedAnswerRow) -> str:
    target = [row.target_rubric] if row.target_rubric else []
    return "/".join([row.question_id, row.generator, row.variant, *target])


def read_yescieval_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the judges' ratings of an answer as labels; rubrics in lower case."""
    row = validate(RatedAnswerRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    rated = validate(JudgeRatingsRow, {"ratings": row.ratings})
    if isinstance(rated, Problem):
        return [rated]
    return [
        HumanLabel(
            task="rubric",
            label=str(rating.rating),
            record_id=_record_id(row),
            topic=row.question_id,
            system=row.generator,
            item=rubric.lower(),
            annotator=judge,
            reason=rating.rationale,
        )
        for judge, ratings in rated.ratings.items()
        for rubric, rating in ratings.items()
        if rating.rating is not None
    ]
