"""The toolbox of a run: judges, models, agents, the corpus, the evaluators."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from ragassay.agents.agent_set import Agents
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.agents.verifier import Verifier
from ragassay.errors import FatalModelError, SettingsError
from ragassay.evaluators.base import Evaluator, OpenFiles
from ragassay.evaluators.compiled import agents_left_out, use_compiled
from ragassay.evaluators.criteria import CriteriaEvaluator
from ragassay.evaluators.finding import find_evaluator, registered
from ragassay.evaluators.grading import Grading
from ragassay.evaluators.models import Models, Retrieval
from ragassay.evaluators.own import OwnEvaluator
from ragassay.evaluators.registry import OURS
from ragassay.judges import BaseJudge, Cascade, build_judge
from ragassay.metrics.cascade import joint_name
from ragassay.metrics.uncertainty import parse_condition
from ragassay.models.gateway import NEEDS_JUDGE
from ragassay.models.limiter import RunLimiter
from ragassay.models.signal_rater import shipped_rater
from ragassay.models.tuned import note_of
from ragassay.prompts import (
    Criteria,
    Rubric,
    chosen_rubrics,
    is_rubric_file,
    joined_rubrics,
    load_rubrics,
    prompts_sha256,
    read_rubrics,
)
from ragassay.prompts.compiled import CompiledPrompt, compiled_sha256, read_all_compiled
from ragassay.records import PARTS
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.memory import Corpus
from ragassay.settings import Settings, load_settings, result_values
from ragassay.store import Store
from ragassay.threads import in_thread


@dataclass(frozen=True)
class Given:
    """The arguments of a toolbox, besides the corpus: they can be sent to another machine.

    Attributes:
        settings: The settings.
        evaluators: The user's own evaluators that the settings do not name.
        rubrics: The user's own rubrics and criteria that the settings do not name.
    """

    settings: Settings
    evaluators: tuple[OwnEvaluator, ...] = ()
    rubrics: tuple[Rubric | Criteria, ...] = ()


@dataclass(frozen=True)
class Toolbox:
    """The graph's run-time context. Build it with `Toolbox.of`.

    Attributes:
        settings: The settings.
        judge: Who answers questions and rates rubrics.
        models: What measures and compares without the judge.
        retrieval: Where literature is looked up.
        agents: The agents.
        rubrics: The rubrics of the run, by name.
        compiled: Prompts that `ragassay optimize` wrote, in place of the shipped ones.
        second: What the second judge of a cascade works with; None without one.
        registered: The evaluators that there are, each behind those whose verdicts it needs.
        files: The cases that are being judged.
        store: What is finished, and the calls under way.
        given: What it was built from; None where somebody put it together.
        limiter: Bounds all model calls of the run together.
    """

    settings: Settings
    judge: BaseJudge
    models: Models
    retrieval: Retrieval
    rubrics: dict[str, Rubric]
    agents: Agents = field(default_factory=Agents)
    compiled: tuple[CompiledPrompt, ...] = ()
    second: Toolbox | None = None
    registered: tuple[Evaluator[Any], ...] = OURS
    files: OpenFiles = field(default_factory=OpenFiles, compare=False, repr=False)
    store: Store = field(default_factory=Store, compare=False, repr=False)
    given: Given | None = field(default=None, compare=False, repr=False)
    limiter: RunLimiter = field(default_factory=RunLimiter, compare=False, repr=False)
    _of_members: dict[str, Toolbox] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Have the agents say what was compiled for them, also those that were replaced."""
        use_compiled(
            self.compiled,
            self.agents.all,
            (*load_rubrics(self.settings.evaluation.rubric_set), *self.rubrics),
            self._unasked,
        )

    @functools.cached_property
    def judges(self) -> BaseJudge | Cascade:
        """The judge, or the cascade of it and the second one."""
        when = self.settings.judge.escalated_when
        if self.second is None or when is None:
            return self.judge
        return Cascade(self.judge, self.second.judge, parse_condition(when))

    def with_judge(self, judge: BaseJudge) -> Toolbox:
        """Return the tools with which a judge is asked: a panel's member, or the second one."""
        if judge is self.judge:
            return self
        if self.second is not None and judge is self.second.judge:
            return self.second
        if judge.name not in self._of_members:
            # A panel's prompts are checked once: a member of it need not ask all of them.
            member = copy.copy(self)
            object.__setattr__(member, "judge", judge)
            self._of_members[judge.name] = member
        return self._of_members[judge.name]

    def with_models(self, **models: Any) -> Toolbox:
        """Return the same toolbox with other models, by the names of `Models`."""
        return replace(self, models=replace(self.models, **models))

    @property
    def _unasked(self) -> dict[str, str]:
        """Prompts that this run does not put to a model, and what to change for it."""
        found: dict[str, str] = {}
        judge, agents = self.judge, self.agents
        if judge.lm is None and not self.settings.judge.escalate:
            return dict.fromkeys((agent.prompt for agent in agents.all), NEEDS_JUDGE)
        if self.models.encoder is not None and not self.settings.judge.escalate:
            found[agents.verifier.prompt] = f"{self.verifier_name} compares; add --verifier judge"
        if len(self.registered) == len(OURS):  # a user's own evaluator may ask any agent
            left_out = agents_left_out(self.settings)
            found |= {a.prompt: left_out[a.name] for a in agents.all if a.name in left_out}
        judges = judge.members or (judge,)
        is_asked = any(one.deliberates(rubric) for one in judges for rubric in self.rubrics)
        if self.rubrics and not is_asked and not self.settings.judge.escalate:
            found[agents.judge.prompt] = (
                "a fine-tuned judge has a prompt of its own; name another judge"
                if judges[0].reads or self.settings.judge.form
                else "signals rate in its judge's place; add --no-signals"
            )
        return found

    @functools.cached_property
    def prompts_sha256(self) -> str:
        """Hash of all that is said to models."""
        return compiled_sha256(prompts_sha256(), self.compiled)

    @classmethod
    def of(
        cls,
        settings: Settings,
        corpus: Literature | None = None,
        evaluators: Sequence[OwnEvaluator] = (),
        rubrics: Sequence[Rubric | Criteria] = (),
    ) -> Toolbox:
        """Return the tools that the settings call for; no model is loaded yet.

        Args:
            settings: The settings.
            corpus: Where to look up evidence and cited ids.
            evaluators: The user's own, beside those that the settings name.
            rubrics: The user's own, beside those of files that the settings name.

        Raises:
            SettingsError: A rubric is unknown, an agent is to search that cannot call tools, or
                what is to verify is no model of natural language inference.
        """
        files = [Path(name) for name in settings.evaluation.rubrics if is_rubric_file(name)]
        given = (*read_rubrics(files), *rubrics)
        rated = [rubric for rubric in given if isinstance(rubric, Rubric)]
        criteria = [CriteriaEvaluator(one) for one in given if isinstance(one, Criteria)]
        known = joined_rubrics(load_rubrics(settings.evaluation.rubric_set), rated)
        own = [*map(find_evaluator, settings.evaluation.evaluators), *evaluators, *criteria]
        asked = registered(own)
        parts = dict.fromkeys((*PARTS, *(one.part for one in asked)))
        strange = [part for part in settings.evaluation.only if part not in parts]
        if strange:
            raise SettingsError(
                f"only: there is no part {strange[0]!r}; there are {', '.join(parts)}"
            )
        chosen = chosen_rubrics(
            settings.evaluation.rubrics, settings.evaluation.rubric_set, known, rated
        )
        asked_of = {name: known[name] for name in chosen if settings.evaluation.wants("rubrics")}
        judge, models = build_judge(settings, asked_of), Models.of(settings)
        Grading.of(settings, judge, models.grader)  # refuses what it does not know
        if not settings.judge.has_judge:
            _refuse_asking(settings, asked, _why_none_answers(settings))
        if settings.retrieval.evidence == "agent" and not (judge.lm and judge.lm.calls_tools):
            raise SettingsError(
                f"{settings.judge.model} cannot call tools, so no agent can search with it: name a "
                "judge that can (--model openai/gpt-4.1-mini), or leave --evidence at search"
            )
        second = None
        if settings.judge.escalate:
            second = cls.of(settings.of_second(), corpus, evaluators, rubrics)
        return cls(
            settings=settings,
            judge=judge,
            models=models,
            retrieval=Retrieval(settings, models.embedder, Corpus() if corpus is None else corpus),
            rubrics=asked_of,
            agents=Agents(
                judge=RubricJudge(settings.prompting.strategy),
                verifier=Verifier(settings.verification.verdict_labels),
            ),
            compiled=read_all_compiled(settings.prompting.prompts),
            second=second,
            registered=asked,
            given=Given(settings, tuple(evaluators), tuple(rubrics)),
            limiter=RunLimiter.of(settings),
        )

    @property
    def evaluators(self) -> tuple[Evaluator[Any], ...]:
        """The evaluators that this run asks."""
        return tuple(one for one in self.registered if one.is_wanted(self))

    def evaluator(self, name: str) -> Evaluator[Any]:
        """Return a registered evaluator by its name."""
        return next(one for one in self.registered if one.name == name)

    def or_second(self, first: str) -> str:
        """Name who decides, the second judge of a cascade with the first."""
        return joint_name(first, self.settings.judge.escalated_to)

    @property
    def readers(self) -> tuple[BaseJudge, ...]:
        """The judges that read an answer before they rate its rubrics."""
        judges = (one for one in self.judge.members or (self.judge,) if one.reads)
        return tuple(one for one in judges if any(map(one.calls_model, self.rubrics)))

    @property
    def n_slots(self) -> int:
        """Most model calls under way at a time."""
        own = (self.settings.of_judge(n).n_slots for n in range(len(self.settings.judge.judges)))
        return sum(own) + (self.second.n_slots if self.second else 0)

    @property
    def measures(self) -> bool:
        """Return whether answers are measured before their rubrics are judged."""
        return self.models.meter is not None and self.settings.measures

    @property
    def fatal(self) -> FatalModelError | None:
        """Why the run cannot go on: the error of the first model that cannot be asked."""
        verifier = self.models.verifier_lm
        second = self.second.judge.fatal if self.second else None
        return self.judge.fatal or second or (verifier.fatal if verifier else None)

    @property
    def verifier_name(self) -> str:
        """Name of the model that compares claims with passages."""
        if self.models.encoder:
            return self.models.encoder.model.name
        return self.models.verifier_lm.model if self.models.verifier_lm else self.judge.answered_by

    @property
    def verifier_identity(self) -> tuple[str, ...]:
        """Name, digest and bounds of what compares claims with passages."""
        encoder = self.models.encoder
        return (*(encoder.identity if encoder else (self.verifier_name, "")), *self.tuned_weights)

    @property
    def correctness_name(self) -> str:
        """Name of the model that says whether sentences are correct."""
        model = self.models.correctness
        if model:
            other = self.settings.judge.escalated_to or self.verifier_name
            leaves_open = bool(model.bounds) and self.settings.evaluation.verifies_evidence
            return joint_name(model.name, other) if leaves_open else model.name
        return self.or_second(self.verifier_name)

    @functools.cached_property
    def grading(self) -> Grading:
        """The grading of passages: the grader, and its ways."""
        return Grading.of(self.settings, self.judge, self.models.grader)

    @functools.cached_property
    def identity(self) -> str:
        """Hash of all that the verdicts depend on: judge, settings, prompts, corpus, models."""
        rater = shipped_rater() if self.settings.measures else None
        pairs = self.models.pair_rater
        return hash_of(
            *map(str, result_values(self.settings).values()),
            self.prompts_sha256,
            self.retrieval.corpus.sha256,
            *self.models.digests,
            *((rater.model, rater.digest) if rater else ()),
            *self.tuned_weights,
            *(self.grading.identity if self.settings.evaluation.wants("grades") else ()),
            *(pairs.identity if pairs and self.settings.evaluation.wants("racar") else ()),
            *(f"{name} {digest}" for name, digest in self.own_digests.items()),
        )

    @functools.cached_property
    def own_digests(self) -> dict[str, str]:
        """Digests of the user's own evaluators and rubrics, by name."""
        shipped = load_rubrics(self.settings.evaluation.rubric_set)
        own = {name: rubric for name, rubric in self.rubrics.items() if name not in shipped}
        rubrics = {name: hash_of(rubric.model_dump_json()) for name, rubric in own.items()}
        found = (one for one in self.registered if isinstance(one, OwnEvaluator))
        return {one.name: one.digest for one in found} | rubrics

    @property
    def tuned_weights(self) -> tuple[str, ...]:
        """Digests of the adapters among the judges, whose names may be those of folders."""
        names = (*self.settings.judge.judges, self.settings.chosen_verifier)
        notes = [note_of(name) for name in names]
        return tuple(note.weights_sha256 for note in notes if note)


