"""Local models as strangers see them: statuses that say whose mistake it was, and streams."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragassay.errors import ModelError, PromptTooLongError, RefusedError, SettingsError
from ragassay.models.local.provider import _response
from ragassay.models.local.replies import Reply, TokenChoice
from ragassay.models.serving.handler import _handler_class, request_problem

ASKED = [{"role": "user", "content": "a"}]


class Inner:
    """Answers, or fails with what it was given."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def acompletion(self, *args: Any, **kwargs: Any) -> Any:
        if self.error:
            raise self.error
        return _response(kwargs["model"], Reply("so", (TokenChoice("so", -0.5),), 7, 3, False))


def ask(inner: Inner, **options: Any) -> Any:
    handler = _handler_class()(inner)  # type: ignore[arg-type]
    return asyncio.run(
        handler.acompletion(model="judge", messages=ASKED, optional_params=options)  # type: ignore[call-arg, arg-type]
    )


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (PromptTooLongError("9,000 tokens"), "ContextWindowExceededError", 400),
        (RefusedError("no schema"), "BadRequestError", 400),
        (ModelError("the embedded judge broke down"), "InternalServerError", 500),
        (SettingsError("not installed"), "InternalServerError", 500),
    ],
)
def test_errors_carry_the_status_that_they_deserve(
    error: Exception, kind: str, status: int
) -> None:
    with pytest.raises(Exception, match=str(error)) as raised:
        ask(Inner(error))
    assert (type(raised.value).__name__, raised.value.status_code) == (kind, status)  # type: ignore[attr-defined]
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    ("messages", "options", "problem"),
    [
        ([], {}, "at least one"),
        ("text", {}, "at least one"),
        ([{"role": "king", "content": "a"}], {}, r"messages\[0\]: role"),
        ([*ASKED, {"role": "user"}], {}, r"messages\[1\]: content"),
        (["a"], {}, "role"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], {}, "text, nothing else"),
        (ASKED, {"max_tokens": 0}, "max_tokens"),
        (ASKED, {"max_completion_tokens": "many"}, "max_completion_tokens"),
        (ASKED, {"tools": [{"type": "function"}]}, "tools"),
        (ASKED, {"n": 2}, "one reply"),
        (ASKED, {"response_format": {"type": "json_object"}}, "json_schema"),
    ],
)
def test_what_a_local_model_cannot_do_is_said(messages: Any, options: Any, problem: str) -> None:
    import re

    assert re.search(problem, request_problem(messages, options))


def test_what_it_can_do_passes() -> None:
    parts = [{"role": "system", "content": [{"type": "text", "text": "a"}]}, *ASKED]
    schema = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
    assert request_problem(parts, {"max_tokens": 5, "n": 1, "response_format": schema}) == ""
    assert request_problem(ASKED, {"response_format": {"type": "text"}}) == ""
    with pytest.raises(Exception, match="n: this model"):
        ask(Inner(), n=3)


def test_a_stream_is_the_whole_reply_in_one_piece() -> None:
    async def gather() -> list[Any]:
        handler = _handler_class()(Inner())  # type: ignore[arg-type]
        stream: Any = handler.astreaming(model="judge", messages=ASKED, optional_params={})  # type: ignore[call-arg, arg-type]
        return [chunk async for chunk in stream]

    (chunk,) = asyncio.run(gather())
    assert chunk["text"] == "so" and chunk["is_finished"] and chunk["finish_reason"] == "stop"
    assert chunk["usage"] == {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
