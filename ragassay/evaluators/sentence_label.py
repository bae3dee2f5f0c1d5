"""Sentence label: whether the answer needs a sentence (BioACE, section 4.1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragassay.evaluators.base import Evaluator, Outcome, Run
from ragassay.evaluators.cases import CaseFile
from ragassay.evaluators.words import Wording, Words
from ragassay.instruments.signal_labeller import FOREIGN, REPEATED, SignalLabeller
from ragassay.metrics.scores import sentence_scores
from ragassay.records import AnswerSentence, Failure, Finding, Score, SentenceLabel
from ragassay.threads import in_thread

LABELLER = SignalLabeller()


class SentenceLabelEvaluator(Evaluator[AnswerSentence]):
    """Label each sentence as required, borderline, unnecessary or inappropriate.

    Without a judge only sentences that are off topic or repeated have a label.
    """

    name = "sentence_label"
    part = "sentences"
    record = SentenceLabel
    needs = ("measures",)
    is_weighed = True
    words = Words(
        verdict="sentence label",
        question="Sentence labels",
        kind="sentence",
        group="sentences",
        title="Sentences",
        scores={
            "sentences.required": Wording("Required sentences", "higher"),
            "sentences.borderline": Wording("Borderline sentences"),
            "sentences.unnecessary": Wording("Unnecessary sentences", "lower"),
            "sentences.inappropriate": Wording("Inappropriate sentences", "lower"),
            "sentences.recall": Wording("Recall of required and borderline", "higher"),
            "sentences.recall_required": Wording("Recall of required", "higher"),
            "sentences.recall_supported": Wording("Recall of required and supported", "higher"),
            "sentences.cluster_recall": Wording("Share of what all answers say", "higher"),
        },
    )

    def items(self, file: CaseFile, run: Run) -> Mapping[str, AnswerSentence]:
        """Return the sentences."""
        return {str(sentence.index): sentence for sentence in file.case.sentences}

    async def ask(
        self, subject: AnswerSentence, file: CaseFile, run: Run
    ) -> Sequence[SentenceLabel]:
        """Label one sentence."""
        if run.models.labeller is not None:
            question = file.case.question
            return [await in_thread(run.models.labeller.label, question, subject)]
        if run.judge.lm is None:
            return [LABELLER.label(subject, file.case.sentences, file.signals)]
        label: Any = await run.judge.ask(run.agents.labeller, case=file.case, sentence=subject)
        return [label]

    def unscored(
        self,
        subject: AnswerSentence,
        file: CaseFile,
        run: Run,
        failure: Failure,
    ) -> Sequence[SentenceLabel]:
        """Return no label."""
        return [SentenceLabel(sentence=subject.index, failure=failure)]

    def depends_on(self, subject: AnswerSentence, file: CaseFile, run: Run) -> Iterable[str]:
        """Return the labeller, or the measurements, where they decide."""
        if run.models.labeller is not None:
            yield from (*run.models.labeller.identity, file.case.question)
        elif run.judge.lm is None:
            yield from (str(FOREIGN), str(REPEATED))
            yield file.signals.model_dump_json() if file.signals else ""

    def settled(self, file: CaseFile, run: Run) -> Sequence[SentenceLabel]:
        """Return one label a sentence; where nobody but a judge could tell, nothing is said."""
        found = super().settled(file, run)
        return found if _is_judged(run) else [one for one in found if one.label]

    def n_most_calls(self, file: CaseFile, run: Run) -> int:
        """Return one call a sentence; none with a labeller."""
        return 0 if run.models.labeller else super().n_most_calls(file, run)

    def judged_by(self, run: Run) -> str:
        """Name the labeller, or the judge."""
        labeller = run.models.labeller
        return run.or_second(labeller.name) if labeller else super().judged_by(run)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the share of sentences with each label; none where only a few can have one."""
        if not _is_judged(outcome.run):
            return {}
        return sentence_scores(outcome.of(SentenceLabel), self.judged_by(outcome.run))

    def findings(self, outcome: Outcome) -> list[Finding]:
        """Name the inappropriate sentences."""
        return [
            Finding(
                kind="inappropriate_sentence",
                sentence=label.sentence,
                message=f"Sentence {label.sentence} is labelled inappropriate: "
                "it may harm a patient.",
                evaluator=label.evaluator,
                item=label.item,
            )
            for label in outcome.of(SentenceLabel)
            if label.label == "inappropriate"
        ]


def _is_judged(run: Run) -> bool:
    """Return whether a labeller labels sentences, or a judge, the first or the second."""
    has_labeller = run.models.labeller is not None
    return has_labeller or run.judge.lm is not None or run.second is not None
