"""Review the grades of a graded file of the workbench: of each passage, by each item of a bank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ragassay.formats.workbench.paragraphs import (
    DirectGrade,
    GradedParagraph,
    response_id,
    system_of,
)
from ragassay.formats.workbench.paragraphs import ParagraphExamGrade as GradeRow
from ragassay.records import MOST_EXAM_RATING, ExamGrade, Failure, OwnVerdict, VerdictBase
from ragassay.review.items import (
    RelatedItem,
    ReviewItem,
    ReviewSource,
    Section,
    ShownLine,
    Value,
    View,
)
from ragassay.review.verdicts import item_of, reason_of, tone_of, word_of
from ragassay.runs.banks import read_graded
from ragassay.runs.journal import journal_of
from ragassay.text.sentences import sentences_of

DIRECT = "relevance_grade"
HINTS: Mapping[Value, str] = {0: "not at all", MOST_EXAM_RATING: "in full"}
N_ELSEWHERE = 40
"""Most grades of the same item on other passages that are shown beside it."""

Graded = tuple[str, VerdictBase]
"""A grader's name and what it said."""


@dataclass(frozen=True)
class ReviewedPassages:
    """A graded passage with what each grader said of each item, by the item of the verdict."""

    query: str
    paragraph: GradedParagraph
    grades: dict[tuple[str, str], list[Graded]] = field(default_factory=dict)

    @property
    def record(self) -> str:
        """The id of the record that the passage is."""
        return response_id(self.query, self.paragraph.paragraph_id)


def open_grades(path: Path, banks: Sequence[Path] = ()) -> GradesSource:
    """Open a graded file.

    Args:
        banks: Test banks that have the texts of its items; without, their ids are shown.

    Raises:
        InputError: A file cannot be read.
    """
    file = read_graded(path, banks)
    texts = file.texts
    queries = {bank.query_id: bank.query_text for bank in file.banks if bank.query_text}
    passages = {
        one.record: one
        for query in file.queries
        for one in (ReviewedPassages(query.query_id, p, _grades(p)) for p in query.paragraphs)
    }
    items = tuple(item for one in passages.values() for item in _items(one, texts, queries))
    return GradesSource(path.name, "passage", items, journal_of(path), passages, texts, queries)


def _grades(paragraph: GradedParagraph) -> dict[tuple[str, str], list[Graded]]:
    grades: dict[tuple[str, str], list[Graded]] = {}
    rows = [_exam(row) for row in paragraph.exam_grades or ()]
    direct = [[_direct(row)] for row in paragraph.grades or ()]
    for name, verdict in (one for some in (*rows, *direct) for one in some):
        grades.setdefault((verdict.evaluator, verdict.item), []).append((name, verdict))
    return grades


def _exam(row: GradeRow) -> list[Graded]:
    """Return the verdicts of one grader: its ratings, or what it extracted."""
    name = _grader(row)
    if row.self_ratings is not None:
        ids = [(one.question_id or one.nugget_id or "", one) for one in row.self_ratings]
        return [(name, _build_grade(key, one.self_rating)) for key, one in ids if key]
    correct, answers = set(row.correct_answered), dict(row.answers)
    known = dict.fromkeys((*answers, *row.correct_answered, *row.wrong_answered))
    return [
        (
            name,
            ExamGrade(
                exam_item=key,
                grader="extraction",
                answer=answers.get(key, ""),
                is_correct=key in correct,
            ),
        )
        for key in known
    ]


def _build_grade(key: str, rating: int) -> ExamGrade:
    if not 0 <= rating <= MOST_EXAM_RATING:
        problem = Failure(reason="unparsable", detail=f"the rating {rating} is not on the scale")
        return ExamGrade(exam_item=key, failure=problem)
    return ExamGrade(exam_item=key, rating=rating, score=rating, is_correct=rating > 0)


def _direct(row: DirectGrade) -> Graded:
    """Return a direct grade: a rating where there is one, else whether it is relevant."""
    criterion = str((row.prompt_info or {}).get("prompt_class") or "direct")
    if row.self_ratings is None:
        label = "yes" if row.correct_answered else "no"
        return _grader(row), OwnVerdict(evaluator=DIRECT, criterion=criterion, label=label)
    top = float(max(3, row.self_ratings))
    return _grader(row), OwnVerdict(
        evaluator=DIRECT, criterion=criterion, score=row.self_ratings, scale=(0.0, top)
    )


def _grader(row: GradeRow | DirectGrade) -> str:
    asked = str((row.prompt_info or {}).get("prompt_class") or "")
    return " · ".join(part for part in (row.llm, asked) if part) or "grader"


