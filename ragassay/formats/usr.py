"""Read USR: dialogue turns rated by people (Mehri and Eskenazi 2020), in its two forms.

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

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, describe_value, is_list, is_object, validate
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, HumanLabel, Record

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

MEAN = "mean of raters"
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
        made.append(_record(name, dialogue.context, row.response, dialogue.fact, row.model, kept))
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
    return _record(
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


def _record(
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
            yield _label(name, system, rubric, whole, f"rater {n + 1}")


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
            yield _label(name, system, rubric, high if n < n_high else low, "")
        return
    yield _label(name, system, rubric, math.floor(mean + 0.5), MEAN)


def _whole(rating: object) -> int | None:
    if isinstance(rating, float) and rating.is_integer():
        return int(rating)
    return rating if isinstance(rating, int) and not isinstance(rating, bool) else None


def _label(name: str, system: str, rubric: str, rating: int, annotator: str) -> HumanLabel:
    return HumanLabel(
        task="rubric",
        label=str(rating),
        record_id=name,
        system=system,
        item=rubric,
        annotator=annotator,
    )
