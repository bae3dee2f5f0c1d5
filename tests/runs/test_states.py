"""Files that several starts of a command write: one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.runs.resume import build_store_path, lock_for_writing


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path):
    file = tmp_path / "new" / "nuggets.jsonl"
    with lock_for_writing(file) as states:
        assert states == build_store_path(file)
        with pytest.raises(InputError, match=r"another process is writing .*nuggets\.jsonl; wait"):
            with lock_for_writing(file):
                pass
        with lock_for_writing(file.with_name("other.jsonl")):
            pass
    with lock_for_writing(file):
        pass
