"""Read texts that people rated. Records do not contain the ratings, so judges cannot see them.

SummEval, news summaries (Fabbri et al. 2021), as JSON lines:

    {"id", "model_id", "decoded", "text", "references": […],
     "expert_annotations": [{"coherence": 4, "consistency": 5, "fluency": 5, "relevance": 3}, …],
     "turker_annotations": […]}

`text` is the article, which the published file lacks and users must add. UniEval and G-Eval publish
the means of the three experts as a JSON array:

    [{"doc_id", "system_id", "source", "reference", "system_output",
      "scores": {"coherence": 1.33, "consistency", "fluency", "relevance", "overall"}}]

USR, dialogue turns (Mehri and Eskenazi 2020), with individual ratings:

    [{"context", "fact", "responses": [{"response", "model", "Understandable": [1, 1, 0],
        "Natural": [3, 2, 3], "Maintains Context": […], "Engaging": […], "Uses Knowledge": […],
        "Overall": […]}]}]

UniEval publishes the mean ratings of the three raters, with the fact in the field "context":

    [{"source", "context", "system_id", "system_output", "scores": {"understandability": 0.67,
        "naturalness", "coherence", "engagingness", "groundedness", "overall"}}]

The dialogue becomes the question of a record, the turn its answer, and the fact its source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import floor
from typing import TypeGuard

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    is_list,
    is_object,
    parse,
)
from ragassay.formats.rows import IdText, Row, as_text, build_record_label, collect_unknown_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, HumanLabel, Record

TASK = "Summarise the article."
OVERALL = "overall"
EXPERT_MEAN = "mean of experts"
RATER_MEAN = "mean of raters"
"""Name of the annotator in labels that are rounded mean ratings."""

N_RATERS = 3
"""Number of raters of each USR turn, of whose ratings UniEval publishes the means."""

USR_SCALES: Mapping[str, tuple[int, int]] = {
    "understandable": (0, 1),
    "natural": (1, 3),
    "maintains_context": (1, 3),
    "interesting": (1, 3),
    "uses_knowledge": (0, 1),
    "overall": (1, 5),
}
"""Lowest and highest rating of each USR rubric."""

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
_NO_FACT = "_nofact"


class AnnotatorRow(Row):
    """Ratings of a summary by one annotator."""

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
    """All ratings of a summary."""

    expert_annotations: list[AnnotatorRow] = Field(default_factory=list[AnnotatorRow])
    turker_annotations: list[AnnotatorRow] = Field(default_factory=list[AnnotatorRow])


class MeansRow(Row):
    """A summary with its mean ratings."""

    doc_id: IdText
    system_id: IdText
    source: str
    reference: str | None = None
    system_output: str
    scores: dict[str, object]


class RatedTurnRow(Row):
    """A dialogue turn, with its ratings in `model_extra`."""

    response: str
    model: IdText


class RatedDialogueRow(Row):
    """A dialogue with the next turn by each of several systems."""

    context: str
    fact: str = ""
    responses: list[object] = Field(min_length=1)


class AveragedTurnRow(Row):
    """A turn with its mean ratings."""

    source: str
    context: str = ""
    system_id: IdText
    system_output: str
    scores: object


def read_summeval(item: Item) -> Record:
    """Convert a summary to a record with the id `id/model_id`.

    The first reference summary becomes the reference, and all others become metadata.
    """
    row = parse(SummaryRow, item.fields)
    metadata = collect_unknown_fields(row)
    if len(row.references) > 1:
        metadata["references"] = as_text(row.references[1:])
    return Record(
        id=f"{row.id}/{row.model_id or item.place.label}",
        question=TASK,
        answer=row.decoded,
        sources=(Document(id="article", text=row.text),) if row.text else (),
        reference=row.references[0] if row.references else None,
        system=row.model_id,
        topic=row.id,
        metadata=metadata,
    )


def read_summeval_labels(item: Item, turkers: bool = False) -> list[HumanLabel]:
    """Return the expert ratings of a summary, and optionally the crowd workers' ratings.

    Chaudhary et al. 2024 use only the expert ratings.
    """
    record = read_summeval(item)
    names = ("expert_annotations", "turker_annotations") if turkers else ("expert_annotations",)
    rated = parse(AnnotationsRow, {name: item.fields.get(name) for name in names})
    by_kind = (("expert", rated.expert_annotations), ("turker", rated.turker_annotations))
    return [
        build_record_label(record, rubric, rating, f"{kind} {n}")
        for kind, rows in by_kind
        for n, ratings in enumerate(rows, start=1)
        for rubric in AnnotatorRow.model_fields
        if (rating := getattr(ratings, rubric)) is not None
    ]


def read_summeval_means(item: Item) -> Record:
    """Convert a summary with mean ratings to a record with the id `doc_id/system_id`."""
    row = parse(MeansRow, item.fields)
    return Record(
        id=f"{row.doc_id}/{row.system_id}",
        question=TASK,
        answer=row.system_output,
        sources=(Document(id="article", text=row.source),),
        reference=row.reference,
        system=row.system_id,
        topic=row.doc_id,
        metadata=collect_unknown_fields(row),
    )


def read_summeval_means_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the mean ratings as labels, rounded to whole numbers with halves rounded up.

    `overall`, the mean of the four rubrics, is skipped.
    """
    scores = {k: v for k, v in parse(MeansRow, item.fields).scores.items() if k != OVERALL}
    scales = {rubric: (rubric, 1, 5) for rubric in AnnotatorRow.model_fields}
    record = read_summeval_means(item)
    return _read_means(record, scores, scales, "rubric of SummEval", EXPERT_MEAN)


