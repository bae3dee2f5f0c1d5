"""Long lines, bombs, files that change: refused while they are read; what is sound is kept."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.hostile_files import GOOD

from ragassay.errors import InputError, SettingsError
from ragassay.files import MAX_LINE_BYTES, get_line_limit, limit_line_length
from ragassay.formats import read_records
from ragassay.formats.files import iter_lines, open_binary
from ragassay.formats.items import MAX_JUNK
from ragassay.settings import load_settings

LAST = GOOD.replace("good", "last")
ROW = {"user_input": "Q", "response": "A", "retrieved_contexts": ["x" * 50]}


def ids(path: Path) -> list[str]:
    return [record.id for record in read_records(path).records]


def said(path: Path) -> str:
    return "; ".join(f"{one.line} {one.problem}" for one in read_records(path).rejections)


def test_the_limit_is_16_mib_unless_it_is_set():
    assert get_line_limit() == MAX_LINE_BYTES == load_settings().limits.max_line_bytes == 16 * 2**20
    with limit_line_length(5):
        assert get_line_limit() == 5
    assert get_line_limit() == MAX_LINE_BYTES


def test_a_line_at_the_limit_is_read_and_one_above_is_not(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{GOOD}\n{LAST} \n{GOOD.replace('good', 'more')}\n")
    with limit_line_length(len(GOOD)):
        assert ids(path) == ["good", "more"]
        assert said(path) == f"2 the line is longer than {len(GOOD)} bytes"


def packed_lines(path: Path, *parts: tuple[bytes, int]) -> Path:
    """Pack each part as often as it says, without holding it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        for part, n in parts:
            for _ in range(n):
                file.write(packer.compress(part))
        file.write(packer.flush())
    return path


@pytest.mark.parametrize("unit", [b"1" * 2**20, b"\0" * 2**20, b"1\n" * 2**19, b"\n" * 2**20])
def test_a_bomb_is_refused_after_two_megabytes(unit, tmp_path):
    path = packed_lines(tmp_path / "a.gz", (GOOD.encode() + b"\n", 1), (unit, 5))
    with open_binary(path) as handle:
        n_read = 0
        with pytest.raises(OSError, match="decompression bomb"):
            while chunk := handle.read1(2**16):
                n_read += len(chunk)
    assert n_read <= 2**21 + 1
    found = read_records(path)
    assert [record.id for record in found.records] == ["good"]
    last = found.rejections[-1].problem
    assert "decompression bomb" in last or "is skipped" in last


BOMB = """
import sys, tracemalloc
from pathlib import Path
from ragassay.formats import read_records
tracemalloc.start()
found = read_records(Path(sys.argv[1]))
print(len(found.records), found.rejections[-1].problem)
print(tracemalloc.get_traced_memory()[1], file=sys.stderr)
"""


def test_ten_gigabytes_of_ones_in_one_line_take_neither_time_nor_memory(tmp_path):
    path = packed_lines(tmp_path / "a.gz", (GOOD.encode() + b"\n", 1), (b"1" * 2**20, 10))
    with path.open("ab") as file:
        file.write(gzip.compress(b"1" * 10**7) * 1000)
    command = [sys.executable, "-c", BOMB, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("1 the file is refused")
    assert int(done.stderr) < 30_000_000


def test_a_file_that_unpacks_to_more_than_a_hundred_times_its_size_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("ragassay.formats.files.LARGE_BYTES", 100_000)
    rows = (json.dumps({"id": str(n), "question": "Q" * 3_000, "answer": "A"}) for n in range(900))
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    assert 0 < len(ids(path)) < 900
    assert "more than 100 times as many bytes, like a decompression bomb" in said(path)


def test_members_of_gzip_follow_each_other_and_zeros_the_last(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(f"{GOOD}\n".encode()) + gzip.compress(LAST.encode()) + b"\0" * 9)
    assert ids(path) == ["good", "last"]
    assert said(path) == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-9] + b"\xff" + data[-8:],
        lambda data: data + b"junk",
    ],
)
def test_damaged_gzip_gives_what_comes_before(damage, tmp_path):
    rows = [json.dumps({"id": str(n), "question": f"Q{n**3}", "answer": "A"}) for n in range(900)]
    path = tmp_path / "a.gz"
    path.write_bytes(damage(gzip.compress(("\n".join(rows) + "\n").encode())))
    assert len(ids(path)) > 300
    assert "truncated or damaged here" in said(path)


