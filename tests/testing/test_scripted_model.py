"""The scripted model over HTTP, seen by a plain client; `test_manners.py` asks by LiteLLM."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

import ragassay.testing
from ragassay.errors import InputError
from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.integration

SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "reason": {"type": "string"},
    },
    "required": ["score", "reason"],
    "additionalProperties": False,
}
IMPATIENT = httpx.Timeout(30, read=0.05)
RESPONSE_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "judgement", "schema": SCHEMA, "strict": True},
}


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=30, trust_env=False) as client:
        yield client


def body_of(text: str, **more: object) -> dict[str, object]:
    messages = [{"role": "system", "content": "Judge."}, {"role": "user", "content": text}]
    return {"model": "scripted", "messages": messages, **more}


def ask(client, model: ScriptedModel, text: str = "Is it true?", **more) -> httpx.Response:
    return client.post(f"{model.base_url}/chat/completions", json=body_of(text, **more))


def content_of(response: httpx.Response) -> str:
    return response.raise_for_status().json()["choices"][0]["message"]["content"]


def test_two_servers_give_the_same_answers(client):
    texts = ["one", "two", "Does zinc shorten a cold?"]
    asked = {"logprobs": True, "top_logprobs": 5, "response_format": RESPONSE_FORMAT}
    answers: list[list[str]] = []
    for _ in range(2):
        with ScriptedModel() as model:
            answers.append([ask(client, model, text, **asked).text for text in texts])
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 3


def test_a_scripted_reply_sees_the_messages_and_the_schema(client):
    seen = []

    def reply(messages, schema):
        seen.append((messages, schema))
        return {"score": 4}

    with ScriptedModel(reply) as model:
        assert content_of(ask(client, model, response_format=RESPONSE_FORMAT)) == '{"score":4}'
    assert seen == [(tuple(body_of("Is it true?")["messages"]), SCHEMA)]


def test_a_scripted_reply_that_raises_tells_the_client(client):
    def reply(messages, schema):
        raise KeyError("no reply for this prompt")

    with ScriptedModel(reply) as model:
        response = ask(client, model)
    assert response.status_code == 400
    assert "no reply for this prompt" in response.json()["error"]["message"]


def test_logprobs_follow_the_reply(client):
    with ScriptedModel(lambda messages, schema: {"score": 4}) as model:
        choice = ask(client, model, logprobs=True, top_logprobs=5).json()["choices"][0]
        assert ask(client, model).json()["choices"][0]["logprobs"] is None
    tokens = choice["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == choice["message"]["content"]
    (rating,) = [token for token in tokens if token["token"] == "4"]
    assert {one["token"] for one in rating["top_logprobs"]} == set("12345")


def test_usage_counts_four_characters_a_token(client):
    with ScriptedModel(lambda messages, schema: "12345678") as model:
        usage = ask(client, model, "abcdefghi").json()["usage"]
    # "Judge.", a line break and nine letters: 16 characters, 4 tokens.
    assert usage == {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("rate_limit", 429, "rate_limit_exceeded"),
        ("server_error", 500, None),
        ("unavailable", 503, None),
        ("unauthorized", 401, "invalid_api_key"),
        ("bad_request_too_long", 400, "context_length_exceeded"),
    ],
)
def test_an_error_fault_is_answered_as_openai_does(client, kind, status, code):
    with ScriptedModel(faults=[Fault(kind, attempts=1)]) as model:
        failed, retried = ask(client, model), ask(client, model)
        noted = [(request.fault, request.status, request.attempt) for request in model.requests]
    assert failed.status_code == status
    assert failed.json()["error"]["code"] == code
    assert retried.status_code == 200
    assert noted == [(kind, status, 1), (None, 200, 2)]


def test_a_cut_off_answer_ends_in_the_middle(client):
    with ScriptedModel(faults=[Fault("cut_off", first=1)]) as model:
        with pytest.raises(httpx.RemoteProtocolError, match="complete message body"):
            ask(client, model)
        assert ask(client, model).status_code == 200


@pytest.mark.parametrize("content", ["no JSON at all", '{"score":9}'])
def test_junk_does_not_fit_the_schema(client, content):
    with ScriptedModel(faults=[Fault("junk", content=content)]) as model:
        assert content_of(ask(client, model, response_format=RESPONSE_FORMAT)) == content


def test_a_slow_answer_is_the_proper_one(client):
    with ScriptedModel(faults=[Fault("slow", first=1, delay_s=0.01)]) as model:
        slow, quick = ask(client, model), ask(client, model)
        assert [request.fault for request in model.requests] == ["slow", None]
    assert slow.json() == quick.json()


def test_a_slow_answer_outlasts_an_impatient_client(client):
    client.timeout = IMPATIENT
    with ScriptedModel(faults=[Fault("slow", delay_s=3600)]) as model:
        with pytest.raises(httpx.ReadTimeout):
            ask(client, model)


def test_a_hanging_answer_never_comes_until_the_server_closes():
    async def ask_and_close() -> None:
        with ScriptedModel(faults=[Fault("hang")]) as model:
            async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
                url = f"{model.base_url}/chat/completions"
                asked = asyncio.create_task(client.post(url, json=body_of("Is it true?")))
                while not model.requests:
                    await asyncio.sleep(0)
                assert not asked.done()
                await asyncio.to_thread(model.close)
                with pytest.raises(httpx.TransportError):
                    await asked
            assert model.requests[0].status is None

    asyncio.run(ask_and_close())


def test_waiting_requests_overlap():
    n_requests = 100

    async def ask_all(model: ScriptedModel) -> set[int]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=None, limits=limits, trust_env=False) as client:
            url = f"{model.base_url}/chat/completions"
            asked = [client.post(url, json=body_of(str(n))) for n in range(n_requests)]
            return {response.status_code for response in await asyncio.gather(*asked)}

    with ScriptedModel(latency_s=0.5) as model:
        assert asyncio.run(ask_all(model)) == {200}
        assert model.max_in_flight > 1
        assert [request.n for request in model.requests] == list(range(1, n_requests + 1))


def test_a_recorded_request_holds_what_was_sent(client):
    with ScriptedModel() as model:
        ask(client, model, temperature=0.3, response_format=RESPONSE_FORMAT)
        ask(client, model)
        recorded, _ = model.requests
        assert model.max_in_flight == 1
    assert recorded.body["temperature"] == 0.3
    assert recorded.messages[-1]["content"] == "Is it true?"
    assert recorded.schema == SCHEMA


def test_bodies_can_be_forgotten(client):
    with ScriptedModel(keep_requests=False) as model:
        ask(client, model)
        assert (model.requests, model.n_requests) == ((), 1)


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (b"{", "Expecting"),
        (b"[]", "must be a JSON object"),
        (b'{"messages": []}', "'messages'"),
        (json.dumps(body_of("a", stream=True)).encode(), "does not support streaming"),
    ],
)
def test_an_unusable_request_is_refused_and_not_counted(client, sent, complaint):
    with ScriptedModel() as model:
        response = client.post(f"{model.base_url}/chat/completions", content=sent)
        assert model.n_requests == 0
    assert response.status_code == 400
    assert complaint in response.json()["error"]["message"]


def test_a_large_prompt_is_taken(client):
    with ScriptedModel() as model:
        assert ask(client, model, "word " * 1_000_000).status_code == 200


def test_models_and_health_are_reported(client):
    with ScriptedModel() as model:
        models = client.get(f"{model.base_url}/models").json()
        health = client.get(model.base_url.removesuffix("/v1") + "/health").json()
    assert [one["id"] for one in models["data"]] == ["scripted"]
    assert health == {"status": "ok"}


def test_starting_and_closing_twice_changes_nothing(client):
    model = ScriptedModel()
    url = model.start().base_url
    assert model.start().base_url == url
    model.close()
    model.close()
    with pytest.raises(InputError, match="not running"):
        _ = model.base_url
    with pytest.raises(httpx.ConnectError):
        client.get(f"{url}/models")


def test_a_closed_model_starts_again_with_its_record(client):
    model = ScriptedModel(faults=[Fault("server_error", first=1)])
    for status in (500, 200):
        with model:
            assert ask(client, model).status_code == status
    assert model.n_requests == 2


def test_a_taken_port_is_the_callers_error():
    with ScriptedModel() as model:
        port = int(model.base_url.split(":")[-1].removesuffix("/v1"))
        with pytest.raises(OSError, match="in use"):
            ScriptedModel(port=port).start()


def test_the_process_serves_until_killed_and_logs(client, tmp_path):
    log = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "ragassay.testing", "--log", str(log), "--fault", "junk=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            response = client.post(f"{url}/chat/completions", json=body_of("Is it true?"))
            # Read while the process lives: the line stands before the answer arrives.
            (line,) = log.read_text().splitlines()
        finally:
            process.kill()
    assert response.status_code == 200
    noted = json.loads(line)
    assert len(noted.pop("key")) == 64
    assert noted == {"n": 1, "attempt": 1, "status": 200, "fault": "junk", "client_there": True}


def test_the_log_says_that_a_client_was_gone(client, tmp_path):
    log = tmp_path / "requests.jsonl"
    with ScriptedModel(latency_s=0.5, log=log) as model:
        with httpx.Client(timeout=IMPATIENT) as impatient, pytest.raises(httpx.ReadTimeout):
            ask(impatient, model)
        ask(client, model)
    gone, there = (json.loads(line) for line in log.read_text().splitlines())
    assert (gone["client_there"], there["client_there"]) == (False, True)


def test_an_unknown_fault_on_the_command_line_is_named():
    command = [sys.executable, "-m", "ragassay.testing", "--fault", "typo"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "unknown fault 'typo'" in ended.stderr


def test_importing_the_package_loads_no_server():
    program = "import sys, ragassay.testing; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_public_names_are_sorted():
    assert ragassay.testing.__all__ == sorted(ragassay.testing.__all__)
