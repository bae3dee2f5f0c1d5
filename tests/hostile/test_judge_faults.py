"""Whatever a judge's server sends, only what it spoilt is unscored, with its cause, and mendable.

All faults meet one run: each strikes the rating of one answer, whose text names it.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case
from raw_judge import Exchange, completion, error, judging, rated
from typer.testing import CliRunner

from ragassay.cli import app

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


def logprobs(value: float) -> object:
    words = ['{"rating": ', "4", ', "rationale": "It reads well."}']
    tokens = [
        {"token": word, "logprob": value, "top_logprobs": [{"token": word, "logprob": value}]}
        for word in words
    ]
    choice = WELL["choices"][0] | {"logprobs": {"content": tokens}}
    return WELL | {"choices": [choice]}


Faults = dict[str, tuple[Callable[[Exchange], None], str, str]]
"""How a fault is sent, the reason that the verdict names, and words of its cause."""

FAULTS: Faults = {
    "429 in seconds": (
        reply(error("slow down"), 429, Retry_After="0.1"),
        "rate_limit",
        "slow down",
    ),
    "429 until a date": (retry_date, "rate_limit", "slow down"),
    "429 until whenever": (reply(error("busy"), 429, Retry_After="soon"), "rate_limit", "busy"),
    "429 for nan": (reply(error("busy"), 429, Retry_After="nan"), "rate_limit", "busy"),
    "429 for a day": (reply(error("busy"), 429, Retry_After="86400"), "rate_limit", "busy"),
    "500": (reply(error("boom"), 500), "server_error", "boom"),
    "500 in HTML": (reply(b"<html>boom</html>", 500), "server_error", "boom"),
    "500 of 30 MB": (lambda ex: ex.send_endlessly(30, 500), "server_error", "Error"),
    "502 without words": (reply(b"", 502), "server_error", "Error"),
    "503": (reply(error("overloaded"), 503, Retry_After="0.1"), "server_error", "overloaded"),
    "an error in a 200": (reply(error("no GPU", code=500)), "server_error", "no GPU"),
    "400": (reply(error("bad field"), 400), "refused", "bad field"),
    "422": (reply(error("no way"), 422), "refused", "no way"),
    "413": (reply(error("too large"), 413), "refused", "too large"),
    "too long a prompt": (
        reply(error("maximum context length is 9", code="context_length_exceeded"), 400),
        "too_long",
        "maximum context length is 9",
    ),
    "a hang": (lambda ex: ex.judge.is_closing.wait(20), "timeout", "timeout_s"),
    "a byte at a time": (dribble, "timeout", "timeout_s"),
    "a reset in the body": (cut_off, "connection", "the connection was interrupted"),
    "a closed door": (lambda ex: ex.connection.shutdown(2), "connection", "interrupted"),
    "no HTTP": (raw(b"SSH-2.0-OpenSSH\r\n\r\n"), "server_error", "Bad status line"),
    "a length of abc": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n"), "server_error", ""),
    "a loop of redirects": (
        reply(b"", 307, Location="/v1/chat/completions"),
        "server_error",
        "redirects",
    ),
    "cut JSON": (reply(HALF), "unparsable", 'not a chat completion: \'{"id"'),
    "HTML": (reply(b"<html>Welcome</html>"), "unparsable", "<html>Welcome"),
    "nothing": (reply(b""), "unparsable", "the reply is empty"),
    "204": (reply(b"", 204), "unparsable", "the reply is empty"),
    "null": (reply(None), "unparsable", "not a chat completion: 'null'"),
    "a number": (reply(3), "unparsable", "not a chat completion: '3'"),
    "a list": (reply([WELL]), "unparsable", "not a chat completion"),
    "an empty object": (reply({}), "unparsable", "not a chat completion: '{}'"),
    "no UTF-8": (reply(b'{"choices": "\xff"}'), "unparsable", "not a chat completion"),
    "100,000 brackets": (reply(b"[" * 100_000), "unparsable", "not a chat completion: '[["),
    "100 MB": (lambda ex: ex.send_endlessly(100), "unparsable", "longer than 16 MiB"),
    "a gzip of 100 MB": (
        reply(gzip.compress(b" " * 100_000_000), Content_Encoding="gzip"),
        "unparsable",
        "longer than 16 MiB",
    ),
    "a gzip that is none": (reply(WELL, Content_Encoding="gzip"), "unparsable", "decompress"),
    "a packing nobody asked for": (
        reply(WELL, Content_Encoding="br"),
        "unparsable",
        "encoding: br",
    ),
    "2 MB that are no JSON": (reply(b"x" * 2_000_000), "unparsable", "not a chat completion: 'xxx"),
    "no choices": (reply({"id": "1"}), "unparsable", "not a chat completion"),
    "empty choices": (reply(WELL | {"choices": []}), "unparsable", "no choices"),
    "choices of null": (reply(WELL | {"choices": None}), "unparsable", "not a chat completion"),
    "no message": (
        reply(WELL | {"choices": [{"index": 0}]}),
        "unparsable",
        "not a chat completion",
    ),
    "content of null": (reply(completion(None)), "unparsable", "no JSON object"),
    "content of 5": (reply(completion(5)), "unparsable", "not a chat completion"),
    "usage in words": (reply(WELL | {"usage": {"prompt_tokens": "many"}}), "unparsable", ""),
    "prose": (reply(completion("I would say four.")), "unparsable", "no JSON object"),
    "a cut reply": (reply(completion('{"rationale": "x", "rat')), "unparsable", "no field"),
    "wrong schema": (reply(completion('{"score": 4}')), "unparsable", "no field 'rating'"),
    "two ratings": (
        reply(completion('{"rating": 4, "rating": 5, "rationale": "x"}')),
        "unparsable",
        "twice",
    ),
    "deep JSON": (
        reply(completion('{"rating": ' + "[" * 100_000)),
        "unparsable",
        "the JSON is nested too deeply",
    ),
    **{
        f"rating {rating}": (reply(rated(rating)), "unparsable", told)
        for rating, told in {
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
    "a refusal": (
        reply(
            WELL
            | {"choices": [{"index": 0, "message": {"role": "assistant", "refusal": "I won't."}}]}
        ),
        "refused",
        "I won't.",
    ),
}
READ: dict[str, tuple[Callable[[Exchange], None], float]] = {
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
class Runs:
    """What the run with all faults left, and the one that asked again what had failed."""

    code: int
    said: str
    folder: Path
    verdicts: dict[str, dict[str, Any]]
    summary: dict[str, Any]
    asked: list[str]
    n_sent: int
    again_code: int
    again: dict[str, dict[str, Any]]
    asked_again: list[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("faults")
    names = [*FAULTS, *READ]
    lines = [{"id": name, "question": "Why?", "answer": f"Due to <{name}>."} for name in names]
    answers = folder / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def strike(exchange: Exchange) -> None:
        send = {**FAULTS, **READ}[_struck(exchange.prompt)][0]
        send(exchange)

    with judging(strike) as judge, pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAGASSAY_JUDGE__MAX_ATTEMPTS", "1")
        patched.setenv("RAGASSAY_JUDGE__TIMEOUT_S", "4")
        endpoint = ("--model", "openai/scripted", "--api-base", judge.base_url)
        asked = ("--only", "rubrics", "--rubric", "cohesion", "--concurrency", "8", "--quiet")
        words = ["evaluate", str(answers), *endpoint, *asked, "--out", str(folder / "run")]
        first = CliRunner().invoke(app, words)
        verdicts, summary = _verdicts(folder), json.loads((folder / "run/summary.json").read_text())
        n_asked, judge.answer = len(judge.asked), lambda exchange: exchange.send(WELL)
        second = CliRunner().invoke(app, [*words, "--retry-failed"])
        return Runs(
            first.exit_code,
            first.output,
            folder,
            verdicts,
            summary,
            [_struck(prompt) for prompt in judge.asked[:n_asked]],
            judge.n_sent,
            second.exit_code,
            _verdicts(folder),
            [_struck(prompt) for prompt in judge.asked[n_asked:]],
        )


def _struck(prompt: str) -> str:
    return json.loads(f'"{prompt.partition("Due to <")[2].partition(">.")[0]}"').replace('\\"', '"')


def _verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    lines = (folder / "run" / "evaluations.jsonl").read_text().splitlines()
    return {found["record_id"]: found["verdicts"][0] for found in map(json.loads, lines)}


@each_case("fault", FAULTS)
def test_a_fault_leaves_its_verdict_unscored_and_says_why(runs: Runs, fault: str):
    _, reason, told = FAULTS[fault]
    verdict = runs.verdicts[fault]
    assert (verdict["rating"], verdict["score"]) == (None, None), "failed is not zero"
    assert verdict["failure"]["reason"] == reason, verdict["failure"]
    assert told in verdict["failure"]["detail"]
    assert "Traceback" not in verdict["failure"]["detail"]
    n_tries = 2 if reason == "unparsable" else 1
    if fault != "a loop of redirects":
        assert runs.asked.count(fault) == n_tries
    assert runs.asked_again.count(fault) == 1
    assert (runs.again[fault]["score"], runs.again[fault]["failure"]) == (4, None)


@each_case("reply", READ)
def test_what_can_be_read_is_scored(runs: Runs, reply: str):
    assert runs.verdicts[reply]["score"] == READ[reply][1]
    assert runs.asked.count(reply) == 1
    assert reply not in runs.asked_again


def test_the_run_says_what_failed_and_its_mean_is_of_the_others(runs: Runs):
    assert (runs.code, runs.again_code) == (3, 0)
    assert "Traceback" not in runs.said
    score = runs.summary["scores"]["rubric.cohesion"]
    scores = [value for _, value in READ.values()]
    assert score["value"] is None
    assert score["decided"] == pytest.approx(sum(scores) / len(scores), abs=1e-3)
    assert (score["n"], score["n_unscored"]) == (len(READ), len(FAULTS))
    reasons = [reason for _, reason, _ in FAULTS.values()]
    assert runs.summary["unscored"] == {one: reasons.count(one) for one in set(reasons)}


def test_no_reply_is_held_whole_that_is_longer_than_the_limit(runs: Runs):
    # 100 MB twice and 30 MB once, of which each may fill the buffers of a connection besides.
    assert runs.n_sent < 60 * 2**20
