from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.formats.problems import Problem
from ragassay.records import Rejection
from ragassay.records.inputs import Article, ArticleLink
from ragassay.retrievers.pubmed import xml as pubmed_xml
from ragassay.retrievers.pubmed.dates_links import find_earliest_date, join_date, parse_free_date
from ragassay.retrievers.pubmed.xml import Deletion, PubmedItem, iter_pubmed_xml, read_efetch

EXAMPLES = Path(__file__).parents[3] / "examples" / "pubmed"
HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n'
)


def record(
    pmid: str = '<PMID Version="1">99000001</PMID>',
    *,
    title: str = "<ArticleTitle>A title.</ArticleTitle>",
    pub_date: str = "<Year>2021</Year>",
    article: str = "",
    citation: str = "",
    data: str = "",
) -> str:
    return (
        f"<PubmedArticle><MedlineCitation>{pmid}<Article><Journal><JournalIssue><PubDate>{pub_date}"
        f"</PubDate></JournalIssue><Title>A Journal</Title></Journal>{title}{article}</Article>"
        f"{citation}</MedlineCitation><PubmedData>{data}</PubmedData></PubmedArticle>\n"
    )


def whole(*records: str) -> bytes:
    return f"{HEAD}<PubmedArticleSet>\n{''.join(records)}</PubmedArticleSet>\n".encode()


def only(*records: str) -> PubmedItem:
    (item,) = read_efetch(whole(*records))
    return item


def numbered(n: int) -> list[str]:
    return [record(f"<PMID>{99000001 + i}</PMID>") for i in range(n)]


def ids(items: list[PubmedItem]) -> list[str]:
    return [item.id for item in items if isinstance(item, (Article, Deletion))]


def test_every_field_of_an_article():
    given_record = record(
        '<PMID Version="3">99000001</PMID>',
        title="<ArticleTitle>CO<sub>2</sub> and\n  <i>E. <b>coli</b></i> &lt; 5.</ArticleTitle>",
        pub_date="<Year>2021</Year><Month>Mar</Month><Day>9</Day>",
        article=(
            '<ELocationID EIdType="pii" ValidYN="Y">S1</ELocationID>'
            '<ELocationID EIdType="doi" ValidYN="N">10.1/wrong</ELocationID>'
            '<ELocationID EIdType="doi" ValidYN="Y">10.99999/ABC.1</ELocationID>'
            '<Abstract><AbstractText Label="METHODS">We <i>asked</i>.</AbstractText>'
            '<AbstractText Label="UNLABELLED">Plain.</AbstractText>'
            '<AbstractText Label="EMPTY"></AbstractText><AbstractText>Last.</AbstractText>'
            "<CopyrightInformation>Ours.</CopyrightInformation></Abstract>"
            "<PublicationTypeList><PublicationType>Review</PublicationType></PublicationTypeList>"
        ),
        citation=(
            "<OtherAbstract><AbstractText>Autre.</AbstractText></OtherAbstract>"
            "<MeshHeadingList><MeshHeading><DescriptorName>Adult</DescriptorName><QualifierName>"
            "drug effects</QualifierName></MeshHeading></MeshHeadingList>"
        ),
    )
    assert only(given_record) == Article(
        id="99000001",
        title="CO2 and E. coli < 5.",
        text="METHODS: We asked.\nPlain.\nLast.",
        journal="A Journal",
        published="2021-03-09",
        doi="10.99999/abc.1",
        publication_types=("Review",),
        mesh=("Adult",),
        version=3,
    )


def test_the_doi_of_a_reference_is_not_the_articles():
    references = (
        '<ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.1/other</ArticleId>'
        "</ArticleIdList></Reference></ReferenceList>"
    )
    own = '<ArticleIdList><ArticleId IdType="doi">https://doi.org/10.2/Own</ArticleId></ArticleIdList>'
    assert only(record(data=references)).doi == ""
    assert only(record(data=own + references)).doi == "10.2/own"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<ArticleTitle>[Not Available].</ArticleTitle>", "Ein Titel."),
        ("<ArticleTitle/>", "Ein Titel."),
        ("<ArticleTitle>[A title].</ArticleTitle>", "[A title]."),
    ],
)
def test_the_title_in_its_own_language_stands_in_for_a_missing_one(title, expected):
    vernacular = "<VernacularTitle>Ein Titel.</VernacularTitle>"
    assert only(record(title=title, article=vernacular)).title == expected


