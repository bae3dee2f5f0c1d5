"""What a model is fine-tuned on: chats with the reply that is wanted, perhaps with a worse one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Method = Literal["sft", "cpo"]
"""Supervised fine-tuning on the replies that are wanted; or contrastive preference optimisation
(Xu et al. 2024), which also learns what is not."""

Messages = tuple[tuple[str, str], ...]
"""Role and content of each message."""


@dataclass(frozen=True)
class ChatExample:
    """A chat, and how it is to go on.

    Attributes:
        messages: What the model is asked.
        reply: What it is to say.
        rejected: What it is not to say; empty where nothing worse is known. CPO learns from these.
        group: What it is about (a question, a claim with its abstracts): examples of a group are
            on one side of every split.
        kind: What kind of example it is, for counts: "whole", "extreme", "supports".
    """

    messages: Messages
    reply: str
    rejected: str = ""
    group: str = ""
    kind: str = ""


def as_messages(rendered: Sequence[Mapping[str, str]]) -> Messages:
    """Messages as an adapter renders them."""
    return tuple((message["role"], message["content"]) for message in rendered)


def as_reply(fields: Mapping[str, object]) -> str:
    """A reply's JSON as the embedded models write it under a schema: without a space."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def digest_of(examples: Sequence[ChatExample], method: Method) -> str:
    """SHA-256 of all that a method learns from, prompts included."""
    found = hashlib.sha256()
    for example in examples:
        worse = example.rejected if method == "cpo" else ""
        found.update(json.dumps([example.messages, example.reply, worse]).encode())
    return found.hexdigest()
