"""Files that several starts of a command write: one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.runs.states import opened_states, states_of


async def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path):
    file = tmp_path / "new" / "nuggets.jsonl"
    async with opened_states(file):
        assert states_of(file).exists()
        with pytest.raises(InputError, match=r"another process is writing .*nuggets\.jsonl: wait"):
            async with opened_states(file):
                pass
        async with opened_states(file.with_name("other.jsonl")):
            pass
    async with opened_states(file):
        pass
