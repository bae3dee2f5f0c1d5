"""Whatever a judge's server sends, only what it spoilt is unscored, with its cause, and mendable.

All faults meet one run: each strikes the rating of one answer, whose text names it.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from calls import call
from case_tables import each_case
from raw_judge import Exchange, RawJudge, completion, error, judging, rated

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

WELL = rated("4")
HALF = json.dumps(WELL).encode()[:150]


def retry_date(exchange: Exchange) -> None:
    exchange.send(error("slow down"), 429, Retry_After=formatdate(time.time(), usegmt=True))


def cut_off(exchange: Exchange) -> None:
    exchange.send_head(len(HALF) * 2)
    exchange.wfile.write(HALF)
    exchange.wfile.flush()
    exchange.reset()


def dribble(exchange: Exchange) -> None:
    exchange.send_head(1000)
    for _ in range(100):
        exchange.wfile.write(b" ")
        exchange.judge.is_closing.wait(0.1)


def raw(text: bytes) -> Callable[[Exchange], None]:
    def answer(exchange: Exchange) -> None:
        exchange.wfile.write(text)
        exchange.connection.shutdown(2)

    return answer


def reply(body: object, status: int = 200, **headers: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.send(body, status, **headers)


def choose(message: object) -> object:
    return WELL | {"choices": [{"index": 0, "message": message}]}


def logprobs(value: float) -> object:
    words = ['{"rating": ', "4", ', "rationale": "It reads well."}']
    tokens = [
        {"token": word, "logprob": value, "top_logprobs": [{"token": word, "logprob": value}]}
        for word in words
    ]
    return WELL | {"choices": [WELL["choices"][0] | {"logprobs": {"content": tokens}}]}


REDIRECTS = "a loop of redirects"
Send = Callable[[Exchange], None]

BY_REASON: dict[str, dict[str, tuple[Send, str]]] = {
    "rate_limit": {
        "429 in seconds": (reply(error("slow down"), 429, Retry_After="0.1"), "slow down"),
        "429 until a date": (retry_date, "slow down"),
        "429 until whenever": (reply(error("busy"), 429, Retry_After="soon"), "busy"),
        "429 for nan": (reply(error("busy"), 429, Retry_After="nan"), "busy"),
        "429 for a day": (reply(error("busy"), 429, Retry_After="86400"), "busy"),
    },
    "server_error": {
        "500": (reply(error("boom"), 500), "boom"),
        "500 in HTML": (reply(b"<html>boom</html>", 500), "boom"),
        "500 of 30 MB": (lambda ex: ex.send_endlessly(30, 500), "Error"),
        "502 without words": (reply(b"", 502), "Error"),
        "503": (reply(error("overloaded"), 503, Retry_After="0.1"), "overloaded"),
        "an error in a 200": (reply(error("no GPU", code=500)), "no GPU"),
        "no HTTP": (raw(b"SSH-2.0-OpenSSH\r\n\r\n"), "Bad status line"),
        "a length of abc": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n"), ""),
        REDIRECTS: (reply(b"", 307, Location="/v1/chat/completions"), "redirects"),
    },
    "refused": {
        "400": (reply(error("bad field"), 400), "bad field"),
        "422": (reply(error("no way"), 422), "no way"),
        "413": (reply(error("too large"), 413), "too large"),
        "a refusal": (reply(choose({"role": "assistant", "refusal": "I won't."})), "I won't."),
    },
    "too_long": {
        "too long a prompt": (
            reply(error("maximum context length is 9", code="context_length_exceeded"), 400),
            "maximum context length is 9",
        )
    },
    "timeout": {
        "a hang": (lambda ex: ex.judge.is_closing.wait(20), "timeout_s"),
        "a byte at a time": (dribble, "timeout_s"),
    },
    "connection": {
        "a reset in the body": (cut_off, "the connection was interrupted"),
        "a closed door": (lambda ex: ex.connection.shutdown(2), "interrupted"),
    },
    "unparsable": {
        "cut JSON": (reply(HALF), 'not a chat completion: \'{"id"'),
        "HTML": (reply(b"<html>Welcome</html>"), "<html>Welcome"),
        "nothing": (reply(b""), "the reply is empty"),
        "204": (reply(b"", 204), "the reply is empty"),
        "null": (reply(None), "not a chat completion: 'null'"),
        "a number": (reply(3), "not a chat completion: '3'"),
        "a list": (reply([WELL]), "not a chat completion"),
        "an empty object": (reply({}), "not a chat completion: '{}'"),
        "no UTF-8": (reply(b'{"choices": "\xff"}'), "not a chat completion"),
        "100,000 brackets": (reply(b"[" * 100_000), "not a chat completion: '[["),
        "100 MB": (lambda ex: ex.send_endlessly(100), "longer than 16 MiB"),
        "a gzip of 100 MB": (
            reply(gzip.compress(b" " * 100_000_000), Content_Encoding="gzip"),
            "longer than 16 MiB",
        ),
        "a gzip that is none": (reply(WELL, Content_Encoding="gzip"), "decompress"),
        "a packing nobody asked for": (reply(WELL, Content_Encoding="br"), "encoding: br"),
        "2 MB that are no JSON": (reply(b"x" * 2_000_000), "not a chat completion: 'xxx"),
        "no choices": (reply({"id": "1"}), "not a chat completion"),
        "empty choices": (reply(WELL | {"choices": []}), "no choices"),
        "choices of null": (reply(WELL | {"choices": None}), "not a chat completion"),
        "no message": (reply(WELL | {"choices": [{"index": 0}]}), "not a chat completion"),
        "content of null": (reply(completion(None)), "no JSON object"),
        "content of 5": (reply(completion(5)), "not a chat completion"),
        "usage in words": (reply(WELL | {"usage": {"prompt_tokens": "many"}}), ""),
        "prose": (reply(completion("I would say four.")), "no JSON object"),
        "a cut reply": (reply(completion('{"rationale": "x", "rat')), "no field"),
        "wrong schema": (reply(completion('{"score": 4}')), "no field 'rating'"),
        "two ratings": (reply(completion('{"rating": 4, "rating": 5, "rationale": "x"}')), "twice"),
        "deep JSON": (
            reply(completion('{"rating": ' + "[" * 100_000)),
            "the JSON is nested too deeply",
        ),
        **{
            f"rating {rating}": (reply(rated(rating)), words)
            for rating, words in {
                "0": "invalid value '0'",
                "6": "invalid value '6'",
                "-1": "'-1'",
                "4.7": "'4.7'",
                '"high"': "'high'",
                "null": "'None'",
                "true": "'True'",
                "NaN": "'NaN'",
                "Infinity": "'Infinity'",
                "1e400": "'inf'",
                "9" * 5_000: "99'",
            }.items()
        },
    },
}
"""By the reason that the verdict names: how a fault is sent, and words of its cause."""

FAULTS = {
    name: (send, reason, words)
    for reason, faults in BY_REASON.items()
    for name, (send, words) in faults.items()
}
READ: dict[str, tuple[Send, float]] = {
    "nothing wrong": (reply(WELL), 4),
    'rating "5"': (reply(rated('"5"')), 5),
    "rating 4.0": (reply(rated("4.0")), 4),
    "rating [4]": (reply(rated("[4]")), 4),
    "a reason cut": (reply(completion('{"rating": 4, "rat')), 4),
    "half a character": (reply(rated("4", r"\ud800 \u0000 fine")), 4),
    "log-probabilities of nan": (reply(logprobs(float("nan"))), 4),
    "log-probabilities beyond 1": (reply(logprobs(1e308)), 4),
    "a rationale of 100 kB": (reply(rated("4", "x" * 100_000)), 4),
}
"""What is odd and can be read: how it is sent, and its score."""


@dataclass
class Run:
    """A run: its exit code and output, the verdicts in its folder, and what it asked for."""

    code: int
    output: str
    verdicts: dict[str, dict[str, Any]]
    asked: list[str]


@pytest.fixture(scope="module")
def judge() -> Iterator[RawJudge]:
    def strike(exchange: Exchange) -> None:
        (FAULTS | READ)[find_name(exchange.prompt)][0](exchange)

    with judging(strike) as judge:
        yield judge


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def runs(judge: RawJudge, folder: Path) -> tuple[Run, Run]:
    """The run with all faults, and the one that asks again what had failed."""
    lines = [
        {"id": name, "question": "Why?", "answer": f"Due to <{name}>."} for name in FAULTS | READ
    ]
    answers = folder / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {"RAGASSAY_JUDGE__MAX_ATTEMPTS": "1", "RAGASSAY_JUDGE__TIMEOUT_S": "4"}

    def evaluate(*more: str) -> Run:
        n_before = len(judge.asked)
        endpoint = ("--model", "openai/scripted", "--api-base", judge.base_url, "--quiet")
        only = ("--only", "rubrics", "--rubric", "cohesion", "--concurrency", "8", *more)
        words = ("evaluate", answers, *endpoint, *only, "--out", folder / "run")
        code, *output = call(*words, **settings)
        rows = (folder / "run" / "evaluations.jsonl").read_text().splitlines()
        verdicts = {row["record_id"]: row["verdicts"][0] for row in map(json.loads, rows)}
        return Run(code, "".join(output), verdicts, list(map(find_name, judge.asked[n_before:])))

    first = evaluate()
    (folder / "run" / "summary.json").rename(folder / "summary.json")
    judge.answer = lambda exchange: exchange.send(WELL)
    return first, evaluate("--retry-failed")


def find_name(prompt: str) -> str:
    """Return the name of the fault or the reply that a prompt asks for."""
    name = prompt.partition("Due to <")[2].partition(">.")[0]
    return json.loads(f'"{name}"').replace('\\"', '"')


@each_case("fault", FAULTS)
def test_a_fault_leaves_its_verdict_unscored_and_says_why(runs, fault):
    first, again = runs
    _, reason, words = FAULTS[fault]
    verdict = first.verdicts[fault]
    assert (verdict["rating"], verdict["score"]) == (None, None), "failed is not zero"
    assert verdict["failure"]["reason"] == reason, verdict["failure"]
    assert words in verdict["failure"]["detail"]
    assert "Traceback" not in verdict["failure"]["detail"]
    if fault != REDIRECTS:
        assert first.asked.count(fault) == (2 if reason == "unparsable" else 1)
    assert again.asked.count(fault) == 1
    assert (again.verdicts[fault]["score"], again.verdicts[fault]["failure"]) == (4, None)


@each_case("reply", READ)
def test_what_can_be_read_is_scored(runs, reply):
    first, again = runs
    assert first.verdicts[reply]["score"] == READ[reply][1]
    assert first.asked.count(reply) == 1
    assert reply not in again.asked


def test_the_run_says_what_failed_and_its_mean_is_of_the_others(runs, folder):
    first, again = runs
    assert (first.code, again.code) == (3, 0)
    assert "Traceback" not in first.output
    summary = json.loads((folder / "summary.json").read_text())
    score = summary["scores"]["rubric.cohesion"]
    scores = [value for _, value in READ.values()]
    assert score["value"] is None
    assert score["decided"] == pytest.approx(sum(scores) / len(scores), abs=1e-3)
    assert (score["n"], score["n_unscored"]) == (len(READ), len(FAULTS))
    assert summary["unscored"] == {reason: len(faults) for reason, faults in BY_REASON.items()}


def test_no_reply_is_held_whole_that_is_longer_than_the_limit(runs, judge):
    # 100 MB twice and 30 MB once, of which each may fill the buffers of a connection besides.
    assert judge.n_sent < 60 * 2**20
