"""Public readers and writers take a path as text, as a `Path`, and as anything that is like one."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from ragassay import formats
from ragassay.errors import InputError
from ragassay.formats import (
    papers,
    read_nuggets,
    read_records,
    read_records_from_rows,
    write_records,
)

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "ragassay" / "sample" / "answers.jsonl"


class Named:
    """A path of another library."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return os.fspath(self._path)


@pytest.mark.parametrize("module", [formats, papers])
def test_no_public_function_asks_for_a_path_object(module):
    functions = {name: getattr(module, name) for name in module.__all__}
    asking = [
        f"{name}({one.name})"
        for name, function in functions.items()
        if inspect.isfunction(function)
        for one in inspect.signature(function).parameters.values()
        if one.annotation in ("Path", "Path | None")
    ]
    assert asking == []
    assert any(
        "AnyPath" in str(inspect.signature(one)) for one in functions.values() if callable(one)
    )


@pytest.mark.parametrize("as_given", [str, Path, Named])
def test_records_come_from_a_path_of_any_kind_and_go_to_one(as_given, tmp_path):
    found = read_records(as_given(SAMPLE)).records
    assert found == read_records(SAMPLE).records
    assert found
    write_records(found, as_given(tmp_path / "copy.jsonl"))
    assert read_records(str(tmp_path / "copy.jsonl")).records == found


def test_further_files_are_named_as_text_too(write):
    path = write('{"query": "1", "nuggets": ["It fell."]}', name="gold.jsonl")
    rows = [{"id": "1", "topic": "1", "question": "Q?", "answer": "It fell."}]
    assert read_nuggets(str(path)) == read_nuggets(path)
    found = read_records_from_rows(rows, nuggets=str(path)).records
    assert found == read_records_from_rows(rows, nuggets=path).records


def test_a_missing_file_and_what_is_no_path_are_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.jsonl"):
        read_records(str(tmp_path / "gone.jsonl"))
    with pytest.raises(TypeError, match="not int"):
        read_records(3)  # pyright: ignore[reportArgumentType]
