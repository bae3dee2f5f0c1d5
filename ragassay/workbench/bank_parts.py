"""Split test banks into a public and a secret part, and merge several into one."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, item_id
from ragassay.records import Review


@dataclass(frozen=True)
class SplitBanks:
    """The two parts of banks.

    Attributes:
        public: What systems may see.
        secret: What they must not see; its items say so.
        one_sided: Names of banks of which one part has nothing.
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
    """Split banks, each query, part and kind for itself, so that both parts cover each.

    Items that are secret already stay so. An item's place depends on the seed and its id alone, so
    that a bank that grows keeps its parts.

    Args:
        banks: As `read_bank_file` returns them.
        share: Fraction of each bank's items that becomes secret, above 0 and below 1.
        seed: Draws them.
        secret: Ids of the secret items, in place of a share.

    Raises:
        InputError: The share is out of bounds, or a bank has no such item.
    """
    known = {item_id(item, bank) for bank in banks for item in bank.items}
    if secret is not None and (unknown := [name for name in secret if name not in known]):
        raise InputError(f"no bank has the item {unknown[0]!r}")
    if not 0 < share < 1:
        raise InputError(f"the share is {share}: it must be above 0 and below 1")
    public: list[RubricBank] = []
    hidden: list[RubricBank] = []
    one_sided: list[str] = []
    for bank in banks:
        chosen = _draw_secret_items(bank, share, seed) if secret is None else set(secret)
        items = [
            replace(i, id=name, is_secret=i.is_secret or name in chosen)
            for i in bank.items
            for name in (item_id(i, bank),)
        ]
        parts = [tuple(i for i in items if i.is_secret is side) for side in (False, True)]
        for part, banks_of in zip(parts, (public, hidden), strict=True):
            if part:
                banks_of.append(replace(bank, items=part))
        if not all(parts):
            one_sided.append(title_of(bank))
    return SplitBanks(tuple(public), tuple(hidden), tuple(one_sided))


def _draw_secret_items(bank: RubricBank, share: float, seed: int) -> set[str]:
    """Return the ids that become secret: with the secret ones, about a share of all."""
    already = sum(item.is_secret for item in bank.items)
    names = [item_id(item, bank) for item in bank.items if not item.is_secret]
    names.sort(key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).hexdigest())
    total = len(bank.items)
    wanted = min(max(1, round(share * total)), total - 1) - already
    return set(names[: max(0, wanted)])


def title_of(bank: RubricBank) -> str:
    """Name a bank for a person: its query, its part if any, its kind."""
    return "/".join(part for part in (bank.query_id, bank.facet_id) if part) + f" ({bank.kind})"


@dataclass(frozen=True)
class MergedBanks:
    """Several banks as one.

    Attributes:
        banks: Each query, part and kind once; each item once.
        conflicts: In words, what two banks say differently; the first one's word was taken.
    """

    banks: tuple[RubricBank, ...]
    conflicts: tuple[str, ...]


def merged_banks(files: Sequence[Sequence[RubricBank]]) -> MergedBanks:
    """Merge banks: items with one id become one, with the known answers and the history of all.

    An item of a later bank keeps how it was made, as its own info.
    """
    found: dict[tuple[str, str, str], RubricBank] = {}
    conflicts: list[str] = []
    for banks in files:
        for bank in banks:
            first = found.get(bank.key)
            if first is None:
                found[bank.key] = bank
            else:
                found[bank.key], found_conflicts = _join_banks(first, bank)
                conflicts += found_conflicts
    return MergedBanks(tuple(found.values()), tuple(conflicts))


def _join_banks(first: RubricBank, second: RubricBank) -> tuple[RubricBank, list[str]]:
    title, conflicts = title_of(first), list[str]()
    for name in ("query_text", "facet_text", "test_collection"):
        one, other = getattr(first, name), getattr(second, name)
        if one and other and one != other:
            conflicts.append(f"{title}: {name} is {one!r} and {other!r}")
    items = {item_id(item, first): item for item in first.items}
    gone = _find_removed_items(first) | _find_removed_items(second)
    for item in second.items:
        name = item_id(item, second)
        known = items.get(name)
        if name in gone:
            conflicts.append(f"{name}: {gone[name]} removed it from one bank, and it is in another")
        if known is None:
            info = item.info or ("" if first.info == second.info else second.info)
            items[name] = replace(item, id=name, info=info)
            continue
        if known.text != item.text:
            conflicts.append(f"{name}: the text is {known.text!r} and {item.text!r}")
        items[name] = _one_item(known, item)
    whole = replace(
        first,
        items=tuple(items.values()),
        query_text=first.query_text or second.query_text,
        facet_text=first.facet_text or second.facet_text,
        test_collection=first.test_collection or second.test_collection,
        info=first.info or second.info,
        history=_history(first, second),
        rest=first.rest or second.rest,
    )
    return whole, conflicts


def _find_removed_items(bank: RubricBank) -> dict[str, str]:
    """Return who removed an item, by its id."""
    return {r.item: r.who for r in bank.history if r.field == "removed" and r.value is True}


def _history(first: RubricBank | BankItem, second: RubricBank | BankItem) -> tuple[Review, ...]:
    every = {review.id: review for review in (*first.history, *second.history)}
    return tuple(sorted(every.values(), key=lambda review: review.when))


def _one_item(first: BankItem, second: BankItem) -> BankItem:
    return replace(
        first,
        answers=(*first.answers, *second.answers),
        is_secret=first.is_secret or second.is_secret,
        history=_history(first, second),
        info=first.info or second.info,
        rest=first.rest or second.rest,
    )
