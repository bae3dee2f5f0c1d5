"""Audit a judge's reasons with rules, model labels and human labels (YESciEval, appendix C)."""

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
from ragassay.graphs.each import Items, ReasonRun, build_reason_graph
from ragassay.metrics.papers.rationales import (
    CRITERIA,
    JudgedReason,
    Labels,
    ReasonMeasures,
    RubricReasons,
    measure_label_agreement,
    measure_reasons,
    summarize_reasons,
)
from ragassay.metrics.stats.aggregates import identify_question
from ragassay.models.gateway import JudgeLM
from ragassay.models.limiter import RunLimiter, limit_calls
from ragassay.models.tuned import use_base_model
from ragassay.prompts import RUBRIC_SETS, Rubric, load_rubrics
from ragassay.records import Evaluation, Rejection, Score
from ragassay.records.base import Frozen
from ragassay.runs.compare import write_files
from ragassay.runs.folder import RunFolder, append_line, read_lines
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import limit_job
from ragassay.settings import Settings
from ragassay.store import hash_parts
from ragassay.studies.rationale_tables import (
    RULES,
    render_labelling_csv,
    render_rationales_csv,
    render_rationales_markdown,
    render_reasons_csv,
)

OTHERS_RUBRICS = (
    "recitation is measured with ragassay's rubrics; if the judges used other rubrics, pass their "
    "texts with --rubric-text"
)


@dataclass(frozen=True)
class InputReasons:
    """Reasons to audit."""

    reasons: tuple[JudgedReason, ...]
    rubrics: Mapping[str, Rubric]
    texts: Mapping[str, str]
    note: str = ""
    n_without: int = 0
    rejections: tuple[Rejection, ...] = ()


def read_reasons(path: Path, limit: int | None = None, texts: Path | None = None) -> InputReasons:
    """Read the reasons in a run, or in a file with ratings and reasons.

    Args:
        path: Run folder, or file of answers with ratings by judges, such as YESciEval's.
        texts: YAML or JSON file with the rubric texts that the judge read, if they are not
            ragassay's.

    Raises:
        InputError: If a file cannot be read or there are no reasons.
    """
    inputs = (_read_run if path.is_dir() else _read_file)(path, limit)
    if not inputs.reasons:
        raise InputError(f"{path} contains no reasons for rubric ratings")
    return replace(inputs, texts=read_rubric_texts(texts), note="") if texts else inputs


def read_rubric_texts(path: Path) -> dict[str, str]:
    """Read rubric texts from a YAML file, and convert the names to lower case.

    Raises:
        InputError: If the file cannot be read, or does not contain a mapping with at least one
            entry.
    """
    import yaml

    try:
        texts = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(texts, dict) or not texts:
        raise InputError(f"{path} must contain a mapping of rubric names to texts")
    return {str(name).lower(): str(text) for name, text in texts.items()}


def _read_run(path: Path, limit: int | None) -> InputReasons:
    folder = RunFolder(path)
    manifest = folder.read_manifest()
    rubric_set = manifest.settings.get("rubric_set")
    known = load_rubrics(next((s for s in RUBRIC_SETS if s == rubric_set), "yescieval"))
    evaluations = folder.read_evaluations()[:limit]
    rated = [one for e in evaluations for one in _read_reasons(e, manifest.judge)]
    return _collect_reasons(rated, known)


def _collect_reasons(rated: Sequence[JudgedReason], rubrics: Mapping[str, Rubric]) -> InputReasons:
    reasons = tuple(one for one in rated if one.reason.strip())
    texts = {name: rubric.render() for name, rubric in rubrics.items()}
    return InputReasons(reasons, rubrics, texts, n_without=len(rated) - len(reasons))


def _read_reasons(evaluation: Evaluation, judge: str) -> Iterator[JudgedReason]:
    for judgment in evaluation.judgments:
        for one in judgment.members or (judgment,):
            if one.rating is None:
                continue
            rater = one.judge or judge
            yield JudgedReason(
                id=f"{evaluation.record_id}|{judgment.rubric}|{rater}",
                record_id=evaluation.record_id,
                topic=identify_question(evaluation),
                question=evaluation.question,
                answer=evaluation.answer,
                sources=evaluation.sources,
                rubric=judgment.rubric,
                judge=rater,
                rating=one.rating,
                scale=one.scale,
                reason=one.rationale,
            )


def _read_file(path: Path, limit: int | None) -> InputReasons:
    result, rated = read_records(path), read_labels(path)
    records = {record.id: record for record in result.records[:limit]}
    name = next((s for s in RUBRIC_SETS if rated.format.startswith(s)), "yescieval")
    known = load_rubrics(name)
    reasons: list[JudgedReason] = []
    for label in rated.labels:
        record = records.get(label.record_id or "")
        if label.task != "rubric" or record is None or label.item not in known:
            continue
        text = record.answer
        reasons.append(
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
        _collect_reasons(reasons, known), note=OTHERS_RUBRICS, rejections=tuple(rated.rejections)
    )


CHECKED = "checked.jsonl"
"""File in which a model's labels are stored, so that later audits can reuse them."""

PEOPLE = "people"
"""Name of the human labelers in tables and files."""

LABELS: Mapping[str, bool | None] = {"yes": True, "no": False, "": None}


class KeptLabels(Frozen):
    """A model's labels of one reason, as stored in a line of `CHECKED`."""

    key: str
    labels: dict[str, bool | None]
    quotes: dict[str, str]


