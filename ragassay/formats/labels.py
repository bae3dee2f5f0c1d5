"""Read and write people's labels of answers, in any known form, to measure judges against.

ragassay's own form is one `HumanLabel` a line:

    {"task": "citation", "label": "supports", "record_id": "q1", "sentence": 2, "item": "31452104"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import ConfigDict, Field

from ragassay.files import AnyPath
from ragassay.formats.items import iter_items, read_each
from ragassay.formats.problems import ProblemError, describe_value, found_text, parse
from ragassay.formats.read import FORMATS
from ragassay.formats.reviews import REVIEWS, ReviewedRun, reviews_file
from ragassay.formats.rows import IdText, Row, rubric_label
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.workbench.paragraphs import (
    RESPONSES,
    GradedParagraph,
    is_paragraph_file,
    read_graded_paragraphs,
    response_id,
    system_of,
)
from ragassay.formats.yescieval import YESCIEVAL_SHEET, has_sheets, sheet_items
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
"""The rubric name of a relevance grade of a whole response."""

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
"""The labels of each task with a closed set; ratings on a rubric are whole numbers."""


class LabelRow(Row):
    """A label in ragassay's own form; an unknown field is an error."""

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
    read_labels=lambda item: [_label(item.fields)],
)


@dataclass(frozen=True)
class LabelResult:
    """The labels of a file and its rejected lines.

    Attributes:
        labels: In the file's order.
        rejections: Labels that could not be read.
        format: "ragassay-labels", "ragassay-reviews", "rubric-workbench", or that of answers.
        n_other: Reviews of what is no task: they are no labels.
    """

    labels: tuple[HumanLabel, ...]
    rejections: tuple[Rejection, ...]
    format: str
    n_other: int = 0


def read_labels(path: AnyPath) -> LabelResult:
    """Read human labels, from a file in any known form, plain or gzip.

    A null and a failed assignment are no labels. `record_id` and `sentence` are those of the
    records that `read_records` makes of the same file. Ratings of YESciEval's judges come as labels
    with the judge as annotator; from SummEval, only the experts' ratings are read. A judgment of
    the Rubric workbench is a grade of a whole response: a rubric label on "relevance", on the
    collection's own scale. Of a run folder, what people said in `ragassay review` is read; of
    another folder, YESciEval's workbooks.

    Raises:
        InputError: the file cannot be opened, is empty, or has no labels: qrels judge documents,
            not answers.
    """
    path = Path(path)
    if not has_sheets(path) and (file := reviews_file(path)):
        run = ReviewedRun(file)
        return LabelResult(run.labels(), (), REVIEWS.name, run.n_other)
    if path.is_dir():
        match, items = YESCIEVAL_SHEET, sheet_items(path)
    elif is_paragraph_file(path):
        return _read_workbench(path)
    else:
        known = [LABELS, *(form for form in FORMATS if form.read_labels)]
        match, items = sniff(iter_items(path), known, str(path))
    labels, rejections = read_each(items, match.read_labels or (lambda _: []))
    return LabelResult(labels, rejections, match.name)


def _read_workbench(path: Path) -> LabelResult:
    result = read_graded_paragraphs(path)
    labels = [
        label
        for query in result.queries
        for paragraph in query.paragraphs
        for label in _judgments(query.query_id, paragraph)
    ]
    return LabelResult(tuple(labels), result.rejections, RESPONSES.name)


def _judgments(query: str, paragraph: GradedParagraph) -> Iterator[HumanLabel]:
    for judgment in paragraph.paragraph_data.judgments:
        yield rubric_label(
            *(RELEVANCE_ITEM, judgment.relevance, ""),
            record_id=response_id(query, paragraph.paragraph_id),
            topic=query,
            system=system_of(paragraph),
        )


def _label(fields: Mapping[str, object]) -> HumanLabel:
    row = parse(LabelRow, fields)
    known = LABELS_OF_TASK.get(row.task)
    if known is not None and row.label not in known:
        text = f"found the text {found_text(row.label)}"
        raise ProblemError("label", text, " or ".join(known))
    if known is None and not re.fullmatch("-?[0-9]{1,3}", row.label):
        raise ProblemError("label", f"found the text {found_text(row.label)}", "a whole number")
    if row.record_id is None and (row.topic is None or row.system is None):
        text = f"the answer is not named: found {describe_value(fields)}"
        raise ProblemError("record_id", text, "record_id, or topic and system")
    return HumanLabel.model_validate(row.model_dump())
