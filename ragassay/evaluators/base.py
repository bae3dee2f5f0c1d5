"""Base classes of all evaluators, which ask about one item or a batch of items per call."""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from ragassay.agents.agent_set import Agents, apply_compiled, find_unused_agents
from ragassay.errors import FatalModelError
from ragassay.evaluators.cases import OpenCase, OpenCases, Task, VerdictKey
from ragassay.evaluators.display import EvaluatorDisplay
from ragassay.evaluators.models import Grading, Models, Retrieval
from ragassay.judges import BaseJudge, Cascade
from ragassay.metrics.stats.joint_judgments import join_judge_names
from ragassay.metrics.stats.uncertainty import parse_condition
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.models.gateway import NEEDS_JUDGE
from ragassay.models.limiter import RunLimiter
from ragassay.models.tuned import find_tuned_note
from ragassay.prompts import Criteria, Rubric, hash_prompts, load_rubrics
from ragassay.prompts.compiled import CompiledPrompt, hash_all_prompts
from ragassay.records import (
    Evaluation,
    Failure,
    Finding,
    Nugget,
    NuggetMatch,
    NuggetOrigin,
    Score,
    SentenceNuggets,
    VerdictBase,
)
from ragassay.settings import Settings, collect_result_values
from ragassay.store import Store, hash_parts

S = TypeVar("S")
"""Subject of a question."""

V = TypeVar("V", bound=VerdictBase)


@dataclass(frozen=True)
class RunArguments:
    """Arguments of `build_run` that can be sent to another machine: all except the corpus."""

    settings: Settings
    evaluators: tuple[Any, ...] = ()
    rubrics: tuple[Rubric | Criteria, ...] = ()


