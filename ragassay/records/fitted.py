"""Bounds of confidence and the nugget matcher, fitted to labelled data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ragassay.records.base import Frozen

BoundLevel = Literal["verdict", "finding"]
"""What a bound admits: a verdict that counts as decided, or a finding that may lead a report."""


def _read_kind(kind: Any) -> Any:
    return "tentative" if kind == "leaning" else kind  # its name in files of version 1


class Bound(Frozen):
    """The confidence that a model needs for one kind of verdict, found on data.

    Attributes:
        kind: Of contradictions "number", another value of the same quantity, "words", another
            difference, or "tentative", found by no rule; of neutral ones "not_relevant", about
            something else. Empty for all verdicts of the label without a bound of their kind.
        threshold: Least confidence; None where none keeps the risk: such a verdict never counts.
        least_cosine: Least cosine of the claim with the closest sentence of what it was compared
            with; None where that is no condition.
        risk: Largest share of wrong ones among those that it admits.
        delta: Largest probability that the data made the bound too low.
        precision: Share of right ones among those that it admitted in the data; where it has no
            threshold, among all `n`, if that was measured. None without any.
        low: Lower end of the precision's 95 % interval.
        n_measured: Verdicts that the precision was measured on; 0 where it is unknown.
        coverage: Share of the data's verdicts of this kind that it admitted.
        n: The data's verdicts of this kind.
        is_tested: Whether the data were enough to look for a threshold.
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
        """Return whether a verdict is confident enough, and its claim close enough if asked for.

        Args:
            confidence: In [0, 1]; None is never enough.
            cosine: Of the claim with the closest sentence, in [-1, 1]; None where unknown, which
                is not enough for a bound with a least cosine.
        """
        if self.threshold is None or confidence is None or confidence < self.threshold:
            return False
        return self.least_cosine is None or (cosine is not None and cosine >= self.least_cosine)


class MixtureComponent(Frozen):
    """One component of a variational Gaussian mixture over cosine similarities.

    Attributes:
        weight_concentration: The two parameters of its stick-breaking weight.
        mean_precision: Number of pairs behind the mean.
        degrees_of_freedom: Number of pairs behind the variance.
    """

    weight: float = Field(ge=0, le=1)
    mean: float
    variance: float = Field(gt=0)
    weight_concentration: tuple[float, float]
    mean_precision: float = Field(gt=0)
    degrees_of_freedom: float = Field(gt=0)


class MatchObjectives(Frozen):
    """The averaged objectives of a threshold (BioACE, section 4.1.1).

    Attributes:
        similarity: Mean similarity of the aligned pairs.
        n_alignments: Mean number of aligned pairs over questions.
    """

    f1: float = Field(ge=0, le=1)
    similarity: float = Field(ge=-1, le=1)
    n_alignments: float = Field(ge=0)


class MatchAgreement(Frozen):
    """Agreement of aligned pairs with pairs that are known to state the same fact.

    Attributes:
        accuracy: Share of all pairs on which the two agree.
        precision: Share of the aligned pairs that are known; None where none was aligned.
        recall: Share of the known pairs that were aligned; None where none is known.
        n_pairs: Pairs of a gold and a system nugget.
        n_known: Those that are known to state the same fact.
    """

    accuracy: float = Field(ge=0, le=1)
    precision: float | None = Field(default=None, ge=0, le=1)
    recall: float | None = Field(default=None, ge=0, le=1)
    n_pairs: int = Field(ge=1)
    n_known: int = Field(ge=0)


class NuggetMatcher(Frozen):
    """A fitted rule for when two nuggets state the same fact; `ragassay nuggets fit` writes it.

    Attributes:
        components: The mixture, in the order of its sticks; the one with the larger mean holds
            pairs that state the same fact.
        probability_threshold: Least probability of the same fact at which a pair may be aligned.
        similarity_threshold: The cosine similarity at which that probability is reached.
        library: The library that fitted the mixture, with its version.
        n_folds: Folds of answers that a mixture without them scored; 0 where all were scored by the
            mixture that was fitted to them.
        plateau: Lowest and highest threshold tried with the same result; the threshold is the
            middle. None in files of earlier versions, whose threshold is the lowest.
        objectives: At the threshold. They need no labels, so they do not measure the truth.
        agreement: With known pairs of the same data; None where the data names none.
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
