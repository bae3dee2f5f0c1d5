"""The options of evaluations and audits, which the Python API and the command line share.

To expose a setting as an option, add its name and type to `Keywords`. The option gets its flag,
help and default from the setting.
"""

from __future__ import annotations

import inspect
import textwrap
from collections import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import Field
from pydantic.fields import FieldInfo

from ragassay.errors import InputError, SettingsError
from ragassay.model_names import FormChoice, format_model_options
from ragassay.prompts import Criteria, Rubric, RubricSet, Strategy, is_rubric_file
from ragassay.records import PARTS, Document, ExamItem, Nugget, Record
from ragassay.settings import (
    FIELDS,
    GROUP_OF,
    GROUPS,
    CitationEvidence,
    EngineName,
    EvidenceMode,
    Flag,
    Search,
    Settings,
    VerdictLabels,
    convert_judges,
    load_settings,
)

if TYPE_CHECKING:
    import pandas as pd
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.retrievers import BaseRetriever
    from pydantic import BaseModel

    from ragassay.evaluators.own import OwnEvaluator
    from ragassay.formats.objects import Response, Sample, ScoredNode, Table, TestCase, TestCases
    from ragassay.retrievers.literature import Literature

    Row = Record | Mapping[str, object] | Sample | TestCase
    One = Record | Sample | TestCase
    Rows = One | Iterable[Row] | TestCases | Mapping[str, Sequence[object]]
    Answers = str | Path | Rows | pd.DataFrame | Table
    AnswerLike = str | Response | BaseModel | Mapping[str, object]
    SourceLike = str | Document | Mapping[str, str] | LangChainDocument | ScoredNode
    CorpusLike = str | Path | Literature | BaseRetriever | Iterable[SourceLike]
    NuggetsLike = str | Path | Iterable[str | Nugget | Mapping[str, str]]
    RubricLike = str | Path | Rubric | Criteria
    EvaluatorLike = str | OwnEvaluator
else:  # These types are not used at run time, and their libraries take seconds to import.
    Answers = AnswerLike = SourceLike = CorpusLike = Any
    NuggetsLike = RubricLike = EvaluatorLike = Any

OptionStyle = Literal["keyword", "flag"]
RETRIEVAL = "retrieval"
"""Part of an evaluation that measures retrieval and is available only in `ragassay.run`."""

F = TypeVar("F", bound=Callable[..., object])


