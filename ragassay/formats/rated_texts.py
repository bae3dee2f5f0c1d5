"""Read SummEval: news summaries rated by people (Fabbri et al. 2021), as JSON lines.

    {"id", "model_id", "decoded", "text", "references": […],
     "expert_annotations": [{"coherence": 4, "consistency": 5, "fluency": 5, "relevance": 3}, …],
     "turker_annotations": […]}

UniEval and G-Eval give the means of the three experts, as a JSON array:

    [{"doc_id", "system_id", "source", "reference", "system_output",
      "scores": {"coherence": 1.33, "consistency", "fluency", "relevance", "overall"}}]

`text`, the article, is present where the file was paired with the articles. The ratings are left
out of the records, so that no judge sees them.

The authors' own, with the rating of each rater:

    [{"context", "fact", "responses": [{"response", "model", "Understandable": [1, 1, 0],
        "Natural": [3, 2, 3], "Maintains Context": […], "Engaging": […], "Uses Knowledge": […],
        "Overall": […]}]}]

UniEval's, with the mean of three raters; here "context" is the fact:

    [{"source", "context", "system_id", "system_output", "scores": {"understandability": 0.67,
        "naturalness", "coherence", "engagingness", "groundedness", "overall"}}]

The dialogue is the question, the turn the answer, the fact the source. Ratings are left out of the
records, so that no judge sees them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from math import floor

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, describe_value, is_list, is_object, validate
from ragassay.formats.rows import IdText, Row, as_text, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, HumanLabel, Record

TASK = "Summarise the article."
OVERALL = "overall"
EXPERT_MEAN = "mean of experts"
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
                    annotator=EXPERT_MEAN,
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
        id=_summary_id(row, item),
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
        for label in _summary_labels(row, _summary_id(row, item), ratings, f"{kind} {n}")
    ]


def _summary_labels(
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


def _summary_id(row: SummaryRow, item: Item) -> str:
    return f"{row.id}/{row.model_id or item.place.label}"


USR_SCALES: Mapping[str, tuple[int, int]] = {
    "understandable": (0, 1),
    "natural": (1, 3),
    "maintains_context": (1, 3),
    "interesting": (1, 3),
    "uses_knowledge": (0, 1),
    "overall": (1, 5),
}
"""The rubrics, each with its lowest and highest rating."""

_RATED: Mapping[str, str] = {
    "Understandable": "understandable",
    "Natural": "natural",
    "Maintains Context": "maintains_context",
    "Engaging": "interesting",
    "Interesting": "interesting",
    "Uses Knowledge": "uses_knowledge",
    "Overall": "overall",
}
_AVERAGED: Mapping[str, str] = {
    "understandability": "understandable",
    "naturalness": "natural",
    "coherence": "maintains_context",
    "engagingness": "interesting",
    "groundedness": "uses_knowledge",
    "overall": "overall",
}
N_RATERS = 3
"""Raters of each turn, over which UniEval's form averages."""

RATER_MEAN = "mean of raters"
"""The annotator of a mean that was rounded to a rating."""

_NO_FACT = "_nofact"


class RatedTurnRow(Row):
    """A turn with its ratings, each in a field of its own."""

    response: str
    model: IdText


class RatedDialogueRow(Row):
    """A dialogue with the turns by which several systems continued it."""

    context: str
    fact: str = ""
    responses: list[object] = Field(min_length=1)


class AveragedTurnRow(Row):
    """A turn with the means of its ratings."""

    source: str
    context: str = ""
    system_id: IdText
    system_output: str
    scores: object


USR = Format(
    name="usr",
    required=(("context",), ("fact",), ("responses",)),
    fields=frozenset(RatedDialogueRow.model_fields) | {"annotators"},
    leading="fact",
    keys="context, fact, responses[{response, model, Understandable[], Natural[], …}]",
)
USR_MEANS = Format(
    name="usr-means",
    required=(("source",), ("context",), ("system_output",), ("scores",)),
    fields=frozenset(AveragedTurnRow.model_fields),
    leading="system_output",
    keys="source, context, system_id, system_output, scores{understandability, naturalness, …}",
)


def read_usr(item: Item) -> list[Record | Problem]:
    """Turn a dialogue into a record for each turn; ids are `item-1/MODEL`."""
    made: list[Record | Problem] = []
    for name, row, dialogue in _responses(item):
        if isinstance(row, Problem):
            made.append(row)
            continue
        kept = {k: v for k, v in kept_fields(row).items() if k not in _RATED}
        made.append(
            _turn_record(name, dialogue.context, row.response, dialogue.fact, row.model, kept)
        )
    return made


