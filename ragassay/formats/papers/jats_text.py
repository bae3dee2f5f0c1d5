"""Convert JATS markup to plain text and tables, with superscripts marked as in "10^3"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element as Element

from ragassay.formats.papers.prose import collapse_lines

FLOATS = frozenset(
    {"table-wrap", "table-wrap-group", "fig", "fig-group", "supplementary-material", "media"}
)
"""Elements such as tables and figures, which are not part of the running text."""

SECTIONS = frozenset({"sec", "app", "app-group", "ref-list", "glossary", "ack", "notes", "bio"})
_NOTES = frozenset({"fn", "fn-group"})
_BLOCKS = frozenset(
    {
        *("p", "list", "list-item", "def-list", "def-item", "disp-quote", "boxed-text", "caption"),
        *("preformat", "code", "verse-group", "speech", "statement", "title", "attrib", "tr"),
        *("address", "question", "answer", "question-wrap", "explanation"),
    }
)
_UNSEEN = frozenset(
    {
        *("label", "object-id", "permissions", "graphic", "inline-graphic", "sec-meta"),
        *("x", "annotation", "annotation-xml", "processing-meta"),
    }
)
_SPACED = frozenset({"break", "hr", "disp-formula", "disp-formula-group", "def", "term", "td"})
_FORMULAS = frozenset({"inline-formula", "disp-formula", "alternatives", "math", "tex-math"})
_POINTERS = frozenset({"bibr", "fn", "table-fn"})
"""Types of references that are marked after a number, so that "12" and "3" do not become "123"."""

_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_SIMPLE = re.compile(r"[+\u2212\u2013-]?[\w.]+[+\u2212-]?")
_LEFT_OPEN = "([{/-\u2013\u2014\u2212"


class Flow:
    """Running text of an element, with its tables, figures, notes and sections kept separate.

    Attributes:
        floats: Tables, figures and similar elements, in document order.
        sections: Subsections, whose text is not in `lines`.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.floats: list[Element] = []
        self.notes: list[Element] = []
        self.sections: list[Element] = []
        self._parts: list[str] = []
        self._last = ""

    def add(self, element: Element) -> None:
        """Add the text and the children of an element."""
        self._write(element.text)
        for child in element:
            self._add_child(child)
            self._write(child.tail)

    def end_line(self) -> None:
        """Finish the current paragraph."""
        if line := collapse_lines("".join(self._parts)):
            self.lines.append(line)
        self._parts, self._last = [], ""

    def _write(self, text: str | None) -> None:
        if text:
            self._parts.append(text)
            self._last = text[-1]

    def _add_child(self, child: Element) -> None:
        tag = child.tag
        if tag in FLOATS:
            self.floats.append(child)
        elif tag in _NOTES:
            self.notes.append(child)
        elif tag in SECTIONS:
            self.sections.append(child)
        elif tag in _BLOCKS:
            self.end_line()
            self.add(child)
            self.end_line()
        elif tag == "sup":
            self._write(_read_superscript(child, self._last))
        elif tag == "xref" and child.get("ref-type") in _POINTERS:
            self._write(_format_pointer(child, self._last))
        elif tag == "sub":
            self._write(_read_subscript(child, self._last))
        elif tag in _FORMULAS:
            space = " " if tag in _SPACED else ""
            self._write(f"{space}{_read_formula(child)}{space}")
        elif tag not in _UNSEEN:
            self._write(" " if tag in _SPACED else "")
            self.add(child)


def extract_lines(element: Element | None) -> list[str]:
    """Return the paragraphs of an element without tables, figures and notes."""
    if element is None:
        return []
    flow = Flow()
    flow.add(element)
    flow.end_line()
    return flow.lines


def extract_text(element: Element | None) -> str:
    """Return the text of an element on one line, or an empty string for None."""
    return " ".join(extract_lines(element))


def _read_superscript(element: Element, before: str) -> str:
    text = extract_text(element)
    if _is_citation(element) and any(c.isalnum() for c in text):
        return text if text.startswith(("[", "(")) or before in ("[", "(") else f"[{text}]"
    is_plain = not any(c.isalnum() for c in text) or not before.strip() or before in _LEFT_OPEN
    if is_plain or (before.isdigit() and text.lower() in _ORDINALS):
        return text
    return f"^{text}" if _SIMPLE.fullmatch(text) else f"^({text})"


def _format_pointer(element: Element, before: str) -> str:
    text = extract_text(element)
    is_separate = not before.strip() or before in _LEFT_OPEN
    if element.get("ref-type") != "bibr":
        return text if is_separate or not any(c.isalnum() for c in text) else f"^{text}"
    return text if is_separate or before in ",;" or not text[:1].isdigit() else f"[{text}]"


def _read_subscript(element: Element, before: str) -> str:
    text = extract_text(element)
    return f"_{text}" if before.isdigit() and text[:1].isdigit() else text


def _is_citation(element: Element) -> bool:
    around = [*element.iterancestors("xref"), *element.iter("xref")]
    return any(one.get("ref-type") == "bibr" for one in around)