class Keywords(TypedDict, total=False):
    """Options of evaluations and audits. None means unset."""

    model: str | Sequence[str] | None
    api_base: str | None
    model_options: Mapping[str, object] | str | Sequence[str] | None
    escalate: str | None
    when: str | None
    judge_form: FormChoice | None
    strategy: Strategy | None
    samples: int | None
    decisions: Literal["auto", "on", "off"] | None
    judge_seed: int | None
    prompts: str | Path | Sequence[str | Path] | None
    only: str | Sequence[str] | None
    rubric_set: RubricSet | None
    rubrics: RubricLike | Sequence[RubricLike] | None
    evaluators: EvaluatorLike | Sequence[EvaluatorLike] | None
    signals: bool | None
    correctness: str | None
    labeller: str | None
    grades: str | Sequence[str] | None
    grader: str | None
    items_per_call: int | None
    pairs_per_call: int | None
    qa_coverage: Literal["pair", "answer"] | None
    verifier: str | None
    verdict_labels: VerdictLabels | None
    citation_evidence: CitationEvidence | None
    attribution: bool | None
    evidence: EvidenceMode | None
    evidence_rounds: int | None
    evidence_turns: int | None
    corpus: Annotated[
        CorpusLike | None,
        Flag(group="Literature", kind=str),
        Field(
            description="Corpus to search for evidence and cited documents. It can be a folder "
            "written by `ragassay corpus build`, a JSONL file, or `pubmed`. In Python, the corpus "
            "can also be a list of documents, a LangChain retriever, or an object that implements "
            "`Literature`."
        ),
    ]
    embedder: str | None
    search: Search | None
    reranker: str | None
    questions: Annotated[
        str | Path | None,
        Field(
            description="Topics file for TREC runs without questions, or question file for a "
            "BioASQ submission."
        ),
    ]
    column_map: Annotated[
        Mapping[str, str] | str | Sequence[str] | None,
        Flag(("--map",), metavar="FIELD=COLUMN"),
        Field(
            description="Names of the columns that contain the fields of a record, if they are not "
            "recognized: question=query,answer=output. The fields are id, question, answer, "
            "sources, nuggets, reference, system, topic, date and rubrics. Other columns become "
            "metadata, unless they are named id, question, answer, system or topic."
        ),
    ]
    nuggets: Annotated[
        NuggetsLike | None,
        Flag(kind=Path),
        Field(
            description="File of gold nuggets: {topic_id: [text]}, nuggetizer output, or a Rubric "
            "workbench test bank. In Python, a list of nuggets is also accepted for a single "
            "answer."
        ),
    ]
    testbank: Annotated[
        str | Path | Sequence[ExamItem] | None,
        Flag(kind=Path),
        Field(
            description="Test bank for grading the answers: a file from `ragassay testbank` or the "
            "Rubric workbench. In Python, a list of items is also accepted and is used for every "
            "answer."
        ),
    ]
    batch: bool | None
    concurrency: int | None
    max_rpm: int | None
    max_usd: float | None
    engine: EngineName | None
    address: str | None
    workers: int | None
    tracing: bool | None
    tracing_content: bool | None
    out: Annotated[
        str | Path | None,
        Flag(metavar="PATH", group="Output"),
        Field(
            description="Run folder, which stores results and finished work. On the command line, "
            "the default is runs/NAME, where NAME comes from the name of the answer file."
        ),
    ]
    retry_failed: Annotated[
        bool | None,
        Flag(group="Output"),
        Field(description="Retry the failed answers and verdicts in `out`."),
    ]


class EvaluateKeywords(Keywords, total=False):
    """Options of an evaluation."""

    limit: Annotated[int | None, Field(ge=1, description="Evaluate only the first N answers.")]


class RunKeywords(EvaluateKeywords, total=False):
    """Options of `ragassay.evaluate` and `ragassay.run`."""

    audit: Annotated[
        int | None,
        Field(
            ge=1,
            description="Number of answers to perturb and judge after the run. "
            "`results.audit` shows which perturbations the judge noticed.",
        ),
    ]
    repeat: Annotated[
        int | None,
        Field(
            ge=2,
            description="Total number of times to judge each answer. `results.repeats` shows how "
            "many verdicts changed.",
        ),
    ]
    fail_under: Annotated[
        Mapping[str, float] | str | Sequence[str] | None,
        Field(
            description="Minimum value of the mean of a score: {'correctness': 3.5} or "
            "'correctness=3.5'. Raises `BelowError` if a mean is lower, and `UnmeasuredError` if "
            "the mean is unknown."
        ),
    ]
    raise_on_failure: Annotated[
        bool | None,
        Field(
            description="Raise `UnjudgedError` if an answer, a verdict or a row failed. The error "
            "contains the results."
        ),
    ]


class AuditKeywords(Keywords, total=False):
    """Options of an audit."""

    limit: Annotated[
        int | None,
        Field(
            ge=0,
            default=20,
            description="Number of answers to perturb, spread over the questions; 0 for all.",
        ),
    ]
    seed: Annotated[
        int | None,
        Field(default=0, description="Seed for sampling and perturbing answers."),
    ]
    attacks: Annotated[
        str | Sequence[str] | None,
        Flag(metavar="NAME"),
        Field(description="Attack or attack family (rubric, clinical, injection) to apply."),
    ]
    use_perturbed: Annotated[
        bool | None,
        Field(
            description="Use the perturbed answers in a YESciEval file instead of creating new "
            "ones."
        ),
    ]
    paraphraser: Annotated[
        str | None,
        Flag(metavar="NAME"),
        Field(
            description="Model (LiteLLM name or NAME@URL) that paraphrases repeated sentences. "
            "By default, rules create the paraphrases."
        ),
    ]


