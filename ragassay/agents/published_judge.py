"""Rate answers with published judge models, in the formats they were trained on."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import dspy

from ragassay.agents.replies import read_reply, require_no_correction
from ragassay.agents.reply_values import convert_value
from ragassay.agents.sampling import ModelCall
from ragassay.errors import ExtraError, UnparsableReplyError
from ragassay.model_names import SCALE, FormName, JudgeForm
from ragassay.models.gateway import meter_calls
from ragassay.prompts import Rubric
from ragassay.prompts.texts import hash_published_prompt, load_prometheus_texts
from ragassay.records import Case, Document, Judgment

Messages = list[dict[str, str]]

YESCIEVAL_CLASSES = {
    "cohesion": ("stylistic", "Cohesion"),
    "conciseness": ("stylistic", "Conciseness"),
    "readability": ("stylistic", "Readability"),
    "coherence": ("structural", "Coherence"),
    "integration": ("structural", "Integration"),
    "relevancy": ("structural", "Relevancy"),
    "correctness": ("fidelity", "Correctness"),
    "completeness": ("fidelity", "Completeness"),
    "informativeness": ("fidelity", "Informativeness"),
}
"""Module and class name in the `yescieval` package, keyed by rubric name."""

_YESCIEVAL_TAG = re.compile(
    r"<(?=/?(?:scientific-synthesis|research-question|paper-titles-and-abstracts)>)", re.IGNORECASE
)
_PROMETHEUS_HEADING = re.compile(
    r"^###(?= ?(?:Task Desc|The instruction|Response to|Reference Answer|Score Rubric|Feedback))",
    re.IGNORECASE | re.MULTILINE,
)
_RESULT = re.compile(r"\[(result|score)\]", re.IGNORECASE)


def is_rated_by(form: JudgeForm, rubric: Rubric, rubric_set: str) -> bool:
    """Return whether a prompt format supports a rubric from a rubric set."""
    if form.rubric_set:
        return rubric_set == form.rubric_set and rubric.name in YESCIEVAL_CLASSES
    return rubric.bounds == SCALE


def describe_prompt_texts(form: JudgeForm) -> str:
    """Return the source and version of a prompt format's texts.

    Raises:
        ExtraError: The package that contains the texts is required but not installed.
    """
    try:
        return f"{form.package} {importlib.metadata.version(form.package)}"
    except importlib.metadata.PackageNotFoundError as error:
        if form.is_needed:
            raise ExtraError(
                f"{form.title} requires the package {form.package} for its prompts: "
                f"pip install {form.package}, or use ragassay's prompts with --judge-form plain"
            ) from error
        return f"ragassay's own words, {hash_published_prompt()[:8]}"


def render(form: JudgeForm, case: Case, rubric: Rubric) -> Messages:
    """Return the messages that request a rating of the answer on a rubric.

    Raises:
        ExtraError: The package with the prompt texts is not installed.
    """
    return _RENDERERS[form.name](case, rubric)


def _render_yescieval(case: Case, rubric: Rubric) -> Messages:
    prompt = load_yescieval_class(rubric.name)(
        papers=_format_papers(case.sources),
        question=_escape_tags(case.question),
        answer=_escape_tags(case.judged_answer),
    )
    return [{"role": str(m["role"]), "content": str(m["content"])} for m in prompt.instruct()]


@functools.cache
def load_yescieval_class(rubric: str) -> Any:
    """Return the class in the `yescieval` package for a rubric.

    Raises:
        ExtraError: The installed package lacks the class.
    """
    group, name = YESCIEVAL_CLASSES[rubric]
    try:
        return getattr(importlib.import_module(f"yescieval.rubric.pointwise.{group}"), name)
    except (ImportError, AttributeError) as error:
        raise ExtraError(
            f"the installed package yescieval cannot be used ({error}): "
            "pip install 'yescieval>=0.10'"
        ) from error


def _format_papers(sources: tuple[Document, ...]) -> dict[str, str]:
    """Return abstracts keyed by title. A number is added to duplicate titles.

    Example:
        >>> _format_papers((Document(id="1", text="a"), Document(id="2", text="b")))
        {'Source 1': 'a', 'Source 2': 'b'}
    """
    papers: dict[str, str] = {}
    for n, source in enumerate(sources, 1):
        title = _escape_tags(source.title.strip()) or f"Source {n}"
        papers[f"{title} ({n})" if title in papers else title] = _escape_tags(source.text)
    return papers


def _escape_tags(text: str) -> str:
    return _YESCIEVAL_TAG.sub("&lt;", text)


def _render_prometheus(case: Case, rubric: Rubric) -> Messages:
    """Render a Prometheus 2 direct assessment, with the reference answer if available.

    The user message starts with the system prompt, as in the training data of Prometheus 2.
    """
    reference = " ".join(case.reference_sentences)
    system, template = load_prometheus_prompts(bool(reference))
    parts = {
        "instruction": _format_instruction(case),
        "response": _escape_headings(case.judged_answer),
        "reference_answer": _escape_headings(reference),
        "rubric": _format_rubric(rubric),
    }
    user = re.sub(r"\{(\w{1,40})\}", lambda match: parts.get(match[1], match[0]), template)
    return [{"role": "user", "content": f"{system}\n\n{user}"}]


def _format_instruction(case: Case) -> str:
    listed = (
        f"[{n}] {source.title + '. ' if source.title else ''}{source.text}"
        for n, source in enumerate(case.sources, 1)
    )
    sources = "\n".join(listed)
    text = f"{case.question}\n\nAnswer from these sources:\n{sources}" if sources else case.question
    return _escape_headings(text)


def _format_rubric(rubric: Rubric) -> str:
    criterion = f"{rubric.about} {rubric.question}".strip()
    levels = (f"Score {rating}: {text}" for rating, text in sorted(rubric.scale.items()))
    return "\n".join([f"[{rubric.title.capitalize()}: {criterion}]", *levels])


def _escape_headings(text: str) -> str:
    return _RESULT.sub(r"(\1)", _PROMETHEUS_HEADING.sub("##", text))


@functools.cache
def load_prometheus_prompts(has_reference: bool) -> tuple[str, str]:
    """Return the system message and the template, from `prometheus-eval` if installed."""
    published = load_prometheus_module()
    if published is not None:
        template = published.ABSOLUTE_PROMPT if has_reference else published.ABSOLUTE_PROMPT_WO_REF
        return published.ABS_SYSTEM_PROMPT, template
    words = load_prometheus_texts()
    parts = {
        "Task Description": words.task_with_reference if has_reference else words.task,
        "The instruction to evaluate": "{instruction}",
        "Response to evaluate": "{response}",
        "Reference Answer (Score 5)": "{reference_answer}" if has_reference else "",
        "Score Rubrics": "{rubric}",
    }
    shown = (f"###{heading}:\n{text}\n\n" for heading, text in parts.items() if text)
    return words.system, "".join(shown) + "###Feedback: "


def load_prometheus_module() -> ModuleType | None:
    """Return the template module of prometheus-eval, or None if it is not installed.

    The module is loaded on its own, because the package imports many unneeded libraries.
    """
    package = importlib.util.find_spec("prometheus_eval")
    for folder in (package.submodule_search_locations if package else None) or ():
        file = Path(folder) / "prompts.py"
        spec = importlib.util.spec_from_file_location("_ragassay_prometheus_prompts", file)
        if spec is not None and spec.loader is not None and file.is_file():
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None


_RENDERERS: Mapping[FormName, Callable[[Case, Rubric], Messages]] = {
    "yescieval": _render_yescieval,
    "prometheus": _render_prometheus,
}


_YESCIEVAL_NAME = re.compile(
    r"""([A-Za-z ]{1,40})["'\u2018\u2019\u201c\u201d]?\s{0,9}:\s{0,99}\{[^{}:]{0,99}:\s{0,99}$"""
)
"""Text before the rating in a YESciEval reply such as {"Cohesion": {"rating": "4", ...}}."""