def _read_formula(element: Element) -> str:
    for alternative in element.iter("alt-text"):
        if text := collapse_lines(alternative.text or ""):
            return text
    if (math := next(element.iter("math"), None)) is not None:
        return collapse_lines("".join(_render_math(math)))
    tex = next(element.iter("tex-math"), None)
    return _simplify_tex("".join(tex.itertext())) if tex is not None else extract_text(element)


_RELATIONS = frozenset("=<>\u2264\u2265\u2248\u223c\u00b1\u00d7")
_MATH_JOINS = {
    "msup": "^",
    "msub": "_",
    "mfrac": "/",
    "msubsup": "_^",
}


def _render_math(element: Element) -> Iterator[str]:
    tag, children = str(element.tag), list(element)
    if tag in _MATH_JOINS and len(children) > 1:
        signs = _MATH_JOINS[tag]
        yield _group_math(children[0], tag == "mfrac")
        for sign, child in zip(signs, children[1:], strict=False):
            yield sign + _group_math(child, True)
    elif tag in ("msqrt", "mroot"):
        yield "sqrt(" if tag == "msqrt" else "root("
        yield ", ".join("".join(_render_math(child)) for child in children)
        yield ")"
    elif tag == "mfenced":
        yield element.get("open", "(")
        yield ", ".join("".join(_render_math(child)) for child in children)
        yield element.get("close", ")")
    elif tag == "semantics":
        yield from _render_math(children[0]) if children else ()
    elif children:
        for child in children:
            yield from _render_math(child)
    else:
        text = collapse_lines(element.text or "")
        yield f" {text} " if tag == "mo" and text in _RELATIONS else text


def _group_math(element: Element, may_need: bool) -> str:
    text = "".join(_render_math(element))
    is_one = re.fullmatch(r"[\u2212-]?[\w.]*", text) is not None
    return text if is_one or not may_need else f"({text.strip()})"


_MOST_TEX = 20_000
_TEX_BEGIN, _TEX_END = r"\begin{document}", r"\end{document}"
_TEX_WRAPPER = re.compile(
    r"\\(?:math|text|operatorname|mbox|left|right|big)[a-z]*\s*(?=[{(\[|)\]])"
)
_TEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_TEX_SIGNS = {
    r"\times": "\u00d7",
    r"\cdot": "\u00b7",
    r"\pm": "\u00b1",
    r"\leq": "\u2264",
    r"\le": "\u2264",
    r"\geq": "\u2265",
    r"\ge": "\u2265",
    r"\approx": "\u2248",
    r"\sim": "~",
    r"\mu": "\u03bc",
    r"\%": "%",
    r"\,": " ",
    r"\;": " ",
    r"\ ": " ",
}
_TEX_SIGN = re.compile(
    "|".join(re.escape(sign) + ("(?![a-zA-Z])" if sign[1].isalpha() else "") for sign in _TEX_SIGNS)
)


def _simplify_tex(tex: str) -> str:
    tex = tex[:_MOST_TEX]
    document, ended, _ = tex.partition(_TEX_BEGIN)[2].partition(_TEX_END)
    text = (document if ended else tex).replace("$", "")
    text = _TEX_SIGN.sub(lambda match: _TEX_SIGNS[match[0]], _TEX_WRAPPER.sub("", text))
    text = _TEX_FRACTION.sub(r"(\1)/(\2)", text)
    return collapse_lines(re.sub(r"[{}\\]", "", text))


_ROWS = ("tr", "row")
_CELLS = frozenset({"td", "th", "entry"})
_MOST_SPANNED = 100
"""Maximum number of rows or columns spanned by a cell. Larger spans count as 1."""

_MOST_COLUMNS = 500
"""Number of columns in a row after which each cell counts as a single column."""


def render_table(wrap: Element) -> str:
    """Return the rows of the tables in an element, with cells separated by tabs.

    A cell that spans several columns or rows is written once, followed by empty cells.
    """
    lines: list[str] = []
    open_cells: dict[int, int] = {}
    for row in wrap.iter(*_ROWS):
        cells = _read_cells(row, open_cells)
        if any(cells):
            lines.append("\t".join(cells).rstrip("\t"))
    return "\n".join(lines)


def _read_cells(row: Element, open_cells: dict[int, int]) -> list[str]:
    """Return the cells of a row, and update the number of rows still spanned in each column."""
    cells: list[str] = []

    def skip_spanned() -> None:
        while open_cells.get(len(cells), 0) > 0 and len(cells) < _MOST_COLUMNS:
            open_cells[len(cells)] -= 1
            cells.append("")

    for cell in row:
        if cell.tag not in _CELLS:
            continue
        skip_spanned()
        width = _parse_span(cell.get("colspan"))
        height = _parse_span(cell.get("rowspan") or str(_count_rows(cell)))
        for i in range(width if len(cells) < _MOST_COLUMNS else 1):
            if height > 1:
                open_cells[len(cells)] = height - 1
            cells.append("" if i else extract_text(cell).replace("\t", " "))
    skip_spanned()
    return cells


def _count_rows(cell: Element) -> int:
    more = cell.get("morerows") or ""
    return int(more) + 1 if more.isdecimal() and len(more) < 4 else 1


def _parse_span(value: str | None) -> int:
    number = int(value) if value and value.isdecimal() and len(value) < 4 else 1
    return number if 1 <= number <= _MOST_SPANNED else 1
