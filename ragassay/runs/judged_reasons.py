"""Read judges' reasons for their ratings: of a run, or of a file that has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats import read_labels, read_records
from ragassay.metrics.aggregates import question_of
from ragassay.metrics.rationales import JudgedReason
from ragassay.prompts import RUBRIC_SETS, Rubric, load_rubrics
from ragassay.records import Evaluation, Rejection
from ragassay.runs.folder import RunFolder
from ragassay.small_files import read_yaml

OTHERS_RUBRICS = (
    "what is recited is measured against ragassay's rubrics; the judges of a file may have read "
    "others: give their texts with --rubric-text"
)


@dataclass(frozen=True)
class GivenReasons:
    """The reasons to audit.

    Attributes:
        reasons: Each with words.
        rubrics: The rubrics that are known, by name.
        texts: The rubrics' texts as the judge read them, as far as is known.
        note: What to know of these texts; empty for nothing.
        n_without: Ratings without a reason, which are left out.
        rejections: Lines that could not be read.
    """

    reasons: tuple[JudgedReason, ...]
    rubrics: Mapping[str, Rubric]
    texts: Mapping[str, str]
    note: str = ""
    n_without: int = 0
    rejections: tuple[Rejection, ...] = ()


def read_reasons(path: Path, limit: int | None = None, texts: Path | None = None) -> GivenReasons:
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
    return replace(found, texts=_rubric_texts(texts), note="") if texts else found


def _rubric_texts(path: Path) -> dict[str, str]:
    import yaml

    try:
        read = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(read, dict) or not read:
        raise InputError(f"{path}: a text for each name of a rubric is expected")
    return {str(name).lower(): str(text) for name, text in read.items()}


def _of_run(path: Path, limit: int | None) -> GivenReasons:
    folder = RunFolder(path)
    manifest = folder.manifest()
    rubric_set = manifest.settings.get("rubric_set")
    known = load_rubrics(next((s for s in RUBRIC_SETS if s == rubric_set), "yescieval"))
    found = [one for e in folder.evaluations()[:limit] for one in _of_evaluation(e, manifest.judge)]
    reasons = tuple(one for one in found if one.reason.strip())
    return GivenReasons(reasons, known, _texts(known), n_without=len(found) - len(reasons))


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


def _of_file(path: Path, limit: int | None) -> GivenReasons:
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
    reasons = tuple(one for one in found if one.reason.strip())
    return GivenReasons(
        *(reasons, known, _texts(known), OTHERS_RUBRICS),
        n_without=len(found) - len(reasons),
        rejections=tuple(rated.rejections),
    )


def _texts(rubrics: Mapping[str, Rubric]) -> dict[str, str]:
    return {name: rubric.rendered() for name, rubric in rubrics.items()}
