"""The real server, in a process of its own, driven by OpenAI's client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from bases import save_base
from lazy import LazyModule
from schemas import RATING, as_format
from served import KEY, Served, served
from waiting import wait_until

from ragassay.errors import FatalModelError, PromptTooLongError
from ragassay.models.gateway import JudgeLM
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel

openai = LazyModule("openai")

pytestmark = pytest.mark.integration

WAIT_S = 300
"""A busy machine is no failure."""

SMOL = "ragassay/smollm2-135m"
HOSTED = "openai/scripted"
SCHEMA = as_format(RATING)


def page(server: Served, path: str) -> str:
    reply = httpx.get(server.page(path), timeout=WAIT_S)
    assert reply.status_code == 200
    return reply.text


def ask(client: openai.OpenAI, model: str, text: str, **options: Any) -> Any:
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(**{"model": model, "messages": messages, **options})


@pytest.fixture(scope="module")
def upstream() -> Iterator[Any]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> str:
    """A random model whose replies take no time, by its name."""
    return f"ragassay/{save_base(tmp_path_factory.mktemp('tiny'), 'llama')}"


@pytest.fixture(scope="module")
def server(tmp_path_factory, tiny, upstream, weights_cache) -> Iterator[Served]:
    hosted = f"{HOSTED}@{upstream.base_url}"
    with served(["--model", tiny, "--model", hosted], tmp_path_factory.mktemp("served")) as running:
        yield running
        check_graceful_end(running, tiny)


def check_graceful_end(server: Served, model: str) -> None:
    """End the server during a request, and check that it still replies."""
    with (
        openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        reply = pool.submit(ask, client, model, "the drug", max_tokens=400)
        is_asked = "ragassay_requests_in_flight 1.0"
        wait_until(lambda: is_asked in page(server, "/metrics"), server.process)
        assert server.end() == 0
        assert reply.result(WAIT_S).choices[0].message.content
    assert "Traceback" not in "".join(server.told)


@pytest.fixture
def client(server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as opened:
        yield opened


def test_a_chat_with_schema_and_log_probabilities(client):
    question = "Brelozant lowered migraine days. Rate this from 1 to 5."
    options = {"response_format": SCHEMA, "logprobs": True, "top_logprobs": 5, "max_tokens": 20}
    first = ask(client, SMOL, question, **options)
    choice = first.choices[0]
    assert json.loads(choice.message.content)["rating"] in range(1, 6)
    assert choice.finish_reason == "stop"
    (rated,) = [t for t in choice.logprobs.content if t.top_logprobs]
    assert {t.token for t in rated.top_logprobs} == set("12345")
    assert first.usage.prompt_tokens > 20
    again = ask(client, SMOL, question, **options)
    assert again.choices[0].message.content == choice.message.content
    assert again.usage.prompt_tokens_details.cached_tokens == again.usage.prompt_tokens


def test_models_are_listed(client, tiny):
    names = [model.id for model in client.models.list()]
    assert {SMOL, tiny, HOSTED} <= set(names)
    assert client.models.retrieve(SMOL).id == SMOL


def test_mistakes_come_back_as_the_clients_own(client, server):
    with pytest.raises(openai.NotFoundError, match=r"gpt-9.*is not served"):
        ask(client, "gpt-9", "a")
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        ask(client, SMOL, "word " * 20_000)
    with pytest.raises(openai.BadRequestError, match="invalid reply schema"):
        ask(client, SMOL, "a", response_format=as_format({"type": "nonsense"}))
    with pytest.raises(openai.BadRequestError, match="at least one"):
        ask(client, SMOL, "a", messages=[])
    with (
        openai.OpenAI(base_url=server.url, api_key="sk-wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.list()


def test_many_clients_at_once_each_get_their_own_reply(client, tiny):
    def write(n: int) -> str:
        reply = ask(client, tiny, f"the trial of the drug, number {n}", max_tokens=8)
        return reply.choices[0].message.content

    alone = [write(n) for n in range(4)]
    with ThreadPoolExecutor(40) as pool:
        together = list(pool.map(write, range(40)))
    assert together[:4] == alone
    assert len(set(together)) > 1


def test_a_stream_ends_with_the_reply(client, tiny):
    whole = ask(client, tiny, "a", max_tokens=6)
    stream = ask(client, tiny, "a", max_tokens=6, stream=True)
    chunks = [chunk.choices[0] for chunk in stream if chunk.choices]
    assert "".join(c.delta.content or "" for c in chunks) == whole.choices[0].message.content
    assert chunks[-1].finish_reason == "length"


def test_a_hosted_model_stands_beside(client, upstream):
    n_before = len(upstream.requests)
    reply = ask(client, HOSTED, "Rate it.", response_format=SCHEMA, max_tokens=50)
    assert json.loads(reply.choices[0].message.content)["rating"] in range(1, 6)
    assert len(upstream.requests) == n_before + 1


def test_health_and_metrics(server, client):
    ask(client, SMOL, "a", max_tokens=2)
    assert page(server, "/health/liveliness")
    assert json.loads(page(server, "/health/readiness"))["status"] == "healthy"
    # LiteLLM reports tokens after the reply has gone out.
    wanted = rf'ragassay_tokens_total\{{kind="completion",model="{SMOL}"\}} (\d+)'
    wait_until(lambda: re.search(wanted, page(server, "/metrics")), server.process)
    figures = page(server, "/metrics")
    assert int(re.findall(wanted, figures)[0]) >= 2
    assert float(re.findall(r"\nragassay_local_largest_batch (\S+)", figures)[0]) >= 1
    assert float(re.findall(r"\nprocess_resident_memory_bytes (\S+)", figures)[0]) > 1e8


@pytest.mark.parametrize(
    ("name", "variable"), [("litellm_proxy", "LITELLM_PROXY_API_KEY"), ("openai", "OPENAI_API_KEY")]
)
async def test_ragassay_elsewhere_asks_it(name, variable, server, monkeypatch):
    monkeypatch.setenv(variable, KEY)
    settings = load_settings(model=f"{name}/{SMOL}", api_base=server.url, max_reply_tokens=16)
    judge = JudgeLM(settings)
    (reply,) = await judge.acall("Rate it.", response_format=SCHEMA)
    assert json.loads(reply["text"])["rating"] in range(1, 6)
    assert any(token.top_logprobs for token in reply["logprobs"].content)
    with pytest.raises(PromptTooLongError):
        await judge.acall("word " * 20_000)
    monkeypatch.setenv(variable, "sk-wrong")
    with pytest.raises(FatalModelError, match=rf"rejected the key \(401\); set {variable}"):
        await JudgeLM(settings).acall("a")


def test_it_says_how_it_is_called_and_sends_nothing_home(server):
    told = "".join(server.told)
    assert server.url in told and SMOL in told and "curl" in told
    assert KEY not in told and "warning" not in told
    assert server.outside.read_text(encoding="utf-8") == ""
