"""Sentence labels by measurements: unnecessary, or nothing."""

from __future__ import annotations

import pytest

from ragassay.instruments.labellers import FOREIGN, REPEATED, SignalLabeller
from ragassay.instruments.signals.facts import SOURCED
from ragassay.records import AnswerSentence, SentenceSignals, Signals

TEXTS = ("Drug A lowered pain by 5 points.", "It is cheap.", "Pain fell by 5 points with drug A.")


def labels(
    foreign: float = -5.0, redundancy: float = 0.2, twin: int | None = 1, **given: object
) -> list[str | None]:
    texts = given.get("texts", TEXTS)
    sentences = [
        AnswerSentence(index=n, text=str(text), start=0, end=9)
        for n, text in enumerate(texts, 1)  # type: ignore[arg-type,var-annotated]
    ]
    own = {"foreign": -5.0, "redundancy": 0.2}
    last = {"foreign": foreign, "redundancy": redundancy}
    signals = Signals(
        values={SOURCED: 0.7} if given.get("sourced", True) else {},
        sentences=tuple(
            SentenceSignals(sentence=n, twin=twin if n == 3 else None, values=v)
            for n, v in enumerate((own, own, last), 1)
        ),
    )
    found = [SignalLabeller().label(one, sentences, signals) for one in sentences]
    assert all((one.failure is None) == (one.label is not None) for one in found)
    assert {one.failure.reason for one in found if one.failure} <= {"undecided"}
    return [one.label for one in found]


@pytest.mark.parametrize("given", [{"foreign": FOREIGN}, {"redundancy": REPEATED}])
def test_a_sentence_of_another_text_or_a_repeated_one_is_unnecessary(given: dict[str, float]):
    assert labels(**given) == [None, None, "unnecessary"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"foreign": FOREIGN - 0.01},
        {"redundancy": REPEATED - 0.001},
        # Without sources the bound was not found.
        {"foreign": 9.0, "sourced": False},
        # The first of two is not the repeated one.
        {"redundancy": 1.0, "twin": None},
        {"redundancy": 1.0, "texts": (*TEXTS[:2], "Drug A lowered pain by 9 points.")},
    ],
)
def test_all_else_is_undecided(given: dict[str, object]):
    assert labels(**given) == [None, None, None]  # type: ignore[arg-type]


def test_an_answer_that_was_not_measured_is_undecided():
    one = AnswerSentence(index=1, text="A.", start=0, end=2)
    assert SignalLabeller().label(one, [one], None).label is None
