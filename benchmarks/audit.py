"""Audit the embedded judge on questions that were not used for fitting.

    python benchmarks/audit.py --shared ../shared

Runs two audits of YESciEval's train answers, with one answer per held-out question. Both use the
graph of `ragassay audit`:

- given: the perturbed answers in the dataset files (the rows of the paper's tables 7 to 14)
- made: newly generated perturbations (rubric, clinical, injection). Inserted texts come from the
  "audit" split, which no fit has used: news, sports, recipes, law, code and other languages, plus
  separate blogs and tweets.

By default only signals rate the answers. --model ragassay/judge adds the fine-tuned judge. Adding
--no-signals makes that judge rate alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_records
from ragassay.metrics.stats.intervals import compute_share_interval
from ragassay.optimizers.finetuning.judge_replies import is_held_out
from ragassay.records import Record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.audit_job import AuditOptions, build_audit_job
from ragassay.runs.evaluate import build_job
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import show_progress
from ragassay.settings import load_settings
from ragassay.studies.audit import AuditResult, run_audit
from ragassay.studies.audit_scores import PerturbedPair, build_perturbed_pairs

SETS = ("bioasq", "orkg-synthesis")
AUDITS = ("given", "made")


def held_out(shared: Path) -> list[Record]:
    """Return all answers to held-out questions, with ids that are unique across sets."""
    found = []
    for name in SETS:
        path = shared / f"data/yescieval/{name}-train-answers.jsonl.gz"
        records = (r for r in read_records(path).records if is_held_out(r.topic or r.id))
        found += [r.model_copy(update={"id": f"{name}/{r.id}"}) for r in records]
    return found


def audited(records: Sequence[Record], run: Run, options: AuditOptions, out: Path) -> AuditResult:
    job = build_audit_job(build_job(records, Corpus()), run, options)
    with show_progress(len(job.asks), enabled=True) as listen:
        return asyncio.run(run_audit(job, run, RunFolder(out), listen))


def pairs_of(result: AuditResult) -> list[PerturbedPair]:
    evaluations = {e.record_id: e for e in result.evaluations}
    return [
        p
        for p in build_perturbed_pairs(result.perturbed, evaluations)
        if p.target.startswith("rubric.")
    ]


def print_table(title: str, groups: dict[str, list[PerturbedPair]]) -> None:
    """Print paired detection and mean ratings by group, followed by their means."""
    print(
        f"\n{title}\n| | pairs | paired detection | whole | damaged | lift |\n"
        "|---|---|---|---|---|---|"
    )
    rows = []
    for name, pairs in groups.items():
        scored = [(p.benign, p.perturbed) for p in pairs if None not in (p.benign, p.perturbed)]
        if not scored:
            continue
        hits, n = sum(d < b for b, d in scored), len(scored)
        low, high = compute_share_interval(hits, n) or (0, 1)
        unperturbed, perturbed = fmean(b for b, _ in scored), fmean(d for _, d in scored)
        rows.append((hits / n, unperturbed, perturbed))
        print(
            f"| {name} | {n} | {hits / n:.3f} ({low:.2f} to {high:.2f}) | {unperturbed:.2f} | "
            f"{perturbed:.2f} | {perturbed - unperturbed:+.2f} |"
        )
    if rows:
        found, before, after = (fmean(column) for column in zip(*rows, strict=True))
        print(
            f"| mean | | {found:.3f}, least {min(row[0] for row in rows):.3f} | {before:.2f} | "
            f"{after:.2f} | |"
        )


def print_named(result: AuditResult) -> None:
    """Print how often a rating points to an added or changed sentence, by severity."""
    evaluations = {e.record_id: e for e in result.evaluations}
    print("\npoints to the damaged sentence\n| | ratings | named |\n|---|---|---|")
    for severity in ("extreme", "subtle"):
        named = [
            bool(set(judgment.sentences) & set(one.sentences))
            for one in result.perturbed
            if one.severity == severity and one.family == "rubric" and one.sentences
            for judgment in evaluations[one.record.id].judgments
            if judgment.rubric in one.record.rubrics and judgment.rating is not None
        ]
        if named:
            low, high = compute_share_interval(sum(named), len(named)) or (0, 1)
            share = f"{fmean(named):.3f} ({low:.2f} to {high:.2f})"
            print(f"| {severity} | {len(named)} | {share} |")


def grouped(pairs: Iterable[PerturbedPair], *parts: str) -> dict[str, list[PerturbedPair]]:
    groups: dict[str, list[PerturbedPair]] = defaultdict(list)
    for pair in pairs:
        keys = {
            "rubric": pair.target.removeprefix("rubric."),
            "attack": pair.damage.attack,
            "pool": pair.damage.record.metadata.get("pool", "no pool"),
        }
        groups[", ".join(keys[part] for part in parts)].append(pair)
    return dict(sorted(groups.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--limit", type=int, default=74, help="number of original answers")
    parser.add_argument("--out", type=Path, default=Path("runs/benchmark-audit"))
    parser.add_argument("--model", default=None)
    parser.add_argument("--no-signals", action="store_true")
    parser.add_argument("--only", choices=AUDITS, action="append")
    args = parser.parse_args()
    run = build_run(load_settings(model=args.model, signals=not args.no_signals, only=("rubrics",)))
    records = held_out(args.shared)
    for name in args.only or AUDITS:
        options = AuditOptions(args.limit, 0, (), name == "given")
        result = audited(records, run, options, args.out / name)
        print_audit(name, pairs_of(result))
        print_named(result)
        print(json.dumps({"unchanged": result.audit.n_unchanged, "failed": result.audit.n_failed}))


def print_audit(name: str, pairs: Sequence[PerturbedPair]) -> None:
    for family in dict.fromkeys(p.damage.family for p in pairs):
        chosen = [p for p in pairs if p.damage.family == family]
        for severity in ("extreme", "subtle"):
            members = [p for p in chosen if p.damage.severity == severity]
            if members:
                title = f"{name}, {family}, {severity}, by rubric"
                print_table(title, grouped(members, "rubric"))
        if name != "given":
            print_table(f"{name}, {family}, by attack", grouped(chosen, "attack"))
            pooled = [p for p in chosen if p.damage.attack.startswith("off_topic")]
            print_table(f"{name}, {family}, off-topic text, by origin", grouped(pooled, "pool"))


if __name__ == "__main__":
    main()