@dataclass(frozen=True)
class ReasonAudit:
    """Results of an audit of reasons.

    Attributes:
        agreement: Share of reasons on which humans and the model agree, keyed by criterion. The
            mapping is empty if humans or the model assigned no labels.
    """

    inputs: InputReasons
    measures: Mapping[str, ReasonMeasures]
    labels: Mapping[str, Labels]
    quotes: Mapping[str, Mapping[str, str]]
    rubrics: tuple[RubricReasons, ...]
    agreement: Mapping[str, Score]
    n_failed: int = 0

    def to_json(self) -> str:
        """Return the aggregate measures as JSON."""
        rubrics = [
            {
                "rubric": one.rubric or "all",
                **{name: getattr(one, name).model_dump() for name in RULES},
                "labels": {labeller: _dump_scores(own) for labeller, own in one.labels.items()},
            }
            for one in self.rubrics
        ]
        return json.dumps(
            {
                "n_reasons": len(self.inputs.reasons),
                "n_without_reason": self.inputs.n_without,
                "n_failed": self.n_failed,
                "rubrics": rubrics,
                "agreement": _dump_scores(self.agreement),
            }
        )


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
    """Audit reasons with rules and, if available, with labels by a model and by humans.

    Args:
        folder: Folder in which the model's labels are stored, so that later audits can reuse them.
        sheet: Sheet that `render_labelling_csv` created, with human labels.

    Raises:
        FatalModelError: If the model is unavailable. Labels received so far remain in the folder.
        InputError: If the sheet cannot be read.
    """
    measures = await asyncio.to_thread(measure_reasons, inputs.reasons, inputs.texts)
    labels: dict[str, Labels] = {}
    quotes: dict[str, Mapping[str, str]] = {}
    n_failed = 0
    if settings is not None:
        labelled = await _label_reasons(inputs, use_base_model(settings), folder, listen)
        labels[settings.judge.model] = {name: one.labels for name, one in labelled.items()}
        quotes = {name: one.quotes for name, one in labelled.items()}
        n_failed = sum(not one.labels for one in labelled.values())
    if sheet is not None:
        labels[PEOPLE] = read_sheet(sheet, inputs.reasons)
    both = settings is not None and sheet is not None
    return ReasonAudit(
        inputs=inputs,
        measures=measures,
        labels=labels,
        quotes=quotes,
        rubrics=summarize_reasons(inputs.reasons, measures, labels),
        agreement=measure_label_agreement(inputs.reasons, *labels.values()) if both else {},
        n_failed=n_failed,
    )


async def _label_reasons(
    inputs: InputReasons, settings: Settings, folder: Path | None, listen: Listener
) -> dict[str, KeptLabels]:
    """Return a model's labels, keyed by reason id. After a failure, a reason has no labels."""
    run = ReasonRun(JudgeLM(settings), inputs.rubrics, settings.source_chars)
    model = (settings.judge.model, run.auditor.predict.signature.instructions)  # type: ignore[attr-defined]
    keys = {one.id: hash_parts(*model, *_list_key_parts(one)) for one in inputs.reasons}
    file = folder / CHECKED if folder else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    known = {one.key: one for one in read_lines(file, KeptLabels)} if file else {}
    missing = tuple(one for one in inputs.reasons if keys[one.id] not in known)
    listen(Event(n_expected=len(missing), n_records=len(inputs.reasons) - len(missing)))
    limiter = RunLimiter.from_settings(settings)
    if missing:
        graph: Any = build_reason_graph(settings.judge.max_attempts)
        config = {"max_concurrency": settings.n_slots}
        with limit_job(file, limiter) if file else limit_calls(limiter):
            stream = graph.astream(Items(missing), config, context=run, stream_mode="custom")
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


def _list_key_parts(one: JudgedReason) -> tuple[str, ...]:
    texts = (one.question, one.answer, one.rubric, str(one.rating), one.reason)
    return (*texts, *(source.model_dump_json() for source in one.sources))


def read_sheet(path: Path, reasons: Sequence[JudgedReason]) -> Labels:
    """Read human labels from a sheet. Rows without labels are skipped.

    Raises:
        InputError: If the file cannot be read, contains no labels for these reasons, or has a label
            other than yes and no.
    """
    try:
        rows = list(csv.DictReader(io.StringIO(read_small(path).decode("utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    known = {one.id for one in reasons}
    labels: dict[str, dict[str, bool | None]] = {}
    for line, row in enumerate(rows, 2):
        cells = {name: (row.get(name) or "").strip().lower() for name in CRITERIA}
        unknown = [name for name, text in cells.items() if text not in LABELS]
        if unknown:
            raise InputError(
                f"{path}, row {line}: {unknown[0]} is {cells[unknown[0]]!r}; use yes or no"
            )
        if any(cells.values()) and row.get("id") in known:
            labels[str(row["id"])] = {name: LABELS[text] for name, text in cells.items()}
    if not labels:
        raise InputError(f"{path} contains no labels for these reasons; fill in yes or no")
    return labels


def write_reason_audit(audit: ReasonAudit, out: Path) -> tuple[Path, ...]:
    """Write rationales.csv, reasons.csv, rationales.md, and sheet.csv for human labels.

    An existing sheet.csv is not overwritten.

    Raises:
        InputError: If the folder cannot be created.
    """
    reasons = audit.inputs.reasons
    texts = {
        "rationales.csv": render_rationales_csv(audit.rubrics),
        "reasons.csv": render_reasons_csv(reasons, audit.measures, audit.labels, audit.quotes),
        "rationales.md": render_rationales_markdown(audit.rubrics, audit.agreement),
    }
    if not (out / "sheet.csv").exists():
        texts["sheet.csv"] = render_labelling_csv(reasons)
    return write_files(out, texts)