def _why_none_answers(settings: Settings) -> str:
    """Return why there is no judge for all questions."""
    form = settings.judge.form
    if form is None:
        return NEEDS_JUDGE
    return f"{settings.judge.model} is {form.title}, which rates rubrics only: name another judge"


def _refuse_asking(settings: Settings, asked: Sequence[Evaluator[Any]], why: str) -> None:
    """Refuse what only a judge can answer.

    Raises:
        SettingsError: The settings or an evaluator of the user's want a judge, and there is none.
    """
    if settings.chosen_verifier == "judge":
        raise SettingsError(f"verifier judge: {why}")
    if settings.chosen_grader == "judge":
        raise SettingsError(f"grader judge: {why}")
    for one in asked:
        is_wanted = not settings.evaluation.only or one.part in settings.evaluation.only
        if isinstance(one, OwnEvaluator) and one.is_weighed and is_wanted:
            raise SettingsError(f"evaluator {one.name}: {why}")


def toolbox(runtime: Runtime[Toolbox]) -> Toolbox:
    """The run-time context; where the caller gave none, tools by the environment's settings.

    Raises:
        SettingsError: A client of LangGraph's server gave a context of its own.
    """
    given: Any = runtime.context
    if given and not isinstance(given, Toolbox):
        names = ", ".join(map(str, given))
        raise SettingsError(
            f"context: a served graph takes none ({names}); set RAGASSAY_* where it is served"
        )
    return given or _default_toolbox()


async def ready_toolbox(runtime: Runtime[Toolbox]) -> Toolbox:
    """Return `toolbox`, for the first node of a graph.

    To build the environment's reads files and imports for seconds, which must not block a server.
    """
    return toolbox(runtime) if runtime.context else await in_thread(toolbox, runtime)


@functools.cache
def _default_toolbox() -> Toolbox:
    return Toolbox.of(load_settings())


def hash_of(*parts: str) -> str:
    """SHA-256 of texts, in hexadecimal; where one ends and the next begins counts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
