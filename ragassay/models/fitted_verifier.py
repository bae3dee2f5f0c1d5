"""Thresholds of a verifier, fitted to labelled claims (BioACE, section 2.2): a file, and its model.

`ragassay verifiers fit` writes the file; wherever a verifier is named, its path names the verifier
with these thresholds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError
from ragassay.metrics.thresholds import Thresholds, decided_shares
from ragassay.models.entailment import (
    EntailmentModel,
    Pair,
    labels_known,
    reads_whole,
    unsupported_spans,
)
from ragassay.records import Score, UnsupportedSpan
from ragassay.records.base import Frozen
from ragassay.small_files import read_small

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_DIGITS = 12
"""Hexadecimal digits by which a fitted file knows a text again."""


class FittedThresholds(Frozen):
    """The result of `ragassay verifiers fit`.

    Attributes:
        verifier: The verifier's name.
        digest: SHA-256 of its weights where known; else empty.
        n_labels: The labels that are told apart.
        thresholds: Of its shares; see `decided_shares`.
        objective: What is as large as it can be on the claims that were learnt from.
        learnt: Its value there, fitted.
        before: Its value on the claims held out, unfitted.
        after: Its value on the claims held out, fitted.
        data: Names of the files of claims.
        texts: Marks of the claims and documents that were learnt from; see `mark_of`.
        seed: Of the split.
    """

    version: Literal[1] = 1
    verifier: str
    digest: str = ""
    n_labels: Literal[2, 3]
    thresholds: Thresholds
    objective: Literal["f1", "macro_f1"]
    learnt: Score
    before: Score
    after: Score
    data: tuple[str, ...] = ()
    texts: tuple[str, ...] = Field(default=(), repr=False)
    seed: int = 0

    @classmethod
    def read(cls, path: Path) -> FittedThresholds:
        """Read a file.

        Raises:
            SettingsError: There is none, or it is another file.
        """
        try:
            return cls.model_validate_json(read_small(path))
        except (OSError, ValueError, ValidationError) as error:
            raise SettingsError(
                f"{path} has no fitted thresholds: write it by `ragassay verifiers fit`"
            ) from error


def mark_of(text: str) -> str:
    """Return the start of the SHA-256 of a text, white space apart."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:N_DIGITS]


class FittedVerifier:
    """A verifier whose labels are decided by fitted thresholds.

    Bounds of the verifier do not hold for it: they were found for its own probabilities.

    Args:
        fitted: The thresholds.
        model: The verifier that they were fitted to.

    Raises:
        SettingsError: The verifier has other weights than the one they were fitted to.
    """

    bounds = ()

    def __init__(self, fitted: FittedThresholds, model: EntailmentModel) -> None:
        if fitted.digest and model.digest and fitted.digest != model.digest:
            raise SettingsError(
                f"the thresholds of {fitted.verifier} were fitted to other weights: fit them again"
            )
        self.name = f"{model.name}, thresholds fitted"
        self.digest = hashlib.sha256(
            f"{model.digest} {fitted.thresholds.model_dump_json()}".encode()
        ).hexdigest()
        self.n_labels, self.reads_whole = (
            min(fitted.n_labels, labels_known(model)),
            reads_whole(model),
        )
        self.fitted, self._model = fitted, model

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return shares of which the largest is the label that the thresholds decide on."""
        return decided_shares(self._model.probabilities(pairs), self.fitted.thresholds)

    def spans(self, claim: str, passage: str) -> tuple[UnsupportedSpan, ...]:
        """Return the claim's unsupported parts, where the verifier marks tokens."""
        return unsupported_spans(self._model, (claim, passage))
