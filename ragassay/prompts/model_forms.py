"""Tables of published models by name: embedding models and verifiers, and how each is asked."""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Mapping
from typing import Literal

import yaml

from ragassay.prompts.texts import around_passage, prompt_text
from ragassay.records import Verdict
from ragassay.records.base import Frozen

_EMBEDDERS_FILE = "embedders.yaml"

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
    return EmbedderForms.model_validate(yaml.safe_load(prompt_text(_EMBEDDERS_FILE)))


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


_VERIFIERS_FILE = "verifiers.yaml"
_CHECKERS = "fact_checkers.yaml"


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


class CheckerForm(Frozen):
    """The input of a fact checker of one architecture.

    Attributes:
        text: With {claim} and {passage}; marks such as </s> are the tokenizer's own.
        n_tokens: Longest input.
        labels: Its outputs for "not supported" and "supported": classes, or token ids.
        chunk: Longest part of a passage that is scored at a time; 0 for all of it.
        unit: What `chunk` counts.
    """

    text: str
    n_tokens: int
    labels: tuple[int, int]
    chunk: int = 0
    unit: Literal["words", "tokens"] = "words"


class CheckerKind(ScorerKind):
    """A kind of fact checkers, each with the form and the cut of its own program.

    Attributes:
        is_strict: Whether a score at the threshold does not support.
        forms: By the architecture.
    """

    is_strict: bool = False
    forms: dict[str, CheckerForm]

    @property
    def least_score(self) -> float:
        """The least score that supports."""
        return math.nextafter(self.threshold, math.inf) if self.is_strict else self.threshold


class PublishedChecker(Frozen):
    """A fact checker on Hugging Face's hub.

    Attributes:
        repository: Its name on the hub.
        base: The model that it was fine-tuned from.
        size: Its number of weights, as its card says; empty where that says none.
        licence: As its card names it.
    """

    kind: str
    repository: str
    base: str
    size: str = ""
    licence: str


class ChatChecker(Frozen):
    """A fact checker that a server answers for.

    Attributes:
        name: Tells it, in small letters, inside a model's name.
        text: The user's message, with {claim} and {passage}.
        threshold: The probability of "Yes" above which a claim is supported.
        source: Where these come from.
    """

    name: str
    system: str
    text: str
    threshold: float
    source: str


class FactCheckers(Frozen):
    """The table of fact checkers, as `fact_checkers.yaml` describes it."""

    version: int
    checkers: dict[str, CheckerKind]
    published: dict[str, PublishedChecker]
    chat: ChatChecker

    def find_published(self, name: str) -> tuple[str, PublishedChecker] | None:
        """Return a published checker and its short name, by either of its names."""
        for short, one in self.published.items():
            if name in (short, one.repository):
                return short, one
        return None

    def is_chat(self, name: str) -> bool:
        """Return whether a model's name is of the checker that a server answers for."""
        return self.chat.name in name.lower()


class VerifierKinds(Frozen):
    """The table, as `verifiers.yaml` describes it, with the fact checkers."""

    version: int
    writers: dict[str, WriterKind]
    scorers: dict[str, ScorerKind]
    facts: FactCheckers

    @property
    def all(self) -> Mapping[str, WriterKind | ScorerKind]:
        """All kinds, by name."""
        return {**self.writers, **self.scorers, **self.facts.checkers}

    def find(self, name: str) -> tuple[str, str]:
        """Return the kind and the model that a verifier's name means; two empty texts for none.

        Example:
            >>> load_verifier_kinds().find("google/flan-t5-large")
            ('flan', 'google/flan-t5-large')
            >>> load_verifier_kinds().find("true:models/mine")
            ('true', 'models/mine')
            >>> load_verifier_kinds().find("minicheck-roberta")
            ('minicheck', 'lytang/MiniCheck-RoBERTa-Large')
        """
        if found := self.facts.find_published(name):
            return found[1].kind, found[1].repository
        kind, colon, model = name.partition(":")
        if kind in self.all:
            return kind, model if colon else self.all[kind].model
        for kind, one in self.all.items():
            if one.pattern and re.search(one.pattern, name):
                return kind, name
        return "", ""


@functools.cache
def load_verifier_kinds() -> VerifierKinds:
    """Read both tables."""
    facts = yaml.safe_load(prompt_text(_CHECKERS))
    return VerifierKinds.model_validate(
        {**yaml.safe_load(prompt_text(_VERIFIERS_FILE)), "facts": facts}
    )


@functools.cache
def verifier_kinds_sha256() -> str:
    """Return a hash of the table: verdicts depend on its words."""
    return hashlib.sha256(prompt_text(_VERIFIERS_FILE).encode()).hexdigest()
