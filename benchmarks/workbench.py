"""Compare our test bank leaderboards with those of the Rubric Workbench (Dietz 2024).

    python benchmarks/workbench.py leaderboard --shared ../shared

The grades were released without runs, so the systems are synthetic: seeded rankings of the graded
passages, from random to good. Each leaderboard is computed twice and compared.

- `oracles/workbench`: we export labels from the grades, read them back, and rank systems with
  `ragassay grades leaderboard`. The reference is the original program's labels, ranked by trec_eval
  (pytrec_eval).
- Released DL20 labels, self-rated and FagB: we read, write and rank them. The reference is the
  lines of the released file, ranked by trec_eval. The underlying grades were not released, so we
  cannot check that our grades would give the same labels.

Two definitions differ. We leave out queries without a relevant passage, while trec_eval scores them
as 0. This scales the means without changing the order, and the printed differences correct for it.
For queries that a system does not rank, our score is 0 and trec_eval leaves them out. Here every
system ranks all queries. If all systems have the same mean, the leaderboard is "tied".
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pytrec_eval

from ragassay.errors import InputError
from ragassay.formats import RankedDocument, RetrievalRun, read_qrels, write_qrels, write_run
from ragassay.metrics.stats.correlation import kendall_tau
from ragassay.runs.banks import read_graded
from ragassay.workbench.evaluation import (
    LabelBy,
    build_leaderboards,
    compute_rubric_qrels,
    read_system_files,
    write_rubric_qrels,
)
from ragassay.workbench.grades import GradeFilter

SEED = 20
N_SYSTEMS = 30

N_DIGITS = 9
"""Number of decimals at which means are compared."""

MEASURES = {"RR": "recip_rank", "AP": "map", "nDCG@10": "ndcg_cut_10", "P@20": "P_20"}
"""trec_eval's measure names by ours."""

Labels = Mapping[str, Mapping[str, int]]


def made_up_runs(truth: Labels, folder: Path) -> list[Path]:
    """Write runs that rank passages by a growing mix of labels and noise.

    Args:
        truth: Labels other than those used to score the runs.
        folder: Output folder of the runs.
    """
    rng = random.Random(SEED)
    paths: list[Path] = []
    for i in range(N_SYSTEMS):
        share = i / (2 * N_SYSTEMS)
        rankings: dict[str, tuple[RankedDocument, ...]] = {}
        for query, labels in truth.items():
            top = max(labels.values()) or 1
            scores = {p: share * g / top + (1 - share) * rng.random() for p, g in labels.items()}
            order = sorted(scores, key=scores.__getitem__, reverse=True)
            rankings[query] = tuple(
                RankedDocument(p, rank, float(-rank)) for rank, p in enumerate(order, 1)
            )
        paths.append(folder / f"system-{i:02}.run")
        write_run(RetrievalRun(f"system-{i:02}", rankings), paths[-1])
    return paths


def of_trec_eval(labels: Labels, runs: Sequence[Path], level: int) -> dict[str, dict[str, float]]:
    """Return the mean of each system by measure, computed by trec_eval."""
    evaluator = pytrec_eval.RelevanceEvaluator(
        {q: dict(found) for q, found in labels.items()}, set(MEASURES.values()), level
    )
    found: dict[str, dict[str, float]] = {name: {} for name in MEASURES.values()}
    for path in runs:
        with path.open() as lines:
            values = evaluator.evaluate(pytrec_eval.parse_run(lines))
        for name, systems in found.items():
            systems[path.stem] = fmean(of_query[name] for of_query in values.values())
    return found


