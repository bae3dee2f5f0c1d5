"""What LiteLLM makes of each provider's replies, errors and refusals, as `JudgeLM` asks it."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import httpx
import jsonschema
import openai
import pytest
from case_tables import each_case
from manner_outcomes import ERRORS, REFUSALS, Outcome

from ragassay.errors import InputError
from ragassay.model_names import find_provider
from ragassay.models.call_reply import find_refusal
from ragassay.models.gateway import BOUNDED, open_bounded_client
from ragassay.models.litellm_library import import_litellm
from ragassay.models.provider_errors import read_retry_after
from ragassay.testing import Fault, ScriptedModel, ToolCall, load_manner
from ragassay.testing.manners import MANNER_NAMES
from ragassay.testing.manners.manner import fill

pytestmark = pytest.mark.integration

PROVIDERS = tuple(MANNER_NAMES)
SCHEMA = {
    "type": "object",
    "properties": {
        "rating": {"type": "integer", "minimum": 1, "maximum": 5},
        "why": {"type": "string"},
    },
    "required": ["rating", "why"],
    "additionalProperties": False,
}
JSON_SCHEMA = {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}}
VERDICT = {"rating": 4, "why": "It names the trial."}
MESSAGES = [
    {"role": "system", "content": "Judge."},
    {"role": "user", "content": "Is the answer right?"},
]
THINKING = "I weigh the answer."
RETRY_AFTER_S = 7.0

REPLIES: Mapping[str, tuple[str, str | None]] = {
    "anthropic": ("claude-sonnet-4-5-20250929", None),
    "azure": ("gpt-4.1-mini-2025-04-14", "fp_178c8d546f"),
    # Converse does not name the model in its reply: LiteLLM repeats the name that was asked.
    "bedrock": ("us.anthropic.claude-haiku-4-5-20251001-v1:0", None),
    "deepseek": ("deepseek-chat", "fp_eaab8d114b_prod0820_fp8_kvcache"),
    "gemini": ("gemini-2.5-flash", None),
    "groq": ("openai/gpt-oss-20b", "fp_e99e93f2ac"),
    "llama_cpp": ("qwen3-8b", "b6970-7d019cff7"),
    "lm_studio": ("qwen/qwen3-8b", "qwen/qwen3-8b"),
    "mistral": ("mistral-small-latest", None),
    "ollama": ("ollama_chat/qwen3:8b", None),
    "openai": ("gpt-4.1-mini-2025-04-14", "fp_3f58d112f7"),
    # LiteLLM drops the dated name of a response.
    "openai_responses": ("gpt-5-mini", None),
    "openrouter": ("qwen/qwen3-32b-04-28", None),
    "scripted": ("scripted", "scripted"),
    "together": ("Qwen/Qwen3-235B-A22B-fp8-tput", None),
    "vllm": ("Qwen/Qwen3-8B", None),
}
"""The reply's model and system fingerprint as LiteLLM gives them."""

KEEPS_THINKING_BACK = {"azure", "openai"}
READS_NO_THINKING = {*KEEPS_THINKING_BACK, "groq"}
"""Groq sends `reasoning`, which LiteLLM does not read there."""
NAMES_NO_CACHE = {"lm_studio", "ollama", "scripted", "together"}
"""What Together sends (`cached_tokens`), LiteLLM does not read."""
WAITS_IN_HEADER = {
    *("anthropic", "azure", "groq", "openai", "openai_responses", "openrouter", "scripted")
}
"""Where a rate limit names its wait in a header; of the others, Gemini names it in the body."""


@pytest.fixture(autouse=True)
def without_remote_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    # LiteLLM fetches the list of Anthropic's beta headers from GitHub otherwise.
    monkeypatch.setenv("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")


def ask(model: ScriptedModel, patch: pytest.MonkeyPatch, **options: Any) -> Any:
    """Ask as `JudgeLM` does; None leaves an option out."""
    for name, value in model.environment.items():
        patch.setenv(name, value)
    litellm, provider = import_litellm(), find_provider(model.model_name)
    asked: dict[str, Any] = {"temperature": 0, "max_tokens": 300, "response_format": JSON_SCHEMA}
    if model.manner.protocol == "responses":
        asked["temperature"] = None
    if "response_format" in model.manner.lacks:
        asked["response_format"] = None
    if provider.startswith("azure"):
        asked["max_retries"] = 0
    asked |= options

    async def complete() -> Any:
        if provider in BOUNDED:
            asked["client"] = open_bounded_client(provider)
        try:
            return await litellm.acompletion(
                model=model.model_name,
                api_base=model.base_url,
                messages=MESSAGES,
                timeout=20,
                drop_params=True,
                **{name: value for name, value in asked.items() if value is not None},
            )
        finally:
            await litellm.close_litellm_async_clients()

    return asyncio.run(complete())


