"""Measure verifiers against people's labels of claims (BioACE, tables 4, 5, 8, 10 and 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.metrics.agreement import agreement
from ragassay.metrics.averages import Average, Averaged
from ragassay.metrics.discrimination import discrimination
from ragassay.records import Score


@dataclass(frozen=True)
class Verification:
    """A verifier against people, on claims of two or three labels.

    Attributes:
        accuracy: Share of claims on which they agree.
        averages: With two labels binary, macro and weighted; with three macro and weighted.
        auc: Area under the ROC curve of the share of the first label against people's, as in table
            3; None where the verifier gave no shares.
    """

    accuracy: Score
    averages: tuple[Averaged, ...]
    auc: Score | None


def verification(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    labels: Sequence[str],
    questions: Sequence[str],
    shares: Sequence[float | None] | None = None,
) -> Verification:
    """Compare a verifier's labels with people's. scikit-learn computes the values.

    Args:
        truth: shape (n,), people's labels.
        predicted: shape (n,), the verifier's; None is unscored: left out and counted.
        labels: All labels, two or three; the first is that of a supported claim.
        questions: shape (n,), the question or group of each claim; intervals resample them.
        shares: shape (n,), the verifier's share of the first label, for the area.

    Raises:
        InputError: The lengths differ, or a label is not among `labels`.
    """
    ways: tuple[Average, ...] = ("macro", "weighted")
    if len(labels) == 2:
        ways = ("binary", *ways)
    found = agreement(truth, predicted, labels, questions, averages=ways)
    area = None
    if shares is not None:
        is_first = [label == labels[0] for label in truth]
        area = discrimination(shares, is_first, questions).auroc
    return Verification(found.accuracy, tuple(found.averages.values()), area)
