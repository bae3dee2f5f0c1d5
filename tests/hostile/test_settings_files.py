"""Files that set something: rubrics, prompts, matchers, verifiers, sheets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from case_tables import each_case
from hostile.hostile_files import CONTENTS

from ragassay.errors import RagassayError, SettingsError
from ragassay.models.fitted_models import FittedThresholds, PairClassifier, open_matcher
from ragassay.prompts.compiled import read_compiled
from ragassay.prompts.rubrics import read_rubrics
from ragassay.settings import load_settings
from ragassay.studies.rationales import read_rubric_texts, read_sheet

READERS: dict[str, Callable[[Path], object]] = {
    "rubrics": lambda path: read_rubrics([path]),
    "texts of rubrics": read_rubric_texts,
    "prompt": read_compiled,
    "matcher": lambda path: open_matcher(str(path), "all-MiniLM-L6-v2"),
    "thresholds": FittedThresholds.read,
    "classifier": PairClassifier.read,
    "sheet": lambda path: read_sheet(path, ()),
    "hash of the matcher": lambda path: (
        load_settings(nugget_matcher=str(path)).nuggets.nugget_matcher_sha256
    ),
}
YAML = ("rubrics", "texts of rubrics")


@pytest.mark.parametrize("reader", [name for name in READERS if not name.startswith("hash")])
def test_a_hostile_file_is_refused(reader, tmp_path):
    path = tmp_path / "file"
    for name, content in CONTENTS.items():
        if reader in YAML and (name == "object" or len(content) > 50_000):
            continue  # A mapping is what is wanted; a long file takes YAML seconds.
        path.write_bytes(content)
        with pytest.raises(RagassayError, match="file"):
            READERS[reader](path)
    assert not Path("pwned").exists()


@each_case("what", ["pipe", "device", "folder", "loop"])
@each_case("reader", READERS)
def test_what_is_no_file_is_refused(reader, what, tmp_path):
    path = tmp_path / "file"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if what == "device" else path)
    with pytest.raises(RagassayError, match="file"):
        READERS[reader](path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &a [x]\nb: *a", r"alias \(\*\) on line 2; replace the alias with its value"),
        ("a: " + "[" * 5_000, "nested too deeply"),
        ("!!python/object/apply:os.system ['touch pwned']", "could not determine a constructor"),
        ("x" * 1_100_000, "the file has more than 1,048,576 bytes"),
        ("rubrics: {2: 3}", "a mapping with question and scale"),
        ("rubrics: {a: {question: Q, scale: {1: a, 1: b}}}", "rubrics"),
        ("rubrics: {2001-99-99: {}}", "month must be in 1..12|a mapping"),
    ],
)
def test_yaml_is_plain(text, why, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=why):
        read_rubrics([path])
