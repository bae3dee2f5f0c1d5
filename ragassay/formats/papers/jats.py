"""Read papers from JATS, the XML format of PubMed Central. A file may contain several articles."""

from __future__ import annotations

from collections.abc import Iterator
from html.entities import html5
from pathlib import Path

from lxml.etree import Entity, QName, XMLPullParser, XMLSyntaxError, tostring
from lxml.etree import _Element as Element

from ragassay.formats.files import CORRUPTION_ERRORS, describe_corruption, open_binary
from ragassay.formats.items import Place, shorten_text
from ragassay.formats.papers.jats_text import Flow, extract_lines, extract_text, render_table
from ragassay.formats.papers.prose import classify_heading, collapse_lines, normalize_id
from ragassay.formats.problems import Problem, quote_text
from ragassay.records import Paper, PaperSection, Rejection
from ragassay.records.qa import SectionKind

WHOLE_FILE = "a complete file; download or unpack the file again"
_MAX_LINE = 65_535


def describe_xml_error(error: XMLSyntaxError) -> Problem:
    """Return a problem that says where the file stops being well-formed XML."""
    # The message ends with "line 5, column 7". The line is reported separately.
    message, _, where = error.msg.partition(", line ")
    column = where.partition("column ")[2]
    text = f"not XML from here on: {message}" + (f", column {column}" if column else "")
    return Problem("", text, WHOLE_FILE)


def find_line_number(element: Element) -> int:
    """Return the line of an element in its file, or 0 if it is unknown."""
    if (element.sourceline or 0) < _MAX_LINE:
        return element.sourceline or 0
    # libxml2 reports higher line numbers only for text, as the line on which the text ends.
    for descendant in element.iter("*"):
        if descendant.text:
            return descendant.sourceline - descendant.text.count("\n")
    return 0


def declares_entities(element: Element) -> bool:
    """Return whether an element's document declares entities in an internal DTD."""
    declared = element.getroottree().docinfo.internalDTD
    return declared is not None and next(iter(declared.iterentities()), None) is not None


def forget(element: Element) -> None:
    """Free the memory of an element and all preceding elements."""
    element.clear(keep_tail=False)
    parent = element.getparent()
    while parent is not None:
        while element.getprevious() is not None:
            del parent[0]
        element, parent = parent, parent.getparent()


_ID_TYPES = ("doi", "pmcid", "pmc", "pmcaid", "pmid")
_BACK_TYPES = frozenset(
    {"supplementary-material", "coi-statement", "ack", "data-availability", "funding-information"}
)
_MAX_LICENCE_CHARS = 300


def read_jats(article: Element, name: str) -> Paper | Problem:
    """Convert an `article` element to a paper, and remove its namespaces in place.

    An article without a DOI, PMCID or PMID gets the id `name`.
    """
    for element in article.iter("*"):
        element.tag = QName(element).localname
    if (meta := article.find("front/article-meta")) is None:
        meta = article.makeelement("article-meta")
    sections = tuple(_read_sections(article, meta))
    if not sections:
        return Problem(
            "article", "the article has neither an abstract nor a body", "an article with text"
        )
    return Paper(
        id=_find_id(meta) or normalize_id(name),
        title=extract_text(meta.find("title-group/article-title")),
        sections=sections,
        keywords=_list_keywords(meta),
        journal=extract_text(article.find("front/journal-meta//journal-title")),
        licence=_find_licence(meta),
    )


def _find_id(meta: Element) -> str:
    ids = {one.get("pub-id-type"): extract_text(one) for one in meta.findall("article-id")}
    if (kind := next((kind for kind in _ID_TYPES if ids.get(kind)), None)) is None:
        return ""
    if kind.startswith("pmc") and ids[kind].isdecimal():
        return f"PMC{ids[kind]}"
    return normalize_id(ids[kind])


def _list_keywords(meta: Element) -> tuple[str, ...]:
    groups = meta.findall("kwd-group")
    groups = [one for one in groups if "abbr" not in (one.get("kwd-group-type") or "").lower()]
    english = [
        group for group in groups if (_find_attribute(group, "lang") or "en").startswith("en")
    ]
    keywords = (
        one for group in english or groups for one in group.iter("kwd", "compound-kwd-part")
    )
    names = (extract_text(keyword).strip(" .,;") for keyword in keywords)
    return tuple(dict.fromkeys(filter(None, names)))


