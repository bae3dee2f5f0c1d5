"""Every option of an evaluation and of an audit, once.

The keywords of `ragassay.evaluate` and `ragassay.audit` and the command line's flags are made from
this module. An option that sets a field of `Settings` takes its bounds, default and description
from there: to add one, name it in `Keywords`.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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

from ragassay.errors import InputError, SettingsError
from ragassay.judge_forms import FormChoice
from ragassay.model_options import written_options
from ragassay.prompts import Criteria, Rubric, RubricSet, Strategy, is_rubric_file
from ragassay.records import PARTS, Document, ExamItem, Nugget, Record
from ragassay.settings import (
    FIELDS,
    CitationEvidence,
    EngineName,
    Look,
    Search,
    Settings,
    VerdictLabels,
    load_settings,
    seated,
)

if TYPE_CHECKING:
    import pandas as pd
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.retrievers import BaseRetriever
    from pydantic import BaseModel

    from ragassay.evaluators.own import OwnEvaluator
    from ragassay.formats.foreign import Node, Response, Sample, Table, TestCase, TestCases
    from ragassay.retrievers.literature import Literature

    Row = Record | Mapping[str, object] | Sample | TestCase
    One = Record | Sample | TestCase
    Rows = One | Iterable[Row] | TestCases | Mapping[str, Sequence[object]]
    Answers = str | Path | Rows | pd.DataFrame | Table
    AnswerLike = str | Response | BaseModel | Mapping[str, object]
    SourceLike = str | Document | Mapping[str, str] | LangChainDocument | Node
    CorpusLike = str | Path | Literature | BaseRetriever | Iterable[SourceLike]
    NuggetsLike = str | Path | Iterable[str | Nugget | Mapping[str, str]]
    RubricLike = str | Path | Rubric | Criteria
    EvaluatorLike = str | OwnEvaluator
else:  # Their libraries take seconds to load, and nothing needs these at run time.
    Answers = AnswerLike = SourceLike = CorpusLike = Any
    NuggetsLike = RubricLike = EvaluatorLike = Any

Spelling = Literal["keyword", "flag"]
RETRIEVAL = "retrieval"
"""The part of an evaluation that `ragassay.run` alone adds."""

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes:
        help: Its description; by default that of the field it sets.
        flags: Short flags, besides the one from its name.
        metavar: The value's name in the help; by default its type or the choices.
        kind: The value's type on the command line.
        least: Least number.
        most: Greatest number.
        default: The default, for the help only.
        sets: The settings' fields that it sets; by default the one of its name.
        name: The keyword.
    """

    help: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    kind: Any = str
    least: int | None = None
    most: int | None = None
    default: object = None
    sets: tuple[str, ...] = ()
    name: str = ""

    @property
    def flag(self) -> str:
        """Its command-line flag."""
        return " / ".join(self.flags)

    @property
    def keyword(self) -> str:
        """Its Python keyword."""
        return f"`{self.name}=`"


