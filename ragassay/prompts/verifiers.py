"""Read the table of published verifiers: what each is asked, in which words it replies."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping

import yaml

from ragassay.prompts.texts import around_passage, prompt_text
from ragassay.records import Verdict
from ragassay.records.base import Frozen

_FILE = "verifiers.yaml"


class VerifierPrompt(Frozen):
    """A question, and what replies to it start with.

    Attributes:
        text: With {claim} and {passage}.
        words: By the label that they mean; a label may have several.
    """

    text: str
    words: dict[Verdict, tuple[str, ...]]

    def around(self, claim: str) -> tuple[str, str]:
        """Return the text before the passage and after it."""
        return around_passage(self.text, claim=claim)


class WriterKind(Frozen):
    """A kind of models that write a label.

    Attributes:
        pattern: Tells the kind by a model's name on the hub.
        model: The published model that BioACE measures.
        n_tokens: Longest prompt.
        source: Its paper.
        prompts: By the number of labels.
    """

    pattern: str
    model: str
    n_tokens: int
    source: str
    prompts: dict[int, VerifierPrompt]

    def prompt_for(self, n_labels: int) -> VerifierPrompt:
        """Return the prompt with that many labels, or the only one; more than three are three."""
        wanted = self.prompts.get(min(n_labels, 3))
        return wanted or next(iter(self.prompts.values()))


class ScorerKind(Frozen):
    """A kind of models that score, so that a threshold decides between two labels.

    Attributes:
        pattern: Tells the kind by a model's name on the hub; empty if no name does.
        model: The published weights.
        beside: The model that it needs besides.
        scale: Lowest and highest score.
        threshold: Least score of a claim that is attributable, before it is fitted.
        source: Its paper.
        chosen: Where the threshold comes from.
    """

    pattern: str = ""
    model: str
    beside: str = ""
    scale: tuple[float, float]
    threshold: float
    source: str
    chosen: str


class VerifierKinds(Frozen):
    """The table, as `verifiers.yaml` describes it."""

    version: int
    writers: dict[str, WriterKind]
    scorers: dict[str, ScorerKind]

    @property
    def all(self) -> Mapping[str, WriterKind | ScorerKind]:
        """Both kinds, by name."""
        return {**self.writers, **self.scorers}

    def find(self, name: str) -> tuple[str, str]:
        """Return the kind and the model that a verifier's name means; two empty texts for none.

        Example:
            >>> load_verifier_kinds().find("google/flan-t5-large")
            ('flan', 'google/flan-t5-large')
            >>> load_verifier_kinds().find("true:models/mine")
            ('true', 'models/mine')
        """
        kind, colon, model = name.partition(":")
        if kind in self.all:
            return kind, model if colon else self.all[kind].model
        for kind, one in self.all.items():
            if one.pattern and re.search(one.pattern, name):
                return kind, name
        return "", ""


@functools.cache
def load_verifier_kinds() -> VerifierKinds:
    """Read the table."""
    return VerifierKinds.model_validate(yaml.safe_load(prompt_text(_FILE)))


@functools.cache
def verifier_kinds_sha256() -> str:
    """Return a hash of the table: verdicts depend on its words."""
    return hashlib.sha256(prompt_text(_FILE).encode()).hexdigest()
