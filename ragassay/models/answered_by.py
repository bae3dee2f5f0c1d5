"""Name who answered a call, as the provider says: the dated model and the system's fingerprint.

A hosted name such as gpt-4.1-mini stands for a model that its provider replaces. Two replies with
different dated names or fingerprints come from different systems, whatever the seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

SEPARATOR = ": "
MOST_CHARS = 120
"""Longest name or fingerprint that is kept: both are a server's own words."""


def answered_by(asked: str, response: Any) -> str:
    """Return who answered, as `Usage.answered_by` keeps it.

    Args:
        asked: LiteLLM name of the model that was asked.
        response: LiteLLM's response; `model` and `system_fingerprint` are read.

    Example:
        >>> from types import SimpleNamespace
        >>> reply = SimpleNamespace(model="gpt-4.1-mini-2025-04-14", system_fingerprint="fp_4470")
        >>> answered_by("openai/gpt-4.1-mini", reply)
        'openai/gpt-4.1-mini: gpt-4.1-mini-2025-04-14 fp_4470'
    """
    names = (getattr(response, name, None) for name in ("model", "system_fingerprint"))
    told = [" ".join(name.split())[:MOST_CHARS] for name in names if isinstance(name, str) and name]
    return SEPARATOR.join([asked, " ".join(told)]) if told else asked


def mixture_notes(answered: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each model that answered under several names or fingerprints.

    Args:
        answered: From `Usage.answered_by`.

    Example:
        >>> notes = mixture_notes(["openai/a: a-2025 fp_1", "openai/a: a-2025 fp_2", "openai/b: b"])
        >>> [note.partition(".")[0] for note in notes]
        ['openai/a answered as 2 systems: a-2025 fp_1; a-2025 fp_2']
    """
    names: dict[str, list[str]] = defaultdict(list)
    for entry in answered:
        asked, _, told = entry.partition(SEPARATOR)
        names[asked].append(told or "without a name")
    return tuple(_note(asked, told) for asked, told in sorted(names.items()) if len(told) > 1)


def _note(asked: str, told: Sequence[str]) -> str:
    shown = "; ".join(sorted(told))
    return f"{asked} answered as {len(told)} systems: {shown}. Verdicts may differ between them."
