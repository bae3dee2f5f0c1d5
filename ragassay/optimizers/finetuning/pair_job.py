"""Cross-validate and fit classifiers for correctness or completeness.

BioACE uses support vector machines, logistic regression and encoders (sections 4.1.2 and 4.1.3,
tables 2 and 3).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.model_names import MINILM, PROVIDER
from ragassay.models.adapters import CORRECTNESS, WEIGHTS
from ragassay.models.cards import write_card
from ragassay.models.fitted_models import CLASSIFIER, PairClassifier
from ragassay.optimizers.finetuning.claims import Example
from ragassay.optimizers.finetuning.labelled_pairs import (
    LabelledPair,
    hash_pairs,
    read_completeness_pairs,
    read_correctness_pairs,
)
from ragassay.optimizers.finetuning.pair_classifiers import HeldOut, cross_validate, fit_classifier
from ragassay.optimizers.finetuning.tunings import EncoderJob, Finetuned, format_command
from ragassay.records import RELEVANCE_LABELS, Bound, ModelCard, Rejection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from ragassay.models.cross_encoder import PairEncoder

PairTask = Literal["correctness", "completeness"]
PairMethod = Literal["svm", "logistic", "head"]

LABELS = {"correctness": CORRECTNESS, "completeness": RELEVANCE_LABELS}
TASKS = {
    "correctness": "sentences and passages, correct or incorrect",
    "completeness": "questions and answer sentences, four labels",
}
"""Descriptions of the tasks in model cards."""

KINDS = {
    "svm": "a linear support vector machine on the words shared by sentence and passage",
    "logistic": "logistic regression on the words shared by sentence and passage",
    "head": "a low-rank adapter with a linear head on {base}, which reads both texts together",
}
LIMITS = (
    "Figures and bounds are from cross-validation. This classifier was fitted to all data and was "
    "not measured itself.",
    "It was not tested on other kinds of data.",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairJob(EncoderJob):
    """Job that fits a classifier to labelled pairs.

    Training options apply only to the method "head".

    Attributes:
        method: "head", or for correctness also "svm" or "logistic".
        labels: For completeness, the label file, or None if the answers contain the labels.
        folds: Maximum number of cross-validation folds.
    """

    task: PairTask
    method: PairMethod
    base: str = MINILM
    labels: Path | None = None
    folds: int = 5

    @property
    def command(self) -> str:
        """Shell command that runs this job."""
        chosen_options: dict[str, object] = {"method": self.method, "labels": self.labels}
        chosen_options |= {"folds": self.folds, "seed": self.seed, "limit": self.limit or None}
        if self.method == "head":
            chosen_options |= {**self.options, "steps": self.steps or None}
        return format_command(self.task, self.data, {**chosen_options, "out": self.out})


def fit_pairs(job: PairJob, say: Callable[[str], None] = lambda text: None) -> Finetuned:
    """Cross-validate a classifier, fit it to all pairs, and save it with bounds and a model card.

    Returns:
        Result of training. `measured` is the agreement in the held-out folds.

    Raises:
        InputError: The data cannot be read or has too few questions or labels, or the method does
            not support the task.
        ExtraError: PEFT is not installed, which is required for a head.
        SettingsError: The base model is unavailable.
    """
    if job.task == "completeness" and job.method != "head":
        raise InputError(f"--method {job.method} only supports correctness; use head or sft")
    if job.method == "head":
        need("peft")
    pairs, rejections = _read_pairs(job)
    names = LABELS[job.task]
    counts = [f"{name} {sum(p.label == i for p in pairs)}" for i, name in enumerate(names)]
    n_groups = len({pair.group for pair in pairs})
    say(f"{len(pairs)} pairs for {n_groups} questions: {', '.join(counts)}")
    fitter = _Head(job) if job.method == "head" else _Classical(job)
    held = cross_validate(
        pairs, names, fitter.fit_predictor, n_folds=job.folds, seed=job.seed, say=say
    )
    say("all pairs")
    data = ", ".join(path.name for path in job.data)
    digest, written = fitter.write(pairs, held.find_bounds(data))
    write_card(job.out, _build_card(job, pairs, held, digest, data))
    return Finetuned(
        digest, written.stat().st_size, len(pairs), len(rejections), held.measure_fold()
    )


def _read_pairs(job: PairJob) -> tuple[list[LabelledPair], list[Rejection]]:
    pairs: list[LabelledPair] = []
    rejections: list[Rejection] = []
    for path in dict.fromkeys(job.data):
        if job.task == "correctness":
            found, rejected = read_correctness_pairs(path)
        else:
            found, rejected = read_completeness_pairs(path, job.labels)
        pairs += found
        rejections += rejected
    if not pairs:
        raise InputError("the training data contains no labelled pairs")
    return (pairs[: job.limit] if job.limit else pairs), rejections


class _Classical:
    def __init__(self, job: PairJob) -> None:
        self._job = job

    def _fit(self, pairs: Sequence[LabelledPair], bounds: Sequence[Bound] = ()) -> PairClassifier:
        family = "svm" if self._job.method == "svm" else "logistic"
        return fit_classifier(pairs, family, seed=self._job.seed, bounds=bounds)

    def fit_predictor(
        self, pairs: Sequence[LabelledPair], name: str
    ) -> Callable[[Sequence[LabelledPair]], NDArray[np.float64]]:
        import numpy as np

        fitted = self._fit(pairs)

        def predict(held: Sequence[LabelledPair]) -> NDArray[np.float64]:
            scores = fitted.score_pairs([(p.sentence, p.passage) for p in held])
            return np.stack([scores, 1 - scores], axis=1)

        return predict

    def write(self, pairs: Sequence[LabelledPair], bounds: Sequence[Bound]) -> tuple[str, Path]:
        fitted = self._fit(pairs, bounds)
        self._job.out.mkdir(parents=True, exist_ok=True)
        path = self._job.out / CLASSIFIER
        path.write_text(fitted.weights.model_dump_json() + "\n", encoding="utf-8")
        return fitted.digest, path


class _Head:
    def __init__(self, job: PairJob) -> None:
        self._job, self._labels = job, LABELS[job.task]

    def _train(
        self, pairs: Sequence[LabelledPair], name: str
    ) -> tuple[PairEncoder, dict[str, Tensor]]:
        from ragassay.optimizers.finetuning.adapting import create_encoder, train_encoder

        examples = [Example(p.sentence, p.passage, p.label) for p in pairs]
        encoder = create_encoder(self._job, len(self._labels))
        return encoder, train_encoder(self._job, encoder, examples, name=name)

    def fit_predictor(
        self, pairs: Sequence[LabelledPair], name: str
    ) -> Callable[[Sequence[LabelledPair]], NDArray[np.float64]]:
        encoder, _ = self._train(pairs, name)

        def predict(held: Sequence[LabelledPair]) -> NDArray[np.float64]:
            import torch

            with torch.inference_mode():
                n_tokens = self._job.tuning.n_tokens
                rows = [encoder.encode_pair(p.sentence, p.passage, n_tokens) for p in held]
                logits = torch.cat([encoder(encoder.build_batch([row])).cpu() for row in rows])
            return logits.double().softmax(-1).numpy()

        return predict

    def write(self, pairs: Sequence[LabelledPair], bounds: Sequence[Bound]) -> tuple[str, Path]:
        from ragassay.models.cross_encoder import save_adapter
        from ragassay.optimizers.finetuning.adapting import SCALE, describe_training

        job = self._job
        encoder, tensors = self._train(pairs, "all")
        shape = save_adapter(
            job.out,
            tensors,
            base=encoder.base_name,
            base_sha256=encoder.base_sha256,
            scale=SCALE,
            n_tokens=job.tuning.n_tokens,
            temperature=1.0,
            reads=job.tuning.reads,
            training=describe_training(job, pairs, hash_pairs(pairs)),
            labels=self._labels,
            bounds=bounds,
        )
        return shape.weights_sha256, job.out / WEIGHTS


def _build_card(
    job: PairJob, pairs: Sequence[LabelledPair], held: HeldOut, digest: str, data: str
) -> ModelCard:
    n_groups = len({pair.group for pair in pairs})
    kind = KINDS[job.method].format(base=job.base)
    return ModelCard(
        model=f"{PROVIDER}/{job.out}",
        description=(
            f"It predicts {job.task} ({', '.join(LABELS[job.task])}) with {kind}. Fitted to "
            f"{len(pairs):,} pairs for {n_groups:,} questions from {data} (SHA-256 "
            f"{hash_pairs(pairs)}), seed {job.seed}."
        ),
        digest=digest,
        limits=LIMITS,
        figures=held.build_figures(TASKS[job.task], data, job.command),
    )
