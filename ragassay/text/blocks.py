"""Parse an answer in Markdown, HTML or plain text into headings, list items, rows and code."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ragassay.text.markup import Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BlockKind = Literal["text", "item", "heading", "row", "code"]
"""Kind of a block: running text, list item, heading, table row or code listing."""

_NEWLINE = re.compile(r"\r\n|\n|\r")
LIST_MARK = re.compile(
    r"[ \t>]{0,40}(?:[-*+\u2022\u2023\u2043\u25aa\u25ab\u25cf\u25cb\u25e6\u25a0\u25a1\u25ba"
    r"\u27a2\u2192\u00b7\u2013\u2014\u2713\u2714\u2705\u2b50]\ufe0f?|\(?\d{1,3}[.)\uff0e\u3001]|\(?[a-z]\)"
    r"|\([A-Z]\)|\(?[ivx]{1,5}\)|[ivx]{2,5}\.|[IVX]{2,5}[.)]|\d\ufe0f?\u20e3)"
    r"(?:[ \t]{1,8}\[[ xX]\])?[ \t]{1,8}(?=\S)"
)
"""Matches a list marker in any common style, but not the start of "E. coli"."""

_CHECK_BOX = re.compile(r"\[[ xX]\][ \t]{1,8}(?=\S)")
_BLOCK_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>p|div|ul|ol|li|h[1-6]|table|thead|tbody|tr|td|th|br|hr|section|article|"
    r"blockquote|pre|dl|dt|dd|caption|summary|details|html|body|head)(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
_MOST_NESTING = 100
_STATES = re.compile(r"[^\s={}]+(?:\s+[^\s={}]+)+")
"""Matches text after an opening code fence that is a sentence, not a language with settings."""


@dataclass(frozen=True)
class Block:
    """A paragraph, list item, heading, table row or code listing of an answer.

    Attributes:
        lines: Spans of the lines in the answer, without list and quote markers.
        cells: Spans of the cells if the block is a table row.
        header: Texts of the table's header cells, or () if there is no header.
    """

    kind: BlockKind
    lines: tuple[Span, ...]
    cells: tuple[Span, ...] = ()
    header: tuple[str, ...] = ()

    @property
    def start(self) -> int:
        """Offset of the block's first character in the answer."""
        return self.lines[0][0]

    @property
    def end(self) -> int:
        """Offset after the block's last character in the answer."""
        return self.lines[-1][1]


def read_blocks(text: str) -> list[Block]:
    r"""Return the blocks of an answer in order. Every non-blank line belongs to one block.

    The answer is parsed as CommonMark with tables, with four differences. Indented text is not
    code, a line of dashes does not turn the line above into a heading, any common list marker
    starts an item, and HTML block elements are recognized anywhere. The answer must not contain the
    model's reasoning.

    Example:
        >>> text = "# Effects\n1. It fell.\n2. It rose."
        >>> [(block.kind, text[block.start : block.end]) for block in read_blocks(text)]
        [('heading', 'Effects'), ('item', 'It fell.'), ('item', 'It rose.')]
    """
    text = text.replace("\x00", "\ufffd")  # like the parser
    first_tag = _BLOCK_TAG.match(text.lstrip())
    if first_tag and not first_tag["end"]:
        return list(_read_html(text, "text", [(0, len(text))]))
    blocks = list(_read_markdown(text))
    if all(block.kind in ("code", "heading") for block in blocks):
        # The answer is wrapped in a fence or consists of a listing.
        blocks = [
            inner
            for block in blocks
            for inner in (_read_fenced(text, block) if block.kind == "code" else [block])
        ]
    return blocks


def _find_line_spans(text: str) -> list[Span]:
    spans, position = [], 0
    for newline in _NEWLINE.finditer(text):
        spans.append((position, newline.start()))
        position = newline.end()
    return [*spans, (position, len(text))]