def read_usr(item: Item) -> list[Record | Problem]:
    """Convert each rated turn of a dialogue to a record with an id such as `item-1/MODEL`."""
    return [turn if isinstance(turn, Problem) else turn[0] for turn in _read_turns(item)]


def read_usr_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return one label for each rating that a person gave to a turn of a dialogue."""
    labels: list[HumanLabel | Problem] = []
    for turn in _read_turns(item):
        if isinstance(turn, Problem):
            labels.append(turn)
            continue
        record, row = turn
        ratings = row.model_extra or {}
        for field, rubric in _RATED.items():
            if ratings.get(field) is not None:
                labels += _read_ratings(record, field, rubric, ratings[field])
    return labels


def read_usr_means(item: Item) -> Record:
    """Convert a turn with mean ratings to a record."""
    row = parse(AveragedTurnRow, item.fields)
    return _build_record(
        *(item.place.label, row.source, row.system_output, row.context, row.system_id),
        collect_unknown_fields(row),
    )


def read_usr_means_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the labels that follow from the mean ratings of a turn.

    On a two-point scale, a mean of three raters implies their three ratings, which become three
    labels without an annotator. On longer scales, a mean becomes one label, rounded to a whole
    number with halves rounded up.
    """
    record, scores = read_usr_means(item), parse(AveragedTurnRow, item.fields).scores
    if not is_object(scores):
        raise ProblemError("scores", f"found {describe_value(scores)}", "an object: {…}")
    scales = {field: (rubric, *USR_SCALES[rubric]) for field, rubric in _AVERAGED.items()}
    return _read_means(record, scores, scales, "metric of USR", RATER_MEAN)


SUMMEVAL = Format(
    name="summeval",
    required=(("id",), ("decoded",), ("expert_annotations", "turker_annotations")),
    fields=frozenset(SummaryRow.model_fields) | {"filepath"},
    leading="decoded",
    keys="id, model_id, decoded, text, references[], expert_annotations[{coherence, consistency, "
    "fluency, relevance}]",
    read=read_summeval,
    read_labels=read_summeval_labels,
)
SUMMEVAL_MEANS = Format(
    name="summeval-means",
    required=(("doc_id",), ("source",), ("system_output",), ("scores",)),
    fields=frozenset(MeansRow.model_fields),
    leading="doc_id",
    keys="doc_id, system_id, source, reference, system_output, scores{coherence, consistency, …}",
    read=read_summeval_means,
    read_labels=read_summeval_means_labels,
)
USR = Format(
    name="usr",
    required=(("context",), ("fact",), ("responses",)),
    fields=frozenset(RatedDialogueRow.model_fields) | {"annotators"},
    leading="fact",
    keys="context, fact, responses[{response, model, Understandable[], Natural[], …}]",
    read=read_usr,
    read_labels=read_usr_labels,
)
USR_MEANS = Format(
    name="usr-means",
    required=(("source",), ("context",), ("system_output",), ("scores",)),
    fields=frozenset(AveragedTurnRow.model_fields),
    leading="system_output",
    keys="source, context, system_id, system_output, scores{understandability, naturalness, …}",
    read=read_usr_means,
    read_labels=read_usr_means_labels,
)


