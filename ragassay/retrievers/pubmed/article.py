"""Parse `PubmedArticle` and `PubmedBookArticle` elements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element as Element

from ragassay.formats.problems import Problem, quote_text
from ragassay.records.inputs import Article
from ragassay.retrievers.pubmed.dates_links import (
    convert_references,
    find_earliest_date,
    join_date,
    parse_free_date,
)

NO_TITLE = "[Not Available]."
"""Text that PubMed uses if an article has no English title."""

_UNLABELLED = "UNLABELLED"
PMID = re.compile(r"[0-9]{1,8}\Z")
_VERSION = re.compile(r"[1-9][0-9]{0,3}\Z")
_RESOLVER = re.compile(r"(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*", re.IGNORECASE)


def read_article(record: Element) -> Article | Problem:
    """Parse a `PubmedArticle` element.

    The title is the `ArticleTitle`, or the `VernacularTitle` if the `ArticleTitle` is empty or
    "[Not Available].". The text is the `Abstract`, with one section per line. `published` is the
    electronic date or the issue date, whichever is earlier.

    Returns:
        Article, or a problem if the PMID or a date is invalid, or if there is neither a title nor
        an abstract.
    """
    citation = _find_child(record, "MedlineCitation")
    if citation is None:
        return Problem(
            "MedlineCitation", "the element MedlineCitation is missing", "a MedlineCitation element"
        )
    article = _find_child(citation, "Article")
    if article is None:
        return Problem(
            "MedlineCitation.Article", "the element Article is missing", "an Article element"
        )
    title = _flatten_element(_find_child(article, "ArticleTitle"))
    if not title or title == NO_TITLE:
        title = _flatten_element(_find_child(article, "VernacularTitle"))
    journal = _find_child(article, "Journal")
    issue = _find_child(_find_child(journal, "JournalIssue"), "PubDate")
    return _build(
        citation=citation,
        article=article,
        title=title,
        journal=_flatten_element(_find_child(journal, "Title"))
        or _flatten_element(_find_child(journal, "ISOAbbreviation")),
        dates=(*article.iterchildren("ArticleDate"), issue),
        types=_find_child(article, "PublicationTypeList"),
        ids=_find_child(_find_child(record, "PubmedData"), "ArticleIdList"),
    )


def read_book_article(record: Element) -> Article | Problem:
    """Parse a `PubmedBookArticle` element, which is a chapter or a whole book.

    `journal` is the title of the book. `published` is the contribution date or the book date,
    whichever is earlier. See `read_article` for the result.
    """
    document = _find_child(record, "BookDocument")
    if document is None:
        return Problem(
            "BookDocument", "the element BookDocument is missing", "a BookDocument element"
        )
    book = _find_child(document, "Book")
    name = _flatten_element(_find_child(book, "BookTitle"))
    title = _flatten_element(_find_child(document, "ArticleTitle")) or _flatten_element(
        _find_child(document, "VernacularTitle")
    )
    return _build(
        citation=document,
        article=document,
        title=title or name,
        journal=name,
        dates=(_find_child(document, "ContributionDate"), _find_child(book, "PubDate")),
        types=document,
        ids=_find_child(document, "ArticleIdList"),
    )


def read_pmid(element: Element | None) -> tuple[str, int] | Problem:
    """Parse a PMID and its version, which is 1 if the element does not state a version.

    Returns:
        PMID and version, or a problem if the PMID is not 1 to 8 digits or the version is invalid.
    """
    text = _flatten_element(element)
    if element is None or not PMID.match(text):
        found = f"found {quote_text(text)}" if text else "the PMID is missing"
        return Problem("PMID", found, "1 to 8 digits")
    version = element.get("Version") or "1"
    if not _VERSION.match(version):
        return Problem("PMID.Version", f"found {quote_text(version)}", "a number of at least 1")
    return text, int(version)


def normalize_doi(text: str) -> str:
    """Return a DOI in lowercase and without a resolver URL, or an empty string if it is invalid."""
    match = _RESOLVER.match(text)
    doi = text[match.end() :] if match else text
    return doi.lower() if doi.startswith("10.") and " " not in doi else ""


def _build(
    *,
    citation: Element,
    article: Element,
    title: str,
    journal: str,
    dates: tuple[Element | None, ...],
    types: Element | None,
    ids: Element | None,
) -> Article | Problem:
    pmid = read_pmid(_find_child(citation, "PMID"))
    if isinstance(pmid, Problem):
        return pmid
    text = _join_abstract(_find_child(article, "Abstract"))
    if not title and not text:
        return Problem(
            "Article", "the article has neither a title nor an abstract", "a title or an abstract"
        )
    published = _read_date(dates)
    if isinstance(published, Problem):
        return published
    kinds = _list_texts(types, "PublicationType")
    return Article(
        id=pmid[0],
        version=pmid[1],
        title=title,
        text=text,
        journal=journal,
        published=published,
        doi=_find_doi(article, ids),
        publication_types=kinds,
        mesh=_list_texts(_find_child(citation, "MeshHeadingList"), "DescriptorName"),
        links=convert_references(
            _list_references(_find_child(citation, "CommentsCorrectionsList")), kinds
        ),
    )


def _find_child(element: Element | None, name: str) -> Element | None:
    # Twice as fast as `find`.
    return None if element is None else next(element.iterchildren(name), None)


def _flatten_element(element: Element | None) -> str:
    """Return the text of an element without markup, with whitespace collapsed."""
    if element is None:
        return ""
    text = "".join(element.itertext()) if len(element) else element.text or ""
    return " ".join(text.split())


def _list_texts(parent: Element | None, name: str) -> tuple[str, ...]:
    if parent is None:
        return ()
    return tuple(text for element in parent.iter(name) if (text := (element.text or "").strip()))


def _join_abstract(abstract: Element | None) -> str:
    if abstract is None:
        return ""
    lines: list[str] = []
    for section in abstract.iterchildren("AbstractText"):
        text = _flatten_element(section)
        label = " ".join(section.get("Label", "").split()).removesuffix(":")
        if text and label and label.upper() != _UNLABELLED:
            text = f"{label}: {text}"
        if text:
            lines.append(text)
    return "\n".join(lines)


def _read_date(dates: tuple[Element | None, ...]) -> str | Problem:
    known: list[str] = []
    for element in dates:
        if element is None:
            continue
        parts = {child.tag: (child.text or "").strip() for child in element}
        if "MedlineDate" in parts:
            date = parse_free_date(parts["MedlineDate"])
        else:
            date = join_date(parts.get("Year", ""), parts.get("Month", ""), parts.get("Day", ""))
        if isinstance(date, Problem):
            return date
        known.append(date)
    return find_earliest_date(known)


def _find_doi(article: Element, ids: Element | None) -> str:
    elements = [
        location
        for location in article.iterchildren("ELocationID")
        if location.get("EIdType") == "doi" and location.get("ValidYN") != "N"
    ]
    if ids is not None:
        elements += [e for e in ids.iterchildren("ArticleId") if e.get("IdType") == "doi"]
    return next(
        filter(None, (normalize_doi(_flatten_element(element)) for element in elements)), ""
    )


def _list_references(corrections: Element | None) -> Iterator[tuple[str, str, str]]:
    for entry in () if corrections is None else corrections.iterchildren("CommentsCorrections"):
        pmid = _flatten_element(_find_child(entry, "PMID"))
        yield (
            entry.get("RefType", ""),
            pmid if PMID.match(pmid) else "",
            _flatten_element(_find_child(entry, "RefSource")),
        )
