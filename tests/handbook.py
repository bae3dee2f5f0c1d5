"""Parser of the documentation pages (README, docs/, ...) and loader of their scripts."""

from __future__ import annotations

import functools
import importlib.util
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from conftest import ROOT
from markdown_it import MarkdownIt
from markdown_it.token import Token

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*/*.md")]
)


@dataclass(frozen=True)
class Block:
    """A code block of a page."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """Location of the block."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@functools.cache
def _tokens(page: Path) -> list[Token]:
    return MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return the code blocks of a page, by default in all languages."""
    found = [
        Block(page, token.map[0] + 1, token.info.strip(), token.content)
        for token in _tokens(page)
        if token.type in ("fence", "code_block") and token.map
    ]
    return [block for block in found if not languages or block.language in languages]


def block(page: Path, language: str, words: str) -> Block:
    """Return the only block of a page that contains these words."""
    (found,) = (one for one in blocks(page, language) if words in one.text)
    return found


def links(page: Path) -> list[str]:
    """Return the link and image targets of a page."""
    children = [child for token in _tokens(page) for child in token.children or ()]
    targets = [child.attrs.get("href") or child.attrs.get("src") for child in children]
    return [str(target) for target in targets if target]


def anchors(page: Path) -> set[str]:
    """Return the valid fragments of a page: its headings in GitHub's form."""
    tokens = _tokens(page)
    titles = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def shell_lines(page: Path) -> list[tuple[str, str]]:
    """Return the location and text of each command, without prompt and with joined lines."""
    found = []
    for one in blocks(page, "", "sh", "bash", "console"):
        joined = one.text.replace("\\\n", " ")
        found += [(one.name, line.strip().removeprefix("$ ")) for line in joined.splitlines()]
    return found


def module_of(path: Path) -> ModuleType:
    """Import a script that is not in a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
