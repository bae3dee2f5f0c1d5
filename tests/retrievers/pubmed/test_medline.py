from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from case_tables import each_case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.records import Rejection
from ragassay.records.inputs import Article, ArticleLink
from ragassay.retrievers.pubmed import medline
from ragassay.retrievers.pubmed.medline import iter_nbib

FULL = """\
PMID- 99000001
OWN - NLM
DCOM- 20230104
TI  - Brelozant for the prevention
      of migraine: a trial - in adults.
LID - S0000-0000 [pii]
LID - 10.99999/ABC.1 [doi]
AB  - BACKGROUND: Brelozant is new. METHODS: We asked
      612 adults.
TA  - J Invent Headache
JT  - Journal of Invented Headache
DP  - 2023 Nov
DEP - 20230914
PT  - Journal Article
PT  - Randomized Controlled Trial
MH  - Adult
MH  - *Migraine Disorders/drug therapy/*prevention & control
MH  - Pain/*drug therapy
RIN - J Invent Headache. 2024 Jan;1(1):5. doi: 10.99999/x. PMID: 99000002
EIN - J Invent Headache. 2023 Dec;1(1):4.
CIN - J Invent Headache. 2023 Dec;1(1):6. PMID: 99000003
AID - 10.99999/other [doi]
"""
ARTICLE = Article(
    id="99000001",
    title="Brelozant for the prevention of migraine: a trial - in adults.",
    text="BACKGROUND: Brelozant is new. METHODS: We asked 612 adults.",
    journal="Journal of Invented Headache",
    published="2023-09-14",
    doi="10.99999/abc.1",
    publication_types=("Journal Article", "Randomized Controlled Trial"),
    mesh=("Adult", "Migraine Disorders", "Pain"),
    links=(
        ArticleLink(
            kind="retracted_by",
            id="99000002",
            source="J Invent Headache. 2024 Jan;1(1):5. doi: 10.99999/x.",
        ),
        ArticleLink(kind="corrected_by", source="J Invent Headache. 2023 Dec;1(1):4."),
    ),
)


def short(pmid: int, *fields: str) -> str:
    return "\n".join([f"PMID- {pmid}", f"TI  - Title {pmid}.", *fields, ""])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.nbib"


def read(path: Path, text: str | bytes) -> list[Article | Rejection]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(iter_nbib(path))


def ids(items: list[Article | Rejection]) -> list[str]:
    return [item.id for item in items if isinstance(item, Article)]


def test_every_field_of_an_article(path):
    assert read(path, FULL) == [ARTICLE]


@pytest.mark.parametrize(
    "data",
    [
        FULL.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + FULL.encode(),
        b"\n\n" + FULL.encode() + b"\n\n",
        gzip.compress(FULL.encode()),
    ],
    ids=["crlf", "bom", "blank lines", "gzip"],
)
def test_the_same_in_other_shapes(path, data):
    assert read(path, data) == [ARTICLE]


def test_records_with_and_without_blank_lines_between(path):
    text = short(1) + "\n\n" + short(2) + short(3) + "\n" + "PMID- 4\nTI  - Last."
    assert ids(read(path, text)) == ["1", "2", "3", "4"]
    assert read(path, "") == []


def test_a_record_without_pmid_does_not_take_the_next_ones(path):
    one, bad, two = read(path, short(1) + "\nTI  - Lost.\n\n" + short(2))
    assert ids([one, two]) == ["1", "2"]
    assert (bad.file, bad.line, bad.problem) == (str(path), 4, "the PMID is missing")
    assert bad.content == "TI  - Lost."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("PMID- 1\nAU  - Nobody A\n", "PMID 1: the article has neither a title nor an abstract"),
        ("PMID- x\nTI  - A.\n", 'found "x"'),
        (short(1, "DP  - 2021 Feb 30"), "PMID 1: found the date"),
        (short(1, "DEP - 20211301"), "PMID 1: found the date"),
        (short(1, "no field"), 'PMID 1: the line "no field" does not belong to a field'),
        (short(1, "AB  - a\x00b"), "PMID 1: found a NUL character"),
    ],
)
def test_a_bad_record_does_not_stop_the_others(path, text, problem):
    bad, good = read(path, text + "\n" + short(2))
    assert bad.problem.startswith(problem)
    assert bad.line == 1
    assert ids([good]) == ["2"]


