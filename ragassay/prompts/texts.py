"""Read the files of texts and fill their templates, for graders, proposers and judges."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Literal

import yaml

from ragassay.records import DirectGrader, ExamGrader, ExamItem, Mark
from ragassay.records.base import Frozen

_PASSAGE = "{passage}"
_FIELD = re.compile(r"\{(\w+)\}")


def prompt_text(name: str) -> str:
    """Return the content of a file in this folder.

    Args:
        name: e.g. "agents.yaml".
    """
    return files("ragassay.prompts").joinpath(name).read_text(encoding="utf-8")


def around_passage(template: str, **texts: str) -> tuple[str, str]:
    """Cut a template at the passage and fill each part; a text's own braces stay as they are."""
    before, _, after = template.strip().partition(_PASSAGE)
    return _fill_fields(before, texts), _fill_fields(after, texts)


def _fill_fields(part: str, texts: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda found: texts[found[1]], part)


class PrometheusTexts(Frozen):
    """The prompt of Prometheus 2 without its package.

    Attributes:
        task_with_reference: The same, where there is a reference answer.
    """

    system: str
    task: str
    task_with_reference: str


@functools.cache
def load_prometheus_texts() -> PrometheusTexts:
    """Load what Prometheus 2 is told without its package."""
    return PrometheusTexts(**yaml.safe_load(prompt_text("published.yaml"))["prometheus"])


@functools.cache
def published_sha256() -> str:
    """Return a hash of these texts."""
    return hashlib.sha256(prompt_text("published.yaml").encode()).hexdigest()


class ImproveTexts(Frozen):
    """The request for a better instruction, and the headings of the cases shown."""

    task: str
    case: str
    given: str
    replied: str
    remark: str


class FeedbackTexts(Frozen):
    """Feedback on a reply. Names in braces stand for what was found and what is right."""

    right: str
    wrong: str
    unusable: str
    at_most: str
    perturbed: str
    missed: str
    spare: str
    articles: str
    distance: str


class ProposalTexts(Frozen):
    """All prompts for writing instructions.

    Attributes:
        again: Added where a model that does not sample should say something else.
    """

    version: int
    improve: ImproveTexts
    again: str
    feedback: FeedbackTexts
    labels: dict[str, str]


@functools.cache
def load_proposals() -> ProposalTexts:
    """Load the texts that the package ships."""
    return ProposalTexts.model_validate(yaml.safe_load(prompt_text("proposals.yaml")))


_FILE = "graders.yaml"


class ItemTexts(Frozen):
    """A text for each kind of item."""

    question: str
    nugget: str


class RelevanceExample(Frozen):
    """A query and a passage with the right reply."""

    query: str
    passage: str
    reply: Literal["yes", "no"]


class GraderPrompts(Frozen):
    """Templates of the prompts, as `graders.yaml` describes them."""

    version: int
    rating: ItemTexts
    scale: ItemTexts
    extraction: ItemTexts
    relevance: dict[DirectGrader, str]
    examples: tuple[RelevanceExample, ...]


@functools.cache
def load_grader_prompts() -> GraderPrompts:
    """Read the templates."""
    return GraderPrompts.model_validate(yaml.safe_load(prompt_text(_FILE)))


@functools.cache
def grader_prompts_sha256() -> str:
    """Return a hash of the templates."""
    return hashlib.sha256(prompt_text(_FILE).encode()).hexdigest()


def item_prompt(item: ExamItem, grader: ExamGrader) -> tuple[str, str]:
    """Return the text before the passage and after it, for an item of a bank."""
    prompts = load_grader_prompts()
    template = getattr(prompts.rating if grader == "rating" else prompts.extraction, item.kind)
    return around_passage(template, scale=getattr(prompts.scale, item.kind), item=item.text)


def relevance_prompt(query: str, grader: DirectGrader) -> tuple[str, str]:
    """Return the text before the passage and after it, for a query."""
    prompts = load_grader_prompts()
    name = "Question" if grader.startswith("fagb") else "Query"
    examples = "\n".join(
        f"{name}: {one.query}\nText: {one.passage}\nReply: {one.reply}" for one in prompts.examples
    )
    return around_passage(prompts.relevance[grader], examples=examples, query=query)


