"""Human review of the passage grades in a graded workbench file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ragassay.formats.workbench.paragraphs import (
    DirectGrade,
    GradedParagraph,
    build_response_id,
    find_system,
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
from ragassay.review.verdicts import (
    build_review_item,
    choose_verdict_tone,
    describe_reason,
    summarize_verdict,
)
from ragassay.runs.banks import read_graded
from ragassay.runs.journal import open_journal
from ragassay.text.sentences import extract_sentences

DIRECT = "relevance_grade"
HINTS: Mapping[Value, str] = {0: "not at all", MOST_EXAM_RATING: "fully"}
N_ELSEWHERE = 40
"""Maximum number of other passages for which the page shows the grade on the same item."""

Graded = tuple[str, VerdictBase]
"""Name and verdict of a grader."""


@dataclass(frozen=True)
class ReviewedPassages:
    """A graded passage and its grades, keyed by evaluator and item."""

    query: str
    paragraph: GradedParagraph
    grades: dict[tuple[str, str], list[Graded]] = field(default_factory=dict)

    @property
    def record(self) -> str:
        """Record id of the passage, which identifies it in reviews."""
        return build_response_id(self.query, self.paragraph.paragraph_id)


def open_grades(path: Path, banks: Sequence[Path] = ()) -> GradesSource:
    """Open a file of graded passages for review.

    Args:
        banks: Files of test banks with the texts of the items; for other items, ids are shown.

    Raises:
        InputError: A file cannot be read.
    """
    file = read_graded(path, banks)
    texts = file.texts
    queries = {bank.query_id: bank.query_text for bank in file.banks if bank.query_text}
    passages = {
        passage.record: passage
        for query in file.queries
        for passage in (
            ReviewedPassages(query.query_id, p, _group_grades(p)) for p in query.paragraphs
        )
    }
    items = tuple(item for p in passages.values() for item in _build_items(p, texts, queries))
    return GradesSource(path.name, "passage", items, open_journal(path), passages, texts, queries)


def _group_grades(paragraph: GradedParagraph) -> dict[tuple[str, str], list[Graded]]:
    grades: dict[tuple[str, str], list[Graded]] = {}
    exam = (graded for row in paragraph.exam_grades or () for graded in _list_exam_grades(row))
    direct = map(_convert_direct_grade, paragraph.grades or ())
    for name, verdict in (*exam, *direct):
        grades.setdefault((verdict.evaluator, verdict.item), []).append((name, verdict))
    return grades


def _list_exam_grades(row: GradeRow) -> list[Graded]:
    """Return the grades of one grader: ratings, or answers extracted from the passage."""
    name = _describe_grader(row)
    if row.self_ratings is not None:
        ratings = [(r.question_id or r.nugget_id or "", r.self_rating) for r in row.self_ratings]
        return [(name, _build_grade(key, rating)) for key, rating in ratings if key]
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


def _convert_direct_grade(row: DirectGrade) -> Graded:
    """Return a direct grade as a rating, or as a relevance label if it has no rating."""
    criterion = str((row.prompt_info or {}).get("prompt_class") or "direct")
    if row.self_ratings is None:
        label = "yes" if row.correct_answered else "no"
        return _describe_grader(row), OwnVerdict(evaluator=DIRECT, criterion=criterion, label=label)
    top = float(max(3, row.self_ratings))
    return _describe_grader(row), OwnVerdict(
        evaluator=DIRECT, criterion=criterion, score=row.self_ratings, scale=(0.0, top)
    )


def _describe_grader(row: GradeRow | DirectGrade) -> str:
    prompt = str((row.prompt_info or {}).get("prompt_class") or "")
    return " · ".join(part for part in (row.llm, prompt) if part) or "grader"


def _build_items(
    passage: ReviewedPassages, texts: Mapping[str, str], queries: Mapping[str, str]
) -> Iterator[ReviewItem]:
    """Yield a review item for each grade, with the grades of all graders on the same exam item."""
    by_exam: dict[str, list[Graded]] = {}
    for graded in passage.grades.values():
        for name, verdict in graded:
            key = getattr(verdict, "exam_item", "")
            by_exam.setdefault(key or verdict.item, []).append((name, verdict))
    for graded in passage.grades.values():
        verdict = graded[0][1]
        key = getattr(verdict, "exam_item", "")
        voices = by_exam[key or verdict.item]
        yield build_review_item(
            verdict,
            passage.record,
            find_item_text(key, texts) or queries.get(passage.query, passage.query),
            system=find_system(passage.paragraph) or "",
            labels=("yes", "no"),
            hints=HINTS if key else {},
            opinions=voices if len(voices) > 1 else (),
        )


@dataclass(frozen=True)
class GradesSource(ReviewSource):
    """A file of graded passages to review.

    Attributes:
        passages: Graded passages, keyed by record id.
        texts: Texts of the test bank items, keyed by item id.
        queries: Texts of the queries, keyed by query id.
    """

    passages: Mapping[str, ReviewedPassages]
    texts: Mapping[str, str]
    queries: Mapping[str, str]

    @cached_property
    def _elsewhere(self) -> dict[tuple[str, str], list[tuple[str, VerdictBase]]]:
        grades: dict[tuple[str, str], list[tuple[str, VerdictBase]]] = {}
        for record, passage in self.passages.items():
            for key, graded in passage.grades.items():
                grades.setdefault(key, []).append((record, graded[0][1]))
        return grades

    def view(self, item: ReviewItem) -> View:
        """Return the passage, its other grades, and grades of other passages on the same item."""
        passage = self.passages[item.record]
        paragraph, verdict = passage.paragraph, passage.grades[item.evaluator, item.item][0][1]
        return View(
            question=self.queries.get(passage.query, passage.query),
            lines=_highlight_lines(paragraph.text, getattr(verdict, "answer", "")),
            sections=(
                Section(
                    "This passage", tuple(self._list_passage_grades(item, passage)), is_open=True
                ),
                Section("Same item in other passages", tuple(self._list_other_passages(item))),
            ),
            notes=tuple(_list_notes(paragraph)),
        )

    def _list_passage_grades(
        self, item: ReviewItem, passage: ReviewedPassages
    ) -> Iterator[RelatedItem]:
        for (evaluator, name), graded in passage.grades.items():
            verdict = graded[0][1]
            key = getattr(verdict, "exam_item", "")
            about = (evaluator, item.record, name)
            yield RelatedItem(
                text=find_item_text(key, self.texts) or name,
                place=getattr(verdict, "grader", "direct"),
                word=summarize_verdict(verdict),
                tone=choose_verdict_tone(verdict),
                why=describe_reason(verdict),
                about=about,
                is_asked=about == item.about,
            )

    def _list_other_passages(self, item: ReviewItem) -> Iterator[RelatedItem]:
        others = self._elsewhere[item.evaluator, item.item]
        ranked = sorted(others, key=lambda other: str(other[1].choice), reverse=True)
        for record, verdict in ranked[:N_ELSEWHERE]:
            if record != item.record:
                text = self.passages[record].paragraph.text
                yield RelatedItem(
                    text=text,
                    place=record,
                    word=summarize_verdict(verdict),
                    tone=choose_verdict_tone(verdict),
                    why=describe_reason(verdict),
                    about=(item.evaluator, record, item.item),
                )


def find_item_text(key: str, texts: Mapping[str, str]) -> str:
    """Return the text of a test bank item, or the end of its id if the text is unknown."""
    return texts.get(key) or (f"Item {key[-8:]}" if key else "")


def _highlight_lines(text: str, answer: str) -> tuple[ShownLine, ...]:
    """Return the sentences of a passage, highlighting sentences with the extracted answer."""
    wanted = _normalize(answer)
    sentences = extract_sentences(text) or [text]
    return tuple(
        ShownLine(line, n, is_asked=len(wanted) > 2 and wanted in _normalize(line))
        for n, line in enumerate(sentences, 1)
    )


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())


def _list_notes(paragraph: GradedParagraph) -> Iterator[tuple[str, str]]:
    yield "Passage", paragraph.paragraph_id
    for judgment in paragraph.paragraph_data.judgments:
        yield "Judged relevance", str(judgment.relevance)
    ranks = [f"{ranking.method} {ranking.rank}" for ranking in paragraph.paragraph_data.rankings]
    if ranks:
        yield "Ranked by", ", ".join(ranks)