def failure(model: ScriptedModel, patch: pytest.MonkeyPatch, **options: Any) -> Exception:
    with pytest.raises(openai.OpenAIError) as caught:
        ask(model, patch, **options)
    return caught.value


def outcome(error: Exception, words: str) -> Outcome:
    found = words if words in str(error) else str(error)
    return type(error).__name__, getattr(error, "status_code", 0), found


def verdict(messages: object, schema: object) -> Mapping[str, object]:
    return VERDICT


OPTIONS: dict[str, dict[str, Any]] = {
    "response_format": {"response_format": JSON_SCHEMA},
    "json_object": {"response_format": {"type": "json_object"}},
    "logprobs": {"logprobs": True},
    "top_logprobs": {"top_logprobs": 5},
    "reasoning_effort": {"reasoning_effort": "low"},
    "max_completion_tokens": {"max_completion_tokens": 300, "max_tokens": None},
    "seed": {"seed": 1},
    "temperature": {"temperature": 0},
}
"""Options with which LiteLLM sends a parameter to a provider."""


def choose(patch: pytest.MonkeyPatch, manner: str, **options: Any) -> Any:
    """Return the choice of a reply with the verdict."""
    with ScriptedModel(verdict, manner=manner, **options) as model:
        return ask(model, patch).choices[0]


@each_case("manner", PROVIDERS)
def test_a_reply_is_read_with_its_usage(manner, monkeypatch):
    with ScriptedModel(verdict, manner=manner, n_cached=3, thinking=THINKING) as model:
        reply = ask(model, monkeypatch)
        (sent,) = model.requests
    choice, usage = reply.choices[0], reply.usage
    assert json.loads(choice.message.content) == VERDICT
    assert choice.finish_reason == "stop"
    assert (reply.model, reply.system_fingerprint) == REPLIES[manner]
    # "Judge.", a line break and the question: 27 characters, 7 tokens; 40 and 19 characters: 10, 5.
    assert usage.prompt_tokens == 7
    assert usage.completion_tokens == 10 + 5
    cached = getattr(usage.prompt_tokens_details, "cached_tokens", None) or 0
    assert cached == (0 if manner in NAMES_NO_CACHE else 3)
    shown = getattr(choice.message, "reasoning_content", None)
    assert shown == (None if manner in READS_NO_THINKING else THINKING)
    assert [message["role"] for message in sent.messages] == ["system", "user"]
    assert sent.asked["max_tokens"] == 300


@each_case("manner", PROVIDERS)
def test_the_schema_reaches_the_reply(manner, monkeypatch):
    if "response_format" in load_manner(manner).lacks:
        pytest.skip("refused there: see the refusals")
    with ScriptedModel(manner=manner) as model:
        rating = json.loads(ask(model, monkeypatch).choices[0].message.content)
        (sent,) = model.requests
    assert sent.schema is not None
    jsonschema.validate(rating, sent.schema)


def test_litellm_reads_the_logprobs_of_each_token(monkeypatch):
    with ScriptedModel() as model:
        choice = ask(model, monkeypatch, logprobs=True, top_logprobs=5).choices[0]
    tokens = choice.logprobs.content
    assert "".join(token.token for token in tokens) == choice.message.content
    rating = str(json.loads(choice.message.content)["rating"])
    (token,) = [token for token in tokens if token.token == rating]
    top = {one.token: math.exp(one.logprob) for one in token.top_logprobs}
    assert set(top) == set("12345")
    assert sum(top.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("manner", "name"),
    [("anthropic", "claude-3-haiku-20240307"), ("bedrock", "us.amazon.nova-lite-v1:0")],
)
def test_a_schema_asked_for_by_a_tool_is_answered_by_its_call(manner, name, monkeypatch):
    with ScriptedModel(verdict, manner=manner, model=name) as model:
        reply = ask(model, monkeypatch)
        assert model.requests[0].asked["schema_tool"] == "json_tool_call"
    assert json.loads(reply.choices[0].message.content) == VERDICT


