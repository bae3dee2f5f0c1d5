"""The agents of a run, and the compiled prompts that are put into them."""

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
from ragassay.agents.qa_writer import QAMender, QAWriter, SelfQuestioner
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
    """The agents of a run, one of each kind, with their compiled prompts."""

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
    qa_mender: QAMender = field(default_factory=QAMender)
    self_questioner: SelfQuestioner = field(default_factory=SelfQuestioner)
    synthesizer: Synthesizer = field(default_factory=Synthesizer)
    rationale_auditor: RationaleAuditor = field(default_factory=RationaleAuditor)

    def rater(self, kind: ItemKind) -> ItemRater:
        """Return the agent that rates a passage by items of a kind."""
        return self.question_rater if kind == "question" else self.nugget_rater

    def extractor(self, kind: ItemKind) -> ItemExtractor:
        """Return the agent that takes from a passage what it says on items of a kind."""
        return self.answer_extractor if kind == "question" else self.nugget_extractor

    def racar_rater(self, dimension: RacarDimension) -> RacarRater:
        """Return the agent that rates question-answer pairs in a dimension."""
        rater: RacarRater = getattr(self, f"{dimension}_rater")
        return rater

    @property
    def all(self) -> tuple[Agent, ...]:
        """All agents that have a prompt."""
        return tuple(part for part in vars(self).values() if isinstance(part, Agent))


def use_compiled(
    compiled: Sequence[CompiledPrompt],
    agents: Sequence[Agent],
    rubrics: Sequence[str] = (),
    unasked: Mapping[str, str] | None = None,
) -> None:
    """Put compiled prompts into their agents.

    Args:
        compiled: Any number; what an agent says already may be said again.
        agents: Those of a run.
        rubrics: Names of the rubrics that there are; empty for those of any run.
        unasked: Prompts that this run does not say to a model, and why.

    Raises:
        SettingsError: A prompt is for none of the agents, for a rubric that there is not, or would
            not be said.
    """
    by_prompt = {agent.prompt: agent for agent in agents}
    for prompt in compiled:
        agent = by_prompt.get(prompt.agent)
        if agent is None:
            raise SettingsError(
                f"a compiled prompt is for {prompt.agent!r}, which this run does not have; there "
                f"are {', '.join(by_prompt)}"
            )
        unknown = [name for name in prompt.rubrics if rubrics and name not in rubrics]
        if unknown:
            raise SettingsError(
                f"a compiled prompt is for the rubric {unknown[0]!r}; there is none"
            )
        if why := (unasked or {}).get(prompt.agent):
            raise SettingsError(f"the compiled prompt of {prompt.title} would not be said: {why}")
        agent.use(prompt)


def agents_left_out(settings: Settings) -> dict[str, str]:
    """Return the agents that no evaluator of a run asks, by their names, and what to change."""
    writes = settings.evaluation.wants("nuggets") or settings.cites_by_nuggets
    verifies = settings.evaluation.wants("citations") or settings.evaluation.verifies_evidence
    searches = settings.evaluation.looks_for_evidence
    rules = (
        ("rubric_judge", settings.evaluation.wants("rubrics"), _lacking("rubrics")),
        ("sentence_labeller", settings.evaluation.wants("sentences"), _lacking("sentences")),
        ("nugget_assigner", settings.evaluation.wants("nuggets"), _lacking("nuggets")),
        ("nugget_writer", writes, _lacking("nuggets")),
        (
            "nugget_writer",
            settings.nuggets.nugget_unit == "sentence",
            "nuggets are listed of the whole answer; set nugget_unit to sentence",
        ),
        ("verifier", verifies, _lacking("citations")),
        ("query_writer", searches, _lacking("evidence")),
        (
            "query_writer",
            settings.retrieval.evidence == "search",
            "an agent searches in its place; take --evidence search",
        ),
    )
    return {agent: why for agent, is_asked, why in reversed(rules) if not is_asked}


def _lacking(part: str) -> str:
    return f"the run leaves out {part}; add {part} to --only"
