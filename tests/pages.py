"""Checks of pages."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser

from lxml import html


class Balance(HTMLParser):
    """Every element that must be closed is closed, in order."""

    VOID = frozenset({"meta", "link", "input", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def unpacked(page: str) -> dict[str, list]:
    """Return the lists that a page's script unpacks, by name."""
    lists: dict[str, list] = {}
    for node in html.document_fromstring(page).xpath("//script[@data-pack]"):
        members = json.loads(zlib.decompress(base64.b64decode(node.text)))
        lists.setdefault(node.get("data-pack"), []).extend(members)
    return lists


FRAGMENTS = ("heads", "looks", "answers", "sources")


def unfolded(page: str) -> str:
    """Return a page with all its answers, findings and sources in the places of the script's data.

    What the script lists itself, ten findings at a time, is left out.
    """
    lists = unpacked(page)
    text = "".join(fragment for name in FRAGMENTS for fragment in lists.get(name, ()))
    bare = re.sub(r'<script type="text/plain".*?</script>\n?', "", page, flags=re.DOTALL)
    bare = re.sub(
        r'(<ol class="cards" id="(?:heads|looks)">).*?</ol>', r"\1</ol>", bare, flags=re.DOTALL
    )
    return bare.replace('<div id="reader" hidden></div>', f'<div id="reader">{text}</div>')
