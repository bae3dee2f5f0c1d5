"""Several models write answers: what is kept, what is asked again, what is in the file."""

# Fixtures are imported.
# ruff: noqa: F811
from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case
from rows import write_rows
from synthesizing import alpha, beta, n_written, questions, writer  # noqa: F401

from ragassay.errors import BudgetError, FatalModelError, InputError, SettingsError, StorageError
from ragassay.formats import read_records
from ragassay.process import run_sync
from ragassay.records import Usage
from ragassay.runs.progress import Event, Presenter
from ragassay.runs.resume import build_store_path, lock_for_writing
from ragassay.settings import load_settings
from ragassay.store import Store
from ragassay.studies.syntheses import (
    Syntheses,
    build_writing_settings,
    list_writer_settings,
    make_syntheses,
)
from ragassay.studies.synthesis_writer import Writing
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]


def made(queries: Any, file: Path, *models: ScriptedModel, **given: Any) -> Syntheses:
    """Have models, named alpha, beta, ..., write into a file."""
    named = zip(("alpha", "beta"), models, strict=False)
    names = [f"openai/{name}@{model.base_url}" for name, model in named]
    settings = {"model": given.pop("model", names), "max_usd": given.pop("max_usd", None)}
    base = load_settings(max_attempts=1, concurrency=given.pop("concurrency", 0))
    show = Presenter(given.pop("listen", None)).show_bar
    options: Any = {key: given.pop(key) for key in ("limit", "corpus") if key in given}
    writing = build_writing_settings(settings, base)
    return run_sync(make_syntheses(queries, file, writing, options, Writing(**given), 5, show))


def test_two_processes_do_not_write_one_file(alpha, questions, tmp_path):
    file = tmp_path / "answers.jsonl"
    with lock_for_writing(file), pytest.raises(InputError, match="another process is writing"):
        made(questions, file, alpha)
    assert alpha.n_requests == 0
    assert len(made(questions, file, alpha).records) == 3


def test_an_answer_has_its_papers_as_sources_and_its_model_as_system(alpha, questions, tmp_path):
    file = tmp_path / "out" / "answers.jsonl"
    found = made(questions, file, alpha, words=120)
    assert [one.text for one in found.syntheses] == 3 * [
        "By alpha: drug A helps [1]. Some patients cough [2]."
    ]
    assert all(one.usage.n_calls == 1 for one in found.syntheses)
    assert (found.failed, found.questions.bare, found.is_partial) == ((), ("q4",), True)
    first, *_ = read = read_records(file).records
    assert read == found.records
    assert (first.id, first.topic, first.system) == ("q1/openai/alpha", "q1", "openai/alpha")
    assert [source.title for source in first.sources] == ["Trial", "Safety"]
    sent = str(alpha.requests[0].messages)
    assert "[2] Safety. Cough was seen" in sent and "words: 120" in sent
    assert alpha.requests[0].body["max_tokens"] == 480


def test_what_a_question_is_scored_by_stays_with_its_answers(alpha, tmp_path):
    row = {"id": "a", "question": "Q?", "sources": ["One."], "reference": "R.", "kind": "list"}
    queries = write_rows(tmp_path / "questions.jsonl", [row | {"nuggets": ["A fact."]}])
    made(queries, tmp_path / "answers.jsonl.gz", alpha)
    (record,) = read_records(tmp_path / "answers.jsonl.gz").records
    assert (record.reference, record.metadata) == ("R.", {"kind": "list"})
    assert [nugget.text for nugget in record.nuggets] == ["A fact."]


