"""The order of the queue, its filters, and how far a person is."""

from __future__ import annotations

import pytest
from reviewing import number, say

from ragassay.review.session import estimate_pace_s
from ragassay.review.verdicts import Doubt, compute_spread


def places(client, address: str = "/queue") -> list[tuple[str, str]]:
    """The evaluators and items of a queue."""
    order = client.get(address).json()["order"]
    return [(client.session.items[n].evaluator, client.session.items[n].item) for n in order]


def test_what_is_most_worth_a_look_comes_first(make_client, run):
    assert places(make_client(run)) == [
        ("citation", "2/1"),  # it leads the report
        ("evidence", "1/for/1"),  # undecided
        ("rubric", "coherence"),  # the panel differs
        ("sentence_label", "2"),  # unscored
        ("assignment", "0"),  # 0.4 sure
        ("sentence_label", "1"),  # q2's: 0.75 sure
        ("sentence_label", "1"),  # 0.9 sure
        ("rubric", "cohesion"),  # 0.95 sure
    ]


def test_the_order_of_the_file_is_kept_on_demand(make_client, run):
    client = make_client(run)
    assert client.get("/queue?order=file").json()["order"] == list(range(8))


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("system=beta", [("sentence_label", "1")]),
        ("evaluator=assignment", [("assignment", "0")]),
        ("verdict=contradicts", [("citation", "2/1")]),
        ("state=open", [("evidence", "1/for/1"), ("sentence_label", "2")]),
        ("state=judges", [("rubric", "coherence")]),
        ("state=leads", [("citation", "2/1")]),
        ("state=people", []),
        ("text=GOLD+nugget", [("assignment", "0")]),
        ("text=q2", [("sentence_label", "1")]),
        ("evaluator=rubric&state=judges", [("rubric", "coherence")]),
        ("text=nowhere", []),
    ],
)
def test_filters(make_client, run, asked, wanted):
    assert places(make_client(run), f"/queue?{asked}") == wanted


def test_an_unknown_state_or_order_filters_nothing(make_client, run):
    assert len(places(make_client(run), "/queue?state=x&order=y")) == 8


def test_what_is_reviewed_leaves_the_queue_of_the_rest_for_its_person_alone(make_client, run):
    client = make_client(run)
    n = number(client.session, "citation", "2/1")
    say(client, n, "supports")
    assert n not in client.get("/queue?state=todo").json()["order"]
    assert client.get("/queue?state=done").json()["order"] == [n]
    client.cookies.set("ragassay-review-who", "bob")
    assert n in client.get("/queue?state=todo").json()["order"]


def test_progress_counts_what_the_filters_show(make_client, run):
    client = make_client(run)
    say(client, number(client.session, "citation", "2/1"), "supports")
    told = client.get("/queue?evaluator=citation").json()
    assert (told["done"], told["total"]) == (1, 1)
    told = client.get("/queue").json()
    assert (told["done"], told["total"], told["left_s"]) == (1, 8, None)


def test_the_time_left_is_at_the_person_s_own_pace_without_pauses():
    times = [f"2026-01-01T10:{m:02}:00+00:00" for m in (0, 1, 2, 3, 50, 51)]
    assert estimate_pace_s(times) == 60.0  # the 47 minutes are a pause
    assert estimate_pace_s(times[:2]) is None


def test_rows_come_by_number(make_client, run):
    rows = make_client(run).get("/rows?n=1,0,99,x").json()
    assert list(rows) == ["1", "0"] and 'id="row-1"' in rows["1"]


@pytest.mark.parametrize(
    ("values", "n", "spread"),
    [
        ([1, 5], 5, 1.0),
        ([3, 4], 5, 0.25),
        ([2, 2], 5, 0.0),
        (["a", "b"], 4, 1.0),
        ([None, 3], 5, 0),
    ],
)
def test_how_far_judges_are_apart(values, n, spread):
    assert compute_spread(values, n) == spread


def test_entropy_counts_before_confidence():
    # 2 bits over four labels is all there can be.
    assert Doubt(confidence=0.9, entropy_bits=2.0, n_choices=4).uncertainty == 1.0
    assert Doubt(confidence=0.9).uncertainty == pytest.approx(0.1)
    assert Doubt().priority == 0.0
