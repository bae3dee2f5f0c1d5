"""The card of a fine-tuned verifier: its training data, and its figures on other claims."""

from __future__ import annotations

from ragassay.metrics.agreement import Agreement
from ragassay.models.adapters import Training
from ragassay.records import CardFigure, ModelCard

TASK = "claims and passages, three labels"
FITTED = (
    "Its probabilities were fitted to the claims that it was measured on, which changes no label."
)
NOT_MEASURED = "It was not measured on claims that it did not learn from."


def head_card(
    model: str,
    base: str,
    digest: str,
    training: Training,
    measured: Agreement | None,
    command: str,
) -> ModelCard:
    """Return the card that a report and `ragassay models show` print for a user's verifier.

    Args:
        model: The verifier's name in settings.
        base: The base model.
        digest: SHA-256 of its weights.
        training: A description of its training.
        measured: Its agreement with people on held-out claims; None without any.
        command: The command that trained and measured it.
    """
    begun = f", begun with the adapter {training.start[:12]}" if training.start else ""
    return ModelCard(
        model=model,
        description=(
            f"A low-rank adapter that makes {base} a cross-encoder: it reads a passage and a "
            "claim, and a linear head tells whether one bears out the other. It writes nothing. "
            f"Trained on {training.n_examples:,} examples from {', '.join(training.data)} "
            f"(SHA-256 {training.data_sha256}), each seen {_times(training.epochs)}, "
            f"seed {training.seed}{begun}."
        ),
        digest=digest,
        limits=(NOT_MEASURED if measured is None else FITTED,),
        figures=() if measured is None else _figures(measured, training.dev, command),
    )


def _figures(measured: Agreement, data: str, command: str) -> tuple[CardFigure, ...]:
    scores = {"accuracy": measured.accuracy, "macro-F1": measured.averages["macro"].f1}
    return tuple(
        CardFigure(
            task=TASK,
            data=data,
            metric=metric,
            value=score.value,
            low=score.low,
            high=score.high,
            n=score.n,
            command=command,
        )
        for metric, score in scores.items()
        if score.value is not None
    )


def _times(epochs: float) -> str:
    return "once" if epochs == 1 else f"{epochs:.3g} times"
