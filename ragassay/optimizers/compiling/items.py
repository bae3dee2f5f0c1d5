"""The items that an agent is compiled on: inputs with the right reply."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ragassay.records import Rejection


@dataclass(frozen=True)
class CompileItem:
    """One input of an agent, with the right reply.

    Attributes:
        key: Its origin: "train.jsonl:3".
        group: The name shared by items on one question; no split divides a group.
        right: The right label, texts or ids; the desired rating.
        reply: Fields of a right reply, as an example shows them; empty if only a part is known.
        about: The part of its case that an example shows; empty if its fields are enough.
        unperturbed: Key of the unperturbed item; empty if this one is unperturbed.
    """

    key: str
    group: str
    arguments: tuple[Any, ...]
    right: str | float | tuple[str, ...]
    reply: Mapping[str, Any] = field(default_factory=dict[str, Any])
    about: str = ""
    unperturbed: str = ""

    def __repr__(self) -> str:
        """Return a short form: optimizers put it into prompts."""
        return f"<{self.key}>"

    def __hash__(self) -> int:
        """Hash the key, as arguments cannot be hashed."""
        return hash(self.key)


@dataclass(frozen=True)
class ItemResult:
    """The items of a file, and its unreadable lines."""

    items: tuple[CompileItem, ...]
    rejections: tuple[Rejection, ...] = ()


class Grouped(Protocol):
    """Something of a group that a split keeps together."""

    @property
    def group(self) -> str:
        """The group's name."""
        ...


GroupedT = TypeVar("GroupedT", bound=Grouped)


def split_by_group(
    items: Sequence[GroupedT], share: float, seed: int
) -> tuple[list[GroupedT], list[GroupedT]]:
    """Split items in two, each group on one side; the order is kept.

    The second side has a share of the groups, chosen by the seed: at least one, and none if there
    is only one group.
    """
    groups = sorted({item.group for item in items})
    random.Random(f"split:{seed}").shuffle(groups)
    n = min(max(1, round(share * len(groups))), len(groups) - 1) if groups else 0
    second = set(groups[:n])
    return (
        [item for item in items if item.group not in second],
        [item for item in items if item.group in second],
    )


def draw_items(items: Sequence[CompileItem], limit: int, seed: int) -> list[CompileItem]:
    """Draw at most `limit` items, keeping perturbed ones with their whole, spread over the groups.

    A limit of 0 draws all.
    """
    bundles: dict[str, list[CompileItem]] = {}
    for item in items:
        bundles.setdefault(item.unperturbed or item.key, []).append(item)
    by_group: dict[str, list[list[CompileItem]]] = {}
    for bundle in bundles.values():
        by_group.setdefault(bundle[0].group, []).append(bundle)
    rng = random.Random(f"limit:{seed}")
    groups = [by_group[name] for name in sorted(by_group)]
    for bundled in (*groups, groups):
        rng.shuffle(bundled)  # type: ignore[arg-type]
    chosen: list[CompileItem] = []
    for turn in range(max(map(len, groups), default=0)):
        for group in groups:
            if turn < len(group) and (not limit or len(chosen) + len(group[turn]) <= limit):
                chosen += group[turn]
    return chosen


def items_sha256(items: Sequence[CompileItem], shown: Sequence[Mapping[str, str]]) -> str:
    """Return the hash of inputs, as the agent renders them, and right replies, in any order."""
    rows = sorted(
        json.dumps([dict(inputs), item.right], ensure_ascii=False, default=str)
        for item, inputs in zip(items, shown, strict=True)
    )
    return hashlib.sha256("\n".join(rows).encode("utf-8", "replace")).hexdigest()
