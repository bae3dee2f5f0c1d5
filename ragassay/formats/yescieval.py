"""Read YESciEval's pair of files: answers, and the questions with their papers.

    *-questions.jsonl  {"id", "question", "papers": [{"title", "abstract"}]}
    *-answers.jsonl    {"question_id", "generator", "variant", "target_rubric", "answer", "ratings"}

Answers cite papers by position: `(1, 2)`. The ratings are other judges' and are left out of the
record, so that no judge sees them.

A row is a question with its papers, the answers of all generators, and one judge's ratings:

    research_question, [sample_id,] paper_1_title, paper_1_abstract, …, GENERATOR_synthesis,
    GENERATOR_extreme_RUBRIC (or subtle), JUDGE_evaluation_scores_GENERATOR, JUDGE_GENERATOR_Rubric

In a workbook of perturbed answers, a rating is of the answer that was damaged for its rubric; the
benign answers are in it, too. Their `refactor_dataset` turned the same into JSON, with one answer
and one rating a row:

    {"sample_id", "eval_type", "quality", "synthesizer_model", "evaluator_model",
     "research_question", "synthesizer_synthesis", "synthesis_evaluation_rating",
     "papers": [{"title", "abstract"}]}

The ratings and their reasons are left out of the records, so that no judge sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, Place, iter_items, read_once
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    found_text,
    is_list,
    parse,
)
from ragassay.formats.rows import IdText, Row, as_text, kept_fields, rubric_label
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
        read=lambda item: parse(QuestionRow, item.fields),
        key_of=lambda row: row.id,
        repeated=lambda row, _: Problem(
            "id", f"the id {found_text(row.id)} is on an earlier line", "unique ids"
        ),
    )
    if not rows:
        first = f" (line {rejections[0].line}: {rejections[0].problem})" if rejections else ""
        raise InputError(f"{path} has no YESciEval question{first}: id, question, papers[]")
    found = {row.id: SynthesisQuestion(row.question, _papers(row.papers)) for row in rows}
    return found, rejections


def _papers(rows: Iterable[SourcePaperRow]) -> tuple[Document, ...]:
    """Return papers as sources, numbered as answers cite them."""
    return tuple(
        Document(id=str(i), text=paper.abstract, title=paper.title)
        for i, paper in enumerate(rows, start=1)
    )


@dataclass(frozen=True)
class _SynthesisRow:
    """An answer: its question's id, its generator, the rubric that it was damaged for, if any."""

    question: str
    generator: str
    variant: str
    rubric: str
    text: str

    @property
    def id(self) -> str:
        target = [self.rubric] if self.rubric else []
        return "/".join([self.question, self.generator, self.variant, *target])

    def record(
        self, question: str, sources: tuple[Document, ...], about: Mapping[str, str]
    ) -> Record:
        target = {"target_rubric": self.rubric} if self.rubric else {}
        return Record(
            id=self.id,
            question=question,
            answer=self.text,
            sources=sources,
            system=self.generator,
            topic=self.question,
            metadata=dict(about) | {"variant": self.variant} | target,
        )

    def label(self, rubric: str, rating: object, judge: str, reason: str = "") -> HumanLabel:
        return rubric_label(
            *(rubric, rating, judge),
            record_id=self.id,
            topic=self.question,
            system=self.generator,
            reason=reason,
        )

    def read_rating(
        self, column: str, value: object, rubric: str, judge: str, reason: str = ""
    ) -> HumanLabel | Problem:
        """Return the rating of a cell as a label."""
        text = str(value).removesuffix(".0")
        if text not in ("1", "2", "3", "4", "5"):
            return Problem(column, f"found {describe_value(value)}", "a rating, 1 to 5")
        return self.label(rubric, text, judge, reason)


def read_yescieval(item: Item, questions: Mapping[str, SynthesisQuestion]) -> Record:
    """Turn an answer into a record.

    Its id is `question_id/generator/variant`, with `/target_rubric` where there is one.
    """
    row = parse(RatedAnswerRow, item.fields)
    question = questions.get(row.question_id)
    if question is None:
        text = f"the questions file has no {found_text(row.question_id)}"
        raise ProblemError("question_id", text, "the id of a question there")
    return _of_rated(row).record(question.text, question.sources, kept_fields(row))


