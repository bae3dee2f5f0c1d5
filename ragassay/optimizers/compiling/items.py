"""Labelled inputs of agents, with which prompts are optimized and evaluated."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import Row
from ragassay.records import Rejection


@dataclass(frozen=True)
class CompileItem:
    """Input of an agent, and the expected reply.

    Attributes:
        key: Origin of the item, such as "train.jsonl:3".
        group: Name of the question. Items in the same group are never split between training and
            dev data.
        right: Expected label, texts, ids or rating.
        reply: Fields of the expected reply for a few-shot example, or empty if a field is unknown.
        about: Question and answer to show in a few-shot example, or empty if the inputs are
            sufficient.
        unperturbed: For a perturbed item, the key of the original item. Otherwise empty.
    """

    key: str
    group: str
    arguments: tuple[Any, ...]
    right: str | float | tuple[str, ...]
    reply: Mapping[str, Any] = field(default_factory=dict[str, Any])
    about: str = ""
    unperturbed: str = ""

    def __repr__(self) -> str:
        """Return only the key, because optimizers include the result in prompts."""
        return f"<{self.key}>"

    def __hash__(self) -> int:
        """Return the hash of the key, because the arguments are not hashable."""
        return hash(self.key)


@dataclass(frozen=True)
class ItemResult:
    """Items that were read from a file, and rejected lines."""

    items: tuple[CompileItem, ...]
    rejections: tuple[Rejection, ...] = ()


RowT = TypeVar("RowT", bound=Row)
T = TypeVar("T")


def read_rows(
    items: Iterable[Item | Rejection],
    row_type: type[RowT],
    convert: Callable[[RowT, Item], T | Problem],
) -> tuple[tuple[T, ...], tuple[Rejection, ...]]:
    """Validate and convert rows. Return the converted rows and the rejected rows.

    Args:
        row_type: Pydantic model with which a row is validated.
        convert: Function that converts a row, or returns the problem with it.
    """
    converted: list[T] = []
    rejections: list[Rejection] = []
    for item in items:
        if isinstance(item, Rejection):
            rejections.append(item)
            continue
        row = validate(row_type, item.fields)
        result = row if isinstance(row, Problem) else convert(row, item)
        if isinstance(result, Problem):
            rejections.append(item.place.reject(result))
        else:
            converted.append(result)
    return tuple(converted), tuple(rejections)


class Grouped(Protocol):
    """Object that belongs to a named group."""

    @property
    def group(self) -> str:
        """Name of the group."""
        ...


GroupedT = TypeVar("GroupedT", bound=Grouped)


def split_by_group(
    items: Sequence[GroupedT], share: float, seed: int
) -> tuple[list[GroupedT], list[GroupedT]]:
    """Split items into two parts without dividing groups, and preserve the order of items.

    The second part contains a random share of the groups, and at least one group. If there is only
    one group, the second part is empty.
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
    """Sample at most `limit` items (0 for all), evenly from the groups.

    An item and its perturbed versions are sampled together.
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


def hash_items(items: Sequence[CompileItem], shown: Sequence[Mapping[str, str]]) -> str:
    """Return a hash of the rendered inputs and expected replies that ignores the items' order."""
    rows = sorted(
        json.dumps([dict(inputs), item.right], ensure_ascii=False, default=str)
        for item, inputs in zip(items, shown, strict=True)
    )
    return hashlib.sha256("\n".join(rows).encode("utf-8", "replace")).hexdigest()
