"""The plugin for pytest: `pytest --ragassay`, the fixtures `assay` and `assert_answer`.

pytest loads this module in every test run of the environment, so it imports nothing but pytest;
what evaluates is loaded when a test asks for an answer.

    collection   tests that use a fixture are marked `ragassay`, and skipped without --ragassay
    a test       its answer is evaluated, or taken from the cache, and noted for the session
    the end      the notes of all processes (pytest-xdist's workers too) become one run folder
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragassay.pytest_plugin.answers import Answers, Assay
    from ragassay.pytest_plugin.demands import AssertAnswer

__all__ = ["questions"]

FIXTURES = {"assay", "assert_answer"}
SKIPPED = "evaluates an answer: run pytest with --ragassay"

_NOTES = pytest.StashKey[Path]()
"""The folder in which the processes of a session note what they evaluated."""
_ANSWERS: pytest.StashKey[Answers] = pytest.StashKey()
_SUMMARY_LINES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and their settings in the configuration file."""
    group = parser.getgroup("ragassay", "evaluation of RAG answers")
    group.addoption(
        "--ragassay", action="store_true", default=None, help="Run the tests that evaluate answers."
    )
    group.addoption("--ragassay-model", metavar="NAME", help="LiteLLM name of the judge.")
    group.addoption(
        "--ragassay-out", metavar="DIR", help="Folder of the report; by default runs/pytest."
    )
    parser.addini("ragassay", "Always run the tests that evaluate answers.", "bool", False)
    parser.addini("ragassay_model", "LiteLLM name of the judge.")
    parser.addini("ragassay_out", "Folder of the report, from the root directory.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; open the session's notes.

    Raises:
        pytest.UsageError: The folder of the report holds another run.
    """
    config.addinivalue_line("markers", "ragassay: evaluates an answer; set by its fixtures")
    if not _is_on(config):
        return
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[_NOTES] = Path(worker["ragassay_notes"])
        return
    if _holds_another_run(_out(config)):
        raise pytest.UsageError(f"--ragassay-out: {_out(config)} holds another run")
    config.stash[_NOTES] = Path(tempfile.mkdtemp(prefix="ragassay-pytest-"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where to note."""
    if _NOTES in node.config.stash:
        node.workerinput["ragassay_notes"] = str(node.config.stash[_NOTES])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that evaluate, and skip them unless they are wanted."""
    is_on = _is_on(config)
    for item in items:
        if not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.ragassay)
            if not is_on:
                item.add_marker(pytest.mark.skip(reason=SKIPPED))


@pytest.fixture(scope="session")
def assay_options() -> dict[str, Any]:
    """Options of `ragassay.evaluate` for all answers; override this fixture in a conftest.py."""
    return {}


@pytest.fixture
def assay(request: pytest.FixtureRequest, assay_options: dict[str, Any]) -> Assay:
    """Evaluate an answer: `assay(answer, question=..., sources=...)` returns a `Result`."""
    config = request.config
    if _NOTES not in config.stash:
        pytest.skip(SKIPPED)
    from ragassay.pytest_plugin.answers import Answers, Assay

    if _ANSWERS not in config.stash:
        config.stash[_ANSWERS] = Answers(_out(config) / "cache", config.stash[_NOTES])
    named = config.getini("ragassay_model")
    asked = config.getoption("--ragassay-model")
    options = {"model": named or None} | assay_options | ({"model": asked} if asked else {})
    return Assay(config.stash[_ANSWERS], request.node.nodeid, options)


@pytest.fixture
def assert_answer(assay: Assay) -> AssertAnswer:
    """Evaluate an answer, and fail unless it is as good as demanded: `correctness=">=3.5"`."""
    from ragassay.pytest_plugin.demands import AssertAnswer

    return AssertAnswer(assay)


def questions(path: str | Path) -> list[Any]:
    """Read questions for `pytest.mark.parametrize`, from a file in any format of answers.

    Args:
        path: The file; answers in it need not be there, and are not evaluated.

    Returns:
        A `ragassay.Record` for each, with its nuggets and reference, named by its id.

    Raises:
        InputError: A line cannot be read.
    """
    from ragassay.errors import InputError
    from ragassay.formats import read_records

    found = read_records(Path(path))
    for bad in found.rejections:
        raise InputError(f"{bad.file}:{bad.line}: {bad.problem}; expected {bad.expected}")
    return [pytest.param(record, id=record.id) for record in found.records]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report of all answers of the session."""
    config = session.config
    if hasattr(config, "workerinput") or _NOTES not in config.stash:
        return
    if any(config.stash[_NOTES].iterdir()):
        from ragassay.pytest_plugin.answers import write_report

        lines = write_report(config.stash[_NOTES], _out(config))
        page = os.path.relpath(_out(config) / "report.html", config.invocation_params.dir)
        config.stash[_SUMMARY_LINES] = [*lines, f"Report: {page}"]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what the answers came to, and where the report is."""
    for n, line in enumerate(config.stash.get(_SUMMARY_LINES, [])):
        if not n:
            terminalreporter.section("ragassay")
        terminalreporter.line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of the session's thread and notes."""
    if _ANSWERS in config.stash:
        config.stash[_ANSWERS].close()
    if _NOTES in config.stash and not hasattr(config, "workerinput"):
        shutil.rmtree(config.stash[_NOTES], ignore_errors=True)


def _is_on(config: pytest.Config) -> bool:
    return bool(config.getoption("--ragassay") or config.getini("ragassay"))


def _out(config: pytest.Config) -> Path:
    given = config.getoption("--ragassay-out")
    if given:
        return config.invocation_params.dir / given
    return config.rootpath / (config.getini("ragassay_out") or "runs/pytest")


def _holds_another_run(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return manifest.get("answers", {}).get("format") != "pytest"