def _find_licence(meta: Element) -> str:
    if (licence := meta.find("permissions/license")) is None:
        return ""
    links = (_find_attribute(one, "href") for one in licence.iter("ext-link", "uri"))
    candidates = (
        _find_attribute(licence, "href"),
        extract_text(licence.find(".//license_ref")),
        next((link for link in links if "creativecommons.org" in link), ""),
        extract_text(licence),
        licence.get("license-type") or "",
    )
    return next(filter(None, candidates), "")[:_MAX_LICENCE_CHARS]


def _find_attribute(element: Element, name: str) -> str:
    return next((str(v) for k, v in element.attrib.items() if QName(k).localname == name), "")


def _read_sections(article: Element, meta: Element) -> Iterator[PaperSection]:
    abstracts = meta.findall("abstract")
    main = [one for one in abstracts if not one.get("abstract-type")] or abstracts
    for one in main:
        yield from _read_article(one, ("Abstract",), "abstract")
    yield from _read_article(article.find("body"), (), "body")
    yield from _read_floats(article.find("floats-group"))
    for one in (*(one for one in abstracts if one not in main), *meta.findall("trans-abstract")):
        yield from _read_article(one, ("Abstract",), "back")
    yield from _read_article(article.find("back"), (), "back")


def _read_article(
    element: Element | None, path: tuple[str, ...], kind: SectionKind
) -> Iterator[PaperSection]:
    if element is None:
        return
    title = element.find("title")
    flow = Flow()
    flow.add(element)
    flow.end_line()
    name = extract_text(title)
    lines = flow.lines[1:] if name and flow.lines[:1] == [name] else flow.lines
    if name and name.casefold() != (path[-1].casefold() if path else ""):
        path = (*path, name)
    if element.tag in ("sec", "ack", "notes") and len(path) == 1:
        sec_type = (element.get("sec-type") or "").lower()
        is_back = classify_heading(name) == "back" or sec_type in _BACK_TYPES
        kind = "back" if is_back else kind
    if lines:
        yield PaperSection(title=" / ".join(path), text="\n".join(lines), kind=kind)
    for one in flow.floats:
        yield from _read_float(one)
    for one in flow.sections:
        if one.tag == "ref-list":
            yield from _read_references(one)
        else:
            yield from _read_article(one, path, "body" if one.tag == "app" else kind)
    yield from _read_notes(flow.notes, path)


def _read_notes(notes: list[Element], path: tuple[str, ...]) -> Iterator[PaperSection]:
    single = (
        one for note in notes for one in (note.iter("fn") if note.tag == "fn-group" else [note])
    )
    lines = [line for one in single for line in extract_lines(one)]
    if lines:
        title = " / ".join((*path, "Notes"))
        yield PaperSection(title=title, text="\n".join(lines), kind="back")


def _read_floats(group: Element | None) -> Iterator[PaperSection]:
    for one in group if group is not None else ():
        yield from _read_float(one)


_NAMES = {"table-wrap": "Table", "fig": "Figure"}


def _read_float(element: Element) -> Iterator[PaperSection]:
    if element.tag in ("table-wrap-group", "fig-group"):
        yield from _read_floats(element)
        return
    label = extract_text(element.find("label")).rstrip(".:") or _NAMES.get(
        str(element.tag), "Supplement"
    )
    notes = [line for one in element.iter("table-wrap-foot") for line in _list_foot_lines(one)]
    captioned = element.find("caption")
    if captioned is None and element.tag not in _NAMES:
        captioned = element
    if caption := [*extract_lines(captioned), *notes]:
        yield PaperSection(title=label, text="\n".join(caption), kind="caption")
    rows = render_table(element) if element.tag == "table-wrap" else ""
    if rows:
        yield PaperSection(title=label, text=rows, kind="table")


def _list_foot_lines(foot: Element) -> list[str]:
    notes = ((extract_text(one.find("label")), extract_text(one)) for one in foot.iter("fn"))
    return [*extract_lines(foot), *(f"{label} {text}".strip() for label, text in notes if text)]


