"""Read human labels of answers, in any known format, to compare judges with people.

ragassay's own format is one `HumanLabel` per line:

    {"task": "citation", "label": "supports", "record_id": "q1", "sentence": 2, "item": "31452104"}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import ConfigDict, Field

from ragassay.files import AnyPath
from ragassay.formats.items import iter_items, iter_read, split_rejections
from ragassay.formats.problems import ProblemError, describe_value, parse, quote_text
from ragassay.formats.read import FORMATS
from ragassay.formats.reviews import REVIEWS, ReviewedRun, find_reviews_file
from ragassay.formats.rows import IdText, Row, build_rubric_label
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.workbench.paragraphs import (
    RESPONSES,
    build_response_id,
    find_system,
    is_paragraph_file,
    read_graded_paragraphs,
)
from ragassay.formats.yescieval import YESCIEVAL_SHEET, has_sheets, read_sheet_items
from ragassay.records import (
    ASSIGNMENTS,
    CORRECTNESS,
    MOST_EXAM_RATING,
    RELEVANCE_LABELS,
    CitationLabel,
    HumanLabel,
    LabelTask,
    Rejection,
    Verdict,
)

RELEVANCE_ITEM = "relevance"
"""Name of the rubric under which relevance grades of responses are stored."""

LABELS_OF_TASK: Mapping[LabelTask, tuple[str, ...]] = {
    "accuracy": ("yes", "no"),
    "relevance": RELEVANCE_LABELS,
    "citation": get_args(CitationLabel),
    "nugget": ASSIGNMENTS,
    "evidence": get_args(Verdict),
    "correctness": tuple(filter(None, CORRECTNESS.values())),
    "exam_grade": (*map(str, range(MOST_EXAM_RATING + 1)), "yes", "no"),
    "relevance_grade": ("yes", "no"),
}
"""Valid labels of each task, except ratings on a rubric, which are whole numbers."""


class LabelRow(Row):
    """A label in ragassay's own format, in which unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")

    task: LabelTask
    label: IdText
    record_id: IdText | None = None
    topic: IdText | None = None
    system: IdText | None = None
    sentence: int | None = Field(default=None, ge=1)
    item: str = ""
    annotator: str = ""
    reason: str = ""


LABELS = Format(
    name="ragassay-labels",
    required=(("task",), ("label",)),
    fields=frozenset(LabelRow.model_fields),
    leading="task",
    keys="task, label, record_id or topic and system[, sentence, item, annotator, reason]",
    read_labels=lambda item: [_parse_label(item.fields)],
)


@dataclass(frozen=True)
class LabelResult:
    """Labels in a file, with its rejected lines.

    Attributes:
        format: "ragassay-labels", "ragassay-reviews", "rubric-workbench" or an answer format.
        n_other: Number of reviews that do not label an answer for any task.
    """

    labels: tuple[HumanLabel, ...]
    rejections: tuple[Rejection, ...]
    format: str
    n_other: int = 0


def read_labels(path: AnyPath) -> LabelResult:
    """Read human labels from a file in any known format, optionally compressed with gzip.

    Null labels and failed assignments are skipped. `record_id` and `sentence` match the records
    that `read_records` returns for the same file. For YESciEval, the annotators are judge models.
    For SummEval, only the expert ratings are read. A Rubric workbench judgment becomes a rating on
    the rubric "relevance", on the scale of the collection. If the path is a folder, its reviews or
    its YESciEval workbooks are read.

    Raises:
        InputError: The file cannot be opened, is empty, or has no labels. Qrels have no labels of
            answers, because they judge documents.
    """
    path = Path(path)
    if not has_sheets(path) and (file := find_reviews_file(path)):
        run = ReviewedRun(file)
        return LabelResult(run.list_labels(), (), REVIEWS.name, run.n_other)
    if path.is_dir():
        match, items = YESCIEVAL_SHEET, read_sheet_items(path)
    elif is_paragraph_file(path):
        return _read_workbench(path)
    else:
        known = [LABELS, *(form for form in FORMATS if form.read_labels)]
        match, items = sniff(iter_items(path), known, str(path))
    outcomes = iter_read(items, match.read_labels or (lambda _: []))
    labels, rejections = split_rejections(outcomes)
    return LabelResult(labels, rejections, match.name)


def _read_workbench(path: Path) -> LabelResult:
    result = read_graded_paragraphs(path)
    labels = tuple(
        build_rubric_label(
            *(RELEVANCE_ITEM, judgment.relevance, ""),
            record_id=build_response_id(query.query_id, paragraph.paragraph_id),
            topic=query.query_id,
            system=find_system(paragraph),
        )
        for query in result.queries
        for paragraph in query.paragraphs
        for judgment in paragraph.paragraph_data.judgments
    )
    return LabelResult(labels, result.rejections, RESPONSES.name)


def _parse_label(fields: Mapping[str, object]) -> HumanLabel:
    row = parse(LabelRow, fields)
    allowed = LABELS_OF_TASK.get(row.task)
    is_valid = row.label in allowed if allowed else re.fullmatch("-?[0-9]{1,3}", row.label)
    if not is_valid:
        expected = " or ".join(allowed or ["a whole number"])
        raise ProblemError("label", f"found the text {quote_text(row.label)}", expected)
    if row.record_id is None and (row.topic is None or row.system is None):
        text = f"the row does not specify an answer; found {describe_value(fields)}"
        raise ProblemError("record_id", text, "record_id, or topic and system")
    return HumanLabel.model_validate(row.model_dump())
