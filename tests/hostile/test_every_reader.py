"""Every reader, given every hostile content, says what is wrong, and fails in no other way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from case_tables import each_case
from hostile.hostile_files import CONTENTS, GOOD, READERS, outcome

NOTHING = {"empty", "blank", "bom"}
TEXT = {
    *("utf-16", "utf-32", "numbers", "null", "text", "list", "deep lists", "whole deep lists"),
    *("wrong rows", "open quote", "open quote in the header", "same columns"),
    *("yaml laughs", "yaml tag"),
}
SILENT = {
    "claims": {*NOTHING, "object", "wrong exports"},  # Its fields are checked where they are used.
    "claims to learn": NOTHING,
    "evidence": set(CONTENTS),  # It reads along in a file whose lines another reader reports.
    "matches": NOTHING,
    "medline": NOTHING,
    "papers": TEXT,  # Any text may be a paper.
    "responses": NOTHING,
    "reviews": {
        *NOTHING,
        "deep objects",
        "utf-16 without a mark",
    },  # A last line that is cut off is left out.
}
"""Where there is nothing to say."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hostile")
    for name, content in CONTENTS.items():
        (made / name).write_bytes(content)
    os.mkfifo(made / "pipe")
    (made / "loop").symlink_to(made / "loop")
    (made / "lost").symlink_to(made / "nowhere")
    (made / "folder").mkdir()
    return made


@each_case("reader", READERS)
def test_a_reader_says_what_is_wrong_with_each(reader, folder):
    silent = SILENT.get(reader, set())
    found = {name: outcome(READERS[reader], folder / name) for name in CONTENTS}
    assert {name for name, (_, said) in found.items() if not said} <= silent
    assert "root:" not in str(found)  # of /etc/passwd, which an entity names
    assert not Path("pwned").exists()


@each_case("name", ["pipe", "loop", "lost", "/dev/zero", "/dev/null"])
@each_case("reader", READERS)
def test_a_reader_refuses_what_is_no_file(reader, name, folder):
    result, said = outcome(READERS[reader], folder / name)
    assert result is None and len(said) < 600
    assert any(word in said for word in ("pipe", "device", "symbolic", "broken link", "kind"))


@each_case("reader", [name for name in READERS if name != "reviews"])  # Nothing is reviewed yet.
def test_a_reader_names_a_missing_file(reader, folder):
    result, problem = outcome(READERS[reader], folder / "missing")
    assert result is None and "does not exist" in problem


def test_what_follows_a_hostile_line_is_read(folder):
    path = folder / "lines.jsonl"
    bad = [content for content in CONTENTS.values() if content and b"\n" not in content.strip()]
    starts = (b"\xff\xfe", b"\x1f\x8b")
    lines = [one.strip() for one in bad if one.strip() and not one.startswith(starts)]
    path.write_bytes(b"\n".join([GOOD.encode(), *lines, GOOD.replace("good", "last").encode()]))
    result, said = outcome(READERS["answers"], path)
    assert [one.id for one in result.records] == ["good", "last"]  # type: ignore[attr-defined]
    assert len(result.rejections) >= len(lines)  # type: ignore[attr-defined]
    assert "nested too deeply" in said and "lone surrogate" in said
