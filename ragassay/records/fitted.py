"""Confidence bounds and a nugget matcher, both fitted to labelled data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ragassay.records.base import Frozen

BoundLevel = Literal["verdict", "finding"]
"""What meeting a bound allows: a decided verdict, or a main finding."""


def _read_kind(kind: Any) -> Any:
    return "tentative" if kind == "leaning" else kind  # Name in version 1 files.


class Bound(Frozen):
    """Confidence that a model needs for one kind of verdict, determined on labelled data.

    Attributes:
        kind: Subtype of the label, or empty for a bound that applies to all subtypes.
            Contradictions are "number" (different value of a quantity), "words" (other differences)
            or "tentative" (not based on a rule). Neutral verdicts can be "not_relevant".
        threshold: Minimum confidence, or None if no threshold meets the risk limit, so that no
            verdict is accepted.
        least_cosine: Minimum cosine between the claim and the most similar sentence, or None if
            there is no minimum.
        risk: Maximum share of wrong verdicts among accepted verdicts.
        delta: Maximum probability that the share of wrong verdicts exceeds `risk` by chance.
        precision: Share of correct verdicts among the accepted verdicts in the data, or among all
            verdicts without a threshold, or None if it was not measured.
        low: Lower end of the 95 % interval of the precision.
        n_measured: Number of verdicts on which the precision was measured. 0 if unknown.
        coverage: Share of verdicts of this kind in the data that the bound accepts.
        n: Number of verdicts of this kind in the data.
        is_tested: Whether the data sufficed to test any threshold.
    """

    label: str
    level: BoundLevel = "verdict"
    kind: Annotated[str, BeforeValidator(_read_kind)] = ""
    threshold: float | None = Field(default=None, ge=0, le=1)
    least_cosine: float | None = Field(default=None, ge=-1, le=1)
    risk: float = Field(gt=0, lt=1)
    delta: float = Field(gt=0, lt=1)
    precision: float | None = Field(default=None, ge=0, le=1)
    low: float | None = Field(default=None, ge=0, le=1)
    high: float | None = Field(default=None, ge=0, le=1)
    n_measured: int = Field(default=0, ge=0)
    coverage: float = Field(default=0.0, ge=0, le=1)
    n: int = Field(ge=0)
    data: str = ""
    is_tested: bool = True

    def admits(self, confidence: float | None, cosine: float | None = None) -> bool:
        """Return whether the bound accepts a verdict.

        Args:
            confidence: Confidence in [0, 1]. A verdict without a confidence is never accepted.
            cosine: Cosine between the claim and the most similar sentence, in [-1, 1], required if
                the bound has a minimum cosine.
        """
        if self.threshold is None or confidence is None or confidence < self.threshold:
            return False
        return self.least_cosine is None or (cosine is not None and cosine >= self.least_cosine)


class MixtureComponent(Frozen):
    """Component of a variational Gaussian mixture over cosine similarities.

    Attributes:
        mean_precision: Effective number of pairs used to estimate the mean.
        degrees_of_freedom: Effective number of pairs used to estimate the variance.
    """

    weight: float = Field(ge=0, le=1)
    mean: float
    variance: float = Field(gt=0)
    weight_concentration: tuple[float, float]
    mean_precision: float = Field(gt=0)
    degrees_of_freedom: float = Field(gt=0)


class MatchObjectives(Frozen):
    """Means over questions of the objectives for choosing a threshold (BioACE, 4.1.1).

    Attributes:
        similarity: Mean cosine similarity of the aligned nugget pairs.
        n_alignments: Mean number of aligned nugget pairs per question.
    """

    f1: float = Field(ge=0, le=1)
    similarity: float = Field(ge=-1, le=1)
    n_alignments: float = Field(ge=0)


class MatchAgreement(Frozen):
    """Agreement of aligned nugget pairs with labelled matches.

    Attributes:
        accuracy: Share of all pairs that are correctly aligned or not aligned.
        precision: Share of aligned pairs that are labelled matches, or None if no pair is aligned.
        recall: Share of labelled matches that are aligned, or None if no match is labelled.
        n_pairs: Number of pairs that consist of a gold nugget and a system nugget.
        n_known: Number of labelled matches.
    """

    accuracy: float = Field(ge=0, le=1)
    precision: float | None = Field(default=None, ge=0, le=1)
    recall: float | None = Field(default=None, ge=0, le=1)
    n_pairs: int = Field(ge=1)
    n_known: int = Field(ge=0)


class NuggetMatcher(Frozen):
    """Fitted rule that decides whether two nuggets match, created by `ragassay nuggets fit`.

    Attributes:
        components: Mixture components in stick-breaking order. The component with the larger mean
            represents matching pairs.
        probability_threshold: Minimum match probability for aligning a pair.
        similarity_threshold: Cosine similarity that corresponds to the probability threshold.
        library: Name and version of the library that fitted the mixture.
        n_folds: Number of folds with which thresholds were cross-validated. 0 if they were scored
            on the training data.
        plateau: Lowest and highest threshold with the same result, whose midpoint is the threshold,
            or None in files of earlier versions, which use the lowest threshold.
        objectives: Objectives at the threshold, which need no labels and do not measure accuracy.
        agreement: Agreement with labelled matches in the data, or None if there are no labels.
    """

    components: tuple[MixtureComponent, MixtureComponent]
    probability_threshold: float = Field(gt=0, le=1)
    similarity_threshold: float
    embedder: str
    embedder_digest: str = ""
    n_questions: int = Field(ge=1)
    n_pairs: int = Field(ge=1)
    data_sha256: str
    seed: int
    n_trials: int = Field(ge=1)
    library: str = ""
    n_folds: int = Field(default=0, ge=0)
    plateau: tuple[float, float] | None = None
    objectives: MatchObjectives
    agreement: MatchAgreement | None = None
