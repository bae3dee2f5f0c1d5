"""A kill in the middle of the work loses nothing that was acknowledged."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest
from answers import answer, written_run
from reviewing import Server

from ragassay.runs.journal import Journal, open_journal

pytestmark = pytest.mark.integration

N_EDITS = 100
"""Of each of the two writers."""

N_BEFORE_KILL = 60


class Writer:
    """A person's page: what is not acknowledged is sent again, under the same id."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.left = [(f"{who}-edit-{n:04}", n) for n in range(N_EDITS)]
        self.acknowledged: list[str] = []

    def work(self, server: Server, enough: threading.Event, count: threading.Semaphore) -> None:
        """Send edits until all are acknowledged or the server is gone."""
        origin = f"http://127.0.0.1:{server.port}"
        with httpx.Client(headers={"origin": origin}, trust_env=False) as client:
            try:
                client.get(server.url)
                while self.left:
                    name, n = self.left[0]
                    body = {"id": name, "who": self.who, "n": n, "value": "borderline"}
                    reply = client.post(f"{origin}/reviews", json=body)
                    assert reply.status_code == 200, reply.text
                    self.acknowledged.append(name)
                    self.left.pop(0)
                    count.release()
            except httpx.TransportError:
                return
            finally:
                enough.set()


def work(writers: list[Writer], servers: list[Server], *, until: int | None) -> None:
    """Have each writer work at a server; kill the servers after so many edits."""
    enough, count = threading.Event(), threading.Semaphore(0)
    threads = [
        threading.Thread(target=writer.work, args=(server, enough, count))
        for writer, server in zip(writers, servers, strict=True)
    ]
    for thread in threads:
        thread.start()
    if until is not None:
        for _ in range(until):
            assert count.acquire(timeout=60)
        for server in set(servers):
            server.kill()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()


@pytest.mark.parametrize("n_servers", [1, 2])
def test_no_edit_of_two_writers_is_lost_by_a_kill(tmp_path: Path, n_servers: int) -> None:
    many = [answer(f"r{n}", labels=[("A sentence.", "required")]) for n in range(N_EDITS)]
    run = written_run(tmp_path / "run", many)
    writers = [Writer("ann"), Writer("bob")]

    servers = [Server(run) for _ in range(n_servers)]
    work(writers, (servers * 2)[:2], until=N_BEFORE_KILL)
    told = [name for writer in writers for name in writer.acknowledged]
    on_disk = [review.id for review in open_journal(run).read()]
    assert N_BEFORE_KILL <= len(told) < 2 * N_EDITS, "the kill came in the middle"
    assert set(told) <= set(on_disk)

    with Server(run) as server:
        work(writers, [server] * 2, until=None)
    reviews = open_journal(run).read()
    wanted = {f"{who}-edit-{n:04}" for who in ("ann", "bob") for n in range(N_EDITS)}
    assert len(reviews) == 2 * N_EDITS and {review.id for review in reviews} == wanted
    assert {(review.who, review.record) for review in reviews} == {
        (who, f"r{n}") for who in ("ann", "bob") for n in range(N_EDITS)
    }


def test_a_line_that_was_cut_off_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    from ragassay.records import Review

    journal = Journal(tmp_path / "reviews.jsonl")
    said = [Review(who="ann", evaluator="rubric", item="cohesion", value=n) for n in range(3)]
    journal.add(*said[:2])
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-20])
    assert journal.read() == tuple(said[:1])
    journal.add(said[2])
    assert journal.read() == (said[0], said[2])
