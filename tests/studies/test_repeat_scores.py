"""How often a judge contradicts itself."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.records import (
    Citation,
    CitationVerdict,
    Failure,
    Judgment,
    OwnVerdict,
    SentenceLabel,
    VerdictBase,
)
from ragassay.studies.repeats import (
    AskedVerdict,
    change_interval,
    find_nearest_choice,
    repeat_figures,
)

LOST = Failure(reason="unparsable")


def rated(rating: int | None, score: float | None = None, judge: str = "") -> Judgment:
    value = score if score is not None or rating is None else float(rating)
    failure = LOST if rating is None else None
    return Judgment(rubric="cohesion", judge=judge, rating=rating, score=value, failure=failure)


def labelled(label: str | None) -> SentenceLabel:
    failure = LOST if label is None else None
    return SentenceLabel.model_validate({"sentence": 1, "label": label, "failure": failure})


def asked(*verdicts: VerdictBase, kind: str = "rubric") -> list[AskedVerdict]:
    """A repetition: a verdict on each of several answers, to a question each."""
    return [AskedVerdict(kind, f"r{n}", f"q{n}", verdict) for n, verdict in enumerate(verdicts)]


def test_a_verdict_changes_where_it_is_not_the_same_every_time():
    # Of four, the second differs once and the third twice: 2 of 4.
    times = [
        asked(rated(4), rated(4), rated(1), rated(5)),
        asked(rated(4), rated(4), rated(2), rated(5)),
        asked(rated(4), rated(3), rated(3), rated(5)),
    ]
    (found,) = repeat_figures(times)
    assert (found.kind, found.changed.value, found.changed.n) == ("rubric", 0.5, 4)
    assert found.mean_spread == (0 + 1 + 2 + 0) / 4
    assert found.changed.low is not None and found.changed.low < 0.5 < (found.changed.high or 0)


def test_a_rating_is_compared_as_written_and_its_score_as_a_spread():
    (found,) = repeat_figures([asked(rated(4, 3.9)), asked(rated(4, 4.1))])
    assert (found.changed.value, found.mean_spread) == (0.0, pytest.approx(0.2))


def test_labels_have_no_spread_and_lost_verdicts_are_counted_apart():
    times = [
        asked(labelled("required"), labelled("borderline"), labelled(None), kind="sentence"),
        asked(labelled("required"), labelled(None), labelled("required"), kind="sentence"),
    ]
    (found,) = repeat_figures(times)
    assert (found.changed.value, found.changed.n, found.changed.n_unscored) == (0.0, 1, 2)
    assert found.mean_spread is None


def test_what_only_one_repetition_asked_is_not_compared():
    (found,) = repeat_figures([asked(rated(4), rated(5)), asked(rated(4))])
    assert (found.changed.n, found.changed.n_unscored) == (1, 1)


def test_judges_of_a_panel_and_kinds_have_figures_of_their_own():
    cited = CitationVerdict(sentence=1, citation=Citation(marker="1"), verdict="supports")
    both = [*asked(rated(4, judge="a")), *asked(cited, kind="claim")]
    one = [*both, *asked(rated(4, judge="b")), *asked(labelled(None))]
    found = repeat_figures([one, [*both, *asked(rated(2, judge="b"))]])
    shares = {(figure.kind, figure.judge): figure.changed.value for figure in found}
    assert shares["rubric", "a"] == 0.0 and shares["rubric", "b"] == 1.0
    assert shares["claim", ""] == 0.0


@each_case("times", [[[], []], [asked(rated(None)), asked(rated(None))]])
def test_without_verdicts_there_is_no_share(times):
    assert all(figure.changed.value is None for figure in repeat_figures(times))


def own(**given: object) -> OwnVerdict:
    return OwnVerdict.model_validate({"evaluator": "tone", **given})


@each_case(
    ("verdict", "value"),
    [
        (own(label="good"), "good"),
        (own(score=3.04, scale=(1.0, 5.0)), 3),  # between calls an expectation moves a little
        (own(score=3.6, scale=(1.0, 5.0)), 4),
        (own(score=0.3, scale=(0.0, 1.0)), 0.25),
        (rated(2, 2.7), 2),
        (rated(None), None),
    ],
)
def test_what_is_compared(verdict, value):
    assert find_nearest_choice(verdict) == value


def test_no_change_in_a_few_verdicts_is_no_certainty():
    # Wilson, 0 of 10: the upper end is z^2 / (n + z^2) = 3.8415 / 13.8415 = .2775.
    low, high = change_interval([0.0] * 10, [str(n) for n in range(10)]) or (None, None)
    assert low == pytest.approx(0.0, abs=1e-9) and high == pytest.approx(0.2775, abs=1e-4)
    assert change_interval([], []) is None
    assert change_interval([0.0, 1.0], ["q", "q"]) is not None
