"""Checks of HTML pages."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

from lxml import html


class Balance(HTMLParser):
    """Parser that checks that elements are closed in order."""

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


def check_well_formed(*texts: str) -> None:
    """Fail if an element is not closed or an id is repeated."""
    for text in texts:
        checker = Balance()
        checker.feed(text)
        checker.close()
        assert not checker.open
        ids = html.document_fromstring(text).xpath("//@id")
        assert len(ids) == len(set(ids))


def check_policy(page: str, *names: str) -> None:
    """Fail if the page's policy allows more than its own elements of these names."""
    tree = html.document_fromstring(page)
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name in names:
        text = tree.xpath(f"//{name}[not(@type)]")[0].text
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def check_inert(page: str) -> None:
    """Fail if text became a loading element or an active attribute."""
    tree = html.document_fromstring(page)
    assert not tree.xpath("//img | //iframe | //object | //embed | //base | //video")
    names = {name for element in tree.iter() for name in element.attrib}
    assert not {name for name in names if name.startswith("on")} | names & {"style", "srcdoc"}
    values = [value for element in tree.iter() for value in element.attrib.values()]
    assert not [value for value in values if "alert(" in value or "onload" in value]


def unpacked(page: str) -> dict[str, list]:
    lists: dict[str, list] = {}
    for node in html.document_fromstring(page).xpath("//script[@data-pack]"):
        members = json.loads(zlib.decompress(base64.b64decode(node.text)))
        lists.setdefault(node.get("data-pack"), []).extend(members)
    return lists


FRAGMENTS = ("primary", "secondary", "answers", "sources")


def unfolded(page: str) -> str:
    """Return a page with all its answers, findings and sources inserted at the script's data.

    Lists that the script pages itself, ten findings at a time, are left out.
    """
    lists = unpacked(page)
    text = "".join(fragment for name in FRAGMENTS for fragment in lists.get(name, ()))
    bare = re.sub(r'<script type="text/plain".*?</script>\n?', "", page, flags=re.DOTALL)
    bare = re.sub(
        r'(<ol class="cards" id="(?:primary|secondary)">).*?</ol>',
        r"\1</ol>",
        bare,
        flags=re.DOTALL,
    )
    return bare.replace('<div id="reader" hidden></div>', f'<div id="reader">{text}</div>')
