"""Places that cannot be written, and ids that are no names of files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import call
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.formats import read_records, write_answers
from ragassay.runs.folder import write_atomically

pytestmark = pytest.mark.usefixtures("no_embedding_model")

ANSWER = {"id": "good", "question": "Does it?", "answer": "It does."}
IDS = {
    "path": "../../escaped",
    "root": "/tmp/escaped",
    "long": "a" * 10_000,
    "lines": "a\nb\r\nc",
    "bidi": "\u202eid\u2066",
    "escape": "\x1b[31mred\x1b]0;title\x07",
    "markup": "<script>alert(1)</script>",
    "rich": "[bold]x[/] [link=file:///etc]y[/link]",
    "windows": "CON",
    "dots": "..",
    "sheet": "=1+1",
    "spaces": " a  b ",
    "emoji": "\U0001f4a9",
    "percent": "%2e%2e%2f",
}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(ANSWER) + "\n")
    return path


def evaluate(answers: Path, out: object, **environment: str) -> tuple[int, str, str]:
    return call(
        *("evaluate", answers, "--out", out, "--only", "citations", "--quiet"), **environment
    )


@pytest.mark.parametrize(
    "name",
    [
        *("run.json", "evaluations.jsonl", "failures.jsonl", "rejected.jsonl", "summary.json"),
        *("report.md", "report.html", "audit.json", "verdicts.sqlite", ".lock"),
    ],
)
def test_a_folder_in_the_place_of_a_file_of_the_run_is_named(name, answers, tmp_path):
    (tmp_path / "run" / name).mkdir(parents=True)
    code, _, errors = evaluate(answers, tmp_path / "run")
    assert code == 1
    assert errors.splitlines() == [
        f"error: {tmp_path / 'run' / name} must be a file but is a folder; choose another --out"
    ]
    assert list((tmp_path / "run").iterdir()) == [tmp_path / "run" / name]


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("answers.jsonl", "must be a folder but is a file"),
        ("answers.jsonl/run", "must be a folder but is a file"),
        ("/dev/null/run", "must be a folder but is a file"),
        ("/proc/run", "cannot write to"),
        ("a" * 300, "File name too long"),
        ("a/" * 3_000, "File name too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_named_in_one_line(out, why, answers, tmp_path):
    code, _, errors = evaluate(answers, tmp_path / out)
    assert code == 1
    assert why in errors and len(errors.splitlines()) == 1 and len(errors) < 1_000
    assert sorted(tmp_path.iterdir()) == [answers]


@pytest.mark.parametrize("out", ["folder", "answers.jsonl/x", "/dev/null/x", "a" * 300])
@pytest.mark.parametrize("command", ["convert", "testbank queries"])
def test_a_file_that_cannot_be_written_is_named_in_one_line(command, out, answers, tmp_path):
    (tmp_path / "folder").mkdir()
    place = tmp_path / out
    more = (place, "--to", "ragas") if command == "convert" else ("--out", place)
    code, _, errors = call(*command.split(), answers, *more)
    assert code == 1
    assert str(place)[:200] in errors
    assert len(errors.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "answers.jsonl"}


def test_a_report_that_cannot_be_written_leaves_what_was_there(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match=r"report\.html cannot be written: it is a folder"):
        write_atomically(tmp_path / "report.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_name_of_5000_characters_is_cut_in_the_error():
    code, _, errors = evaluate(Path("a" * 5_000), "run")
    assert code == 1
    assert "File name too long" in errors and len(errors) < 400


def test_lines_above_the_limit_of_the_environment_are_rejected(answers, tmp_path):
    long = json.dumps(ANSWER | {"id": "long", "question": "Q" * 300})
    answers.write_text(f"{json.dumps(ANSWER)}\n{long}\n")
    code, _, errors = evaluate(answers, tmp_path / "run", RAGASSAY_LIMITS__MAX_LINE_BYTES="200")
    assert code == 3
    assert "answers.jsonl:2:" in errors and "longer than 200 bytes" in errors
    assert len((tmp_path / "run" / "evaluations.jsonl").read_text().splitlines()) == 1


def test_a_mistyped_variable_stops_a_command_that_reads(answers, tmp_path):
    code, _, errors = call(
        *("convert", answers, tmp_path / "out", "--to", "ragas"), RAGASSAY_MAX_LINE_BITES="1"
    )
    assert code == 1
    assert "did you mean RAGASSAY_LIMITS__MAX_LINE_BYTES" in errors


def test_hostile_ids_name_no_file_and_are_kept(answers, tmp_path, monkeypatch):
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    rows = [ANSWER | {"id": one, "system": one, "topic": one} for one in IDS.values()]
    answers.write_text("\n".join(json.dumps(row) for row in rows))
    before = sorted(tmp_path.rglob("*"))
    code, shown, errors = evaluate(answers, "run")
    assert code == 0, errors
    made = set(tmp_path.rglob("*")) - set(before)
    assert made and all(path.is_relative_to(inner / "run") for path in made)
    assert not Path("/tmp/escaped").exists()
    lines = (inner / "run" / "evaluations.jsonl").read_text().splitlines()
    assert [json.loads(line)["record_id"] for line in lines] == list(IDS.values())
    page = (inner / "run" / "report.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in shown + errors and "\u202e" not in shown + errors


@each_case("name", IDS)
def test_a_hostile_id_comes_back_from_every_writer(name, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text(json.dumps(ANSWER | {"id": IDS[name]}))
    (record,) = read_records(source).records
    write_answers([record], tmp_path / "b.jsonl", "ragassay")
    assert read_records(tmp_path / "b.jsonl").records == (record,)
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl"}


def test_the_second_of_two_ids_is_rejected_with_the_line_of_the_first(answers, tmp_path):
    answers.write_text("\n".join(json.dumps(ANSWER | {"answer": f"It {n}."}) for n in range(3)))
    code, _, errors = evaluate(answers, tmp_path / "run")
    assert code == 3
    assert errors.count('the id "good" is already on line 1') == 2
