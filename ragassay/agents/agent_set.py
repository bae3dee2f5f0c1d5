"""The agents of a run."""

from __future__ import annotations

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
from ragassay.records import ItemKind, RacarDimension


@dataclass(frozen=True)
class Agents:
    """One of each; a compiled prompt is put into the one that it is for."""

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
        """All that have a prompt."""
        return tuple(part for part in vars(self).values() if isinstance(part, Agent))
