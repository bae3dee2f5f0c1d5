"""The image and the compose file: their manners, and every command run as a plain process."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from image_steps import read_steps
from served import KEY
from typer.main import get_command
from waiting import wait_until

from ragassay.cli import app
from ragassay.model_names import VLLM, is_ragassay_model
from ragassay.records import Evaluation

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if service["image"].startswith("ragassay"))
WAIT_S = 300

VLLM_FLAGS = {
    "--served-model-name",
    "--host",
    "--port",
    "--max-model-len",
    "--structured-outputs-config",
}
"""Of `vllm serve`, as its documentation has them (docs.vllm.ai, CLI reference, serve)."""


STEPS = read_steps(DOCKERFILE)
PUBMED_CACHE = "/var/cache/ragassay/pubmed"


def test_images_are_pinned_by_version() -> None:
    names = [rest.split()[-1] for word, rest in STEPS if word == "FROM"]
    bases = {rest.split()[0] for word, rest in STEPS if word == "FROM"} - set(names)
    images = [service["image"] for service in SERVICES.values()]
    assert len(bases) == 1 and names[-1] == "ragassay"
    for image in (*bases, *images):
        assert re.search(r":v?\d+\.\d+\.\d+", image), image
        assert "latest" not in image


def test_the_image_runs_as_nobody_special_and_says_how_it_is() -> None:
    words = [word for word, _ in STEPS]
    users = [rest for word, rest in STEPS if word == "USER"]
    assert users and not {"root", "0"} & set(users)
    assert words.index("USER") < words.index("ENTRYPOINT")
    (health,) = [rest for word, rest in STEPS if word == "HEALTHCHECK"]
    assert "/health/liveliness" in health
    (entry,) = [rest for word, rest in STEPS if word == "ENTRYPOINT"]
    assert json.loads(entry) == ["ragassay"]
    # A command that is no JSON list runs under a shell, which swallows SIGTERM.
    assert all(rest.startswith("[") for word, rest in STEPS if word == "CMD")


def test_the_image_is_built_from_what_it_needs() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    wanted = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source
        for word, rest in STEPS
        if word == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert copied == wanted
    assert all((ROOT / name).exists() for name in wanted)


def test_services_open_no_port_to_other_machines_and_need_a_key() -> None:
    for name, service in SERVICES.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        if "proxy" in name:
            assert ":?" in service["environment"]["RAGASSAY_OUTPUT__SERVER_KEY"]
        if name in OURS:
            assert service["read_only"] and service["cap_drop"] == ["ALL"]
    volumes = {v.split(":")[0] for s in SERVICES.values() for v in s.get("volumes", ())}
    assert {v for v in volumes if "/" not in v} == set(COMPOSE["volumes"])


def test_what_searches_pubmed_keeps_its_replies_on_a_volume() -> None:
    for name in ("ragassay", "train"):
        volumes = dict(v.rsplit(":", 1) for v in SERVICES[name]["volumes"] if "/" not in v[:2])
        assert PUBMED_CACHE in volumes.values(), name


def test_who_waits_for_a_service_waits_until_it_is_healthy() -> None:
    images_own = {name for name in OURS if "healthcheck" not in SERVICES[name]}
    checked = {name for name in SERVICES if "test" in SERVICES[name].get("healthcheck", {})}
    waits = [
        (name, other, how["condition"])
        for name, service in SERVICES.items()
        for other, how in service.get("depends_on", {}).items()
    ]
    assert ("embed", "chroma", "service_healthy") in waits
    for name, other, condition in waits:
        assert condition != "service_started", f"{name} does not wait for {other}"
        if condition == "service_healthy":
            assert other in checked | images_own, f"{other} never says that it is healthy"


@pytest.mark.parametrize("name", OURS)
def test_every_option_of_a_ragassay_command_exists(name: str) -> None:
    command: Any = get_command(app)
    words = list(SERVICES[name]["command"])
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    flags = [word for word in words if word.startswith("--")]
    assert flags and set(flags) <= known


def test_vllm_is_called_with_flags_that_it_documents() -> None:
    service = SERVICES["vllm"]
    assert service["entrypoint"] == ["vllm", "serve"] and service["profiles"] == ["gpu"]
    model, *words = service["command"]
    assert {word for word in words if word.startswith("--")} <= VLLM_FLAGS
    merged = SERVICES["merge"]["command"]
    assert merged[merged.index("--hf") + 1] == model
    served = words[words.index("--served-model-name") + 1]
    assert is_ragassay_model(f"{VLLM}/{served}"), (
        "under another name it is asked in the wrong prompt"
    )
    port = words[words.index("--port") + 1]
    behind = SERVICES["proxy-gpu"]["command"]
    assert f"{VLLM}/{served}@http://vllm:{port}/v1" in behind


class Plain:
    """The compose file's commands on this machine: loopback for hosts, a folder for volumes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = {name: _free_port() for name in ("proxy", "chroma")}

    def words(self, name: str) -> list[str]:
        service = SERVICES[name]
        program = "chroma" if name == "chroma" else "ragassay"
        found = [str(Path(sys.executable).parent / program)]
        return found + [self.here(name, word) for word in service["command"]]

    def here(self, name: str, word: str) -> str:
        """A word of a service's command or environment, as it must be on this machine."""
        for host, port in self.ports.items():
            word = re.sub(rf"^http://{host}:\d+", f"http://127.0.0.1:{port}", word)
        if name in self.ports and word in ("4000", "8000"):
            return str(self.ports[name])
        word = re.sub(r"^\$\{RAGASSAY_OUTPUT__SERVER_KEY:.*\}$", KEY, word)
        word = re.sub(r"^\$\{\w+:-\}$", "", word)
        places = {"sample": ROOT / "examples" / "sample"}
        places |= {name: self.folder / name for name in ("runs", "data")}
        word = re.sub(r"^/(sample|runs|data)\b", lambda found: str(places[found[1]]), word)
        return "127.0.0.1" if word == "0.0.0.0" else word

    def environment(self, name: str) -> dict[str, str]:
        own = SERVICES[name].get("environment", {})
        mine = {key: self.here(name, value) for key, value in own.items()}
        return {**os.environ, "OMP_NUM_THREADS": "1", **{k: v for k, v in mine.items() if v}}

    def run(self, name: str, *further: str) -> str:
        """Run a command to its end; what it printed."""
        done = subprocess.run(
            [*self.words(name), *further],
            env=self.environment(name),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{shlex.join(done.args)}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def is_healthy(self, name: str) -> bool:
        """Run a service's own check of its health."""
        program, *words = SERVICES[name]["healthcheck"]["test"][1:]
        port = {"chroma": "8000"}[name]
        words = [word.replace("$$", "$").replace(port, str(self.ports[name])) for word in words]
        return subprocess.run([program, *words], capture_output=True, check=False).returncode == 0

    @contextmanager
    def running(self, name: str, health: str) -> Iterator[None]:
        """Keep a service running, from when it answers."""
        with (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                self.words(name), env=self.environment(name), stdout=log, stderr=log
            )
            try:
                _await_answer(f"http://127.0.0.1:{self.ports[name]}{health}", process)
                yield
            finally:
                process.terminate()
                process.wait(WAIT_S)


@contextmanager
def _answering(port: int, status: int) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield
        server.shutdown()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


def _await_answer(url: str, process: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        try:
            return httpx.get(url, timeout=WAIT_S).status_code == 200
        except httpx.TransportError:
            return False

    wait_until(answers, process)


@pytest.mark.integration
def test_chroma_is_healthy_once_it_answers_and_not_before(tmp_path: Path) -> None:
    plain = Plain(tmp_path)
    assert not plain.is_healthy("chroma"), "nothing listens"
    with _answering(plain.ports["chroma"], 500):
        assert not plain.is_healthy("chroma"), "it answers that it is not ready"
    with plain.running("chroma", "/api/v2/heartbeat"):
        assert plain.is_healthy("chroma")


@pytest.mark.integration
@pytest.mark.long
def test_the_commands_of_the_compose_file_work_together(
    tmp_path: Path, weights_cache: Path
) -> None:
    plain = Plain(tmp_path)
    with plain.running("chroma", "/api/v2/heartbeat"):
        plain.run("corpus")
        assert "up to date" in plain.run("embed")
        with plain.running("proxy", "/health/liveliness"):
            plain.run("ragassay", "--limit", "2", "--only", "rubrics", "--quiet")
    lines = (tmp_path / "runs" / "sample" / "evaluations.jsonl").read_text().splitlines()
    judgments = [j for line in lines for j in Evaluation.model_validate_json(line).judgments]
    assert len(lines) == 2 and judgments
    assert any(judgment.distribution for judgment in judgments)
