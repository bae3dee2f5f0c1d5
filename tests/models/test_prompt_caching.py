"""The part of a prompt that calls share is cached by whoever caches prompts."""

from __future__ import annotations

import asyncio
from json import dumps, loads
from typing import Any

import httpx
import pytest
from case_tables import each_case

from ragassay.agents.base import SharedPrefixAdapter
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.errors import ModelError
from ragassay.models import gateway
from ragassay.models.gateway import JudgeLM
from ragassay.models.prompt_caching import MARKED, PromptCaching, SharedPrompt, detect_caching_way
from ragassay.records import Usage
from ragassay.settings import load_settings

SHARED, REST = "An invented abstract of a trial. " * 800, "Task: rate it."
SHORT = "An invented abstract of a trial. "
SYSTEM = "You judge answers."
MARK = {"type": "text", "text": SHARED, "cache_control": {"type": "ephemeral"}}
POINT = [{"text": SHARED}, {"cachePoint": {"type": "default"}}, {"text": REST}]
PLAIN = {"type": "text", "text": REST}
BREAK = {"type": "text", "text": SHARED, "prompt_cache_breakpoint": {"mode": "explicit"}}

SENT = {
    "anthropic/claude-sonnet-5": [MARK, PLAIN],
    "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0": POINT,
    "bedrock/amazon.nova-lite-v1:0": POINT,
    "azure_ai/claude-haiku-4-5": [MARK, PLAIN],
    "databricks/databricks-claude-sonnet-4-5": [MARK, PLAIN],
    "openrouter/anthropic/claude-haiku-4.5": [MARK, PLAIN],
    "dashscope/qwen3.7-max": [MARK, PLAIN],
    "minimax/MiniMax-M2.1": [MARK, PLAIN],
    "openai/gpt-5.6": [BREAK, PLAIN],
    "openai/gpt-4.1-mini": SHARED + REST,
    "mistral/mistral-large-latest": SHARED + REST,
    "deepseek/deepseek-chat": SHARED + REST,
}
"""The user's message as it leaves, by model."""

# By the price list of LiteLLM 1.110, USD for a million tokens: sent, read, written, received.
PRICES = {
    "anthropic/claude-sonnet-5": (2.0, 0.2, 2.5, 10.0),
    "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0": (1.0, 0.1, 1.25, 5.0),
    "openai/gpt-5.6": (4.0, 0.4, 5.0, 20.0),
}

REPLIES: dict[str, dict[str, Any]] = {
    "/messages": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "{}"}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 100,
            "cache_read_input_tokens": 3000,
            "cache_creation_input_tokens": 2000,
            "output_tokens": 10,
        },
    },
    "/converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "{}"}]}},
        "stopReason": "end_turn",
        "metrics": {"latencyMs": 1},
        "usage": {
            "inputTokens": 100,
            "cacheReadInputTokens": 3000,
            "cacheWriteInputTokens": 2000,
            "outputTokens": 10,
            "totalTokens": 5110,
        },
    },
    "/chat/completions": {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}
        ],
        "usage": {
            "prompt_tokens": 5100,
            "completion_tokens": 10,
            "total_tokens": 5110,
            "prompt_tokens_details": {"cached_tokens": 3000, "cache_write_tokens": 2000},
        },
    },
}


@pytest.fixture
def bodies(monkeypatch) -> list[dict[str, Any]]:
    """Return what LiteLLM would send, and answer as each provider does."""
    gateway.import_litellm()
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    sent = []

    async def post(self: Any, url: str, data: Any = None, json: Any = None, **_: Any) -> Any:
        body = data if json is None else json
        sent.append(body if isinstance(body, dict) else loads(body))
        reply = next(reply for end, reply in REPLIES.items() if url.endswith(end))
        return httpx.Response(200, json=reply, request=httpx.Request("POST", url))

    monkeypatch.setattr(AsyncHTTPHandler, "post", post)
    for name in SENT:
        monkeypatch.setenv(f"{name.partition('/')[0].upper()}_API_KEY", "sk-test")
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION_NAME": "us-east-1",
        "DATABRICKS_API_BASE": "https://databricks.example/serving-endpoints",
        "AZURE_AI_API_BASE": "https://azure.example",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    return sent


def messages_of(shared: str = SHARED, rest: str = REST) -> list[dict[str, Any]]:
    prompt = SharedPrompt(shared + rest, len(shared))
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]


@each_case(("model", "content"), SENT.items())
async def test_each_provider_gets_the_end_of_the_shared_text_as_it_wants_it(bodies, model, content):
    await JudgeLM(load_settings(model=model)).acall(messages=messages_of())
    assert bodies[-1]["messages"][-1]["content"] == content
    has_key = model.startswith(("openai/", "mistral/"))
    assert ("prompt_cache_key" in bodies[-1]) is has_key


@each_case("model", ["anthropic/claude-sonnet-5", "openai/gpt-5.6"])
async def test_a_prefix_too_short_to_be_cached_is_not_marked(bodies, model):
    await JudgeLM(load_settings(model=model)).acall(messages=messages_of(SHORT))
    sent = bodies[-1]["messages"][-1]["content"]
    assert sent in (SHORT + REST, [{"type": "text", "text": SHORT + REST}])
    assert "prompt_cache_key" not in bodies[-1]


