"""Read SummEval: news summaries rated by people (Fabbri et al. 2021), as JSON lines.

    {"id", "model_id", "decoded", "text", "references": […],
     "expert_annotations": [{"coherence": 4, "consistency": 5, "fluency": 5, "relevance": 3}, …],
     "turker_annotations": […]}

UniEval and G-Eval give the means of the three experts, as a JSON array:

    [{"doc_id", "system_id", "source", "reference", "system_output",
      "scores": {"coherence": 1.33, "consistency", "fluency", "relevance", "overall"}}]

`text`, the article, is present where the file was paired with the articles. The ratings are left
out of the records, so that no judge sees them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, describe_value, validate
from ragassay.formats.rows import IdText, Row, as_text, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, HumanLabel, Record

TASK = "Summarise the article."
OVERALL = "overall"
MEAN = "mean of experts"
"""The annotator of a mean that was rounded to a rating."""


class AnnotatorRow(Row):
    """One annotator's ratings of a summary."""

    coherence: int | None = Field(default=None, ge=1, le=5)
    consistency: int | None = Field(default=None, ge=1, le=5)
    fluency: int | None = Field(default=None, ge=1, le=5)
    relevance: int | None = Field(default=None, ge=1, le=5)


class SummaryRow(Row):
    """A summary."""

    id: IdText
    model_id: IdText | None = None
    decoded: str
    text: str | None = None
    references: list[str] = Field(default_factory=list)
    expert_annotations: list[object] = Field(default_factory=list[object])
    turker_annotations: list[object] = Field(default_factory=list[object])


class AnnotationsRow(Row):
    """The ratings of a summary."""

    expert_annotations: list[AnnotatorRow] = Field(default_factory=list[AnnotatorRow])
    turker_annotations: list[AnnotatorRow] = Field(default_factory=list[AnnotatorRow])


SUMMEVAL = Format(
    name="summeval",
    required=(("id",), ("decoded",), ("expert_annotations", "turker_annotations")),
    fields=frozenset(SummaryRow.model_fields) | {"filepath"},
    leading="decoded",
    keys="id, model_id, decoded, text, references[], expert_annotations[{coherence, consistency, "
    "fluency, relevance}]",
)


class MeansRow(Row):
    """A summary with the means of its ratings."""

    doc_id: IdText
    system_id: IdText
    source: str
    reference: str | None = None
    system_output: str
    scores: dict[str, object]


SUMMEVAL_MEANS = Format(
    name="summeval-means",
    required=(("doc_id",), ("source",), ("system_output",), ("scores",)),
    fields=frozenset(MeansRow.model_fields),
    leading="doc_id",
    keys="doc_id, system_id, source, reference, system_output, scores{coherence, consistency, …}",
)


def read_summeval_means(item: Item) -> Record | Problem:
    """Turn a summary with means into a record; its id is `doc_id/system_id`."""
    row = validate(MeansRow, item.fields)
    if isinstance(row, Problem):
        return row
    return Record(
        id=f"{row.doc_id}/{row.system_id}",
        question=TASK,
        answer=row.system_output,
        sources=(Document(id="article", text=row.source),),
        reference=row.reference,
        system=row.system_id,
        topic=row.doc_id,
        metadata=kept_fields(row),
    )


def read_summeval_means_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the means as labels, each rounded to a rating (a half is rounded up).

    `overall` is the mean of the four others, no rubric.
    """
    row = validate(MeansRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    labels: list[HumanLabel | Problem] = []
    for rubric, mean in row.scores.items():
        if rubric == OVERALL or mean is None:
            continue
        if rubric not in AnnotatorRow.model_fields:
            known = " or ".join(AnnotatorRow.model_fields)
            labels.append(Problem(f"scores.{rubric[:60]}", "no rubric of SummEval", known))
        elif isinstance(mean, bool) or not isinstance(mean, int | float) or not 1 <= mean <= 5:
            labels.append(
                Problem(f"scores.{rubric}", f"found {describe_value(mean)}", "a mean, 1 to 5")
            )
        else:
            labels.append(
                HumanLabel(
                    task="rubric",
                    label=str(floor(mean + 0.5)),
                    record_id=f"{row.doc_id}/{row.system_id}",
                    topic=row.doc_id,
                    system=row.system_id,
                    item=rubric,
                    annotator=MEAN,
                )
            )
    return labels


def read_summeval(item: Item) -> Record | Problem:
    """Turn a summary into a record; its id is `id/model_id`.

    The first reference summary is the record's; the others are kept in its metadata.
    """
    row = validate(SummaryRow, item.fields)
    if isinstance(row, Problem):
        return row
    kept = kept_fields(row)
    if len(row.references) > 1:
        kept["references"] = as_text(row.references[1:])
    return Record(
        id=_record_id(row, item),
        question=TASK,
        answer=row.decoded,
        sources=(Document(id="article", text=row.text),) if row.text else (),
        reference=row.references[0] if row.references else None,
        system=row.model_id,
        topic=row.id,
        metadata=kept,
    )


def read_summeval_labels(item: Item, turkers: bool = False) -> list[HumanLabel | Problem]:
    """Return the experts' ratings of a summary.

    Args:
        item: The summary.
        turkers: Whether to include the crowd workers' ratings; Chaudhary et al. 2024 leave them
            out.
    """
    row = validate(SummaryRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    names = ("expert_annotations", "turker_annotations") if turkers else ("expert_annotations",)
    rated = validate(AnnotationsRow, {name: getattr(row, name) for name in names})
    if isinstance(rated, Problem):
        return [rated]
    given = (("expert", rated.expert_annotations), ("turker", rated.turker_annotations))
    return [
        label
        for kind, rows in given
        for n, ratings in enumerate(rows, start=1)
        for label in _labels(row, _record_id(row, item), ratings, f"{kind} {n}")
    ]


def _labels(
    row: SummaryRow, record_id: str, ratings: AnnotatorRow, annotator: str
) -> Iterator[HumanLabel]:
    for rubric in AnnotatorRow.model_fields:
        rating = getattr(ratings, rubric)
        if rating is not None:
            yield HumanLabel(
                task="rubric",
                label=str(rating),
                record_id=record_id,
                topic=row.id,
                system=row.model_id,
                item=rubric,
                annotator=annotator,
            )


def _record_id(row: SummaryRow, item: Item) -> str:
    return f"{row.id}/{row.model_id or item.place.label}"
