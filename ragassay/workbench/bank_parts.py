"""Split test banks into public and secret parts, and merge test banks."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, find_item_id
from ragassay.records import Review


@dataclass(frozen=True)
class SplitBanks:
    """Public and secret parts of test banks.

    Attributes:
        secret: Banks that systems must not see, in which each item is marked as secret.
        one_sided: Titles of the banks whose items are all in the same part.
    """

    public: tuple[RubricBank, ...]
    secret: tuple[RubricBank, ...]
    one_sided: tuple[str, ...]


def split_banks(
    banks: Sequence[RubricBank],
    *,
    share: float = 0.5,
    seed: int = 0,
    secret: Collection[str] | None = None,
) -> SplitBanks:
    """Split each bank separately, so that both parts cover every query, facet and kind.

    Secret items stay secret. A hash of the seed and the item's id decides which other items become
    secret, so that most items stay in their part when a bank grows.

    Args:
        banks: Test banks, as returned by `read_bank_file`.
        share: Share of each bank's items that will be secret, above 0 and below 1.
        seed: Seed for choosing the secret items.
        secret: Ids of the items that will be secret. If given, `share` is ignored.

    Raises:
        InputError: The share is out of bounds, or an item does not exist.
    """
    known = {find_item_id(item, bank) for bank in banks for item in bank.items}
    if secret is not None and (unknown := [name for name in secret if name not in known]):
        raise InputError(f"no bank has the item {unknown[0]!r}")
    if not 0 < share < 1:
        raise InputError(f"the share must be above 0 and below 1, got {share}")
    public: list[RubricBank] = []
    hidden: list[RubricBank] = []
    one_sided: list[str] = []
    for bank in banks:
        chosen = _draw_secret_items(bank, share, seed) if secret is None else set(secret)
        items = [
            replace(item, id=name, is_secret=item.is_secret or name in chosen)
            for item in bank.items
            for name in (find_item_id(item, bank),)
        ]
        parts = [tuple(i for i in items if i.is_secret is side) for side in (False, True)]
        for part, banks_of in zip(parts, (public, hidden), strict=True):
            if part:
                banks_of.append(replace(bank, items=part))
        if not all(parts):
            one_sided.append(format_bank_title(bank))
    return SplitBanks(tuple(public), tuple(hidden), tuple(one_sided))


def _draw_secret_items(bank: RubricBank, share: float, seed: int) -> set[str]:
    """Return the ids of the items to make secret.

    Items that are already secret count towards the share.
    """
    already = sum(item.is_secret for item in bank.items)
    names = [find_item_id(item, bank) for item in bank.items if not item.is_secret]
    names.sort(key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).hexdigest())
    total = len(bank.items)
    wanted = min(max(1, round(share * total)), total - 1) - already
    return set(names[: max(0, wanted)])


def format_bank_title(bank: RubricBank) -> str:
    """Return the title of a bank: query id, facet id if any, and kind."""
    return "/".join(part for part in (bank.query_id, bank.facet_id) if part) + f" ({bank.kind})"


@dataclass(frozen=True)
class MergedBanks:
    """Result of merging test banks.

    Attributes:
        banks: One bank per query, facet and kind of item, without duplicate items.
        conflicts: Descriptions of values that differ between banks. The value of the first bank is
            used.
    """

    banks: tuple[RubricBank, ...]
    conflicts: tuple[str, ...]


def merge_banks(files: Sequence[Sequence[RubricBank]]) -> MergedBanks:
    """Merge banks with the same query, facet and kind, and their items with the same id.

    A merged item has the answers and the history of all its versions. An item that only a later
    bank has gets the `info` of this bank.
    """
    merged: dict[tuple[str, str, str], RubricBank] = {}
    conflicts: list[str] = []
    for banks in files:
        for bank in banks:
            first = merged.get(bank.key)
            merged[bank.key] = _join_banks(first, bank, conflicts) if first else bank
    return MergedBanks(tuple(merged.values()), tuple(conflicts))


def _join_banks(first: RubricBank, second: RubricBank, conflicts: list[str]) -> RubricBank:
    for name in ("query_text", "facet_text", "test_collection"):
        ours, theirs = getattr(first, name), getattr(second, name)
        if ours and theirs and ours != theirs:
            conflicts.append(f"{format_bank_title(first)}: {name} is {ours!r} and {theirs!r}")
    items = {find_item_id(item, first): item for item in first.items}
    removed_by = _find_removed_items(first) | _find_removed_items(second)
    for item in second.items:
        name = find_item_id(item, second)
        known = items.get(name)
        if name in removed_by:
            conflicts.append(
                f"{name}: {removed_by[name]} removed this item from one bank, but it is in another"
            )
        if known is None:
            info = item.info or ("" if first.info == second.info else second.info)
            items[name] = replace(item, id=name, info=info)
            continue
        if known.text != item.text:
            conflicts.append(f"{name}: the texts differ: {known.text!r} and {item.text!r}")
        items[name] = replace(
            known,
            answers=(*known.answers, *item.answers),
            is_secret=known.is_secret or item.is_secret,
            history=_merge_history(known, item),
            info=known.info or item.info,
            rest=known.rest or item.rest,
        )
    return replace(
        first,
        items=tuple(items.values()),
        query_text=first.query_text or second.query_text,
        facet_text=first.facet_text or second.facet_text,
        test_collection=first.test_collection or second.test_collection,
        info=first.info or second.info,
        history=_merge_history(first, second),
        rest=first.rest or second.rest,
    )


def _find_removed_items(bank: RubricBank) -> dict[str, str]:
    return {r.item: r.who for r in bank.history if r.field == "removed" and r.value is True}


def _merge_history(
    first: RubricBank | BankItem, second: RubricBank | BankItem
) -> tuple[Review, ...]:
    reviews = {review.id: review for review in (*first.history, *second.history)}
    return tuple(sorted(reviews.values(), key=lambda review: review.when))
