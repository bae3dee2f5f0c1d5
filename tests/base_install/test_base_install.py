"""A base install works, or says what to install before it does, pays for or writes anything.

`make base-install` runs the same on a wheel in an environment of its own.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from base_install.environment import PYTHON, make_base_environment
from base_install.files import write_inputs
from base_install.roads import HIDING, NEEDING, PLAIN, REFUSED, UNHEARD, WORKING
from base_install.session import Done, Session, command_of
from claims import verdict_reply

from ragassay.cli import app
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration

GONE = "http://127.0.0.1:9/index"
LATE = re.compile(r"ModuleNotFoundError|No module named|PackageNotFoundError|No package metadata")
"""What a report says where a library was missed too late."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, frozenset[str]]]:
    """Every command, and its options."""
    below = getattr(command, "commands", {})
    for name, one in below.items():
        yield from commands(one, (*path, name))
    if not below:
        options = (one.opts for one in command.params if one.param_type_name == "option")
        yield " ".join(path), frozenset(name for names in options for name in names)


OPTIONS = dict(commands(typer.main.get_command(app)))


def test_every_command_has_a_row():
    heard = {command_of(call, set(OPTIONS)) for call in (*REFUSED, *(r.call for r in WORKING))}
    assert heard | set(UNHEARD) == set(OPTIONS)
    assert not heard & set(UNHEARD)


def test_every_option_is_known_to_take_another_road_or_none():
    called = {word for call in REFUSED for word in shlex.split(call) if word.startswith("--")}
    called |= {w for r in WORKING for w in shlex.split(r.call) if w.startswith("--")}
    every = {name for names in OPTIONS.values() for name in names if name.startswith("--")}
    assert every - called - set(NEEDING) - set(HIDING) == set(PLAIN)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """The Python of an environment without extras, and whether it has the package."""
    if PYTHON in os.environ:
        return Path(os.environ[PYTHON]), True
    return make_base_environment(tmp_path_factory.mktemp("base") / "environment"), False


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


def session(base: tuple[Path, bool], folder: Path, hidden: tuple[str, ...] = ()) -> Session:
    python, has_package = base
    write_inputs(folder)
    return Session(python, folder, None, hidden) if has_package else Session(
        python, folder, hidden=hidden
    )


def faults_of(done: Done, folder: Path) -> Iterator[str]:
    """What a call that works must not end with."""
    if done.crash:
        yield done.crash
    texts = [done.out, done.error]
    texts += [(folder / path).read_text("utf-8", "replace") for path in done.written]
    if any(map(LATE.search, texts)):
        yield "it lacked a library, and went on"


def test_what_works_without_extras_works_to_its_end(base, judge, tmp_path):
    wrong: list[str] = []
    with ScriptedModel(verdict_reply) as learner, session(base, tmp_path) as at:
        for road in WORKING:
            call = road.call.replace("MODEL", judge.base_url).replace("LEARNER", learner.base_url)
            done = at.run(call)
            found = list(faults_of(done, tmp_path))
            if done.code not in road.codes:
                found.append(f"exit code {done.code}: {done.error[-600:]}")
            if road.writes and not (tmp_path / road.writes).is_file():
                found.append(f"{road.writes} is not written")
            print(done.seconds, road.call, done.code)
            wrong += [f"{road.call}\n{one}" for one in found]
    assert not wrong, "\n\n".join(wrong)


def refused_calls(options: dict[str, dict[str, str]]) -> dict[str, str]:
    """Each command that works with each value that needs more, and what to install."""
    found: dict[str, str] = {}
    for command, names in OPTIONS.items():
        works = [r.call for r in WORKING if command_of(r.call, set(OPTIONS)) == command]
        for option in names & options.keys() if works else ():
            if command.startswith("grades ") and option == "--model":
                continue  # there it names who graded
            for value, wanted in options[option].items():
                call = f"{works[0]} {option} {value}"
                found[call if option != "--map" else as_table(call)] = wanted
    return found


def as_table(call: str) -> str:
    words = call.split()
    place = next(n for n, word in enumerate(words) if word.endswith(".jsonl"))
    return " ".join([*words[:place], "answers.parquet", *words[place + 1 :]])


def refuse(at: Session, calls: dict[str, str], judge: ScriptedModel) -> list[str]:
    """Run calls that must be refused; returns what was wrong."""
    wrong: list[str] = []
    for call, wanted in calls.items():
        n_asked = len(judge.requests)
        done = at.run(call.replace("MODEL", judge.base_url).replace("GONE", GONE))
        lines = done.error.splitlines()
        is_one_line = len(lines) == 1 and wanted in lines[0] and not done.out
        if done.code != 2 or not is_one_line or done.crash:
            wrong.append(f"{call}\nexit code {done.code}: {done.error[-600:]}{done.crash}")
        if done.written:
            wrong.append(f"{call}\nit wrote {done.written}")
        if len(judge.requests) > n_asked:
            wrong.append(f"{call}\nit asked a model")
        print(done.seconds, call, done.code)
    return wrong


def test_what_needs_more_says_so_before_it_asks_a_model_or_writes(base, judge, tmp_path):
    with session(base, tmp_path) as at:
        wrong = refuse(at, REFUSED | refused_calls(NEEDING), judge)
    assert not wrong, "\n\n".join(wrong)


def test_an_agent_without_langchain_is_refused_before_it_searches(base, judge, tmp_path):
    with session(base, tmp_path, hidden=("langchain",)) as at:
        wrong = refuse(at, refused_calls(HIDING), judge)
    assert not wrong, "\n\n".join(wrong)
