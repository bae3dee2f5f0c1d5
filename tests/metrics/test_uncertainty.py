"""How sure a judge was, and the condition that says when it was not."""

from __future__ import annotations

import numpy as np
import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.errors import SettingsError
from ragassay.metrics.stats.uncertainty import (
    Term,
    entropy_bits,
    find_confidence,
    find_entropy,
    parse_condition,
    round_entropy,
)
from ragassay.records import Failure, Judgment, SentenceLabel

scipy_stats = LazyModule("scipy.stats")


def rated(*shares: float) -> Judgment:
    given_shares = shares or None
    return Judgment(rubric="cohesion", rating=3, score=3.0, distribution=given_shares)


def labelled(confidence: float | None, bits: float | None) -> SentenceLabel:
    return SentenceLabel(sentence=1, label="required", confidence=confidence, entropy_bits=bits)


def lost(reason: str) -> Judgment:
    return Judgment(rubric="cohesion", failure=Failure.model_validate({"reason": reason}))


@each_case(
    ("shares", "bits"),
    [
        ([1.0], 0.0),
        ([1.0, 0.0, 0.0], 0.0),
        ([0.5, 0.5], 1.0),
        # .5 log2 2 + 2 * .25 log2 4 = .5 + 1
        ([0.5, 0.25, 0.25], 1.5),
        # Twice as much of each is the same distribution.
        ([1.0, 0.5, 0.5], 1.5),
        ([0.2] * 5, 2.321928),
        ([], None),
        ([0.0, 0.0], None),
    ],
)
def test_entropy_by_hand(shares, bits):
    assert entropy_bits(shares) == (None if bits is None else pytest.approx(bits, abs=1e-6))


@given(st.lists(st.floats(min_value=1e-6, max_value=1.0), min_size=1, max_size=8))
def test_entropy_is_that_of_scipy(shares):
    found = entropy_bits(shares)
    assert found == pytest.approx(float(scipy_stats.entropy(np.array(shares), base=2)), abs=1e-9)
    assert 0.0 <= found <= np.log2(len(shares)) + 1e-9


def test_a_record_keeps_four_places_or_nothing():
    assert round_entropy([1 / 3] * 3) == 1.585
    assert round_entropy(None) is None


def test_how_sure_a_judge_was_of_a_rating_and_of_a_label():
    assert find_entropy(rated(0.5, 0.5, 0.0, 0.0, 0.0)) == 1.0
    assert find_confidence(rated(0.1, 0.2, 0.4, 0.2, 0.1)) == 0.4
    assert (find_entropy(rated()), find_confidence(rated())) == (None, None)
    assert (find_entropy(labelled(0.9, 0.3)), find_confidence(labelled(0.9, 0.3))) == (0.3, 0.9)


@pytest.mark.parametrize(
    ("text", "written", "ways"),
    [
        ("entropy>1.0", "entropy>1", ((Term("entropy", 1.0),),)),
        (" Entropy > .5 ", "entropy>0.5", ((Term("entropy", 0.5),),)),
        ("confidence<0.6", "confidence<0.6", ((Term("confidence", 0.6),),)),
        ("undecided", "undecided", ((Term("undecided"),),)),
        ("unscored", "unscored", ((Term("unscored"),),)),
        (
            "entropy>2 or entropy>1 and confidence<.5",
            "entropy>2 or entropy>1 and confidence<0.5",
            ((Term("entropy", 2.0),), (Term("entropy", 1.0), Term("confidence", 0.5))),
        ),
    ],
)
def test_a_condition_is_read_and_has_one_spelling(text, written, ways):
    found = parse_condition(text)
    assert (found.text, found.ways) == (written, ways)
    assert parse_condition(written) == found


@each_case(
    ("text", "named"),
    [
        ("", "''"),
        ("entropy", "'entropy'"),
        ("entropy<1", "'entropy<1'"),
        ("entropy>-1", "'entropy>-1'"),
        ("entropy>high", "'entropy>high'"),
        ("confidence>0.5", "'confidence>0.5'"),
        ("entropy>1 or", "'entropy>1 or'"),
        ("entropy>1 and certainty<1", "'certainty<1' in 'entropy>1 and certainty<1'"),
        ("entropy>1, confidence<1", "'entropy>1, confidence<1'"),
    ],
)
def test_what_is_no_condition_is_named_with_what_is_possible(text, named):
    with pytest.raises(SettingsError) as error:
        parse_condition(text)
    assert str(error.value).startswith(f"{named} is not a condition; use 'entropy>X' (entropy")
    assert "'confidence<X'" in str(error.value) and "'undecided'" in str(error.value)


# Entropies: 0, 1 and 2.32 bits; the bound itself is still sure.
@each_case(
    ("text", "unsure"),
    [
        ("entropy>1", [False, False, True]),
        ("entropy>0.9", [False, True, True]),
        ("confidence<0.5", [False, False, True]),
        ("confidence<0.6", [False, True, True]),
        ("entropy>0.5 and confidence<0.5", [False, False, True]),
        ("entropy>2 or confidence<0.6", [False, True, True]),
        ("undecided", [False, False, False]),
        ("unscored", [False, False, False]),
        ("unscored or entropy>1", [False, False, True]),
    ],
)
def test_whether_a_judgment_is_sure(text, unsure):
    verdicts = [rated(0, 0, 1, 0, 0), rated(0, 0.5, 0.5, 0, 0), rated(*[0.2] * 5)]
    assert [parse_condition(text).is_unsure(one) for one in verdicts] == unsure


@pytest.mark.parametrize(
    ("text", "unsure"),
    [("entropy>2", True), ("confidence<0.1", True), ("entropy>2 and confidence<0.1", True)],
)
def test_a_verdict_without_a_distribution_is_not_sure(text, unsure):
    condition = parse_condition(text)
    assert condition.is_unsure(rated()) is unsure
    assert condition.is_unsure(labelled(None, None)) is unsure
    assert parse_condition("unscored").is_unsure(rated()) is False


@pytest.mark.parametrize("text", ["entropy>2", "confidence<0.1", "unscored"])
def test_what_could_not_be_had_is_never_sure_unless_the_data_are_the_reason(text):
    condition = parse_condition(text)
    assert condition.is_unsure(lost("unparsable"))
    assert condition.is_unsure(lost("too_long"))
    assert not condition.is_unsure(lost("no_evidence"))
    assert not condition.is_unsure(lost("empty_answer"))


@pytest.mark.parametrize("text", ["undecided", "entropy>2", "confidence<0.1", "unscored"])
def test_what_is_undecided_goes_on_whatever_the_condition(text):
    doubt = Failure(reason="undecided")
    given = {"sentence": 1, "confidence": 0.9, "entropy_bits": 0.1, "tentative_label": "required"}
    assert parse_condition(text).is_unsure(SentenceLabel(failure=doubt, **given))


@pytest.mark.parametrize("text", ["confidence<0", "confidence<1.5"])
def test_a_confidence_lies_between_0_and_1(text):
    with pytest.raises(SettingsError, match="between 0 and 1"):
        parse_condition(text)
