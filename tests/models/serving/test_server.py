"""The real server, in a process of its own, driven by OpenAI's client."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from lazy import LazyModule
from served import KEY, Served, served
from waiting import wait_until

from ragassay.testing import ScriptedModel

openai = LazyModule("openai")

pytestmark = pytest.mark.integration

WAIT_S = 300
"""A busy machine is no failure."""

SMOL = "ragassay/smollm2-135m"
HOSTED = "openai/scripted"
RATING = {
    "type": "object",
    "properties": {"rating": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["rating"],
    "additionalProperties": False,
}
SCHEMA: Any = {"type": "json_schema", "json_schema": {"name": "rating", "schema": RATING}}


def page(server: Served, path: str) -> str:
    reply = httpx.get(server.page(path), timeout=WAIT_S)
    assert reply.status_code == 200
    return reply.text


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Any]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, plain: Any, tokenizer: Any) -> str:
    """A random model whose replies take no time, by its name."""
    folder = tmp_path_factory.mktemp("tiny")
    plain.model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return f"ragassay/{folder}"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tiny: str, upstream: Any, weights_cache: Path
) -> Iterator[Served]:
    hosted = f"{HOSTED}@{upstream.base_url}"
    with served(["--model", tiny, "--model", hosted], tmp_path_factory.mktemp("served")) as running:
        yield running
        check_graceful_end(running, tiny)


def check_graceful_end(server: Served, model: str) -> None:
    """End the server during a request, and check that it still replies."""
    replies: list[str] = []

    def ask() -> None:
        with openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as client:
            reply = client.chat.completions.create(
                model=model, messages=user("the drug"), max_tokens=400
            )
            replies.append(reply.choices[0].message.content or "")

    asking = threading.Thread(target=ask)
    asking.start()
    is_asked = "ragassay_requests_in_flight 1.0"
    wait_until(lambda: is_asked in page(server, "/metrics"), server.process)
    assert server.end() == 0
    asking.join()
    assert len(replies) == 1 and replies[0]
    assert "Traceback" not in "".join(server.told)


@pytest.fixture
def client(server: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as opened:
        yield opened


def test_a_chat_with_schema_and_log_probabilities(client: openai.OpenAI) -> None:
    asked: Any = {
        "model": SMOL,
        "messages": user("Brelozant lowered migraine days. Rate this from 1 to 5."),
        "response_format": SCHEMA,
        "logprobs": True,
        "top_logprobs": 5,
        "max_tokens": 20,
    }
    first = client.chat.completions.create(**asked)
    choice = first.choices[0]
    assert json.loads(choice.message.content or "")["rating"] in range(1, 6)
    assert choice.finish_reason == "stop"
    (rated,) = [t for t in choice.logprobs.content if t.top_logprobs]  # type: ignore[union-attr]
    assert {t.token for t in rated.top_logprobs} == set("12345")
    assert first.usage is not None and first.usage.prompt_tokens > 20
    again = client.chat.completions.create(**asked)
    assert again.choices[0].message.content == choice.message.content
    assert again.usage is not None and again.usage.prompt_tokens_details is not None
    assert again.usage.prompt_tokens_details.cached_tokens == again.usage.prompt_tokens


def test_models_are_listed(client: openai.OpenAI, tiny: str) -> None:
    names = [model.id for model in client.models.list()]
    assert {SMOL, tiny, HOSTED} <= set(names)
    assert client.models.retrieve(SMOL).id == SMOL


def test_mistakes_come_back_as_the_clients_own(client: openai.OpenAI, server: Served) -> None:
    def ask(**options: Any) -> Any:
        given: Any = {"model": SMOL, "messages": user("a"), "max_tokens": 4} | options
        return client.chat.completions.create(**given)

    with pytest.raises(openai.NotFoundError, match=r"gpt-9.*is not served"):
        ask(model="gpt-9")
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        ask(messages=user("word " * 20_000))
    nonsense = {"name": "n", "schema": {"type": "nonsense"}}
    with pytest.raises(openai.BadRequestError, match="invalid reply schema"):
        ask(response_format={"type": "json_schema", "json_schema": nonsense})
    with pytest.raises(openai.BadRequestError, match="at least one"):
        ask(messages=[])
    with (
        openai.OpenAI(base_url=server.url, api_key="sk-wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.list()


def test_many_clients_at_once_each_get_their_own_reply(client: openai.OpenAI, tiny: str) -> None:
    def ask(n: int) -> str:
        reply = client.chat.completions.create(
            model=tiny, messages=user(f"the trial of the drug, number {n}"), max_tokens=8
        )
        return reply.choices[0].message.content or ""

    alone = [ask(n) for n in range(4)]
    with ThreadPoolExecutor(40) as pool:
        together = list(pool.map(ask, range(40)))
    assert together[:4] == alone
    assert len(set(together)) > 1


def test_a_stream_ends_with_the_reply(client: openai.OpenAI, tiny: str) -> None:
    whole = client.chat.completions.create(model=tiny, messages=user("a"), max_tokens=6)
    stream = client.chat.completions.create(
        model=tiny, messages=user("a"), max_tokens=6, stream=True
    )
    chunks = [chunk.choices[0] for chunk in stream if chunk.choices]
    assert "".join(c.delta.content or "" for c in chunks) == whole.choices[0].message.content
    assert chunks[-1].finish_reason == "length"


def test_a_hosted_model_stands_beside(client: openai.OpenAI, upstream: Any) -> None:
    n_before = len(upstream.requests)
    reply = client.chat.completions.create(
        model=HOSTED, messages=user("Rate it."), response_format=SCHEMA, max_tokens=50
    )
    assert json.loads(reply.choices[0].message.content or "")["rating"] in range(1, 6)
    assert len(upstream.requests) == n_before + 1


def test_health_and_metrics(server: Served, client: openai.OpenAI) -> None:
    client.chat.completions.create(model=SMOL, messages=user("a"), max_tokens=2)
    assert page(server, "/health/liveliness")
    assert json.loads(page(server, "/health/readiness"))["status"] == "healthy"
    # LiteLLM reports tokens after the reply has gone out.
    wanted = rf'ragassay_tokens_total\{{kind="completion",model="{SMOL}"\}} (\d+)'
    wait_until(lambda: re.search(wanted, page(server, "/metrics")), server.process)
    figures = page(server, "/metrics")
    assert int(re.findall(wanted, figures)[0]) >= 2
    assert float(re.findall(r"\nragassay_local_largest_batch (\S+)", figures)[0]) >= 1
    assert float(re.findall(r"\nprocess_resident_memory_bytes (\S+)", figures)[0]) > 1e8


def test_ragassay_elsewhere_asks_it(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from ragassay.errors import FatalModelError, PromptTooLongError
    from ragassay.models.gateway import JudgeLM
    from ragassay.settings import load_settings

    for name, variable in (
        ("litellm_proxy", "LITELLM_PROXY_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
    ):
        monkeypatch.setenv(variable, KEY)
        settings = load_settings(model=f"{name}/{SMOL}", api_base=server.url, max_reply_tokens=16)
        judge = JudgeLM(settings)
        asked = judge.acall(messages=user("Rate it."), response_format=SCHEMA)
        reply = asyncio.run(asked)[0]
        assert json.loads(reply["text"])["rating"] in range(1, 6)
        assert any(token.top_logprobs for token in reply["logprobs"].content)
        with pytest.raises(PromptTooLongError):
            asyncio.run(judge.acall(messages=user("word " * 20_000)))
        monkeypatch.setenv(variable, "sk-wrong")
        with pytest.raises(FatalModelError, match=rf"rejected the key \(401\); set {variable}"):
            asyncio.run(JudgeLM(settings).acall(messages=user("a")))


def test_it_says_how_it_is_called_and_sends_nothing_home(server: Served) -> None:
    told = "".join(server.told)
    assert server.url in told and SMOL in told and "curl" in told
    assert KEY not in told and "warning" not in told
    assert server.outside.read_text(encoding="utf-8") == ""