@each_case(("model", "prices"), PRICES.items())
async def test_cached_tokens_are_counted_and_priced(bodies, model, prices):
    with gateway.meter_calls() as metered:
        await JudgeLM(load_settings(model=model)).acall(messages=messages_of())
    usage = metered.usage
    assert (usage.n_prompt_tokens, usage.n_completion_tokens) == (5100, 10)
    assert (usage.n_cached_tokens, usage.n_cache_write_tokens) == (3000, 2000)
    sent, read, written, received = prices
    cost = (100 * sent + 3000 * read + 2000 * written + 10 * received) / 1e6
    assert usage.cost_usd == pytest.approx(cost)


def test_usage_adds_up_field_by_field():
    one = Usage(n_calls=1, n_prompt_tokens=9, n_cached_tokens=4, n_cache_write_tokens=2)
    assert one + one == Usage(
        n_calls=2, n_prompt_tokens=18, n_cached_tokens=8, n_cache_write_tokens=4
    )


@each_case(
    ("model", "api_base", "way"),
    [
        *((one.example, "", "marked") for one in MARKED),
        ("openai/gpt-5.6", "", "marked"),
        ("openai/gpt-5.6", "https://api.openai.com/v1", "marked"),
        ("openai/gpt-5.6", "http://127.0.0.1:8000/v1", "none"),
        ("openai/gpt-4.1-mini", "", "automatic"),
        ("openai/gpt-4.1-mini", "http://127.0.0.1:8000/v1", "none"),
        ("openai/team-judge", "http://127.0.0.1:8000/v1", "none"),
        ("azure/gpt-4.1-mini", "https://team.openai.azure.com", "automatic"),
        ("azure/our-deployment", "https://team.openai.azure.com", "none"),
        ("gemini/gemini-2.5-flash", "", "automatic"),
        ("deepseek/deepseek-chat", "", "automatic"),
        ("hosted_vllm/qwen", "http://127.0.0.1:8000/v1", "none"),
        ("ollama/qwen3", "", "none"),
        ("ragassay/judge", "", "none"),
    ],
)
def test_who_caches_and_how(model, api_base, way):
    gateway.import_litellm()
    assert detect_caching_way(model, api_base) == way


def test_a_prompt_remembers_how_far_its_context_reaches():
    inputs = {"context": "Question: does it help?", "facts": "none", "others": "none"}
    signature: Any = RubricJudge().predict.signature
    given = {name: inputs.get(name, "x") for name in signature.input_fields}
    system, user = SharedPrefixAdapter().format(signature, [], given)
    prompt = user["content"]
    assert prompt[: prompt.n_shared].rstrip() == inputs["context"]
    assert prompt[prompt.n_shared :].startswith("Task: ")
    # To all others it is a string like any other.
    assert loads(dumps([system, user]))[1]["content"] == str(prompt)


class Calls:
    """Calls that are held until the test lets them go."""

    def __init__(self, model: str = "anthropic/claude-sonnet-5") -> None:
        gateway.import_litellm()
        self.caching = PromptCaching(load_settings(model=model))
        self.begun: list[str] = []
        self.gates: dict[str, asyncio.Future[None]] = {}

    async def make(self, name: str, shared: str = SHARED, form: str = "rubric") -> None:
        options = {"response_format": {"name": form}}
        async with self.caching.wait_for_prefix(messages_of(shared, name), options):
            self.begun.append(name)
            self.gates[name] = asyncio.get_running_loop().create_future()
            await self.gates[name]

    async def start(self, *names: str, **given: str) -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self.make(name, **given)) for name in names]
        await settle()
        return tasks

    async def end(self, *names: str) -> None:
        for name in names:
            self.gates[name].set_result(None)
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_first_call_with_a_prefix_goes_alone_and_the_others_follow_together():
    calls = Calls()
    await calls.start("a", "b", "c")
    await calls.start("other", shared=SHARED[1:])
    await calls.start("schema", form="labels")
    assert calls.begun == ["a", "other", "schema"], "each prefix has a first call of its own"
    await calls.end("a")
    assert calls.begun[3:] == ["b", "c"]
    await calls.end("b", "c", "other", "schema")
    await calls.start("d", "e")
    assert calls.begun[-2:] == ["d", "e"], "the prefix is cached by now"


async def test_where_the_first_call_fails_the_next_takes_its_place():
    calls = Calls()
    tasks = await calls.start("a", "b", "c")
    calls.gates["a"].set_exception(ModelError("no"))
    await settle()
    assert calls.begun == ["a", "b"]
    await calls.end("b")
    assert calls.begun == ["a", "b", "c"]
    await calls.end("c")
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in found] == [ModelError, type(None), type(None)]


async def test_a_prefix_that_was_not_used_for_long_has_a_first_call_again(monkeypatch):
    calls, now = Calls(), [1000.0]
    monkeypatch.setattr("ragassay.models.prompt_caching.time.monotonic", lambda: now[0])
    for name in ("a", "b", "c"):
        await calls.start(name)
        await calls.end(name)
        now[0] += 200.0  # each use keeps it for longer
    now[0] += 100.0
    await calls.start("d", "e")
    assert calls.begun[3:] == ["d"]


@pytest.mark.parametrize("model", ["ollama/qwen3", "anthropic/claude-haiku-4-5"])
async def test_nobody_waits_where_nothing_is_cached(model):
    # Of claude-haiku-4-5, 4096 tokens are the least that is cached.
    calls = Calls(model)
    await calls.start("a", "b", shared=SHARED[:8000])
    assert calls.begun == ["a", "b"]
