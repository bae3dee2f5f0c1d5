"""Compare ratings of systems by several judges (YESciEval, figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix, identify_question
from ragassay.records import Evaluation, HumanLabel, Rejection
from ragassay.reports.sheets import render_sheet_csv
from ragassay.runs.folder import RunFolder
from ragassay.studies.matrix_tables import (
    build_favourite_sheet,
    describe_favourite,
    describe_self_preference,
    render_self_preference_csv,
    select_records,
    write_matrices,
)
from ragassay.studies.ratings import (
    Favourite,
    Rating,
    SelfPreference,
    build_rating_matrix,
    build_rating_table,
    find_favourites,
    find_own_systems,
    measure_self_preferences,
)

ALL = "all"
"""Value of `rubrics` that stands for all rubrics."""

LABEL_SCALE = (1.0, 5.0)
"""Scale of the ratings in label files, which do not state a scale."""

UNNAMED = "unnamed judge"


@dataclass(frozen=True)
class JudgeMatrix:
    """Mean ratings that judges gave to systems, and biases of the judges.

    Attributes:
        matrices: Matrix over all rubrics, followed by a matrix for each requested rubric.
    """

    matrices: tuple[Matrix, ...]
    favourites: tuple[Favourite, ...]
    self_preferences: tuple[SelfPreference, ...]
    warnings: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def compare_judges(
    runs: Sequence[str | Path] = (),
    ratings: str | Path | None = None,
    *,
    answers: str | Path | None = None,
    where: Sequence[str] = (),
    same: Sequence[str] = (),
    rubrics: Sequence[str] = (),
) -> JudgeMatrix:
    """Compare the ratings that several judges gave to systems.

    Args:
        runs: Run folders. Panel members count as separate judges, with their ratings from before
            they read other members' ratings. Answers without a system are listed under the name of
            their file. The ratings are the scores of judgments, which can be expected values.
        ratings: Label file with ratings on rubrics, in which each annotator counts as a judge.
        answers: File with the answers, which `where` requires. Defaults to `ratings`.
        same: Judges that are also systems, but under another name, as "JUDGE=SYSTEM".
        rubrics: Rubrics for which a separate matrix is computed, or "all".

    Raises:
        InputError: If there are no ratings, a file cannot be read, a judge rated an answer twice,
            or there are fewer than two systems.
    """
    all_ratings, rejections, warnings = _from_runs(runs)
    if ratings is not None:
        labelled, rejected = _from_labels(Path(ratings))
        all_ratings, rejections = [*all_ratings, *labelled], (*rejections, *rejected)
    if where:
        file = answers or ratings
        if file is None:
            raise InputError("--where requires the file with the answers; pass --answers FILE")
        all_ratings = _select_ratings(all_ratings, Path(file), where)
    _check(all_ratings)
    judges = list(dict.fromkeys(r.judge for r in all_ratings))
    systems = list(dict.fromkeys(r.system for r in all_ratings))
    own = find_own_systems(judges, systems, [_parse_pair(text) for text in same])
    # Order judges like their own systems, so that the matrix has a diagonal.
    rank = {j: systems.index(own[j][0]) if j in own else len(systems) for j in judges}
    all_ratings.sort(key=lambda r: rank[r.judge])
    known = sorted({r.rubric for r in all_ratings})
    table = build_rating_table(all_ratings)
    shown = (None, *_select_rubrics(rubrics, known))
    return JudgeMatrix(
        matrices=tuple(build_rating_matrix(all_ratings, rubric, own) for rubric in shown),
        favourites=find_favourites(table),
        self_preferences=measure_self_preferences(table, own),
        warnings=warnings,
        rejections=rejections,
    )


def write_judge_matrix(found: JudgeMatrix, out: Path) -> tuple[Path, ...]:
    """Write matrix.csv, matrix.tex, index.html, other tables, and SVG heatmaps.

    Raises:
        InputError: If the folder cannot be created.
    """
    lines = [
        *map(describe_favourite, found.favourites),
        *map(describe_self_preference, found.self_preferences),
        *found.warnings,
    ]
    others = {
        "favourites.csv": render_sheet_csv(build_favourite_sheet(found.favourites)),
        "self_preference.csv": render_self_preference_csv(found.self_preferences),
    }
    title = "Ratings of systems by judges"
    return write_matrices(found.matrices, "matrix", title, lines, out, others)


def _from_runs(
    runs: Sequence[str | Path],
) -> tuple[list[Rating], tuple[Rejection, ...], tuple[str, ...]]:
    ratings: list[Rating] = []
    rejections: list[Rejection] = []
    warnings: list[str] = []
    for path in map(Path, runs):
        folder = RunFolder(path)
        manifest, failures = folder.read_manifest(), folder.read_failures()
        name = manifest.answers.name.split(".")[0]
        for evaluation in folder.read_evaluations():
            ratings += _read_ratings(evaluation, manifest.judge, name)
        rejections += folder.read_rejections()
        if folder.read_summary() is None:
            warnings.append(f"{path} is not finished; missing ratings count as unscored")
        if failures:
            warnings.append(f"{path}: answers that could not be evaluated: {len(failures)}")
    return ratings, tuple(rejections), tuple(warnings)


def _read_ratings(evaluation: Evaluation, judge: str, name: str) -> Iterator[Rating]:
    for judgment in evaluation.judgments:
        for member in judgment.members or (judgment,):
            first = member.first or member
            low, high = first.scale
            yield Rating(
                judge=member.judge or judge,
                system=evaluation.system or name,
                question=identify_question(evaluation),
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
        raise InputError(f"{path} contains no rubric ratings")
    return [_read_label_rating(label, path) for label in rubrics], result.rejections


def _read_label_rating(label: HumanLabel, path: Path) -> Rating:
    if label.system is None:
        raise InputError(f"{path}: a label for {label.record_id!r} has no system")
    value, (low, high) = float(label.label), LABEL_SCALE
    if not low <= value <= high:
        raise InputError(f"{path}: rating {label.label} is not between {low:g} and {high:g}")
    return Rating(
        judge=label.annotator or UNNAMED,
        system=label.system,
        question=label.topic or label.record_id or "",
        answer=label.record_id or f"{label.topic}/{label.system}",
        rubric=label.item,
        value=value,
    )


def _select_ratings(ratings: Sequence[Rating], answers: Path, where: Sequence[str]) -> list[Rating]:
    from ragassay.formats import read_records

    ids = {record.id for record in select_records(read_records(answers).records, where)}
    selected = [rating for rating in ratings if rating.answer in ids]
    if not selected:
        raise InputError(f"{answers} has no rated answers with {' and '.join(where)}")
    return selected


def _check(ratings: Sequence[Rating]) -> None:
    if not ratings:
        raise InputError("there are no ratings; pass run folders with rubrics, or --ratings FILE")
    systems = list(dict.fromkeys(r.system for r in ratings))
    if len(systems) < 2:
        raise InputError(f"only {systems[0]!r} was rated; a matrix requires at least two systems")
    seen: set[tuple[str, str, str, str]] = set()
    for r in ratings:
        key = r.judge, r.system, r.answer, r.rubric
        if key in seen:
            raise InputError(
                f"judge {r.judge!r} rated {r.answer!r} by {r.system!r} on {r.rubric} twice; "
                "pass only one run for each judge and answer"
            )
        seen.add(key)


def _parse_pair(text: str) -> tuple[str, str]:
    judge, separator, system = text.partition("=")
    if not separator:
        raise InputError(f"--same {text} is invalid; use JUDGE=SYSTEM")
    return judge, system


def _select_rubrics(names: Sequence[str], known: Sequence[str]) -> list[str]:
    unknown = [name for name in names if name not in known and name != ALL]
    if unknown:
        raise InputError(f"no ratings on rubric {unknown[0]!r}; use one of {', '.join(known)}")
    return list(known) if ALL in names else list(dict.fromkeys(names))
