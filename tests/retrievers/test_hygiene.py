"""What is known against cited articles."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.records import AnswerSentence, Article, ArticleLink, Case, Citation, Document
from ragassay.retrievers.citation_warnings import check_cited_articles
from ragassay.retrievers.literature import Corpus

APPEARED = (ArticleLink(kind="published_as", id="20005"),)
ARTICLES = (
    Article(id="10001", text="fine", published="2020-05"),
    Article(id="10002", text="bad", links=(ArticleLink(kind="retracted_by", id="20002"),)),
    Article(id="10003", text="doubted", links=(ArticleLink(kind="concern_by"),)),
    Article(id="10004", text="mended", links=(ArticleLink(kind="corrected_by", id="20004"),)),
    Article(id="10005", text="early", publication_types=("Preprint",), links=APPEARED),
    Article(
        id="10006",
        text="all",
        publication_types=("Preprint", "Retracted Publication"),
        links=(ArticleLink(kind="corrected_by"), ArticleLink(kind="concern_by")),
        doi="10.1000/six",
    ),
    Document(id="10007", text="plain"),
)


def check(*citations: Citation, written: str = "") -> list[tuple[str, str]]:
    """Return the kinds and messages of what is found against the citations of sentence 3."""
    sentence = AnswerSentence(index=3, text="x", start=0, end=1, citations=citations)
    case = Case(record_id="r", question="q", answer="x", sentences=(sentence,))
    findings = check_cited_articles(case, Corpus(ARTICLES), written)
    assert {f.sentence for f in findings} <= {3}
    return [(f.kind, f.message) for f in findings]


def found(*cited: str, written: str = "") -> list[tuple[str, str]]:
    return check(*(Citation(marker=c, document=c or None) for c in cited), written=written)


def of_citation(marker: str, document: str | None) -> list[tuple[str, str]]:
    return check(Citation(marker=marker, document=document))


def test_each_notice_is_a_finding_that_names_the_other_article():
    assert found("10001", "10002", "10003", "10004", "10005", "10007") == [
        ("retracted_citation", "Sentence 3 cites '10002', which was retracted (PMID 20002)."),
        ("concern_citation", "Sentence 3 cites '10003', which is under an expression of concern."),
        (
            "corrected_citation",
            "Sentence 3 cites '10004', for which a correction was published (PMID 20004).",
        ),
        (
            "preprint_citation",
            "Sentence 3 cites '10005', which is a preprint; it appeared in a journal (PMID 20005).",
        ),
    ]


def test_several_notices_are_all_named_the_gravest_first():
    kinds = ["retracted", "concern", "corrected", "preprint"]
    assert [kind for kind, _ in found("10.1000/SIX")] == [f"{kind}_citation" for kind in kinds]


@pytest.mark.parametrize(
    "marker", ["PMID 123", "PMIDs: 99999", "99999", "10.1000/none", "https://doi.org/10.1000/none"]
)
def test_article_that_points_nowhere_is_unknown_by_its_marker(marker):
    words = "which is neither among the answer's sources nor in the corpus"
    assert of_citation(marker, None) == [
        ("unknown_citation", f"Sentence 3 cites {marker!r}, {words}.")
    ]


SIX = ("10.1000/SIX", "doi:10.1000/six", "DOI 10.1000/six", "https://www.doi.org/10.1000/six")


@each_case(
    ("marker", "document", "kinds"),
    [
        # What points nowhere and is no id of an article is left to the verifier.
        *((marker, None, []) for marker in ("7", "X9", "doc-7", "10.5/3", "PMID", "see 10001", "")),
        *((name, name or None, []) for name in ("1", "42", "doc-7", "a b", "")),
        # An article is found by its marker where its source has an id of its own.
        *((m, d, ["retracted"]) for m in SIX for d in (None, "doc-7", "99999", "10006")),
        # A position does not hide the article behind it.
        ("1", "10002", ["retracted"]),
        ("1", "99999", ["unknown"]),
        # A source that the corpus lacks is unknown by either name.
        ("99999", "99999", ["unknown"]),
        ("10.1000/none", "10.1000/none", ["unknown"]),
        ("10.1/x", "doc-7", []),
        ("10.1000/x", "doc-7", ["unknown"]),
        ("PMID 77", "77", ["unknown"]),
    ],
)
def test_an_article_is_looked_up_by_its_marker_and_by_its_source(marker, document, kinds):
    found = [kind for kind, _ in of_citation(marker, document)]
    assert found[:1] == [f"{kind}_citation" for kind in kinds]


def test_a_source_that_the_corpus_lacks_is_named_by_its_marker():
    message = "Sentence 3 cites '10.1/x', which is not in the corpus."
    assert of_citation("10.1/x", "99999") == [("unknown_citation", message)]


@each_case(
    ("written", "kinds"),
    [
        *((written, ["later_citation"]) for written in ("2020-04", "2020-04-30", "2019")),
        *((written, []) for written in ("2020", "2020-05-01", "2020-06", "")),
    ],
)
def test_an_article_younger_than_the_answer(written, kinds):
    assert [kind for kind, _ in found("10001", written=written)] == kinds
