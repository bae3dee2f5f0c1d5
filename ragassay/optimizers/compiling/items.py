"""What an agent is compiled on: things that it can be asked, with what is right."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragassay.records import Rejection


@dataclass(frozen=True)
class CompileItem:
    """One thing that an agent is asked.

    Attributes:
        key: Where it is from: "train.jsonl:3".
        group: What items on the same question share; no group is on both sides of a split.
        arguments: What the agent is called with.
        right: The label, the texts or the ids that are right; a rating that is desired.
        reply: Fields of a right reply, as an example shows them; empty where only a part is known.
        about: What an example of it shows of its case; empty where its fields say all.
        whole: Key of the item that this one is the damaged form of; empty where it is whole.
    """

    key: str
    group: str
    arguments: tuple[Any, ...]
    right: str | float | tuple[str, ...]
    reply: Mapping[str, Any] = field(default_factory=dict[str, Any])
    about: str = ""
    whole: str = ""

    def __repr__(self) -> str:
        """Short: optimizers put it into prompts."""
        return f"<{self.key}>"

    def __hash__(self) -> int:
        """By its key, as arguments cannot be hashed."""
        return hash(self.key)


@dataclass(frozen=True)
class ItemResult:
    """What a file held: items, and the lines that could not be read."""

    items: tuple[CompileItem, ...]
    rejections: tuple[Rejection, ...] = ()


def split_by_group(
    items: Sequence[CompileItem], share: float, seed: int
) -> tuple[list[CompileItem], list[CompileItem]]:
    """Cut items in two, each group on one side.

    Args:
        items: In any order, which is kept within each side.
        share: Of the groups, to the second side; one at least on each side where there are two.
        seed: Chooses the groups.

    Returns:
        The first and the second side; the second is empty where there is one group alone.
    """
    groups = sorted({item.group for item in items})
    random.Random(f"split:{seed}").shuffle(groups)
    n = min(max(1, round(share * len(groups))), len(groups) - 1) if groups else 0
    second = set(groups[:n])
    return (
        [item for item in items if item.group not in second],
        [item for item in items if item.group in second],
    )


def limited(items: Sequence[CompileItem], limit: int, seed: int) -> list[CompileItem]:
    """At most so many items, whole and damaged ones of a pair together, spread over the groups.

    Args:
        items: In any order.
        limit: How many; 0 for all.
        seed: Chooses them.
    """
    bundles: dict[str, list[CompileItem]] = {}
    for item in items:
        bundles.setdefault(item.whole or item.key, []).append(item)
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
    """Hash of what is asked and of what is right, whatever the file is called.

    Args:
        items: In any order.
        shown: Inputs of each as its agent renders them.
    """
    rows = sorted(
        json.dumps([dict(inputs), item.right], ensure_ascii=False, default=str)
        for item, inputs in zip(items, shown, strict=True)
    )
    return hashlib.sha256("\n".join(rows).encode("utf-8", "replace")).hexdigest()