def _items(
    passage: ReviewedPassages, texts: Mapping[str, str], queries: Mapping[str, str]
) -> Iterator[ReviewItem]:
    """Yield an item for each thing that was graded; all graders of an exam item stand beside it."""
    by_exam: dict[str, list[Graded]] = {}
    for graded in passage.grades.values():
        for name, verdict in graded:
            key = getattr(verdict, "exam_item", "")
            by_exam.setdefault(key or verdict.item, []).append((name, verdict))
    for graded in passage.grades.values():
        verdict = graded[0][1]
        key = getattr(verdict, "exam_item", "")
        voices = by_exam[key or verdict.item]
        yield item_of(
            verdict,
            passage.record,
            item_text(key, texts) or queries.get(passage.query, passage.query),
            system=system_of(passage.paragraph) or "",
            labels=("yes", "no"),
            hints=HINTS if key else {},
            opinions=voices if len(voices) > 1 else (),
        )


@dataclass(frozen=True)
class GradesSource(ReviewSource):
    """A file's grades; `passages` by record, the banks' `texts` by item, `queries` by id."""

    passages: Mapping[str, ReviewedPassages]
    texts: Mapping[str, str]
    queries: Mapping[str, str]

    @cached_property
    def _elsewhere(self) -> dict[tuple[str, str], list[tuple[str, VerdictBase]]]:
        """Each item's grades, with the records that they are of."""
        found: dict[tuple[str, str], list[tuple[str, VerdictBase]]] = {}
        for record, passage in self.passages.items():
            for key, graded in passage.grades.items():
                found.setdefault(key, []).append((record, graded[0][1]))
        return found

    def view(self, item: ReviewItem) -> View:
        """Return the passage, its other grades, and the item's grades on other passages."""
        passage = self.passages[item.record]
        paragraph, verdict = passage.paragraph, passage.grades[item.evaluator, item.item][0][1]
        return View(
            question=self.queries.get(passage.query, passage.query),
            lines=_lines(paragraph.text, getattr(verdict, "answer", "")),
            sections=(
                Section("This passage", tuple(self._same_passage(item, passage)), is_open=True),
                Section("The same item elsewhere", tuple(self._same_item(item))),
            ),
            notes=tuple(_notes(paragraph)),
        )

    def _same_passage(self, item: ReviewItem, passage: ReviewedPassages) -> Iterator[RelatedItem]:
        for (evaluator, name), graded in passage.grades.items():
            verdict = graded[0][1]
            key = getattr(verdict, "exam_item", "")
            about = (evaluator, item.record, name)
            yield RelatedItem(
                text=item_text(key, self.texts) or name,
                place=getattr(verdict, "grader", "direct"),
                word=word_of(verdict),
                tone=tone_of(verdict),
                why=reason_of(verdict),
                about=about,
                is_asked=about == item.about,
            )

    def _same_item(self, item: ReviewItem) -> Iterator[RelatedItem]:
        others = self._elsewhere[item.evaluator, item.item]
        ranked = sorted(others, key=lambda one: str(one[1].choice), reverse=True)
        for record, verdict in ranked[:N_ELSEWHERE]:
            if record != item.record:
                text = self.passages[record].paragraph.text
                yield RelatedItem(
                    text=text,
                    place=record,
                    word=word_of(verdict),
                    tone=tone_of(verdict),
                    why=reason_of(verdict),
                    about=(item.evaluator, record, item.item),
                )


def item_text(key: str, texts: Mapping[str, str]) -> str:
    """Return the text of a bank's item; where no bank has it, the end of its id."""
    return texts.get(key) or (f"Item {key[-8:]}" if key else "")


def _lines(text: str, answer: str) -> tuple[ShownLine, ...]:
    """Return the passage's sentences; those that hold what was extracted are marked."""
    wanted = " ".join(answer.casefold().split())
    sentences = sentences_of(text) or [text]
    return tuple(
        ShownLine(one, n, is_asked=len(wanted) > 2 and wanted in " ".join(one.casefold().split()))
        for n, one in enumerate(sentences, 1)
    )


def _notes(paragraph: GradedParagraph) -> Iterator[tuple[str, str]]:
    yield "Passage", paragraph.paragraph_id
    for judgment in paragraph.paragraph_data.judgments:
        yield "Judged relevance", str(judgment.relevance)
    ranks = [f"{one.method} {one.rank}" for one in paragraph.paragraph_data.rankings]
    if ranks:
        yield "Ranked by", ", ".join(ranks)
