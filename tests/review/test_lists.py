"""A run that waits for a person continues from the page."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from reviewing import client_of, say

from ragassay.review.of_lists import collect_edited_rows, open_lists
from ragassay.review.session import ReviewSession
from ragassay.runs.journal import EditRequest, Journal
from ragassay.testing import ScriptedModel

ASKED = EditRequest(
    "t1",
    "What helps?",
    (("vital", "Aspirin helps."), ("okay", "It is cheap."), (None, "It is old.")),
    (("not_carried", "It cures all."), ("duplicate", "Aspirin does help."), ("too_many", "More.")),
)
OTHER = EditRequest("t2", "What harms?", (("okay", "Aspirin harms."),))


@pytest.fixture
def client(tmp_path):
    journal = Journal(tmp_path / "nuggets.jsonl.reviews.jsonl")
    return client_of(ReviewSession(open_lists((ASKED, OTHER), journal)))


def rows(client, asked=ASKED):
    """The list as pairs."""
    return [(row["importance"], row["text"]) for row in collect_edited_rows(asked, client.session)]


def test_a_list_that_nobody_touched_is_the_one_that_was_written(client):
    assert rows(client) == list(ASKED.nuggets)
    assert rows(client, OTHER) == list(OTHER.nuggets)


def test_nuggets_are_rated_reworded_removed_added_and_taken_in(client):
    say(client, 0, "okay", id="rate-00001")
    say(client, 1, "It costs little.", "text", id="reword-001")
    say(client, 2, True, "removed", id="remove-001")
    say(client, 3, "vital", id="take-in-01")  # it was left out
    n = say(client, 0, {"text": "It is sold widely."}, "added", id="add-000001").json()["n"]
    say(client, n, "okay", id="rate-00002")
    assert rows(client) == [
        ("okay", "Aspirin helps."),
        ("okay", "It costs little."),
        ("vital", "It cures all."),
        ("okay", "It is sold widely."),
    ]
    assert rows(client, OTHER) == list(OTHER.nuggets)


def test_what_was_removed_comes_back_by_an_importance_or_by_taking_it_back(client):
    say(client, 0, True, "removed", id="remove-001")
    say(client, 1, True, "removed", id="remove-002")
    assert rows(client) == [(None, "It is old.")]
    say(client, 0, "vital", id="rate-00001")
    say(client, 1, None, id="undo-00001", undoes="remove-002")
    assert rows(client) == list(ASKED.nuggets)


def test_only_a_run_that_waits_can_be_told_to_go_on(client, make_client, run):
    assert "Finish" in client.get("/").text and client.post("/done").status_code == 200
    other = make_client(run)
    assert 'id="finish"' not in other.get("/").text and other.post("/done").status_code == 404
    assert client.post("/done", headers={"origin": "http://evil.example"}).status_code == 403


@pytest.mark.integration
def test_the_run_waits_is_broken_off_and_goes_on_from_the_page(sample: Path, tmp_path: Path):
    out = tmp_path / "nuggets.jsonl"
    with ScriptedModel() as model:
        command = [sys.executable, "-m", "ragassay", "nuggets", "create"]
        command += [str(sample / "answers.jsonl"), "--out", str(out), "--review", "--no-open"]
        command += ["--model", model.model_name, "--api-base", model.base_url]
        command += ["--limit", "1", "--quiet"]

        with waiting(command) as (process, page):
            assert (
                page.post("/reviews", json=said("removed-01", 0, "removed", True)).status_code
                == 200
            )
            assert not out.exists()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) != 0
        n_asked = model.n_requests

        with waiting(command) as (process, page):
            assert "You" in page.get("/items/0").text
            reworded = said("reworded-1", 1, "text", "A reworded fact.")
            assert page.post("/reviews", json=reworded).status_code == 200
            assert page.post("/done").status_code == 200
            assert process.wait(60) == 0
        assert model.n_requests == n_asked  # nothing was written again
    (bank,) = [json.loads(line) for line in out.read_text().splitlines()]
    removed, reworded = Journal(tmp_path / "nuggets.jsonl.reviews.jsonl").read()
    texts = [nugget["text"] for nugget in bank["nuggets"]]
    assert "A reworded fact." in texts and reworded.was not in texts
    assert removed.item != reworded.item and removed.value is True


def said(name: str, n: int, field: str, value: object) -> dict[str, object]:
    """What the browser sends."""
    return {"id": name, "who": "ann", "n": n, "field": field, "value": value}


class waiting:
    """A run that waits, and a client of its page."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout is not None
        url = self.process.stdout.readline().strip()
        origin = url.partition("/?")[0]
        self.page = httpx.Client(
            base_url=origin,
            headers={"origin": origin},
            cookies={"ragassay-review-who": "ann"},
            trust_env=False,
        )
        assert self.page.get(url).status_code == 200
        return self.process, self.page

    def __exit__(self, *_: object) -> None:
        self.page.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
