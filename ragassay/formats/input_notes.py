"""Say, once for a run, which fields of a file were read as what, and which texts were not read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragassay.records import Record

_OWN_ORDER = ("question", "answer", "reference", "sources")


def input_notes(fields: Mapping[str, str], records: Iterable[Record]) -> tuple[str, ...]:
    """Return what a reader of the results must know of how the input was read.

    Args:
        fields: The fields of other names, by the field of ours that they were read as.
        records: The records that were read.

    Example:
        >>> input_notes({"answer": "output", "sources": "docs"}, [])
        ('Read `output` as answer, `docs` as sources.',)
    """
    order = [*filter(fields.get, _OWN_ORDER), *(f for f in fields if f not in _OWN_ORDER)]
    read = ", ".join(f"`{_shown(fields[own])}` as {own}" for own in order)
    notes = [f"Read {read}."] if read else []
    counts: dict[str, int] = {}
    given = list(records)
    for record in given:
        for name in record.unread:
            counts[name] = counts.get(name, 0) + 1
    for name, n in counts.items():
        answers = "1 answer has" if n == 1 else f"{n:,} answers have"
        notes.append(
            f"{answers} texts in `{_shown(name)}` that were not read; "
            f"name it with --map sources={_shown(name)}"
        )
    notes += filter(None, [turns_note(sum(bool(record.turns) for record in given))])
    return tuple(notes)


def turns_note(n_answers: int) -> str:
    """Say how many answers are the last turn of a conversation; empty for none.

    Example:
        >>> turns_note(0)
        ''
    """
    if not n_answers:
        return ""
    are = "1 answer is" if n_answers == 1 else f"{n_answers:,} answers are"
    return f"{are} the last turn of a conversation; earlier turns were read as context, not judged."


def _shown(name: str) -> str:
    """Return a field's name, safe for a terminal."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in name[:200])
