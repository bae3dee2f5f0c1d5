"""What people say is kept, beside what the model said."""

from __future__ import annotations

import pytest
from reviewing import client_of, number, say

from ragassay.review.server import open_source
from ragassay.review.session import ReviewSession


def test_a_choice_is_kept_with_what_the_model_said(make_client, run):
    before = (run / "evaluations.jsonl").read_bytes()
    client = make_client(run)
    n = number(client.session, "citation", "2/1")
    assert say(client, n, "neutral", why="It is about another drug.").status_code == 200
    (review,) = client.session.source.journal.read()
    assert review.about == ("citation", "q1", "2/1", "label")
    assert (review.who, review.was, review.value) == ("ann", "contradicts", "neutral")
    assert review.why == "It is about another drug."
    assert (run / "evaluations.jsonl").read_bytes() == before


def test_the_same_sent_again_adds_nothing(make_client, run):
    client = make_client(run)
    for _ in range(3):
        assert say(client, 0, 2, id="retried-1234").json()["id"] == "retried-1234"
    assert len(client.session.source.journal.read()) == 1


@pytest.mark.parametrize(
    ("evaluator", "item", "name", "value"),
    [
        ("citation", "2/1", "label", "wonderful"),
        ("citation", "2/1", "label", 1),
        ("citation", "2/1", "rating", 1),
        ("citation", "2/1", "text", "new text"),
        ("rubric", "cohesion", "", 6),
        ("rubric", "cohesion", "", True),
        ("rubric", "cohesion", "", "4"),
        ("rubric", "cohesion", "removed", "yes"),
        ("rubric", "cohesion", "note", " "),
        ("rubric", "cohesion", "note", "x" * 5000),
        ("rubric", "cohesion", "added", {"text": "x"}),
    ],
)
def test_what_cannot_be_said_of_an_item_is_refused_by_name(
    make_client, run, evaluator, item, name, value
):
    client = make_client(run)
    reply = say(client, number(client.session, evaluator, item), value, name)
    assert reply.status_code == 400
    assert "must " in reply.text or "does not have this field" in reply.text
    assert not client.session.source.journal.read()


@pytest.mark.parametrize(
    "body",
    [
        {"who": "ann", "n": 0, "value": 1},
        {"id": "short", "who": "ann", "n": 0, "value": 1},
        {"id": "12345678", "who": " ", "n": 0, "value": 1},
        {"id": "12345678", "who": "a\nb", "n": 0, "value": 1},
        {"id": "12345678", "who": "ann", "n": -1, "value": 1},
        {"id": "12345678", "who": "ann", "n": 0, "value": 1, "was": 5},
        [],
    ],
)
def test_a_message_that_is_none_is_refused(make_client, run, body):
    client = make_client(run)
    assert client.post("/reviews", json=body).status_code == 400
    assert not client.session.source.journal.read()


def test_an_item_that_is_not_there_is_not_found(make_client, run):
    client = make_client(run)
    assert say(client, 10_000, 1).status_code == 404
    assert client.get("/items/10000").status_code == 404
    assert client.get("/items/x").status_code == 404


def test_a_huge_message_is_refused(make_client, run):
    client = make_client(run)
    headers = {"content-type": "application/json"}
    reply = client.post("/reviews", content=b" " * 100_000, headers=headers)
    assert reply.status_code == 413


def test_what_was_said_can_be_taken_back(make_client, run):
    client = make_client(run)
    n = number(client.session, "rubric", "cohesion")
    say(client, n, 1, id="first-0001")
    say(client, n, None, id="undo-00001", undoes="first-0001")
    assert client.session.find_reviews(client.session.items[n]) == ()
    assert not client.session.is_done(client.session.items[n], "ann")
    assert len(client.session.source.journal.read()) == 2


def test_taking_back_brings_back_nothing_of_before(make_client, run):
    """An earlier word on the same item stands again: the last that was not taken back."""
    client = make_client(run)
    n = number(client.session, "rubric", "cohesion")
    say(client, n, 1, id="first-0001")
    say(client, n, 2, id="second-001")
    say(client, n, None, id="undo-00001", undoes="second-001")
    assert [one.value for one in client.session.find_reviews(client.session.items[n])] == [1]


def test_two_people_see_each_other_and_lose_nothing(run):
    ann, bob = (client_of(ReviewSession(open_source(run)), who) for who in ("ann", "bob"))
    n = number(ann.session, "citation", "2/1")
    say(ann, n, "supports", id="of-ann-001")
    seen = bob.get("/news?since=0").json()
    assert seen["changed"] == [n]
    shown = bob.get(f"/items/{n}").text
    assert "ann" in shown and "You" not in shown
    say(bob, n, "neutral", id="of-bob-001", who="bob")
    ann.get("/news?since=1")
    assert {one.who: one.value for one in ann.session.find_reviews(ann.session.items[n])} == {
        "ann": "supports",
        "bob": "neutral",
    }
    assert "bob" in ann.get(f"/items/{n}").text
    assert ann.get("/queue?state=people").json()["order"] == [n]


def test_a_restart_finds_everything(make_client, run):
    say(make_client(run), 0, 2)
    client = make_client(run)
    told = client.get("/queue").json()
    assert told["done"] == 1 and [n for _, n in told["undo"]] == [0]


def test_a_verdict_can_be_rejected(make_client, run):
    client = make_client(run)
    n = number(client.session, "rubric", "cohesion")
    assert say(client, n, True, "removed").status_code == 200
    assert ">remove</i>" in client.get(f"/items/{n}").text
