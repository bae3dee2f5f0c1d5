"""Where the rows of the oversight page lead, and what people said of the grades in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from ragassay.formats.workbench.grades import DIRECT, GradeFilter
from ragassay.formats.workbench.responses import response_id
from ragassay.reports.tabular import Cell as Value
from ragassay.review.desk import Desk
from ragassay.review.of_grades import DIRECT as RELEVANCE
from ragassay.review.of_grades import item_text
from ragassay.review.pages import told

Row = dict[str, Value]

AGREES, OUT = "✓", "✕"
"""In place of a person's word: the grader's own, and that it should be left out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as shown.

    Attributes:
        text: The words of the sheet.
        href: Where it leads; may be empty.
        hint: What is told of it on hover.
        tone: "covered", "open" or "find"; may be empty.
        is_number: Whether it is flush right.
        person: What a person said in place of the text; `AGREES`, `OUT` or a word.
    """

    text: str = ""
    href: str = ""
    hint: str = ""
    tone: str = ""
    is_number: bool = False
    person: str = ""


@dataclass(frozen=True)
class Links:
    """Leads from rows to the queue."""

    desk: Desk
    grader: GradeFilter
    who: str

    def grade(self, row: Row) -> Cell:
        """Return the cell of a grade: the way to it, and what people said of it.

        Args:
            row: With the query, the passage, the item, its rating and whether it is covered.
        """
        rating, is_covered = row["rating"], row["is_covered"]
        n = None if is_covered is None else self._number(row)
        if n is None:
            return Cell()
        one = self.desk.items[n]
        known = [r for r in self.desk.said_of(one) if r.field in (one.field, "removed")]
        words = [told(review, one, self.who) for review in known]
        person = ""
        if known:
            value = ("no", "yes")[bool(is_covered)] if rating is None else rating
            is_same = known[-1].field == one.field and known[-1].value == value
            is_out = known[-1].field == "removed" and known[-1].value
            person = AGREES if is_same else (OUT if is_out else words[-1].word)
        hints = (f"{one.who}: {one.word}{f' ({one.why})' if one.why else ''}" for one in words)
        return Cell(href=f"/?n={n}", hint="; ".join(hints), person=person)

    def _number(self, row: Row) -> int | None:
        """Return the number of a grade's item in the queue."""
        names = [(RELEVANCE, self.grader.prompt_class), (RELEVANCE, DIRECT)]
        if self.grader.items != "direct":
            way = "extraction" if row["rating"] is None else "rating"
            names = [("exam_grade", f"{way}/{row['item']}")]
        record = response_id(str(row["query_id"]), str(row["paragraph_id"]))
        numbers = (self.desk.number_of((one, record, name)) for one, name in names)
        return next((n for n in numbers if n is not None), None)

    def to_checked(self, key: str, row: Row) -> Cell:
        """Lead from a passage to its grade; a person's word stands beside the grade's."""
        covered = "covered" if key == "is_covered" and row["is_covered"] else ""
        if key == "paragraph_id":
            return replace(self.grade(row), person="")
        if key == ("is_covered" if row["rating"] is None else "rating"):
            return replace(self.grade(row), href="", tone=covered)
        return Cell(tone=covered)

    def to_passage(self, key: str, row: Row) -> Cell:
        """Lead to all grades of a passage."""
        if key != "paragraph_id":
            return Cell()
        return Cell(href=_queue(response_id(str(row["query_id"]), str(row["paragraph_id"]))))

    def to_item(self, key: str, row: Row) -> Cell:
        """Lead to all grades by an item."""
        if key in ("name", "text"):
            return Cell(text=named(row, key), href=self._of_item(str(row["item"])))
        return Cell(tone="find") if key == "finding" and row["finding"] else Cell()

    def _of_item(self, item: str) -> str:
        if item != DIRECT:
            return _queue(item)
        return f"/?{urlencode({'evaluator': RELEVANCE, 'text': self.grader.prompt_class})}"


def _queue(text: str) -> str:
    return f"/?{urlencode({'text': text})}"


def named(row: Row, key: str) -> str:
    """Return an item's text; where it is not known, what the queue shows."""
    item, text = str(row["item"]), str(row[key] or "")
    return text if text not in ("", item) else item_name(item)


def item_name(item: str) -> str:
    """Return what stands for an item without a text."""
    return "the passage as a whole" if item == DIRECT else item_text(item, {})
