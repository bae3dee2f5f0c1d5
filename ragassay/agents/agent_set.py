"""Agents of a run and their compiled prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ragassay.agents.base import Agent
from ragassay.agents.evidence_search import EvidenceSearcher, QueryWriter, SufficiencyJudge
from ragassay.agents.labellers import (
    ImportanceScorer,
    NuggetAssigner,
    RationaleAuditor,
    SentenceLabeller,
)
from ragassay.agents.nugget_writers import AnswerNuggetizer, FactLister, NuggetCreator, NuggetWriter
from ragassay.agents.pair_raters import IntentComparer, RacarRater
from ragassay.agents.passage_graders import AnswerChecker, ItemExtractor, ItemRater, RelevanceGrader
from ragassay.agents.qa_writer import PairRepairer, QAWriter, SelfQuestioner
from ragassay.agents.rubric_judge import Asker, RubricJudge
from ragassay.agents.tuned_judge import AnswerReader, TunedJudge
from ragassay.agents.verifiers import TunedVerifier, Verifier
from ragassay.agents.writers import ExamWriter, Synthesizer
from ragassay.errors import SettingsError
from ragassay.prompts.compiled import CompiledPrompt
from ragassay.records import ItemKind, RacarDimension
from ragassay.settings import Settings


@dataclass(frozen=True)
class Agents:
    """The agents of a run, one of each kind."""

    judge: RubricJudge = field(default_factory=RubricJudge)
    reader: AnswerReader = field(default_factory=AnswerReader)
    tuned_judge: TunedJudge = field(default_factory=TunedJudge)
    labeller: SentenceLabeller = field(default_factory=SentenceLabeller)
    writer: NuggetWriter = field(default_factory=NuggetWriter)
    answer_nuggetizer: AnswerNuggetizer = field(default_factory=AnswerNuggetizer)
    assigner: NuggetAssigner = field(default_factory=NuggetAssigner)
    creator: NuggetCreator = field(default_factory=NuggetCreator)
    importance_scorer: ImportanceScorer = field(default_factory=ImportanceScorer)
    verifier: Verifier = field(default_factory=Verifier)
    tuned_verifier: TunedVerifier = field(default_factory=TunedVerifier)
    fact_lister: FactLister = field(default_factory=FactLister)
    query_writer: QueryWriter = field(default_factory=QueryWriter)
    sufficiency_judge: SufficiencyJudge = field(default_factory=SufficiencyJudge)
    searcher: EvidenceSearcher = field(default_factory=EvidenceSearcher)
    question_rater: ItemRater = field(default_factory=partial(ItemRater, "question"))
    nugget_rater: ItemRater = field(default_factory=partial(ItemRater, "nugget"))
    answer_extractor: ItemExtractor = field(default_factory=partial(ItemExtractor, "question"))
    nugget_extractor: ItemExtractor = field(default_factory=partial(ItemExtractor, "nugget"))
    answer_checker: AnswerChecker = field(default_factory=AnswerChecker)
    relevance_grader: RelevanceGrader = field(default_factory=RelevanceGrader)
    asker: Asker = field(default_factory=Asker)
    exam_writer: ExamWriter = field(default_factory=ExamWriter)
    relevance_rater: RacarRater = field(default_factory=partial(RacarRater, "relevance"))
    agnosticism_rater: RacarRater = field(default_factory=partial(RacarRater, "agnosticism"))
    completeness_rater: RacarRater = field(default_factory=partial(RacarRater, "completeness"))
    accuracy_rater: RacarRater = field(default_factory=partial(RacarRater, "accuracy"))
    reasonableness_rater: RacarRater = field(default_factory=partial(RacarRater, "reasonableness"))
    intent_comparer: IntentComparer = field(default_factory=IntentComparer)
    qa_writer: QAWriter = field(default_factory=QAWriter)
    qa_mender: PairRepairer = field(default_factory=PairRepairer)
    self_questioner: SelfQuestioner = field(default_factory=SelfQuestioner)
    synthesizer: Synthesizer = field(default_factory=Synthesizer)
    rationale_auditor: RationaleAuditor = field(default_factory=RationaleAuditor)

    def choose_rater(self, kind: ItemKind) -> ItemRater:
        """Return the agent that rates how well a passage covers test bank items of one kind."""
        return self.question_rater if kind == "question" else self.nugget_rater

    def choose_extractor(self, kind: ItemKind) -> ItemExtractor:
        """Return the agent that extracts answers to test bank items of one kind from a passage."""
        return self.answer_extractor if kind == "question" else self.nugget_extractor

    def choose_racar_rater(self, dimension: RacarDimension) -> RacarRater:
        """Return the agent that rates question-answer pairs on a dimension."""
        rater: RacarRater = getattr(self, f"{dimension}_rater")
        return rater

    @property
    def all(self) -> tuple[Agent, ...]:
        """All agents that have a prompt."""
        return tuple(part for part in vars(self).values() if isinstance(part, Agent))


def apply_compiled(
    compiled: Sequence[CompiledPrompt],
    agents: Sequence[Agent],
    rubrics: Sequence[str] = (),
    unasked: Mapping[str, str] | None = None,
) -> None:
    """Assign compiled prompts to their agents.

    Args:
        rubrics: Names of the rubrics in the run. If empty, every rubric name is accepted.
        unasked: For each agent that the run does not use, its prompt name and the reason.

    Raises:
        SettingsError: A prompt was compiled for an unknown agent, an unknown rubric or an unused
            agent.
    """
    by_prompt = {agent.prompt: agent for agent in agents}
    for prompt in compiled:
        agent = by_prompt.get(prompt.agent)
        if agent is None:
            raise SettingsError(
                f"a compiled prompt is for the unknown agent {prompt.agent!r}; use one of "
                f"{', '.join(by_prompt)}"
            )
        unknown = [name for name in prompt.rubrics if rubrics and name not in rubrics]
        if unknown:
            raise SettingsError(f"a compiled prompt is for the unknown rubric {unknown[0]!r}")
        if reason := (unasked or {}).get(prompt.agent):
            raise SettingsError(
                f"the compiled prompt of {prompt.title} would not be used: {reason}"
            )
        agent.use(prompt)


def find_unused_agents(settings: Settings) -> dict[str, str]:
    """Return each agent that the run does not use, with the reason and a way to enable it."""
    writes = settings.evaluation.wants("nuggets") or settings.cites_by_nuggets
    verifies = settings.evaluation.wants("citations") or settings.evaluation.verifies_evidence
    searches = settings.evaluation.looks_for_evidence
    rules = (
        ("rubric_judge", settings.evaluation.wants("rubrics"), _describe_skip("rubrics")),
        ("sentence_labeller", settings.evaluation.wants("sentences"), _describe_skip("sentences")),
        ("nugget_assigner", settings.evaluation.wants("nuggets"), _describe_skip("nuggets")),
        ("nugget_writer", writes, _describe_skip("nuggets")),
        (
            "nugget_writer",
            settings.nuggets.nugget_unit == "sentence",
            "nuggets are listed from the whole answer; set nugget_unit to sentence",
        ),
        ("verifier", verifies, _describe_skip("citations")),
        ("query_writer", searches, _describe_skip("evidence")),
        (
            "query_writer",
            settings.retrieval.evidence == "search",
            "an agent searches for evidence; use --evidence search",
        ),
    )
    return {agent: reason for agent, is_used, reason in reversed(rules) if not is_used}


def _describe_skip(part: str) -> str:
    return f"the run skips {part}; add {part} to --only"
