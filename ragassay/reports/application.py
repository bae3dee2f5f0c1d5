"""The latency, tokens and cost of an application, in words."""

from __future__ import annotations

from ragassay.records import ApplicationUse
from ragassay.reports.labels import one_line
from ragassay.reports.text import count_text


def application_text(use: ApplicationUse) -> str:
    """Return latency, tokens and cost of an application as one line.

    Example:
        >>> application_text(ApplicationUse(name="a:b", n_asked=3, n_failed=1,
        ...     latency_p50_s=1.23, latency_p95_s=4.0, n_priced=2, cost_usd=0.03))
        'a:b answered 2 of 3 questions; half within 1.23 s, 95 % within 4.00 s; $0.0300.'
    """
    n_answered = use.n_asked - use.n_failed
    parts = [f"{use.name} answered {n_answered:,} of {count_text(use.n_asked, 'question')}"]
    if use.latency_p50_s is not None and use.latency_p95_s is not None:
        parts.append(
            f"half within {use.latency_p50_s:.2f} s, 95 % within {use.latency_p95_s:.2f} s"
        )
    n_tokens = use.n_prompt_tokens + use.n_completion_tokens
    if n_tokens:
        parts.append(f"{n_tokens:,} tokens")
    if use.cost_usd is not None:
        of = "" if use.n_priced == n_answered else f" for {use.n_priced:,} of them"
        parts.append(f"${use.cost_usd:.4f}{of}")
    return one_line("; ".join(parts) + ".")
