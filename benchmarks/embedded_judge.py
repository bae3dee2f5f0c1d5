"""Measure the embedded judge zero-shot on real data that it was not tuned on, for its model card.

    python benchmarks/embedded_judge.py --shared ../shared

- rubrics: YESciEval's BioASQ answers. For each rubric, an answer perturbed for that rubric (extreme
  or subtle) is compared with its original by the same system. The figure is how often the perturbed
  answer scores lower.
- citations: SciFact claims with the abstracts that they cite. The evidence search selects the
  passage, and the judge assigns one of three labels.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy
from sklearn.metrics import f1_score

from ragassay.agents.context import build_case
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_records
from ragassay.metrics.stats.intervals import compute_share_interval
from ragassay.model_names import EMBEDDED_BASE
from ragassay.records import Case, Document, Record
from ragassay.retrievers.evidence import find_best_passages
from ragassay.settings import load_settings
from ragassay.text.search import condense_documents
from ragassay.text.segmenter import segment

SEED = 11
SCIFACT = {"SUPPORT": "supports", "CONTRADICT": "contradicts", "NEI": "neutral"}


def case_of(record: Record, run: Run) -> Case:
    answer, sentences, sources = segment(record, run.retrieval.corpus.get)
    shown = condense_documents(sources, f"{record.question} {answer}", run.settings.source_chars)
    return build_case(record, answer, sentences, [], sources, shown)


async def scores_of(record: Record, rubrics: Sequence[str], run: Run) -> dict[str, float]:
    case = case_of(record, run)
    with dspy.context(lm=run.judge.lm):
        found = await asyncio.gather(
            *(run.agents.judge.acall(case=case, rubric=run.rubrics[r]) for r in rubrics)
        )
    return {judgment.rubric: judgment.score for judgment in found}


async def paired_detection(shared: Path, n_questions: int, run: Run) -> list[dict[str, Any]]:
    records = read_records(shared / "data/yescieval/bioasq-train-answers.jsonl.gz").records
    by_key = {
        (r.topic, r.system, r.metadata["variant"], r.metadata.get("target_rubric", "")): r
        for r in records
    }
    topics = list(dict.fromkeys(r.topic for r in records))
    rng = random.Random(SEED)
    systems = list(dict.fromkeys(r.system for r in records))
    lower: Counter[str] = Counter()
    tied: Counter[str] = Counter()
    n: Counter[str] = Counter()
    for topic in rng.sample(topics, n_questions):
        system = rng.choice(systems)
        original = await scores_of(_benign(by_key, topic, system), list(run.rubrics), run)
        for (t, s, variant, target), record in by_key.items():
            if (t, s) != (topic, system) or variant == "benign":
                continue
            rubric = target.lower()
            perturbed = await scores_of(record, [rubric], run)
            n[variant] += 1
            lower[variant] += perturbed[rubric] < original[rubric]
            tied[variant] += perturbed[rubric] == original[rubric]
        print(f"  {topic}: {dict(lower)} of {dict(n)}", flush=True)
    return [
        _figure(
            f"perturbed answer scores lower ({variant})",
            "YESciEval BioASQ train",
            "paired detection",
            lower[variant],
            n[variant],
        )
        for variant in ("extreme", "subtle")
    ]


def _benign(by_key: dict[Any, Record], topic: str | None, system: str | None) -> Record:
    return next(
        r
        for (t, s, variant, _), r in by_key.items()
        if (t, s, variant) == (topic, system, "benign")
    )


async def citation_verdicts(shared: Path, n_pairs: int, run: Run) -> list[dict[str, Any]]:
    lines = (shared / "data/scifact/pairs_train.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = random.Random(SEED).sample([json.loads(line) for line in lines], n_pairs)
    expected, predicted = [], []
    for n, pair in enumerate(pairs):
        document = Document(id=str(n), title=pair.get("title", ""), text=_abstract(pair))
        record = Record(
            id=str(n), question="Is this claim true?", answer=pair["claim"], sources=(document,)
        )
        case = case_of(record, run)
        (passage,) = find_best_passages([pair["claim"]], [[document]], run.models.embedder)
        with dspy.context(lm=run.judge.lm):
            found = await run.agents.verifier.acall(case=case, claim=pair["claim"], passage=passage)
        expected.append(SCIFACT[pair["label"]])
        predicted.append("neutral" if found.verdict == "not_relevant" else found.verdict)
    hits = sum(e == p for e, p in zip(expected, predicted, strict=True))
    print("  expected", dict(Counter(expected)), "predicted", dict(Counter(predicted)), flush=True)
    macro = f1_score(
        expected, predicted, average="macro", labels=sorted(SCIFACT.values()), zero_division=0
    )
    task = "citation verdicts, three labels"
    return [
        _figure(task, "SciFact train pairs", "accuracy", hits, n_pairs),
        {
            "task": task,
            "data": "SciFact train pairs",
            "metric": "macro-F1",
            "value": round(float(macro), 3),
            "n": n_pairs,
        },
        _figure(
            f"{task}, always the commonest",
            "SciFact train pairs",
            "accuracy",
            Counter(expected).most_common(1)[0][1],
            n_pairs,
        ),
    ]


def _abstract(pair: dict[str, Any]) -> str:
    found = pair.get("abstract") or pair.get("sentences") or pair.get("text")
    return found if isinstance(found, str) else " ".join(s.strip() for s in found)


def _figure(task: str, data: str, metric: str, hits: int, n: int) -> dict[str, Any]:
    low, high = compute_share_interval(hits, n) or (None, None)
    return {
        "task": task,
        "data": data,
        "metric": metric,
        "value": round(hits / n, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "n": n,
    }


async def measure(args: argparse.Namespace) -> None:
    run = build_run(load_settings(model=args.model))
    figures = await citation_verdicts(args.shared, args.pairs, run)
    figures += await paired_detection(args.shared, args.questions, run)
    for figure in figures:
        print(json.dumps(figure))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--model", default=EMBEDDED_BASE)
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--questions", type=int, default=6)
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
