"""Read a PDF as a paper with pypdf.

PyMuPDF is about 15 times faster and extracts the same words, but it is AGPL-licensed and takes 69
MB. pypdf is BSD-licensed, pure Python, takes 0.4 MB and reads a page in 14 ms. This module removes
running heads and page numbers, joins hyphenated words and marks superscript digits (10^3, not 103).
Tables become lines of text. Headings are recognized only by their wording or number. If a paper is
available as JATS, use the JATS file instead.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.formats.papers.prose import collapse_lines, normalize_id, read_prose
from ragassay.formats.problems import ProblemError
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
_EXPECTED = "a complete PDF; download the file again"


def read_pdf(data: bytes, name: str) -> Paper:
    """Convert a PDF to a paper with the given id.

    Raises:
        ProblemError: The file is damaged, password-protected or too long, or has no text.
    """
    title, texts = _extract_pages(data)
    if sum(map(len, texts)) < _LEAST_CHARS_A_PAGE * max(1, len(texts)):
        text = f"the PDF has {len(texts)} pages without text, possibly scanned"
        raise ProblemError("", text, "a PDF with text; apply OCR first")
    prose = read_prose("\n".join(remove_running_heads(texts)))
    if not prose.sections:
        text = "the file has no text except running heads"
        raise ProblemError("", text, "the text of the paper")
    return Paper(
        id=normalize_id(name), title=title, sections=prose.sections, keywords=prose.keywords
    )


def _extract_pages(data: bytes) -> tuple[str, list[str]]:
    """Return the title from the metadata, if it is plausible, and the text of each page."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    # pypdf logs flaws that it can repair, and raises errors for others.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            text = "the PDF is encrypted with a password"
            raise ProblemError("", text, "a PDF without a password")
        return _read_pages(reader)
    except ProblemError:
        raise
    except DependencyError as error:
        raise ProblemError("", "the PDF is encrypted", "a PDF without encryption") from error
    except Exception as error:
        # A damaged PDF can raise any exception, which must not stop the other files.
        message = f"{type(error).__name__}: {collapse_lines(str(error))[:200]}"
        raise ProblemError("", f"the PDF cannot be read ({message})", _EXPECTED) from error


def _read_pages(reader: PdfReader) -> tuple[str, list[str]]:
    if len(reader.pages) > MAX_PAGES:
        text = f"the PDF has {len(reader.pages):,} pages"
        raise ProblemError("", text, f"a paper of at most {MAX_PAGES:,} pages")
    texts: list[str] = []
    n_chars = 0
    for page in reader.pages:
        texts.append(_read_page(page).translate(_LIGATURES).replace("\x00", ""))
        n_chars += len(texts[-1])
        if n_chars > MAX_CHARS:
            text = f"the PDF has more than {MAX_CHARS:,} characters"
            raise ProblemError("", text, "a single paper")
    title = collapse_lines(str((reader.metadata or {}).get("/Title") or "").replace("\x00", ""))
    return (title if len(title.split()) > 2 and not _NO_TITLE.search(title) else ""), texts


def _read_page(page: PageObject) -> str:
    """Return the text of a page, with "^" before superscript digits."""
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


def remove_running_heads(pages: Sequence[str]) -> list[str]:
    """Remove repeated lines at the top and bottom of pages, such as running heads.

    A line is a running head if it occurs on at least three pages, or on two pages of a short paper.
    Numbers in a running head may differ between pages. Page numbers need to be on only two pages.
    """
    split = [[line.strip() for line in page.splitlines() if line.strip()] for page in pages]
    least = min(3, max(2, len(split) - 1))
    edges = Counter(
        shape for lines in split for shape in {_mask_numbers(x) for x in _list_edges(lines)}
    )
    repeated = {
        shape for shape, n in edges.items() if n >= (2 if _PAGE_NUMBER.fullmatch(shape) else least)
    }
    return ["\n".join(_trim_edges(lines, repeated)) for lines in split]


def _list_edges(lines: list[str]) -> list[str]:
    return [*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:]]


def _mask_numbers(line: str) -> str:
    return re.sub(r"\d+", "#", collapse_lines(line).lower())


def _trim_edges(lines: list[str], repeated: set[str]) -> list[str]:
    first, last = 0, len(lines)
    while first < min(_EDGE_LINES, last) and _mask_numbers(lines[first]) in repeated:
        first += 1
    lowest = max(first, len(lines) - _EDGE_LINES)
    while last > lowest and _mask_numbers(lines[last - 1]) in repeated:
        last -= 1
    return lines[first:last]
