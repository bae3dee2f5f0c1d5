"""Read the table of embedding models: pooling, words before a text, cosine threshold, by name."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from typing import Literal

import yaml

from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen

_FILE = "embedders.yaml"

Pooling = Literal["mean", "cls", "pooler", "lasttoken"]

TextRole = Literal["text", "query", "passage", "question", "answer", "pair", "sentence"]
"""What a text is embedded for.

A "text" is compared with its like, a "query" with passages. SciQAG's measures compare a "question"
with questions, and a "pair" of question and answer, or an "answer", with each "sentence" of a
paper.
"""

_SIDES: Mapping[TextRole, Literal["query", "passage", "same"]] = {
    "text": "same",
    "question": "same",
    "query": "query",
    "answer": "query",
    "pair": "query",
    "passage": "passage",
    "sentence": "passage",
}


class EmbedderForm(Frozen):
    """Pooling and words before a text of a family of embedding models.

    Attributes:
        pattern: Is searched for in the last part of a model's name, in lower case.
        pooling: How the tokens' vectors become one.
        query: Stands before a text that searches; with {task} for a model with instructions.
        passage: Stands before a text that is searched.
        same: Stands before texts that are compared with their like.
        cosine_threshold: Cosine from which a sentence counts as correct; None for that of `plain`.
        source: Where this is published.
        examples: Models of the family.
    """

    pattern: str = ""
    pooling: Pooling
    query: str = ""
    passage: str = ""
    same: str = ""
    cosine_threshold: float | None = None
    source: str
    examples: tuple[str, ...] = ()

    def prefix(self, role: TextRole) -> str:
        """Return the words before a text.

        Example:
            >>> form_of("intfloat/e5-small-v2").prefix("query")
            'query: '
        """
        words: str = getattr(self, _SIDES[role])
        return words.replace("{task}", load_embedders().tasks.get(role, ""))

    @property
    def threshold(self) -> float:
        """Cosine from which a sentence counts as correct."""
        own = self.cosine_threshold
        return own if own is not None else load_embedders().plain.threshold

    @property
    def digest(self) -> str:
        """Hash of what vectors depend on; empty for the plain form, which adds nothing."""
        parts = (self.pooling, self.query, self.passage, self.same)
        if parts == ("mean", "", "", ""):
            return ""
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class EmbedderForms(Frozen):
    """The table, as `embedders.yaml` describes it."""

    version: int
    tasks: dict[TextRole, str]
    plain: EmbedderForm
    forms: dict[str, EmbedderForm]


@functools.cache
def load_embedders() -> EmbedderForms:
    """Read the table."""
    return EmbedderForms.model_validate(yaml.safe_load(prompt_text(_FILE)))


@functools.cache
def form_of(model: str) -> EmbedderForm:
    """Return how a model embeds, by its name.

    Args:
        model: A name on the hub, or a folder whose last part is the name.

    Example:
        >>> form_of("princeton-nlp/sup-simcse-roberta-large").pooling
        'pooler'
        >>> form_of("all-MiniLM-L6-v2").pooling
        'mean'
    """
    table = load_embedders()
    name = model.rstrip("/").rpartition("/")[2].lower()
    matching = (form for form in table.forms.values() if re.search(form.pattern, name))
    return next(matching, table.plain)
