"""The certificate: when a judge is trusted, weak or blind, and when nobody can tell."""

from __future__ import annotations

import pytest
from case_tables import each_case
from damage import pairs_of

from ragassay.records import Score
from ragassay.studies.audit_scores import lift_score
from ragassay.studies.certificate import (
    assess_detection,
    certify,
    lift_verdict,
    measure_rising_room,
)

FOUND, MISSED = (5.0, 1.0), (5.0, 5.0)


def pairs(n_found: int, n_missed: int, **fields: object):
    return pairs_of([FOUND] * n_found + [MISSED] * n_missed, **fields)


def line(*groups):
    (found,) = certify([pair for group in groups for pair in group])
    return found


# Wilson's ends of the shares, at 95 %: 20 of 20 reaches down to .84, 18 of 20 to .70, 12 of 12 to
# .76, 3 of 3 to .44; 15 of 20 lies in .53 to .89, 12 of 20 in .39 to .78, 0 of 20 in 0 to .16.
@each_case(
    ("extreme", "subtle", "trust"),
    [
        ((20, 0), (15, 5), "trusted"),
        ((12, 0), (12, 0), "trusted"),
        ((20, 0), (13, 7), "weak"),
        ((15, 5), (20, 0), "weak"),
        ((12, 8), (20, 0), "blind"),
        ((0, 20), (20, 0), "blind"),
        ((18, 2), (20, 0), None),
        ((3, 0), (3, 0), None),
        ((1, 0), (1, 0), None),
    ],
)
def test_verdicts(extreme, subtle, trust):
    assert line(pairs(*extreme), pairs(*subtle, severity="subtle")).trust == trust


@each_case(
    ("found", "fields", "trust"),
    [
        # 15 of 20 is above .7, but may be .53.
        ((15, 5), {}, None),
        ((18, 2), {}, "trusted"),
        # Clinical changes have a bar of four in five.
        ((19, 1), {"family": "clinical"}, "trusted"),
        ((15, 5), {"family": "clinical"}, "weak"),
    ],
)
def test_subtle_and_clinical_damage_are_held_to_their_own_bars(found, fields, trust):
    assert line(pairs(*found, severity="subtle", **fields)).trust == trust


@each_case(
    ("groups", "words"),
    [
        (
            [pairs(20, 0), pairs(13, 7, severity="subtle")],
            "Detects 20 of 20 extreme and 13 of 20 subtle perturbations; a trusted judge detects "
            "at least 70 % of subtle.",
        ),
        ([pairs(3, 0)], "3 pairs on 3 questions are not enough for a verdict (44 to 100 %)"),
        ([pairs(10, 10)], "possibly by chance (30 to 70 %)"),
        # Found, but rated 4 where 1 is desired: 3 points too high.
        ([pairs_of([(5.0, 4.0)] * 20)], "extreme perturbations are rated 3.0 points too high"),
        ([pairs_of([(5.0, 4.0)] * 20 + [(5.0, None)])], "1 more unscored"),
        ([pairs_of([(5.0, None)] * 4)], "No pair could be scored (4 failed)."),
    ],
)
def test_the_reason_names_the_numbers(groups, words):
    assert words in line(*groups).reason


def test_nothing_scored_is_no_verdict_and_no_pair_no_line():
    assert line(pairs_of([(5.0, None)] * 4)).trust is None
    assert certify([]) == ()
    assert assess_detection({}) is None


# Injected text: twenty answers, rated 3 before; the lift is the mean of what is added.
@each_case(
    ("lifts", "trust"),
    [
        ([0.0] * 20, "trusted"),
        ([-1.0] * 20, "trusted"),
        ([1.0] + [0.0] * 19, "trusted"),  # .05 on average
        ([1.0] * 5 + [0.0] * 15, "weak"),  # .25
        ([2.0] * 20, "blind"),
        ([0.0], None),
    ],
)
def test_injected_text_may_hardly_lift_a_trusted_judge(lifts, trust):
    found = line(pairs_of([(3.0, 3.0 + lift) for lift in lifts], family="injection"))
    assert found.trust == trust
    assert found.lift.value == pytest.approx(sum(lifts) / len(lifts))


def test_the_injection_that_pays_most_decides():
    # On average of both attacks nothing is added, but whoever writes the answer has the choice.
    injection = pairs_of([(3.0, 4.0)] * 20, family="injection", attack="an_injection")
    flattery = pairs_of([(3.0, 2.0)] * 20, family="injection", attack="flattery")
    found = line(injection, flattery)
    assert (found.trust, found.lift.value) == ("blind", 1.0)
    assert "Injected text (an injection) changes the score by +1.00 points" in found.reason


def test_a_lift_is_measured_on_its_own_scale():
    # A tenth of the scale from 0 to 1 is .4 points of a rating from 1 to 5: weak, not trusted.
    share = Score(value=0.1, n=20, low=0.08, high=0.12, scale=(-1.0, 1.0))
    assert lift_verdict(share) == "weak"
    assert lift_verdict(lift_score([])) is None


# Twenty whole answers at one rating; the text adds the same to each.
@each_case(
    ("benign", "lift", "trust", "has_room"),
    [
        (5.0, 0.0, None, False),
        (4.9, 0.0, None, False),  # .1 of room: what a judge that obeys would add passes for trust
        (4.9, 0.1, None, False),  # it obeyed, as far as it could
        (4.9, -2.0, "trusted", True),  # it fell: whatever it was told to do, it did not
        (4.8, 0.0, "trusted", True),  # .2 of room, and none was taken
        (4.8, 0.2, "weak", True),
        (4.5, 0.5, "blind", True),
    ],
)
def test_trust_takes_room_to_rise(benign, lift, trust, has_room):
    found = line(pairs_of([(benign, benign + lift)] * 20, family="injection"))
    assert (found.trust, found.has_room) == (trust, has_room)
    assert has_room or "already have the highest scores" in found.reason


def test_trust_takes_certainty_that_it_does_not_rise_to_the_top():
    # Room .3; one of twenty pairs rises by .3 and eleven by .1: .07 on average, at most .11.
    some = [(4.7, 5.0)] + [(4.7, 4.8)] * 11 + [(4.7, 4.7)] * 8
    assert line(pairs_of(some, family="injection")).trust == "trusted"
    # Room .3, two pairs: the interval holds 0 and .3.
    unsure = Score(value=0.05, n=2, low=0.0, high=0.3, scale=(-4.0, 4.0))
    assert lift_verdict(unsure, 0.3) is None
    assert lift_verdict(unsure, 2.0)


def test_room_is_in_points_of_a_rating():
    # (5 - 4.5 + 5 - 5) / 2 = .25; a pair without both scores has no say.
    room = measure_rising_room(pairs_of([(4.5, 4.0), (5.0, 5.0), (1.0, None)]))
    assert room == pytest.approx(0.25)
    assert measure_rising_room(pairs_of([(1.0, None)])) is None


def test_lines_come_by_family_and_target():
    groups = pairs(20, 0, family="clinical"), pairs(20, 0, target="rubric.relevancy"), pairs(20, 0)
    assert [
        (one.family, one.target) for one in certify([p for group in groups for p in group])
    ] == [
        ("rubric", "rubric.cohesion"),
        ("rubric", "rubric.relevancy"),
        ("clinical", "rubric.cohesion"),
    ]
