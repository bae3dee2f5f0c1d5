"""What is known against cited articles."""

from __future__ import annotations

import pytest

from ragassay.records import AnswerSentence, Article, ArticleLink, Case, Citation, Document
from ragassay.retrievers.hygiene import citation_findings
from ragassay.retrievers.memory import Corpus

ARTICLES = (
    Article(id="10001", text="fine", published="2020-05"),
    Article(id="10002", text="bad", links=(ArticleLink(kind="retracted_by", id="20002"),)),
    Article(id="10003", text="doubted", links=(ArticleLink(kind="concern_by"),)),
    Article(id="10004", text="mended", links=(ArticleLink(kind="corrected_by", id="20004"),)),
    Article(
        id="10005",
        text="early",
        publication_types=("Preprint",),
        links=(ArticleLink(kind="published_as", id="20005"),),
    ),
    Article(
        id="10006",
        text="all",
        publication_types=("Preprint", "Retracted Publication"),
        links=(ArticleLink(kind="corrected_by"), ArticleLink(kind="concern_by")),
        doi="10.1000/six",
    ),
    Document(id="10007", text="plain"),
)


def found(*cited: str, written: str = "") -> list[tuple[str, str]]:
    citations = tuple(Citation(marker=c, document=c or None) for c in cited)
    sentence = AnswerSentence(index=1, text="x", start=0, end=1, citations=citations)
    case = Case(record_id="r", question="q", answer="x", sentences=(sentence,))
    findings = citation_findings(case, Corpus(ARTICLES), written)
    assert {f.sentence for f in findings} <= {1}
    return [(f.kind, f.message) for f in findings]


def test_each_notice_is_a_finding_that_names_the_other_article() -> None:
    assert found("10001", "10002", "10003", "10004", "10005", "10007") == [
        ("retracted_citation", "Sentence 1 cites '10002', which was retracted (PMID 20002)."),
        ("concern_citation", "Sentence 1 cites '10003', which is under an expression of concern."),
        (
            "corrected_citation",
            "Sentence 1 cites '10004', to which a correction was published (PMID 20004).",
        ),
        (
            "preprint_citation",
            "Sentence 1 cites '10005', which is a preprint; it came out in a journal (PMID 20005).",
        ),
    ]


def test_several_notices_are_all_named_the_gravest_first() -> None:
    kinds = ["retracted", "concern", "corrected", "preprint"]
    assert [kind for kind, _ in found("10.1000/SIX")] == [f"{kind}_citation" for kind in kinds]


def test_what_the_corpus_lacks_is_unknown() -> None:
    assert [kind for kind, _ in found("99999", "10.1000/none")] == ["unknown_citation"] * 2


@pytest.mark.parametrize("name", ["1", "42", "doc-7", "a b", ""])
def test_what_is_no_article_id_is_not_looked_up(name: str) -> None:
    assert found(name) == []


@pytest.mark.parametrize(
    ("written", "is_later"),
    [
        ("2020-04", True),
        ("2020-04-30", True),
        ("2019", True),
        ("2020", False),
        ("2020-05-01", False),
        ("2020-06", False),
        ("", False),
    ],
)
def test_an_article_younger_than_the_answer(written: str, is_later: bool) -> None:
    assert [k for k, _ in found("10001", written=written)] == ["later_citation"] * is_later
