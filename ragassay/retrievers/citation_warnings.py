"""Find problems of cited articles before anyone reads them: retracted, corrected, unknown."""

from __future__ import annotations

import re

from ragassay.records import Article, Case, Citation, Finding, LinkKind, Notice
from ragassay.retrievers.literature import Literature, bare_identifier, day_number

_ARTICLE_ID = re.compile(r"[0-9]{5,8}|10\.[0-9]{4,9}/\S+")
"""A PMID or a DOI. Shorter numbers are list positions, and no recent article has one."""

_NAMED = re.compile(r"PMIDs?[:\s]*([0-9]+)|\S*?\s*(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)
"""A marker that calls itself a PMID (however short), or that ends in a DOI."""

_WORDS: dict[Notice, tuple[str, str, LinkKind]] = {
    "retracted": ("retracted_citation", "which was retracted", "retracted_by"),
    "concern": ("concern_citation", "which is under an expression of concern", "concern_by"),
    "corrected": ("corrected_citation", "to which a correction was published", "corrected_by"),
    "preprint": ("preprint_citation", "which is a preprint", "published_as"),
}
"""Kind of the finding, its words, and the link that names the notice."""


def citation_findings(case: Case, literature: Literature, written: str = "") -> tuple[Finding, ...]:
    """Look up every cited PMID and DOI.

    A citation that does not resolve is looked up by its marker: a PMID or a DOI that the literature
    lacks, too, is an "unknown_citation". (The verifier is what marks it invalid.)

    Args:
        case: A case; citations of positions and other ids are ignored.
        literature: Where articles are looked up. One without dates and notices (a file of plain
            documents) gives no findings on them.
        written: When the answer was written: "2024", "2024-05" or "2024-05-01"; empty if unknown.

    Returns:
        In the order of sentences and citations, an article's notices the most serious first.

    Raises:
        CorpusError: The literature cannot be reached.
    """
    found: list[Finding] = []
    for sentence in case.sentences:
        for citation in sentence.citations:
            problems = _problems(citation, literature, written)
            found += [_finding(sentence.index, citation, *problem) for problem in problems]
    return tuple(found)


def _names(citation: Citation) -> list[str]:
    """Return the article ids to look a citation up by: its document's, then its marker's."""
    named = _NAMED.fullmatch(citation.marker.strip())
    pmid, doi = named.groups("") if named else ("", "")
    others = (bare_identifier(citation.document or ""), bare_identifier(doi or citation.marker))
    names = [*(name for name in others if _ARTICLE_ID.fullmatch(name)), pmid]
    return [name for name in dict.fromkeys(names) if name]


def _problems(citation: Citation, literature: Literature, written: str) -> list[tuple[str, str]]:
    names = _names(citation)
    if not names:
        return []
    document = next((d for d in map(literature.get, names) if d is not None), None)
    if document is None:
        nowhere = "neither among the answer's sources nor in the corpus"
        words = f"which is {'not in the corpus' if citation.document else nowhere}"
        return [("unknown_citation", words)]
    if not isinstance(document, Article):
        return []
    problems = [_notice(document, notice) for notice in document.notices]
    if written and document.published and _is_later(document.published, written):
        words = f"which was published on {document.published}, after the answer ({written})"
        problems.append(("later_citation", words))
    return problems


def _notice(article: Article, notice: Notice) -> tuple[str, str]:
    kind, words, link = _WORDS[notice]
    others = [other.id for other in article.links if other.kind == link and other.id]
    where = f" (PMID {', '.join(others)})" if others else ""
    elsewhere = "; it appeared in a journal" if notice == "preprint" and others else ""
    return kind, f"{words}{elsewhere}{where}"


def _is_later(published: str, written: str) -> bool:
    """Return whether an article was certainly not out when the answer was written."""
    return day_number(published) > day_number(written, last=True)


def _finding(sentence: int, citation: Citation, kind: str, words: str) -> Finding:
    message = f"Sentence {sentence} cites {citation.marker!r}, {words}."
    item = f"{sentence}/{citation.marker}"
    return Finding(kind=kind, message=message, sentence=sentence, evaluator="citation", item=item)
