"""The fitted model that decides which nuggets state the same fact."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen


class MixtureComponent(Frozen):
    """One component of a variational Gaussian mixture over cosine similarities.

    Attributes:
        weight: Its share of the pairs.
        mean: Its mean similarity.
        variance: Its variance.
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
        f1: Mean F1 over questions.
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
        embedder: Name of the embedding model whose similarities were fitted.
        embedder_digest: SHA-256 of its weights where known.
        n_questions: Questions of the data.
        n_pairs: Pairs of a gold and a system nugget.
        data_sha256: Hash of the file that was fitted.
        seed: The seed of mixture and search.
        n_trials: Thresholds that were tried.
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
