"""A base install works, or says what to install before it does, pays for or writes anything.

`make base-install` runs the same on a wheel in an environment of its own.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from base_install.environment import PYTHON, make_base_environment
from base_install.files import write_inputs
from base_install.roads import (
    ELSEWHERE,
    HIDING,
    NEEDING,
    PLAIN,
    REFUSED,
    UNHEARD,
    WORKING,
    Road,
)
from base_install.session import Done, Session, command_of
from claims import verdict_reply
from conftest import ROOT

from ragassay.cli import app
from ragassay.testing import BatchPlan, ScriptedModel

pytestmark = pytest.mark.integration

LATE = re.compile(r"ModuleNotFoundError|No module named|PackageNotFoundError|No package metadata")
"""What a report says where a library was missed too late."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, frozenset[str]]]:
    """Every command, and its options."""
    below = getattr(command, "commands", {})
    for name, one in below.items():
        yield from commands(one, (*path, name))
    if not below:
        options = (one.opts[0] for one in command.params if one.param_type_name == "option")
        yield " ".join(path), frozenset(options)


OPTIONS = dict(commands(typer.main.get_command(app)))


def test_every_command_has_a_row():
    heard = {command_of(call, set(OPTIONS)) for call in (*REFUSED, *(r.call for r in WORKING))}
    assert heard | set(UNHEARD) == set(OPTIONS)
    assert not heard & set(UNHEARD)


def test_every_option_is_called_with_what_needs_more_or_known_to_need_nothing():
    lines = (*REFUSED, *(road.call for road in WORKING))
    called = {word for line in lines for word in line.split() if word.startswith("--")}
    every = frozenset().union(*OPTIONS.values())
    assert every - called - NEEDING.keys() - HIDING.keys() == PLAIN


Opener = Callable[..., Session]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Start a process in an environment without extras."""
    home = tmp_path_factory.mktemp("base")
    if PYTHON in os.environ:  # it has the package
        return functools.partial(Session, Path(os.environ[PYTHON]), home, None)
    return functools.partial(Session, make_base_environment(home / "environment"), home, ROOT)


@pytest.fixture(scope="module")
def process(opened: Opener) -> Iterator[Session]:
    """One process for all that lacks nothing but extras: its imports take most of the time."""
    with opened() as started:
        yield started


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    write_inputs(tmp_path)
    return tmp_path


def faults_of(road: Road, done: Done, folder: Path) -> Iterator[str]:
    """What a call that works must not end with."""
    if done.crash or done.code not in road.codes:
        yield f"exit code {done.code}: {done.error}{done.crash}"
    if road.writes and not (folder / road.writes).is_file():
        yield f"{road.writes} is not written"
    texts = [done.out, done.error]
    texts += [(folder / path).read_text("utf-8", "replace") for path in done.written]
    if any(map(LATE.search, texts)):
        yield "it lacked a library, and went on"


def test_what_works_without_extras_works_to_its_end(process, judge, inputs):
    wrong: list[str] = []
    with ScriptedModel(verdict_reply) as learner, ScriptedModel(batches=BatchPlan()) as batches:
        models = {"MODEL": judge, "LEARNER": learner, "BATCHES": batches}
        for road in WORKING:
            words = (models[w].base_url if w in models else w for w in road.call.split(" "))
            done = process.run(inputs, " ".join(words))
            wrong += [f"{road.call}\n{fault}" for fault in faults_of(road, done, inputs)]
    assert not wrong, "\n\n".join(wrong)


def refused_calls(options: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Each command that works, with each value that needs more; and what it is to say."""
    found: dict[str, str] = {}
    for command, names in OPTIONS.items():
        works = [road.call for road in WORKING if command_of(road.call, set(OPTIONS)) == command]
        elsewhere = ELSEWHERE.get(command.split()[0], {}).keys()
        for option in sorted(names & options.keys() - elsewhere) if works else ():
            for value, wanted in options[option].items():
                call = f"{works[0]} {option} {value}"
                found[of_table(call) if option == "--map" else call] = wanted
    return found


def of_table(call: str) -> str:
    """The call with a Parquet file in place of the file that it reads first."""
    return re.sub(r"\S+\.jsonl?\b", "answers.parquet", call, count=1)


def test_what_needs_more_says_so_before_it_asks_a_model_or_writes(process, judge, inputs):
    wrong = list(not_refused(process, REFUSED | refused_calls(NEEDING), judge, inputs))
    assert not wrong, "\n\n".join(wrong)


def test_an_agent_without_langchain_is_refused_before_it_searches(opened, judge, inputs):
    with opened(("langchain",)) as process:
        wrong = list(not_refused(process, refused_calls(HIDING), judge, inputs))
    assert not wrong, "\n\n".join(wrong)


def not_refused(
    process: Session, calls: Mapping[str, str], judge: ScriptedModel, folder: Path
) -> Iterator[str]:
    """Run calls that must be refused; yield what was wrong."""
    for call, wanted in calls.items():
        n_asked = len(judge.requests)
        done = process.run(folder, call.replace("MODEL", judge.base_url))
        is_one_line = done.error.count("\n") == 1 and wanted in done.error and not done.out
        if done.code != 2 or done.crash or not is_one_line:
            yield f"{call}\nexit code {done.code}: {done.error}{done.crash}"
        if done.written:
            yield f"{call}\nit wrote {done.written}"
        if len(judge.requests) > n_asked:
            yield f"{call}\nit asked a model"


def test_a_review_page_is_served(process, inputs):
    """`review` runs until it is stopped: in a process of its own."""
    words = ["-m", "ragassay", "review", "bank.jsonl", "--who", "ann", "--no-open"]
    with process.start(inputs, *words) as review:
        address = review.readline().strip()
        assert httpx.get(address, follow_redirects=True).status_code == 200
