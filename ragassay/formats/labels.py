"""Read and write people's labels of answers, in any known form, to measure judges against.

ragassay's own form is one `HumanLabel` a line:

    {"task": "citation", "label": "supports", "record_id": "q1", "sentence": 2, "item": "31452104"}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import ConfigDict, Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items
from ragassay.formats.medaesqa import MEDAESQA, read_medaesqa_labels
from ragassay.formats.nuggetizer import (
    ASSIGNED,
    RETRIEVED,
    read_assigned_labels,
    read_retrieved_labels,
)
from ragassay.formats.output import write_values
from ragassay.formats.problems import Problem, describe_value, found_text, validate
from ragassay.formats.ragchecker import RAGCHECKER_PAIRS, read_pair_labels
from ragassay.formats.rated_texts import (
    SUMMEVAL,
    SUMMEVAL_MEANS,
    USR,
    USR_MEANS,
    read_summeval_labels,
    read_summeval_means_labels,
    read_usr_labels,
    read_usr_means_labels,
)
from ragassay.formats.reviews import REVIEWS, ReviewedRun, reviews_file
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.workbench.paragraphs import (
    RESPONSES,
    GradedParagraph,
    is_paragraph_file,
    read_graded_paragraphs,
    response_id,
    system_of,
)
from ragassay.formats.yescieval import (
    YESCIEVAL,
    YESCIEVAL_ROWS,
    YESCIEVAL_SHEET,
    has_sheets,
    read_refactored_labels,
    read_sheet_labels,
    read_yescieval_labels,
    sheet_items,
)
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
)

_READERS: tuple[tuple[Format, Callable[[Item], Sequence[HumanLabel | Problem]]], ...] = (
    (LABELS, lambda item: [read_label(item)]),
    (MEDAESQA, read_medaesqa_labels),
    (ASSIGNED, read_assigned_labels),
    (RETRIEVED, read_retrieved_labels),
    (YESCIEVAL, read_yescieval_labels),
    (SUMMEVAL, read_summeval_labels),
    (USR, read_usr_labels),
    (USR_MEANS, read_usr_means_labels),
    (SUMMEVAL_MEANS, read_summeval_means_labels),
    (YESCIEVAL_SHEET, read_sheet_labels),
    (YESCIEVAL_ROWS, read_refactored_labels),
    (RAGCHECKER_PAIRS, read_pair_labels),
)


@dataclass(frozen=True)
class LabelResult:
    """The labels of a file and its rejected lines.

    Attributes:
        labels: In the file's order.
        rejections: Labels that could not be read.
        format: "ragassay-labels", "ragassay-reviews", "medaesqa", "nuggetizer-assign",
            "nuggetizer-assign-retrieval", "yescieval", "yescieval-workbook",
            "yescieval-refactored", "summeval", "summeval-means", "usr", "usr-means",
            "ragchecker-pairs" or "rubric-workbench".
        n_other: Reviews of what is no task: they are no labels.
    """

    labels: tuple[HumanLabel, ...]
    rejections: tuple[Rejection, ...]
    format: str
    n_other: int = 0


def read_labels(path: Path) -> LabelResult:
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
    if not has_sheets(path) and (file := reviews_file(path)):
        run = ReviewedRun(file)
        return LabelResult(run.labels(), (), REVIEWS.name, run.n_other)
    if path.is_dir():
        match, items = YESCIEVAL_SHEET, sheet_items(path)
    elif is_paragraph_file(path):
        return _read_workbench(path)
    else:
        match, items = sniff(iter_items(path), [form for form, _ in _READERS], str(path))
    read = next(read for form, read in _READERS if form is match)
    labels: list[HumanLabel] = []
    rejections: list[Rejection] = []
    for outcome in _outcomes(items, read):
        if isinstance(outcome, Rejection):
            rejections.append(outcome)
        else:
            labels.append(outcome)
    return LabelResult(tuple(labels), tuple(rejections), match.name)


def _outcomes(
    items: Iterable[Item | Rejection], read: Callable[[Item], Sequence[HumanLabel | Problem]]
) -> Iterator[HumanLabel | Rejection]:
    for item in items:
        if isinstance(item, Rejection):
            yield item
            continue
        for label in read(item):
            yield item.place.reject(label) if isinstance(label, Problem) else label


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
        yield HumanLabel(
            task="rubric",
            label=str(judgment.relevance),
            record_id=response_id(query, paragraph.paragraph_id),
            topic=query,
            system=system_of(paragraph),
            item=RELEVANCE_ITEM,
        )


def read_label(item: Item) -> HumanLabel | Problem:
    """Turn a line of ragassay's own form into a label."""
    return _label(item.fields)


def _label(fields: Mapping[str, object]) -> HumanLabel | Problem:
    row = validate(LabelRow, fields)
    if isinstance(row, Problem):
        return row
    known = LABELS_OF_TASK.get(row.task)
    if known is not None and row.label not in known:
        return Problem("label", f"found the text {found_text(row.label)}", " or ".join(known))
    if known is None and not re.fullmatch("-?[0-9]{1,3}", row.label):
        return Problem("label", f"found the text {found_text(row.label)}", "a whole number")
    if row.record_id is None and (row.topic is None or row.system is None):
        text = f"the answer is not named: found {describe_value(fields)}"
        return Problem("record_id", text, "record_id, or topic and system")
    return HumanLabel.model_validate(row.model_dump())


def write_labels(labels: Iterable[HumanLabel], path: Path) -> None:
    """Write labels in ragassay's own form; `read_labels` returns equal labels.

    Args:
        labels: May be empty; the file is then empty, which `read_labels` refuses.
        path: Overwritten where it exists; compressed where the name ends in `.gz`.

    Raises:
        InputError: a label does not fit its task or names no answer, or the file cannot be written.
    """
    write_values((_check_label(label) for label in labels), path)


def _check_label(label: HumanLabel) -> dict[str, object]:
    fields = label.model_dump(exclude_defaults=True)
    problem = _label(fields)
    if isinstance(problem, Problem):
        where = f"{problem.field}: {problem.text} ({problem.expected})"
        raise InputError(f"a label cannot be written: {where}")
    return fields
