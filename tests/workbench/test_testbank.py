"""`ragassay testbank`."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import calls
import pytest
from calls import judged_by
from fakes import WordEmbedder
from rows import write_rows
from waiting import wait_until

from ragassay.formats import BankItem, RubricBank, read_test_banks, write_test_banks
from ragassay.runs.banks import read_bank_file
from ragassay.testing import Fault, ScriptedModel

run = partial(calls.run, "testbank")

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = WordEmbedder()
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: embedder)
    monkeypatch.setattr("ragassay.workbench.bank_lint.Embedder", lambda name: embedder)


def write_questions(messages, schema):
    """A question and an answer that names the query."""
    query = messages[-1]["content"].split(">\n")[1].split("\n")[0]
    said = {"questions": [f"Who began {query}?"], "answers": [query], "nuggets": [f"{query} fact"]}
    return {name: said[name] for name in schema["properties"]}


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.json"
    path.write_text(json.dumps({f"q{i}": f"topic {word}" for i, word in enumerate("abcdefgh")}))
    return path


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    questions = (
        BankItem("Who began it?", "q1/aa00", answers=("Buddy",)),
        BankItem("It was loud, wasn't it?", "q1/bb00"),
    )
    items = {"questions": questions, "nuggets": (BankItem("cornet", "q1/cc00"),)}
    path = tmp_path / "bank.jsonl.gz"
    write_test_banks([RubricBank("q1", "jazz", kind, of) for kind, of in items.items()], path)
    return path


def test_create_writes_banks_and_counts_what_failed(queries: Path, tmp_path: Path):
    out = tmp_path / "bank.jsonl.gz"
    given = ("--kind", "both", "--per-query", 3, "--limit", 4, "--collection", "made up", "--quiet")
    with ScriptedModel(write_questions, faults=[Fault("refusal", contains="topic c")]) as model:
        shown, err = run("create", queries, "--out", out, *given, *judged_by(model), code=3)
    assert "6 items for 3 queries" in shown
    assert "q2: no questions: refused" in err and "2 of 8 calls failed" in err
    banks = read_test_banks(out).banks
    assert [(b.query_id, b.kind) for b in banks[:2]] == [("q0", "questions"), ("q0", "nuggets")]
    assert (banks[0].query_text, banks[0].test_collection) == ("topic a", "made up")


def test_create_reads_documents_and_keeps_answers_that_they_state(queries: Path, tmp_path: Path):
    row = {"id": "d", "text": "On topic a, and on topic b."}
    corpus, out = write_rows(tmp_path / "documents.jsonl", [row]), tmp_path / "bank.jsonl.gz"
    given = ("--from", "documents", "--corpus", corpus, "--limit", 3, "--quiet")
    with ScriptedModel(write_questions) as model:
        _, err = run("create", queries, "--out", out, *given, *judged_by(model))
    answers = [bank.items[0].answers for bank in read_test_banks(out).banks]
    assert answers == [("topic a",), ("topic b",), ()]
    assert "1 answer dropped" in err


def test_create_names_a_missing_judge_and_bad_queries(queries: Path, tmp_path: Path):
    given = ("--out", tmp_path / "bank", "--quiet")
    _, err = run("create", queries, *given, code=1)
    assert "--model" in err and len(err.splitlines()) == 1
    bad = write_rows(tmp_path / "queries.jsonl", [{"id": "a", "text": "topic a"}, {"id": "b"}])
    with ScriptedModel(write_questions) as model:
        _, err = run("create", bad, *given, *judged_by(model), code=3)
    assert "queries.jsonl:2: text:" in err


@pytest.mark.long
def test_a_killed_create_goes_on_and_asks_nothing_twice(queries: Path, tmp_path: Path):
    out = tmp_path / "bank.jsonl.gz"
    with ScriptedModel(write_questions, latency_s=0.6) as model:
        command = [sys.executable, "-m", "ragassay", "testbank", "create", str(queries)]
        command += ["--out", str(out), *judged_by(model), "--concurrency", "2", "--quiet"]
        process = subprocess.Popen(command)
        wait_until(lambda: model.n_requests >= 5, process)
        process.kill()
        assert process.wait() < 0 and not out.exists()
        assert subprocess.run(command).returncode == 0
        assert len({request.key for request in model.requests}) == 8
        assert model.n_requests <= 8 + 2, "at most two were under way when the process died"
    found = read_test_banks(out).banks
    assert [bank.query_id for bank in found] == [f"q{i}" for i in range(8)]
    assert all(len(bank.items) == 1 for bank in found)


def test_import_then_show(tmp_path: Path, queries: Path):
    mine, out = tmp_path / "mine.tsv", tmp_path / "bank.jsonl.gz"
    mine.write_text("q0\tWho?\nno tab\nq1\tWhen?\n")
    shown, err = run("import", mine, "--out", out, "--queries", queries, code=3)
    assert "2 items for 2 queries" in shown and "mine.tsv:2" in err
    shown, _ = run("show", out, "--query", "q1")
    assert "topic b" in shown and "When?" in shown and "Who?" not in shown
    rows = [json.loads(line) for line in run("show", out, "--json")[0].splitlines()]
    assert [(row["query_id"], row["text"]) for row in rows] == [("q0", "Who?"), ("q1", "When?")]
    _, err = run("show", out, "--query", "q9", code=1)
    assert "'q9'" in err
    plain = tmp_path / "plain.txt"
    plain.write_text("Who?\n")
    assert "--query" in run("import", plain, "--out", out, code=1)[1]


def test_edit_by_option_show_history_undo_and_write(bank: Path, tmp_path: Path):
    out, before = tmp_path / "new.jsonl.gz", bank.read_bytes()
    change = ("edit", bank, "--who", "Ada", "--why", "clearer", "--item", "aa")
    shown, _ = run(*change, "--text", "Who began jazz?", "--answer", "Bolden", "--secret")
    assert "text: Who began it?" in shown and "answers:" in shown
    run("edit", bank, "--who", "Bo", "--item", "bb", "--remove")
    run("edit", bank, "--who", "Bo", "--add", "q1", "Where?", "--answer", "New Orleans")
    run("edit", bank, "--who", "Bo", "--add", "q1", "brass", "--kind", "nuggets")
    run("edit", bank, "--who", "Bo", "--undo", "last", "--out", out)
    first, nuggets = read_bank_file(out).banks
    item = first.items[0]
    assert (item.id, item.answers, item.is_secret) == ("q1/aa00", ("Bolden",), True)
    assert [i.text for i in first.items] == ["Who began jazz?", "Where?"]
    assert [i.text for i in nuggets.items] == ["cornet"]
    shown = " ".join(run("show", out, "--history")[0].split())
    assert "Ada" in shown and "clearer" in shown and "removed" in shown and "undoes" in shown
    assert bank.read_bytes() == before
    row = json.loads(run("show", bank, "--json", "--history")[0].splitlines()[0])
    assert {review["who"] for review in row["history"]} == {"Ada"} and len(row["history"]) == 3


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("--item", "zz", "--remove"), "no item 'zz'"),
        (("--item", "aa"), "--item requires"),
        (("--item", "aa", "--text", " "), "empty"),
        (("--item", "aa", "--undo", "last"), "one of"),
        (("--add", "q9", "Who?"), "no query 'q9'"),
        ((), "--item ID"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(bank: Path, given: tuple[str, ...], problem: str):
    _, err = run("edit", bank, "--who", "Ada", *given, code=1)
    assert problem in err and len(err.splitlines()) == 1
    assert not list(bank.parent.glob("*.reviews.jsonl"))


def test_edit_in_an_editor_asks_again_until_it_can_be_read(bank: Path, monkeypatch):
    seen: list[str] = []

    def editor(text: str) -> str:
        seen.append(text)
        changed = text.replace("Who began it?", "Who began jazz?")
        return f"{changed}oops!  here\n" if len(seen) == 1 else changed.replace("oops!  here\n", "")

    command = "ragassay.workbench.commands.testbank"
    monkeypatch.setattr(f"{command}.require_terminal", lambda way_out: None)
    monkeypatch.setattr(f"{command}.edit_in_editor", editor)
    shown, err = run("edit", bank, "--who", "Ada")
    assert "starts with 'oops!'" in err and "PROBLEM" in seen[1]
    assert "text: Who began it?" in shown
    assert read_bank_file(bank).banks[0].items[0].history[0].who == "Ada"
    monkeypatch.setattr(f"{command}.edit_in_editor", lambda text: text)
    assert "nothing changed" in run("edit", bank, "--who", "Ada")[0]


def test_split_and_merge_carry_the_history(bank: Path, tmp_path: Path):
    public, secret, whole = (tmp_path / f"{name}.jsonl.gz" for name in ("p", "s", "w"))
    run("edit", bank, "--who", "Ada", "--item", "aa", "--text", "Who began jazz?")
    given = ("split", bank, "--out", public, "--secret-out", secret)
    _, err = run(*given, "--secret", "aa", code=3)
    assert "q1 (nuggets) is in only one of the two parts" in err
    (hidden,) = read_test_banks(secret).banks
    (item,) = hidden.items
    assert (item.text, item.is_secret, len(item.history)) == ("Who began jazz?", True, 1)
    run("merge", public, secret, "--out", whole)
    ids = {i.id for b in read_test_banks(whole).banks for i in b.items}
    assert ids == {"q1/aa00", "q1/bb00", "q1/cc00"}
    run("merge", whole, bank, "--out", whole)
    run("edit", whole, "--who", "Bo", "--item", "aa", "--text", "Other?")
    assert "conflict: q1/aa00" in run("merge", bank, whole, "--out", tmp_path / "c", code=3)[1]
    assert "choose another file name" in run("merge", bank, "--out", whole, code=1)[1]
    assert "share" in run(*given, "--share", 2, code=1)[1]


def test_lint_says_what_why_and_how_to_mend(bank: Path, tmp_path: Path):
    shown, _ = run("lint", bank, "--quiet", code=3)
    assert "q1 bb00: It was loud, wasn't it?" in shown
    assert "leading: the tag" in shown and "ask without the tag" in shown
    (row,) = (json.loads(line) for line in run("lint", bank, "--json", code=3)[0].splitlines())
    assert (row["item"], row["kind"]) == ("q1/bb00", "leading")
    run("edit", bank, "--who", "Ada", "--item", "bb", "--text", "How loud was early jazz?")
    assert "no flaws found" in run("lint", bank, "--quiet")[0]
    corpus = tmp_path / "documents.jsonl"
    corpus.write_text('{"id": "d", "text": "Early jazz was how loud? Who began it? cornet"}\n')
    hints = run("lint", bank, "--corpus", corpus, "--json", code=3)[0].splitlines()
    assert [json.loads(line)["kind"] for line in hints] == ["unanswerable"]


def test_bad_banks_are_named_by_file_line_and_field(tmp_path: Path):
    items = {"q": "Who?", "r": ""}
    rows = [{"query_id": q, "items": [{"question_text": text}]} for q, text in items.items()]
    path = write_rows(tmp_path / "bank.jsonl", rows)
    shown, err = run("show", path, code=3)
    assert "bank.jsonl:2: items.0.question_text" in err and "Who?" in shown
    assert "bank.jsonl:2" in run("lint", path, "--quiet", code=3)[1]
    write_rows(tmp_path / "bank.jsonl.reviews.jsonl", [{"who": "Ada"}])
    assert "bank.jsonl.reviews.jsonl:1" in run("show", path, code=1)[1]


def test_queries_are_written_as_the_workbench_reads_them(tmp_path: Path) -> None:
    given, out = tmp_path / "topics.csv", tmp_path / "queries.json"
    given.write_text("topic_id,title,question\n1,t,Is it?\n2,t,Was it?\n1,t,again\n")
    shown, errors = run("queries", given, "--out", out, code=3)
    assert "2 queries" in shown and "already appeared" in errors
    assert json.loads(out.read_text()) == {"1": "Is it?", "2": "Was it?"}
    pages = tmp_path / "pages.jsonl"
    facets = [{"id": "f", "text": "Birth"}]
    pages.write_text(json.dumps({"query_id": "q", "title": "Jazz", "facets": facets}))
    shown, _ = run("queries", pages, "--out", out)
    assert "dropped the facets of 1 query" in shown