HEADINGS = (*(group.title() for group in GROUPS), "Input")
"""Headings of the groups of options in the help, in order."""

SETS = {"model": ("model", "panel")}
"""Settings that an option changes, if it changes others than the setting of the same name."""


@dataclass(frozen=True)
class Option:
    """Option created from a setting or from an entry of a keywords class.

    Attributes:
        sets: Names of the settings that the option changes. Empty for an option without a setting.
        kind: Type of the value on the command line.
        metavar: Placeholder for the value in the help. By default, the type or the choices.
        default: Default value, used only in the help.
        help: Help text, which includes the default.
    """

    name: str
    sets: tuple[str, ...]
    flags: tuple[str, ...]
    kind: Any
    metavar: str | None
    least: int | None
    most: int | None
    default: object
    help: str
    group: str

    @property
    def flag(self) -> str:
        """Command-line flag."""
        return " / ".join(self.flags)

    @property
    def keyword(self) -> str:
        """Name of the keyword argument, as error messages show it in Python."""
        return f"`{self.name}=`"


@cache
def list_options(keywords: type) -> dict[str, Option]:
    """Return the options of a keywords class, by name."""
    hints = get_type_hints(keywords, include_extras=True)
    return {name: _build_option(name, hint) for name, hint in hints.items()}


def _build_option(name: str, hint: Any) -> Option:
    sets = SETS.get(name, (name,) if name in FIELDS else ())
    fields = [FIELDS[one] for one in sets] or [FieldInfo.from_annotation(hint)]
    first, marks = fields[0], fields[0].metadata
    flag = next((mark for mark in marks if isinstance(mark, Flag)), Flag())
    kind = flag.kind or (list[str] if len(sets) > 1 else _detect_kind(first.annotation))
    numbers = [part for part in get_args(kind) if isinstance(part, int)]
    default = None if first.is_required() else first.default
    long = f"--{name.replace('_', '-')}"
    switch = f"{long}/--no-{long.removeprefix('--')}"
    return Option(
        name,
        sets,
        (switch,) if sets and kind is bool else tuple(dict.fromkeys((*flag.names, long))),
        int if numbers else kind,
        flag.metavar,
        min(numbers, default=next((mark.ge for mark in marks if hasattr(mark, "ge")), None)),
        max(numbers, default=next((mark.le for mark in marks if hasattr(mark, "le")), None)),
        default,
        _format_help(" ".join(field.description or "" for field in fields), default),
        GROUP_OF[sets[0]].title() if sets else flag.group,
    )


def _detect_kind(annotation: Any) -> Any:
    """Return the command-line type of an annotation.

    On the command line, tuples and mappings are lists.
    """
    parts = [part for part in get_args(annotation) if part not in (NoneType, Ellipsis)]
    if get_origin(annotation) is Literal:
        return annotation
    if get_origin(annotation) is tuple:  # Typer takes no list of choices.
        return list[str] if get_origin(parts[0]) is Literal else list[parts[0]]
    if any(get_origin(part) in (abc.Sequence, abc.Mapping) for part in parts):
        return list[str]
    return Path if Path in parts else parts[0] if parts else annotation


def _format_help(text: str, default: object) -> str:
    if isinstance(default, bool):
        return f"{text} {'On' if default else 'Off'} by default."
    is_shown = isinstance(default, str | int) and default != ""
    return f"{text} Default: {default}." if is_shown else text


