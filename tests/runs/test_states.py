"""Files that several starts of a command write: one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.runs.resume import states_of, written_alone


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path):
    file = tmp_path / "new" / "nuggets.jsonl"
    with written_alone(file) as states:
        assert states == states_of(file)
        with pytest.raises(InputError, match=r"another process is writing .*nuggets\.jsonl; wait"):
            with written_alone(file):
                pass
        with written_alone(file.with_name("other.jsonl")):
            pass
    with written_alone(file):
        pass