def _read_markdown(text: str) -> Iterator[Block]:
    """Yield the blocks of Markdown text. Lines that the parser skips become running text."""
    lines, tokens, covered = _find_line_spans(text), _build_parser().parse(text), 0
    for index, token in enumerate(tokens):
        if token.map is None or token.type not in _OWNERS:
            continue
        first, last = token.map
        if first < covered:
            continue
        yield from _read_text_lines(
            text, _select_nonblank_lines(text, lines[covered:first]), "text"
        )
        covered = last
        yield from _OWNERS[token.type](text, lines, tokens, index)
    yield from _read_text_lines(text, _select_nonblank_lines(text, lines[covered:]), "text")


def _select_nonblank_lines(text: str, lines: Sequence[Span]) -> list[Span]:
    return [line for line in lines if text[line[0] : line[1]].strip()]


def _read_inline(
    text: str, lines: Sequence[Span], tokens: Sequence[Token], index: int
) -> Iterator[Block]:
    token, parent = tokens[index], tokens[index - 1]
    kind: BlockKind = "text"
    if parent.type == "heading_open":
        kind = "heading"
    elif index > 1 and tokens[index - 2].type == "list_item_open":
        kind = "item"
    assert token.map is not None
    yield from _read_text_lines(
        text, _find_content_spans(text, lines, token.map, token.content), kind
    )


def _find_content_spans(
    text: str, lines: Sequence[Span], rows: Sequence[int], content: str
) -> list[Span]:
    """Return the span of each line of a Markdown token, without list and quote markers."""
    spans: list[Span] = []
    for (start, end), inner in zip(lines[rows[0] : rows[1]], content.split("\n"), strict=False):
        part = inner.strip()
        at = text.rfind(part, start, end) if part else -1
        if at >= 0:
            spans.append((at, at + len(part)))
    return spans


def _read_rows(
    text: str, lines: Sequence[Span], tokens: Sequence[Token], index: int
) -> Iterator[Block]:
    """Yield the rows of a table except the header, whose cells are added to each row."""
    header: tuple[str, ...] = ()
    for token in tokens[index + 1 :]:
        if token.type == "table_close":
            return
        if token.type != "tr_open" or token.map is None:
            continue
        line = lines[token.map[0]]
        cells = tuple(_find_cell_spans(text, line))
        if not header:
            header = tuple(text[start:end] for start, end in cells)
        elif cells:
            yield Block("row", (line,), cells, header)


def _find_cell_spans(text: str, line: Span) -> Iterator[Span]:
    start, end = line
    row = text[start:end]
    borders = [border.start() for border in re.finditer(r"(?<!\\)\|", row)]
    stripped = row.strip()
    if not stripped.startswith("|"):
        borders.insert(0, -1)
    if not stripped.endswith("|") or stripped.endswith("\\|"):
        borders.append(len(row))
    for left, right in pairwise(borders):
        cell = row[left + 1 : right]
        first = left + 1 + len(cell) - len(cell.lstrip())
        yield start + first, start + max(first, left + 1 + len(cell.rstrip()))


def _read_code(
    text: str, lines: Sequence[Span], tokens: Sequence[Token], index: int
) -> Iterator[Block]:
    token = tokens[index]
    assert token.map is not None
    first, last = token.map
    is_closed = last - first > 1 and re.fullmatch(
        r"[\s>]*[`~]{3,}\s*", text[slice(*lines[last - 1])]
    )
    inside = _select_nonblank_lines(text, lines[first + 1 : last - 1 if is_closed else last])
    info = token.info.strip().lower()
    if _STATES.fullmatch(info) or (info and not inside):  # a sentence, not a language
        yield from _read_text_lines(text, [lines[first]], "text")
    if inside and (not is_closed or info.split()[:1] in (["markdown"], ["md"])):
        yield from _read_fenced(text, Block("code", tuple(inside)))
    elif inside:
        yield Block("code", tuple(inside))


def _read_fenced(text: str, block: Block) -> list[Block]:
    """Parse the content of a code fence as Markdown."""
    inner = text[block.start : block.end]
    return [
        Block(
            one.kind if one.kind != "code" else "text",
            tuple((a + block.start, b + block.start) for a, b in one.lines),
            tuple((a + block.start, b + block.start) for a, b in one.cells),
            one.header,
        )
        for one in _read_markdown(inner)
    ]