@each_case("manner", PROVIDERS)
def test_a_tool_is_called(manner, monkeypatch):
    call = ToolCall("search", {"query": "zinc"})
    tool = {"name": "search", "description": "d", "parameters": {"type": "object"}}
    with ScriptedModel(lambda messages, schema: [call], manner=manner) as model:
        tools = [{"type": "function", "function": tool}]
        reply = ask(model, monkeypatch, tools=tools, response_format=None)
    (made,) = reply.choices[0].message.tool_calls
    assert made.function.name == "search"
    assert json.loads(made.function.arguments) == {"query": "zinc"}


@each_case("manner", PROVIDERS)
def test_a_cut_reply_has_thinking_and_no_text(manner, monkeypatch):
    with ScriptedModel(verdict, manner=manner, faults=[Fault("cut")]) as model:
        reply = ask(model, monkeypatch)
    choice = reply.choices[0]
    assert choice.finish_reason == "length"
    assert not choice.message.content
    shown = getattr(choice.message, "reasoning_content", None)
    assert bool(shown) == (manner not in READS_NO_THINKING)
    assert reply.usage.completion_tokens > 0


@each_case("manner", PROVIDERS)
def test_a_truncated_reply_stops_for_its_length(manner, monkeypatch):
    choice = choose(monkeypatch, manner, faults=[Fault("truncated")])
    assert choice.finish_reason == "length"
    assert json.dumps(VERDICT, separators=(",", ":")).startswith(choice.message.content)


@each_case("manner", PROVIDERS)
def test_a_refusal_stands_where_the_provider_puts_it(manner, monkeypatch):
    choice = choose(monkeypatch, manner, faults=[Fault("refusal")])
    if manner in ("openai", "azure", "openrouter", "scripted"):
        assert "can't assist" in (find_refusal(choice.message) or "")
        assert (choice.message.content, choice.finish_reason) == (None, "stop")
    elif manner in ("anthropic", "gemini", "bedrock"):
        assert (choice.finish_reason, choice.message.content or "") == ("content_filter", "")
    elif manner == "openai_responses":  # LiteLLM loses the refusal of a response.
        assert (choice.finish_reason, choice.message.content) == ("stop", "")
    else:
        assert "can't assist" in choice.message.content


@each_case("manner", PROVIDERS)
def test_a_filtered_reply_is_stopped_by_the_filter(manner, monkeypatch):
    faults = [Fault("content_filter")]
    if "content_filter" not in load_manner(manner).stops:
        with pytest.raises(InputError, match="has no fault 'content_filter'"):
            ScriptedModel(manner=manner, faults=faults)
        return
    choice = choose(monkeypatch, manner, faults=faults)
    assert (choice.finish_reason, choice.message.content or "") == ("content_filter", "")


def test_gemini_reports_a_blocked_prompt_without_an_error(monkeypatch):
    choice = choose(monkeypatch, "gemini", faults=[Fault("prompt_blocked")])
    assert (choice.finish_reason, choice.message.content) == ("content_filter", None)


@each_case("manner", PROVIDERS)
def test_each_error_comes_as_litellms_exception(manner, monkeypatch):
    # A provider may report a blocked prompt without an error.
    assert load_manner(manner).errors.keys() ^ ERRORS[manner].keys() <= {"prompt_blocked"}
    for kind, expected in ERRORS[manner].items():
        fault = Fault(kind, retry_after_s=RETRY_AFTER_S)  # type: ignore[arg-type]
        with ScriptedModel(manner=manner, faults=[fault]) as model:
            error = failure(model, monkeypatch)
            assert outcome(error, expected[2]) == expected, (manner, kind)
            # LiteLLM itself does not retry.
            assert [request.fault for request in model.requests] == [kind]
            assert model.requests[0].status == model.manner.errors[kind].status


@each_case("manner", [name for name in PROVIDERS if "rate_limit" in ERRORS[name]])
def test_a_rate_limit_says_when_to_come_back(manner, monkeypatch):
    fault = Fault("rate_limit", retry_after_s=RETRY_AFTER_S)
    with ScriptedModel(manner=manner, faults=[fault]) as model:
        error = failure(model, monkeypatch)
    assert read_retry_after(error) == (RETRY_AFTER_S if manner in WAITS_IN_HEADER else None)
    if manner == "gemini":
        assert '"retryDelay":"7s"' in str(error)


