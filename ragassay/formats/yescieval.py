"""Read YESciEval's files: answers, and questions with papers.

    *-questions.jsonl  {"id", "question", "papers": [{"title", "abstract"}]}
    *-answers.jsonl    {"question_id", "generator", "variant", "target_rubric", "answer", "ratings"}

Answers cite papers by position: `(1, 2)`.

In workbooks, a row contains a question with its papers, the answers of all generators, and the
ratings by one judge:

    research_question, [sample_id,] paper_1_title, paper_1_abstract, …, GENERATOR_synthesis,
    GENERATOR_extreme_RUBRIC (or subtle), JUDGE_evaluation_scores_GENERATOR, JUDGE_GENERATOR_Rubric

Workbooks of perturbed answers also contain the benign answers. A rating on a rubric belongs to the
answer that was perturbed for this rubric. `refactor_dataset` converts workbooks to JSON, with one
answer and one rating per row:

    {"sample_id", "eval_type", "quality", "synthesizer_model", "evaluator_model",
     "research_question", "synthesizer_synthesis", "synthesis_evaluation_rating",
     "papers": [{"title", "abstract"}]}

Records contain neither the ratings nor their rationales, so judges cannot see them.
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
    build_empty_file_error,
    describe_value,
    is_list,
    parse,
    quote_text,
)
from ragassay.formats.rows import IdText, Row, as_text, build_rubric_label, collect_unknown_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, HumanLabel, Record, Rejection

_ANSWERS, _QUESTIONS, _GZIP = "-answers", "-questions", ".gz"


class SourcePaperRow(Row):
    """A paper that is a source of the answer."""

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
    """Ratings of an answer, keyed by judge and rubric."""

    ratings: dict[str, dict[str, RatingRow]] = Field(default_factory=dict)


class RatedAnswerRow(Row):
    """An answer, either original or perturbed to violate a rubric."""

    question_id: IdText
    generator: str = Field(min_length=1)
    variant: str = Field(min_length=1)
    target_rubric: str | None = None
    answer: str
    ratings: object = None


@dataclass(frozen=True)
class SynthesisQuestion:
    """A question with its papers, which are numbered from "1" as in citations."""

    text: str
    sources: tuple[Document, ...]


def find_questions(answers: Path) -> Path:
    """Return the path of the questions file for an answers file in the same folder."""
    stem, separator, end = answers.name.rpartition(_ANSWERS)
    advice = "pass the YESciEval questions file as `questions`"
    if not separator:
        problem = (
            f"the questions file for {answers} cannot be found without {_ANSWERS} in the file name"
        )
        raise InputError(f"{problem}: {advice}")
    plain = f"{stem}{_QUESTIONS}{end.removesuffix(_GZIP)}"
    candidates = [f"{stem}{_QUESTIONS}{end}", plain, f"{plain}{_GZIP}"]
    for name in candidates:
        if answers.with_name(name).is_file():
            return answers.with_name(name)
    raise InputError(f"there is no {candidates[0]} in the folder of {answers}: {advice}")


def read_questions(path: Path) -> tuple[dict[str, SynthesisQuestion], list[Rejection]]:
    """Read a questions file, and return the questions by id and the rejected lines."""
    rows, rejections = read_once(
        iter_items(path),
        read=lambda item: parse(QuestionRow, item.fields),
        key_of=lambda row: row.id,
        repeated=lambda row, _: Problem(
            "id", f"the id {quote_text(row.id)} is on an earlier line", "unique ids"
        ),
    )
    if not rows:
        what, expected = "YESciEval questions", "id, question, papers[]"
        raise build_empty_file_error(path, what, rejections, expected)
    questions = {
        row.id: SynthesisQuestion(row.question, _convert_papers(row.papers)) for row in rows
    }
    return questions, rejections


def _convert_papers(rows: Iterable[SourcePaperRow]) -> tuple[Document, ...]:
    return tuple(
        Document(id=str(i), text=paper.abstract, title=paper.title)
        for i, paper in enumerate(rows, start=1)
    )


@dataclass(frozen=True)
class _SynthesisRow:
    question: str
    generator: str
    variant: str
    rubric: str
    text: str

    @property
    def id(self) -> str:
        target = [self.rubric] if self.rubric else []
        return "/".join([self.question, self.generator, self.variant, *target])

    def build_record(
        self, question: str, sources: tuple[Document, ...], metadata: Mapping[str, str]
    ) -> Record:
        target = {"target_rubric": self.rubric} if self.rubric else {}
        return Record(
            id=self.id,
            question=question,
            answer=self.text,
            sources=sources,
            system=self.generator,
            topic=self.question,
            metadata=dict(metadata) | {"variant": self.variant} | target,
        )

    def build_label(self, rubric: str, rating: object, judge: str, reason: str = "") -> HumanLabel:
        return build_rubric_label(
            *(rubric, rating, judge),
            record_id=self.id,
            topic=self.question,
            system=self.generator,
            reason=reason,
        )

    def read_rating(
        self, column: str, value: object, rubric: str, judge: str, reason: str = ""
    ) -> HumanLabel | Problem:
        text = str(value).removesuffix(".0")
        if text not in ("1", "2", "3", "4", "5"):
            return Problem(column, f"found {describe_value(value)}", "a rating from 1 to 5")
        return self.build_label(rubric, text, judge, reason)


def read_yescieval(item: Item, questions: Mapping[str, SynthesisQuestion]) -> Record:
    """Convert an answer to a record with the id `question_id/generator/variant[/target_rubric]`."""
    row = parse(RatedAnswerRow, item.fields)
    if (question := questions.get(row.question_id)) is None:
        text = f"the questions file does not contain the id {quote_text(row.question_id)}"
        raise ProblemError("question_id", text, "the id of a question in the questions file")
    return _convert_rated(row).build_record(
        question.text, question.sources, collect_unknown_fields(row)
    )


def _convert_rated(row: RatedAnswerRow) -> _SynthesisRow:
    target = row.target_rubric or ""
    return _SynthesisRow(row.question_id, row.generator, row.variant, target, row.answer)


def read_yescieval_labels(item: Item) -> list[HumanLabel]:
    """Return the judges' ratings of an answer as labels, with rubrics in lower case."""
    row = parse(RatedAnswerRow, item.fields)
    rated = parse(JudgeRatingsRow, {"ratings": row.ratings})
    return [
        _convert_rated(row).build_label(rubric.lower(), rating.rating, judge, rating.rationale)
        for judge, ratings in rated.ratings.items()
        for rubric, rating in ratings.items()
        if rating.rating is not None
    ]


