"""The call by which a run finds out whether its judges are there."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from case_tables import each_case

from ragassay.errors import FatalModelError
from ragassay.models.probe import check_judges
from ragassay.models.provider_errors import PROVIDERS, explain_client_error, explain_unreachable
from ragassay.settings import Settings, load_settings
from ragassay.testing import Fault, ScriptedModel


def judge(url: str | None, model: str = "openai/scripted") -> Settings:
    return load_settings(model=model, api_base=url)


CLOSED = "http://127.0.0.1:9/v1"
"""Nobody listens at the discard port."""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


@pytest.mark.integration
def test_a_judge_that_is_there_is_asked_for_one_token_once(model):
    check_judges([judge(model.base_url), judge(model.base_url)])
    (probe,) = model.probes
    assert probe.body["max_tokens"] == 1
    assert probe.body["model"] == "scripted"
    assert model.n_requests == 0, "a probe is no judgment"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("unauthorized", r"^openai/scripted: .* rejected the key \(401\); set OPENAI_API_KEY"),
        ("unknown_model", r"^openai/scripted: .* has no model 'scripted' \(404\); check the name"),
    ],
)
def test_a_wrong_key_and_an_unknown_model_are_told_apart(kind, told):
    with ScriptedModel(faults=[Fault(kind)]) as model:
        with pytest.raises(FatalModelError, match=told) as error:
            check_judges([judge(model.base_url)])
        assert "\n" not in str(error.value)
        assert "sk-test" not in str(error.value), "a server that repeats the key is not repeated"


@pytest.mark.integration
def test_litellm_is_imported_while_a_model_thinks():
    script = (
        "import sys\n"
        "from ragassay.models.probe import check_judges\n"
        "from ragassay.settings import load_settings\n"
        "check_judges([load_settings(model='openai/scripted', api_base=sys.argv[1])])\n"
        "print('litellm' in sys.modules)\n"
    )
    with ScriptedModel(latency_s=2.0) as model:
        command = [sys.executable, "-c", script, model.base_url]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.integration
@each_case(
    "fault",
    [
        *map(Fault, ("rate_limit", "server_error", "unavailable", "junk", "refusal")),
        Fault("unauthorized", first=1),  # it counts requests, and a probe is none
    ],
)
def test_what_may_pass_by_itself_stops_nothing(fault):
    with ScriptedModel(faults=[fault]) as model:
        check_judges([judge(model.base_url)])
        assert len(model.probes) == 1


@pytest.mark.integration
def test_a_slow_judge_is_left_to_the_run(monkeypatch):
    monkeypatch.setattr("ragassay.models.probe.TIMEOUT_S", 0.05)
    with ScriptedModel(faults=[Fault("hang")]) as model:
        check_judges([judge(model.base_url)])


@pytest.mark.integration
def test_an_address_without_its_path_is_no_unknown_model(model):
    base = model.base_url.removesuffix("/v1")
    with pytest.raises(FatalModelError, match=rf"{base}/chat/completions \(404\); .*/v1"):
        check_judges([judge(base)])


@each_case(
    ("url", "model", "problem"),
    [
        (CLOSED, "openai/scripted", f"connection refused at {CLOSED}; start the server"),
        (CLOSED.removesuffix("/v1"), "ollama_chat/a", "connection refused"),  # LiteLLM asks it
        ("localhost:8000/v1", "openai/scripted", "is not an address; use http://HOST"),
        (None, "hosted_vllm/a", "has no endpoint; pass it with --api-base URL"),
        (None, "nonsense", "^nonsense: unknown provider; write PROV"),
    ],
)
def test_an_endpoint_that_cannot_be_asked_is_refused(url, model, problem, monkeypatch):
    monkeypatch.delenv("HOSTED_VLLM_API_BASE", raising=False)
    with pytest.raises(FatalModelError, match=problem):
        check_judges([judge(url, model)])


def test_a_host_without_a_name_is_refused(monkeypatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(FatalModelError, match=r"unknown host at http://nowhere\.invalid"):
        check_judges([judge("http://nowhere.invalid/v1")])


@each_case("provider", [name for name, one in PROVIDERS.items() if one.needs_key])
def test_a_missing_key_is_named_before_anything_is_asked(provider, monkeypatch):
    keys = PROVIDERS[provider].keys
    for name in keys:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(FatalModelError, match=f"^{provider}/a: .*set {' or '.join(keys)} in"):
        check_judges([judge(None, f"{provider}/a")])


@each_case(
    ("url", "model", "key"),
    [
        ("http://gpu.invalid:8000/v1", "mistral/a", "MISTRAL_API_KEY"),
        ("https://api.openai.com/v1", "openai/scripted", "OPENAI_API_KEY"),
        ("https://api.openai.com/v1/", "openai/scripted", "OPENAI_API_KEY"),
    ],
)
def test_a_key_is_needed_at_any_address_but_for_servers_of_ones_own(url, model, key, monkeypatch):
    monkeypatch.delenv(key, raising=False)
    with pytest.raises(FatalModelError, match=f"set {key} in"):
        check_judges([judge(url, model)])


@pytest.mark.integration
@pytest.mark.parametrize("variable", ["", "OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_a_server_of_ones_own_is_asked_without_a_key(variable, model, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, model.base_url)
    check_judges([judge(None if variable else model.base_url)])
    assert len(model.probes) == 1


@pytest.mark.parametrize("provider", [name for name, one in PROVIDERS.items() if one.base])
def test_keys_and_addresses_are_those_that_litellm_uses(provider, monkeypatch):
    from ragassay.models.litellm_library import import_litellm

    known, litellm = PROVIDERS[provider], import_litellm()
    for name in (*known.keys, *known.bases):
        monkeypatch.delenv(name, raising=False)
    assert set(litellm.validate_environment(f"{provider}/a")["missing_keys"]) <= set(known.keys)
    base = litellm.get_llm_provider(f"{provider}/a")[3]
    assert base in (None, known.base)


def test_models_of_this_process_are_not_asked(model):
    check_judges([load_settings(model="ragassay/judge", api_base=model.base_url)])
    check_judges([load_settings(api_base=model.base_url)])
    assert model.probes == ()


def test_other_errors_are_no_missing_endpoint():
    assert explain_unreachable(TimeoutError("slow")) == ""
    told = explain_client_error(403, "", "openai/a", "http://x/v1")
    assert told.startswith("http://x/v1 rejected the key (403)")


@pytest.mark.integration
@pytest.mark.parametrize("name", ["api_key", "openai_key"])
def test_a_key_that_the_application_gave_litellm_is_used(model, monkeypatch, name):
    import litellm

    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr(litellm, name, "sk-own")
    check_judges([judge(model.base_url)])
    assert len(model.probes) == 1