@each_case("manner", REFUSALS)
def test_a_parameter_is_refused_until_it_is_left_out(manner, monkeypatch):
    for parameter, expected in REFUSALS[manner].items():
        options = OPTIONS.get(parameter, {})
        name = "team-judge" if manner == "openai_responses" else None
        with ScriptedModel(verdict, manner=manner, model=name, refuses=[parameter]) as model:
            error = failure(model, monkeypatch, **options)
            assert outcome(error, expected[2]) == expected, (manner, parameter)
            left_out = dict.fromkeys(options, None) | {
                "response_format" if parameter == "json_object" else parameter: None
            }
            assert ask(model, monkeypatch, **left_out).choices[0].message.content
            assert [request.refused for request in model.requests] == [parameter, None]


def test_every_provider_with_refusals_is_tried():
    assert REFUSALS.keys() == {name for name in PROVIDERS if load_manner(name).refuses}


def test_a_wrong_key_is_told_before_a_refused_parameter(monkeypatch):
    faults = [Fault("unauthorized")]
    with ScriptedModel(manner="openai", faults=faults, refuses=["temperature"]) as model:
        assert type(failure(model, monkeypatch)).__name__ == "AuthenticationError"


def test_a_refused_request_takes_no_turn_of_a_fault(monkeypatch):
    faults = [Fault("truncated", first=1)]
    with ScriptedModel(verdict, manner="openai", faults=faults, refuses=["temperature"]) as model:
        failure(model, monkeypatch)
        for reason in ("length", "stop"):
            choice = ask(model, monkeypatch, temperature=None).choices[0]
            assert choice.finish_reason == reason
        assert [request.attempt for request in model.requests] == [0, 1, 2]


@pytest.mark.parametrize("manner", ["ollama", "lm_studio", "vllm", "llama_cpp"])
def test_a_local_server_lists_its_models(manner):
    with ScriptedModel(manner=manner) as model, httpx.Client(trust_env=False) as client:
        root = model.base_url.removesuffix("/v1")
        for path, listed in load_manner(manner).lists.items():
            assert client.get(root + path).json() == listed
        (one,) = client.get(f"{root}/v1/models").json()["data"]
    assert one["id"] == load_manner(manner).model


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"manner": "opennai"}, "unknown manner 'opennai'; choose from anthropic, azure"),
        ({"manner": "ollama", "faults": [Fault("no_payment")]}, "Ollama has no fault 'no_payment'"),
        ({"manner": "ollama", "refuses": ["temperature"]}, "does not refuse 'temperature'"),
        ({"n_cached": -1}, "n_cached=-1"),
    ],
)
def test_what_a_provider_does_not_do_is_named(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        ScriptedModel(**arguments)


def test_the_process_serves_a_manner_and_its_refusals():
    command = [sys.executable, "-m", "ragassay.testing", "--manner", "anthropic"]
    command += ["--refuse", "temperature"]
    sent = {"max_tokens": 9, "temperature": 0, "messages": [{"role": "user", "content": "Hi"}]}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = f"{process.stdout.readline().strip()}/v1/messages"
            refused = httpx.post(url, json=sent, trust_env=False, timeout=30)
            taken = httpx.post(url, json=sent | {"temperature": None}, trust_env=False, timeout=30)
        finally:
            process.kill()
    assert refused.json()["error"]["message"] == "`temperature` is deprecated for this model."
    assert taken.json()["content"][0]["type"] == "text"


def test_every_manner_says_where_it_was_taken_from():
    for name in MANNER_NAMES:
        manner = load_manner(name)
        assert manner.sources, name
        assert {"server_error", "unavailable", "bad_request_too_long"} <= manner.errors.keys()


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("$n", 3),
        ("${n}s at $$5", "3s at $5"),
        ({"a": "$none", "b~": "$none", "c~": "$zero"}, {"a": None}),
        ([{"text!": "$none"}, {"text!": "$word", "n~": "$n"}], [{"text": "yes", "n": 3}]),
        (["$*items", "$word"], [1, 2, "yes"]),
        ({"details": {"reason!": "$none"}}, {"details": None}),
    ],
)
def test_a_template_is_filled(template, filled):
    values = {"n": 3, "none": None, "zero": 0, "word": "yes", "items": [1, 2]}
    assert fill(template, values) == filled