class Keywords(TypedDict, total=False):
    """Options of an evaluation and of an audit; one without a value counts as not given."""

    corpus: Annotated[
        CorpusLike | None,
        Option(
            "Evidence and cited documents: a folder of `ragassay corpus build`, a JSONL file, or "
            "`pubmed`; from Python also documents, a LangChain retriever, or anything that fulfils "
            "`Literature`."
        ),
    ]
    out: Annotated[
        str | Path | None,
        Option(
            "Folder of the run, which keeps finished work. The command line "
            "makes one in runs/ that is named as the file of answers.",
            metavar="PATH",
            kind=Path,
        ),
    ]
    model: Annotated[
        str | Sequence[str] | None,
        Option(
            flags=("--model", "--judge"), metavar="NAME", kind=list[str], sets=("model", "panel")
        ),
    ]
    api_base: Annotated[str | None, Option(metavar="URL")]
    model_options: Annotated[
        Mapping[str, object] | str | Sequence[str] | None,
        Option(flags=("--model-option",), metavar="NAME=VALUE"),
    ]
    escalate: Annotated[str | None, Option(metavar="NAME")]
    when: Annotated[str | None, Option(metavar="CONDITION")]
    only: Annotated[str | Sequence[str] | None, Option(metavar="PART")]
    rubric_set: RubricSet | None
    rubrics: Annotated[
        RubricLike | Sequence[RubricLike] | None,
        Option(flags=("--rubric",), metavar="NAME|FILE.yaml"),
    ]
    evaluators: Annotated[
        EvaluatorLike | Sequence[EvaluatorLike] | None,
        Option(flags=("--evaluator",), metavar="MODULE:NAME"),
    ]
    strategy: Strategy | None
    samples: int | None
    decisions: Literal["auto", "on", "off"] | None
    judge_seed: int | None
    judge_form: FormChoice | None
    signals: bool | None
    evidence: Look | None
    evidence_rounds: int | None
    evidence_turns: int | None
    embedder: Annotated[str | None, Option(metavar="NAME")]
    search: Annotated[Search | None, Option(flags=("--by",))]
    reranker: Annotated[str | None, Option(metavar="NAME")]
    verifier: Annotated[str | None, Option(metavar="NAME")]
    verdict_labels: Annotated[VerdictLabels | None, Option(flags=("--labels",))]
    citation_evidence: Annotated[CitationEvidence | None, Option(flags=("--citations",))]
    attribution: bool | None
    correctness: Annotated[str | None, Option(metavar="NAME")]
    labeller: Annotated[str | None, Option(metavar="NAME")]
    prompts: Annotated[str | Path | Sequence[str | Path] | None, Option(metavar="PATH")]
    questions: Annotated[
        str | Path | None,
        Option(
            "Topics, for TREC runs that bring no questions; BioASQ's questions, for a submission.",
            kind=Path,
        ),
    ]
    column_map: Annotated[
        Mapping[str, str] | str | Sequence[str] | None,
        Option(
            "Which column of a file or frame is which field, for names that no known format has: "
            "question=query,answer=output. Fields are id, question, answer, sources, nuggets, "
            "reference, system, topic, date, rubrics. A column that is not named becomes metadata, "
            "but for id, question, answer, system and topic.",
            flags=("--map",),
            metavar="FIELD=COLUMN",
            kind=list[str],
        ),
    ]
    nuggets: Annotated[
        NuggetsLike | None,
        Option(
            "File of gold nuggets: {topic_id: [text]}, the nuggetizer's, or a test bank of the "
            "Rubric workbench; for one answer, given from Python, a list of nuggets.",
            kind=Path,
        ),
    ]
    testbank: Annotated[
        str | Path | Sequence[ExamItem] | None,
        Option(
            "Test bank that grades the answers: a file by `ragassay testbank`, or the Rubric "
            "workbench's; from Python also a list of items, for all answers.",
            kind=Path,
        ),
    ]
    grades: Annotated[str | Sequence[str] | None, Option(flags=("--grade",), metavar="WAY")]
    grader: Annotated[str | None, Option(metavar="NAME")]
    items_per_call: int | None
    pairs_per_call: int | None
    qa_coverage: Literal["pair", "answer"] | None
    batch: bool | None
    concurrency: int | None
    max_rpm: int | None
    max_usd: float | None
    engine: EngineName | None
    address: Annotated[str | None, Option(metavar="ADDRESS")]
    workers: int | None
    tracing: bool | None
    tracing_content: bool | None
    retry_failed: Annotated[
        bool | None, Option("Try unscored verdicts and failed answers in `out` again.", kind=bool)
    ]


class EvaluateKeywords(Keywords, total=False):
    """Options of an evaluation."""

    limit: Annotated[int | None, Option("Only the first N answers.", kind=int, least=1)]


class RunKeywords(EvaluateKeywords, total=False):
    """Options of `ragassay.evaluate` and `ragassay.run`, besides those of every evaluation."""

    audit: Annotated[
        int | None,
        Option(
            "After the run, damage so many of its answers and have them judged: `results.audit` "
            "says what this judge detects.",
            kind=int,
            least=1,
        ),
    ]
    repeat: Annotated[
        int | None,
        Option(
            "Judge each answer so many times, the run included: `results.repeats` says how often "
            "the judge contradicts itself.",
            kind=int,
            least=2,
        ),
    ]
    fail_under: Annotated[
        Mapping[str, float] | str | Sequence[str] | None,
        Option(
            "Raise `BelowError` where a mean is less: {'correctness': 3.5} or 'correctness=3.5'; "
            "`UnmeasuredError` where there is none.",
            kind=list[str],
        ),
    ]
    raise_on_failure: Annotated[
        bool | None,
        Option(
            "Raise `UnjudgedError` where an answer, a verdict or a row failed. The error has the "
            "results.",
            kind=bool,
        ),
    ]


