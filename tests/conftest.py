"""What all tests share."""

from __future__ import annotations

import functools
import gc
import logging
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import typer.main

from ragassay.process import THRESHOLDS

if TYPE_CHECKING:
    from ragassay.settings import Settings

# Set before anything imports the libraries that read them.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OPENAI_API_KEY", "sk-test")
# Measuring an answer takes real models: tests that are about it ask for it.
os.environ["RAGASSAY_EVALUATION__SIGNALS"] = "false"
# A test computes what it needs: none reads what another one left behind.
os.environ["RAGASSAY_LITERATURE__COMPUTED_MB"] = "0"
# Tests run beside each other: threads of one would wait for those of the other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Compiled modules are kept, for the next run and for each process that a test starts.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A busy machine is no failure: tests hold no timings. Cases are the same in each run, so that a
# change fails for its own faults; `--hypothesis-profile searching` looks for new ones.
hypothesis.settings.register_profile("searching", deadline=None)
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")

# A call of a command builds all commands, a second's work, and nothing of it stays with them.
typer.main.get_command = functools.cache(typer.main.get_command)

# What libraries and pytest keep would be looked through again and again.
gc.set_threshold(*THRESHOLDS)

ROOT = Path(__file__).parent.parent


LONGEST = {
    f"tests/{name}.py"
    for name in (
        "docs/test_examples",
        "docs/test_notebook",
        "docs/test_site",
        "hostile/test_regexes",
        "hostile/test_run_folder",
        "pytest_plugin/test_plugin",
        "runs/distributed/test_cluster",
        "runs/test_runs",
        "test_wheel",
    )
}
"""Files that take a worker half a minute and more: the last file to run should be a short one."""


def pytest_configure(config: pytest.Config) -> None:
    """Have xdist hand out files in the order below, and not by their number of tests."""
    config.option.loadscopereorder = False


def pytest_unconfigure() -> None:
    """What LiteLLM leaves open is collected at exit: it would speak after the closing line."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes minutes unless `-m` names it, and put long files first."""
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
        for path in sorted(files, key=lambda one: n_queue(one, files[one]))
        for item in files[path]
    ]


def pytest_collection_finish() -> None:
    """Leave what all tests import to itself: each full collection would look through it."""
    gc.collect()
    gc.freeze()


def n_queue(path: str, items: list[pytest.Item]) -> int:
    """Return which files a file runs among: the longest, those with servers or models, others."""
    if path in LONGEST:
        return 0
    marks = ("integration", "browser")
    return 1 if any(item.get_closest_marker(mark) for item in items for mark in marks) else 2


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anything but this machine fails the test."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def only_endpoints_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a run, a test asks a model whose endpoint it names, and no provider's own."""
    from ragassay.models.probe import check_judges

    monkeypatch.setattr(
        "ragassay.runs.preflight.check_judges",
        lambda judges: check_judges([one for one in judges if one.judge.api_base]),
    )


@pytest.fixture
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare texts by their words, without a model."""
    from fakes import WordEmbedder

    monkeypatch.setattr("ragassay.evaluators.models.Embedder", WordEmbedder)


@pytest.fixture
def settings() -> Iterator[Settings]:
    """Settings whose judge is a scripted model."""
    from ragassay.settings import load_settings
    from ragassay.testing import ScriptedModel

    with ScriptedModel() as model:
        yield load_settings(model=model.model_name, api_base=model.base_url)


@pytest.fixture(scope="session")
def sample() -> Path:
    """The sample data that the repository ships."""
    return ROOT / "examples" / "sample"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data, where it is at hand."""
    folder = Path(os.environ.get("RAGASSAY_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("real data is not at hand: set RAGASSAY_SHARED")
    return folder


@pytest.fixture(scope="session")
def weights_cache() -> Iterator[Path]:
    """Where converted weights live; shared by the tests, and by later runs."""
    from ragassay.settings import Settings

    yield Settings().literature.cache_dir
