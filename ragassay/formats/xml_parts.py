"""Handle XML that nobody vouches for: nothing is expanded, loaded or fetched."""

from __future__ import annotations

from lxml.etree import XMLSyntaxError
from lxml.etree import _Element as Element

from ragassay.formats.problems import Problem

WHOLE_FILE = "a whole file: fetch or unpack it again"
_MAX_LINE = 65_535


def not_xml(error: XMLSyntaxError) -> Problem:
    """Return the problem of a file that stops being XML."""
    # "…, line 5, column 7" is at the end; the line has a field of its own.
    said, _, where = error.msg.partition(", line ")
    column = where.partition("column ")[2]
    text = f"not XML from here on: {said}" + (f", column {column}" if column else "")
    return Problem("", text, WHOLE_FILE)


def line_of(element: Element) -> int:
    """Return the line that an element starts on; 0 where unknown."""
    if (element.sourceline or 0) < _MAX_LINE:
        return element.sourceline or 0
    # libxml2 has higher line numbers only for text, namely the line on which the text ends.
    for one in element.iter("*"):
        if one.text:
            return one.sourceline - one.text.count("\n")
    return 0


def declares_entities(element: Element) -> bool:
    """Return whether the document around an element declares entities of its own."""
    declared = element.getroottree().docinfo.internalDTD
    return declared is not None and next(iter(declared.iterentities()), None) is not None


def forget(element: Element) -> None:
    """Free a record that was read, and everything before it."""
    element.clear(keep_tail=False)
    parent = element.getparent()
    while parent is not None:
        while element.getprevious() is not None:
            del parent[0]
        element, parent = parent, parent.getparent()
