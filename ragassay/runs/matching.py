"""Fit a nugget matcher to a file of gold and system nuggets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, validate
from ragassay.formats.reviews import FILE as REVIEWS
from ragassay.formats.reviews import ReviewedRun
from ragassay.formats.rows import NuggetEntry, Row
from ragassay.models.embeddings import Embedder
from ragassay.models.weights import sha256_of
from ragassay.optimizers.nugget_matching import fit_matcher
from ragassay.optimizers.nugget_thresholds import MatchCase, MatchData
from ragassay.records import NuggetMatcher, Rejection
from ragassay.runs.folder import write_whole

Pair = Annotated[list[int], Field(min_length=2, max_length=2)]


class PairsRow(Row):
    """Gold and system nuggets of one answer; also a line of a run's evaluations.jsonl."""

    gold: list[NuggetEntry] = Field(validation_alias=AliasChoices("gold", "gold_nuggets"))
    nuggets: list[NuggetEntry]
    matches: list[Pair] | None = None


@dataclass(frozen=True)
class MatchFile:
    """The content of a file to match.

    Attributes:
        cases: Answers with nuggets on both sides.
        rejections: Lines that could not be read.
        n_one_sided: Answers with nuggets on one side or none: there is nothing to match.
        sha256: Hash of the file.
    """

    cases: tuple[MatchCase, ...]
    rejections: tuple[Rejection, ...]
    n_one_sided: int
    sha256: str


def read_match_file(path: Path) -> MatchFile:
    """Read pairs of lists of nuggets.

    Args:
        path: JSON lines with `gold` and `nuggets`, and `matches` ([position in gold, position in
            nuggets], from 0) where known; or a run folder or its evaluations.jsonl, whose own
            matches are ignored. Of a run folder, those count that people gave for every gold
            nugget of an answer.

    Raises:
        InputError: The file cannot be opened.
    """
    file = path / "evaluations.jsonl" if path.is_dir() else path
    cases: list[MatchCase] = []
    rejections: list[Rejection] = []
    n_one_sided = 0
    reviews = path / REVIEWS
    known = ReviewedRun(reviews).matches() if reviews.exists() else {}
    for item in iter_items(file):
        found = item if isinstance(item, Rejection) else _case(item)
        if isinstance(found, MatchCase) and isinstance(item, Item):
            said = known.get(str(item.fields.get("record_id")))
            found = found if said is None else replace(found, matches=said)
        if isinstance(found, Rejection):
            rejections.append(found)
        elif found.gold and found.nuggets:
            cases.append(found)
        else:
            n_one_sided += 1
    return MatchFile(tuple(cases), tuple(rejections), n_one_sided, sha256_of(file))


def fit_file(
    found: MatchFile,
    embedder: Embedder,
    out: Path,
    *,
    n_trials: int,
    seed: int,
    on_step: Callable[[], None] = lambda: None,
) -> NuggetMatcher:
    """Embed the nuggets, fit the matcher, and write it.

    Args:
        found: From `read_match_file`.
        embedder: Provides the similarities.
        out: The matcher's file, as JSON.
        n_trials: How many thresholds to try.
        seed: The same file and seed result in the same matcher.
        on_step: Called after each embedded answer and each tried threshold.

    Raises:
        InputError: There are too few pairs, or they show no two groups.
    """
    similarities = []
    for case in found.cases:
        vectors = embedder.encode([*case.gold, *case.nuggets])
        n_gold = len(case.gold)
        similarities.append(vectors[:n_gold] @ vectors[n_gold:].T)
        on_step()
    data = MatchData(found.cases, tuple(similarities), found.sha256, embedder.name, embedder.digest)
    matcher = fit_matcher(data, n_trials=n_trials, seed=seed, on_trial=on_step)
    try:
        write_whole(out, matcher.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from error
    return matcher


def _case(item: Item) -> MatchCase | Rejection:
    is_evaluation = "gold_nuggets" in item.fields
    fields = {k: v for k, v in item.fields.items() if not (is_evaluation and k == "matches")}
    row = validate(PairsRow, fields)
    if isinstance(row, Problem):
        return item.place.reject(row)
    gold, nuggets = (tuple(n.text for n in side) for side in (row.gold, row.nuggets))
    for position, (g, n) in enumerate(row.matches or ()):
        if not (0 <= g < len(gold) and 0 <= n < len(nuggets)):
            problem = Problem(
                f"matches.{position}",
                f"found [{g}, {n}] for {len(gold)} gold and {len(nuggets)} system nuggets",
                "positions from 0: [in gold, in nuggets]",
            )
            return item.place.reject(problem)
    known = None if row.matches is None else frozenset((g, n) for g, n in row.matches)
    return MatchCase(gold, nuggets, known)
