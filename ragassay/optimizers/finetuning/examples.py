"""Chat examples for training, which are packed into rows so that shared prefixes count once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ragassay.models.local.replies import measure_common_prefix

if TYPE_CHECKING:
    import torch


Method = Literal["sft", "cpo"]
""""sft" is supervised fine-tuning. "cpo" is contrastive preference optimization (Xu et al. 2024),
which also uses rejected replies."""

Messages = tuple[tuple[str, str], ...]
"""Role and content of each message."""


@dataclass(frozen=True)
class ChatExample:
    """A chat with its target reply.

    Attributes:
        rejected: Rejected reply for CPO, or empty if there is none.
        group: Question or claim of the example. Examples in the same group are never split between
            training and dev data.
        kind: Kind of example, such as "unperturbed", "extreme" or "supports".
    """

    messages: Messages
    reply: str
    rejected: str = ""
    group: str = ""
    kind: str = ""

    @property
    def is_rating(self) -> bool:
        """Return whether the reply is a rating."""
        return self.reply.startswith('{"rating"')


def as_messages(rendered: Sequence[Mapping[str, str]]) -> Messages:
    """Return the roles and contents of rendered messages."""
    return tuple((message["role"], message["content"]) for message in rendered)


def as_reply(fields: Mapping[str, object]) -> str:
    """Return a reply as compact JSON, which is how the embedded models write replies."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def hash_chat_examples(examples: Sequence[ChatExample], method: Method) -> str:
    """Return the SHA-256 of the parts of the examples that a training method uses."""
    digest = hashlib.sha256()
    for example in examples:
        rejected = example.rejected if method == "cpo" else ""
        digest.update(json.dumps([example.messages, example.reply, rejected]).encode())
    return digest.hexdigest()


IGNORED = -100
"""Label of tokens that are ignored in the loss."""


@dataclass(frozen=True)
class Tokens:
    """Prompt and reply tokens of an example."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]


def pack(examples: Iterable[Tokens], n_most: int) -> list[list[Tokens]]:
    """Pack examples into rows of at most `n_most` tokens, in which shared prefixes count once."""
    rows: list[list[Tokens]] = []
    room = 0
    for example in sorted(examples, key=lambda e: (e.prompt, e.reply)):
        # After sorting, an example shares its longest prefix with the previous one.
        previous = rows[-1][-1].prompt[:-1] if rows else ()
        n_tokens = len(example.prompt) + len(example.reply)
        n_new = n_tokens - measure_common_prefix(previous, example.prompt[:-1])
        if not rows or n_new > room:
            rows.append([])
            room, n_new = n_most, n_tokens
        room -= n_new
        rows[-1].append(example)
    return rows


def as_row(examples: Sequence[Tokens]) -> dict[str, Any]:
    """Return the token ids, positions, labels and attention mask of a packed row.

    Examples never share the last prompt token or the reply, because the loss of a token depends on
    the previous token in the row.

    Returns:
        `input_ids`, `position_ids` and `labels` of length n, and `visible`, shape (n, n).
        `visible[i, j]` is true if token i attends to token j.
    """
    ids: list[int] = []
    positions: list[int] = []
    labels: list[int] = []
    parents: list[int] = []  # Index of an example's previous token, or -1 if there is none.

    def add(parent: int, token: int, label: int) -> int:
        ids.append(token)
        labels.append(label)
        parents.append(parent)
        positions.append(positions[parent] + 1 if parent >= 0 else 0)
        return len(ids) - 1

    children: dict[tuple[int, int], int] = {}
    ends: list[int] = []
    for example in examples:
        last = -1
        for token in example.prompt[:-1]:
            if (last, token) not in children:
                children[last, token] = add(last, token, IGNORED)
            last = children[last, token]
        ends.append(last)
    for example, last in zip(examples, ends, strict=True):
        last = add(last, example.prompt[-1], IGNORED)
        for token in example.reply:
            last = add(last, token, token)
    visible = np.eye(len(ids), dtype=bool)
    for index, parent in enumerate(parents):
        if parent >= 0:
            visible[index] |= visible[parent]
    return {"input_ids": ids, "position_ids": positions, "labels": labels, "visible": visible}


def collate(batch: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
    """Return a batch of one row, as causal models from transformers read it."""
    import torch

    [fields] = batch
    pairs = zip(fields["prompts"], fields["replies"], strict=True)
    row = as_row([Tokens(tuple(prompt), tuple(reply)) for prompt, reply in pairs])
    names = ("input_ids", "position_ids", "labels")
    visible = torch.from_numpy(np.asarray(row["visible"], dtype=bool))
    return {
        **{name: torch.tensor([row[name]]) for name in names},
        "attention_mask": visible[None, None],
    }
