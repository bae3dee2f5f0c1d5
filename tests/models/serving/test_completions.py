"""Statuses that say whose mistake it was, what a local model can do, and streams."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from case_tables import each_case
from echoes import ASK, CHAT, HOSTED, EchoModel, client, figures
from lazy import LazyModule

from ragassay.errors import ModelError, PromptTooLongError, RefusedError, SettingsError
from ragassay.models.serving.requests import build_refusal, find_local_problem

litellm = LazyModule("litellm")

ASKED = [{"role": "user", "content": "a"}]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (PromptTooLongError("9,000 tokens"), 400, "context_length_exceeded"),
        (RefusedError("no schema"), 400, "invalid_request"),
        (ModelError("the embedded judge failed"), 500, "internal_error"),
        (SettingsError("not installed"), 500, "internal_error"),
    ],
)
def test_errors_carry_the_status_that_they_deserve(error, status, code):
    wrapped = litellm.exceptions.APIConnectionError("lost", "ragassay", "judge")
    wrapped.__cause__ = error
    for raised in (error, wrapped):
        refusal = build_refusal(raised)
        assert (refusal.status, refusal.code) == (status, code) and str(error) in refusal.message
    assert status == 500 or "server" not in refusal.error["error"]["type"]


async def test_a_hosted_models_errors_pass_with_when_to_come_again():
    asked, headers = httpx.Request("POST", "http://gpu"), {"retry-after": "17"}
    limited = httpx.Response(429, headers=headers, request=asked)
    trouble = litellm.exceptions.RateLimitError("too many", "openai", "gpt", response=limited)
    async with client(EchoModel(trouble)) as http:
        reply = await http.post(CHAT, json=HOSTED)
    assert reply.status_code == 429 and reply.headers["retry-after"] == "17"
    assert "too many" in reply.json()["error"]["message"]


@each_case(
    ("asked", "problem"),
    [
        ({"messages": []}, "at least one"),
        ({"messages": "text"}, "at least one"),
        ({"messages": [{"role": "king", "content": "a"}]}, r"messages\[0\]: role"),
        ({"messages": [*ASKED, {"role": "user"}]}, r"messages\[1\]: content"),
        ({"messages": ["a"]}, "role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "text content only"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": "many"}, "max_completion_tokens"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"n": 2}, "n: must be 1"),
        ({"response_format": {"type": "json_object"}}, "json_schema"),
        ({"response_format": "json"}, "json_schema"),
    ],
)
async def test_what_a_local_model_cannot_do_is_said(asked, problem):
    model = EchoModel()
    async with client(model) as http:
        reply = await http.post(CHAT, json=ASK | asked)
    assert reply.status_code == 400 and re.search(problem, reply.json()["error"]["message"])
    assert model.seen == []


def test_what_it_can_do_passes():
    parts = [{"role": "system", "content": [{"type": "text", "text": "a"}]}, *ASKED]
    schema = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
    asked = {"messages": parts, "max_tokens": 5, "n": 1, "response_format": schema}
    assert find_local_problem(asked) == ""
    assert find_local_problem({"messages": ASKED, "response_format": {"type": "text"}}) == ""


def events(reply: httpx.Response) -> list[Any]:
    """What a stream said; its end left as it is."""
    assert reply.headers["content-type"].startswith("text/event-stream")
    said = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in said]


@pytest.mark.parametrize("tells_usage", [False, True])
async def test_a_local_stream_is_the_whole_reply_in_one_piece(tells_usage):
    wanted = {"stream": True, "stream_options": {"include_usage": tells_usage}}
    model = EchoModel()
    async with client(model) as http:
        piece, *rest = events(await http.post(CHAT, json=ASK | wanted))
        assert 'ragassay_tokens_total{kind="prompt"' in await figures(http)
    (choice,) = piece["choices"]
    assert piece["object"] == "chat.completion.chunk" and choice["delta"]["content"] == "a"
    assert choice["finish_reason"] == "stop" and "usage" not in piece
    assert rest.pop() == "[DONE]"
    assert [(r["choices"], r["usage"]["total_tokens"]) for r in rest] == [([], 8)] * tells_usage
    assert "stream" not in model.seen[0]


class Pieces(EchoModel):
    """Streams a reply by letters, then its usage, then breaks where it has trouble."""

    async def __call__(self, **options: Any) -> Any:
        self.seen.append(options)
        return self.pieces()

    async def pieces(self) -> AsyncIterator[Any]:
        from litellm.types.utils import ModelResponseStream, Usage

        for letter in "abc":
            yield ModelResponseStream(choices=[{"index": 0, "delta": {"content": letter}}])
        if self.trouble:
            raise self.trouble
        usage = Usage(prompt_tokens=3, completion_tokens=3, total_tokens=6)
        yield ModelResponseStream(choices=[], usage=usage)


@pytest.mark.parametrize("tells_usage", [False, True])
async def test_a_hosted_stream_comes_as_it_is_written(tells_usage):
    wanted = {"stream": True, "stream_options": {"include_usage": tells_usage}}
    model = Pieces()
    async with client(model) as http:
        *pieces, end = events(await http.post(CHAT, json=HOSTED | wanted))
        page = await figures(http)
    assert end == "[DONE]" and model.seen[0]["stream"] is True
    told = pieces[3:]
    assert [p["choices"][0]["delta"]["content"] for p in pieces[:3]] == list("abc")
    assert [p["usage"]["total_tokens"] for p in told] == [6] * tells_usage
    assert 'ragassay_tokens_total{kind="completion",model="openai/gpt-4.1-mini"} 3.0' in page
    assert "ragassay_requests_in_flight 0.0" in page


async def test_a_stream_that_breaks_off_says_so():
    trouble = litellm.exceptions.ServiceUnavailableError("away", "openai", "gpt")
    async with client(Pieces(trouble)) as http:
        *pieces, last = events(await http.post(CHAT, json=HOSTED | {"stream": True}))
    assert len(pieces) == 3 and "away" in last["error"]["message"]
