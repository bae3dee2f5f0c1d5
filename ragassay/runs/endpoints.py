"""Keep with a run what its judges' endpoints refuse: the same command is not refused again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ragassay.models.call_parameters import learn, learnt_note, learnt_of
from ragassay.runs.folder import write_whole
from ragassay.settings import Settings

FILE = "endpoints.json"
"""{model: [what its endpoint refuses, by the names of `models.call_parameters.REFUSABLE`]}"""


def recall_endpoints(folder: Path, judges: Sequence[Settings]) -> None:
    """Take up what an earlier start of a run learnt; a file that cannot be read teaches nothing."""
    with suppress(OSError, ValueError, AttributeError, TypeError):
        known = json.loads((folder / FILE).read_text(encoding="utf-8"))
        for one in judges:
            learn(one.judge.model, one.judge.api_base, *map(str, known.get(one.judge.model, ())))


def keep_endpoints(folder: Path, judges: Sequence[Settings]) -> None:
    """Write what was learnt of the judges' endpoints; nothing where nothing was."""
    learnt = {one.judge.model: learnt_of(one.judge.model, one.judge.api_base) for one in judges}
    if any(learnt.values()):
        known = {model: list(names) for model, names in learnt.items() if names}
        write_whole(folder / FILE, json.dumps(known, indent=2) + "\n")


def endpoint_notes(judges: Sequence[Settings]) -> tuple[str, ...]:
    """Return what was left out of the judges' calls, a line a judge, for a person."""
    notes = (
        learnt_note(one.judge.model, learnt_of(one.judge.model, one.judge.api_base))
        for one in judges
    )
    return tuple(note for note in notes if note)