def _of_rated(row: RatedAnswerRow) -> _SynthesisRow:
    target = row.target_rubric or ""
    return _SynthesisRow(row.question_id, row.generator, row.variant, target, row.answer)


def read_yescieval_labels(item: Item) -> list[HumanLabel]:
    """Return the judges' ratings of an answer as labels; rubrics in lower case."""
    row = parse(RatedAnswerRow, item.fields)
    rated = parse(JudgeRatingsRow, {"ratings": row.ratings})
    return [
        _of_rated(row).label(rubric.lower(), rating.rating, judge, rating.rationale)
        for judge, ratings in rated.ratings.items()
        for rubric, rating in ratings.items()
        if rating.rating is not None
    ]


YESCIEVAL = Format(
    name="yescieval",
    required=(("question_id",), ("generator",), ("variant",), ("answer",)),
    fields=frozenset(RatedAnswerRow.model_fields),
    leading="generator",
    keys="question_id, generator, variant, target_rubric, answer (and a questions file with it)",
    read_labels=read_yescieval_labels,
)


BENIGN = "benign"
_SYNTHESIS = "_synthesis"
_VARIANTS = {"original": BENIGN}
_DAMAGED = re.compile(r"(?P<generator>.+)_(?P<variant>subtle|extreme)_(?P<rubric>[a-z]+)")
_SCORES = "_evaluation_scores_"
_ABSTRACT = re.compile(r"paper_([0-9]{1,3})_abstract")
_PAPER = re.compile(r"paper_[0-9]+_(title|abstract)")


class SheetRow(Row):
    """A question of a workbook, with all that was said about it."""

    research_question: str
    sample_id: IdText | None = None


class RefactoredRow(Row):
    """A rated answer."""

    sample_id: IdText
    eval_type: str = Field(min_length=1)
    quality: str = Field(min_length=1)
    synthesizer_model: IdText
    evaluator_model: str = ""
    research_question: str
    synthesizer_synthesis: str
    synthesis_evaluation_rating: object = None
    synthesis_evaluation_rationale: object = None
    papers: list[SourcePaperRow] = Field(default_factory=list[SourcePaperRow])


def has_sheets(path: Path) -> bool:
    """Return whether a path is a folder of tables, and no run that people reviewed."""
    is_run = (path / "reviews.jsonl").exists() or (path / "run.json").exists()
    return path.is_dir() and not is_run and any(_tables(path))


def _tables(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in (".xlsx", ".csv"))


def sheet_items(folder: Path) -> Iterator[Item | Rejection]:
    """Read the workbooks and CSV files of a folder; another kind of table is a rejection.

    Raises:
        InputError: There is none, or a library is missing.
    """
    files = sorted(_tables(folder))
    if not files:
        raise InputError(f"{folder} is a folder without a workbook: name the file to be read")
    read = {path: list(iter_items(path)) for path in files}
    if not any(map(_are_sheets, read.values())):
        raise InputError(f"{folder} has no workbook of YESciEval: {YESCIEVAL_SHEET.keys}")
    for path, items in read.items():
        if _are_sheets(items):
            yield from items
        else:
            place = Place(str(path), 0, path.name, "")
            yield place.reject(Problem("", "no workbook of YESciEval", YESCIEVAL_SHEET.keys))


def _are_sheets(items: Iterable[Item | Rejection]) -> bool:
    return any(isinstance(one, Item) and YESCIEVAL_SHEET.is_complete(one.keys) for one in items)


def read_sheet(item: Item) -> list[Record]:
    """Turn a row of a workbook into a record for each answer: `ID/GENERATOR/VARIANT[/RUBRIC]`."""
    row = parse(SheetRow, item.fields)
    answers = list(_answers(row, item))
    if not answers:
        raise ProblemError("", "no column of an answer", "GENERATOR_synthesis")
    about = _about(row, {answer.generator for answer in answers})
    papers = _sheet_papers(item.fields)
    return [answer.record(row.research_question, papers, about) for answer in answers]


def read_sheet_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the judge's ratings of a row of a workbook."""
    answers = list(_answers(parse(SheetRow, item.fields), item))
    damaged = {(a.generator, a.rubric): a for a in answers if a.variant != BENIGN}
    benign = {a.generator: a for a in answers if a.variant == BENIGN}
    labels: list[HumanLabel | Problem] = []
    for name, value in item.fields.items():
        rated = _parse_rating_column(name, benign)
        if rated is None or value is None:
            continue
        judge, generator, rubric = rated
        answer = damaged.get((generator, rubric)) if damaged else benign[generator]
        if answer is not None:
            labels.append(answer.read_rating(name, value, rubric, judge))
    return labels


