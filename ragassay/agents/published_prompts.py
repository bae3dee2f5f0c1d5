"""Render a rating in the form that a published judge was trained on.

The words of YESciEval come from its package `yescieval`, those of Prometheus 2 from
`prometheus-eval` where it is installed; neither is copied here. What is judged is untrusted: it can
neither close a part of a form nor write a result.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ragassay.errors import ExtraError
from ragassay.judge_forms import SCALE, FormName, JudgeForm
from ragassay.prompts import Rubric
from ragassay.prompts.published import load_prometheus_words, published_sha256
from ragassay.records import Case, Document

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
"""Module and class of the package `yescieval`, by our rubrics' names."""

_YESCIEVAL_TAG = re.compile(
    r"<(?=/?(?:scientific-synthesis|research-question|paper-titles-and-abstracts)>)", re.IGNORECASE
)
_PROMETHEUS_HEADING = re.compile(
    r"^###(?= ?(?:Task Desc|The instruction|Response to|Reference Answer|Score Rubric|Feedback))",
    re.IGNORECASE | re.MULTILINE,
)
_RESULT = re.compile(r"\[(result|score)\]", re.IGNORECASE)


def is_rated_by(form: JudgeForm, rubric: Rubric, rubric_set: str) -> bool:
    """Return whether a form can ask for a rubric.

    Args:
        form: The form.
        rubric: The rubric.
        rubric_set: The set that it is of.
    """
    if form.rubric_set:
        return rubric_set == form.rubric_set and rubric.name in YESCIEVAL_CLASSES
    return rubric.bounds == SCALE


def words_of(form: JudgeForm) -> str:
    """Return whose words a form is rendered in, with their version.

    Raises:
        ExtraError: The package is not installed, and there are no other words.
    """
    try:
        return f"{form.package} {importlib.metadata.version(form.package)}"
    except importlib.metadata.PackageNotFoundError as error:
        if form.is_needed:
            raise ExtraError(
                f"{form.title} is asked in the words of its package {form.package}: "
                f"pip install {form.package}, or ask it as any other model with --judge-form plain"
            ) from error
        return f"ragassay's own words, {published_sha256()[:8]}"


def render(form: JudgeForm, case: Case, rubric: Rubric) -> Messages:
    """Return the messages that ask for the rating of a case's answer on a rubric.

    Raises:
        ExtraError: The words of the form are not installed.
    """
    return _RENDERERS[form.name](case, rubric)


def _render_yescieval(case: Case, rubric: Rubric) -> Messages:
    """Render by YESciEval's own class for the rubric."""
    asked = _yescieval_class(rubric.name)(
        papers=_papers(case.sources),
        question=_untagged(case.question),
        answer=_untagged(case.judged_answer),
    )
    return [{"role": str(m["role"]), "content": str(m["content"])} for m in asked.instruct()]


@functools.cache
def _yescieval_class(rubric: str) -> Any:
    group, name = YESCIEVAL_CLASSES[rubric]
    try:
        return getattr(importlib.import_module(f"yescieval.rubric.pointwise.{group}"), name)
    except (ImportError, AttributeError) as error:
        raise ExtraError(
            f"the installed package yescieval cannot be used ({error}): "
            "pip install 'yescieval>=0.10'"
        ) from error


def _papers(sources: tuple[Document, ...]) -> dict[str, str]:
    """Return abstracts by title, as YESciEval takes them; a title that is there twice is numbered.

    Example:
        >>> _papers((Document(id="1", text="a"), Document(id="2", text="b", title="Source 1")))
        {'Source 1': 'a', 'Source 1 (2)': 'b'}
    """
    papers: dict[str, str] = {}
    for n, source in enumerate(sources, 1):
        title = _untagged(source.title.strip()) or f"Source {n}"
        papers[f"{title} ({n})" if title in papers else title] = _untagged(source.text)
    return papers


def _untagged(text: str) -> str:
    """Return a text without the tags of YESciEval's form."""
    return _YESCIEVAL_TAG.sub("&lt;", text)


def _render_prometheus(case: Case, rubric: Rubric) -> Messages:
    """Render the direct assessment of Prometheus 2, with the reference answer if there is one.

    Its base, Mistral, has no system message: as in its training, that stands first in the user's.
    """
    reference = " ".join(case.reference_sentences)
    system, template = _prometheus_words(bool(reference))
    parts = {
        "instruction": _instruction(case),
        "response": _defused(case.judged_answer),
        "reference_answer": _defused(reference),
        "rubric": _score_rubric(rubric),
    }
    user = re.sub(r"\{(\w{1,40})\}", lambda found: parts.get(found[1], found[0]), template)
    return [{"role": "user", "content": f"{system}\n\n{user}"}]


def _instruction(case: Case) -> str:
    """Return the question, with the sources that the answer may use."""
    listed = (
        f"[{n}] {source.title + '. ' if source.title else ''}{source.text}"
        for n, source in enumerate(case.sources, 1)
    )
    sources = "\n".join(listed)
    told = f"{case.question}\n\nAnswer from these sources:\n{sources}" if sources else case.question
    return _defused(told)


def _score_rubric(rubric: Rubric) -> str:
    criterion = f"{rubric.about} {rubric.question}".strip()
    levels = (f"Score {rating}: {text}" for rating, text in sorted(rubric.scale.items()))
    return "\n".join([f"[{rubric.title.capitalize()}: {criterion}]", *levels])


def _defused(text: str) -> str:
    return _RESULT.sub(r"(\1)", _PROMETHEUS_HEADING.sub("##", text))


@functools.cache
def _prometheus_words(has_reference: bool) -> tuple[str, str]:
    """Return the system message and the template, those of its package where that is installed."""
    published = _prometheus_module()
    if published is not None:
        template = published.ABSOLUTE_PROMPT if has_reference else published.ABSOLUTE_PROMPT_WO_REF
        return published.ABS_SYSTEM_PROMPT, template
    words = load_prometheus_words()
    parts = {
        "Task Description": words.task_with_reference if has_reference else words.task,
        "The instruction to evaluate": "{instruction}",
        "Response to evaluate": "{response}",
        "Reference Answer (Score 5)": "{reference_answer}" if has_reference else "",
        "Score Rubrics": "{rubric}",
    }
    shown = (f"###{heading}:\n{text}\n\n" for heading, text in parts.items() if text)
    return words.system, "".join(shown) + "###Feedback: "


def _prometheus_module() -> ModuleType | None:
    """Return the module of prometheus-eval that has its templates; None where there is none.

    It is loaded alone: the package itself imports libraries that no judge here needs.
    """
    found = importlib.util.find_spec("prometheus_eval")
    for folder in (found.submodule_search_locations if found else None) or ():
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
