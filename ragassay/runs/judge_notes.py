"""Sentences on how a run's judge answered, for the notes of its summary."""

from __future__ import annotations

from ragassay.agents.sampling import LOGPROBS
from ragassay.models.answered_by import mixture_notes
from ragassay.records import Summary
from ragassay.reports.text import count_text


def judge_notes(summary: Summary, n_samples: int) -> tuple[str, ...]:
    """Say where a judge was several systems, needed no samples, or lost some.

    Args:
        summary: The run in numbers.
        n_samples: The setting `samples`.
    """
    usage = summary.usage
    notes = [*mixture_notes(usage.answered_by)]
    if n_samples > 1 and LOGPROBS in usage.confidence_from:
        n = summary.confidence_from.get(LOGPROBS, 0)
        notes.append(
            f"The judge gives log-probabilities ({count_text(n, 'verdict')}), which say more than "
            f"{n_samples} samples: none were drawn there, and none are paid for."
        )
    if usage.n_failed_samples:
        n = count_text(usage.n_failed_samples, "sample")
        notes.append(f"{n} gave no usable reply and are left out of their distributions.")
    return tuple(notes)