@pytest.mark.parametrize("text", [json.dumps([ROW] * 9), json.dumps({"results": [ROW] * 9})])
def test_an_array_on_a_line_above_the_limit_is_refused_with_the_setting(text, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(text)
    with limit_line_length(200), pytest.raises(InputError) as caught:
        read_records(path)
    assert "longer than 200 bytes" in str(caught.value)
    assert LONGEST_LINE in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_item_of_many_lines_above_the_limit_is_rejected_and_the_next_is_read(tmp_path):
    long = json.dumps(ROW | {"retrieved_contexts": ["x"] * 300}, indent=1)
    path = tmp_path / "answers.json"
    path.write_text(f"[\n{json.dumps(ROW)},\n{long},\n{json.dumps(ROW)}\n]")
    with limit_line_length(500):
        assert len(ids(path)) == 2
        assert said(path) == "3 the item is longer than 500 bytes"


@pytest.mark.parametrize(
    "row", ['2,"' + "x\n" * 300 + '",A', '2,"' + '\n","' * 300 + '",A', "2," + "x" * 900 + ",A"]
)
def test_a_row_of_a_table_above_the_limit_is_rejected_and_the_next_is_read(row, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(f"id,question,answer\n1,Q,A\n{row}\n3,Q,A\n")
    before = csv.field_size_limit()
    with limit_line_length(500):
        assert {"1", "3"} <= set(ids(path))
        assert "3 the row is not CSV: found a row of more than 500 characters" in said(path)
    assert csv.field_size_limit() >= before, "others in this process read with csv too"


def test_a_document_above_its_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ragassay.formats.items.MAX_DOCUMENT_BYTES", 3_000)
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"results": [ROW] * 9}, indent=1))
    assert "the document has more than 3,000 bytes" in said(path)


def test_a_file_that_is_all_junk_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{GOOD}\n" + "1\n" * (2 * MAX_JUNK) + LAST)
    assert ids(path) == ["good"]
    expected = "10,000 of 10,001 lines cannot be read; the rest of the file is skipped"
    assert said(path).endswith(expected)


def test_a_file_with_much_junk_between_good_lines_is_read_whole(tmp_path):
    path = tmp_path / "answers.jsonl"
    good = (GOOD.replace("good", str(n)) for n in range(3_000))
    path.write_text("\n".join(f"{line}\n1\n1\n1\n1" for line in good))
    assert len(ids(path)) == 3_000


def grown(path: Path) -> Iterator[bytes]:
    """Read lines, and append one for each."""
    for line in iter_lines(path):
        yield line.data
        with path.open("a") as file:
            file.write(LAST + "\n")


def test_a_file_that_grows_while_it_is_read_has_an_end_and_says_so(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{GOOD}\n" * 10)
    assert len(list(grown(path))) == 11  # The last says what is left out.
    lines = iter_lines(path)
    next(lines)
    with path.open("a") as file:
        file.write(LAST)
    *_, last = lines
    assert last.problem == f"the file grew during reading; the {len(LAST)} new bytes were skipped"


def test_a_file_that_shrinks_while_it_is_read_ends(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{GOOD}\n" * 100_000)
    lines = iter_lines(path)
    next(lines)
    path.write_text("")
    assert sum(1 for _ in lines) < 100_000


LONGEST_LINE = "RAGASSAY_LIMITS__MAX_LINE_BYTES"


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("RAGASSAY_MODLE", "x", "RAGASSAY_MODLE: unknown setting; did you mean RAGASSAY_JUDGE__MO"),
        ("RAGASSAY_MAX_LINE_BYTE", "1", f"did you mean {LONGEST_LINE}"),
        ("ragassay_concurency", "1", "did you mean RAGASSAY_LIMITS__CONCURRENCY"),
        ("RAGASSAY_TIMEOUT", "1", "did you mean RAGASSAY_JUDGE__TIMEOUT_S"),
        (LONGEST_LINE, "many", f"{LONGEST_LINE}: it must be a whole number"),
        (LONGEST_LINE, "0", f"{LONGEST_LINE}: it must be at least 1"),
    ],
)
def test_a_mistyped_variable_is_named(variable, value, why, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=why):
        load_settings()


@pytest.mark.parametrize("variable", ["RAGASSAY_PORT", "RAGASSAY_SERVICE_HOST", "RAGASSAY_SHARED"])
def test_a_variable_of_somebody_else_is_left_alone(variable, monkeypatch):
    monkeypatch.setenv(variable, "1")
    assert load_settings()
