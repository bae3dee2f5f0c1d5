"""Check whether sentences are needed and correct (BioACE, sections 4.1.2 and 4.1.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.evaluators.base import Evaluator, Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.claims import EVIDENCE, NO_PASSAGE
from ragassay.evaluators.comparing import choose_compared_text
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.instruments.labellers import FOREIGN, REPEATED, SignalLabeller
from ragassay.metrics.papers.answer_scores import score_correctness, score_sentences
from ragassay.models.correctness import EntailmentCorrectness, identify_model
from ragassay.process import run_in_thread
from ragassay.records import (
    CORRECTNESS,
    NOTHING_TO_JUDGE,
    AnswerSentence,
    EvidenceSpan,
    EvidenceVerdict,
    Finding,
    Score,
    SentenceCorrectness,
    SentenceLabel,
)
from ragassay.text.search import extract_passage

if TYPE_CHECKING:
    from ragassay.instruments.labellers import HeadLabeller
    from ragassay.models.correctness import CorrectnessModel


LABELLER = SignalLabeller()


class SentenceLabelEvaluator(Evaluator[AnswerSentence]):
    """Label each sentence as required, borderline, unnecessary or inappropriate.

    If there is no judge, only off-topic and repeated sentences get a label.
    """

    name = "sentence_label"
    part = "sentences"
    record = SentenceLabel
    needs = ("signals",)
    is_weighed = True
    display = EvaluatorDisplay(
        verdict="sentence label",
        question="Sentence labels",
        kind="sentence",
        group="sentences",
        title="Sentences",
        scores={
            "sentences.required": ScoreDisplay("Required sentences", "higher"),
            "sentences.borderline": ScoreDisplay("Borderline sentences"),
            "sentences.unnecessary": ScoreDisplay("Unnecessary sentences", "lower"),
            "sentences.inappropriate": ScoreDisplay("Inappropriate sentences", "lower"),
            "sentences.recall": ScoreDisplay(
                "Recall of required and borderline sentences", "higher"
            ),
            "sentences.recall_required": ScoreDisplay("Recall of required sentences", "higher"),
            "sentences.recall_supported": ScoreDisplay(
                "Recall of required and supported sentences", "higher"
            ),
            "sentences.cluster_recall": ScoreDisplay(
                "Recall of the content of all answers", "higher"
            ),
        },
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, AnswerSentence]:
        """Return the sentences, keyed by index."""
        return {str(sentence.index): sentence for sentence in open_case.case.sentences}

    async def ask(
        self, item: AnswerSentence, open_case: OpenCase, run: Run
    ) -> Sequence[SentenceLabel]:
        """Label one sentence."""
        if run.models.labeller is not None:
            question = open_case.case.question
            return [await run_in_thread(run.models.labeller.label, question, item)]
        if run.judge.lm is None:
            return [LABELLER.label(item, open_case.case.sentences, open_case.signals)]
        label: Any = await run.judge.ask(run.agents.labeller, case=open_case.case, sentence=item)
        return [label]

    def build_verdict_fields(self, item: AnswerSentence) -> dict[str, Any]:
        """Return the field that identifies a label: the number of the sentence."""
        return {"sentence": item.index}

    def list_dependencies(
        self, item: AnswerSentence, open_case: OpenCase, run: Run
    ) -> Iterable[str]:
        """Return what a label depends on: the local labeller, and the signals if it uses them."""
        if run.models.labeller is not None:
            yield from (*run.models.labeller.identity, open_case.case.question)
        elif run.judge.lm is None:
            yield from (str(FOREIGN), str(REPEATED))
            yield open_case.signals.model_dump_json() if open_case.signals else ""

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[SentenceLabel]:
        """Return one label per sentence. If only signals are used, some sentences have no label."""
        labels = super().collect_verdicts(open_case, run)
        return labels if _is_judged(run) else [one for one in labels if one.label]

    def find_instrument(self, run: Run) -> HeadLabeller | None:
        """Return the local labeller, or None if the judge labels."""
        return run.models.labeller

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the share of sentences with each label, unless only signals are used."""
        if not _is_judged(outcome.run):
            return {}
        return score_sentences(outcome.select_verdicts(SentenceLabel), self.name_judge(outcome.run))

    def findings(self, outcome: Outcome) -> list[Finding]:
        """Report the inappropriate sentences."""
        return [
            Finding(
                kind="inappropriate_sentence",
                sentence=label.sentence,
                message=f"Sentence {label.sentence} is labelled inappropriate because it may harm "
                "a patient.",
                evaluator=label.evaluator,
                item=label.item,
            )
            for label in outcome.select_verdicts(SentenceLabel)
            if label.label == "inappropriate"
        ]


def _is_judged(run: Run) -> bool:
    has_labeller = run.models.labeller is not None
    return has_labeller or run.judge.lm is not None or run.second is not None


@dataclass(frozen=True)
class SentencePassages:
    """A sentence (index from 1), and the passages retrieved for and against it."""

    sentence: int
    text: str
    passages: tuple[EvidenceSpan, ...]


