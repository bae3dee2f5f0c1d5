"""Compare the shipped verifiers with simple baselines on data that they were not trained on.

    python benchmarks/verifier.py --shared ../shared

The labels are supports, contradicts and neutral. The data are Citation-Integrity dev, HealthVer dev
(evaluation only), the fifth of SciFact's groups held out of training, and Evidence Inference dev.
The baselines are fitted to labelled claims: the majority label, two thresholds on the cosine of
claim and passage, and a linear support vector machine on the words of both. The script first prints
the models' throughput. `--model` replaces the shipped models with models from the hub, or with
models made by `ragassay finetune verifier` (`ragassay/FOLDER`).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import dspy
import numpy as np
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from ragassay.agents.verifiers import TunedVerifier, select_claim_passage
from ragassay.metrics.stats.agreement import measure_agreement
from ragassay.metrics.stats.calibration import measure_calibration
from ragassay.model_names import PROVIDER, SHIPPED_VERIFIERS
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import EntailmentModel
from ragassay.models.fitted_models import compute_pair_features, create_vectorizer
from ragassay.models.gateway import JudgeLM
from ragassay.models.verifiers import is_pair_verifier, open_entailment_model
from ragassay.optimizers.finetuning.claims import Example, LabelledClaim, build_claim_examples
from ragassay.records import Score
from ragassay.settings import load_settings

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.claims import SEED, read_citation_integrity, read_healthver, split_scifact
from training.findings import finding_claims, read_findings

LABELS = ("supports", "contradicts", "neutral")
N_TIMED = 200

COLUMNS = {"supports": 0, "contradicts": 1, "neutral": 2, "not_relevant": 2}
"""Column of each verdict. The test sets have three labels."""

Predict = Callable[[Sequence[Example]], list[int]]


def majority(train: Sequence[Example]) -> Predict:
    """Predict the majority label of the training claims."""
    label = Counter(example.label for example in train).most_common(1)[0][0]
    return lambda rows: [label] * len(rows)


def cosine_thresholds(train: Sequence[Example], embedder: Embedder) -> Predict:
    """Fit two cosine thresholds and the label order to the training claims."""

    def cosines(rows: Sequence[Example]) -> np.ndarray:
        claims = embedder.encode([row.claim for row in rows])
        return (claims * embedder.encode([row.passage for row in rows])).sum(axis=1)

    train_cosines, labels = cosines(train), [row.label for row in train]
    grid = np.quantile(train_cosines, np.linspace(0, 1, 21))
    # From low to high cosine, such as neutral, contradicts, supports.
    orders = ((2, 1, 0), (1, 2, 0), (2, 0, 1))
    best = max(
        (
            (
                f1_score(labels, _parted(train_cosines, low, high, order), average="macro"),
                low,
                high,
                order,
            )
            for order in orders
            for i, low in enumerate(grid)
            for high in grid[i:]
        ),
        key=lambda found: found[0],
    )
    return lambda rows: _parted(cosines(rows), *best[1:])


def _parted(values: np.ndarray, low: float, high: float, order: Sequence[int]) -> list[int]:
    return [order[int(value >= low) + int(value >= high)] for value in values]


def word_svm(train: Sequence[Example]) -> Predict:
    """Fit a linear support vector machine to the words of claims and passages."""
    vectorizer = create_vectorizer().fit(
        [text for row in train for text in (row.claim, row.passage)]
    )

    def features(rows: Sequence[Example]):
        return compute_pair_features(vectorizer, [(row.claim, row.passage) for row in rows])

    model = LinearSVC(class_weight="balanced", random_state=0)
    model.fit(features(train), [row.label for row in train])
    return lambda rows: np.asarray(model.predict(features(rows))).tolist()


def shown(score: Score) -> str:
    if score.value is None or score.low is None or score.high is None:
        return "undefined"
    return f"{score.value:.3f} ({score.low:.3f} to {score.high:.3f})"


def report(name: str, rows: Sequence[Example], groups: Sequence[str], found: list[int]) -> None:
    truth = [LABELS[row.label] for row in rows]
    result = measure_agreement(truth, [LABELS[label] for label in found], LABELS, groups)
    recalls = ", ".join(f"{c.label} {c.recall.value or 0:.2f}" for c in result.classes)
    macro = shown(result.averages["macro"].f1)
    print(
        f"  {name:<26} accuracy {shown(result.accuracy)}, macro-F1 {macro}; recall {recalls}",
        flush=True,
    )


def print_rate(model: EntailmentModel | Tuned, shared: Path) -> None:
    """Print how many citations the loaded model verifies per second."""
    claims = read_citation_integrity(shared, "dev")[:N_TIMED]
    rows = build_claim_examples(claims)
    shares_of(model, claims[:5], rows[:5])
    started = time.perf_counter()
    shares_of(model, claims, rows)
    seconds = time.perf_counter() - started
    print(f"{model.name}: {len(claims) / seconds:.1f} citations verified per second", flush=True)


class Tuned:
    """A fine-tuned model that verifies one claim at a time."""

    def __init__(self, name: str, embedder: Embedder) -> None:
        self.name, self._embedder = name, embedder
        self._agent, self._settings = TunedVerifier(), load_settings(model=name)

    def shares(self, claims: Sequence[LabelledClaim]) -> np.ndarray:
        """Return probabilities, shape (n_claims, 3).

        The rest of the verdict's probability is split equally between the other labels.
        """
        return asyncio.run(self._ask(claims))

    async def _ask(self, claims: Sequence[LabelledClaim]) -> np.ndarray:
        found = np.zeros((len(claims), 3))
        with dspy.context(lm=JudgeLM(self._settings)):
            for row, one in enumerate(claims):
                passage = select_claim_passage(one.claim, one.title, one.sentences, self._embedder)
                finding = await self._agent.acall(claim=one.claim, sentences=passage)
                share = 1.0 if finding.confidence is None else finding.confidence
                found[row] = (1 - share) / 2
                found[row, COLUMNS[finding.verdict]] = share
        return found


def opened(name: str, embedder: Embedder) -> EntailmentModel | Tuned:
    if name.startswith(f"{PROVIDER}/") and not is_pair_verifier(name):
        return Tuned(name, embedder)
    return open_entailment_model(name, load_settings().literature.cache_dir)


def shares_of(
    model: EntailmentModel | Tuned, claims: Sequence[LabelledClaim], rows: Sequence[Example]
) -> np.ndarray:
    """Return a model's label probabilities. A tuned model selects its own passages."""
    if isinstance(model, Tuned):
        return model.shares(claims)
    return model.predict_probabilities([(row.claim, row.passage) for row in rows])


