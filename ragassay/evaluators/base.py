"""Base of all evaluators, one item or a batch of items to a call."""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from ragassay.agents.agent_set import Agents, agents_left_out, use_compiled
from ragassay.errors import FatalModelError
from ragassay.evaluators.cases import OpenCase, OpenCases, Task, VerdictKey
from ragassay.evaluators.display import EvaluatorDisplay
from ragassay.evaluators.models import Grading, Models, Retrieval
from ragassay.judges import BaseJudge, Cascade
from ragassay.metrics.stats.joint_judgments import joint_name
from ragassay.metrics.stats.uncertainty import parse_condition
from ragassay.models.fitted_raters import shipped_rater
from ragassay.models.gateway import NEEDS_JUDGE
from ragassay.models.limiter import RunLimiter
from ragassay.models.tuned import metadata_of
from ragassay.prompts import Criteria, Rubric, load_rubrics, prompts_sha256
from ragassay.prompts.compiled import CompiledPrompt, compiled_sha256
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
from ragassay.settings import Settings, result_values
from ragassay.store import Store, hash_of

S = TypeVar("S")
"""What one question of an evaluator is about."""

V = TypeVar("V", bound=VerdictBase)


@dataclass(frozen=True)
class RunArguments:
    """The arguments of `build_run`, besides the corpus: they can be sent to another machine."""

    settings: Settings
    evaluators: tuple[Any, ...] = ()
    rubrics: tuple[Rubric | Criteria, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run's configuration, and its services; the graph's run-time context.

    Build it with `build_run`.

    Attributes:
        rubrics: The rubrics of the run, by name.
        registered: The evaluators that there are, in dependency order.
        arguments: The arguments of `build_run`; None if the run was built another way.
        judge: Answers questions and rates rubrics.
        second: The run of the second judge of a cascade; None without one.
        agents: Put the questions into words.
        compiled: Prompts that `ragassay optimize` wrote, in place of the shipped ones.
        models: Measure and compare without the judge.
        retrieval: Looks up literature.
        store: What is finished, and the calls under way.
        limiter: Bounds all model calls of the run together.
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
        """Have the agents say what was compiled for them, also those that were replaced."""
        use_compiled(
            self.compiled,
            self.agents.all,
            (*load_rubrics(self.settings.evaluation.rubric_set), *self.rubrics),
            self._unasked,
        )

    @functools.cached_property
    def judges(self) -> BaseJudge | Cascade:
        """The judge, or the cascade of the judge and the second judge."""
        when = self.settings.judge.escalated_when
        if self.second is None or when is None:
            return self.judge
        return Cascade(self.judge, self.second.judge, parse_condition(when))

    def with_judge(self, judge: BaseJudge) -> Run:
        """Return the run with another of its judges: a panel's member, or the second one."""
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

    def with_models(self, **models: Any) -> Run:
        """Return the same run with other models, by the names of `Models`."""
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
        if not any(one.digest for one in self.registered):  # a user's may ask any agent
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
    def computes_signals(self) -> bool:
        """Return whether answers are measured before their rubrics are judged."""
        return self.models.signal_extractor is not None and self.settings.computes_signals

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
        rater = shipped_rater() if self.settings.computes_signals else None
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
        return {one.name: one.digest for one in self.registered if one.digest} | rubrics

    @property
    def tuned_weights(self) -> tuple[str, ...]:
        """Digests of the adapters among the judges, whose names may be those of folders."""
        names = (*self.settings.judge.judges, self.settings.chosen_verifier)
        notes = [metadata_of(name) for name in names]
        return tuple(note.weights_sha256 for note in notes if note)


@dataclass(frozen=True)
class Outcome:
    """The verdicts that stand on one answer.

    Attributes:
        verdicts: By the name of their evaluator, each in order and complete.
        matches: Pairs of gold (or reference) nuggets and answer nuggets.
    """

    open_case: OpenCase
    run: Run
    verdicts: Mapping[str, Sequence[VerdictBase]]
    matches: tuple[NuggetMatch, ...] = ()

    def of(self, kind: type[V]) -> tuple[V, ...]:
        """Return the verdicts of one kind, in order."""
        found = (v for group in self.verdicts.values() for v in group)
        return tuple(verdict for verdict in found if isinstance(verdict, kind))

    @property
    def parts(self) -> Sequence[str]:
        """The parts that were to be found out."""
        return self.run.settings.evaluation.parts

    def _nuggets(self, origin: NuggetOrigin) -> tuple[Nugget, ...]:
        lists = (one for one in self.of(SentenceNuggets) if one.origin == origin)
        return tuple(nugget for one in lists for nugget in one.nuggets)

    @property
    def nuggets(self) -> tuple[Nugget, ...]:
        """The answer's nuggets, in the order of its sentences."""
        return self._nuggets("answer")

    @property
    def gold(self) -> tuple[Nugget, ...]:
        """The gold nuggets; without any, those of the reference."""
        return self.open_case.case.gold or self._nuggets("reference")


class Evaluator(ABC, Generic[S]):
    """One thing that is asked of an answer.

    Everything that loops over evaluators (the graph, caches, failures, escalation, panels, plans,
    scores, reports, audits) reads it from here.

    Attributes:
        name: Unique; also that of the graph's node and of its verdicts.
        part: The part of an evaluation that it belongs to; what `--only` names.
        record: Type of its verdicts.
        display: How reports speak of it.
        needs: Evaluators whose verdicts must be complete before it asks, and preparations of the
            case: "passages" for its sentences and citations, "signals" and readings of the
            answer, "citation_warnings" against cited articles.
        is_weighed: Whether its verdicts say how sure the judge is, so that they can go to a second
            judge.
        digest: Hash of a user's own evaluator; empty for ours.
    """

    name: str
    part: str
    record: type[VerdictBase]
    display: EvaluatorDisplay
    needs: tuple[str, ...] = ()
    is_weighed: bool = False
    digest: str = ""

    def is_wanted(self, run: Run) -> bool:
        """Return whether a run asks it."""
        return run.settings.evaluation.wants(self.part)

    def is_reported(self, run: Run) -> bool:
        """Return whether its verdicts are part of the evaluation, or serve others alone."""
        return self.is_wanted(run)

    def instrument(self, run: Run) -> Any | None:
        """Return the model that answers in the judge's place, if there is one; it has a name."""
        return None

    @abstractmethod
    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, S]:
        """Return what is asked about, by item, as far as the file tells."""

    def known_items(self, open_case: OpenCase, run: Run) -> Mapping[str, S]:
        """Return `items`, found once for each state of a case."""
        return open_case.remember(self.name, lambda: self.items(open_case, run))

    @abstractmethod
    async def ask(self, item: S, open_case: OpenCase, run: Run) -> Sequence[VerdictBase]:
        """Answer one question. The first verdict is its own; others may be another evaluator's.

        Raises:
            ModelError: The judge gave no usable reply.
        """

    def make_unscored(
        self, item: S, open_case: OpenCase, run: Run, failure: Failure
    ) -> Sequence[VerdictBase]:
        """Return what stands where a question got no answer.

        By default a verdict whose `item_fields` are those of the subject.
        """
        where: dict[str, Any] = {name: getattr(item, name) for name in self.record.item_fields}
        return [self.record(failure=failure, **where)]

    def depends_on(self, item: S, open_case: OpenCase, run: Run) -> Iterable[str | None]:
        """Return what a verdict depends on besides the case, the item and the judge's model."""
        return ()

    def tasks(self, open_case: OpenCase, run: Run) -> list[Task]:
        """Return the questions of a case."""
        return [Task(self.name, item, open_case.id) for item in self.known_items(open_case, run)]

    @property
    def asks_panel(self) -> bool:
        """Return whether each member of a panel is asked, or the first for all."""
        return False

    def second_round(self, item: S, verdicts: Sequence[Any], run: Run) -> Mapping[str, S]:
        """Return what members of a panel are asked once they know the others' verdicts.

        Args:
            item: What all were asked.
            verdicts: What each said.

        Returns:
            By the member's name; empty where the first round is enough.
        """
        return {}

    def join_verdicts(self, verdicts: Sequence[Any]) -> VerdictBase:
        """Return the verdict of a panel, where each member is asked."""
        raise NotImplementedError

    def alone(self, item: S) -> S:
        """Return what a second judge is asked of a batch: its first thing."""
        return item

    def final_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[Any]:
        """Return the verdicts in order, with those that needed no question."""
        keys = (VerdictKey(self.name, item) for item in self.known_items(open_case, run))
        return [open_case.verdicts[key] for key in keys if key in open_case.verdicts]

    def judged_by(self, run: Run) -> str:
        """Return who gives its verdicts, in words."""
        instrument = self.instrument(run)
        return run.or_second(instrument.name if instrument else run.judge.answered_by)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return what its verdicts come to, in the order of the report."""
        return {}

    def findings(self, outcome: Outcome) -> list[Finding]:
        """Return what its verdicts have against the answer."""
        return []

    def questions(self, evaluation: Evaluation) -> Iterable[VerdictBase]:
        """Return those verdicts that a judge was asked for and could be unsure of, one a call."""
        return evaluation.by(self.name) if self.is_weighed else ()

    def parts_of(self, verdict: Any) -> Iterable[VerdictBase]:
        """Return the verdicts that one was made of, itself where there are none."""
        return (verdict,)

    def n_most_questions(self, open_case: OpenCase, run: Run) -> int:
        """Return how many questions there can be at most, before anything was found."""
        return len(self.known_items(open_case, run))

    def n_most_calls(self, open_case: OpenCase, run: Run) -> int:
        """Return how many model calls these take at most; an instrument takes none."""
        has_model = run.judge.lm is not None and self.instrument(run) is None
        return self.n_most_questions(open_case, run) if has_model else 0


T = TypeVar("T")


@dataclass(frozen=True)
class Batch(Generic[T]):
    """Things that are asked about in one call; the first names it.

    Attributes:
        things: At least one.
        is_sent: Whether the call is made; else another one answers for its thing too.
    """

    things: tuple[T, ...]
    is_sent: bool


class BatchEvaluator(Evaluator[Batch[T]]):
    """An evaluator that asks about several things in a call."""

    def tasks(self, open_case: OpenCase, run: Run) -> list[Task]:
        """Return one task a call."""
        asked = self.known_items(open_case, run)
        return [Task(self.name, key, open_case.id) for key, one in asked.items() if one.is_sent]

    def n_most_calls(self, open_case: OpenCase, run: Run) -> int:
        """Count the calls."""
        if self.instrument(run) is not None:
            return 0
        return sum(one.is_sent for one in self.known_items(open_case, run).values())

    def alone(self, item: Batch[T]) -> Batch[T]:
        """Return the first thing: a second judge is asked about one at a time."""
        return replace(item, things=item.things[:1])


def batches(things: Sequence[T], n: int, key: Callable[[T], str]) -> dict[str, Batch[T]]:
    """Cut things into calls of n, each thing under its key, in order.

    Args:
        things: In order; their keys differ.
        n: Most things of a call; 0 for all.
        key: Returns the key of a thing.
    """
    found: dict[str, Batch[T]] = {}
    for start in range(0, len(things), n or len(things) or 1):
        batch = tuple(things[start : start + (n or len(things))])
        found[key(batch[0])] = Batch(batch, is_sent=True)
        found |= {key(thing): Batch((thing,), is_sent=False) for thing in batch[1:]}
    return found
