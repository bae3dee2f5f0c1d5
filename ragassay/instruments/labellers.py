"""Label whether a sentence is needed, from signals or with a fine-tuned head (BioACE, 4.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from ragassay.errors import SettingsError
from ragassay.instruments.signals.facts import SOURCED
from ragassay.metrics.stats.calibration import bound_of, explain_undecided
from ragassay.models.adapters import find_adapter, read_shape
from ragassay.models.verifiers import AdaptedVerifier, load_adapted_verifier
from ragassay.records import (
    RELEVANCE_LABELS,
    AnswerSentence,
    Failure,
    RelevanceLabel,
    SentenceLabel,
    Signals,
)
from ragassay.text.quantities import extract_numbers

FOREIGN = 4.0
"""Minimum logit at which a sentence counts as off-topic. With this minimum, 619 of 655 inserted
sentences were detected, with no false positives among 4,494 other sentences (`python -m
training.unneeded`: YESciEval's answers to 68 questions not used for fitting, half of them used to
choose bounds)."""

REPEATED = 0.98
"""Minimum cosine at which a sentence repeats an earlier sentence. With this minimum, 65 of 133
repeated sentences were detected, with no false positives among 410 other sentences of complete
answers (`python -m training.unneeded`)."""

UNDECIDED = Failure.leave_open(
    "without a judge, only repeated and off-topic sentences are labelled"
)


class SignalLabeller:
    """Labels off-topic and repeated sentences as unnecessary, and other sentences as undecided."""

    def label(
        self, sentence: AnswerSentence, sentences: Sequence[AnswerSentence], signals: Signals | None
    ) -> SentenceLabel:
        """Label one sentence of an answer, with the help of the answer's signals if it has any."""
        if signals and _is_unneeded(sentence, sentences, signals):
            return SentenceLabel(sentence=sentence.index, label="unnecessary")
        return SentenceLabel(sentence=sentence.index, failure=UNDECIDED)


def _is_unneeded(
    sentence: AnswerSentence, sentences: Sequence[AnswerSentence], signals: Signals
) -> bool:
    measured = signals.sentences[sentence.index - 1]
    if not measured.values:
        return False
    # "foreign" depends only on the question if there are no sources. This was not evaluated.
    if SOURCED in signals.values and measured.values["foreign"] >= FOREIGN:
        return True
    twin = measured.twin or sentence.index
    if twin >= sentence.index or measured.values.get("redundancy", 0.0) < REPEATED:
        return False
    # Sentences that differ only in numbers, such as two doses, state different facts.
    return extract_numbers(sentence.text) <= extract_numbers(sentences[twin - 1].text)


class HeadLabeller:
    """Labels a sentence from its text and the question, like BioACE's classifiers (table 2)."""

    def __init__(self, model: AdaptedVerifier) -> None:
        self._model, self.name = model, model.name
        bounds = (bound.model_dump_json() for bound in model.bounds)
        self.identity = (model.name, model.digest, *bounds)

    def label(self, question: str, sentence: AnswerSentence) -> SentenceLabel:
        """Label one sentence. The label is undecided if its probability is too low."""
        (shares,) = self._model.predict_probabilities([(sentence.text, question)]).tolist()
        best = max(range(len(shares)), key=shares.__getitem__)
        label = cast("RelevanceLabel", RELEVANCE_LABELS[best])
        bound = bound_of(self._model.bounds, label, "verdict")
        doubt = explain_undecided(bound, label, shares[best]) if bound else None
        if doubt:
            return SentenceLabel(sentence=sentence.index, tentative_label=label, failure=doubt)
        return SentenceLabel(sentence=sentence.index, label=label)


def open_head_labeller(name: str, cache_dir: Path) -> HeadLabeller:
    """Return the labeller in `ragassay/FOLDER`, with its weights converted in `cache_dir`.

    Raises:
        SettingsError: The folder contains no head for sentence labels.
    """
    adapter = find_adapter(name)
    if adapter is None or read_shape(adapter.folder).labels != RELEVANCE_LABELS:
        raise SettingsError(
            f"invalid labeller {name}; use judge, or ragassay/FOLDER with a FOLDER made by "
            "`ragassay finetune completeness --method head`"
        )
    return HeadLabeller(load_adapted_verifier(adapter, cache_dir))
