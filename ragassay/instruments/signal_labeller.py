"""Tell from measurements that an answer does not need a sentence, or nothing.

There is no prompt and no language model: judged text cannot instruct it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.instruments.signals.facts import SOURCED
from ragassay.records import AnswerSentence, Failure, SentenceLabel, SentenceSignals, Signals
from ragassay.text.numbers import numbers_of

FOREIGN = 4.0
"""Logit from which a sentence is from another text. It took 619 of 655 inserted sentences for such,
and none of 4,494 others (`python -m training.unneeded`: YESciEval's answers to 68 questions that
nothing was fitted on, half of them to choose the bounds)."""

REPEATED = 0.98
"""Cosine with an earlier sentence from which one repeats it: 65 of 133 repeated ones, and none of
410 others of whole answers (same command)."""

UNDECIDED = Failure(
    reason="undecided", detail="without a judge only sentences off topic or repeated are told"
)


class SignalLabeller:
    """Labels a sentence as unnecessary where it is off topic or repeated; else it is undecided."""

    def label(
        self, sentence: AnswerSentence, sentences: Sequence[AnswerSentence], signals: Signals | None
    ) -> SentenceLabel:
        """Label one sentence of an answer.

        Args:
            sentence: The sentence.
            sentences: All of the answer.
            signals: The answer's; None where it was not measured.
        """
        measured = signals.sentences[sentence.index - 1] if signals else None
        if signals and measured and self._is_unneeded(sentence, sentences, signals, measured):
            return SentenceLabel(sentence=sentence.index, label="unnecessary")
        return SentenceLabel(sentence=sentence.index, failure=UNDECIDED)

    def _is_unneeded(
        self,
        sentence: AnswerSentence,
        sentences: Sequence[AnswerSentence],
        signals: Signals,
        measured: SentenceSignals,
    ) -> bool:
        # Without sources "foreign" rests on the question alone, which was not tried.
        if SOURCED in signals.values and measured.values["foreign"] >= FOREIGN:
            return True
        twin = measured.twin or sentence.index
        if twin >= sentence.index or measured.values.get("redundancy", 0.0) < REPEATED:
            return False
        # Two doses, two results: the same words with other numbers are another fact.
        return numbers_of(sentence.text) <= numbers_of(sentences[twin - 1].text)