def _read_references(element: Element) -> Iterator[PaperSection]:
    lines = [line for one in element.iter("ref") if (line := _format_reference(one))]
    if lines:
        title = extract_text(element.find("title")) or "References"
        yield PaperSection(title=title, text="\n".join(lines), kind="reference")


def _format_reference(ref: Element) -> str:
    label = extract_text(ref.find("label")).strip("[].()")
    citations = ref.iter("mixed-citation", "element-citation", "nlm-citation", "note")
    texts = map(_read_citation, citations)
    return collapse_lines(f"{label}. {'; '.join(texts)}" if label else "; ".join(texts))


def _read_citation(element: Element) -> str:
    between = (element.text, *(child.tail for child in element))
    if any(text and text.strip() for text in between):
        return extract_text(element)
    return collapse_lines(
        " ".join(collapse_lines(text) for text in element.itertext() if text.strip())
    )


MAX_ARTICLE_BYTES = 64 * 1024 * 1024
"""Maximum number of bytes between the ends of two articles. The limit bounds memory use."""

_CHUNK_BYTES = 64 * 1024
_EXPECTED = "a JATS article or a set of articles"
_OWN_ENTITIES = Problem(
    field="",
    text="the file declares its own entities and was not read",
    expected="a file as distributed by PubMed Central",
)


def iter_jats(path: Path, name: str) -> Iterator[tuple[Paper | Rejection, Place]]:
    """Yield the papers and rejections of a JATS file, optionally compressed with gzip.

    Reading continues after an invalid article. If the file is truncated or not well-formed, the
    last item is a rejection. Articles without an id get ids such as `name` and "NAME-2".
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
    for failure in _feed_parser(path, parser):
        for _, element in parser.read_events():
            place = _locate_element(path, element)
            if declares_entities(element):
                yield place.reject(_OWN_ENTITIES), place
                return
            count += 1
            paper = _replace_entities(element) or read_jats(
                element, name if count == 1 else f"{name}-{count}"
            )
            yield place.reject(paper) if isinstance(paper, Problem) else paper, place
            forget(element)
        if failure is not None and not (count and failure[1].field == "root"):
            place = Place(str(path), failure[0], name, "")
            yield place.reject(failure[1]), place


def _feed_parser(path: Path, parser: XMLPullParser) -> Iterator[tuple[int, Problem] | None]:
    """Feed a file to a parser, yield None after each chunk, and end with a line and its problem."""
    n_lines, n_pending = 1, 0
    try:
        with open_binary(path) as handle:
            while chunk := handle.read1(_CHUNK_BYTES):
                parser.feed(chunk)
                n_lines += chunk.count(b"\n")
                n_pending = 0 if b"</article>" in chunk else n_pending + len(chunk)
                if n_pending > MAX_ARTICLE_BYTES:
                    text = f"no article ends within {MAX_ARTICLE_BYTES:,} bytes"
                    yield n_lines, Problem("", text, "shorter articles")
                    return
                yield None
            yield 1, _describe_root(parser.close())
    except XMLSyntaxError as error:
        yield error.lineno or n_lines, describe_xml_error(error)
    except CORRUPTION_ERRORS as error:
        yield n_lines, Problem("", describe_corruption(error), WHOLE_FILE)


def _describe_root(root: Element) -> Problem:
    if declares_entities(root):
        return _OWN_ENTITIES
    message = " ".join(" ".join(map(str, root.itertext())).split())
    content = f" with the text {quote_text(message)}" if message else ""
    return Problem("root", f"the root element is {quote_text(root.tag)}{content}", _EXPECTED)


def _locate_element(path: Path, element: Element) -> Place:
    content = tostring(element, encoding="unicode", with_tail=False)
    line = find_line_number(element)
    return Place(str(path), line, f"line-{line}", shorten_text(content))


def _replace_entities(article: Element) -> Problem | None:
    for entity in list(article.iter(Entity)):
        character = html5.get(f"{entity.name};")
        parent = entity.getparent()
        if character is None or parent is None:
            text = f"the entity {quote_text(entity.text)} is unknown"
            return Problem("", text, "characters instead of entities")
        before, text = entity.getprevious(), character + (entity.tail or "")
        if before is None:
            parent.text = (parent.text or "") + text
        else:
            before.tail = (before.tail or "") + text
        parent.remove(entity)
    return None
