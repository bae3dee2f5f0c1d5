"""Stream articles from files of JATS: one article, or a set of them, as efetch and OAI send it.

The XML is not trusted: see `ragassay.formats.xml_parts`. References to characters by the names that
publishers use (`&alpha;`) are read, other entities are not. One article is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.entities import html5
from pathlib import Path

from lxml.etree import Entity, XMLPullParser, XMLSyntaxError, tostring
from lxml.etree import _Element as Element

from ragassay.formats.items import Place, shown
from ragassay.formats.opening import DAMAGE, damage_text, open_binary
from ragassay.formats.papers.jats import read_jats
from ragassay.formats.problems import Problem, found_text
from ragassay.formats.xml_parts import (
    WHOLE_FILE,
    declares_entities,
    forget,
    line_of,
    not_xml,
)
from ragassay.records import Paper, Rejection

MAX_ARTICLE_BYTES = 64 * 1024 * 1024
"""More than this without the end of an article is no file of papers, and would fill the memory."""

_CHUNK_BYTES = 64 * 1024
_EXPECTED = "an article of JATS, or a set of them"


def iter_jats(path: Path, name: str) -> Iterator[tuple[Paper | Rejection, Place]]:
    """Read a file of JATS, plain or gzip.

    Args:
        path: The file.
        name: The id of an article that has none; for the second one "NAME-2".

    Yields:
        Papers and rejections, with their places. A bad article does not stop the others; where the
        file is truncated or stops being XML, a last rejection says so.
    """
    parser = XMLPullParser(
        events=("end",),
        tag="{*}article",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    count = 0
    for trouble in _fed(path, parser):
        for _, element in parser.read_events():
            place = _place(path, element)
            if declares_entities(element):
                yield place.reject(_entities()), place
                return
            count += 1
            read = _unnamed(element) or read_jats(
                element, name if count == 1 else f"{name}-{count}"
            )
            yield place.reject(read) if isinstance(read, Problem) else read, place
            forget(element)
        if trouble is not None and not (count and trouble[1].field == "root"):
            place = Place(str(path), trouble[0], name, "")
            yield place.reject(trouble[1]), place


def _fed(path: Path, parser: XMLPullParser) -> Iterator[tuple[int, Problem] | None]:
    """Feed a file to a parser piece by piece; at the end give what is wrong, if anything."""
    n_lines, n_pending = 1, 0
    try:
        with open_binary(path) as handle:
            while chunk := handle.read1(_CHUNK_BYTES):
                parser.feed(chunk)
                n_lines += chunk.count(b"\n")
                n_pending = 0 if b"</article>" in chunk else n_pending + len(chunk)
                if n_pending > MAX_ARTICLE_BYTES:
                    text = f"no article ends within {MAX_ARTICLE_BYTES:,} bytes"
                    yield n_lines, Problem("", text, "articles of ordinary length")
                    return
                yield None
            yield 1, _of_root(parser.close())
    except XMLSyntaxError as error:
        yield error.lineno or n_lines, not_xml(error)
    except DAMAGE as error:
        yield n_lines, Problem("", damage_text(error), WHOLE_FILE)


def _of_root(root: Element) -> Problem:
    """Return what is wrong with a file that has no article."""
    if declares_entities(root):
        return _entities()
    said = " ".join(" ".join(map(str, root.itertext())).split())
    told = f", which says {found_text(said)}" if said else ""
    return Problem("root", f"the root element is {found_text(root.tag)}{told}", _EXPECTED)


def _entities() -> Problem:
    text = "the file declares entities of its own; nothing in it was read"
    return Problem("", text, "a file as PubMed Central distributes it")


def _place(path: Path, element: Element) -> Place:
    content = tostring(element, encoding="unicode", with_tail=False)
    line = line_of(element)
    return Place(str(path), line, f"line-{line}", shown(content))


def _unnamed(article: Element) -> Problem | None:
    """Put characters in the place of their names; return a problem where one is unknown."""
    for entity in list(article.iter(Entity)):
        character = html5.get(f"{entity.name};")
        parent = entity.getparent()
        if character is None or parent is None:
            text = f"a reference to the entity {found_text(entity.text)}, which is not expanded"
            return Problem("", text, "characters themselves")
        before, text = entity.getprevious(), character + (entity.tail or "")
        if before is None:
            parent.text = (parent.text or "") + text
        else:
            before.tail = (before.tail or "") + text
        parent.remove(entity)
    return None