def test_an_abstract_needs_no_title():
    abstract = "<Abstract><AbstractText>Text.</AbstractText></Abstract>"
    found = only(record(title="<ArticleTitle/>", article=abstract))
    assert (found.title, found.text) == ("", "Text.")


@each_case(
    ("parts", "expected"),
    [
        ("<Year>2021</Year>", "2021"),
        ("<Year>2021</Year><Month>3</Month>", "2021-03"),
        ("<Year>2021</Year><Month>March</Month><Day>31</Day>", "2021-03-31"),
        ("<Year>2000</Year><Season>Spring</Season>", "2000"),
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", "1998-12"),
        ("<MedlineDate>2000 Spring</MedlineDate>", "2000"),
        ("<MedlineDate>1975 Jul 15-30</MedlineDate>", "1975-07-15"),
        ("<MedlineDate>Winter 1992-1993</MedlineDate>", "1992"),
        ("<MedlineDate>1978-1979</MedlineDate>", "1978"),
        ("<MedlineDate>unknown</MedlineDate>", ""),
        ("", ""),
    ],
)
def test_dates_are_as_exact_as_they_are_known(parts, expected):
    assert only(record(pub_date=parts)).published == expected


@pytest.mark.parametrize(
    ("online", "issue", "expected"),
    [
        ("2021-03-09", "2021", "2021-03-09"),
        ("2020-12-30", "2021", "2020-12-30"),
        ("2021-03-09", "2020", "2020"),
        ("2021-05-01", "2021-04", "2021-04"),
        ("", "2021", "2021"),
        ("", "", ""),
    ],
)
def test_the_earliest_date_counts_and_of_agreeing_ones_the_more_exact(online, issue, expected):
    assert find_earliest_date([online, issue]) == expected
    assert find_earliest_date([issue, online]) == expected


def test_the_electronic_date_is_read():
    online = "<ArticleDate><Year>2020</Year><Month>12</Month><Day>30</Day></ArticleDate>"
    assert only(record(article=online)).published == "2020-12-30"


@pytest.mark.parametrize(
    "parts",
    [
        "<Year>2021</Year><Month>13</Month>",
        "<Year>2021</Year><Month>Feb</Month><Day>30</Day>",
        "<Year>0021</Year>",
        "<Year>20211</Year>",
        "<Year>2021</Year><Month>Foo</Month>",
        "<MedlineDate>9021 Jan</MedlineDate>",
    ],
)
def test_an_absurd_date_sets_the_record_aside(parts):
    found = only(record(pub_date=parts))
    assert found.field == "published"
    assert found.problem.startswith("PMID 99000001: found the date")


@given(st.text(), st.text(), st.text())
def test_any_text_is_a_date_or_a_problem(year, month, day):
    for found in (join_date(year, month, day), parse_free_date(f"{year} {month} {day}")):
        if isinstance(found, str):
            assert re.fullmatch(r"(\d{4}(-\d{2}(-\d{2})?)?)?", found)
        else:
            assert isinstance(found, Problem)


@each_case(
    ("kind", "expected"),
    [
        ("RetractionIn", ["retracted_by"]),
        ("RetractionOf", ["retraction_of"]),
        ("ExpressionOfConcernIn", ["concern_by"]),
        ("ExpressionOfConcernFor", ["concern_for"]),
        ("ErratumIn", ["corrected_by"]),
        ("ErratumFor", ["correction_of"]),
        ("RepublishedIn", ["republished_as"]),
        ("CorrectedandRepublishedIn", ["republished_as"]),
        ("RetractedandRepublishedIn", ["republished_as", "retracted_by"]),
        ("CommentIn", []),
        ("UpdateIn", []),
        ("UpdateOf", []),
    ],
)
def test_links_by_type(kind, expected):
    links = only(record(citation=reference(kind, "Lancet. 2020"))).links
    assert [link.kind for link in links] == expected
    assert all((link.id, link.source) == ("99000002", "Lancet. 2020") for link in links)


