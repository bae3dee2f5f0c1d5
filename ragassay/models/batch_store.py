"""Keep submitted batches in a run's folder, so that a run that was stopped can collect them.

batches/NAME.json            a batch: its id at the provider, the keys of its requests
batches/NAME.replies.jsonl   its replies, once they are collected
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragassay.errors import StorageError
from ragassay.store import storing

BATCHES = "batches"
"""Folder of the batches in that of a run."""

JsonBody = dict[str, object]


@dataclass(frozen=True)
class ItemReply:
    """A provider's reply to one request of a batch.

    Attributes:
        status: The HTTP status that the request would have had by itself.
        body: The JSON body that it would have had.
    """

    key: str
    status: int
    body: JsonBody


class SubmittedBatch(BaseModel):
    """A batch that was handed to a provider.

    Attributes:
        name: Our name for it, sent along with it.
        id: The provider's name for it; empty until the provider has confirmed it.
        endpoint: Fingerprint of the endpoint.
        estimate_usd: The most that it costs; None where the price is unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default_factory=lambda: f"ragassay-{uuid.uuid4().hex[:16]}")
    id: str = ""
    model: str
    endpoint: str
    keys: tuple[str, ...]
    estimate_usd: float | None = None
    state: Literal["submitted", "collected"] = "submitted"


class BatchStore:
    """The batches of a run.

    Args:
        run: The run's folder; None keeps batches in memory only.
    """

    def __init__(self, run: Path | None) -> None:
        self._folder = run / BATCHES if run else None

    def batches(self) -> list[SubmittedBatch]:
        """Return all batches of the run.

        Raises:
            StorageError: A file is damaged.
        """
        if self._folder is None or not self._folder.is_dir():
            return []
        return [_read_batch(file) for file in sorted(self._folder.glob("*.json"))]

    def save(self, batch: SubmittedBatch) -> None:
        """Write a batch so that it survives the death of the process."""
        if self._folder is not None:
            _write(self._folder / f"{batch.name}.json", batch.model_dump_json())

    def save_replies(self, batch: SubmittedBatch, replies: Mapping[str, ItemReply]) -> None:
        """Write a batch's replies, and then that they are collected."""
        if self._folder is not None:
            # ASCII: half a character in a reply could not be encoded.
            lines = (f"{json.dumps(asdict(reply))}\n" for reply in replies.values())
            _write(self._replies_file(batch.name), "".join(lines))
        self.save(batch.model_copy(update={"state": "collected"}))

    def replies(self, batch: SubmittedBatch) -> dict[str, ItemReply]:
        """Return the collected replies of a batch, by key; empty where their file is gone."""
        if self._folder is None or not self._replies_file(batch.name).is_file():
            return {}
        lines = self._replies_file(batch.name).read_bytes().splitlines()
        replies = (ItemReply(**json.loads(line)) for line in lines)
        return {reply.key: reply for reply in replies}

    def forget(self, batch: SubmittedBatch) -> None:
        """Delete a batch: the provider does not know it, or it ended without a reply."""
        if self._folder is not None:
            self._replies_file(batch.name).unlink(missing_ok=True)
            (self._folder / f"{batch.name}.json").unlink(missing_ok=True)

    def forget_collected(self) -> None:
        """Delete the batches whose replies were read, so that their questions are asked anew."""
        for batch in self.batches():
            if batch.state == "collected":
                self.forget(batch)

    def _replies_file(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.replies.jsonl"


def _read_batch(file: Path) -> SubmittedBatch:
    try:
        return SubmittedBatch.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise StorageError(
            f"{file} is damaged: move it away; the questions of its batch are then asked again"
        ) from error


def _write(file: Path, text: str) -> None:
    """Write a file completely or not at all."""
    partial = file.with_name(f".{file.name}.partial")
    with storing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, file)
