"""Samples of files as other tools write them, from `formats/examples`; their text is invented."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from ragassay.records import Rejection

Read = Callable[[Path], tuple[Any, Sequence[Rejection]]]

CASES: dict[str, dict[str, Any]] = {
    name: case
    for path in sorted((Path(__file__).parent / "formats" / "examples").glob("*.yaml"))
    for name, case in yaml.safe_load(path.read_text("utf-8")).items()
}


def sample(name: str, n: int = 0) -> Any:
    """Return a row of a case."""
    return CASES[name]["rows"][n]


def both(read: Callable[[Path], Any], name: str) -> Read:
    """Return a reader of the values in the attribute of this name, and of the rejections."""

    def read_both(path: Path) -> tuple[Any, Sequence[Rejection]]:
        found = read(path)
        return getattr(found, name), found.rejections

    return read_both


TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from('\n\r\u2028\ufeff"\\[]{}.'),
    ),
    max_size=12,
)
IDS = TEXT.filter(str.strip)
