"""PubMed over the network, against a scripted PubMed on loopback."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit

import diskcache
import httpx
import pytest

from ragassay.errors import CorpusError, InputError
from ragassay.models.provider_errors import parse_retry_after
from ragassay.records import Article, ArticleLink
from ragassay.retrievers.literature import Filters, Hit, Literature
from ragassay.retrievers.pubmed import eutils
from ragassay.retrievers.pubmed.eutils import Pace
from ragassay.retrievers.pubmed.live import NCBI, LivePubMed, filter_term, list_word_choices
from ragassay.retrievers.pubmed.xml import read_efetch
from ragassay.testing import ScriptedEntrez
from ragassay.testing.entrez import render_efetch

pytestmark = pytest.mark.integration

KEY = "0123456789abcdef-secret"

ASPIRIN = Article(
    id="101",
    title="Aspirin for stroke",
    text="METHODS: Aspirin & placebo for 40 adults.\nRESULTS: Fewer had a stroke (p < 0.05).",
    journal="Lancet",
    published="2019-06-30",
    doi="10.1016/s0140-6736(19)1",
    publication_types=("Journal Article", "Randomized Controlled Trial"),
    mesh=("Aspirin", "Stroke"),
)
RETRACTED = Article(
    id="202",
    title="Aspirin cures stroke",
    text="It does.",
    published="2020",
    doi="10.1016/retracted.2",
    publication_types=("Journal Article", "Retracted Publication"),
    links=(
        ArticleLink(kind="retracted_by", id="303", source="Lancet. 2021"),
        ArticleLink(kind="concern_by", source="Lancet. 2020"),
    ),
    version=2,
)
PREPRINT = Article(
    id="404",
    title="Heparin and IL-6 in sepsis",
    text="Heparin lowered IL-6.",
    published="2021-03",
    publication_types=("Preprint",),
    links=(ArticleLink(kind="published_as", id="505", source="Crit Care. 2022"),),
)
ARTICLES = (ASPIRIN, RETRACTED, PREPRINT)


@pytest.fixture
def slept() -> list[float]:
    """The times that were slept; nothing else moves the clock."""
    return []


@pytest.fixture
def entrez(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedEntrez]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ScriptedEntrez(ARTICLES, {"PMC7": "101"}) as server:
        yield server


@pytest.fixture
def opened(tmp_path, entrez, slept) -> Iterator[Callable[..., LivePubMed]]:
    made: list[LivePubMed] = []
    entrez_url = entrez.base_url  # A closed server has none.

    def opener(**options: Any) -> LivePubMed:
        options.setdefault("base_url", entrez_url)
        time = {"clock": lambda: sum(slept), "sleep": slept.append}
        made.append(LivePubMed(tmp_path / "cache", **time, **options))
        return made[-1]

    yield opener
    for one in made:
        one.close()


@pytest.fixture
def pubmed(opened) -> LivePubMed:
    return opened()


def ids(hits: list[Hit]) -> list[str]:
    return [hit.document.id for hit in hits]


def terms(entrez: ScriptedEntrez) -> list[str]:
    return [r.params["term"] for r in entrez.requests if r.service == "esearch"]


def test_the_double_renders_what_the_reader_reads():
    assert read_efetch(render_efetch(ARTICLES)) == list(ARTICLES)
    assert read_efetch(render_efetch([])) == []


@pytest.mark.parametrize(
    "identifier",
    ["101", " 101 ", "PMID: 101", "pmid101", "0101", "PMC7", "pmcid: PMC7.2"]
    + [f"{prefix}10.1016/S0140-6736(19)1" for prefix in ("", "doi:", "https://doi.org/")],
)
def test_an_article_by_any_of_its_names(pubmed, identifier):
    assert pubmed.get(identifier) == ASPIRIN


@pytest.mark.parametrize(
    ("identifier", "n_requests"),
    [
        # What is no identifier is not asked for; what PubMed lacks is not asked for twice.
        *((name, 0) for name in ("", "[3]", "Smith 2020", "0", "PMC", "12345678901", "10.5 mg/kg")),
        *((name, 1) for name in ("999", "PMC999", "10.9999/none")),
    ],
)
def test_what_is_no_article_of_pubmed_is_none(pubmed, entrez, identifier, n_requests):
    assert pubmed.get(identifier) is pubmed.get(identifier) is None
    assert len(entrez.requests) == n_requests


def test_a_doi_that_pubmed_guesses_at_is_not_taken_for_another(pubmed):
    assert pubmed.get("10.1016/made.up.by.a.model") is None


def test_a_search_gives_articles_best_first(pubmed):
    assert isinstance(pubmed, Literature)
    hits = pubmed.search("aspirin stroke")
    assert [hit.document for hit in hits] == [ASPIRIN, RETRACTED]
    assert [hit.score for hit in hits] == [1, 1 / 2]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(no_retracted=True), ["101"]),
        (Filters(types=("Randomized Controlled Trial", "Preprint")), ["101"]),
        (Filters(since="2020"), ["202"]),
        (Filters(until="2019-06"), ["101"]),
        (Filters(until="2019-06-29"), []),
        (Filters(since="2019", until="2020", no_retracted=True), ["101"]),
    ],
)
def test_filters(pubmed, filters, expected):
    assert ids(pubmed.search("aspirin", 10, filters)) == expected


def test_filters_become_terms():
    filters = Filters("2020-02", "2020-02", ("Review", 'Odd"[ti]'), no_retracted=True)
    assert filter_term(filters) == (
        ' AND ("2020/02/01"[dp] : "2020/02/29"[dp])'
        ' AND ("Review"[pt] OR "Odd ti"[pt])'
        ' NOT "Retracted Publication"[pt]'
    )
    assert filter_term(Filters()) == ""
    assert filter_term(Filters(types=("", "[]"))) == ""


@pytest.mark.parametrize("date", ["20", "2020-13", "2020-02-30", "2020/01", "0000"])
def test_a_date_that_is_none_is_named(pubmed, date):
    with pytest.raises(InputError, match=f"until='{date}'"):
        pubmed.search("aspirin", 1, Filters(until=date))


@pytest.mark.parametrize(("k", "n_hits"), [(1, 1), (0, 0), (-1, 0)])
def test_k(pubmed, k, n_hits):
    assert len(pubmed.search("aspirin", k)) == n_hits


@pytest.mark.parametrize("query", ["", "  ", "What is it?", '"()"[]:*', "AND OR NOT"])
def test_a_query_without_a_telling_word_finds_nothing_and_asks_nothing(pubmed, entrez, query):
    assert pubmed.search(query) == []
    assert not entrez.requests


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("aspirin AND stroke", "aspirin stroke"),
        ('"aspirin" NOT (stroke[ti] OR x*)', "aspirin stroke ti x"),
        ("Crohn\u2019s disease: TNF-\u03b1 at 1.9 mg.", "crohn's disease tnf-\u03b1 1.9 mg"),
        ("#1 AND 2019:2020[dp]", "1 2019 2020 dp"),
        ("aspirin Aspirin ASPIRIN", "aspirin"),
    ],
)
def test_a_query_is_words_and_nothing_else(query, words):
    assert next(list_word_choices(query)) == words.split()


def test_a_long_sentence_is_cut_to_its_telling_words_and_then_further():
    query = (
        "In this trial, patients who received tocilizumab, an IL-6 antagonist, showed a significant"
        " reduction of mortality by 12.5 % compared with the corticosteroid dexamethasone alone in"
        " severe COVID-19 pneumonia."
    )
    choices = [" ".join(words) for words in list_word_choices(query)]
    assert [len(words.split()) for words in choices] == [8, 6, 4, 3, 2]
    assert choices[0] == (
        "tocilizumab il-6 antagonist mortality corticosteroid dexamethasone covid-19 pneumonia"
    )
    assert choices[-1] == "il-6 covid-19"


def test_where_all_words_find_nothing_fewer_are_tried(pubmed, entrez):
    hits = pubmed.search("Do pills of heparin lower IL-6?", filters=Filters(since="2000"))
    assert ids(hits) == ["404"]
    dated = ' AND ("2000/01/01"[dp] : "3000/12/31"[dp])'
    assert terms(entrez) == [
        f"(pills heparin lower il-6){dated}",
        f"(pills heparin il-6){dated}",
        f"(heparin il-6){dated}",
    ]


def test_trying_fewer_words_ends(pubmed, entrez):
    assert pubmed.search(" ".join(f"unknownword{letter}" for letter in "abcdefghijkl")) == []
    assert [len(term.split()) for term in terms(entrez)] == [8, 6, 4, 3, 2]


def test_who_asks_is_said_and_the_key_is_in_no_address(opened, entrez):
    pubmed = opened(api_key=KEY, email="me@example.org")
    pubmed.search("aspirin")
    pubmed.get("PMC7")
    for request in entrez.requests:
        assert request.params["tool"] == "ragassay"
        assert request.params["email"] == "me@example.org"
        assert KEY not in request.path
        keyed = request.service != "idconv"
        assert (request.params.get("api_key") == KEY) is keyed
        assert request.method == ("POST" if keyed else "GET")


def test_the_key_is_neither_logged_nor_kept_nor_shown(opened, entrez, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    pubmed = opened(api_key=KEY)
    assert pubmed.search("aspirin")
    for kind in ("wrong_key", "rate_limit"):
        entrez.fail(kind, times=5)
        with pytest.raises(CorpusError) as caught:
            pubmed.search(f"heparin {kind}")
        assert KEY not in str(caught.value) + repr(pubmed)
    assert KEY not in caplog.text
    for path in (tmp_path / "cache").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


def test_a_wrong_key_is_not_tried_again(opened, entrez):
    entrez.fail("wrong_key", times=9)
    with pytest.raises(CorpusError, match="API key invalid"):
        opened(api_key=KEY).get("101")
    assert len(entrez.requests) == 1


PASSING = ("rate_limit", "server_error", "cut_off", "error_in_reply")


@pytest.mark.parametrize("kind", PASSING)
@pytest.mark.parametrize("service", ["esearch", "efetch"])
def test_passing_trouble_passes(pubmed, entrez, kind, service):
    entrez.fail(kind, times=4, service=service)
    assert len(pubmed.search("aspirin")) == 2
    assert sum(request.service == service for request in entrez.requests) == 5


@pytest.mark.parametrize("kind", PASSING)
def test_lasting_trouble_is_an_error_that_says_what_to_do(pubmed, entrez, kind):
    entrez.fail(kind, times=5)
    with pytest.raises(CorpusError, match=r"try again later, or use a corpus on disk"):
        pubmed.search("aspirin")
    assert len(entrez.requests) == 5
    assert len(pubmed.search("aspirin")) == 2, "the failure is not kept"


def test_a_dropped_connection_is_tried_again(pubmed, entrez):
    entrez.fail("down")
    assert pubmed.get("101") == ASPIRIN


def test_without_a_network_the_error_says_so_soon(pubmed, entrez, slept):
    host = urlsplit(entrez.base_url).netloc
    entrez.close()
    with pytest.raises(CorpusError, match=rf"cannot reach {host}; check the network and the proxy"):
        pubmed.get("101")
    assert sum(wait > 0.5 for wait in slept) == 1


def test_what_is_cached_needs_no_network(opened, entrez):
    hits = opened().search("aspirin")
    entrez.close()
    again = opened()
    assert again.search("aspirin") == hits
    assert again.get("202") == RETRACTED


@pytest.mark.parametrize("kind", ["rate_limit", "server_error"])
def test_retry_after_is_honoured(pubmed, entrez, slept, kind):
    entrez.fail(kind, retry_after_s=7)
    assert pubmed.get("101") == ASPIRIN
    assert slept == [7]


def test_an_endless_response_is_refused(pubmed, monkeypatch):
    monkeypatch.setattr(eutils, "MOST_REPLY_BYTES", 100)
    with pytest.raises(CorpusError, match="PubMed's response is longer than 100 bytes"):
        pubmed.get("101")


def test_a_wait_that_is_too_long_is_an_error(pubmed, entrez, slept):
    entrez.fail("rate_limit", retry_after_s=3600)
    with pytest.raises(CorpusError, match="try again in 3600 s"):
        pubmed.get("101")
    assert not slept


def test_a_retry_after_in_any_form():
    assert parse_retry_after("7") == 7
    assert parse_retry_after("") is None
    assert parse_retry_after("soon") is None
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    tomorrow = format_datetime(datetime.now(UTC) + timedelta(days=1))
    assert parse_retry_after(tomorrow) > 3600


@pytest.mark.parametrize(("key", "per_second"), [("", 3), (KEY, 10)])
def test_requests_keep_ncbis_pace(opened, slept, key, per_second):
    pubmed = opened(api_key=key)
    for number in range(1, 8):
        pubmed.get(str(100 * number))
    assert slept == pytest.approx([1 / per_second] * 6)


def run_threads(n: int, work: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_share_one_pace():
    starts: list[float] = []
    pace = Pace(0.5, clock=lambda: 0.0, sleep=starts.append)
    run_threads(8, lambda number: pace.wait())
    # On a clock that stands still each thread is sent to a moment of its own; the first starts.
    assert sorted(starts) == pytest.approx([0.5 * n for n in range(1, 8)])


def test_one_threads_retry_after_holds_the_others():
    starts: list[float] = []
    pace = Pace(0.5, clock=lambda: 0.0, sleep=starts.append)
    for pause in (7, 1):
        pace.pause(pause)
        pace.wait()
    assert starts == [7, 7.5]


def test_threads_get_their_own_articles(pubmed):
    asked = ["101", "202", "404", "999"] * 3
    found: dict[int, object] = {}
    run_threads(len(asked), lambda n: found.update({n: pubmed.get(asked[n])}))
    known = {article.id: article for article in ARTICLES}
    assert found == {n: known.get(one) for n, one in enumerate(asked)}


def test_articles_are_fetched_200_at_a_time_and_once(opened):
    many = [Article(id=str(number), title="", text="Aspirin.") for number in range(100, 501)]
    with ScriptedEntrez(many) as server:
        pubmed = opened(base_url=server.base_url)
        assert ids(pubmed.search("aspirin", 401)) == [one.id for one in many]
        fetched = [r.params["id"].split(",") for r in server.requests if "id" in r.params]
        assert [len(batch) for batch in fetched] == [200, 200, 1]
        n_asked = len(server.requests)
        assert len(pubmed.search("aspirin", 401)) == 401
        assert len(server.requests) == n_asked


def test_how_long_answers_are_kept(pubmed, tmp_path):
    pubmed.search("aspirin")
    pubmed.get("999")
    now = datetime.now(UTC).timestamp()
    days: dict[str, int] = {}
    with diskcache.Cache(str(tmp_path / "cache")) as cache:
        for key in cache:
            found: Any = cache.get(key, expire_time=True)
            days[str(key)] = round((found[1] - now) / 86_400)
    assert sorted(days.values()) == [1, 1, 30, 30]
    assert {days[key] for key in days if "esearch" in key or '"999"' in key} == {1}


def test_what_an_older_version_kept_is_fetched_anew(pubmed, entrez, tmp_path):
    pubmed.get("101")
    with diskcache.Cache(str(tmp_path / "cache")) as cache:
        for key in cache:
            cache[key] = '{"id": "101", "old_field": 1}'
    assert pubmed.get("101") == ASPIRIN
    assert len(entrez.requests) == 2


def test_another_service_has_its_own_answers(opened, tmp_path):
    opened().get("101")
    with ScriptedEntrez([]) as empty:
        assert opened(base_url=empty.base_url).get("101") is None


def test_an_unreadable_record_is_an_error_and_not_an_absence(pubmed, monkeypatch):
    broken = render_efetch([ASPIRIN]).replace(b"<Year>2019", b"<Year>20x9")
    monkeypatch.setattr("ragassay.testing.entrez.render_efetch", lambda articles: broken)
    with pytest.raises(CorpusError, match="PubMed record of '101'"):
        pubmed.get("101")
    monkeypatch.undo()
    assert pubmed.get("101") == ASPIRIN


def test_it_names_the_service_and_the_day(pubmed):
    kind, host, day = pubmed.sha256.split(":")
    assert (kind, host) == ("live", "127.0.0.1")
    assert abs(datetime.now(UTC).date() - datetime.fromisoformat(day).date()) <= timedelta(days=1)


def test_ncbis_converter_goes_with_ncbis_utilities(tmp_path, monkeypatch):
    asked: list[str] = []

    def answer(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"records": []})

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answer)
    with LivePubMed(tmp_path, base_url=NCBI + "/") as pubmed:
        assert pubmed.get("PMC123") is None
    (url,) = asked
    assert url.startswith("https://pmc.ncbi.nlm.nih.gov/tools/idconv/")


def test_arguments_that_cannot_work_are_named(tmp_path):
    with pytest.raises(InputError, match="base_url='eutils'"):
        LivePubMed(tmp_path, base_url="eutils")
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match="choose another folder"):
        LivePubMed(tmp_path / "file")