class CorrectnessEvaluator(Evaluator[SentencePassages]):
    """Decide whether each sentence is correct, i.e. whether a passage supports it.

    If each sentence has passages from k documents, this is BioACE's correctness at k. Passages from
    the search for counterevidence also count. If there is no separate model, correctness is derived
    from the evidence verdicts.
    """

    name = "correctness"
    part = "correctness"
    record = SentenceCorrectness
    needs = ("passages", "evidence")
    display = EvaluatorDisplay(
        verdict="verdict on correctness",
        verdicts="verdicts on correctness",
        group="correctness",
        title="Correctness",
        direction="higher",
        scores={"correctness.score": ScoreDisplay("Factual correctness", "higher")},
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, SentencePassages]:
        """Return the sentences with passages, if a separate model is used."""
        if run.models.correctness is None:
            return {}
        passages: dict[int, list[EvidenceSpan]] = {}
        for one in open_case.found:
            passages.setdefault(one.sentence, []).append(one.passage)
        return {
            str(s.index): SentencePassages(s.index, s.text, tuple(passages[s.index]))
            for s in open_case.case.sentences
            if s.index in passages
        }

    async def ask(
        self, item: SentencePassages, open_case: OpenCase, run: Run
    ) -> Sequence[SentenceCorrectness]:
        """Score a sentence against each of its passages."""
        assert run.models.correctness is not None  # else there are no items
        texts = _list_texts(item, open_case, run)
        return [await run_in_thread(_decide_correctness, item, texts, run.models.correctness)]

    def list_dependencies(
        self, item: SentencePassages, open_case: OpenCase, run: Run
    ) -> Sequence[str]:
        """Return what a verdict depends on: the correctness model and the passages."""
        model = run.models.correctness
        identity = [*identify_model(model), str(model.threshold)] if model else []
        titles = [passage.title for passage in item.passages]
        return [*identity, *titles, *_list_texts(item, open_case, run)]

    def collect_verdicts(self, open_case: OpenCase, run: Run) -> Sequence[SentenceCorrectness]:
        """Return one verdict per sentence, from the model or the evidence.

        A verdict may be unscored.
        """
        by_sentence = _derive_correctness(open_case, run)
        for one in super().collect_verdicts(open_case, run):
            other = by_sentence.get(one.sentence)
            # If the model is undecided, the evidence verdicts may decide, e.g. from a second judge.
            if not (one.is_undecided and other and other.correct is not None):
                by_sentence[one.sentence] = one
        return [
            by_sentence.get(s.index) or SentenceCorrectness(sentence=s.index, failure=NO_PASSAGE)
            for s in open_case.case.sentences
        ]

    def name_judge(self, run: Run) -> str:
        """Return the name of the correctness model, or else of the verifier."""
        return run.correctness_name

    def split_verdict(self, verdict: SentenceCorrectness) -> Sequence[SentenceCorrectness]:
        """Return the verdict, or nothing if no passage was found for the sentence."""
        failure = verdict.failure
        return () if failure and failure.reason in NOTHING_TO_JUDGE else (verdict,)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the share of correct sentences."""
        return score_correctness(
            outcome.select_verdicts(SentenceCorrectness), self.name_judge(outcome.run)
        )

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Return 0, because no language model is used."""
        return 0


def _list_texts(item: SentencePassages, open_case: OpenCase, run: Run) -> list[str]:
    """Return the texts to compare with a sentence: passages or, for an NLI model, longer texts."""
    if not isinstance(run.models.correctness, EntailmentCorrectness):
        return [passage.text for passage in item.passages]
    sentence = open_case.case.sentences[item.sentence - 1]
    return [
        choose_compared_text(passage, sentence, open_case.case, run).text
        for passage in item.passages
    ]


def _decide_correctness(
    item: SentencePassages, texts: Sequence[str], model: CorrectnessModel
) -> SentenceCorrectness:
    passages = item.passages
    pairs = [
        (item.text, extract_passage(item.text, text, passage.title))
        for passage, text in zip(passages, texts, strict=True)
    ]
    scores = [-math.inf if math.isnan(one) else one for one in model.score_pairs(pairs).tolist()]
    best = max(range(len(scores)), key=scores.__getitem__)
    score, doubt = None if scores[best] == -math.inf else scores[best], model.find_doubt(pairs)
    is_correct = score is not None and score >= model.threshold
    return SentenceCorrectness(
        sentence=item.sentence,
        correct=None if doubt else is_correct,
        score=None if score is None else round(score, 4),
        evidence=passages[best],
        tentative_label=CORRECTNESS[is_correct] if doubt else None,
        failure=doubt,
    )


def _derive_correctness(open_case: OpenCase, run: Run) -> dict[int, SentenceCorrectness]:
    """Derive correctness from the evidence. A sentence is correct if a passage supports it.

    Otherwise, the sentence is unscored if a verdict is missing. "Undecided" is given as the reason
    only if no verdict failed for another reason.
    """
    by_sentence: dict[int, list[EvidenceVerdict]] = {}
    for one in EVIDENCE.collect_verdicts(open_case, run) if EVIDENCE.is_wanted(run) else ():
        by_sentence.setdefault(one.sentence, []).append(one)
    decided: dict[int, SentenceCorrectness] = {}
    for sentence, verdicts in by_sentence.items():
        supports = [one for one in verdicts if one.verdict == "supports"]
        missing = sorted((one for one in verdicts if one.failure), key=lambda v: v.is_undecided)
        failure = missing[0].failure if missing and not supports else None
        leans = any(one.tentative_label == "supports" for one in missing)
        decided[sentence] = SentenceCorrectness(
            sentence=sentence,
            correct=None if failure else bool(supports),
            evidence=(supports or verdicts)[0].evidence,
            tentative_label=CORRECTNESS[leans] if failure and failure.is_undecided else None,
            failure=failure,
        )
    return decided
