"""Keep a training's checkpoints from any other training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ragassay.errors import InputError

NOTE = "training.json"


def claim_folder(work: Path, training: Mapping[str, object]) -> None:
    """Record in a folder what is trained there, so that no other job resumes its checkpoints.

    Args:
        work: The folder; created if missing.
        training: The data's hash and the recipe, stored as JSON; other types as their `repr`.

    Raises:
        InputError: The folder contains checkpoints of another training.
    """
    work.mkdir(parents=True, exist_ok=True)
    note, mine = work / NOTE, json.dumps(training, indent=2, default=repr)
    if note.exists() and note.read_text("utf-8") != mine:
        raise InputError(
            f"{work} holds checkpoints of other data or of another recipe: name another --work, "
            "or delete it"
        )
    note.write_text(mine, "utf-8")
