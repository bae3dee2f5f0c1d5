"""Finished work is stored once and reused by later runs, and concurrent calls are joined."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from ragassay.errors import RunMismatchError, StorageError
from ragassay.graphs.case import VERDICTS
from ragassay.records import EvidenceVerdict, Failure, OwnVerdict, SentenceLabel
from ragassay.store import Store, open_store, set_damaged_aside

LABELS = [SentenceLabel(sentence=1, label="required")]
TEXT = TypeAdapter(str)


async def once(store: Store, key: str, ask: Any, kind: TypeAdapter[str]) -> tuple[str, bool]:
    """Run a task unless it is finished or in progress, and return whether it ran here."""
    async with store.compute_once(key, kind) as work:
        if work.is_new:
            work.result = await ask()
    return work.result, work.is_new


async def refuse() -> str:
    raise AssertionError("it is known")


async def answer() -> str:
    return "a verdict"


async def test_finished_work_is_there_after_a_restart(tmp_path):
    with open_store(tmp_path / "v.sqlite") as store:
        assert store.is_empty
        assert await store.get("1", VERDICTS) is None
        assert await once(store, "2", answer, TEXT) == ("a verdict", True)
        store.keep("1", LABELS, VERDICTS)
    with open_store(tmp_path / "v.sqlite") as store:
        assert await store.get("1", VERDICTS) == LABELS
        assert await once(store, "2", refuse, TEXT) == ("a verdict", False)
        assert dict(store.read_all_rows()).keys() == {"1", "2"}
        assert store.read_rows(["2", "3"]) == [("2", b'"a verdict"')]


async def test_without_a_file_nothing_is_kept():
    with open_store(None) as store:
        assert await once(store, "key", answer, TEXT) == ("a verdict", True)
        assert await once(store, "key", answer, TEXT) == ("a verdict", True)
        assert store.is_empty


async def test_a_call_that_fails_is_not_kept(tmp_path):
    async def fail() -> str:
        raise TimeoutError

    with open_store(tmp_path / "v.sqlite") as store:
        with pytest.raises(TimeoutError):
            await once(store, "key", fail, TEXT)
        assert store.is_empty
        assert await once(store, "key", answer, TEXT) == ("a verdict", True)


async def test_verdicts_of_all_kinds_are_read_as_what_they_were(tmp_path):
    doubt = Failure(reason="undecided", detail="leans to supports at 0.51")
    given = {"sentence": 1, "confidence": 0.51, "failure": doubt}
    first = EvidenceVerdict(**given, tentative_label="supports")
    verdicts = [
        first,
        first.model_copy(update={"escalated_from": first}),
        OwnVerdict(evaluator="tone", score=0.1 + 0.2),
    ]
    with open_store(tmp_path / "v.sqlite") as store:
        store.keep("1", verdicts, VERDICTS)
        assert await store.get("1", VERDICTS) == verdicts
        store.keep("2", LABELS, VERDICTS)
        ((_, row),) = store.read_rows(["2"])
        assert b',"tentative_label":null' in row
        store.add_rows([("2", row.replace(b',"tentative_label":null', b""))])
        assert await store.get("2", VERDICTS) == LABELS, "of before there were leanings"


@pytest.mark.parametrize("table", ["cache", "checkpoints"])
def test_a_file_of_an_earlier_version_is_refused_by_name(tmp_path, table):
    with closing(sqlite3.connect(tmp_path / "v.sqlite")) as file:
        file.execute(f"CREATE TABLE {table} (ns TEXT, key TEXT)")
    with pytest.raises(RunMismatchError, match=r"v\.sqlite belongs to a run of another"):
        Store(tmp_path / "v.sqlite")


async def test_a_changed_row_stops_the_run_and_is_named(tmp_path):
    with open_store(tmp_path / "v.sqlite") as store:
        store.add_rows([("key", b'{"labels": 1}')])
        with pytest.raises(StorageError, match=r"v\.sqlite .*delete"):
            await once(store, "key", answer, TEXT)


@pytest.mark.parametrize(
    ("error", "is_damage"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (PermissionError(errno.EACCES, "Permission denied"), False),
        (sqlite3.OperationalError("database or disk is full"), False),
        (sqlite3.DatabaseError("file is not a database"), True),
    ],
)
def test_only_a_damaged_file_is_set_aside(tmp_path: Path, error: Exception, is_damage: bool):
    path = tmp_path / "verdicts.sqlite"
    path.write_bytes(b"paid for")
    said = "set aside" if is_damage else "continues from there"
    with pytest.raises(StorageError, match=said), set_damaged_aside(path):
        raise error
    assert path.exists() != is_damage
    assert path.with_name("verdicts.sqlite.damaged").exists() == is_damage


@pytest.fixture(params=["kept", "not kept"])
def store(request, tmp_path):
    with open_store(tmp_path / "v.sqlite" if request.param == "kept" else None) as store:
        yield store


async def test_a_call_under_way_is_waited_for(store):
    answered, n_asked = asyncio.Event(), 0

    async def ask() -> str:
        nonlocal n_asked
        n_asked += 1
        await answered.wait()
        return "a verdict"

    both = [asyncio.create_task(once(store, "key", ask, TEXT)) for _ in range(2)]
    await asyncio.sleep(0)
    answered.set()
    assert await asyncio.gather(*both) == [("a verdict", True), ("a verdict", False)]
    assert n_asked == 1


async def test_other_calls_do_not_wait(store):
    async def ask() -> str:
        return (await once(store, "another", answer, TEXT))[0]

    assert await once(store, "key", ask, TEXT) == ("a verdict", True)


@pytest.mark.parametrize("end", ["fails", "is cancelled"])
async def test_who_waits_for_a_call_without_a_result_makes_one_again(store, end):
    failed = asyncio.Event()

    async def fail() -> str:
        await failed.wait()
        raise TimeoutError

    first = asyncio.create_task(once(store, "key", fail, TEXT))
    await asyncio.sleep(0)
    second = asyncio.create_task(once(store, "key", answer, TEXT))
    await asyncio.sleep(0)
    if end == "fails":
        failed.set()
        with pytest.raises(TimeoutError):
            await first
    else:
        first.cancel()
    assert await second == ("a verdict", True)


def test_a_new_event_loop_does_not_wait_for_an_old_one():
    store, old = Store(), asyncio.new_event_loop()

    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    task = old.create_task(once(store, "key", wait, TEXT))
    old.run_until_complete(asyncio.sleep(0))
    assert asyncio.run(once(store, "key", answer, TEXT)) == ("a verdict", True)
    task.cancel()
    old.run_until_complete(asyncio.gather(task, return_exceptions=True))
    old.close()
