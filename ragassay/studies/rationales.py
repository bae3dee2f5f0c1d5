"""Audit a judge's reasons: by rule, by a model's labels, by people's (YESciEval, appendix C)."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragassay.errors import InputError
from ragassay.files import read_small, read_yaml
from ragassay.formats import read_labels, read_records
from ragassay.graphs.each import Items, ReasonTools, build_reason_graph
from ragassay.metrics.papers.rationales import (
    CRITERIA,
    JudgedReason,
    Labels,
    ReasonMeasures,
    RubricReasons,
    label_agreement,
    measure_reasons,
    rubric_reasons,
)
from ragassay.metrics.stats.aggregates import question_of
from ragassay.models.gateway import JudgeLM
from ragassay.models.limiter import RunLimiter, limit_calls
from ragassay.models.tuned import with_base_model
from ragassay.prompts import RUBRIC_SETS, Rubric, load_rubrics
from ragassay.records import Evaluation, Rejection, Score
from ragassay.records.base import Frozen
from ragassay.runs.compare import write_files
from ragassay.runs.folder import RunFolder, append_line, read_lines
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import bounded_job
from ragassay.settings import Settings
from ragassay.store import hash_of
from ragassay.studies.rationale_tables import (
    RULES,
    labelling_csv,
    rationales_csv,
    rationales_markdown,
    reasons_csv,
)

OTHERS_RUBRICS = (
    "what is recited is measured against ragassay's rubrics; the judges of a file may have read "
    "others: give their texts with --rubric-text"
)


@dataclass(frozen=True)
class InputReasons:
    """The reasons to audit, the known rubrics, and their texts as the judge read them.

    `note` says what to know of the texts; `n_without` ratings have no reason and are left out.
    """

    reasons: tuple[JudgedReason, ...]
    rubrics: Mapping[str, Rubric]
    texts: Mapping[str, str]
    note: str = ""
    n_without: int = 0
    rejections: tuple[Rejection, ...] = ()


def read_reasons(path: Path, limit: int | None = None, texts: Path | None = None) -> InputReasons:
    """Read the reasons of a run, or of a file whose ratings come with reasons.

    Args:
        path: A run folder, or answers with judges' ratings, as YESciEval's.
        limit: Only the first so many answers; None for all.
        texts: YAML or JSON with the rubrics as the judge read them, where they are not ours.

    Raises:
        InputError: A file cannot be read, or there is no reason.
    """
    read = _of_run if path.is_dir() else _of_file
    found = read(path, limit)
    if not found.reasons:
        raise InputError(f"{path} has no reason for a rating on a rubric")
    return replace(found, texts=read_rubric_texts(texts), note="") if texts else found


def read_rubric_texts(path: Path) -> dict[str, str]:
    """Read a YAML file of a text for each rubric's name; names come back in lower case.

    Raises:
        InputError: The file cannot be read, or has no such mapping.
    """
    import yaml

    try:
        read = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(read, dict) or not read:
        raise InputError(f"{path}: a text for each name of a rubric is expected")
    return {str(name).lower(): str(text) for name, text in read.items()}


def _of_run(path: Path, limit: int | None) -> InputReasons:
    folder = RunFolder(path)
    manifest = folder.manifest()
    rubric_set = manifest.settings.get("rubric_set")
    known = load_rubrics(next((s for s in RUBRIC_SETS if s == rubric_set), "yescieval"))
    found = [one for e in folder.evaluations()[:limit] for one in _of_evaluation(e, manifest.judge)]
    return _collect_reasons(found, known)


def _collect_reasons(found: Sequence[JudgedReason], rubrics: Mapping[str, Rubric]) -> InputReasons:
    reasons = tuple(one for one in found if one.reason.strip())
    texts = {name: rubric.render() for name, rubric in rubrics.items()}
    return InputReasons(reasons, rubrics, texts, n_without=len(found) - len(reasons))


def _of_evaluation(evaluation: Evaluation, judge: str) -> Iterator[JudgedReason]:
    for judgment in evaluation.judgments:
        for one in judgment.members or (judgment,):
            if one.rating is None:
                continue
            who = one.judge or judge
            yield JudgedReason(
                id=f"{evaluation.record_id}|{judgment.rubric}|{who}",
                record_id=evaluation.record_id,
                topic=question_of(evaluation),
                question=evaluation.question,
                answer=evaluation.answer,
                sources=evaluation.sources,
                rubric=judgment.rubric,
                judge=who,
                rating=one.rating,
                scale=one.scale,
                reason=one.rationale,
            )


def _of_file(path: Path, limit: int | None) -> InputReasons:
    result, rated = read_records(path), read_labels(path)
    records = {record.id: record for record in result.records[:limit]}
    name = next((s for s in RUBRIC_SETS if rated.format.startswith(s)), "yescieval")
    known = load_rubrics(name)
    found: list[JudgedReason] = []
    for label in rated.labels:
        record = records.get(label.record_id or "")
        if label.task != "rubric" or record is None or label.item not in known:
            continue
        text = record.answer
        found.append(
            JudgedReason(
                id=f"{record.id}|{label.item}|{label.annotator}",
                record_id=record.id,
                topic=record.topic or record.question,
                question=record.question,
                answer=text if isinstance(text, str) else " ".join(s.text for s in text),
                sources=record.sources,
                rubric=label.item,
                judge=label.annotator,
                rating=int(label.label),
                scale=known[label.item].bounds,
                reason=label.reason,
            )
        )
    return replace(
        _collect_reasons(found, known), note=OTHERS_RUBRICS, rejections=tuple(rated.rejections)
    )


CHECKED = "checked.jsonl"
"""The file of a model's labels in the folder: what stands there is not asked for again."""