def reference(kind: str, source: str, pmid: str = "<PMID>99000002</PMID>") -> str:
    return (
        f'<CommentsCorrectionsList><CommentsCorrections RefType="{kind}"><RefSource>{source}'
        f"</RefSource>{pmid}</CommentsCorrections></CommentsCorrectionsList>"
    )


PREPRINT = "<PublicationTypeList><PublicationType>Preprint</PublicationType></PublicationTypeList>"


@pytest.mark.parametrize(
    ("types", "kind", "source", "links"),
    [
        (PREPRINT, "UpdateIn", "Nature. 2021", ["published_as"]),
        (PREPRINT, "UpdateIn", "medRxiv. 2021", []),
        ("", "UpdateOf", "bioRxiv. 2020 Jan 3:2020.01.02", ["preprint_of"]),
        ("", "UpdateOf", "Cochrane Database Syst Rev. 2016", []),
    ],
)
def test_preprints_and_their_articles_point_to_each_other(types, kind, source, links):
    found = only(record(article=types, citation=reference(kind, source)))
    assert [link.kind for link in found.links] == links
    assert found.notices == (("preprint",) if types else ())


def test_a_link_without_pmid_keeps_its_source():
    found = only(record(citation=reference("ErratumIn", "Lancet. 2020", pmid="")))
    assert found.links == (ArticleLink(kind="corrected_by", source="Lancet. 2020"),)


def test_a_chapter_of_a_book():
    book = (
        "<PubmedBookArticle><BookDocument><PMID>99000005</PMID><ArticleIdList/><Book><BookTitle>"
        "A Book</BookTitle><PubDate><Year>1993</Year></PubDate></Book><ArticleTitle>A chapter"
        "</ArticleTitle><PublicationType>Review</PublicationType><Abstract><AbstractText>Text."
        "</AbstractText></Abstract><ContributionDate><Year>2010</Year><Month>2</Month>"
        "</ContributionDate></BookDocument></PubmedBookArticle>"
    )
    assert only(book) == Article(
        id="99000005",
        title="A chapter",
        text="Text.",
        journal="A Book",
        published="1993",
        publication_types=("Review",),
    )


@each_case(
    ("bad", "problem"),
    [
        (record(""), "the PMID is missing"),
        (record("<PMID>abc</PMID>"), 'found "abc"'),
        (record("<PMID>123456789</PMID>"), 'found "123456789"'),
        (record('<PMID Version="0">99000001</PMID>'), 'found "0"'),
        (record(title=""), "PMID 99000001: the article has neither a title nor an abstract"),
        ("<PubmedArticle/>", "the element MedlineCitation is missing"),
        (
            "<PubmedArticle><MedlineCitation><PMID>7</PMID></MedlineCitation></PubmedArticle>",
            "PMID 7: the element Article is missing",
        ),
        ("<PubmedBookArticle/>", "the element BookDocument is missing"),
    ],
)
def test_a_bad_record_does_not_stop_the_others(bad, problem):
    first, middle, last = read_efetch(
        whole(record("<PMID>1</PMID>"), bad, record("<PMID>2</PMID>")), "answer"
    )
    assert ids([first, last]) == ["1", "2"]
    assert problem in middle.problem
    # Line 1: declaration, 2: doctype, 3: the set, 4: the first record.
    assert (middle.file, middle.line) == ("answer", 5)