def compare(
    name: str, ours: Path, theirs: Labels, runs: Sequence[Path], levels: Sequence[int]
) -> list[float]:
    """Print and return Kendall's tau of both leaderboards, and print the largest difference."""
    taus: list[float] = []
    for level in levels:
        boards = build_leaderboards(
            None,
            GradeFilter(),
            read_system_files(runs, ours),
            measures=list(MEASURES),
            min_rating=level,
        )
        expected = of_trec_eval(theirs, runs, level)
        parts: list[str] = []
        for board in boards:
            means = {row.system: row.score.value or 0.0 for row in board.rows}
            other = expected[MEASURES[board.measure]]
            pairs = [(round(means[s], N_DIGITS), round(other[s], N_DIGITS)) for s in other]
            tau = kendall_tau(*zip(*pairs, strict=True))
            difference = max(abs(means[s] - other[s]) for s in other)
            taus += [] if tau is None else [tau]
            parts.append(
                f"{board.measure} {'tied' if tau is None else f'{tau:.3f}'} ({difference:.0e})"
            )
        print(f"  {name:<14} level {level:>2}: {', '.join(parts)}", flush=True)
    return taus


def labels_of(rows: Sequence[Sequence[str | int]]) -> dict[str, dict[str, int]]:
    """Group rows of query, passage and label by query."""
    found: dict[str, dict[str, int]] = {}
    for query, name, label in rows:
        found.setdefault(str(query), {})[str(name)] = int(label)
    return found


def released_lines(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt") as lines:
        yield from (line.split() for line in lines)


def leaderboard(shared: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        taus = _oracles(shared / "oracles" / "workbench", Path(name))
    for other, released in (("fagb", "self-rated"), ("self-rated", "fagb")):
        with tempfile.TemporaryDirectory() as name:
            taus += _released(shared / "data" / "workbench", released, other, Path(name))
    print(f"{len(taus)} leaderboards without ties in all means: lowest Kendall {min(taus):.6f}")


def _oracles(folder: Path, work: Path) -> list[float]:
    file = read_graded(folder / "graded.jsonl.gz")
    oracle = json.loads((folder / "output.json").read_text())
    judged = {
        q.query_id: {p.paragraph_id: p.paragraph_data.judgments[0].relevance for p in q.paragraphs}
        for q in file.queries
    }
    runs = made_up_runs(judged, work)
    print(f"oracles: {len(judged)} queries, {N_SYSTEMS} seeded systems; Kendall (difference)")
    label_kinds: tuple[tuple[LabelBy, str, Sequence[int]], ...] = (
        ("rating", "qrels_highest_rating", range(1, 6)),
        ("covered", "qrels_number_covered", (1, 5, 10)),
    )
    taus: list[float] = []
    for prompt in oracle["prompt_classes"]:
        for by, key, levels in label_kinds:
            rows = oracle[prompt][key]
            path = work / f"{prompt}.{by}.qrels"
            try:
                write_rubric_qrels(
                    compute_rubric_qrels(file, GradeFilter(prompt_class=prompt), by), path
                )
            except InputError:
                failed = "both fail" if isinstance(rows, str) else "ours fails"
                print(f" {prompt}, {by}: {failed}")
                continue
            same = read_qrels(path)[0] == labels_of(rows)
            print(f" {prompt}, {by}: {len(rows)} labels, equal: {same}")
            taus += compare(by, path, labels_of(rows), runs, levels)
    return taus


def _released(folder: Path, name: str, other: str, work: Path) -> list[float]:
    lines = list(released_lines(folder / f"dl20-{name}.qrel.gz"))
    path = work / "ours.qrels"
    write_qrels(read_qrels(folder / f"dl20-{name}.qrel.gz")[0], path)
    same = path.read_text().splitlines() == [" ".join(columns) for columns in lines]
    theirs = labels_of([(query, passage, label) for query, _, passage, label in lines])
    runs = made_up_runs(read_qrels(folder / f"dl20-{other}.qrel.gz")[0], work)
    print(f"DL20 {name}: {len(lines)} labels of {len(theirs)} queries, written equal: {same}")
    return compare(name, path, theirs, runs, range(1, 6) if name == "self-rated" else (1,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["leaderboard"])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    options = parser.parse_args()
    leaderboard(options.shared)


if __name__ == "__main__":
    main()