def test_a_model_or_a_question_that_comes_later_is_all_that_is_paid(
    alpha, beta, questions, tmp_path
):
    file = tmp_path / "answers.jsonl"
    made(questions, file, alpha, limit=2)
    assert n_written(alpha) == 2
    made(questions, file, alpha, beta, limit=2)
    assert (n_written(alpha), n_written(beta)) == (2, 2)
    found = made(questions, file, alpha, beta)
    assert (n_written(alpha), n_written(beta)) == (3, 3)
    assert [(r.system, r.topic) for r in found.records] == [
        (f"openai/{name}", topic) for name in ("alpha", "beta") for topic in ("q1", "q2", "q3")
    ]
    assert found.usage.n_calls == 6
    whole = file.read_bytes()
    file.unlink()
    assert made(questions, file, alpha, beta) == found
    assert file.read_bytes() == whole
    assert (n_written(alpha), n_written(beta)) == (3, 3)


def test_the_same_question_and_papers_are_paid_once_whatever_their_ids(alpha, tmp_path):
    papers = ("31452104", "31452105", "31452104")
    rows = [
        {"id": name, "question": "Q?", "sources": [{"id": paper, "text": "One."}]}
        for name, paper in zip("abc", papers, strict=True)
    ]
    queries = write_rows(tmp_path / "questions.jsonl", rows)
    found = made(queries, tmp_path / "answers.jsonl", alpha)
    assert n_written(alpha) == 1
    assert [one.text for one in found.syntheses] == 3 * [found.syntheses[0].text]
    assert tuple(one.sources[0].id for one in found.records) == papers
    assert found.usage.n_calls == 1


ROW = {"id": "a", "question": "Q?", "sources": ["One."]}


@each_case(
    ("row", "words"),
    [(ROW | {"question": "R?"}, 200), (ROW | {"sources": ["Two."]}, 200), (ROW, 50)],
)
def test_what_a_synthesis_depends_on_is_asked_again(row, words, tmp_path):
    queries, file = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    with ScriptedModel(reply=writer("alpha")) as model:
        made(write_rows(queries, [ROW]), file, model)
        made(write_rows(queries, [row]), file, model, words=words)
        assert n_written(model) == 2


def test_what_failed_is_named_and_asked_again_only_if_that_is_wanted(questions, tmp_path):
    file, fault = tmp_path / "answers.jsonl", Fault("junk", contains="help? 2")
    with ScriptedModel(reply=writer("alpha"), faults=[fault]) as broken:
        first = made(questions, file, broken)
        n_asked = broken.n_requests
        assert made(questions, file, broken) == first
        assert broken.n_requests == n_asked
    (lost,) = first.failed
    assert (lost.question.id, lost.generator) == ("q2", "openai/alpha")
    assert lost.problem.startswith("unparsable")
    (told,) = first.warnings
    assert told.startswith("openai/alpha has no synthesis for 1 of 3 questions (q2): unparsable")
    assert [record.topic for record in read_records(file).records] == ["q1", "q3"]
    with ScriptedModel(reply=writer("alpha")) as whole:
        second = made(questions, file, whole, retry_failed=True)
        assert n_written(whole) == 1
    assert second.failed == ()
    assert second.syntheses[0] == first.syntheses[0]


def test_the_others_are_written_where_one_model_fails_altogether(beta, questions, tmp_path):
    file = tmp_path / "answers.jsonl"
    with ScriptedModel(reply=writer("alpha"), faults=[Fault("junk")]) as broken:
        found = made(questions, file, broken, beta)
        assert len(found.failed) == 3
        assert {record.system for record in found.records} == {"openai/beta"}
        with pytest.raises(InputError, match="no synthesis could be written: unparsable"):
            made(questions, tmp_path / "none.jsonl", broken)
    assert not (tmp_path / "none.jsonl").exists()


def test_tokens_bound_what_is_begun(alpha, questions, tmp_path):
    file = tmp_path / "answers.jsonl"
    found = made(questions, file, alpha, max_tokens=1, concurrency=1)
    problems = [one.problem for one in found.syntheses]
    assert problems == ["", *2 * ["not started, because the limit of 1 tokens was reached"]]
    assert n_written(alpha) == 1
    assert made(questions, file, alpha).failed == ()  # What was not begun has not failed.
    assert n_written(alpha) == 3


