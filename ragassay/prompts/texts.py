"""Load prompt text files and fill their templates."""

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


def read_prompt_file(name: str) -> str:
    """Return the content of a file in this folder, such as "agents.yaml"."""
    return files("ragassay.prompts").joinpath(name).read_text(encoding="utf-8")


def fill_around_passage(template: str, **texts: str) -> tuple[str, str]:
    """Fill a template and return the parts before and after the passage.

    Placeholders inside the inserted texts are not filled.
    """
    before, _, after = template.strip().partition(_PASSAGE)
    return _fill_fields(before, texts), _fill_fields(after, texts)


def _fill_fields(part: str, texts: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda found: texts[found[1]], part)


class PrometheusTexts(Frozen):
    """Prompt for Prometheus 2, for installations without the package `prometheus-eval`.

    Attributes:
        task_with_reference: Same as `task`, for questions with a reference answer.
    """

    system: str
    task: str
    task_with_reference: str


@functools.cache
def load_prometheus_texts() -> PrometheusTexts:
    """Load the packaged prompt for Prometheus 2."""
    return PrometheusTexts(**yaml.safe_load(read_prompt_file("published.yaml"))["prometheus"])


@functools.cache
def hash_published_prompt() -> str:
    """Return a hash of the packaged prompt for Prometheus 2."""
    return hashlib.sha256(read_prompt_file("published.yaml").encode()).hexdigest()


class ImproveTexts(Frozen):
    """Prompt that asks a model to improve an instruction, with headings for example cases."""

    task: str
    case: str
    inputs: str
    replied: str
    remark: str


class FeedbackTexts(Frozen):
    """Templates for feedback on a reply, with placeholders for the reply and the correct value."""

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
    """Prompts that ask a model to propose instructions.

    Attributes:
        again: Text added to a prompt to get a different reply from a deterministic model.
    """

    version: int
    improve: ImproveTexts
    again: str
    feedback: FeedbackTexts
    labels: dict[str, str]


@functools.cache
def load_proposals() -> ProposalTexts:
    """Load `proposals.yaml`."""
    return ProposalTexts.model_validate(yaml.safe_load(read_prompt_file("proposals.yaml")))


_FILE = "graders.yaml"


class ItemTexts(Frozen):
    """Texts for both kinds of test bank items."""

    question: str
    nugget: str


class RelevanceExample(Frozen):
    """Example of a query and a passage, with the correct reply."""

    query: str
    passage: str
    reply: Literal["yes", "no"]


class GraderPrompts(Frozen):
    """Content of `graders.yaml`."""

    version: int
    rating: ItemTexts
    scale: ItemTexts
    extraction: ItemTexts
    relevance: dict[DirectGrader, str]
    examples: tuple[RelevanceExample, ...]


@functools.cache
def load_grader_prompts() -> GraderPrompts:
    """Load `graders.yaml`."""
    return GraderPrompts.model_validate(yaml.safe_load(read_prompt_file(_FILE)))


@functools.cache
def hash_grader_prompts() -> str:
    """Return a hash of `graders.yaml`."""
    return hashlib.sha256(read_prompt_file(_FILE).encode()).hexdigest()


def fill_item_prompt(item: ExamItem, grader: ExamGrader) -> tuple[str, str]:
    """Return the prompt text before and after the passage, for a test bank item."""
    prompts = load_grader_prompts()
    template = getattr(prompts.rating if grader == "rating" else prompts.extraction, item.kind)
    return fill_around_passage(template, scale=getattr(prompts.scale, item.kind), item=item.text)


def fill_relevance_prompt(query: str, grader: DirectGrader) -> tuple[str, str]:
    """Return the prompt text before and after the passage, for a query."""
    prompts = load_grader_prompts()
    name = "Question" if grader.startswith("fagb") else "Query"
    examples = "\n".join(
        f"{name}: {one.query}\nText: {one.passage}\nReply: {one.reply}" for one in prompts.examples
    )
    return fill_around_passage(prompts.relevance[grader], examples=examples, query=query)


MOST_NAMED = 3
"""Maximum number of sentences that a reason lists. Small models lose count in longer lists."""

HIGH, LOW = 4, 2
"""Lowest rating that counts as high, and highest rating that counts as low."""


class UnperturbedTexts(Frozen):
    """Reasons for a high, middle or low rating of an unperturbed answer."""

    high: str
    middle: str
    low: str


class Rationales(Frozen):
    """Texts of the reasons with which a judge is trained.

    Attributes:
        verbs: Plural forms of verbs, keyed by the singular form.
        marks: Mark of the sentences that an attack inserts, keyed by attack.
    """

    version: int
    verbs: dict[str, str]
    unperturbed: dict[str, UnperturbedTexts]
    perturbed: dict[str, str]
    marks: dict[str, Mark]

    def explain_unperturbed(self, rubric: str, rating: int) -> str:
        """Return the reason for the rating of an unperturbed answer."""
        texts = self.unperturbed[rubric]
        return texts.high if rating >= HIGH else texts.low if rating <= LOW else texts.middle

    def explain_perturbed(self, attack: str, sentences: Sequence[int]) -> str:
        """Return the reason for the low rating of a perturbed answer.

        Args:
            sentences: Numbers of the sentences that the attack added or changed. May be empty.
        """
        named = list_sentence_numbers(sentences)
        verbs = {one: one if len(sentences) == 1 else more for one, more in self.verbs.items()}
        return self.perturbed[attack].format(
            Sentences=named, sentences=named[:1].lower() + named[1:], **verbs
        )


def list_sentence_numbers(sentences: Sequence[int]) -> str:
    """List sentence numbers as text, at most `MOST_NAMED`.

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
    """Load `rationales.yaml`."""
    return Rationales.model_validate(yaml.safe_load(read_prompt_file("rationales.yaml")))


SIGNALS_FILE = "signals.yaml"


class AnswerSignal(Frozen):
    """Signal for a whole answer.

    Attributes:
        shown: Name of the signal that readers see instead (empty if readers see this signal
            itself).
    """

    about: str
    better: Literal["high", "low"]
    shown: str = ""


class RubricSignals(Frozen):
    """Signals that are used for a rubric.

    Attributes:
        shown: Sentence signals shown to a judge, most informative first.
        rated: Answer signals from which a rating is computed.
        needs_sources: Whether only answers with sources can be rated.
    """

    shown: tuple[str, ...]
    rated: tuple[str, ...]
    needs_sources: bool = False


class ReasonTexts(Frozen):
    """Templates for the reasons of ratings that are computed from signals.

    Attributes:
        answer: Texts for signals that are not computed from sentence signals, keyed by signal.
    """

    none: str
    twin: str
    sentence: dict[str, str]
    answer: dict[str, str]


class SignalTexts(Frozen):
    """Content of `signals.yaml`.

    Attributes:
        gap: Text that introduces a source sentence that the answer does not cover.
    """

    version: int
    sentence: dict[str, str]
    answer: dict[str, AnswerSignal]
    gap: str
    rubrics: dict[str, RubricSignals]
    reasons: ReasonTexts


@functools.cache
def load_signals() -> SignalTexts:
    """Load `signals.yaml`."""
    return SignalTexts.model_validate(yaml.safe_load(read_prompt_file(SIGNALS_FILE)))
