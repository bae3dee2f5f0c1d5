"""Training examples: chats with the desired reply, packed into rows that share their tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ragassay.models.local.replies import common_prefix_length

if TYPE_CHECKING:
    import torch


Method = Literal["sft", "cpo"]
"""Supervised fine-tuning on the desired replies; or contrastive preference optimisation (Xu et al.
2024), which also learns from rejected ones."""

Messages = tuple[tuple[str, str], ...]
"""Role and content of each message."""


@dataclass(frozen=True)
class ChatExample:
    """A chat with its desired reply.

    Attributes:
        rejected: A worse reply, for CPO; empty where none is known.
        group: Its subject (a question, a claim with its abstracts): no split divides a group.
        kind: The kind of example, for counts: "whole", "extreme", "supports".
    """

    messages: Messages
    reply: str
    rejected: str = ""
    group: str = ""
    kind: str = ""

    @property
    def is_rating(self) -> bool:
        """True if the reply rates an answer."""
        return self.reply.startswith('{"rating"')


def as_messages(rendered: Sequence[Mapping[str, str]]) -> Messages:
    """Return messages in the form that an adapter renders."""
    return tuple((message["role"], message["content"]) for message in rendered)


def as_reply(fields: Mapping[str, object]) -> str:
    """Return a reply's JSON as the embedded models write it under a schema: without spaces."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def digest_of(examples: Sequence[ChatExample], method: Method) -> str:
    """Return the SHA-256 of everything that a method learns from, prompts included."""
    found = hashlib.sha256()
    for example in examples:
        worse = example.rejected if method == "cpo" else ""
        found.update(json.dumps([example.messages, example.reply, worse]).encode())
    return found.hexdigest()


IGNORED = -100
"""Label of a token without a loss."""


@dataclass(frozen=True)
class Tokens:
    """An example as tokens: the prompt and the reply."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]


def pack(examples: Iterable[Tokens], n_most: int) -> list[list[Tokens]]:
    """Pack examples into rows of at most `n_most` tokens, shared tokens counted once.

    Returns:
        The rows; examples with similar beginnings share a row.
    """
    rows: list[list[Tokens]] = []
    room = 0
    for example in sorted(examples, key=lambda e: (e.prompt, e.reply)):
        # In this order, an example shares most with the one before it.
        stem = rows[-1][-1].prompt[:-1] if rows else ()
        n_whole = len(example.prompt) + len(example.reply)
        n_new = n_whole - common_prefix_length(stem, example.prompt[:-1])
        if not rows or n_new > room:
            rows.append([])
            room, n_new = n_most, n_whole
        room -= n_new
        rows[-1].append(example)
    return rows


def as_row(examples: Sequence[Tokens]) -> dict[str, Any]:
    """Return a row as numbers: tokens, positions, labels and visibility.

    An example's last prompt token and its reply are never shared: a token is learnt from the one
    before it in the row.

    Returns:
        `input_ids`, `position_ids`, `labels`, each of length n, and `visible`, shape (n, n), true
        where the row's token sees the column's.
    """
    ids: list[int] = []
    positions: list[int] = []
    labels: list[int] = []
    parents: list[int] = []  # the place of the token before; -1 before the first

    def add(parent: int, token: int, label: int) -> int:
        ids.append(token)
        labels.append(label)
        parents.append(parent)
        positions.append(positions[parent] + 1 if parent >= 0 else 0)
        return len(ids) - 1

    children: dict[tuple[int, int], int] = {}
    stems: list[int] = []
    for example in examples:
        last = -1
        for token in example.prompt[:-1]:
            if (last, token) not in children:
                children[last, token] = add(last, token, IGNORED)
            last = children[last, token]
        stems.append(last)
    for example, last in zip(examples, stems, strict=True):
        tokens, learnt = (example.prompt[-1], *example.reply), (IGNORED, *example.reply)
        for token, label in zip(tokens, learnt, strict=True):
            last = add(last, token, label)
    visible = np.eye(len(ids), dtype=bool)
    for place, parent in enumerate(parents):
        if parent >= 0:
            visible[place] |= visible[parent]
    return {"input_ids": ids, "position_ids": positions, "labels": labels, "visible": visible}


def collate(batch: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
    """Return a batch of one row, in the form of transformers' causal models.

    Args:
        batch: One row: its examples' `prompts` and `replies`.
    """
    import torch

    [given] = batch
    pairs = zip(given["prompts"], given["replies"], strict=True)
    row = as_row([Tokens(tuple(prompt), tuple(reply)) for prompt, reply in pairs])
    names = ("input_ids", "position_ids", "labels")
    visible = torch.from_numpy(np.asarray(row["visible"], dtype=bool))
    return {
        **{name: torch.tensor([row[name]]) for name in names},
        "attention_mask": visible[None, None],
    }
