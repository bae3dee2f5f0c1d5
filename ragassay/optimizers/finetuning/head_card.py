"""The card of a fine-tuned verifier: what it learnt from, and how it did on other claims."""

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
    """What a run's report and `ragassay models show` say of a user's verifier.

    Args:
        model: Its name in settings.
        base: The model below it.
        digest: SHA-256 of its weights.
        training: How it came about.
        measured: Its labels beside people's on claims that it did not learn from; None without any.
        command: What trained and measured it.
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
    scores = {"accuracy": measured.accuracy, "macro-F1": measured.macro_f1}
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
