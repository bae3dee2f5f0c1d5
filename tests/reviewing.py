"""Helpers for tests of the review page."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from answers import answer, written_run
from starlette.testclient import TestClient

from ragassay.models.serving.server import build_server
from ragassay.records import (
    AnswerSentence,
    Citation,
    CitationVerdict,
    Document,
    Evaluation,
    EvidenceSpan,
    EvidenceVerdict,
    Failure,
    Finding,
    Judgment,
    Nugget,
    NuggetAssignment,
    OwnVerdict,
    SentenceLabel,
)
from ragassay.review.access import AccessControl
from ragassay.review.app import WHO, build_app
from ragassay.review.server import GRACE_S, open_source
from ragassay.review.session import ReviewSession

PORT = 8123
HOSTILE = (  # A random token may contain 49, but not 60481729.
    "<script>alert(1)</script> \"quoted\" 'single' {{ 7777 * 7777 }} </script>"
    "<img src=x onerror=a()>"
)


def evaluations() -> list[Evaluation]:
    """Return two answers. The first has one verdict of each kind of doubt."""
    undecided = Failure(reason="undecided", detail="leans to supports at 0.55")
    timeout = Failure(reason="timeout", detail="no reply in 60 s")
    span = EvidenceSpan(document="31452104", start=0, end=9, text="A passage.", title="A title")
    members = tuple(
        Judgment(rubric="coherence", rating=n, score=n, judge=f"judge{n}", rationale=f"says {n}")
        for n in (1, 5)
    )
    verdicts = (
        Judgment(rubric="cohesion", rating=4, score=3.6, confidence=0.95, rationale="It holds."),
        Judgment(rubric="coherence", rating=3, score=3.0, members=members),
        SentenceLabel(sentence=1, label="required", confidence=0.9),
        SentenceLabel(sentence=2, failure=timeout),
        NuggetAssignment(gold=0, assignment="partial_support", confidence=0.4),
        EvidenceVerdict(
            sentence=1,
            evidence=span,
            tentative_label="supports",
            confidence=0.55,
            failure=undecided,
        ),
        CitationVerdict(
            sentence=2,
            citation=Citation(marker="1", document="31452104"),
            verdict="contradicts",
            confidence=0.97,
            evidence=span,
        ),
    )
    finding = Finding(kind="contradicted_citation", message="Sentence 2.", sentence=2)
    first = answer(
        "q1", "t1", "alpha", [("First sentence.", None), ("Second sentence.", None)]
    ).model_copy(
        update={
            "verdicts": verdicts,
            "findings": (finding,),
            "gold_nuggets": (Nugget(text="A gold nugget."),),
        }
    )
    second = answer("q2", "t1", "beta", [("Another answer.", "unnecessary")])
    return [first, second]


def client_of(session: ReviewSession, who: str = "ann") -> TestClient:
    """Return a client with the token's cookie. `session` and `access` are its state."""
    access = AccessControl(PORT)
    client = TestClient(build_app(session, access), base_url=f"http://127.0.0.1:{PORT}")
    client.cookies.set(access.cookie, access.token)
    client.cookies.set(WHO, who)
    client.headers["origin"] = f"http://127.0.0.1:{PORT}"
    client.session, client.access = session, access  # type: ignore[attr-defined]
    return client


def number(session: ReviewSession, evaluator: str, item: str, record: str = "q1") -> int:
    found = session.find_number((evaluator, record, item))
    assert found is not None
    return found


def say(client: Any, n: int, value: object, name: str = "", **fields: object) -> Any:
    """Send a review, and return the reply."""
    body = {"id": fields.pop("id", f"said-{n}-{len(str(value))}-{name}00"), "who": "ann", "n": n}
    body |= {"field": name, "value": value, **fields}
    return client.post("/reviews", json=body)


def hostile_run(path: Path) -> Path:
    """Write a run with hostile text in all fields."""
    span = EvidenceSpan(document=HOSTILE, start=0, end=1, text=HOSTILE, title=HOSTILE)
    verdicts = (
        Judgment(rubric=HOSTILE, rating=1, score=1.0, rationale=HOSTILE, judge=HOSTILE),
        EvidenceVerdict(sentence=1, evidence=span, verdict="neutral", difference=HOSTILE),
        OwnVerdict(evaluator=HOSTILE, criterion=HOSTILE, label=HOSTILE, reason=HOSTILE),
    )
    one = answer(HOSTILE, HOSTILE, HOSTILE).model_copy(
        update={
            "question": HOSTILE,
            "judge": HOSTILE,
            "sentences": (AnswerSentence(index=1, text=HOSTILE, start=0, end=1),),
            "sources": (Document(id=HOSTILE, text=HOSTILE, title=HOSTILE),),
            "gold_nuggets": (Nugget(text=HOSTILE),),
            "verdicts": verdicts,
            "findings": (Finding(kind=HOSTILE, message=HOSTILE, sentence=1),),
        }
    )
    return written_run(path, [one])


class PageServer:
    """The review page of a run, served by a thread of this process.

    Attributes:
        url: Address with the token.
    """

    def __init__(self, path: Path, who: str = "") -> None:
        session = ReviewSession(open_source(path))
        self._listener = socket.create_server(("127.0.0.1", 0))
        access = AccessControl(self._listener.getsockname()[1])
        self.url = access.url
        self._server = build_server(build_app(session, access, who), GRACE_S, lambda: None)
        served = self._server.serve(sockets=[self._listener])
        self._thread = threading.Thread(target=asyncio.run, args=(served,))

    def __enter__(self) -> PageServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()
        self._listener.close()


class Server:
    """`ragassay review` as a process.

    Attributes:
        url: Address with the token.
        port: Port number.
    """

    def __init__(self, path: Path, *options: str) -> None:
        command = [sys.executable, "-m", "ragassay", "review", str(path), "--no-open", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.split(":")[2].split("/")[0])

    def kill(self) -> None:
        """Kill the process without cleanup."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