@each_case(
    ("tag", "kinds"),
    [
        ("RIN", ["retracted_by"]),
        ("ROF", ["retraction_of"]),
        ("ECI", ["concern_by"]),
        ("ECF", ["concern_for"]),
        ("EIN", ["corrected_by"]),
        ("EFR", ["correction_of"]),
        ("RPI", ["republished_as"]),
        ("CRI", ["republished_as"]),
        ("RRI", ["republished_as", "retracted_by"]),
        ("UIN", []),
        ("UOF", []),
    ],
)
def test_links_by_tag(path, tag, kinds):
    (item,) = read(path, short(1, f"{tag} - Lancet. 2020. PMID: 99000002"))
    assert [(link.kind, link.id, link.source) for link in item.links] == [
        (kind, "99000002", "Lancet. 2020.") for kind in kinds
    ]


def test_preprints(path):
    preprint = short(1, "PT  - Preprint", "UIN - Lancet. 2020. PMID: 2")
    outcome = short(2, "UOF - medRxiv. 2019 Jan 2:1. doi: 10.1/2. PMID: 1")
    one, two = read(path, preprint + "\n" + outcome)
    assert isinstance(one, Article)
    assert [(link.kind, link.id) for link in one.links] == [("published_as", "2")]
    assert [(link.kind, link.id) for link in two.links] == [("preprint_of", "1")]


def test_the_title_in_its_own_language_and_a_season_that_is_a_year(path):
    (item,) = read(path, "PMID- 1\nTI  - [Not Available].\nTT  - Ein Titel.\nDP  - 2000 Spring\n")
    assert (item.title, item.published) == ("Ein Titel.", "2000")


def test_latin_1_is_read_and_reported_once(path):
    text = short(1, "AB  - café") + "\n" + short(2, "AB  - naïve")
    told, one, two = read(path, text.encode("latin-1"))
    assert told.line == 3
    assert "Latin-1" in told.problem
    assert isinstance(one, Article)
    assert isinstance(two, Article)
    assert (one.text, two.text) == ("café", "naïve")


def test_what_is_no_medline_text_is_one_rejection(path):
    (item,) = read(path, "<html>\n<body>\n</body>\n</html>\n")
    assert (item.line, item.problem) == (1, 'the file is not MEDLINE text: found "<html>"')


def test_a_cut_gzip_file_gives_what_stands_before_the_cut(path):
    packed = gzip.compress("\n".join(map(short, range(1, 2001))).encode(), compresslevel=0)
    *before, last = read(path, packed[: len(packed) // 2])
    assert len(ids(before)) > 500
    assert "is truncated" in last.problem


def test_a_record_without_end_is_not_kept(path, monkeypatch):
    monkeypatch.setattr(medline, "MAX_RECORD_CHARS", 1_000)
    endless, good = read(path, short(1, "AB  - a", *["      more"] * 500) + "\n" + short(2))
    assert "longer than 1,000 characters" in endless.problem
    assert ids([good]) == ["2"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_titles_come_back_whatever_characters_they_hold(path, text):
    (item,) = read(path, f"PMID- 1\nTI  - T {text}\n")
    assert item.title == " ".join(f"T {text}".split())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300) | st.text("PMIDTAB- 1\n\r\x00é").map(str.encode))
def test_no_bytes_crash_it(path, data):
    for item in read(path, data):
        assert isinstance(item, (Article, Rejection))
        item.model_dump_json()
