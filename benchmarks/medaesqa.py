"""Test whether the evaluation ranks answers that experts found inaccurate below accurate ones.

    python benchmarks/medaesqa.py --shared ../shared

MedAESQA contains ten consumer questions. Each has an expert's answer and thirty machine answers,
which experts judged accurate or inaccurate. `ragassay.evaluate` scores the machine answers with the
expert's answer as their source, using the models installed with ragassay and no language model. The
scores measure how much of an answer the expert's answer supports. For comparison, the script also
computes nugget recall and F1, with each sentence of the expert's answer as a nugget, and the length
of the answer, because empty answers are short. AUROC is pooled and paired by question.

The second part compares each snippet that experts marked as contradicting or neutral with the
closest machine sentence. The dataset does not record which sentence the expert referred to.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np

import ragassay
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.metrics.papers.nuggets import align_optimally
from ragassay.metrics.stats.agreement import measure_discrimination
from ragassay.metrics.stats.intervals import f1_score
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CONTRADICTS
from ragassay.models.verifiers import load_minilm_verifier
from ragassay.records import Document, Evaluation, EvidenceSpan, Record, Score
from ragassay.settings import load_settings
from ragassay.text.sentences import extract_sentences

Rows = list[dict[str, str]]


def rows_of(shared: Path, name: str) -> Rows:
    with gzip.open(shared / "data" / "medaesqa" / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def records_of(rows: Rows, experts: dict[str, str]) -> list[Record]:
    return [
        Record(
            id=f"{row['machine_id']} {row['question']}",
            question=row["question"],
            answer=row["answer"],
            sources=(Document(id="expert", text=experts[row["question"]]),),
            system=row["machine_id"],
        )
        for row in rows
    ]


def value(evaluation: Evaluation, key: str) -> float | None:
    return evaluation.scores[key].value if key in evaluation.scores else None


def mean_support(evaluation: Evaluation) -> float | None:
    """Return the mean probability that the expert's answer supports a sentence."""
    known = [one.score for one in evaluation.correctness if one.score is not None]
    return sum(known) / len(known) if known else None


def stated(evaluation: Evaluation, expert: str, embedder: Embedder) -> tuple[float, float]:
    """Return recall and F1 of the expert's sentences."""
    gold, own = extract_sentences(expert), [sentence.text for sentence in evaluation.sentences]
    if not own:
        return 0.0, 0.0
    similarity = embedder.encode(gold) @ embedder.encode(own).T
    matches = align_optimally(similarity, similarity >= 0.6)
    precision, recall = len(matches) / len(own), len(matches) / len(gold)
    return recall, f1_score(precision, recall) or 0.0


def shown(score: Score) -> str:
    if score.value is None or score.low is None or score.high is None:
        return "undefined"
    return f"{score.value:.2f} ({score.low:.2f} to {score.high:.2f})"


def rank_answers(shared: Path, embedder: Embedder) -> list[Evaluation]:
    """Print how well each score separates accurate from inaccurate answers."""
    experts = {row["question"]: row["answer"] for row in rows_of(shared, "expert_answers")}
    good = records_of(rows_of(shared, "accurate_machine_answers"), experts)
    bad = records_of(rows_of(shared, "inaccurate_machine_answers"), experts)
    settings = load_settings(only=("evidence", "correctness"), evidence_rounds=0)
    found = list(ragassay.evaluate([*good, *bad], settings=settings))
    is_good = [True] * len(good) + [False] * len(bad)
    nuggets = [stated(e, experts[e.question], embedder) for e in found]
    scores: dict[str, list[float | None]] = {
        "evidence supports": [value(e, "evidence.support") for e in found],
        "correctness": [value(e, "correctness.score") for e in found],
        "mean support": [mean_support(e) for e in found],
        "nugget recall": [recall for recall, _ in nuggets],
        "nugget F1": [f1 for _, f1 in nuggets],
        "length": [float(len(e.answer)) for e in found],
    }
    print(f"{len(good)} accurate and {len(bad)} inaccurate answers to {len(experts)} questions")
    for name, values in scores.items():
        measured = measure_discrimination(values, is_good, [e.question for e in found])
        print(
            f"  {name:<18} AUROC {shown(measured.auroc)}, "
            f"paired by question {shown(measured.paired_auroc)}",
            flush=True,
        )
    return found


def check_snippets(shared: Path, evaluations: list[Evaluation], embedder: Embedder) -> None:
    """Print the verdicts on contradicting and neutral snippets."""
    model = load_minilm_verifier()
    verifier = EncoderVerifier(model, embedder)
    by_question: dict[str, list[str]] = {}
    for evaluation in evaluations:
        own = [sentence.text for sentence in evaluation.sentences]
        by_question.setdefault(evaluation.question, []).extend(own)
    shares: list[float | None] = []
    is_contradicting: list[bool] = []
    questions: list[str] = []
    for kind in ("contradicting", "neutral"):
        verdicts: Counter[str] = Counter()
        for row in rows_of(shared, f"{kind}_evidence"):
            claims, text = by_question[row["question"]], row["evidence"]
            closest = claims[int(np.argmax(embedder.encode(claims) @ embedder.encode([text])[0]))]
            span = EvidenceSpan(document="snippet", start=0, end=len(text), text=text)
            verdicts[verifier.verify(closest, span).verdict or "undecided"] += 1
            shares.append(float(model.predict_probabilities([(closest, text)])[0, CONTRADICTS]))
            is_contradicting.append(kind == "contradicting")
            questions.append(row["question"])
        print(f"{kind} snippets: {dict(verdicts.most_common())}", flush=True)
    measured = measure_discrimination(shares, is_contradicting, questions)
    print(
        "probability of contradiction, contradicting above neutral: "
        f"AUROC {shown(measured.auroc)}, "
        f"paired by question {shown(measured.paired_auroc)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    arguments = parser.parse_args()
    embedder = Embedder()
    check_snippets(arguments.shared, rank_answers(arguments.shared, embedder), embedder)


if __name__ == "__main__":
    main()