PEOPLE = "people"
"""Who labelled a sheet."""

LABELS: Mapping[str, bool | None] = {"yes": True, "no": False, "": None}
"""What a cell of a sheet may say."""


class KeptLabels(Frozen):
    """A model's labels of one reason, as a line of our file."""

    key: str
    labels: dict[str, bool | None]
    quotes: dict[str, str]


@dataclass(frozen=True)
class ReasonAudit:
    """Reasons with what was found in them.

    Attributes:
        measures: What rules found, by the reason's id.
        labels: By who gave them and the reason's id.
        quotes: A model's quotes, by the reason's id and the criterion.
        rubrics: The figures: of all reasons, then of each rubric's.
        agreement: Share of reasons on which people and the model agree, by criterion; empty
            without both.
        n_failed: Reasons that the model could not check.
    """

    inputs: InputReasons
    measures: Mapping[str, ReasonMeasures]
    labels: Mapping[str, Labels]
    quotes: Mapping[str, Mapping[str, str]]
    rubrics: tuple[RubricReasons, ...]
    agreement: Mapping[str, Score]
    n_failed: int = 0

    def to_json(self) -> str:
        """Return the figures."""
        figures = [
            {
                "rubric": one.rubric or "all",
                **{name: getattr(one, name).model_dump() for name in RULES},
                "labels": {who: _dump_scores(by) for who, by in one.labels.items()},
            }
            for one in self.rubrics
        ]
        told = {
            "n_reasons": len(self.inputs.reasons),
            "n_without_reason": self.inputs.n_without,
            "n_failed": self.n_failed,
            "rubrics": figures,
            "agreement": _dump_scores(self.agreement),
        }
        return json.dumps(told)


def _dump_scores(scores: Mapping[str, Score]) -> dict[str, object]:
    return {name: score.model_dump() for name, score in scores.items()}


async def audit_reasons(
    inputs: InputReasons,
    settings: Settings | None = None,
    folder: Path | None = None,
    sheet: Path | None = None,
    *,
    listen: Listener = lambda event: None,
) -> ReasonAudit:
    """Measure the reasons by rule, have a model label them, and read people's labels.

    The settings name the model, if any. Its labels are kept in the folder, and only failed calls
    made again. The sheet is one that people filled in (`labelling_csv`).

    Raises:
        FatalModelError: The model is unavailable; its earlier labels are kept.
        InputError: The sheet cannot be read.
    """
    measures = await asyncio.to_thread(measure_reasons, inputs.reasons, inputs.texts)
    labels: dict[str, Labels] = {}
    quotes: dict[str, Mapping[str, str]] = {}
    n_failed = 0
    if settings is not None:
        kept = await _check_reasons(inputs, with_base_model(settings), folder, listen)
        labels[settings.judge.model] = {name: one.labels for name, one in kept.items()}
        quotes = {name: one.quotes for name, one in kept.items()}
        n_failed = sum(not one.labels for one in kept.values())
    if sheet is not None:
        labels[PEOPLE] = read_sheet(sheet, inputs.reasons)
    both = settings is not None and sheet is not None
    return ReasonAudit(
        inputs=inputs,
        measures=measures,
        labels=labels,
        quotes=quotes,
        rubrics=rubric_reasons(inputs.reasons, measures, labels),
        agreement=label_agreement(inputs.reasons, *labels.values()) if both else {},
        n_failed=n_failed,
    )


