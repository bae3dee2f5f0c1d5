"""Garbage collection during a run."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.process import THRESHOLDS, delay_collection, run_sync, speed_up_import

HOSTS = (701, 11, 12)


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    """Freeze the objects of other tests, because each full collection would scan them."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*HOSTS)
    yield
    gc.set_threshold(*before)


def test_the_collector_is_as_before_afterwards_also_when_a_run_fails():
    with pytest.raises(KeyError), delay_collection():
        assert gc.get_threshold() == THRESHOLDS
        raise KeyError
    assert gc.get_threshold() == HOSTS


async def test_of_runs_that_overlap_the_last_one_restores_the_collector():
    first_ends, second_ends = asyncio.Event(), asyncio.Event()

    async def run(end: asyncio.Event) -> None:
        with delay_collection():
            await end.wait()

    first = asyncio.create_task(run(first_ends))
    await asyncio.sleep(0)
    second = asyncio.create_task(run(second_ends))
    await asyncio.sleep(0)
    first_ends.set()
    await first
    assert gc.get_threshold() == THRESHOLDS
    second_ends.set()
    await second
    assert gc.get_threshold() == HOSTS


def test_what_the_host_sets_during_a_run_stays():
    with delay_collection(), delay_collection():
        gc.set_threshold(5000, 5, 5)
    assert gc.get_threshold() == (5000, 5, 5)


def test_a_collector_that_the_host_has_turned_off_stays_off():
    gc.disable()
    try:
        with delay_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_is_collected_during_an_import_and_its_objects_are_old_afterwards():
    gc.unfreeze()
    gc.set_threshold(0)  # So that what the test creates stays young.
    try:
        with speed_up_import("no_module"):
            assert not gc.isenabled()
            made = [object() for _ in range(3)]
            kept = [made]
        assert gc.isenabled()
        assert gc.get_freeze_count() == 0
        assert not any(one is kept for one in gc.get_objects(generation=0))
        assert any(one is kept for one in gc.get_objects(generation=2))
    finally:
        gc.freeze()


def test_an_import_leaves_alone_what_its_host_has_turned_off_or_frozen():
    gc.disable()
    with speed_up_import("no_module"):
        pass
    assert not gc.isenabled()
    gc.enable()
    n_frozen = gc.get_freeze_count()
    with speed_up_import("no_module"):
        pass
    # A thread may free a few frozen objects meanwhile; unfreezing would leave none.
    assert gc.get_freeze_count() > n_frozen // 2 > 0


def test_what_is_imported_already_leaves_the_young_objects_young():
    made = [object()]
    with speed_up_import("sys"):
        assert gc.isenabled()
    assert any(one is made for one in gc.get_objects(generation=0))


def test_an_import_that_fails_turns_the_collector_on_again():
    with pytest.raises(ImportError), speed_up_import("no_module"):
        raise ImportError
    assert gc.isenabled()


def test_the_end_of_a_run_does_not_write_out_what_it_returns():
    written = []

    class Long:
        def __repr__(self) -> str:
            written.append(1)
            return "long"

    async def run() -> Long:
        return Long()

    assert isinstance(run_sync(run()), Long)
    assert not written


def test_a_command_leaves_the_collector_as_it_was():
    assert CliRunner().invoke(app, ["models", "--help"]).exit_code == 0
    assert gc.get_threshold() == HOSTS


def test_what_a_run_drops_in_circles_is_still_collected():
    class Node:
        pass

    with delay_collection():
        node = Node()
        node.itself = node
        seen = weakref.ref(node)
        del node
        gc.collect()
        assert seen() is None


@pytest.mark.parametrize(("begins", "says"), [("app(['--version'])", ""), ("", "collected\n")])
def test_only_a_command_ends_without_looking_for_garbage(begins, says):
    script = f"""
from ragassay.cli import app
class Node:
    def __del__(self, say=print): say("collected")
try:
    {begins or "pass"}
finally:
    node = Node()
    node.itself = node
    del node
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith(says)
    assert ("collected" in done.stdout) == bool(says)
