"""Input formats of published embedding models and verifiers, which the model name selects."""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Mapping
from typing import Literal

import yaml

from ragassay.prompts.texts import fill_around_passage, read_prompt_file
from ragassay.records import Verdict
from ragassay.records.base import Frozen

_EMBEDDERS_FILE = "embedders.yaml"

Pooling = Literal["mean", "cls", "pooler", "lasttoken"]

TextRole = Literal["text", "query", "passage", "question", "answer", "pair", "sentence"]
"""Purpose of an embedded text.

A "text" is compared with other texts, and a "query" with passages. SciQAG's measures compare a
"question" with questions, and a "pair" or "answer" with each "sentence" of a paper.
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
    """Pooling and text prefixes of a family of embedding models.

    Attributes:
        pattern: Regular expression for the last part of the lower-case model name.
        query: Prefix of queries, with {task} for instruction-tuned models.
        same: Prefix of texts that are compared with each other, such as questions with questions.
        cosine_threshold: Minimum cosine with a passage at which a sentence counts as correct, or
            None for the threshold of `plain`.
    """

    pattern: str = ""
    pooling: Pooling
    query: str = ""
    passage: str = ""
    same: str = ""
    cosine_threshold: float | None = None
    source: str
    examples: tuple[str, ...] = ()

    def build_prefix(self, role: TextRole) -> str:
        """Return the prefix that the model expects before a text with this role.

        Example:
            >>> find_embedder_form("intfloat/e5-small-v2").build_prefix("query")
            'query: '
        """
        prefix: str = getattr(self, _SIDES[role])
        return prefix.replace("{task}", load_embedders().tasks.get(role, ""))

    @property
    def threshold(self) -> float:
        """Minimum cosine with a passage at which a sentence counts as correct."""
        own = self.cosine_threshold
        return own if own is not None else load_embedders().plain.threshold

    @property
    def digest(self) -> str:
        """Hash of the pooling method and the prefixes (empty for mean pooling without prefixes)."""
        parts = (self.pooling, self.query, self.passage, self.same)
        if parts == ("mean", "", "", ""):
            return ""
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class EmbedderForms(Frozen):
    """Content of `embedders.yaml`."""

    version: int
    tasks: dict[TextRole, str]
    plain: EmbedderForm
    forms: dict[str, EmbedderForm]


@functools.cache
def load_embedders() -> EmbedderForms:
    """Load `embedders.yaml`."""
    return EmbedderForms.model_validate(yaml.safe_load(read_prompt_file(_EMBEDDERS_FILE)))


@functools.cache
def find_embedder_form(model: str) -> EmbedderForm:
    """Return the input format of an embedding model.

    Args:
        model: Hugging Face name, or a folder with the model name as its last part.

    Example:
        >>> find_embedder_form("princeton-nlp/sup-simcse-roberta-large").pooling
        'pooler'
        >>> find_embedder_form("all-MiniLM-L6-v2").pooling
        'mean'
    """
    table = load_embedders()
    name = model.rstrip("/").rpartition("/")[2].lower()
    matching = (form for form in table.forms.values() if re.search(form.pattern, name))
    return next(matching, table.plain)


_VERIFIERS_FILE = "verifiers.yaml"
_CHECKERS = "fact_checkers.yaml"


class VerifierPrompt(Frozen):
    """Prompt of a verifier that generates its label.

    Attributes:
        text: Template with {claim} and {passage}.
        words: Possible beginnings of a reply, keyed by label.
    """

    text: str
    words: dict[Verdict, tuple[str, ...]]

    def fill_prompt(self, claim: str) -> tuple[str, str]:
        """Return the prompt text before and after the passage."""
        return fill_around_passage(self.text, claim=claim)


class WriterKind(Frozen):
    """Family of verifiers that generate a label.

    Attributes:
        pattern: Regular expression for the Hugging Face name.
        model: Published model of this family that BioACE used.
        n_tokens: Maximum prompt length in tokens.
        prompts: Prompts, keyed by the number of labels.
    """

    pattern: str
    model: str
    n_tokens: int
    source: str
    prompts: dict[int, VerifierPrompt]

    def choose_prompt(self, n_labels: int) -> VerifierPrompt:
        """Return the prompt for up to three labels or, if there is none, the first prompt."""
        return self.prompts.get(min(n_labels, 3)) or next(iter(self.prompts.values()))


class ScorerKind(Frozen):
    """Family of verifiers that return a score. A threshold decides between two labels.

    Attributes:
        pattern: Regular expression for the Hugging Face name, which never matches if it is empty.
        beside: Name of a second model that the verifiers also need (empty if they need none).
        threshold: Minimum score for "supports" if no threshold was fitted.
        chosen: Text on where the default threshold comes from.
    """

    pattern: str = ""
    model: str
    beside: str = ""
    scale: tuple[float, float]
    threshold: float
    source: str
    chosen: str


class CheckerForm(Frozen):
    """Input format of the fact checkers that have one model architecture.

    Attributes:
        text: Template with {claim} and {passage}, and special tokens such as </s>.
        n_tokens: Maximum input length in tokens.
        labels: Class indexes or token ids for "not supported" and "supported".
        chunk: Maximum length of a passage chunk. 0 to score the whole passage.
    """

    text: str
    n_tokens: int
    labels: tuple[int, int]
    chunk: int = 0
    unit: Literal["words", "tokens"] = "words"


class CheckerKind(ScorerKind):
    """Family of fact checkers, whose input is formatted and chunked as in the original program.

    Attributes:
        is_strict: Whether the score must exceed the threshold. If False, a score equal to the
            threshold is enough.
    """

    is_strict: bool = False
    forms: dict[str, CheckerForm]

    @property
    def least_score(self) -> float:
        """Minimum score at which a claim is supported."""
        return math.nextafter(self.threshold, math.inf) if self.is_strict else self.threshold


class PublishedChecker(Frozen):
    """Fact checker on the Hugging Face Hub.

    Attributes:
        size: Number of weights according to the model card. Empty if unknown.
    """

    kind: str
    repository: str
    base: str
    size: str = ""
    licence: str


class ChatChecker(Frozen):
    """Fact checker that is called through a chat server.

    Attributes:
        name: Lower-case part of the model name that identifies the checker.
        text: Template of the user message with {claim} and {passage}.
        threshold: Probability of "Yes" above which a claim is supported.
    """

    name: str
    system: str
    text: str
    threshold: float
    source: str


class FactCheckers(Frozen):
    """Content of `fact_checkers.yaml`."""

    version: int
    checkers: dict[str, CheckerKind]
    published: dict[str, PublishedChecker]
    chat: ChatChecker

    def find_published(self, name: str) -> tuple[str, PublishedChecker] | None:
        """Return the short name and the checker for a short or Hugging Face name."""
        for short, one in self.published.items():
            if name in (short, one.repository):
                return short, one
        return None

    def is_chat(self, name: str) -> bool:
        """Return whether a model name refers to the chat checker."""
        return self.chat.name in name.lower()


class VerifierKinds(Frozen):
    """Content of `verifiers.yaml` and `fact_checkers.yaml`."""

    version: int
    writers: dict[str, WriterKind]
    scorers: dict[str, ScorerKind]
    facts: FactCheckers

    @property
    def all(self) -> Mapping[str, WriterKind | ScorerKind]:
        """All families of verifiers, keyed by name."""
        return {**self.writers, **self.scorers, **self.facts.checkers}

    def find(self, name: str) -> tuple[str, str]:
        """Return the family and model name of a verifier, or two empty strings if it is unknown.

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
    """Load `verifiers.yaml` and `fact_checkers.yaml`."""
    facts = yaml.safe_load(read_prompt_file(_CHECKERS))
    return VerifierKinds.model_validate(
        {**yaml.safe_load(read_prompt_file(_VERIFIERS_FILE)), "facts": facts}
    )


@functools.cache
def hash_verifier_kinds() -> str:
    """Return a hash of `verifiers.yaml`, whose prompts and thresholds affect verdicts."""
    return hashlib.sha256(read_prompt_file(_VERIFIERS_FILE).encode()).hexdigest()
