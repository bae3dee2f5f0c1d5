"""Convert Markdown or HTML to plain text in which each character has its offsets in the answer.

Emphasis, links, tags, entities and escapes are resolved. Superscripts, citation elements and links
may be citations, so private-use characters mark where they start and end.
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
"""Characters that mark the start and end of superscripts, citation elements and links."""

MASK = "\ue010"
"""Character that replaces the text of a citation mark and never occurs in plain text."""

_CITE_TAGS = "cite|citation|citations|ref|reference|sources?|doc|document|co|footnote|fn"
_PLAIN_TAGS = (
    "a|abbr|address|article|aside|b|big|blockquote|body|br|button|caption|center|code|dd|del|details|"
    "div|dl|dt|em|figure|figcaption|font|footer|h[1-6]|head|header|hr|html|i|img|ins|kbd|label|li|"
    "main|mark|nav|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|summary|table|tbody|td|"
    "tfoot|th|thead|title|tr|tt|u|ul|var|wbr|answer|claim|statement|final_answer|response|final|output"
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
    r"|(?P<power>(?P<dollar>\$)?(?:\^|\\textsuperscript(?=\{))"
    r"(?:\{(?P<braced>\\?[\[(]?[\d,\s\u2013-]{1,30}\\?[\])]?)\}|(?P<caret>\[?[\d,\u2013-]{1,20}\]?)\^"
    r"|(?(dollar)(?P<bare>\d{1,3})|(?!)))(?(dollar)\$))"
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
    """Plain text of part of an answer.

    Attributes:
        starts: Start offset of each character in the answer, shape (len(text),).
        ends: End offset of each character in the answer, shape (len(text),).
        targets: Link addresses and citation attributes, keyed by the index of the start character.
    """

    text: str
    starts: list[int]
    ends: list[int]
    targets: dict[int, str] = field(default_factory=dict)

    def find_source_span(self, start: int, end: int) -> Span:
        """Return the span in the answer that corresponds to a span in the plain text."""
        return self.starts[start], self.ends[end - 1] if start < end else self.starts[start]


def extract_plain_text(answer: str, spans: Iterable[Span]) -> PlainText:
    r"""Return the plain text of spans in an answer, with a line break between two spans.

    The spans must be in order, such as the lines of a paragraph.

    Example:
        >>> plain = extract_plain_text("It **fell** \\[1\\].", [(0, 18)])
        >>> plain.text, plain.find_source_span(3, 7)
        ('It fell [1].', (5, 9))
    """
    builder = _Builder()
    for start, end in spans:
        if builder.characters:
            builder.add("\n", start, start)
        builder.read(answer, start, end)
    return builder.build()


def remove_delimiters(text: str) -> str:
    """Remove delimiters and zero-width spaces, and convert raised numbers to "²" and so on."""
    raised = re.sub(
        rf"{SUP}([^{SUP}{SUP_END}]*){SUP_END}",
        lambda sup: sup[1].translate(_RAISED) if re.search(r"\d", sup[1]) else sup[1],
        text,
    )
    return re.sub(f"[{DELIMITERS}\u200b\u2060\ufeff]", "", raised)


class _Builder:
    def __init__(self) -> None:
        self.characters: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.targets: dict[int, str] = {}
        self._brackets: list[int] = []
        self._emphasis: list[tuple[str, int]] = []
        self._anchors: list[str] = []

    def add(self, text: str, start: int, end: int) -> None:
        """Add characters that all stand for the same span of the answer."""
        self.characters += text
        self.starts += [start] * len(text)
        self.ends += [end] * len(text)

    def copy(self, answer: str, start: int, end: int) -> None:
        """Add a span of the answer unchanged, but with U+FFFD for reserved characters."""
        for index, character in enumerate(answer[start:end], len(self.characters)):
            if character == "[":
                self._brackets.append(index)
            elif character == "]" and self._brackets:
                self._brackets.pop()
        self.characters += re.sub(f"[{DELIMITERS}{MASK}]", "\ufffd", answer[start:end])
        self.starts += range(start, end)
        self.ends += range(start + 1, end + 1)

    def read(self, answer: str, start: int, end: int) -> None:
        """Parse the markup in a span of the answer, and add its text."""
        position = start
        while token := _TOKEN.search(answer, position, end):
            self.copy(answer, position, token.start())
            self._add_token(token.lastgroup or "", token, answer)
            position = token.end()
        self.copy(answer, position, end)

    def _add_token(self, kind: str, token: re.Match[str], answer: str) -> None:
        start, end = token.span()
        if kind == "escape":
            self.add(token[0][1], start, end)
        elif kind in ("code", "address"):
            self.copy(answer, *token.span("inside" if kind == "code" else "address"))
        elif kind == "link":
            self._add_link(token, answer)
        elif kind == "tag":
            self._add_tag(token)
        elif kind == "entity":
            self.add(html.unescape(token[0]), start, end)
        elif kind == "power":
            inner = (token["braced"] or token["caret"] or token["bare"]).replace("\\", "").strip()
            self.add(SUP, start, start)
            self.add(inner, start, end)
            self.add(SUP_END, end, end)
        elif kind == "emphasis":
            self._mark_emphasis(token, answer)

    def _add_link(self, token: re.Match[str], answer: str) -> None:
        start, end = token.span()
        if not self._brackets or not _LINKS_TO.search(token["target"]):
            self.copy(answer, start, end)
            return
        opening = self._brackets.pop()
        self.characters[opening] = LINK
        self.targets[opening] = token["target"]
        self.add(LINK_END, start, end)

    def _add_tag(self, token: re.Match[str]) -> None:
        start, end = token.span()
        text = token[0].lower()
        closes, is_single = text.startswith("</"), text.endswith("/>")
        attributes = token["attributes"] or ""
        if token["sup"]:
            self.add(SUP_END if closes else SUP, start, end)
        elif token["cite"] or token["cohere"]:
            if not closes:
                self.targets[len(self.characters)] = token["cohere"] or _extract_target(attributes)
            self.add(CITE_END if closes else CITE, start, end)
            if is_single:
                self.add(CITE_END, end, end)
        elif re.match(r"</?a[\s>]", text):
            self._add_anchor(closes, attributes, start, end)
        elif re.match(r"<(?:br|hr|/?p|/?div|/?li|/?tr|/?td)\b", text):
            self.add(" ", start, end)

    def _add_anchor(self, closes: bool, attributes: str, start: int, end: int) -> None:
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

    def _mark_emphasis(self, token: re.Match[str], answer: str) -> None:
        """Add an emphasis mark, and remove it and the opening mark if it closes the emphasis."""
        start, end = token.span()
        before = answer[start - 1 : start] or " "
        after = answer[end : end + 1] or " "
        run = token[0]
        is_word = before.isalnum() and after.isalnum()
        if run[0] == "_" and is_word:
            self.copy(answer, start, end)
            return
        index = len(self.characters)
        self.copy(answer, start, end)
        opened = [n for n, (mark, _) in enumerate(self._emphasis) if mark == run]
        is_allele = (is_word and not opened) or before == "/"  # "CYP2C9*2", "*1/*2"
        if run == "*" and after.isdigit() and is_allele:
            return
        if not before.isspace() and opened:
            _, first = self._emphasis[opened[-1]]
            del self._emphasis[opened[-1] :]
            self._clear_characters(first, len(run))
            self._clear_characters(index, len(run))
        elif not after.isspace():
            self._emphasis.append((run, index))

    def _clear_characters(self, index: int, length: int) -> None:
        self.characters[index : index + length] = [""] * length

    def build(self) -> PlainText:
        """Return the collected plain text, without the emphasis marks that were removed."""
        for run, index in self._emphasis:
            if run in ("**", "***"):  # the closing mark was cut off
                self._clear_characters(index, len(run))
        kept = [n for n, character in enumerate(self.characters) if character]
        moved = {n: index for index, n in enumerate(kept)}
        return PlainText(
            "".join(self.characters[n] for n in kept),
            [self.starts[n] for n in kept],
            [self.ends[n] for n in kept],
            {moved[n]: target for n, target in self.targets.items() if n in moved},
        )


def _extract_target(attributes: str) -> str:
    """Return the source that the attributes of a citation element name, or "" if they name none."""
    value = _ATTRIBUTE_VALUE.search(attributes)
    if not value:
        return ""
    first = re.match(r"(\d{1,3})-(\d{1,4})", value[1])
    return f"{first[0]}:0" if first and value[0].lower().startswith("index") else value[1]