def test_deletions_keep_their_place():
    deleted = "<DeleteCitation><PMID>3</PMID><PMID>x</PMID><PMID>4</PMID></DeleteCitation>"
    items = read_efetch(whole(record("<PMID>1</PMID>"), deleted, record("<PMID>2</PMID>")))
    assert ids(items) == ["1", "3", "4", "2"]
    assert isinstance(items[2], Rejection)


@pytest.mark.parametrize("indent", ["", "\n  "])
def test_lines_beyond_the_sixteenth_bit_are_right(tmp_path, indent):
    path = tmp_path / "long.xml"
    bad = record("").replace("<MedlineCitation>", f"{indent}<MedlineCitation>")
    path.write_bytes(whole(*["\n" * 1000 + one for one in numbered(100)], bad))
    *_, last = iter_pubmed_xml(path)
    # 3 lines of head, 100 records with 1,000 blank lines and their own.
    assert last.line == 3 + 100 * 1001 + 1


def test_plain_and_gzip_give_the_same(tmp_path):
    plain, packed = tmp_path / "a.xml", tmp_path / "b.xml.gz"
    plain.write_bytes(whole(*numbered(50)))
    packed.write_bytes(gzip.compress(whole(*numbered(50))))
    assert list(iter_pubmed_xml(plain)) == list(iter_pubmed_xml(packed))


def test_a_cut_gzip_file_gives_what_stands_before_the_cut(tmp_path):
    path = tmp_path / "cut.xml.gz"
    # Stored without compression, so that half of the bytes are half of the records.
    packed = gzip.compress(whole(*numbered(400)), compresslevel=0)
    path.write_bytes(packed[: len(packed) // 2])
    *before, last = iter_pubmed_xml(path)
    assert 190 <= len(before) <= 200
    assert ids(before) == [str(99000001 + i) for i in range(len(before))]
    assert (last.file, last.line) == (str(path), 4 + len(before))
    assert "is truncated" in last.problem


def test_cut_xml_gives_what_stands_before_the_cut(tmp_path):
    path = tmp_path / "cut.xml"
    path.write_bytes(whole(*numbered(4))[:-200])
    *before, last = iter_pubmed_xml(path)
    assert ids(before) == ["99000001", "99000002", "99000003"]
    assert last.line == 7
    assert "not XML from here on" in last.problem


def test_malformed_xml_ends_with_one_rejection():
    one, two = read_efetch(whole(record(), "<oops", record("<PMID>2</PMID>")))
    assert ids([one]) == ["99000001"]
    assert two.line == 5


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        *((data, "") for data in (b"", b"   ", b"not XML at all", b"\x00\x01\x02")),
        (b"<eFetchResult><ERROR>Empty id list</ERROR></eFetchResult>", "eFetchResult.*Empty id"),
    ],
)
def test_what_is_no_set_of_articles_is_one_rejection(data, problem):
    (item,) = read_efetch(data)
    assert isinstance(item, Rejection) and re.search(problem, item.problem)


def test_an_empty_set_holds_nothing():
    assert read_efetch(whole()) == []


@pytest.mark.parametrize("title", ["&x;", "plain"])
def test_a_record_of_a_set_that_declares_an_entity_is_rejected(title):
    (item,) = read_efetch(
        b'<!DOCTYPE PubmedArticleSet [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'
        + whole(record(title=f"<ArticleTitle>{title}</ArticleTitle>")).removeprefix(HEAD.encode())
    )
    assert isinstance(item, Rejection)


def test_an_external_dtd_is_not_read(tmp_path):
    dtd = tmp_path / "evil.dtd"
    dtd.write_text('<!ENTITY x "TOP-SECRET">')
    path = tmp_path / "evil.xml"
    text = record(title="<ArticleTitle>&x;</ArticleTitle>")
    path.write_text(
        f'<!DOCTYPE PubmedArticleSet SYSTEM "{dtd.as_uri()}">\n'
        f"<PubmedArticleSet>{text}{record('<PMID>2</PMID>')}</PubmedArticleSet>"
    )
    first, second = iter_pubmed_xml(path)
    assert 'the entity "&x;"' in first.problem
    assert "TOP-SECRET" not in first.model_dump_json()
    assert ids([second]) == ["2"]


