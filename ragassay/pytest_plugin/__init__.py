"""pytest plugin with the option `--ragassay` and the fixtures `assay` and `assert_answer`.

pytest loads this module in every test run, so it only imports pytest. Evaluation code is imported
when a test uses a fixture.

- Collection: tests that use a fixture get the marker `ragassay`, and only run with --ragassay.
- Tests: each answer is evaluated or read from the cache, and written to a temporary folder.
- End of session: the results of all processes, including pytest-xdist workers, are combined in one
  run folder.
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
SKIPPED = "evaluates an answer; run pytest with --ragassay"

_NOTES = pytest.StashKey[Path]()
"""Temporary folder for the evaluations by all processes of a pytest session."""
_ANSWERS: pytest.StashKey[Answers] = pytest.StashKey()
_SUMMARY_LINES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add command-line options and configuration settings."""
    group = parser.getgroup("ragassay", "evaluation of RAG answers")
    group.addoption(
        "--ragassay", action="store_true", default=None, help="Run tests that evaluate answers."
    )
    group.addoption("--ragassay-model", metavar="NAME", help="LiteLLM name of the judge.")
    group.addoption(
        "--ragassay-out", metavar="DIR", help="Run folder of the report. Default: runs/pytest."
    )
    parser.addini("ragassay", "Always run tests that evaluate answers.", "bool", False)
    parser.addini("ragassay_model", "LiteLLM name of the judge.")
    parser.addini("ragassay_out", "Run folder of the report, relative to the root directory.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and create a temporary folder for the session's evaluations.

    Raises:
        pytest.UsageError: The report folder contains another run.
    """
    marker = "ragassay: evaluates an answer; set automatically if a test uses a ragassay fixture"
    config.addinivalue_line("markers", marker)
    if not _is_on(config):
        return
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[_NOTES] = Path(worker["ragassay_notes"])
        return
    if _contains_other_run(_find_out_folder(config)):
        raise pytest.UsageError(
            f"--ragassay-out: {_find_out_folder(config)} contains another run; "
            "choose another folder"
        )
    config.stash[_NOTES] = Path(tempfile.mkdtemp(prefix="ragassay-pytest-"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the path of the temporary folder to a pytest-xdist worker."""
    if _NOTES in node.config.stash:
        node.workerinput["ragassay_notes"] = str(node.config.stash[_NOTES])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that evaluate answers, and skip them unless --ragassay is set."""
    is_on = _is_on(config)
    for item in items:
        if not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.ragassay)
            if not is_on:
                item.add_marker(pytest.mark.skip(reason=SKIPPED))


@pytest.fixture(scope="session")
def assay_options() -> dict[str, Any]:
    """Return options of `ragassay.evaluate` for all answers.

    Override this fixture in a conftest.py.
    """
    return {}


@pytest.fixture
def assay(request: pytest.FixtureRequest, assay_options: dict[str, Any]) -> Assay:
    """Evaluate an answer: `assay(answer, question=..., sources=...)` returns a `Result`."""
    config = request.config
    if _NOTES not in config.stash:
        pytest.skip(SKIPPED)
    from ragassay.pytest_plugin.answers import Answers, Assay

    if _ANSWERS not in config.stash:
        config.stash[_ANSWERS] = Answers(_find_out_folder(config) / "cache", config.stash[_NOTES])
    default = config.getini("ragassay_model")
    model = config.getoption("--ragassay-model")
    options = {"model": default or None} | assay_options | ({"model": model} if model else {})
    return Assay(config.stash[_ANSWERS], request.node.nodeid, options)


@pytest.fixture
def assert_answer(assay: Assay) -> AssertAnswer:
    """Evaluate an answer, and fail if it misses a requirement such as `correctness=">=3.5"`."""
    from ragassay.pytest_plugin.demands import AssertAnswer

    return AssertAnswer(assay)


def questions(path: str | Path) -> list[Any]:
    """Read questions from a file for `pytest.mark.parametrize`.

    Args:
        path: File in any format that `ragassay.evaluate` can read. The file need not contain
            answers, and they are not evaluated.

    Returns:
        One parameter per question: a `ragassay.Record` with its nuggets and reference. The record
            id is the test id.

    Raises:
        InputError: A line of the file cannot be read.
    """
    from ragassay.errors import InputError
    from ragassay.formats import read_records

    found = read_records(Path(path))
    for bad in found.rejections:
        raise InputError(f"{bad.file}:{bad.line}: {bad.problem}; expected {bad.expected}")
    return [pytest.param(record, id=record.id) for record in found.records]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report for all answers of the session."""
    config = session.config
    if hasattr(config, "workerinput") or _NOTES not in config.stash:
        return
    if any(config.stash[_NOTES].iterdir()):
        from ragassay.pytest_plugin.answers import write_report

        lines = write_report(config.stash[_NOTES], _find_out_folder(config))
        page = os.path.relpath(
            _find_out_folder(config) / "report.html", config.invocation_params.dir
        )
        config.stash[_SUMMARY_LINES] = [*lines, f"Report: {page}"]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print a summary of the answers and the path of the report."""
    if lines := config.stash.get(_SUMMARY_LINES, []):
        terminalreporter.section("ragassay")
    for line in lines:
        terminalreporter.line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the event loop thread, and delete the temporary folder."""
    if _ANSWERS in config.stash:
        config.stash[_ANSWERS].close()
    if _NOTES in config.stash and not hasattr(config, "workerinput"):
        shutil.rmtree(config.stash[_NOTES], ignore_errors=True)


def _is_on(config: pytest.Config) -> bool:
    return bool(config.getoption("--ragassay") or config.getini("ragassay"))


def _find_out_folder(config: pytest.Config) -> Path:
    if folder := config.getoption("--ragassay-out"):
        return config.invocation_params.dir / folder
    return config.rootpath / (config.getini("ragassay_out") or "runs/pytest")


def _contains_other_run(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return manifest.get("answers", {}).get("format") != "pytest"
