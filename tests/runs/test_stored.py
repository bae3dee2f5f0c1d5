"""A run whose folder is at an address of storage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import ragassay
from ragassay.errors import ExtraError, InputError
from ragassay.runs.stored import Stored, is_address, stored
from ragassay.testing import ScriptedModel


@pytest.fixture
def address(tmp_path) -> str:
    return f"file://{tmp_path / 'storage' / 'run'}"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("RAGASSAY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_path_is_no_address():
    assert is_address("s3://bucket/run") and is_address("memory://run")
    assert not any(map(is_address, ("runs/a", "/runs/a", "C:\\runs", Path("s3:/bucket"), None)))


def test_a_path_stays_as_it_is(tmp_path):
    options = {"out": str(tmp_path / "run")}
    with stored(options):
        assert options == {"out": str(tmp_path / "run")}


def test_what_was_written_is_at_the_address_and_comes_back_on_another_machine(
    address, tmp_path, monkeypatch
):
    options = {"out": address}
    with stored(options):
        (options["out"] / "audit").mkdir()
        (options["out"] / "audit" / "figures.csv").write_text("a,b\n")
        (options["out"] / ".lock").touch()
    there = tmp_path / "storage" / "run"
    found = {p.name for p in there.rglob("*") if p.is_file()}
    assert found == {"figures.csv", "writer.txt"}
    monkeypatch.setenv("RAGASSAY_CACHE_DIR", str(tmp_path / "another machine"))
    options = {"out": address}
    with stored(options):
        assert (options["out"] / "audit" / "figures.csv").read_text() == "a,b\n"


def test_what_was_not_copied_before_a_kill_is_still_here(address, cache):
    options = {"out": address}
    with stored(options):
        (options["out"] / "evaluations.jsonl").write_text("1\n")
    place = Stored(address, cache / "runs")
    (place.folder / "evaluations.jsonl").write_text("1\n2\n")
    (Path(address.removeprefix("file://")) / "half of a copy").touch()
    place.fetch()
    assert (place.folder / "evaluations.jsonl").read_text() == "1\n2\n"


def test_what_another_machine_has_done_since_takes_the_place_of_what_is_here(address, cache):
    options = {"out": address}
    with stored(options):
        (options["out"] / "evaluations.jsonl").write_text("1\n")
    other = Stored(address, cache / "another machine")
    other.fetch()
    (other.folder / "evaluations.jsonl").write_text("1\n2\n3\n")
    other.copy()
    place = Stored(address, cache / "runs")
    place.fetch()
    assert (place.folder / "evaluations.jsonl").read_text() == "1\n2\n3\n"


def test_a_database_that_is_being_written_is_copied_whole(address, cache):
    place = Stored(address, cache / "runs")
    place.fetch()
    with closing(sqlite3.connect(place.folder / "verdicts.sqlite")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE cache (key TEXT)")
        database.execute("INSERT INTO cache VALUES ('one')")
        database.commit()
        place.copy()
    copy = Path(address.removeprefix("file://")) / "verdicts.sqlite"
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT key FROM cache").fetchall() == [("one",)]


def test_an_unknown_kind_of_storage_is_named(tmp_path):
    with pytest.raises(InputError, match="out: nowhere://run: "):
        Stored("nowhere://run", tmp_path)


def test_a_library_that_is_not_installed_is_named(tmp_path):
    with pytest.raises(ExtraError, match=r"out: s3://bucket/run: .*s3fs"):
        Stored("s3://bucket/run", tmp_path)


@pytest.mark.integration
def test_a_run_at_an_address_goes_on_on_another_machine(sample, address, tmp_path, monkeypatch):
    with ScriptedModel() as model:
        options = {"model": "openai/scripted", "api_base": model.base_url, "only": "rubrics"}
        ragassay.evaluate(sample / "answers.jsonl", out=address, limit=1, **options)
        n_asked = model.n_requests
        monkeypatch.setenv("RAGASSAY_CACHE_DIR", str(tmp_path / "another machine"))
        ragassay.evaluate(sample / "answers.jsonl", out=address, limit=1, **options)
        assert model.n_requests == n_asked
    there = tmp_path / "storage" / "run"
    assert {"run.json", "evaluations.jsonl", "report.html"} <= {p.name for p in there.iterdir()}
