"""No text of anyone steers the terminal that a command writes to."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from calls import call
from conftest import ROOT
from graded import passage, query, rated
from hostile.poison import ESCAPES, MARK, hostile, poison_answers

from ragassay.formats import BankItem, RubricBank, write_graded_paragraphs, write_test_banks
from ragassay.safe_text import escape_controls, open_console, use_safe_streams

DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
MARKS_OF_DIRECTION = frozenset("\u061c\u200e\u200f")


def steering(text: str) -> set[str]:
    """The characters of a text that a terminal obeys, or that turn its lines round."""
    return {
        one
        for one in text
        if (unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") and one not in "\n\t")
        or unicodedata.bidirectional(one) in DIRECTIONS
        or one in MARKS_OF_DIRECTION
    }


def texts_of(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for one in value.items() for text in texts_of(list(one)))
    elif isinstance(value, list):
        yield from (text for one in value for text in texts_of(one))
    elif isinstance(value, str):
        yield value


def show(*words: str) -> tuple[int, str]:
    code, out, err = call(*words)
    return code, out + err


@pytest.mark.parametrize(
    "command",
    [
        ("report", "{}/new"),
        ("report", "{}/new", "--json"),
        ("runs", "{}"),
        ("runs", "{}", "--json"),
        ("compare", "{}/old"),
        ("compare", "{}/old", "{}/new"),
        ("rationales", "{}/new", "--json"),
    ],
    ids=" ".join,
)
def test_a_hostile_run_is_shown_and_nothing_of_it_obeyed(hostile_runs, command):
    code, shown = show(*(part.format(hostile_runs) for part in command))
    assert code == 0
    assert steering(shown) == set()
    assert MARK in shown
    if "--json" in command:
        said, _ = json.JSONDecoder().raw_decode(shown)
        assert ESCAPES in "".join(texts_of(said))


def bank(folder: Path) -> Path:
    items = (
        BankItem(hostile("Who began it, didn't they?"), "q1/aa", answers=(hostile("Buddy"),)),
        BankItem(hostile("Why?"), "q1/bb"),
    )
    path = folder / "bank.jsonl.gz"
    write_test_banks([RubricBank("q1", hostile("jazz"), "questions", items)], path)
    return path


def graded(folder: Path) -> Path:
    path = folder / "graded.jsonl.gz"
    ranks = {hostile("system"): 1, "other": 2}
    found = [
        passage(hostile(f"p{i}"), rated({"q1/aa": i, "q1/bb": 1}), judged=i % 2, ranks=ranks)
        for i in range(4)
    ]
    write_graded_paragraphs([query(hostile("q1"), *found)], path)
    return path


def answers(folder: Path) -> Path:
    path = folder / "answers.jsonl"
    poison_answers(ROOT / "examples" / "sample" / "answers.jsonl", path, 2)
    with path.open("a") as file:
        file.write(json.dumps({"id": hostile("x"), "question": hostile("Q"), hostile("y"): 1}))
    return path


def articles(folder: Path) -> Path:
    row = {
        "id": "7",
        "title": hostile("Fall"),
        "text": hostile("It fell."),
        "journal": hostile("J"),
    }
    path = folder / "articles.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({hostile("id"): hostile("8")}) + "\n")
    code, *_ = call("corpus", "build", path, "--out", folder / "corpus")
    assert code in (0, 3)
    return folder / "corpus"


def named(folder: Path) -> Path:
    return folder / "\x1b[31m\u202eHOSTILE.jsonl"


Made = Callable[[Path], Path]


@pytest.mark.parametrize(
    ("make", "command"),
    [
        (bank, ("testbank", "show", "{}")),
        (bank, ("testbank", "show", "{}", "--json")),
        (graded, ("grades", "cover", "{}")),
        (graded, ("grades", "cover", "{}", "--json")),
        (graded, ("grades", "leaderboard", "{}")),
        (graded, ("grades", "grid", "{}")),
        (graded, ("grades", "spurious", "{}")),
        (graded, ("grades", "verify", "{}")),
        (articles, ("corpus", "get", "{}", "7")),
        (articles, ("corpus", "search", "{}", "fell")),
        (articles, ("corpus", "search", "{}", "fell", "--json")),
        (answers, ("convert", "{}", "{}.csv", "--to", "ragas")),
        (answers, ("evaluate", "{}", "--dry-run")),
        (answers, ("qa", "read", "{}")),
        (named, ("evaluate", "{}")),
        (named, ("report", "{}")),
        (named, ("compare", "{}")),
        (named, ("runs", "{}")),
        (named, ("testbank", "show", "{}")),
        (named, ("corpus", "info", "{}")),
        (named, ("evaluate", str(ROOT / "examples/sample/answers.jsonl"), "--rubric", "{}")),
        (named, ("models", "show", "{}")),
        (named, ("prompts", "show", "{}")),
        (named, ("\x1b[31mHOSTILE",)),
        (named, ("report", "--\x1b[31mHOSTILE")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value.__name__,
)
def test_a_hostile_text_of_any_kind_is_not_obeyed(tmp_path, make, command):
    path = make(tmp_path)
    code, shown = show(*(part.format(path) for part in command))
    assert steering(shown) == set()
    assert code in (0, 1, 2, 3)
    assert MARK in shown


def test_what_is_spelled_out_is_what_json_says():
    every = "".join(map(chr, range(0x2100)))
    assert steering(escape_controls(every)) == set()
    assert json.loads(f'"{escape_controls("a" + chr(27) + chr(0x202E))}"') == "a\x1b\u202e"


def test_a_console_writes_its_own_colours_and_nobody_elses(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with use_safe_streams():
        open_console().print("a\x1b]0;b\x07[link=https://e.x]c[/link]\ud800", style="bold")
        print("d\x1b[2J", file=sys.stderr)
    shown = capsys.readouterr()
    assert shown.out.startswith("\x1b[1m")
    assert shown.out.count("\x1b") == shown.out.count("\x1b[")
    assert "\x07" not in shown.out
    assert "[link=https://e.x]" in shown.out.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert shown.err == "d\\u001b[2J\n"


def test_only_one_place_opens_a_console():
    package = ROOT / "ragassay"
    found = [path for path in package.rglob("*.py") if "import Console" in path.read_text()]
    assert found == [package / "safe_text.py"]