async def _check_reasons(
    inputs: InputReasons, settings: Settings, folder: Path | None, listen: Listener
) -> dict[str, KeptLabels]:
    """Return a model's labels by the reasons' ids; without labels where the call failed."""
    tools = ReasonTools(JudgeLM(settings), inputs.rubrics, settings.source_chars)
    about = (settings.judge.model, tools.auditor.predict.signature.instructions)  # type: ignore[attr-defined]
    keys = {one.id: hash_of(*about, *_parts(one)) for one in inputs.reasons}
    file = folder / CHECKED if folder else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    known = {one.key: one for one in read_lines(file, KeptLabels)} if file else {}
    waiting = tuple(one for one in inputs.reasons if keys[one.id] not in known)
    listen(Event(n_expected=len(waiting), n_records=len(inputs.reasons) - len(waiting)))
    limiter = RunLimiter.of(settings)
    if waiting:
        graph: Any = build_reason_graph(settings.judge.max_attempts)
        at_once = {"max_concurrency": settings.n_slots}
        with bounded_job(file, limiter) if file else limit_calls(limiter):
            stream = graph.astream(Items(waiting), at_once, context=tools, stream_mode="custom")
            async for chunk in stream:
                found, key = chunk["result"].found, keys[chunk["result"].id]
                if found is None:
                    known[key] = KeptLabels(key=key, labels={}, quotes={})
                    listen(Event(n_calls=1, n_records=1))
                    continue
                known[key] = KeptLabels(
                    key=key, labels=dict(found.labels), quotes=dict(found.quotes)
                )
                if file:
                    append_line(file, known[key])
                listen(Event(n_calls=1, n_records=1, usage=found.usage))
    return {one.id: known[keys[one.id]] for one in inputs.reasons}


def _parts(one: JudgedReason) -> tuple[str, ...]:
    texts = (one.question, one.answer, one.rubric, str(one.rating), one.reason)
    return (*texts, *(source.model_dump_json() for source in one.sources))


def read_sheet(path: Path, reasons: Sequence[JudgedReason]) -> Labels:
    """Read the labels that people put into a sheet; a row that nobody filled in has none.

    Raises:
        InputError: The file cannot be read, has no labels of these reasons, or a cell says
            something else than yes and no.
    """
    try:
        rows = list(csv.DictReader(io.StringIO(read_small(path).decode("utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    known = {one.id for one in reasons}
    found: dict[str, dict[str, bool | None]] = {}
    for line, row in enumerate(rows, 2):
        cells = {name: (row.get(name) or "").strip().lower() for name in CRITERIA}
        unknown = [name for name, text in cells.items() if text not in LABELS]
        if unknown:
            raise InputError(
                f"{path}, row {line}: {unknown[0]} is {cells[unknown[0]]!r}: write yes or no"
            )
        if any(cells.values()) and row.get("id") in known:
            found[str(row["id"])] = {name: LABELS[text] for name, text in cells.items()}
    if not found:
        raise InputError(f"{path} has no label of these reasons: fill in yes or no")
    return found


def write_reason_audit(audit: ReasonAudit, out: Path) -> tuple[Path, ...]:
    """Write rationales.csv, reasons.csv, rationales.md, and sheet.csv for people to fill in.

    Raises:
        InputError: The folder cannot be created.
    """
    reasons = audit.inputs.reasons
    texts = {
        "rationales.csv": rationales_csv(audit.rubrics),
        "reasons.csv": reasons_csv(reasons, audit.measures, audit.labels, audit.quotes),
        "rationales.md": rationales_markdown(audit.rubrics, audit.agreement),
    }
    # A sheet that people have begun to fill in stays.
    if not (out / "sheet.csv").exists():
        texts["sheet.csv"] = labelling_csv(reasons)
    return write_files(out, texts)
