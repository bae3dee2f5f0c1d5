"""Check whether cited articles are retracted, corrected, preprints or unknown."""

from __future__ import annotations

import re

from ragassay.records import Article, Case, Citation, Finding, LinkKind, Notice
from ragassay.retrievers.literature import Literature, compute_day_number, strip_article_id

_ARTICLE_ID = re.compile(r"[0-9]{5,8}|10\.[0-9]{4,9}/\S+")
"""A PMID or a DOI. Numbers with fewer than five digits are taken for positions in the source list,
because recent PMIDs have more digits."""

_NAMED = re.compile(r"PMIDs?[:\s]*([0-9]+)|\S*?\s*(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)
"""A citation text that starts with "PMID" or ends with a DOI."""

_NOTICES: dict[Notice, tuple[str, str, LinkKind]] = {
    "retracted": ("retracted_citation", "which was retracted", "retracted_by"),
    "concern": ("concern_citation", "which is under an expression of concern", "concern_by"),
    "corrected": ("corrected_citation", "for which a correction was published", "corrected_by"),
    "preprint": ("preprint_citation", "which is a preprint", "published_as"),
}
"""For each notice on an article: the kind of finding, its text, and the kind of link to the article
that published the notice."""


def check_cited_articles(
    case: Case, literature: Literature, written: str = ""
) -> tuple[Finding, ...]:
    """Look up all cited PMIDs and DOIs, and report problems with the cited articles.

    A citation that matches no source is looked up by its text, such as "PMID 123". If the
    literature does not contain the article, the finding has the kind "unknown_citation", and the
    verifier treats the citation as invalid.

    Args:
        case: Answer with citations, of which only PMIDs and DOIs are looked up.
        literature: Literature in which cited articles are looked up. For documents without
            metadata, only unknown citations are reported.
        written: Date of the answer, such as "2024", "2024-05" or "2024-05-01", or empty if unknown.

    Returns:
        Findings in the order of the citations, with the most serious finding of an article first.

    Raises:
        CorpusError: The literature cannot be reached.
    """
    return tuple(
        Finding(
            kind=kind,
            message=f"Sentence {sentence.index} cites {citation.marker!r}, {text}.",
            sentence=sentence.index,
            evaluator="citation",
            item=f"{sentence.index}/{citation.marker}",
        )
        for sentence in case.sentences
        for citation in sentence.citations
        for kind, text in _find_problems(citation, literature, written)
    )


def _get_ids(citation: Citation) -> list[str]:
    """Return the article ids of a citation: the id of its document, then the ids in its text."""
    match = _NAMED.fullmatch(citation.marker.strip())
    pmid, doi = match.groups("") if match else ("", "")
    others = (strip_article_id(citation.document or ""), strip_article_id(doi or citation.marker))
    names = [*(name for name in others if _ARTICLE_ID.fullmatch(name)), pmid]
    return [name for name in dict.fromkeys(names) if name]


def _find_problems(
    citation: Citation, literature: Literature, written: str
) -> list[tuple[str, str]]:
    names = _get_ids(citation)
    if not names:
        return []
    document = next((d for d in map(literature.get, names) if d is not None), None)
    if document is None:
        nowhere = "neither among the answer's sources nor in the corpus"
        text = f"which is {'not in the corpus' if citation.document else nowhere}"
        return [("unknown_citation", text)]
    if not isinstance(document, Article):
        return []
    problems = [_describe_notice(document, notice) for notice in document.notices]
    published = document.published
    if (
        written
        and published
        and compute_day_number(published) > compute_day_number(written, last=True)
    ):
        text = f"which was published on {published}, after the answer ({written})"
        problems.append(("later_citation", text))
    return problems


def _describe_notice(article: Article, notice: Notice) -> tuple[str, str]:
    kind, text, link = _NOTICES[notice]
    others = [other.id for other in article.links if other.kind == link and other.id]
    pmids = f" (PMID {', '.join(others)})" if others else ""
    journal = "; it appeared in a journal" if notice == "preprint" and others else ""
    return kind, f"{text}{journal}{pmids}"