YESCIEVAL = Format(
    name="yescieval",
    required=(("question_id",), ("generator",), ("variant",), ("answer",)),
    fields=frozenset(RatedAnswerRow.model_fields),
    leading="generator",
    keys="question_id, generator, variant, target_rubric, answer (with a questions file)",
    read_labels=read_yescieval_labels,
)


BENIGN = "benign"
_SYNTHESIS = "_synthesis"
_VARIANTS = {"original": BENIGN}
_PERTURBED = re.compile(r"(?P<generator>.+)_(?P<variant>subtle|extreme)_(?P<rubric>[a-z]+)")
_SCORES = "_evaluation_scores_"
_ABSTRACT = re.compile(r"paper_([0-9]{1,3})_abstract")
_PAPER = re.compile(r"paper_[0-9]+_(title|abstract)")


class SheetRow(Row):
    """A row of a workbook: a question, and answers and ratings as further fields."""

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
    """Return whether a path is a folder with tables rather than the folder of a ragassay run."""
    is_run = (path / "reviews.jsonl").exists() or (path / "run.json").exists()
    return path.is_dir() and not is_run and any(_list_tables(path))


def _list_tables(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in (".xlsx", ".csv"))


def read_sheet_items(folder: Path) -> Iterator[Item | Rejection]:
    """Yield the items of all YESciEval workbooks and CSV files in a folder."""
    files = sorted(_list_tables(folder))
    if not files:
        raise InputError(f"{folder} is a folder without workbooks; pass a file instead")
    read = {path: list(iter_items(path)) for path in files}
    if not any(map(_are_sheets, read.values())):
        raise InputError(
            f"{folder} has no YESciEval workbook; expected the columns {YESCIEVAL_SHEET.keys}"
        )
    for path, items in read.items():
        if _are_sheets(items):
            yield from items
        else:
            place = Place(str(path), 0, path.name, "")
            yield place.reject(
                Problem("", "the file is not a YESciEval workbook", YESCIEVAL_SHEET.keys)
            )