_PROMETHEUS = re.compile(
    r"\[(?:RESULT|SCORE)\][\s:(\[*]{0,9}(?P<rating>\d{1,9}(?:\.\d{1,9})?)", re.I
)
"""End of a Prometheus 2 reply, such as [RESULT] 4."""


@dataclass(frozen=True)
class PublishedRating:
    """Rating from 1 to 5 and rationale in a reply. `offset` is the offset of the rating."""

    rating: int
    rationale: str
    offset: int


def read_rating(form: JudgeForm, text: str, rubric: str) -> PublishedRating:
    """Parse the rating in a reply.

    Raises:
        UnparsableReplyError: The rating is missing, or is for another rubric.
    """
    return _READERS[form.name](text, rubric)


def read_rating_distribution(
    form: JudgeForm, logprobs: Any, rubric: str
) -> tuple[float, ...] | None:
    """Return the probability of each rating from 1 to 5, or None if unknown.

    Args:
        logprobs: `choices[0].logprobs` of the reply, or None.
    """
    tokens = list(getattr(logprobs, "content", None) or ())
    try:
        offset = read_rating(form, "".join(token.token for token in tokens), rubric).offset
    except UnparsableReplyError:
        return None
    start = 0
    for token in tokens:
        if start <= offset < start + len(token.token):
            return _compute_weights(token)
        start += len(token.token)
    return None


