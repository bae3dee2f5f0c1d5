"""Assign gold nuggets to an answer with a fitted pair classifier.

There is no prompt and no language model: judged text cannot instruct it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.metrics.uncertainty import rounded_bits
from ragassay.models.entailment import EntailmentModel
from ragassay.records import ASSIGNMENTS, Assignment, Case, Failure, NuggetAssignment


class EncoderAssigner:
    """Says whether an answer states a nugget, or that it cannot tell.

    Args:
        model: Its probabilities of a nugget and an answer are those of `ASSIGNMENTS`, in order.
        bounds: Least probability at which a label was found to be right often enough; a label
            without one is never given.
    """

    def __init__(self, model: EntailmentModel, bounds: Mapping[Assignment, float]) -> None:
        self.model, self._bounds = model, dict(bounds)

    @property
    def identity(self) -> tuple[str, ...]:
        """Name, digest and bounds: all that its verdicts depend on besides the texts."""
        bounds = (f"{label} {self._bounds[label]}" for label in sorted(self._bounds))
        return (self.model.name, self.model.digest, *bounds)

    def assign(self, case: Case, gold: int, nugget: str) -> NuggetAssignment:
        """Hold one gold nugget against the answer.

        Args:
            case: The case.
            gold: Position of the nugget among the gold ones (0-based).
            nugget: Its text.
        """
        answer = " ".join(sentence.text for sentence in case.sentences)
        shares = self.model.probabilities([(nugget, answer)])[0].tolist()
        best = max(range(len(shares)), key=shares.__getitem__)
        label, confidence = ASSIGNMENTS[best], round(shares[best], 4)
        least = self._bounds.get(label)
        found = NuggetAssignment(
            gold=gold, confidence=confidence, entropy_bits=rounded_bits(shares)
        )
        if least is not None and confidence >= least:
            return found.model_copy(update={"assignment": label})
        detail = f"leans to {label.replace('_', ' ')} at {confidence:.2f}"
        detail += f"; it is right often enough only from {least:.2f} up" if least else ""
        failure = Failure(reason="undecided", detail=detail)
        return found.model_copy(update={"leaning": label, "failure": failure})