def _are_sheets(items: Iterable[Item | Rejection]) -> bool:
    return any(isinstance(one, Item) and YESCIEVAL_SHEET.is_complete(one.keys) for one in items)


def read_sheet(item: Item) -> list[Record]:
    """Convert a workbook row to records with the ids `ID/GENERATOR/VARIANT[/RUBRIC]`."""
    row = parse(SheetRow, item.fields)
    answers = list(_read_answers(row, item))
    if not answers:
        raise ProblemError("", "no column contains an answer", "GENERATOR_synthesis")
    metadata = _collect_other_fields(row, {answer.generator for answer in answers})
    papers = _read_papers(item.fields)
    return [answer.build_record(row.research_question, papers, metadata) for answer in answers]


def read_sheet_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the ratings in a workbook row as labels by the judge."""
    answers = list(_read_answers(parse(SheetRow, item.fields), item))
    perturbed = {(a.generator, a.rubric): a for a in answers if a.variant != BENIGN}
    benign = {a.generator: a for a in answers if a.variant == BENIGN}
    labels: list[HumanLabel | Problem] = []
    for name, value in item.fields.items():
        parts = _parse_rating_column(name, benign)
        if parts is None or value is None:
            continue
        judge, generator, rubric = parts
        answer = perturbed.get((generator, rubric)) if perturbed else benign[generator]
        if answer is not None:
            labels.append(answer.read_rating(name, value, rubric, judge))
    return labels


def read_refactored(item: Item) -> Record:
    """Convert a row with a rated answer to a record."""
    row = parse(RefactoredRow, item.fields)
    hidden = ("original-synthesis", "evaluation")
    metadata = {
        name: text for name, text in collect_unknown_fields(row).items() if name not in hidden
    }
    return _convert_refactored(row).build_record(
        row.research_question, _convert_papers(row.papers), metadata
    )


def read_refactored_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the rating in a row as a label."""
    row = parse(RefactoredRow, item.fields)
    rating, rationale = row.synthesis_evaluation_rating, row.synthesis_evaluation_rationale
    if rating is None:
        return []
    reason = " ".join(map(str, rationale)) if is_list(rationale) else str(rationale or "")
    rubric, judge = row.quality.lower(), row.evaluator_model
    column = "synthesis_evaluation_rating"
    return [_convert_refactored(row).read_rating(column, rating, rubric, judge, reason)]


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


def _convert_refactored(row: RefactoredRow) -> _SynthesisRow:
    variant = _VARIANTS.get(row.eval_type, row.eval_type)
    rubric = row.quality.lower() if variant != BENIGN else ""
    return _SynthesisRow(
        row.sample_id, row.synthesizer_model, variant, rubric, row.synthesizer_synthesis
    )


def _read_answers(row: SheetRow, item: Item) -> Iterator[_SynthesisRow]:
    question = row.sample_id or item.place.label
    for name, value in item.fields.items():
        if not isinstance(value, str) or _SCORES in name:
            continue
        if name.endswith(_SYNTHESIS):
            generator = name.removesuffix(_SYNTHESIS)
            yield _SynthesisRow(question, generator, BENIGN, "", str(value))
        elif match := _PERTURBED.fullmatch(name):
            generator, variant = match["generator"], match["variant"]
            yield _SynthesisRow(question, generator, variant, match["rubric"], str(value))


def _read_papers(fields: Mapping[str, object]) -> tuple[Document, ...]:
    numbers = sorted(int(m[1]) for name in fields if (m := _ABSTRACT.fullmatch(name)))
    return tuple(
        Document(id=str(n), text=str(text), title=str(fields.get(f"paper_{n}_title") or ""))
        for n in numbers
        if (text := fields.get(f"paper_{n}_abstract")) is not None
    )


def _collect_other_fields(row: SheetRow, generators: set[str]) -> dict[str, str]:
    return {
        name: as_text(value)
        for name, value in (row.model_extra or {}).items()
        if not (_PAPER.fullmatch(name) or any(generator in name for generator in generators))
    }


def _parse_rating_column(
    name: str, generators: Mapping[str, object]
) -> tuple[str, str, str] | None:
    start, _, rubric = name.rpartition("_")
    if not rubric.istitle() or _SCORES in name:
        return None
    for generator in generators:
        if start.endswith(f"_{generator}"):
            return start.removesuffix(f"_{generator}"), generator, rubric.lower()
    return None