def _compute_weights(token: Any) -> tuple[float, ...] | None:
    low, high = SCALE
    weights = dict.fromkeys(map(str, range(low, high + 1)), 0.0)
    for option in token.top_logprobs or ():
        digit = option.token.strip(" \t\r\n\"'([")
        if digit in weights and math.isfinite(option.logprob):
            weights[digit] += math.exp(min(0.0, option.logprob))
    total = sum(weights.values())
    return tuple(weight / total for weight in weights.values()) if total > 0 else None


def _read_yescieval(text: str, rubric: str) -> PublishedRating:
    """Parse a reply such as {"Cohesion": {"rating": "4", "rationale": "..."}}."""
    try:
        fields = read_reply(text, ("rating", "rationale"), ("rating",))
    except ValueError as error:
        raise UnparsableReplyError(f"{error} in {text[:200]!r}") from error
    field = fields["rating"]
    rating = convert_value("rating", field.value, Literal[1, 2, 3, 4, 5])
    require_no_correction(text, field, {rating}, Literal[1, 2, 3, 4, 5])
    named = _YESCIEVAL_NAME.search(text[max(0, field.start - 300) : field.start])
    if named and named[1].strip().casefold() != rubric.casefold():
        raise UnparsableReplyError(f"the reply rates {named[1].strip()!r}, not {rubric!r}")
    reason = (
        convert_value("rationale", fields["rationale"].value, str) if "rationale" in fields else ""
    )
    return PublishedRating(rating, reason.strip(), text.find(str(rating), field.start))


def _read_prometheus(text: str, rubric: str) -> PublishedRating:
    """Parse a Prometheus 2 reply: feedback, and a rating after the last [RESULT]."""
    *_, match = (None, *_PROMETHEUS.finditer(text))
    low, high = SCALE
    if match is None:
        raise UnparsableReplyError(f"the reply has no [RESULT] with a number: {text[-200:]!r}")
    rating = float(match["rating"])
    if rating not in range(low, high + 1):
        raise UnparsableReplyError(f"the result {match['rating']} is not from {low} to {high}")
    feedback = text[: match.start()].strip().removeprefix("Feedback:").strip()
    return PublishedRating(int(rating), feedback, match.start("rating"))


_READERS: Mapping[FormName, Callable[[str, str], PublishedRating]] = {
    "yescieval": _read_yescieval,
    "prometheus": _read_prometheus,
}


async def rate_published(case: Case, rubric: Rubric, form: JudgeForm) -> Judgment:
    """Rate an answer with the model configured in DSPy.

    No schema is enforced, because the judge was trained to use its own format. If log-probabilities
    are available, the score is the expected rating.

    Raises:
        ModelError: The call failed, and the class of the error shows why.
        ExtraError: The package with the prompt texts is not installed.
    """
    lm = dspy.settings.lm
    call = ModelCall(
        lm,
        render(form, case, rubric),
        {"max_tokens": max(form.max_reply_tokens, lm.kwargs.get("max_tokens") or 0)},
        lambda reply: (
            read_rating(form, reply["text"], rubric.name),
            read_rating_distribution(form, reply["logprobs"], rubric.name),
        ),
    )
    with meter_calls() as meter:
        published, weights = await call.draw()
    low, high = SCALE
    score = float(published.rating)
    if weights is not None:
        ratings = range(low, high + 1)
        score = sum(rating * weight for rating, weight in zip(ratings, weights, strict=True))
    return Judgment(
        rubric=rubric.name,
        scale=SCALE,
        rating=published.rating,
        score=round(min(float(high), max(float(low), score)), 4),
        distribution=tuple(round(weight, 6) for weight in weights) if weights else None,
        rationale=published.rationale,
        usage=meter.usage,
    )
