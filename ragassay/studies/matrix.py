"""Compare judges with systems: each rates each (YESciEval, figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix, question_of
from ragassay.records import Evaluation, HumanLabel, Rejection
from ragassay.reports.sheets import sheet_csv
from ragassay.runs.folder import RunFolder
from ragassay.studies.matrix_tables import (
    favourite_sheet,
    favourite_text,
    records_where,
    self_preference_csv,
    self_preference_text,
    write_matrices,
)
from ragassay.studies.ratings import (
    Favourite,
    Rating,
    SelfPreference,
    favourites,
    own_systems,
    rating_matrix,
    rating_table,
    self_preferences,
)

ALL = "all"
"""Requests a matrix of every rubric."""

LABEL_SCALE = (1.0, 5.0)
"""The scale of ratings in a file of labels, which does not state it."""

UNNAMED = "unnamed judge"


@dataclass(frozen=True)
class JudgeMatrix:
    """The ratings of systems by judges.

    The first matrix is over all rubrics, then one for each requested rubric; each judge has a
    favourite, and a self-preference where it is also a system. Warnings say what the runs lack.
    """

    matrices: tuple[Matrix, ...]
    favourites: tuple[Favourite, ...]
    self_preferences: tuple[SelfPreference, ...]
    warnings: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def judge_matrix(
    runs: Sequence[str | Path] = (),
    ratings: str | Path | None = None,
    *,
    answers: str | Path | None = None,
    where: Sequence[str] = (),
    same: Sequence[str] = (),
    rubrics: Sequence[str] = (),
) -> JudgeMatrix:
    """Compare the ratings of several judges.

    Args:
        runs: Run folders, each of one judge or of a panel, whose members then count as judges with
            their ratings before they read each other's. An answer without a system's name is
            counted under its file's name. A judgment's rating is its score: the expectation over
            the rating tokens where the model returned them.
        ratings: A file of labels on rubrics; each annotator is a judge.
        answers: The file of the answers, for `where`; by default that of the ratings.
        where: Only answers with these values, as `records_where` takes them.
        same: "JUDGE=SYSTEM", for judges that are a system under another name.
        rubrics: Rubrics to show one by one, or "all".

    Raises:
        InputError: Nothing is given, something cannot be read, a judge rated an answer twice, or
            there are fewer than two systems.
    """
    found, rejections, warnings = _from_runs(runs)
    if ratings is not None:
        labelled, rejected = _from_labels(Path(ratings))
        found, rejections = [*found, *labelled], (*rejections, *rejected)
    if where:
        about = answers or ratings
        if about is None:
            raise InputError("--where needs the file of the answers: give --answers")
        found = _choose_ratings(found, Path(about), where)
    _check(found)
    judges = list(dict.fromkeys(r.judge for r in found))
    systems = list(dict.fromkeys(r.system for r in found))
    own = own_systems(judges, systems, [_pair(text) for text in same])
    # Judges in the order of their own systems, so that a matrix has a diagonal.
    place = {j: systems.index(own[j][0]) if j in own else len(systems) for j in judges}
    found.sort(key=lambda r: place[r.judge])
    known = sorted({r.rubric for r in found})
    table = rating_table(found)
    return JudgeMatrix(
        matrices=tuple(rating_matrix(found, r, own) for r in (None, *_rubrics(rubrics, known))),
        favourites=favourites(table),
        self_preferences=self_preferences(table, own),
        warnings=warnings,
        rejections=rejections,
    )


def write_judge_matrix(found: JudgeMatrix, out: Path) -> tuple[Path, ...]:
    """Write the matrices and the tables derived from them.

    Returns:
        matrix.csv, matrix.tex, self_preference.csv, favourites.csv, index.html, and a heatmap
        (SVG) for each matrix.

    Raises:
        InputError: The folder cannot be created.
    """
    lines = [
        *map(favourite_text, found.favourites),
        *map(self_preference_text, found.self_preferences),
        *found.warnings,
    ]
    others = {
        "favourites.csv": sheet_csv(favourite_sheet(found.favourites)),
        "self_preference.csv": self_preference_csv(found.self_preferences),
    }
    title = "How judges rate systems"
    return write_matrices(found.matrices, "matrix", title, lines, out, others)


def _from_runs(
    runs: Sequence[str | Path],
) -> tuple[list[Rating], tuple[Rejection, ...], tuple[str, ...]]:
    found: list[Rating] = []
    rejections: list[Rejection] = []
    warnings: list[str] = []
    for path in map(Path, runs):
        folder = RunFolder(path)
        manifest, failures = folder.manifest(), folder.failures()
        name = manifest.answers.name.split(".")[0]
        for evaluation in folder.evaluations():
            found += _read_ratings(evaluation, manifest.judge, name)
        rejections += folder.rejections()
        if folder.summary() is None:
            warnings.append(f"{path} is not finished: what is missing counts as unscored")
        if failures:
            warnings.append(f"{path}: answers that could not be evaluated: {len(failures)}")
    return found, tuple(rejections), tuple(warnings)


def _read_ratings(evaluation: Evaluation, judge: str, name: str) -> Iterator[Rating]:
    for judgment in evaluation.judgments:
        for member in judgment.members or (judgment,):
            first = member.first or member
            low, high = first.scale
            yield Rating(
                judge=member.judge or judge,
                system=evaluation.system or name,
                question=question_of(evaluation),
                answer=evaluation.record_id,
                rubric=judgment.rubric,
                value=first.score,
                scale=(float(low), float(high)),
            )


def _from_labels(path: Path) -> tuple[list[Rating], tuple[Rejection, ...]]:
    from ragassay.formats import read_labels

    result = read_labels(path)
    rubrics = [label for label in result.labels if label.task == "rubric"]
    if not rubrics:
        raise InputError(f"{path} has no rating on a rubric")
    return [_read_label_rating(label, path) for label in rubrics], result.rejections


def _read_label_rating(label: HumanLabel, path: Path) -> Rating:
    if label.system is None:
        raise InputError(f"{path}: a label on {label.record_id!r} names no system")
    value, (low, high) = float(label.label), LABEL_SCALE
    if not low <= value <= high:
        raise InputError(f"{path}: the rating {label.label} is not between {low:g} and {high:g}")
    return Rating(
        judge=label.annotator or UNNAMED,
        system=label.system,
        question=label.topic or label.record_id or "",
        answer=label.record_id or f"{label.topic}/{label.system}",
        rubric=label.item,
        value=value,
    )


def _choose_ratings(ratings: Sequence[Rating], answers: Path, where: Sequence[str]) -> list[Rating]:
    from ragassay.formats import read_records

    records = records_where(read_records(answers).records, where)
    kept = {record.id for record in records}
    chosen = [rating for rating in ratings if rating.answer in kept]
    if not chosen:
        raise InputError(f"no rating is about an answer of {answers} with {' and '.join(where)}")
    return chosen


def _check(ratings: Sequence[Rating]) -> None:
    if not ratings:
        raise InputError("there is no rating: give run folders with rubrics, or --ratings FILE")
    systems = list(dict.fromkeys(r.system for r in ratings))
    if len(systems) < 2:
        raise InputError(f"only {systems[0]!r} was rated: a matrix needs two systems at least")
    seen: set[tuple[str, str, str, str]] = set()
    for r in ratings:
        key = r.judge, r.system, r.answer, r.rubric
        if key in seen:
            raise InputError(
                f"the judge {r.judge!r} rated {r.answer!r} by {r.system!r} on {r.rubric} twice: "
                "give one run of each judge and answer"
            )
        seen.add(key)


def _pair(text: str) -> tuple[str, str]:
    judge, found, system = text.partition("=")
    if not found:
        raise InputError(f"--same {text}: write it as JUDGE=SYSTEM")
    return judge, system


def _rubrics(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    unknown = [name for name in wanted if name not in known and name != ALL]
    if unknown:
        raise InputError(f"no rating is on the rubric {unknown[0]!r}; there are {', '.join(known)}")
    return list(known) if ALL in wanted else list(dict.fromkeys(wanted))
