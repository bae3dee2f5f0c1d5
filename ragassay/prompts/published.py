"""The texts for published judges, where no package has their own."""

from __future__ import annotations

import functools
import hashlib

import yaml

from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen


class PrometheusWords(Frozen):
    """The prompt of Prometheus 2 without its package.

    Attributes:
        system: What it is.
        task: What it does.
        task_with_reference: The same, where there is a reference answer.
    """

    system: str
    task: str
    task_with_reference: str


@functools.cache
def load_prometheus_words() -> PrometheusWords:
    """Load what Prometheus 2 is told without its package."""
    return PrometheusWords(**yaml.safe_load(prompt_text("published.yaml"))["prometheus"])


@functools.cache
def published_sha256() -> str:
    """Return a hash of these texts."""
    return hashlib.sha256(prompt_text("published.yaml").encode()).hexdigest()
