"""The pages that people read: their links, commands, options and variables exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
from case_tables import each_case
from conftest import ROOT
from handbook import PAGES, anchors, links, shell_lines

from ragassay.cli import app
from ragassay.settings import GROUP_OF

README = ROOT / "README.md"
SKIPPED = ("https://", "http://", "mailto:")


def by_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@each_case("page", PAGES, ids=by_name)
def test_links_point_to_files_and_headings(page: Path):
    missing = []
    for link in links(page):
        if link.startswith(SKIPPED):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    assert missing == []


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """Every call of `ragassay` on a page, with its arguments."""
    found = []
    for place, line in shell_lines(page):
        for part in re.split(r" && |; ", line.partition(" #")[0]):
            if called := re.match(r"(?:\S*/)?ragassay (?=[a-z-])(.*)", part.strip()):
                found.append((place, shlex.split(called[1])))
    return found


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own to make files in."""
    monkeypatch.chdir(tmp_path)


def make_files(words: list[str]) -> None:
    """Make the files and folders that a call names, so that it does not fail for want of them."""
    for word in words:
        if re.fullmatch(r"[\w-][\w./-]*", word) and not word.startswith("--"):
            path = Path(word)
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix:
                path.touch()
            else:
                path.mkdir(exist_ok=True)


REFUSED = typer.BadParameter.__mro__[2]
"""Click's `ClickException`, of whichever click typer has."""


def problem_with(words: list[str]) -> str | None:
    """What the command line says against a call."""
    make_files(words)
    command, context = typer.main.get_command(app), None
    while hasattr(command, "commands") and words:
        name, *words = words
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
        command = command.get_command(context, name)
        if command is None:
            return f"there is no command {name!r}"
    if hasattr(command, "commands"):
        return None
    try:
        command.make_context(command.name, list(words), parent=context)
    except REFUSED as error:
        return getattr(error, "message", None) or repr(error)
    return None


PAGES_WITH_COMMANDS = [page for page in PAGES if commands(page)]


@each_case("page", PAGES_WITH_COMMANDS, ids=by_name)
def test_commands_and_their_options_exist(page: Path, elsewhere: None):
    said = {f"{place}: {shlex.join(words)}": problem_with(words) for place, words in commands(page)}
    assert {call: problem for call, problem in said.items() if problem} == {}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("evaluate a.jsonl --not-an-option", "--not-an-option"),
        ("evaluate a.jsonl --labels many", "integer"),
        ("models bake", "bake"),
        ("convert a.jsonl", "Missing|required"),
    ],
)
def test_a_wrong_call_is_noticed(call: str, problem: str, elsewhere: None):
    assert re.search(problem, str(problem_with(call.split())))


@each_case("page", PAGES, ids=by_name)
def test_benchmarks_and_modules_that_are_named_exist(page: Path):
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for script, arguments in re.findall(r"python ((?:benchmarks|training)/\S+\.py)([^`\n]*)", text):
        assert (ROOT / script).exists(), script
        source = (ROOT / script).read_text(encoding="utf-8")
        for option in re.findall(r"--[a-z][a-z-]*", arguments):
            assert f'"{option}"' in source, f"{script} {option}"
    for module in re.findall(r"python -m ((?:ragassay|training)[\w.]*)", text):
        path = ROOT.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_variables_that_are_named_are_read():
    fields = {f"RAGASSAY_{group}__{name}".upper() for name, group in GROUP_OF.items()}
    sources = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("ragassay", "tests", ".ci", "docker")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in ("", ".py", ".yaml") and path.is_file() and path != Path(__file__)
    )
    for page in PAGES:
        for name in re.findall(r"\bRAGASSAY_[A-Z_]*[A-Z]\b", page.read_text(encoding="utf-8")):
            assert name in fields or name in sources, f"{by_name(page)}: {name}"


def test_the_readme_is_short_and_names_its_two_commands():
    text = README.read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if not line.startswith("|")]) <= 60
    for mark in ("sample", "tests"):
        (command,) = re.findall(rf"<!-- {mark} -->\n```sh\n(.+)\n```", text)
        assert command.startswith("python3.11 -m venv")
    sample = next(
        words for _, words in commands(README) if "examples/sample/answers.jsonl" in words
    )
    for path in (word for word in sample if word.startswith("examples/")):
        assert (ROOT / path).exists()


def linked_pages(page: Path) -> set[Path]:
    """The pages of this repository that a page links to."""
    targets = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
    return {target for target in targets if target.suffix == ".md" and target.exists()}


def test_the_readme_links_to_six_pages_at_most():
    assert 0 < len(linked_pages(README)) <= 6


def test_every_page_of_the_docs_is_two_links_from_the_readme_at_most():
    near = linked_pages(README)
    pages = set((ROOT / "docs").rglob("*.md"))
    assert pages <= near.union(*map(linked_pages, near))


def test_paths_that_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {one.rstrip("/") for one in re.findall(r"`([\w.]+(?:/[\w.-]+)*/?)`", text)}
    bases = (ROOT, ROOT / "ragassay")  # A sample run leaves a folder `runs` beside the package.
    folders = {path.name for base in bases for path in base.iterdir() if path.is_dir()}
    paths = {one for one in named if "/" in one and one.split("/")[0] in folders}
    assert len(paths) > 20
    assert {path for path in paths if not any((base / path).exists() for base in bases)} == set()


def test_markers_are_used():
    with (ROOT / "pyproject.toml").open("rb") as file:
        options = tomllib.load(file)["tool"]["pytest"]["ini_options"]
    names = [marker.partition(":")[0] for marker in options["markers"]]
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert [name for name in names if f"pytest.mark.{name}" not in sources] == []