def _is_within(mean: object, low: int, high: int) -> TypeGuard[float]:
    return isinstance(mean, int | float) and not isinstance(mean, bool) and low <= mean <= high


def _read_turns(item: Item) -> Iterator[tuple[Record, RatedTurnRow] | Problem]:
    dialogue = parse(RatedDialogueRow, item.fields)
    for n, fields in enumerate(dialogue.responses):
        try:
            if not is_object(fields):
                text = f"found {describe_value(fields)}"
                raise ProblemError(f"responses.{n}", text, "an object: {…}")
            row = parse(RatedTurnRow, fields, f"responses.{n}")
        except ProblemError as error:
            yield error.problem
            continue
        metadata = {k: v for k, v in collect_unknown_fields(row).items() if k not in _RATED}
        name = f"{item.place.label}/{row.model}"
        turn = (name, dialogue.context, row.response, dialogue.fact, row.model)
        yield _build_record(*turn, metadata), row


def _build_record(
    name: str, dialogue: str, turn: str, fact: str, system: str, metadata: Mapping[str, str]
) -> Record:
    text = fact.strip()
    return Record(
        id=name,
        question=dialogue.strip(),
        answer=turn.strip(),
        sources=(Document(id="fact", text=text),) if text and text != _NO_FACT else (),
        system=system,
        metadata=dict(metadata),
    )


def _read_ratings(
    record: Record, field: str, rubric: str, ratings: object
) -> Iterator[HumanLabel | Problem]:
    low, high = USR_SCALES[rubric]
    if not is_list(ratings):
        yield Problem(field, f"found {describe_value(ratings)}", "a list of ratings")
        return
    for n, rating in enumerate(ratings):
        whole = _convert_rating(rating)
        if whole is not None and low <= whole <= high:
            yield build_record_label(record, rubric, whole, f"rater {n + 1}")
        else:
            expected = f"a rating from {low} to {high}"
            yield Problem(f"{field}.{n}", f"found {describe_value(rating)}", expected)


def _convert_rating(rating: object) -> int | None:
    if isinstance(rating, float) and rating.is_integer():
        return int(rating)
    return rating if isinstance(rating, int) and not isinstance(rating, bool) else None


def _read_means(
    record: Record,
    scores: Mapping[str, object],
    scales: Mapping[str, tuple[str, int, int]],
    kind: str,
    annotator: str,
) -> list[HumanLabel | Problem]:
    """Convert mean ratings to labels, rounded to whole ratings.

    `scales` contains the rubric and range of each field.
    """
    labels: list[HumanLabel | Problem] = []
    for field, mean in scores.items():
        if mean is None:
            continue
        if field not in scales:
            text = f"the name is not a {kind}"
            labels.append(Problem(f"scores.{field[:60]}", text, " or ".join(scales)))
            continue
        rubric, low, high = scales[field]
        if not _is_within(mean, low, high):
            expected = f"a mean of ratings from {low} to {high}"
            labels.append(Problem(f"scores.{field}", f"found {describe_value(mean)}", expected))
        elif high - low == 1 and abs(mean * N_RATERS - round(mean * N_RATERS)) < 1e-6:
            n_high = round(mean * N_RATERS) - low * N_RATERS
            ratings = [high] * n_high + [low] * (N_RATERS - n_high)
            labels += [build_record_label(record, rubric, rating, "") for rating in ratings]
        else:
            labels.append(build_record_label(record, rubric, floor(mean + 0.5), annotator))
    return labels
