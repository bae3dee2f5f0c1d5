"""Read the text of a PDF as a paper, by pypdf.

pypdf rather than PyMuPDF: it is BSD-licensed (PyMuPDF is AGPL, which users of an Apache-2.0 package
do not expect), plain Python and 0.4 MB (PyMuPDF: 69 MB). It is about 15 times slower, at 14 ms a
page, and finds the same words. Running heads, page numbers, hyphenation and raised digits (10^3,
not 103) are mended here; tables come out as lines of text, and a heading that neither its words nor
a number tell stays in its paragraph. Where a paper is there as JATS too, take that.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.formats.papers.prose import flat, plain_id, read_prose
from ragassay.formats.problems import Problem
from ragassay.records import Paper

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

    Matrix = Sequence[float]

MAX_PAGES = 2_000
MAX_CHARS = 20_000_000
_LEAST_CHARS_A_PAGE = 20
_SMALL = 0.9
_LEAST_RISE = 0.1
_RAISED = re.compile(r"[+\u2212\u2013-]?\d{1,3}(?:[,\u2013-]\d{1,3})*|[+\u2212\u2013-]")
_EDGE_LINES = 3
_PAGE_NUMBER = re.compile(r"(?:page )?#(?: ?(?:of|/) ?#)?|[-\u2013] ?# ?[-\u2013]", re.IGNORECASE)
_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
)
_NO_TITLE = re.compile(r"\.(?:docx?|tex|pdf|indd|rtf)\b|^(?:untitled|microsoft)", re.IGNORECASE)
_WHOLE = "a whole PDF: fetch it again"


def read_pdf(data: bytes, name: str) -> Paper | Problem:
    """Turn a PDF into a paper.

    Args:
        name: The paper's id.

    Returns:
        A problem where the file is damaged, encrypted with a password, too long, or has no text,
        as scanned pages have none.
    """
    pages = _pages(data)
    if isinstance(pages, Problem):
        return pages
    title, texts = pages
    if sum(map(len, texts)) < _LEAST_CHARS_A_PAGE * max(1, len(texts)):
        text = f"{len(texts)} pages without text: they may be scanned pictures"
        return Problem("", text, "a PDF with text: recognise the characters first (OCR)")
    read = read_prose("\n".join(without_heads(texts)))
    if not read.sections:
        return Problem("", "the file has no text but running heads", "the paper's text")
    return Paper(
        id=plain_id(name),
        title=title,
        sections=read.sections,
        keywords=read.keywords,
    )


def _pages(data: bytes) -> tuple[str, list[str]] | Problem:
    """Return the title in the file's notes, if it is one, and the text of each page."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    # It tells of every flaw that it mends; a flaw that it cannot mend raises.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return Problem("", "the PDF is encrypted with a password", "a PDF without a password")
        return _read_pages(reader)
    except DependencyError:
        return Problem("", "the PDF is encrypted", "a PDF without encryption")
    except Exception as error:
        # The boundary of one file: a damaged PDF raises whatever its damage leads to.
        message = flat(str(error))[:200]
        return Problem(
            "", f"not a PDF that can be read ({type(error).__name__}: {message})", _WHOLE
        )


def _read_pages(reader: PdfReader) -> tuple[str, list[str]] | Problem:
    if len(reader.pages) > MAX_PAGES:
        text = f"the PDF has {len(reader.pages):,} pages"
        return Problem("", text, f"a paper, of at most {MAX_PAGES:,} pages")
    texts: list[str] = []
    n_chars = 0
    for page in reader.pages:
        texts.append(_page_text(page).translate(_LIGATURES).replace("\x00", ""))
        n_chars += len(texts[-1])
        if n_chars > MAX_CHARS:
            return Problem("", f"the PDF has more than {MAX_CHARS:,} characters", "a paper")
    title = flat(str((reader.metadata or {}).get("/Title") or "").replace("\x00", ""))
    return (title if len(title.split()) > 2 and not _NO_TITLE.search(title) else ""), texts


def _page_text(page: PageObject) -> str:
    """Return a page's text, with "^" before digits that stand smaller and higher."""
    parts: list[str] = []
    last, height, size = "", 0.0, 0.0

    def visit(text: str, cm: Matrix, tm: Matrix, _: object, font_size: float) -> None:
        nonlocal last, height, size
        if text.strip():
            own_size = abs(font_size * tm[3] * cm[3])
            own_height = tm[5] * cm[3] + cm[5]
            is_small = 0 < own_size < _SMALL * size
            is_raised = is_small and _LEAST_RISE * size < own_height - height < size
            if is_raised and last.isalnum() and _RAISED.fullmatch(text.strip()):
                text = f"^{text.strip()}"
            elif not is_raised:
                height, size = own_height, own_size
        parts.append(text)
        last = text[-1:] or last

    page.extract_text(visitor_text=visit)
    return "".join(parts)


def without_heads(pages: Sequence[str]) -> list[str]:
    """Return pages without the lines that repeat at their edges: running heads, page numbers.

    A head repeats on three pages, in a shorter paper on two, whatever numbers are in it; a page's
    number repeats on two.
    """
    split = [[line.strip() for line in page.splitlines() if line.strip()] for page in pages]
    least = min(3, max(2, len(split) - 1))
    edges = Counter(shape for lines in split for shape in {_shape(x) for x in _edges(lines)})
    repeated = {shape for shape, n in edges.items() if n >= (2 if _is_number(shape) else least)}
    return ["\n".join(_trim_edges(lines, repeated)) for lines in split]


def _edges(lines: list[str]) -> list[str]:
    return [*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:]]


def _shape(line: str) -> str:
    return re.sub(r"\d+", "#", flat(line).lower())


def _is_number(shape: str) -> bool:
    return _PAGE_NUMBER.fullmatch(shape) is not None


def _trim_edges(lines: list[str], repeated: set[str]) -> list[str]:
    """Drop repeated lines from both edges, up to the first that is none."""
    first, last = 0, len(lines)
    while first < min(_EDGE_LINES, last) and _shape(lines[first]) in repeated:
        first += 1
    lowest = max(first, len(lines) - _EDGE_LINES)
    while last > lowest and _shape(lines[last - 1]) in repeated:
        last -= 1
    return lines[first:last]
