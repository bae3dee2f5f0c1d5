"""Compare judges with systems: each rates each, also generated ones (YESciEval, figure 3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.graphs.writing import WORDS
from ragassay.metrics.stats.aggregates import Matrix, question_of
from ragassay.models.limiter import RunLimiter
from ragassay.process import run_sync
from ragassay.records import Evaluation, HumanLabel, Record, Rejection
from ragassay.reports.sheets import sheet_csv
from ragassay.runs.compare import file_stem, write_files
from ragassay.runs.evaluate import job_of, plan, run
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Bar
from ragassay.settings import Settings
from ragassay.store import hash_of
from ragassay.studies.matrix_tables import (
    matrices_csv,
    matrices_latex,
    matrices_page,
    matrix_plot,
    records_where,
)
from ragassay.studies.ratings import Favourite, Rating, favourites, rating_matrix, rating_table
from ragassay.studies.self_preference import (
    SelfPreference,
    favourite_sheet,
    favourite_text,
    own_systems,
    self_preference_csv,
    self_preference_text,
    self_preferences,
)
from ragassay.studies.syntheses import Syntheses, write_all
from ragassay.studies.synthesis_questions import Questions
from ragassay.studies.synthesis_writer import Synthesis, Writing

ALL = "all"
"""Requests a matrix of every rubric."""

LABEL_SCALE = (1.0, 5.0)
"""The scale of ratings in a file of labels, which does not state it."""

UNNAMED = "unnamed judge"


@dataclass(frozen=True)
class JudgeMatrix:
    """The ratings of systems by judges.

    Attributes:
        matrices: Over all rubrics, then one for each requested rubric.
        favourites: The system that each judge rates best.
        self_preferences: One for each judge that is also a system.
        warnings: What is missing from the runs, one sentence each.
        rejections: Lines that could not be read.
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
    plots = {f"{file_stem(m.key)}.svg": matrix_plot(m) for m in found.matrices}
    lines = [
        *map(favourite_text, found.favourites),
        *map(self_preference_text, found.self_preferences),
        *found.warnings,
    ]
    page = matrices_page(
        "How judges rate systems", list(zip(found.matrices, plots.values(), strict=True)), lines
    )
    texts = {
        "matrix.csv": matrices_csv(found.matrices),
        "matrix.tex": matrices_latex(found.matrices),
        "favourites.csv": sheet_csv(favourite_sheet(found.favourites)),
        "self_preference.csv": self_preference_csv(found.self_preferences),
        "index.html": page,
    }
    return write_files(out, texts | plots)


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


ANSWERS, RUNS = "answers.jsonl", "runs"
"""Names in the folder: the syntheses, the judges' run folders."""

CHARS_A_WORD, CHARS_A_TOKEN = 7, 4


@dataclass(frozen=True)
class GeneratedAnswers:
    """The generators' syntheses, and the folders of the judges' ratings.

    Attributes:
        written: What the generators wrote.
        runs: The judges' run folders.
    """

    written: Syntheses
    runs: tuple[Path, ...]


@dataclass(frozen=True)
class GenerationPlan:
    """The most calls that generating and rating would take, about how many tokens sent."""

    n_questions: int
    n_syntheses: int
    n_ratings: int
    n_prompt_tokens: int


def plan_calls(
    questions: Questions,
    generators: Sequence[Settings],
    judges: Sequence[Settings] = (),
    words: int = WORDS,
) -> GenerationPlan:
    """Count calls and tokens without asking a model, as if nothing were kept yet."""
    asked = questions.records
    n_tokens = sum(_source_chars(q, s) // CHARS_A_TOKEN for q in asked for s in generators)
    n_ratings = 0
    for judge in judges:
        tools = build_run(judge)
        stand_ins = [_stand_in(question, words) for question in asked]
        rated = plan(job_of(stand_ins, tools.retrieval.corpus), tools)
        n_ratings += rated.n_calls * len(generators)
        n_tokens += rated.n_prompt_tokens * len(generators)
    return GenerationPlan(len(asked), len(asked) * len(generators), n_ratings, n_tokens)


def _source_chars(question: Record, settings: Settings) -> int:
    return min(settings.source_chars, sum(len(source.text) for source in question.sources))


def _stand_in(question: Record, words: int) -> Record:
    """Return an answer of the length that is asked for."""
    sentence = f"{'It helps many patients' + ' and others' * 8}."
    n = max(1, math.ceil(words * CHARS_A_WORD / len(sentence)))
    return Synthesis(question, "any", " ".join([sentence] * n)).record


def generate_and_judge(
    questions: Questions,
    generators: Sequence[Settings],
    judges: Sequence[Settings],
    out: Path,
    how: Writing,
    bar: Bar,
) -> GeneratedAnswers:
    """Let every generator write, and every judge rate what they wrote, its own included.

    Args:
        questions: The questions with their papers.
        generators: From `writers_of`, each of another model.
        judges: Each of another judge.
        out: The folder; finished work in it is not repeated.
        how: How the syntheses are written, and whether what failed is tried again.
        bar: Opens a progress bar.

    Raises:
        FatalModelError: A model is unavailable; finished work is kept.
        InputError: A model is named twice, or nothing could be written.
        RunMismatchError: The folder has the ratings of other questions or settings.
    """
    name, n = Counter(s.judge.model for s in judges).most_common(1)[0]
    if n > 1:
        raise InputError(f"the judge {name} is named twice")
    written = run_sync(write_all(questions, generators, out / ANSWERS, how, bar))
    # What was asked for, not what was written: a synthesis may be missing until a later start.
    digests = (_digest(question, how.words) for question in questions.records)
    asked = hash_of(*(s.judge.model for s in generators), *digests)
    runs: list[Path] = []
    limiter = RunLimiter.of(judges[0])  # one bound for writing and for all judges
    limiter.count(written.usage.cost_usd, written.usage.n_calls)
    for settings in judges:
        tools = replace(build_run(settings), limiter=limiter)
        job = job_of(written.records, tools.retrieval.corpus)
        stamp = job.answers.model_copy(update={"name": ANSWERS, "sha256": asked})
        folder = RunFolder(out / RUNS / file_stem(settings.judge.model))
        if how.retry_failed and folder.path.exists():
            folder.forget_failures()
        with bar(len(written.records), f"{settings.judge.model} judges") as listen:
            run_sync(run(replace(job, answers=stamp), tools, folder, listen))
        runs.append(folder.path)
    return GeneratedAnswers(written, tuple(runs))


def _digest(question: Record, words: int) -> str:
    sources = (source.model_dump_json() for source in question.sources)
    return hash_of(question.id, question.question, str(words), *sources)