def test_comments_and_instructions_are_no_text():
    title = "<ArticleTitle>A <!-- hidden -->title<?php hidden ?> <i>x</i>.</ArticleTitle>"
    assert only(record(title=title)).title == "A title x."


GROWTH = """
import sys, tracemalloc
from pathlib import Path
import psutil
from ragassay.retrievers.pubmed.xml import iter_pubmed_xml
rss = lambda: psutil.Process().memory_info().rss
items = iter_pubmed_xml(Path(sys.argv[1]))
for _ in range(500):
    next(items)
before = most = rss()
tracemalloc.start()
for n, _ in enumerate(items, start=1):
    most = max(most, rss()) if n % 500 == 0 else most
print(n, tracemalloc.get_traced_memory()[1], most - before)
"""


def test_many_records_take_little_memory(tmp_path):
    path = tmp_path / "many.xml.gz"
    filler = f"<Abstract><AbstractText>{'word ' * 400}</AbstractText></Abstract>"
    with gzip.open(path, "wt", compresslevel=1) as handle:
        handle.write("<PubmedArticleSet>")
        for i in range(4_000):
            handle.write(record(f"<PMID>{i + 1}</PMID>", article=filler))
        handle.write("</PubmedArticleSet>")
    # tracemalloc does not see libxml2's trees, so a process of its own is watched as a whole.
    command = [sys.executable, "-c", GROWTH, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    n, peak, growth = (int(part) for part in told.split())
    assert n == 4_000 - 500
    assert peak < 5_000_000  # All articles take 14 MB.
    assert growth < 8_000_000  # All trees take 17 MB.


def test_a_file_that_never_ends_a_record_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(pubmed_xml, "MAX_RECORD_BYTES", 1_000_000)
    path = tmp_path / "bomb.xml.gz"
    body = b"<PubmedArticleSet>" + record().encode() + b"<junk/>\n" * 1_000_000
    path.write_bytes(gzip.compress(body))
    first, last = iter_pubmed_xml(path)
    assert ids([first]) == ["99000001"]
    assert "the record does not end within 1,000,000 bytes" in last.problem


MARKUP = st.text(st.sampled_from("<>&\"']]>;#x1 éß中\u00a0\n\t") | st.characters(codec="utf-8"))


@given(MARKUP.filter(lambda text: all(c >= " " or c in "\n\t" for c in text)))
def test_titles_come_back_whatever_characters_they_hold(text):
    # U+FFFE and U+FFFF are no characters of XML.
    text = text.replace("\ufffe", "").replace("\uffff", "")
    expected = " ".join(text.split())
    title = f"<ArticleTitle>Title <i>{escape(text)}</i></ArticleTitle>"
    assert only(record(title=title)).title == f"Title {expected}".strip()


def test_the_sample_baseline():
    items = list(iter_pubmed_xml(EXAMPLES / "pubmed99n0001.xml"))
    (broken,) = [item for item in items if isinstance(item, Rejection)]
    assert broken.problem == "the PMID is missing"
    articles = {item.id: item for item in items if isinstance(item, Article)}
    assert len(articles) == 13
    assert articles["99000901"].notices == ("preprint",)
    assert articles["99000101"].links[0].kind == "preprint_of"
    assert articles["99000104"].published == "2023-12"
    assert articles["99000903"].title == (
        "CYP3A4 and brelozant: studies in vitro and with 13C in adults."
    )
    assert articles["99000304"].notices == ()


def test_the_sample_update():
    items = list(iter_pubmed_xml(EXAMPLES / "pubmed99n0002.xml"))
    assert items[-1] == Deletion("99000909")
    notices = {item.id: item.notices for item in items if isinstance(item, Article)}
    assert notices == {
        "99000304": ("retracted",),
        "99000904": (),
        "99000902": (),
        "99000501": ("corrected",),
        "99000905": (),
        "99000104": ("concern",),
        "99000906": (),
    }
