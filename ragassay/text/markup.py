"""Turn a stretch of Markdown or HTML into plain text whose characters know their offsets.

Emphasis, links, tags, entities and escapes are resolved; what matters to a citation stays in the
plain text as one private-use character each: superscripts, citation elements, links.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

SUP, SUP_END = "\ue001", "\ue002"
CITE, CITE_END = "\ue003", "\ue004"
LINK, LINK_END = "\ue005", "\ue006"
DELIMITERS = "".join((SUP, SUP_END, CITE, CITE_END, LINK, LINK_END))
"""Stand for the ends of a superscript, a citation element and a link."""

MASK = "\ue010"
"""Stands for what goes with a citation mark; like the delimiters, never from an answer."""

_CITE_TAGS = "cite|citation|citations|ref|reference|source|doc|document|co|footnote|fn"
_PLAIN_TAGS = (
    "a|abbr|address|article|aside|b|big|blockquote|body|br|button|caption|center|code|dd|del|details|"
    "div|dl|dt|em|figure|figcaption|font|footer|h[1-6]|head|header|hr|html|i|img|ins|kbd|label|li|"
    "main|mark|nav|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|summary|table|tbody|td|"
    "tfoot|th|thead|title|tr|tt|u|ul|var|wbr|answer|final_answer|response|final|output"
)
_ATTRIBUTE = r"\s+[\w:-]{1,40}\s?=\s?(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'|[^\s\"'<>=]{1,500})"
_TAG = (
    rf"</?(?:(?P<sup>sup)|(?P<cite>{_CITE_TAGS})|{_PLAIN_TAGS})"
    rf"(?P<attributes>(?:{_ATTRIBUTE}){{0,12}})\s?/?>"
)
_COHERE = r"</?co:\s?(?P<cohere>[\d,\s]{1,40})>"
_TARGET = r"(?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,2000}"
_TOKEN = re.compile(
    r"(?P<escape>\\[\\`*_{}\[\]()#+.!|<>~^$&-])"
    r"|(?P<code>(?<!`)(?P<ticks>`{1,3})(?!`)(?P<inside>[^`\n]{1,500})(?P=ticks)(?!`))"
    rf"|(?P<image>!\[[^\[\]\n]{{0,300}}\]\({_TARGET}(?:\s\"[^\"\n]{{0,300}}\")?\))"
    rf"|(?P<link>\]\(\s?<?(?P<target>{_TARGET})>?(?:\s\"[^\"\n]{{0,300}}\")?\s?\))"
    r"|<(?P<address>https?://[^\s<>]{1,2000})>"
    r"|(?P<comment><!--.{0,2000}?-->|\[cite_(?:start|end)\]|<\|\w{1,30}\|>|</s>)"
    rf"|(?P<tag>{_TAG}|{_COHERE})"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});)"
    r"|(?P<power>(?P<dollar>\$)?\^(?:\{(?P<braced>\\?\[?[\d,\s\u2013-]{1,30}\\?\]?)\}|(?P<caret>\[?[\d,\u2013-]{1,20}\]?)\^)(?(dollar)\$))"
    r"|(?P<emphasis>\*{1,3}|_{1,3}|~~)",
    re.IGNORECASE | re.DOTALL,
)
_LINKS_TO = re.compile(r"[/#:.@]")
_ATTRIBUTE_VALUE = re.compile(
    r"(?:id|ids|index|source|sources|ref|refs|doc|document|name|number|n|data-id)\s?=\s?[\"']?([^\"'<>]*)",
    re.IGNORECASE,
)
_HREF = re.compile(r"href\s?=\s?[\"']?([^\"'<>\s]*)", re.IGNORECASE)
_RAISED = str.maketrans(
    "0123456789+-\u2212",
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207b",
)

Span = tuple[int, int]


@dataclass
class PlainText:
    """Plain text of an answer's stretch.

    Attributes:
        starts: Shape (len(text),): where each character begins in the answer.
        ends: Shape (len(text),): one past where it ends in the answer.
        targets: Addresses of links, and attributes of citation elements, by the place of their
            opening delimiter.
    """

    text: str
    starts: list[int]
    ends: list[int]
    targets: dict[int, str] = field(default_factory=dict)

    def source_span(self, start: int, end: int) -> Span:
        """Return the characters of the answer that a stretch of the plain text comes from."""
        return self.starts[start], self.ends[end - 1]


def plain_text(answer: str, spans: Iterable[Span]) -> PlainText:
    r"""Return the plain text of some stretches of an answer, joined by line breaks.

    The spans are in order, such as the lines of a paragraph.

    Example:
        >>> plain = plain_text("It **fell** \\[1\\].", [(0, 18)])
        >>> plain.text, plain.source_span(3, 7)
        ('It fell [1].', (5, 9))
    """
    builder = _Builder()
    for start, end in spans:
        if builder.characters:
            builder.add("\n", start, start)
        builder.read(answer, start, end)
    return builder.build()


def readable(text: str) -> str:
    """Return plain text as a reader sees it: without delimiters, raised digits raised."""
    raised = re.sub(
        rf"{SUP}([^{SUP}{SUP_END}]*){SUP_END}",
        lambda found: found[1].translate(_RAISED) if re.search(r"\d", found[1]) else found[1],
        text,
    )
    return re.sub(f"[{DELIMITERS}]", "", raised)


class _Builder:
    """Collects plain characters with their offsets."""

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.targets: dict[int, str] = {}
        self._brackets: list[int] = []
        self._emphasis: list[tuple[str, int]] = []
        self._anchors: list[str] = []

    def add(self, text: str, start: int, end: int) -> None:
        """Add characters that all stand for one stretch of the answer."""
        for character in text:
            self.characters.append(character)
            self.starts.append(start)
            self.ends.append(end)

    def copy(self, answer: str, start: int, end: int) -> None:
        """Add characters that stand for themselves."""
        for place in range(start, end):
            character = answer[place]
            if character == "[":
                self._brackets.append(len(self.characters))
            elif character == "]" and self._brackets:
                self._brackets.pop()
            self.characters.append(
                "\ufffd" if character in DELIMITERS or character == MASK else character
            )
            self.starts.append(place)
            self.ends.append(place + 1)

    def read(self, answer: str, start: int, end: int) -> None:
        """Read a stretch of the answer."""
        position = start
        while found := _TOKEN.search(answer, position, end):
            first, last = found.span()
            self.copy(answer, position, first)
            self._token(found.lastgroup or "", found, answer)
            position = last
        self.copy(answer, position, end)

    def _token(self, kind: str, found: re.Match[str], answer: str) -> None:
        start, end = found.span()
        if kind == "escape":
            self.add(found[0][1], start, end)
        elif kind == "code":
            self.copy(answer, *found.span("inside"))
        elif kind == "address":
            self.copy(answer, *found.span("address"))
        elif kind == "link":
            self._link(found, answer)
        elif kind == "tag":
            self._tag(found)
        elif kind == "entity":
            decoded = html.unescape(found[0])
            self.add(decoded if decoded != found[0] else found[0], start, end)
        elif kind == "power":
            inner = (found["braced"] or found["caret"]).replace("\\", "").strip()
            self.add(SUP, start, start)
            self.add(inner, start, end)
            self.add(SUP_END, end, end)
        elif kind == "emphasis":
            self._mark_emphasis(found, answer)

    def _link(self, found: re.Match[str], answer: str) -> None:
        start, end = found.span()
        if not self._brackets or not _LINKS_TO.search(found["target"]):
            self.copy(answer, start, end)
            return
        opening = self._brackets.pop()
        self.characters[opening] = LINK
        self.targets[opening] = found["target"]
        self.add(LINK_END, start, end)

    def _tag(self, found: re.Match[str]) -> None:
        start, end = found.span()
        text = found[0].lower()
        closes, is_single = text.startswith("</"), text.endswith("/>")
        attributes = found["attributes"] or ""
        if found["sup"]:
            self.add(SUP_END if closes else SUP, start, end)
        elif found["cite"] or found["cohere"]:
            if not closes:
                self.targets[len(self.characters)] = found["cohere"] or _target_of(attributes)
            self.add(CITE_END if closes else CITE, start, end)
            if is_single:
                self.add(CITE_END, end, end)
        elif re.match(r"</?a[\s>]", text):
            self._anchor(closes, attributes, start, end)
        elif re.match(r"<(?:br|hr|/?p|/?div|/?li|/?tr|/?td)\b", text):
            self.add(" ", start, end)

    def _anchor(self, closes: bool, attributes: str, start: int, end: int) -> None:
        if closes:
            if self._anchors:
                self.add(self._anchors.pop(), start, end)
            return
        href = _HREF.search(attributes)
        is_link = bool(href and not href[1].startswith("#"))
        self._anchors.append(LINK_END if is_link else "")
        if href and is_link:
            self.targets[len(self.characters)] = href[1]
            self.add(LINK, start, end)

    def _mark_emphasis(self, found: re.Match[str], answer: str) -> None:
        """Keep the marks for now; `built` leaves out those that have a partner."""
        start, end = found.span()
        before = answer[start - 1 : start] or " "
        after = answer[end : end + 1] or " "
        run = found[0]
        is_word = before.isalnum() and after.isalnum()
        if run[0] == "_" and is_word:
            self.copy(answer, start, end)
            return
        place = len(self.characters)
        self.copy(answer, start, end)
        opened = [n for n, (mark, _) in enumerate(self._emphasis) if mark == run]
        if run == "*" and is_word and after.isdigit() and not opened:  # an allele: "CYP2C9*2"
            return
        if not before.isspace() and opened:
            _, first = self._emphasis[opened[-1]]
            del self._emphasis[opened[-1] :]
            self._forget(first, len(run))
            self._forget(place, len(run))
        elif not after.isspace():
            self._emphasis.append((run, place))

    def _forget(self, place: int, length: int) -> None:
        for n in range(place, place + length):
            self.characters[n] = ""

    def build(self) -> PlainText:
        """Return what was read, without what became empty."""
        for run, place in self._emphasis:
            if run in ("**", "***"):  # a partner that was cut off
                self._forget(place, len(run))
        kept = [n for n, character in enumerate(self.characters) if character]
        moved = {n: place for place, n in enumerate(kept)}
        return PlainText(
            "".join(self.characters[n] for n in kept),
            [self.starts[n] for n in kept],
            [self.ends[n] for n in kept],
            {moved[n]: target for n, target in self.targets.items() if n in moved},
        )


def _target_of(attributes: str) -> str:
    """Return what a citation element points to; Anthropic's index is "document-sentence"."""
    value = _ATTRIBUTE_VALUE.search(attributes)
    if not value:
        return ""
    first = re.match(r"(\d{1,3})-(\d{1,4})", value[1])
    return f"{first[0]}:0" if first and value[0].lower().startswith("index") else value[1]
