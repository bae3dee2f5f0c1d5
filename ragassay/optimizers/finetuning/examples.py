"""Training examples: chats with the desired reply, and perhaps a worse one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Method = Literal["sft", "cpo"]
"""Supervised fine-tuning on the desired replies; or contrastive preference optimisation (Xu et al.
2024), which also learns from rejected ones."""

Messages = tuple[tuple[str, str], ...]
"""Role and content of each message."""


@dataclass(frozen=True)
class ChatExample:
    """A chat with its desired reply.

    Attributes:
        messages: The prompt.
        reply: The desired reply.
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