class AuditKeywords(Keywords, total=False):
    """Options of an audit."""

    limit: Annotated[
        int | None,
        Option(
            "Damage so many whole answers, spread over the questions; 0 for all.",
            kind=int,
            least=0,
            default=20,
        ),
    ]
    seed: Annotated[
        int | None, Option("Chooses the answers and draws the damage.", kind=int, default=0)
    ]
    attacks: Annotated[
        str | Sequence[str] | None,
        Option(
            "Only this attack or family (rubric, clinical, injection).",
            metavar="NAME",
            kind=list[str],
        ),
    ]
    given: Annotated[
        bool | None,
        Option("Take the damaged answers that a YESciEval file holds, make none.", kind=bool),
    ]
    paraphraser: Annotated[
        str | None,
        Option(
            "Have this model (a LiteLLM name, or NAME@URL) write the sentences that say again what "
            "was said; by default a rule makes them.",
            metavar="NAME",
        ),
    ]


GROUPS: Mapping[str, tuple[str, ...]] = {
    "Judge": (
        *("model", "api_base", "model_options", "escalate", "when", "prompts", "strategy"),
        *("samples", "decisions", "judge_seed", "judge_form"),
    ),
    "Parts": (
        *("only", "rubric_set", "rubrics", "evaluators", "signals", "correctness", "labeller"),
        *("grades", "grader", "items_per_call", "pairs_per_call", "qa_coverage"),
    ),
    "Citations and evidence": (
        *("verifier", "verdict_labels", "citation_evidence", "attribution"),
        *("evidence", "evidence_rounds", "evidence_turns"),
    ),
    "Literature": ("corpus", "embedder", "search", "reranker"),
    "Input": ("questions", "column_map", "nuggets", "testbank", "limit"),
    "Limits": ("batch", "concurrency", "max_rpm", "max_usd", "engine", "address", "workers"),
    "Output": ("out", "retry_failed", "tracing", "tracing_content"),
}
"""The options of an evaluation by what they are about."""


@cache
def options_of(keywords: type) -> dict[str, Option]:
    """Return all options of a class of keywords, by name."""
    hints = get_type_hints(keywords, include_extras=True)
    return {name: _whole(name, hint) for name, hint in hints.items()}


def _whole(name: str, hint: object) -> Option:
    """Return an option completed from its name and its settings."""
    option = next((part for part in get_args(hint) if isinstance(part, Option)), Option())
    long = f"--{name.replace('_', '-')}"
    flags = tuple(dict.fromkeys((*option.flags, long)))
    fields = [FIELDS[n] for n in option.sets or (name,) if n in FIELDS]
    if not fields:
        return replace(option, name=name, flags=flags, help=_told(option, option.default))
    first = fields[0]
    kind = _kind(first.annotation)
    numbers = [part for part in get_args(kind) if isinstance(part, int)]
    bounds = {
        key: getattr(m, key) for m in first.metadata for key in ("ge", "le") if hasattr(m, key)
    }
    given = replace(option, help=" ".join(field.description or "" for field in fields))
    return replace(
        given,
        name=name,
        flags=(f"{long}/--no-{name.replace('_', '-')}",) if kind is bool else flags,
        sets=option.sets or (name,),
        kind=option.kind if option.kind is not str else int if numbers else kind,
        least=min(numbers, default=bounds.get("ge")),
        most=max(numbers, default=bounds.get("le")),
        help=_told(given, first.default),
    )


def _kind(annotation: Any) -> Any:
    """Return the type of a field's value as a user gives it: for a tuple, a list."""
    parts = [part for part in get_args(annotation) if part not in (NoneType, Ellipsis)]
    if get_origin(annotation) is tuple:  # Typer takes no list of choices.
        return list[str] if get_origin(parts[0]) is Literal else list[parts[0]]
    return annotation if get_origin(annotation) is Literal or not parts else parts[0]


def _told(option: Option, default: object) -> str:
    """Return the help with the default."""
    if isinstance(default, bool):
        return f"{option.help} {'On' if default else 'Off'} by default."
    is_told = isinstance(default, str | int) and default != ""
    return f"{option.help} By default {default}." if is_told else option.help


