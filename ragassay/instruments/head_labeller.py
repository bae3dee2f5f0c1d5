"""Label sentences by a fine-tuned encoder with a head over four labels (BioACE, section 4.1.2)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from ragassay.errors import SettingsError
from ragassay.metrics.risk import bound_of, undecided
from ragassay.models.adapters import adapter_of, read_shape
from ragassay.models.verifiers import AdaptedVerifier, adapted_verifier
from ragassay.records import RELEVANCE_LABELS, AnswerSentence, RelevanceLabel, SentenceLabel


class HeadLabeller:
    """Labels a sentence from it and its question alone, as BioACE's classifiers do (table 2).

    Args:
        model: An adapter of `ragassay finetune completeness --method head`.
    """

    def __init__(self, model: AdaptedVerifier) -> None:
        self._model, self.name = model, model.name
        bounds = (bound.model_dump_json() for bound in model.bounds)
        self.identity = (model.name, model.digest, *bounds)

    def label(self, question: str, sentence: AnswerSentence) -> SentenceLabel:
        """Label one sentence; undecided below the bound of its label."""
        (shares,) = self._model.probabilities([(sentence.text, question)]).tolist()
        best = max(range(len(shares)), key=shares.__getitem__)
        label = cast("RelevanceLabel", RELEVANCE_LABELS[best])
        bound = bound_of(self._model.bounds, label, "verdict")
        doubt = undecided(bound, label, shares[best]) if bound else None
        if doubt:
            return SentenceLabel(sentence=sentence.index, leaning=label, failure=doubt)
        return SentenceLabel(sentence=sentence.index, label=label)


def head_labeller(name: str, cache_dir: Path) -> HeadLabeller:
    """Return the labeller that a setting names.

    Args:
        name: `ragassay/FOLDER`.
        cache_dir: The folder of converted weights.

    Raises:
        SettingsError: The folder has no head for sentence labels.
    """
    adapter = adapter_of(name)
    if adapter is None or read_shape(adapter.folder).labels != RELEVANCE_LABELS:
        raise SettingsError(
            f"labeller {name}: name ragassay/FOLDER of `ragassay finetune completeness --method "
            "head`, or judge"
        )
    return HeadLabeller(adapted_verifier(adapter, cache_dir))