def read_usr_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the ratings of all turns of a dialogue, one label for each rater."""
    labels: list[HumanLabel | Problem] = []
    for name, row, _ in _responses(item):
        if isinstance(row, Problem):
            labels.append(row)
            continue
        given = row.model_extra or {}
        for field, rubric in _RATED.items():
            if given.get(field) is not None:
                labels += _ratings(name, row.model, field, rubric, given[field])
    return labels


def read_usr_means(item: Item) -> Record | Problem:
    """Turn an averaged turn into a record."""
    row = validate(AveragedTurnRow, item.fields)
    if isinstance(row, Problem):
        return row
    name = item.place.label
    return _turn_record(
        name, row.source, row.system_output, row.context, row.system_id, kept_fields(row)
    )


def read_usr_means_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the labels that can be derived from the means of a turn.

    For a rubric with two ratings, the mean of three raters determines their ratings but not who
    gave which: three labels without a name. For a longer scale it does not: one label, the mean
    rounded to a rating (a half is rounded up).
    """
    row = validate(AveragedTurnRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    if not is_object(row.scores):
        return [Problem("scores", f"found {describe_value(row.scores)}", "an object: {…}")]
    labels: list[HumanLabel | Problem] = []
    for field, mean in row.scores.items():
        rubric = _AVERAGED.get(field)
        if rubric is None:
            labels.append(
                Problem(f"scores.{field[:60]}", "no metric of USR", " or ".join(_AVERAGED))
            )
        elif mean is not None:
            labels += _mean_labels(item.place.label, row.system_id, field, rubric, mean)
    return labels


def _responses(item: Item) -> Iterator[tuple[str, RatedTurnRow | Problem, RatedDialogueRow]]:
    dialogue = validate(RatedDialogueRow, item.fields)
    if isinstance(dialogue, Problem):
        yield "", dialogue, RatedDialogueRow.model_construct()
        return
    for n, fields in enumerate(dialogue.responses):
        if is_object(fields):
            row = validate(RatedTurnRow, fields)
        else:
            row = Problem("", f"found {describe_value(fields)}", "an object: {…}")
        if isinstance(row, Problem):
            where = f"responses.{n}.{row.field}".rstrip(".")
            yield "", Problem(where, row.text, row.expected), dialogue
        else:
            yield f"{item.place.label}/{row.model}", row, dialogue


def _turn_record(
    name: str, dialogue: str, turn: str, fact: str, system: str, kept: Mapping[str, str]
) -> Record:
    known = fact.strip()
    return Record(
        id=name,
        question=dialogue.strip(),
        answer=turn.strip(),
        sources=(Document(id="fact", text=known),) if known and known != _NO_FACT else (),
        system=system,
        metadata=dict(kept),
    )


def _ratings(
    name: str, system: str, field: str, rubric: str, given: object
) -> Iterator[HumanLabel | Problem]:
    low, high = USR_SCALES[rubric]
    if not is_list(given):
        yield Problem(field, f"found {describe_value(given)}", "a list of ratings")
        return
    for n, rating in enumerate(given):
        whole = _whole(rating)
        if whole is None or not low <= whole <= high:
            yield Problem(
                f"{field}.{n}", f"found {describe_value(rating)}", f"a rating, {low} to {high}"
            )
        else:
            yield _turn_label(name, system, rubric, whole, f"rater {n + 1}")


def _mean_labels(
    name: str, system: str, field: str, rubric: str, mean: object
) -> Iterator[HumanLabel | Problem]:
    low, high = USR_SCALES[rubric]
    if isinstance(mean, bool) or not isinstance(mean, int | float) or not low <= mean <= high:
        expected = f"a mean of ratings, {low} to {high}"
        yield Problem(f"scores.{field}", f"found {describe_value(mean)}", expected)
        return
    total = mean * N_RATERS
    if high - low == 1 and abs(total - round(total)) < 1e-6:
        n_high = round(total) - low * N_RATERS
        for n in range(N_RATERS):
            yield _turn_label(name, system, rubric, high if n < n_high else low, "")
        return
    yield _turn_label(name, system, rubric, math.floor(mean + 0.5), RATER_MEAN)


def _whole(rating: object) -> int | None:
    if isinstance(rating, float) and rating.is_integer():
        return int(rating)
    return rating if isinstance(rating, int) and not isinstance(rating, bool) else None


def _turn_label(name: str, system: str, rubric: str, rating: int, annotator: str) -> HumanLabel:
    return HumanLabel(
        task="rubric",
        label=str(rating),
        record_id=name,
        system=system,
        item=rubric,
        annotator=annotator,
    )
