"""What keeps a server from starting, in one line each; and its address."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.models.serving import server
from ragassay.models.serving.server import Address

RUN = CliRunner()


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "prepare_local_models", lambda names, settings: None)


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_app(*given: object) -> None:
        raise AssertionError("it has started")

    monkeypatch.setattr(server, "run_app", run_app)


def test_a_weak_key_keeps_it_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGASSAY_OUTPUT__SERVER_KEY", "sk-1234")
    done = RUN.invoke(app, ["serve", "--port", "0"])
    assert done.exit_code == 1 and "the key is weak" in done.stderr
    assert "sk-1234" not in done.stderr


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = RUN.invoke(app, ["serve", "--port", str(port)])
    assert done.exit_code == 1
    assert f"127.0.0.1 port {port}" in done.stderr and "--port" in done.stderr


def test_a_host_that_is_not_here_is_named() -> None:
    done = RUN.invoke(app, ["serve", "--host", "192.0.2.1", "--port", "0"])
    assert done.exit_code == 1 and "cannot listen on 192.0.2.1" in done.stderr


@pytest.mark.parametrize("name", ["prometheus_client", "llguidance"])
def test_a_missing_extra_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    done = RUN.invoke(app, ["serve", "--port", "0"])
    assert done.exit_code == 2
    extra = "server" if name == "prometheus_client" else "local"
    assert done.stderr == f'error: this feature requires {name}: pip install "ragassay[{extra}]"\n'


def test_only_needs_a_model() -> None:
    done = RUN.invoke(app, ["serve", "--only"])
    assert done.exit_code == 1 and "--only requires at least one --model" in done.stderr


@pytest.mark.parametrize(
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
def test_the_address_says_who_can_reach_it(host: str, url: str, is_public: bool) -> None:
    address = Address(host, 80, ("ragassay/judge",))
    assert (address.url, address.is_public) == (url, is_public)


def test_whole_models_in_folders_need_no_packaged_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragassay.models import weights
    from ragassay.settings import load_settings

    monkeypatch.undo()
    asked: list[Path] = []
    monkeypatch.setattr(weights, "prepare_smollm2", asked.append)
    (tmp_path / "config.json").touch()
    server.prepare_local_models(["openai/x", f"ragassay/{tmp_path}"], load_settings())
    assert asked == []
    server.prepare_local_models(["ragassay/smollm2-135m"], load_settings())
    assert len(asked) == 1