@dataclass(frozen=True)
class Run:
    """Configuration and services of a run, used as the run-time context of the graph.

    Build a run with `build_run`.

    Attributes:
        registered: All known evaluators in dependency order.
        judge: Model that answers questions and rates answers on rubrics.
        models: Models that measure and compare texts without the judge.
        compiled: Prompts compiled with `ragassay optimize`, which replace the packaged prompts.
        second: Run with the second judge of a cascade, or None without a cascade.
        store: Verdicts that are finished, and calls that are in progress.
        arguments: Arguments of `build_run`, or None if the run was built in another way.
        limiter: Limit on all model calls of the run.
    """

    settings: Settings
    rubrics: dict[str, Rubric]
    registered: tuple[Evaluator[Any], ...]
    judge: BaseJudge
    models: Models
    retrieval: Retrieval
    agents: Agents = field(default_factory=Agents)
    compiled: tuple[CompiledPrompt, ...] = ()
    second: Run | None = None
    open_cases: OpenCases = field(default_factory=OpenCases, compare=False, repr=False)
    store: Store = field(default_factory=Store, compare=False, repr=False)
    arguments: RunArguments | None = field(default=None, compare=False, repr=False)
    limiter: RunLimiter = field(default_factory=RunLimiter, compare=False, repr=False)
    _of_members: dict[str, Run] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Apply the compiled prompts to the agents."""
        apply_compiled(
            self.compiled,
            self.agents.all,
            (*load_rubrics(self.settings.evaluation.rubric_set), *self.rubrics),
            self._unasked,
        )

    @functools.cached_property
    def judges(self) -> BaseJudge | Cascade:
        """Judge, or a cascade of the judge and the second judge."""
        when = self.settings.judge.escalated_when
        if self.second is None or when is None:
            return self.judge
        return Cascade(self.judge, self.second.judge, parse_condition(when))

    def with_judge(self, judge: BaseJudge) -> Run:
        """Return a copy of the run that uses a panel member or the second judge."""
        if judge is self.judge:
            return self
        if self.second is not None and judge is self.second.judge:
            return self.second
        if judge.name not in self._of_members:
            # The prompts are checked once per panel, because a member may not use all of them.
            member = copy.copy(self)
            object.__setattr__(member, "judge", judge)
            self._of_members[judge.name] = member
        return self._of_members[judge.name]

    def with_models(self, **models: Any) -> Run:
        """Return a copy of the run with some models replaced, by field name in `Models`."""
        return replace(self, models=replace(self.models, **models))

    @property
    def _unasked(self) -> dict[str, str]:
        """Prompts that this run does not use, each with the setting that would enable it."""
        unused: dict[str, str] = {}
        judge, agents = self.judge, self.agents
        if judge.lm is None and not self.settings.judge.escalate:
            return dict.fromkeys((agent.prompt for agent in agents.all), NEEDS_JUDGE)
        if self.models.encoder is not None and not self.settings.judge.escalate:
            unused[agents.verifier.prompt] = (
                f"{self.verifier_name} is used instead of the judge; add --verifier judge"
            )
        if not any(one.digest for one in self.registered):  # a custom one may use any agent
            left_out = find_unused_agents(self.settings)
            unused |= {a.prompt: left_out[a.name] for a in agents.all if a.name in left_out}
        judges = judge.members or (judge,)
        is_asked = any(one.can_deliberate(rubric) for one in judges for rubric in self.rubrics)
        if self.rubrics and not is_asked and not self.settings.judge.escalate:
            unused[agents.judge.prompt] = (
                "a fine-tuned judge uses its own prompt; choose another judge"
                if judges[0].reads or self.settings.judge.form
                else "ratings come from signals instead of the judge; add --no-signals"
            )
        return unused

    @functools.cached_property
    def prompts_sha256(self) -> str:
        """Hash of all prompts."""
        return hash_all_prompts(hash_prompts(), self.compiled)

    @property
    def evaluators(self) -> tuple[Evaluator[Any], ...]:
        """Evaluators that are part of this run."""
        return tuple(one for one in self.registered if one.is_wanted(self))

    def get_evaluator(self, name: str) -> Evaluator[Any]:
        """Return a registered evaluator by its name."""
        return next(one for one in self.registered if one.name == name)

    def add_second_judge_name(self, first: str) -> str:
        """Return the name of a judge, combined with the second judge of a cascade."""
        return join_judge_names(first, self.settings.judge.escalated_to)

    @property
    def readers(self) -> tuple[BaseJudge, ...]:
        """Judges that mark the sentences of an answer before they rate it on rubrics."""
        judges = (one for one in self.judge.members or (self.judge,) if one.reads)
        return tuple(one for one in judges if any(map(one.calls_model, self.rubrics)))

    @property
    def n_slots(self) -> int:
        """Maximum number of concurrent model calls."""
        slots = (
            self.settings.build_judge_settings(n).n_slots
            for n in range(len(self.settings.judge.judges))
        )
        return sum(slots) + (self.second.n_slots if self.second else 0)

    @property
    def computes_signals(self) -> bool:
        """Return whether signals are computed before an answer is rated on rubrics."""
        return self.models.signal_extractor is not None and self.settings.computes_signals

    @property
    def fatal(self) -> FatalModelError | None:
        """Error of the first unusable model, which ends the run, or None."""
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
        """Name, digest and bounds of the verifier."""
        encoder = self.models.encoder
        return (*(encoder.identity if encoder else (self.verifier_name, "")), *self.tuned_weights)

    @property
    def correctness_name(self) -> str:
        """Name of the model that decides whether sentences are correct."""
        model = self.models.correctness
        if model:
            other = self.settings.judge.escalated_to or self.verifier_name
            leaves_open = bool(model.bounds) and self.settings.evaluation.verifies_evidence
            return join_judge_names(model.name, other) if leaves_open else model.name
        return self.add_second_judge_name(self.verifier_name)

    @functools.cached_property
    def grading(self) -> Grading:
        """Passage grader and its methods."""
        return Grading.from_settings(self.settings, self.judge, self.models.grader)

    @functools.cached_property
    def identity(self) -> str:
        """Hash of everything that verdicts depend on: judge, settings, prompts, corpus, models."""
        rater = load_shipped_rater() if self.settings.computes_signals else None
        pairs = self.models.pair_rater
        return hash_parts(
            *map(str, collect_result_values(self.settings).values()),
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
        """Digests of custom evaluators and rubrics, keyed by name."""
        shipped = load_rubrics(self.settings.evaluation.rubric_set)
        custom = {name: rubric for name, rubric in self.rubrics.items() if name not in shipped}
        rubrics = {name: hash_parts(rubric.model_dump_json()) for name, rubric in custom.items()}
        return {one.name: one.digest for one in self.registered if one.digest} | rubrics

    @property
    def tuned_weights(self) -> tuple[str, ...]:
        """Digests of fine-tuned judges, because a folder name does not identify the weights."""
        names = (*self.settings.judge.judges, self.settings.chosen_verifier)
        notes = [find_tuned_note(name) for name in names]
        return tuple(note.weights_sha256 for note in notes if note)


@dataclass(frozen=True)
class Outcome:
    """Final verdicts on one answer.

    Attributes:
        verdicts: Complete verdicts in order, keyed by evaluator name.
        matches: Matched pairs of gold (or reference) nuggets and answer nuggets.
    """

    open_case: OpenCase
    run: Run
    verdicts: Mapping[str, Sequence[VerdictBase]]
    matches: tuple[NuggetMatch, ...] = ()

    def select_verdicts(self, kind: type[V]) -> tuple[V, ...]:
        """Return the verdicts of one type, in order."""
        verdicts = (v for group in self.verdicts.values() for v in group)
        return tuple(verdict for verdict in verdicts if isinstance(verdict, kind))

    @property
    def parts(self) -> Sequence[str]:
        """Requested parts of the evaluation."""
        return self.run.settings.evaluation.parts

    def _collect_nuggets(self, origin: NuggetOrigin) -> tuple[Nugget, ...]:
        lists = (one for one in self.select_verdicts(SentenceNuggets) if one.origin == origin)
        return tuple(nugget for one in lists for nugget in one.nuggets)

    @property
    def nuggets(self) -> tuple[Nugget, ...]:
        """Nuggets of the answer, in sentence order."""
        return self._collect_nuggets("answer")

    @property
    def gold(self) -> tuple[Nugget, ...]:
        """Gold nuggets, or the nuggets of the reference if there are none."""
        return self.open_case.case.gold or self._collect_nuggets("reference")


class Evaluator(ABC, Generic[S]):
    """Base class for one kind of question about an answer.

    The graph, caches, failures, escalation, panels, plans, scores, reports and audits all use this
    interface.

    Attributes:
        name: Unique name, also used for the graph node and the verdicts.
        part: Part of an evaluation to which the evaluator belongs, as selected with `--only`.
        record: Type of the verdicts.
        display: Titles for reports.
        needs: Evaluators whose verdicts are required, and required preparations of the case:
            "passages" for passages to compare with sentences, "signals" for signals and sentence
            marks, "citation_warnings" for warnings about cited articles.
        is_weighed: Whether verdicts have a confidence and can be passed to a second judge.
        digest: Hash of a custom evaluator (empty for built-in evaluators).
    """

    name: str
    part: str
    record: type[VerdictBase]
    display: EvaluatorDisplay
    needs: tuple[str, ...] = ()
    is_weighed: bool = False
    digest: str = ""

    def is_wanted(self, run: Run) -> bool:
        """Return whether the evaluator is part of a run."""
        return run.settings.evaluation.wants(self.part)

    def is_reported(self, run: Run) -> bool:
        """Return whether the verdicts are reported. Some are only used by other evaluators."""
        return self.is_wanted(run)

    def find_instrument(self, run: Run) -> Any | None:
        """Return the local model that answers instead of the judge, or None."""
        return None

    @abstractmethod
    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, S]:
        """Return what the evaluator can ask about now, keyed by item name."""

    def get_cached_items(self, open_case: OpenCase, run: Run) -> Mapping[str, S]:
        """Return the result of `items`, which is computed once for each state of a case."""
        return open_case.remember(self.name, lambda: self.items(open_case, run))

    @abstractmethod
    async def ask(self, item: S, open_case: OpenCase, run: Run) -> Sequence[VerdictBase]:
        """Answer one question.

        The first verdict answers the question. Further verdicts may belong to another evaluator.

        Raises:
            ModelError: The judge returned no usable reply.
        """

    def make_unscored(
        self, item: S, open_case: OpenCase, run: Run, failure: Failure
    ) -> Sequence[VerdictBase]:
        """Return the verdicts for a question that was not answered."""
        return [self.record(failure=failure, **self.build_verdict_fields(item))]

    def build_verdict_fields(self, item: S) -> dict[str, Any]:
        """Return the fields that identify a verdict, such as the sentence number."""
        return {name: getattr(item, name) for name in self.record.item_fields}

    def list_dependencies(self, item: S, open_case: OpenCase, run: Run) -> Iterable[str | None]:
        """Return what a verdict depends on besides the case, the item name and the judge."""
        return ()

    def build_tasks(self, open_case: OpenCase, run: Run) -> list[Task]:
        """Return the evaluator's questions about a case."""
        return [
            Task(self.name, item, open_case.id) for item in self.get_cached_items(open_case, run)
        ]

    @property
    def asks_panel(self) -> bool:
        """Return whether every panel member is asked, not only the first member."""
        return False

    def build_second_round(self, item: S, verdicts: Sequence[Any], run: Run) -> Mapping[str, S]:
        """Return the questions for a second round, keyed by panel member, or {} if none is needed.

        `verdicts` contains one verdict per panel member.
        """
        return {}

    def join_verdicts(self, verdicts: Sequence[Any]) -> VerdictBase:
        """Combine the members' verdicts into the verdict of a panel."""
        raise NotImplementedError

    def isolate_item(self, item: S) -> S:
        """Return what to ask a second judge about: the item, or the first item of a batch."""
        return item

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[Any]:
        """Return all verdicts in order, including verdicts that required no question."""
        keys = (VerdictKey(self.name, item) for item in self.get_cached_items(open_case, run))
        return [open_case.verdicts[key] for key in keys if key in open_case.verdicts]

    def name_judge(self, run: Run) -> str:
        """Return the name of the model or models that decide the verdicts."""
        instrument = self.find_instrument(run)
        return run.add_second_judge_name(instrument.name if instrument else run.judge.answered_by)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the scores computed from the verdicts, in the order of reports."""
        return {}

    def findings(self, outcome: Outcome) -> list[Finding]:
        """Return the problems in the answer that the verdicts reveal."""
        return []

    def select_asked_verdicts(self, evaluation: Evaluation) -> Iterable[VerdictBase]:
        """Return the verdicts with a confidence, one for each question."""
        return evaluation.find_verdicts(self.name) if self.is_weighed else ()

    def split_verdict(self, verdict: Any) -> Iterable[VerdictBase]:
        """Return the members' verdicts if a panel gave the verdict, or else the verdict itself."""
        return (verdict,)

    def count_max_questions(self, open_case: OpenCase, run: Run) -> int:
        """Return the maximum number of questions, as estimated before any retrieval."""
        return len(self.get_cached_items(open_case, run))

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Return the maximum number of model calls, or 0 if a local model answers."""
        has_model = run.judge.lm is not None and self.find_instrument(run) is None
        return self.count_max_questions(open_case, run) if has_model else 0


T = TypeVar("T")


@dataclass(frozen=True)
class Batch(Generic[T]):
    """Items that share one model call. The key of the first item identifies the batch.

    Attributes:
        things: Items of the batch, at least one.
        is_sent: Whether a call is made for this batch (False for an item that another batch
            contains).
    """

    things: tuple[T, ...]
    is_sent: bool


class BatchEvaluator(Evaluator[Batch[T]]):
    """Evaluator that asks about several items in one call."""

    @abstractmethod
    def build_item_fields(self, thing: T) -> dict[str, Any]:
        """Return the fields that identify the verdict on one item of a batch."""

    def build_item_key(self, thing: T) -> str:
        """Return the key of one item of a batch."""
        return self.record(**self.build_item_fields(thing)).item

    def build_batches(self, things: Sequence[T], n: int) -> dict[str, Batch[T]]:
        """Map each item's key to its batch of up to `n` items (0 for no limit)."""
        result: dict[str, Batch[T]] = {}
        size = n or len(things) or 1
        for start in range(0, len(things), size):
            first, *rest = batch = tuple(things[start : start + size])
            result[self.build_item_key(first)] = Batch(batch, is_sent=True)
            result |= {self.build_item_key(thing): Batch((thing,), is_sent=False) for thing in rest}
        return result

    def make_unscored(
        self, item: Batch[T], open_case: OpenCase, run: Run, failure: Failure
    ) -> Sequence[VerdictBase]:
        """Return an unscored verdict for each item of the batch."""
        return [
            self.record(failure=failure, **self.build_item_fields(thing)) for thing in item.things
        ]

    def build_tasks(self, open_case: OpenCase, run: Run) -> list[Task]:
        """Return one question for each batch."""
        items = self.get_cached_items(open_case, run)
        return [Task(self.name, key, open_case.id) for key, one in items.items() if one.is_sent]

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Return the number of batches that need a model call, or 0 if a local model answers."""
        if self.find_instrument(run) is not None:
            return 0
        return sum(one.is_sent for one in self.get_cached_items(open_case, run).values())

    def isolate_item(self, item: Batch[T]) -> Batch[T]:
        """Return a batch with only the first item, because a second judge gets single items."""
        return replace(item, things=item.things[:1])
