"""Shared fixtures and hooks."""

from __future__ import annotations

import functools
import gc
import logging
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import hypothesis
import pytest
import typer.main

from ragassay.process import THRESHOLDS

if TYPE_CHECKING:
    from ragassay.settings import Settings

# Set these before importing the libraries that read them.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OPENAI_API_KEY", "sk-test")
# Signals need real models, so only their own tests enable them.
os.environ["RAGASSAY_EVALUATION__SIGNALS"] = "false"
# Do not share cached results between tests.
os.environ["RAGASSAY_LITERATURE__COMPUTED_MB"] = "0"
# Tests run in parallel, so use one thread per process.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Cache compiled modules for later runs and for processes started by tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No deadlines, because busy machines are slow. Cases are the same in each run, so that failures
# come from code changes. `--hypothesis-profile searching` looks for new cases.
hypothesis.settings.register_profile("searching", deadline=None)
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")

# Building all commands takes a second per call and keeps no state, so cache it.
typer.main.get_command = functools.cache(typer.main.get_command)

# Each HTTP client reads 150 certificates, which takes longer than a call, so cache them.
ssl.create_default_context = functools.cache(ssl.create_default_context)

# Each collection would scan the objects of libraries and pytest.
gc.set_threshold(*THRESHOLDS)

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ragassay"


LONGEST = {
    f"tests/{name}.py"
    for name in (
        "base_install/test_base_install",
        "cli/test_batches",
        "docker/test_image_build",
        "hostile/test_server",
        "models/test_batches",
        "optimizers/compiling/test_strategies",
        "optimizers/finetuning/test_adapting",
        "pytest_plugin/test_plugin",
        "reports/test_report_browser",
        "review/test_browser",
        "runs/distributed/test_cluster",
        "runs/test_runs",
        "test_wheel",
    )
}
"""Files that take at least a quarter of a minute. They run first, so that a short file finishes
last."""


def pytest_configure(config: pytest.Config) -> None:
    """Make xdist distribute files in the order below instead of by number of tests."""
    config.option.loadscopereorder = False


def pytest_unconfigure() -> None:
    """Let LiteLLM's open clients print nothing, and pytest's last collections scan nothing."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Exclude long tests unless `-m` selects them, and run long files first."""
    if "long" not in config.getoption("markexpr"):
        long = {item for item in items if item.get_closest_marker("long")}
        if long:
            config.hook.pytest_deselected(items=long)
            items[:] = [item for item in items if item not in long]
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    items[:] = [
        item
        for path in sorted(files, key=lambda one: choose_queue(one, files[one]))
        for item in files[path]
    ]


def pytest_collection_finish() -> None:
    """Freeze imported objects, so that garbage collections do not scan them."""
    gc.collect()
    gc.freeze()


def choose_queue(path: str, items: list[pytest.Item]) -> int:
    """Return the queue of a file: 0 for the longest, 1 with servers or models, 2 for others."""
    if path in LONGEST:
        return 0
    marks = ("integration", "browser")
    return 1 if any(item.get_closest_marker(mark) for item in items for mark in marks) else 2


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail tests that connect to another machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def only_endpoints_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow preflight checks only for endpoints that the test sets."""
    from ragassay.models.probe import check_judges

    monkeypatch.setattr(
        "ragassay.runs.preflight.check_judges",
        lambda judges: check_judges([one for one in judges if one.judge.api_base]),
    )


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat failed calls without the pauses that spare a real server."""
    monkeypatch.setattr("ragassay.graphs.base.FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr("ragassay.graphs.base.random", SimpleNamespace(random=lambda: 0.0))


@pytest.fixture
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare texts by their words, without a model."""
    from fakes import WordEmbedder

    monkeypatch.setattr("ragassay.evaluators.models.Embedder", WordEmbedder)


@pytest.fixture
def settings() -> Iterator[Settings]:
    """Return settings with a scripted model as the judge."""
    from ragassay.settings import load_settings
    from ragassay.testing import ScriptedModel

    with ScriptedModel() as model:
        yield load_settings(model=model.model_name, api_base=model.base_url, reranker="none")


@pytest.fixture(scope="session")
def sample() -> Path:
    return ROOT / "examples" / "sample"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the real data, or skip the test if it is missing."""
    folder = Path(os.environ.get("RAGASSAY_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("real data is not at hand: set RAGASSAY_SHARED")
    return folder


@pytest.fixture(scope="session")
def weights_cache() -> Iterator[Path]:
    """Return the cache of converted weights, shared by tests and later runs."""
    from ragassay.settings import Settings

    yield Settings().literature.cache_dir