def settings_of(
    options: Mapping[str, object],
    base: Settings | None = None,
    spelled: Spelling = "keyword",
) -> Settings:
    """Return settings from options, else from `base`, else from the environment.

    Args:
        options: Values by name; None or an empty list means "not given". Options that set no field
            are ignored.
        base: The settings that the options change.
        spelled: Returns an option's name for an error.

    Raises:
        SettingsError: A value is wrong, or two values contradict each other.
    """
    known = {name: o for name, o in options_of(EvaluateKeywords).items() if o.sets}
    given: dict[str, Any] = {
        n: v for n, v in options.items() if n in known and v not in (None, (), [])
    }
    if isinstance(call_options := given.get("model_options"), Mapping):
        given["model_options"] = written_options(call_options)
    fields = {
        name: _named(value if isinstance(value, Mapping) else several(value))
        if get_origin(known[name].kind) is list
        else value
        for name, value in given.items()
        if name != "model"
    }
    if given.keys() & {"model", "api_base"}:
        endpoint = given.get("api_base") or (base and base.judge.api_base)
        fields |= seated(several(given.get("model")), endpoint)
    names = {field: getattr(known[name], spelled) for name in given for field in known[name].sets}
    settings = load_settings(base, names, **fields)
    strange = [part for part in settings.evaluation.only if part not in (*PARTS, RETRIEVAL)]
    has_own = (
        settings.evaluation.evaluators
        or any(own_of(options))
        or any(map(is_rubric_file, settings.evaluation.rubrics))
    )
    if strange and not has_own:
        only = getattr(known["only"], spelled)
        raise SettingsError(
            f"{only}: there is no part {strange[0]!r}; there are {', '.join(PARTS)}"
        )
    if "when" in given and not settings.judge.escalate:
        when, second = (getattr(known[name], spelled) for name in ("when", "escalate"))
        raise SettingsError(f"{when} says what goes to a second judge: name it, {second}")
    return settings


def _named(values: Iterable[Any]) -> tuple[str, ...]:
    """Return values as the settings store them: names, including those of rubric objects."""
    names = (v.name if isinstance(v, Rubric) else v for v in values)
    return tuple(str(name) for name in names if isinstance(name, str | Path))


def own_of(options: Mapping[str, Any]) -> tuple[list[OwnEvaluator], list[Rubric | Criteria]]:
    """Return the evaluators and the rubrics that were given as Python objects."""
    evaluators, rubrics = (several(options.get(name)) for name in ("evaluators", "rubrics"))
    return (
        [one for one in evaluators if not isinstance(one, str)],
        [one for one in rubrics if isinstance(one, Rubric | Criteria)],
    )


def several(value: Any) -> tuple[Any, ...]:
    """Return one value, several, or none (None) as a tuple."""
    if value is None:
        return ()
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)


def check_options(options: Mapping[str, object], keywords: type) -> None:
    """Refuse unknown options, as Python does, and numbers out of bounds.

    Raises:
        TypeError: An option is unknown.
        InputError: A number is too small. The settings check those that set a field.
    """
    known = options_of(keywords)
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"got an unexpected keyword argument {name!r}")
        option = known[name]
        if not option.sets and isinstance(value, int) and value < (option.least or 0):
            raise InputError(f"{option.keyword} is {value}: it must be at least {option.least}")


def signature_with(
    function: Callable[..., object], options: Iterable[inspect.Parameter], eval_str: bool = False
) -> inspect.Signature:
    """Return the signature of a function with options in place of its `**options`."""
    signature = inspect.signature(function, eval_str=eval_str)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    return signature.replace(parameters=[*own, *options])


def shows(keywords: type) -> Callable[[F], F]:
    """Add the options of a function with `**options` to its signature and its help."""

    def decorate(function: F) -> F:
        hints = get_type_hints(keywords)
        shown = (
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            for name, hint in hints.items()
        )
        function.__signature__ = signature_with(function, shown)  # type: ignore[attr-defined]
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:"]
        for name, option in options_of(keywords).items():
            first, *more = textwrap.wrap(f"{name}: {option.help}", 92)
            lines += [f"    {first}", *(f"        {line}" for line in more)]
        function.__doc__ = "\n".join(lines)
        return function

    return decorate
