"""What keeps a server from starting, in one line each; its address and its key."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case
from starlette.testclient import TestClient
from typer.testing import CliRunner, Result

from ragassay.cli import app
from ragassay.errors import SettingsError
from ragassay.models import weights
from ragassay.models.serving import server
from ragassay.models.serving.server import Address, check_server_key, make_server_key
from ragassay.settings import load_settings


@pytest.fixture(autouse=True)
def no_server(monkeypatch) -> None:
    """Load no weights, and fail a test in which a server starts."""
    monkeypatch.setattr(server, "prepare_local_models", lambda names, settings: None)
    monkeypatch.setattr(server, "run_app", lambda *given: pytest.fail("it has started"))


def serve(*options: str) -> Result:
    return CliRunner().invoke(app, ["serve", *options])


def test_a_weak_key_keeps_it_from_starting(monkeypatch):
    monkeypatch.setenv("RAGASSAY_OUTPUT__SERVER_KEY", "sk-1234")
    done = serve("--port", "0")
    assert done.exit_code == 1 and "the key is weak" in done.stderr
    assert "sk-1234" not in done.stderr


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve("--port", str(port))
    assert done.exit_code == 1
    assert f"127.0.0.1 port {port}" in done.stderr and "--port" in done.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--host", "192.0.2.1", "--port", "0"), "cannot listen on 192.0.2.1"),
        (("--only",), "--only requires at least one --model"),
    ],
)
def test_options_that_do_not_fit_are_named(options, problem):
    done = serve(*options)
    assert done.exit_code == 1 and problem in done.stderr


@pytest.mark.parametrize(
    ("name", "extra"), [("prometheus_client", "server"), ("llguidance", "local")]
)
def test_a_missing_extra_is_told(name, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    done = serve("--port", "0")
    assert done.exit_code == 2
    assert done.stderr == f'error: this feature requires {name}: pip install "ragassay[{extra}]"\n'


def test_a_new_key_is_shown_once_and_opens_the_server(monkeypatch, caplog):
    clients: list[TestClient] = []

    def run_app(served: Any, listener: object, grace_s: float, on_ready: Any) -> None:
        on_ready()
        clients.append(TestClient(served))

    caplog.set_level("CRITICAL", "LiteLLM")  # Restore the level that `serve` changes.
    monkeypatch.setattr(server, "run_app", run_app)
    done = serve("--only", "--model", "openai/x", "--port", "0", "--host", "0.0.0.0")
    (key,) = re.findall(r"shown only once: (\S+)", done.stderr)
    assert done.output.count(key) == 1
    assert "other machines can connect to 0.0.0.0" in done.stderr
    (client,) = clients
    reply = client.get("/v1/models", headers={"authorization": f"Bearer {key}"})
    assert [model["id"] for model in reply.json()["data"]] == ["openai/x"]
    assert client.get("/v1/models").status_code == 401


@each_case(
    ("host", "url", "is_public"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/v1", False),
        ("localhost", "http://localhost:80/v1", False),
        ("::1", "http://[::1]:80/v1", False),
        ("0.0.0.0", "http://127.0.0.1:80/v1", True),
        ("::", "http://[::1]:80/v1", True),
        ("judge.example.org", "http://judge.example.org:80/v1", True),
    ],
)
def test_the_address_says_who_can_reach_it(host, url, is_public):
    address = Address(host, 80, ("ragassay/judge",))
    assert (address.url, address.is_public) == (url, is_public)


def test_whole_models_in_folders_need_no_packaged_weights(tmp_path, monkeypatch):
    monkeypatch.undo()
    asked: list[Path] = []
    monkeypatch.setattr(weights, "prepare_smollm2", asked.append)
    (tmp_path / "config.json").touch()
    server.prepare_local_models(["openai/x", f"ragassay/{tmp_path}"], load_settings())
    assert asked == []
    server.prepare_local_models(["ragassay/smollm2-135m"], load_settings())
    assert len(asked) == 1


def test_a_made_key_is_strong():
    first, second = make_server_key(), make_server_key()
    assert first != second
    # 32 random bytes are 43 characters of base64.
    assert len(first) == len("sk-") + 43
    for key in (first, "9c1fX-27Qb_zzT0wmK4e"):
        check_server_key(key)


@each_case(
    ("key", "problem"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("sk-1234", "7 characters"),
        ("aaaaaaaabbbbbbbbcccc", "3 different"),
        ("my-Password-is-long-enough", "'password'"),
        ("sk-1234-and-what-comes-next", "'sk-1234'"),
        ("two words in a row, or more", "spaces"),
        ("schlüssel-der-lang-genug-ist", "header"),
        ("line\nbreak-in-a-long-key-7x", "header"),
    ],
)
def test_a_weak_key_is_refused_by_name(key, problem):
    with pytest.raises(SettingsError, match=r"server_key.*token_urlsafe") as refused:
        check_server_key(key)
    assert problem in str(refused.value)
