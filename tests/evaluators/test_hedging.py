"""Hedging, by the words of a sentence."""

from ragassay.evaluators.base import Task
from ragassay.evaluators.hedging import HedgingEvaluator
from ragassay.records import AnswerSentence


async def test_a_sentence_with_may_hedges_and_one_without_does_not():
    texts = ("It may help.", "It helps in May-June.", "It helps.")
    found = [
        (
            await HedgingEvaluator().ask(
                AnswerSentence(index=n, text=text, start=0, end=1),
                Task("hedging", str(n)),
                None,  # type: ignore[arg-type]
                None,  # type: ignore[arg-type]
            )
        )[0].is_hedged
        for n, text in enumerate(texts, 1)
    ]
    assert found == [True, True, False]