def test_money_is_bounded_over_all_models_and_starts(alpha, beta, questions, tmp_path):
    named = [f"openai/gpt-4.1-mini@{alpha.base_url}", f"openai/gpt-4.1-nano@{beta.base_url}"]
    file = tmp_path / "answers.jsonl"
    spent = made(questions, file, model=named[:1], concurrency=1).usage.cost_usd
    assert spent
    with pytest.raises(BudgetError, match="max_usd"):
        made(questions, file, model=named, max_usd=0.9 * spent, concurrency=1)
    assert (n_written(alpha), n_written(beta)) == (3, 0)
    found = made(questions, file, model=named, max_usd=3 * spent, concurrency=1)
    assert len(found.records) == 6


def test_papers_come_from_the_corpus_where_a_question_brings_none(alpha, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGASSAY_LITERATURE__RERANKER", "none")
    rows = [{"id": "31452104", "text": "Drug A causes cough."}, {"id": "9", "text": "Statins."}]
    corpus = write_rows(tmp_path / "corpus.jsonl", rows)
    found = made(["Does drug A cause cough?"], tmp_path / "answers.jsonl", alpha, corpus=corpus)
    assert [source.id for source in found.records[0].sources] == ["31452104"]
    assert "[1] Drug A causes cough." in str(alpha.requests[0].messages)


def test_a_model_that_cannot_be_asked_ends_it_and_the_next_start_goes_on(
    alpha, questions, tmp_path
):
    file = tmp_path / "answers.jsonl"
    with ScriptedModel(faults=[Fault("unauthorized")]) as refusing:
        with pytest.raises(FatalModelError):
            made(questions, file, alpha, refusing)
    assert not file.exists() and n_written(alpha) == 3
    with ScriptedModel(reply=writer("beta")) as beta:
        assert len(made(questions, file, alpha, beta).records) == 6
    assert n_written(alpha) == 3


def test_a_full_disk_ends_it_in_one_line_and_what_was_written_is_kept(
    alpha, questions, tmp_path, monkeypatch
):
    file, add = tmp_path / "answers.jsonl", Store.add_rows

    def full():
        raise sqlite3.OperationalError("database or disk is full")
        yield  # A row that is stored.

    with monkeypatch.context() as patched:
        patched.setattr(Store, "add_rows", lambda store, rows: add(store, full()))
        with pytest.raises(StorageError, match="disk is full; finished work is kept") as caught:
            made(questions, file, alpha, concurrency=1)
    assert "\n" not in str(caught.value)
    assert not file.exists()
    assert len(made(questions, file, alpha).records) == 3
    assert n_written(alpha) <= 4


def test_models_are_named_once_and_at_least_one(monkeypatch):
    monkeypatch.delenv("RAGASSAY_JUDGE__MODEL", raising=False)
    with pytest.raises(SettingsError, match="no model to write answers; pass `model=`"):
        build_writing_settings({})
    with pytest.raises(InputError, match="model openai/a is specified twice"):
        build_writing_settings({"model": ["openai/a@http://x/v1", "openai/a@http://y/v1"]})
    named = build_writing_settings({"model": ["openai/a@http://x/v1", "mistral/b"]})
    first, second = (one.judge for one in list_writer_settings(named, 100))
    assert (first.model, first.api_base, first.panel) == ("openai/a", "http://x/v1", ())
    assert (second.model, second.api_base) == ("mistral/b", None)
    assert list_writer_settings(named, 100)[0].prompting.max_reply_tokens == 400


def test_a_listener_hears_what_is_under_way_and_what_it_costs(alpha, questions, tmp_path):
    heard: list[Event] = []
    found = made(questions, tmp_path / "a.jsonl", alpha, listen=heard.append)
    assert [event.phase for event in heard if event.phase] == ["openai/alpha writes"]
    assert sum(event.n_records for event in heard) == 3
    assert sum((event.usage for event in heard), Usage()) == found.usage
    assert build_store_path(tmp_path / "a.jsonl").name == "a.jsonl.state.sqlite"