_OWNERS = {
    "inline": _read_inline,
    "table_open": _read_rows,
    "fence": _read_code,
    "hr": lambda *_: iter(()),
}


def _read_text_lines(text: str, lines: Sequence[Span], kind: BlockKind) -> Iterator[Block]:
    if not any(_BLOCK_TAG.search(text, *line) for line in lines):
        yield from _split_items(text, lines, kind)
        return
    for block in _read_html(text, kind, lines):
        if block.cells or block.kind == "code":
            yield block
        else:
            yield from _split_items(text, block.lines, block.kind)


def _split_items(text: str, lines: Sequence[Span], kind: BlockKind) -> Iterator[Block]:
    block_lines: list[Span] = []
    for n, (start, end) in enumerate(lines):
        box = _CHECK_BOX.match(text, start, end) if kind == "item" and not n else None
        start = box.end() if box else start
        mark = LIST_MARK.match(text, start, end)
        if mark and kind != "heading":
            if block_lines:
                yield Block(kind, tuple(block_lines))
            block_lines, kind = [(mark.end(), end)], "item"
        else:
            block_lines.append((start, end))
    if block_lines:
        yield Block(kind, tuple(block_lines))


class _HtmlReader:
    def __init__(self, kind: BlockKind) -> None:
        self.blocks: list[Block] = []
        self._kind: BlockKind = kind
        self._outer: BlockKind = kind
        self._lines: list[Span] = []
        self._cells: list[Span] | None = None
        self._is_header = False
        self._header: tuple[str, ...] = ()

    def add_text(self, text: str, start: int, end: int) -> None:
        """Add the lines of the text between two tags to the current block."""
        for first, last in _find_line_spans(text[start:end]):
            piece = text[start + first : start + last]
            if piece.strip():
                left = start + first + len(piece) - len(piece.lstrip())
                self._lines.append((left, start + first + len(piece.rstrip())))

    def read_tag(self, name: str, is_end: bool, text: str) -> None:
        """Start or end a block at the start or end tag of an element."""
        if name in ("td", "th"):
            self._read_cell(name, is_end)
        elif name == "tr":
            self._read_row(is_end, text)
        elif self._cells is None:
            self.end_block()
            headings = ("h1", "h2", "h3", "h4", "h5", "h6", "summary", "caption", "dt")
            if name in headings and not is_end:
                self._kind = "heading"
            elif name in ("li", "dd") and not is_end:
                self._kind = "item"
            elif name == "pre":
                self._kind = self._outer if is_end else "code"
            elif name != "br":
                self._kind = self._outer if name not in ("p", "div") or is_end else self._kind
        if name == "table" and is_end:
            self._header = ()

    def _read_cell(self, name: str, is_end: bool) -> None:
        if self._cells is None:
            self._cells = []
        if is_end and self._lines:
            self._cells.append((self._lines[0][0], self._lines[-1][1]))
            self._lines = []
        self._is_header = self._is_header or name == "th"

    def _read_row(self, is_end: bool, text: str) -> None:
        if is_end and self._cells:
            cells = tuple(self._cells)
            if self._is_header and not self._header:
                self._header = tuple(text[start:end] for start, end in cells)
            else:
                span = (cells[0][0], cells[-1][1])
                self.blocks.append(Block("row", (span,), cells, self._header))
        elif not is_end:
            self.end_block()
        self._cells, self._is_header = (None if is_end else []), False

    def end_block(self) -> None:
        """End the current block."""
        if self._lines:
            self.blocks.append(Block(self._kind, tuple(self._lines)))
        self._lines = []


def _read_html(text: str, kind: BlockKind, spans: Sequence[Span]) -> Iterator[Block]:
    reader = _HtmlReader(kind)
    for start, end in spans:
        position = start
        for tag in _BLOCK_TAG.finditer(text, start, end):
            reader.add_text(text, position, tag.start())
            reader.read_tag(tag["name"].lower(), bool(tag["end"]), text)
            position = tag.end()
        reader.add_text(text, position, end)
    reader.end_block()
    yield from reader.blocks


@functools.cache
def _build_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _MOST_NESTING}).enable("table")
    return parser.disable(["code", "lheading", "reference", "html_block", "inline"])