def read_refactored(item: Item) -> Record:
    """Turn a rated answer into a record; a benign answer comes once for each rubric."""
    row = parse(RefactoredRow, item.fields)
    hidden = ("original-synthesis", "evaluation")
    about = {name: text for name, text in kept_fields(row).items() if name not in hidden}
    return _of_refactored(row).record(row.research_question, _papers(row.papers), about)


def read_refactored_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the rating of a row."""
    row = parse(RefactoredRow, item.fields)
    rating, told = row.synthesis_evaluation_rating, row.synthesis_evaluation_rationale
    if rating is None:
        return []
    reason = " ".join(map(str, told)) if is_list(told) else str(told or "")
    rubric, judge = row.quality.lower(), row.evaluator_model
    column = "synthesis_evaluation_rating"
    return [_of_refactored(row).read_rating(column, rating, rubric, judge, reason)]


YESCIEVAL_ROWS = Format(
    name="yescieval-refactored",
    required=(("research_question",), ("synthesizer_model",), ("synthesizer_synthesis",)),
    fields=frozenset(RefactoredRow.model_fields) | {"original-synthesis", "evaluation"},
    leading="synthesizer_synthesis",
    keys="sample_id, eval_type, quality, synthesizer_model, research_question, "
    "synthesizer_synthesis, synthesis_evaluation_rating, papers[]",
    read=read_refactored,
    read_labels=read_refactored_labels,
    is_repeating=True,
)


YESCIEVAL_SHEET = Format(
    name="yescieval-workbook",
    required=(("research_question",), ("paper_1_title",), ("paper_1_abstract",)),
    fields=frozenset(SheetRow.model_fields) | {"paper_1_title", "paper_1_abstract"},
    leading="paper_1_title",
    keys="research_question, paper_1_title, paper_1_abstract, …, GENERATOR_synthesis",
    read=read_sheet,
    read_labels=read_sheet_labels,
    is_repeating=True,
)


def _of_refactored(row: RefactoredRow) -> _SynthesisRow:
    variant = _VARIANTS.get(row.eval_type, row.eval_type)
    rubric = row.quality.lower() if variant != BENIGN else ""
    return _SynthesisRow(
        row.sample_id, row.synthesizer_model, variant, rubric, row.synthesizer_synthesis
    )


def _answers(row: SheetRow, item: Item) -> Iterator[_SynthesisRow]:
    question = row.sample_id or item.place.label
    for name, value in item.fields.items():
        if not isinstance(value, str) or _SCORES in name:
            continue
        if name.endswith(_SYNTHESIS):
            generator = name.removesuffix(_SYNTHESIS)
            yield _SynthesisRow(question, generator, BENIGN, "", str(value))
        elif match := _DAMAGED.fullmatch(name):
            generator, variant = match["generator"], match["variant"]
            yield _SynthesisRow(question, generator, variant, match["rubric"], str(value))


def _sheet_papers(fields: Mapping[str, object]) -> tuple[Document, ...]:
    numbers = sorted(int(m[1]) for name in fields if (m := _ABSTRACT.fullmatch(name)))
    return tuple(
        Document(id=str(n), text=str(text), title=str(fields.get(f"paper_{n}_title") or ""))
        for n in numbers
        if (text := fields.get(f"paper_{n}_abstract")) is not None
    )


def _about(row: SheetRow, generators: set[str]) -> dict[str, str]:
    """Return what a row says besides answers, papers and ratings."""
    return {
        name: as_text(value)
        for name, value in (row.model_extra or {}).items()
        if not (_PAPER.fullmatch(name) or any(generator in name for generator in generators))
    }


def _parse_rating_column(
    name: str, generators: Mapping[str, object]
) -> tuple[str, str, str] | None:
    """Return the judge, the generator and the rubric of a column of ratings."""
    start, _, rubric = name.rpartition("_")
    if not rubric.istitle() or _SCORES in name:
        return None
    for generator in generators:
        if start.endswith(f"_{generator}"):
            return start.removesuffix(f"_{generator}"), generator, rubric.lower()
    return None
