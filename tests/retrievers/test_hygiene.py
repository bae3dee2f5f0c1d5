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


def test_what_the_corpus_lacks_is_unknown():
    assert [kind for kind, _ in found("99999", "10.1000/none")] == ["unknown_citation"] * 2


@pytest.mark.parametrize(
    "marker", ["PMID 123", "PMIDs: 99999", "99999", "10.1000/none", "https://doi.org/10.1000/none"]
)
def test_article_that_points_nowhere_is_unknown_by_its_marker(marker):
    words = "which is neither among the answer's sources nor in the corpus"
    assert of_citation(marker, None) == [
        ("unknown_citation", f"Sentence 3 cites {marker!r}, {words}.")
    ]


@pytest.mark.parametrize("marker", ["7", "X9", "doc-7", "10.5/3", "PMID", "see 10001", ""])
def test_what_points_nowhere_and_is_no_article_id_is_left_to_the_verifier(marker):
    assert of_citation(marker, None) == []


@each_case(
    "marker",
    ["10.1000/SIX", "doi:10.1000/six", "DOI 10.1000/six", "https://www.doi.org/10.1000/six"],
)
@each_case("document", [None, "doc-7", "99999", "10006"])
def test_an_article_is_found_by_its_marker_where_its_source_has_an_id_of_its_own(marker, document):
    assert of_citation(marker, document)[0][0] == "retracted_citation"


def test_a_source_that_the_corpus_lacks_is_unknown_by_either_name():
    expected = [("unknown_citation", "Sentence 3 cites '10.1/x', which is not in the corpus.")]
    assert of_citation("10.1/x", "doc-7") == []
    assert of_citation("10.1000/x", "doc-7")[0][0] == "unknown_citation"
    assert of_citation("10.1/x", "99999") == expected
    assert of_citation("PMID 77", "77")[0][0] == "unknown_citation"


def test_a_cited_position_does_not_hide_the_article_behind_it():
    assert of_citation("1", "10002")[0][0] == "retracted_citation"
    assert of_citation("1", "99999")[0][0] == "unknown_citation"


@pytest.mark.parametrize("name", ["1", "42", "doc-7", "a b", ""])
def test_what_is_no_article_id_is_not_looked_up(name):
    assert found(name) == []


@each_case(
    ("written", "kinds"),
    [
        *((written, ["later_citation"]) for written in ("2020-04", "2020-04-30", "2019")),
        *((written, []) for written in ("2020", "2020-05-01", "2020-06", "")),
    ],
)
def test_an_article_younger_than_the_answer(written, kinds):
    assert [kind for kind, _ in found("10001", written=written)] == kinds
