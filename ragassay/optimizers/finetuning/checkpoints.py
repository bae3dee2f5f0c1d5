"""Checkpoints of a training, which no other training may go on from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ragassay.errors import InputError

NOTE = "training.json"


def claim_folder(work: Path, training: Mapping[str, object]) -> None:
    """Note in a folder what is trained there, so that no other data goes on from its checkpoints.

    Args:
        work: Made if it is not there.
        training: Data, by its hash, and recipe: JSON, but for what has no form there, which is
            noted as Python shows it.

    Raises:
        InputError: The folder holds checkpoints of another training.
    """
    work.mkdir(parents=True, exist_ok=True)
    note, mine = work / NOTE, json.dumps(training, indent=2, default=repr)
    if note.exists() and note.read_text("utf-8") != mine:
        raise InputError(
            f"{work} holds checkpoints of other data or of another recipe: name another --work, "
            "or delete it"
        )
    note.write_text(mine, "utf-8")
