"""What the nodes of a graph work with: the judge, the agents, the embedding model, the corpus."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from ragassay.agents.answer_reader import AnswerReader
from ragassay.agents.base import Agent
from ragassay.agents.evidence_searcher import EvidenceSearcher
from ragassay.agents.fact_lister import FactLister
from ragassay.agents.importance_scorer import ImportanceScorer
from ragassay.agents.nugget_assigner import NuggetAssigner
from ragassay.agents.nugget_creator import NuggetCreator
from ragassay.agents.nugget_writer import NuggetWriter
from ragassay.agents.query_writer import QueryWriter
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.agents.sentence_labeller import SentenceLabeller
from ragassay.agents.tuned_judge import TunedJudge
from ragassay.agents.tuned_verifier import TunedVerifier
from ragassay.agents.verifier import Verifier
from ragassay.errors import FatalModelError, SettingsError
from ragassay.evaluators.base import Evaluator, OpenFiles
from ragassay.evaluators.building import build_encoder, build_meter, build_panel, build_verifier_lm
from ragassay.evaluators.compiled import use_compiled
from ragassay.evaluators.criteria import CriteriaEvaluator
from ragassay.evaluators.finding import find_evaluator, registered
from ragassay.evaluators.own import OwnEvaluator
from ragassay.evaluators.registry import OURS
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.instruments.signal_judge import SignalJudge
from ragassay.instruments.signals import SignalMeter
from ragassay.metrics.cascade import joint_name
from ragassay.metrics.joint import BEYOND_SENTENCES
from ragassay.model_names import is_embedded_base
from ragassay.models.correctness import CorrectnessModel, correctness_model
from ragassay.models.embeddings import Embedder
from ragassay.models.gateway import JudgeLM
from ragassay.models.nugget_matcher import opened_matcher
from ragassay.models.signal_rater import shipped_rater
from ragassay.models.tuned import note_of, untuned
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
from ragassay.records import PARTS, NuggetMatcher
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.memory import Corpus
from ragassay.retrievers.rerank import Reranker
from ragassay.retrievers.reranked import reranker_of
from ragassay.settings import RESULT_FIELDS, Settings, load_settings

TUNED_RUBRICS = "yescieval"
"""The rubrics that fine-tuned judges know; others are left to the model below them."""


@dataclass(frozen=True)
class Toolbox:
    """The graph's run-time context. Build it with `Toolbox.of`.

    Attributes:
        encoder: Compares claims with passages in place of the judge; None where another does.
        verifier_lm: A fine-tuned verifier that does; None where another does.
        correctness: Says whether sentences are correct; None where the judge's verdicts do.
        lm: Answers all but the rubrics; of a fine-tuned judge the model below it.
        rating_lm: Rates the rubrics; None where `lm` does.
        panel: All judges that rate the rubrics, `rating_lm` first; empty where it rates alone.
        meter: Measures answers before their rubrics are judged; None where that is not wanted.
        rater: Rates by what was measured, in the embedded model's place or beside a tuned judge.
        compiled: Prompts that `ragassay optimize` wrote, in place of the shipped ones.
        second: What the second judge of a cascade works with; None without one.
        registered: The evaluators that there are, each behind those whose verdicts it needs.
        files: The cases that are being judged.
    """

    settings: Settings
    lm: JudgeLM
    embedder: Embedder
    corpus: Literature
    rubrics: dict[str, Rubric]
    encoder: EncoderVerifier | None = None
    verifier_lm: JudgeLM | None = None
    correctness: CorrectnessModel | None = None
    matcher: NuggetMatcher | None = None
    rating_lm: JudgeLM | None = None
    panel: tuple[JudgeLM, ...] = ()
    meter: SignalMeter | None = None
    rater: SignalJudge | None = None
    compiled: tuple[CompiledPrompt, ...] = ()
    second: Toolbox | None = None
    judge: RubricJudge = field(default_factory=RubricJudge)
    reader: AnswerReader = field(default_factory=AnswerReader)
    tuned_judge: TunedJudge = field(default_factory=TunedJudge)
    labeller: SentenceLabeller = field(default_factory=SentenceLabeller)
    writer: NuggetWriter = field(default_factory=NuggetWriter)
    assigner: NuggetAssigner = field(default_factory=NuggetAssigner)
    creator: NuggetCreator = field(default_factory=NuggetCreator)
    importance_scorer: ImportanceScorer = field(default_factory=ImportanceScorer)
    verifier: Verifier = field(default_factory=Verifier)
    tuned_verifier: TunedVerifier = field(default_factory=TunedVerifier)
    fact_lister: FactLister = field(default_factory=FactLister)
    query_writer: QueryWriter = field(default_factory=QueryWriter)
    searcher: EvidenceSearcher = field(default_factory=EvidenceSearcher)
    registered: tuple[Evaluator[Any], ...] = OURS
    files: OpenFiles = field(default_factory=OpenFiles, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Have the agents say what was compiled for them, also those that were replaced."""
        use_compiled(
            self.compiled,
            self.agents,
            (*load_rubrics(self.settings.rubric_set), *self.rubrics),
            self._unasked,
        )

    @property
    def agents(self) -> tuple[Agent, ...]:
        """All that have a prompt."""
        return tuple(part for part in vars(self).values() if isinstance(part, Agent))

    @property
    def _unasked(self) -> dict[str, str]:
        """Prompts that are not said to a model in this run, and what to change for it."""
        found: dict[str, str] = {}
        if self.encoder is not None and not self.settings.escalate:
            found[self.verifier.prompt] = f"{self.verifier_name} compares; add --verifier judge"
        seats = self.judges or ("",)
        is_asked = any(self.listens(seat, rubric) for seat in seats for rubric in self.rubrics)
        if self.rubrics and not is_asked and not self.settings.escalate:
            found[self.judge.prompt] = (
                "a fine-tuned judge has a prompt of its own; name another judge"
                if self.is_tuned("")
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
        files = [Path(name) for name in settings.rubrics if is_rubric_file(name)]
        given = (*read_rubrics(files), *rubrics)
        rated = [rubric for rubric in given if isinstance(rubric, Rubric)]
        criteria = [CriteriaEvaluator(one) for one in given if isinstance(one, Criteria)]
        known = joined_rubrics(load_rubrics(settings.rubric_set), rated)
        own = [*map(find_evaluator, settings.evaluators), *evaluators, *criteria]
        asked = registered(own)
        parts = dict.fromkeys((*PARTS, *(one.part for one in asked)))
        strange = [part for part in settings.only if part not in parts]
        if strange:
            raise SettingsError(
                f"only: there is no part {strange[0]!r}; there are {', '.join(parts)}"
            )
        chosen = chosen_rubrics(settings.rubrics, settings.rubric_set, known, rated)
        own = settings.of_judge(0)
        lm = JudgeLM(untuned(own))
        is_rated_by_it = lm.model == own.model or settings.rubric_set != TUNED_RUBRICS
        rating_lm = lm if is_rated_by_it else JudgeLM(own)
        if settings.evidence == "agent" and not lm.calls_tools:
            raise SettingsError(
                f"{settings.model} cannot call tools, so no agent can search with it: name a judge "
                "that can (--model openai/gpt-4.1-mini), or leave --evidence at search"
            )
        embedder = Embedder(settings.embedder)
        meter = build_meter(settings, embedder)
        return cls(
            settings=settings,
            lm=lm,
            rating_lm=rating_lm,
            panel=build_panel(settings, rating_lm),
            second=cls.of(settings.of_second(), corpus, evaluators, rubrics)
            if settings.escalate
            else None,
            meter=meter,
            rater=SignalJudge(shipped_rater()) if meter else None,
            compiled=read_all_compiled(settings.prompts),
            matcher=opened_matcher(settings.nugget_matcher, settings.embedder),
            embedder=embedder,
            corpus=Corpus() if corpus is None else corpus,
            rubrics={name: known[name] for name in chosen if settings.wants("rubrics")},
            registered=asked,
            encoder=build_encoder(settings, embedder),
            verifier_lm=build_verifier_lm(settings),
            correctness=correctness_model(settings.correctness, embedder, settings.cache_dir),
            judge=RubricJudge(settings.strategy),
            verifier=Verifier(settings.verdict_labels),
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
        return joint_name(first, self.settings.escalated_to)

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the panel's judges; empty where one judge rates alone."""
        return tuple(lm.model for lm in self.panel)

    @property
    def n_slots(self) -> int:
        """Most model calls under way at a time: each judge of a panel has its own slots."""
        seats = range(len(self.settings.judges))
        own = sum(self.settings.of_judge(place).n_slots for place in seats)
        return own + (self.second.n_slots if self.second else 0)

    def lm_of(self, judge: str) -> JudgeLM:
        """What rates the rubrics: a judge of the panel; the run's own where no name is given."""
        own = self.rating_lm or self.lm
        return next((lm for lm in self.panel if lm.model == judge), own)

    def lm_for(self, judge: str, rubric: str) -> JudgeLM:
        """What rates one rubric: of a fine-tuned judge the model below it, where it is a user's."""
        is_own = self.is_tuned(judge) and not self.rates_tuned(judge, rubric)
        return self.lm if is_own else self.lm_of(judge)

    def is_tuned(self, judge: str) -> bool:
        """Whether a judge was fine-tuned to rate the rubrics of this run."""
        note = note_of(self.lm_of(judge).model)
        is_known = self.settings.rubric_set == TUNED_RUBRICS
        return note is not None and note.task == "judge" and is_known

    def rates_tuned(self, judge: str, rubric: str) -> bool:
        """Whether a judge rates a rubric as it was fine-tuned to; a user's own it never saw."""
        return self.is_tuned(judge) and rubric in load_rubrics(TUNED_RUBRICS)

    def asks(self, judge: str, rubric: str) -> bool:
        """Whether a rating takes a call of a model."""
        if self.rater_of(judge, rubric) is None:
            return True
        return self.rates_tuned(judge, rubric) and rubric not in BEYOND_SENTENCES

    def listens(self, judge: str, rubric: str) -> bool:
        """Whether a judge can be told what others said."""
        return not self.rates_tuned(judge, rubric) and self.rater_of(judge, rubric) is None

    @property
    def measures(self) -> bool:
        """Whether answers are measured before their rubrics are judged."""
        return self.meter is not None and self.settings.measures

    @property
    def readers(self) -> tuple[str, ...]:
        """Seats of the judges that read answers before they rate them: those fine-tuned for it."""
        seats = [seat for seat in self.judges or ("",) if self.is_tuned(seat)]
        return tuple(seat for seat in seats if any(self.asks(seat, r) for r in self.rubrics))

    def rater_of(self, judge: str, rubric: str) -> SignalJudge | None:
        """What rates a rubric by signals: in the place of the embedded model, beside a tuned judge.

        None where the judge rates, whatever was measured.
        """
        is_ours = is_embedded_base(self.lm_of(judge).model) or self.is_tuned(judge)
        if not is_ours or self.rater is None:
            return None
        return self.rater if self.rater.knows(rubric) else None

    @property
    def rater_name(self) -> str:
        """What rates the rubrics by signals, for one of the judges; empty where nothing does."""
        seats = self.judges or ("",)
        is_asked = any(self.rater_of(seat, rubric) for seat in seats for rubric in self.rubrics)
        return self.rater.rater.model if self.rater and is_asked else ""

    @property
    def rated_by(self) -> str:
        """Who rates the rubrics where there is no panel, in words."""
        own = (self.rating_lm or self.lm).model
        if not self.is_tuned(""):
            return self.rater_name or own
        return f"{own} with {self.rater_name}" if self.rater_name else own

    @property
    def fatal(self) -> FatalModelError | None:
        """Why the run cannot go on; of a panel, the first judge that cannot be asked."""
        second = (self.second.lm,) if self.second else ()
        verifier = (self.verifier_lm,) if self.verifier_lm else ()
        judges = (self.lm, self.lm_of(""), *self.panel, *second, *verifier)
        return next((lm.fatal for lm in judges if lm.fatal is not None), None)

    @property
    def has_corpus(self) -> bool:
        """Whether there is a place to look literature up in."""
        return not isinstance(self.corpus, Corpus) or len(self.corpus) > 0

    @functools.cached_property
    def reranker(self) -> Reranker | None:
        """What looks at hits again; None where the settings want none."""
        return reranker_of(self.settings, self.embedder)

    @property
    def verifier_name(self) -> str:
        """What compares claims with passages."""
        if self.encoder:
            return self.encoder.model.name
        return (self.verifier_lm or self.lm).model

    @property
    def verifier_identity(self) -> tuple[str, ...]:
        """Name and digest of what compares claims with passages."""
        digest = self.encoder.model.digest if self.encoder else ""
        return (self.verifier_name, digest, *self.tuned_weights)

    @property
    def correctness_name(self) -> str:
        """What says whether sentences are correct."""
        if self.correctness:
            return self.correctness.name
        return self.or_second(self.verifier_name)

    @functools.cached_property
    def identity(self) -> str:
        """Hash of what all verdicts of this toolbox depend on: judge, settings, prompts, corpus."""
        parts = [
            *(str(getattr(self.settings, name)) for name in RESULT_FIELDS),
            self.prompts_sha256,
            self.corpus.sha256,
            *self._weights,
            *(f"{name} {digest}" for name, digest in self.own_digests.items()),
        ]
        return hash_of(*parts)

    @functools.cached_property
    def own_digests(self) -> dict[str, str]:
        """Digests of the user's own evaluators and rubrics, by name."""
        shipped = load_rubrics(self.settings.rubric_set)
        own = {name: rubric for name, rubric in self.rubrics.items() if name not in shipped}
        rubrics = {name: hash_of(rubric.model_dump_json()) for name, rubric in own.items()}
        found = (one for one in self.registered if isinstance(one, OwnEvaluator))
        return {one.name: one.digest for one in found} | rubrics

    @property
    def _weights(self) -> tuple[str, ...]:
        """Names and digests of the models beside the judge."""
        encoder = (self.encoder.model.name, self.encoder.model.digest) if self.encoder else ()
        beside = (self.correctness.name, self.correctness.digest) if self.correctness else ()
        rater = (self.rater.rater.model, self.rater.rater.digest) if self.rater else ()
        return (*encoder, *beside, *rater, *self.tuned_weights)

    @property
    def tuned_weights(self) -> tuple[str, ...]:
        """Digests of the adapters among the judges, whose names may be those of folders."""
        names = (*self.settings.judges, self.settings.chosen_verifier)
        notes = [note_of(name) for name in names]
        return tuple(note.weights_sha256 for note in notes if note)


def toolbox(runtime: Runtime[Toolbox]) -> Toolbox:
    """The run-time context; where the caller gave none, tools by the environment's settings."""
    return runtime.context or _default_toolbox()


@functools.cache
def _default_toolbox() -> Toolbox:
    return Toolbox.of(load_settings())


def hash_of(*parts: str) -> str:
    """SHA-256 of texts, in hexadecimal; where one ends and the next begins counts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