MOST_NAMED = 3
"""Most sentences that a reason names: in a longer list a small model loses count."""

HIGH, LOW = 4, 2
"""Ratings from and up to which an unperturbed answer is called good or bad."""


class UnperturbedTexts(Frozen):
    """Reasons for the rating of an unperturbed answer."""

    high: str
    middle: str
    low: str


class Rationales(Frozen):
    """All reasons.

    Attributes:
        verbs: Plurals by singular.
        unperturbed: By rubric.
        perturbed: By attack.
        marks: What is wrong with the sentences that an attack inserted, by attack; other sentences
            are fine.
    """

    version: int
    verbs: dict[str, str]
    unperturbed: dict[str, UnperturbedTexts]
    perturbed: dict[str, str]
    marks: dict[str, Mark]

    def of_unperturbed(self, rubric: str, rating: int) -> str:
        """Return why an unperturbed answer got a rating."""
        words = self.unperturbed[rubric]
        return words.high if rating >= HIGH else words.low if rating <= LOW else words.middle

    def of_perturbed(self, attack: str, sentences: Sequence[int]) -> str:
        """Return why a perturbed answer is rated low.

        Args:
            sentences: Numbers of the sentences that were added or changed; may be empty.
        """
        named = list_sentence_numbers(sentences)
        verbs = {one: one if len(sentences) == 1 else more for one, more in self.verbs.items()}
        return self.perturbed[attack].format(
            Sentences=named, sentences=named[:1].lower() + named[1:], **verbs
        )


def list_sentence_numbers(sentences: Sequence[int]) -> str:
    """Name sentences by their numbers; of many, the first ones.

    Example:
        >>> list_sentence_numbers([3, 5, 6]), list_sentence_numbers([2, 4, 6, 8])
        ('Sentences 3, 5 and 6', 'Sentences 2, 4, 6 and others')
    """
    named = [str(number) for number in sentences[:MOST_NAMED]]
    named += ["others"] if len(sentences) > MOST_NAMED else []
    *first, last = named or [""]
    return f"Sentences {', '.join(first)} and {last}" if first else f"Sentence {last}"


@functools.cache
def load_rationales() -> Rationales:
    """Load the reasons that the package ships."""
    return Rationales.model_validate(yaml.safe_load(prompt_text("rationales.yaml")))


SIGNALS_FILE = "signals.yaml"


class AnswerSignal(Frozen):
    """A measure of an answer as a whole.

    Attributes:
        about: Its name in words.
        better: Whether a good answer has more or less of it.
        shown: The measure shown to a reader in its place; empty for itself.
    """

    about: str
    better: Literal["high", "low"]
    shown: str = ""


class RubricSignals(Frozen):
    """The signals of a rubric.

    Attributes:
        shown: Measures of sentences shown to a judge, the most informative first.
        rated: Measures of the answer that the embedded judge rates with.
        needs_sources: Whether the embedded judge cannot rate an answer without sources.
    """

    shown: tuple[str, ...]
    rated: tuple[str, ...]
    needs_sources: bool = False


class ReasonTexts(Frozen):
    """Wording of the embedded judge's reasons.

    Attributes:
        none: Where nothing lowers a rating.
        twin: Where two sentences are alike.
        sentence: By the measure of a sentence.
        answer: By the signal of an answer that summarises no such measure.
    """

    none: str
    twin: str
    sentence: dict[str, str]
    answer: dict[str, str]


class SignalTexts(Frozen):
    """All texts about signals.

    Attributes:
        sentence: Names of the measures of a sentence.
        gap: Name for a source's sentence that the answer does not cover.
        reasons: How the embedded judge gives its reasons.
    """

    version: int
    sentence: dict[str, str]
    answer: dict[str, AnswerSignal]
    gap: str
    rubrics: dict[str, RubricSignals]
    reasons: ReasonTexts


@functools.cache
def load_signals() -> SignalTexts:
    """Load the signals that the package ships."""
    return SignalTexts.model_validate(yaml.safe_load(prompt_text(SIGNALS_FILE)))