def create_settings(
    options: Mapping[str, object],
    base: Settings | None = None,
    style: OptionStyle = "keyword",
) -> Settings:
    """Create settings from options; other values come from `base` or the environment.

    Args:
        options: Values by the name of the option. None, empty lists, and options without a setting
            are ignored.
        style: Whether error messages name options as command-line flags or as Python keywords.

    Raises:
        SettingsError: A value is invalid, or two values contradict each other.
    """
    known = {name: o for name, o in list_options(EvaluateKeywords).items() if o.sets}
    arguments: dict[str, Any] = {
        n: v for n, v in options.items() if n in known and v not in (None, (), [])
    }
    if isinstance(call_options := arguments.get("model_options"), Mapping):
        arguments["model_options"] = format_model_options(call_options)
    fields = {
        name: _list_value_names(to_tuple(value)) if get_origin(known[name].kind) is list else value
        for name, value in arguments.items()
        if name != "model"
    }
    if arguments.keys() & {"model", "api_base"}:
        endpoint = arguments.get("api_base") or (base and base.judge.api_base)
        fields |= convert_judges(to_tuple(arguments.get("model")), endpoint)
    names = {field: getattr(known[name], style) for name in arguments for field in known[name].sets}
    settings = load_settings(base, names, **fields)
    unknown = [part for part in settings.evaluation.only if part not in (*PARTS, RETRIEVAL)]
    has_custom = (
        settings.evaluation.evaluators
        or any(select_custom_evaluators(options))
        or any(map(is_rubric_file, settings.evaluation.rubrics))
    )
    if unknown and not has_custom:
        only = getattr(known["only"], style)
        raise SettingsError(f"{only}: unknown part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    if "when" in arguments and not settings.judge.escalate:
        when, second = (getattr(known[name], style) for name in ("when", "escalate"))
        raise SettingsError(f"{when} requires a second judge; set {second}")
    return settings


def _list_value_names(values: Iterable[Any]) -> tuple[str, ...]:
    names = (v.name if isinstance(v, Rubric) else v for v in values)
    return tuple(str(name) for name in names if isinstance(name, str | Path))


def select_custom_evaluators(
    options: Mapping[str, Any],
) -> tuple[list[OwnEvaluator], list[Rubric | Criteria]]:
    """Return the evaluators and rubrics that were passed as Python objects."""
    evaluators, rubrics = (to_tuple(options.get(name)) for name in ("evaluators", "rubrics"))
    return (
        [evaluator for evaluator in evaluators if not isinstance(evaluator, str)],
        [rubric for rubric in rubrics if isinstance(rubric, Rubric | Criteria)],
    )


def to_tuple(value: Any) -> tuple[Any, ...]:
    """Return a tuple of a single value, of the items of an iterable, or of nothing for None.

    A string or path counts as one value.
    """
    if value is None:
        return ()
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)


def check_options(options: Mapping[str, object], keywords: type) -> None:
    """Reject unknown options, and numbers below a minimum that the settings do not enforce.

    Raises:
        TypeError: An option is unknown.
        InputError: A number is too small.
    """
    known = list_options(keywords)
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"got an unexpected keyword argument {name!r}")
        option = known[name]
        if not option.sets and isinstance(value, int) and value < (option.least or 0):
            raise InputError(f"{option.keyword} must be at least {option.least}, got {value}")


def extend_signature(
    function: Callable[..., object], options: Iterable[inspect.Parameter], eval_str: bool = False
) -> inspect.Signature:
    """Return a function's signature, with its `**options` replaced by the individual options."""
    signature = inspect.signature(function, eval_str=eval_str)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    return signature.replace(parameters=[*own, *options])


def document_options(keywords: type) -> Callable[[F], F]:
    """Return a decorator that adds the options to the signature and docstring of a function."""

    def decorate(function: F) -> F:
        hints = get_type_hints(keywords)
        shown = (
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            for name, hint in hints.items()
        )
        function.__signature__ = extend_signature(function, shown)  # type: ignore[attr-defined]
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:"]
        for name, option in list_options(keywords).items():
            first, *more = textwrap.wrap(f"{name}: {option.help}", 92)
            lines += [f"    {first}", *(f"        {line}" for line in more)]
        function.__doc__ = "\n".join(lines)
        return function

    return decorate