def report_model(
    model: EntailmentModel | Tuned, claims: Sequence[LabelledClaim], rows: Sequence[Example]
) -> None:
    """Print a verifier's table line and its calibration error."""
    groups = [claim.group for claim in claims]
    shares = shares_of(model, claims, rows)
    found = shares.argmax(axis=1).tolist()
    report(model.name, rows, groups, found)
    right = [label == row.label for label, row in zip(found, rows, strict=True)]
    result = measure_calibration(shares.max(axis=1).tolist(), right, groups)
    print(f"  {'':<26} expected calibration error {shown(result.error)}", flush=True)


def read_sets(shared: Path) -> dict[str, list[LabelledClaim]]:
    findings = finding_claims(read_findings(shared, "dev"), random.Random(SEED), 1)
    return {
        "Citation-Integrity dev": read_citation_integrity(shared, "dev"),
        "HealthVer dev": read_healthver(shared),
        "SciFact, held out of training": split_scifact(shared)[1],
        "Evidence Inference dev": [made.claim for made in findings],
    }


def baselines(shared: Path, embedder: Embedder) -> dict[str, Predict]:
    claims = [*split_scifact(shared)[0], *read_citation_integrity(shared, "train")]
    train = build_claim_examples(claims)
    return {
        "majority": majority(train),
        "cosine thresholds": cosine_thresholds(train, embedder),
        "TF-IDF + SVM": word_svm(train),
    }


def print_tables(shared: Path, models: Sequence[EntailmentModel | Tuned]) -> None:
    systems = baselines(shared, Embedder())
    for name, claims in read_sets(shared).items():
        rows, groups = build_claim_examples(claims), [claim.group for claim in claims]
        print(f"{name}: {len(rows)} pairs, {len(set(groups))} groups", flush=True)
        for system, predict in systems.items():
            report(system, rows, groups, predict(rows))
        for model in models:
            report_model(model, claims, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument(
        "--model",
        action="append",
        help="model from the hub or ragassay/FOLDER instead of the shipped ones (repeatable)",
    )
    parser.add_argument("--rate", action="store_true", help="only measure the rate")
    arguments = parser.parse_args()
    models = [opened(name, Embedder()) for name in arguments.model or SHIPPED_VERIFIERS]
    # Measure throughput before the tables, because models cache their pairs.
    for model in models:
        print_rate(model, arguments.shared)
    if not arguments.rate:
        print_tables(arguments.shared, models)


if __name__ == "__main__":
    main()
