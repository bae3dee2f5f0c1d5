"""HTTP server that imitates NCBI's E-utilities for a few articles."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, Self
from urllib.parse import parse_qsl, urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from ragassay.errors import InputError
from ragassay.records import Article, LinkKind

EntrezTrouble = Literal[
    "rate_limit", "server_error", "cut_off", "error_in_reply", "wrong_key", "down"
]

_HOST = "127.0.0.1"
_PREFIX = "/entrez/eutils/"
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_REF_TYPES: dict[LinkKind, str] = {
    "retracted_by": "RetractionIn",
    "concern_by": "ExpressionOfConcernIn",
    "corrected_by": "ErratumIn",
    "republished_as": "RepublishedIn",
    "published_as": "UpdateIn",
    "preprint_of": "UpdateOf",
    "retraction_of": "RetractionOf",
    "concern_for": "ExpressionOfConcernFor",
    "correction_of": "ErratumFor",
}


@dataclass(frozen=True, slots=True)
class EntrezRequest:
    """Received request: path with the query string, and parameters from the URL and the body."""

    service: str
    method: str
    params: Mapping[str, str]
    path: str


@dataclass(slots=True)
class _PlannedTrouble:
    kind: EntrezTrouble
    times: int
    service: str
    retry_after_s: int | None


@dataclass(frozen=True, slots=True)
class _EntrezAnswer:
    status: int
    body: bytes
    content_type: str = "application/json"
    retry_after_s: int | None = None
    cut_off: bool = False


class ScriptedEntrez:
    """Local server with esearch, efetch and the PMC ID converter.

    Search terms must all occur in the title or abstract. The fields `[dp]`, `[pt]` and `[doi]` are
    supported. Results are returned in the order of `articles`. As in PubMed, a search for an
    unknown DOI returns articles with similar DOIs. This server treats DOIs of the same registrant
    as similar. efetch ignores invalid ids, and returns a 400 if all ids are invalid.

    Args:
        pmcids: PMIDs keyed by PMCID ("PMC123").

    Example:
        >>> pubmed = ScriptedEntrez([Article(id="1", text="Aspirin helps.")])
        >>> with pubmed:
        ...     pubmed.base_url.startswith("http://127.0.0.1:")
        True
    """

    def __init__(
        self, articles: Sequence[Article], pmcids: Mapping[str, str] | None = None
    ) -> None:
        self._articles = {article.id: article for article in articles}
        self._pmcids = dict(pmcids or {})
        self._planned: list[_PlannedTrouble] = []
        self._requests: list[EntrezRequest] = []
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """Value of `base_url` for `LivePubMed`.

        Raises `InputError` if the server is not running.
        """
        if self._server is None:
            raise InputError("the scripted PubMed is not running; use it in a with statement")
        return f"http://{_HOST}:{self._server.server_address[1]}{_PREFIX.rstrip('/')}"

    @property
    def requests(self) -> tuple[EntrezRequest, ...]:
        """Requests in order of arrival, including failed requests."""
        with self._lock:
            return tuple(self._requests)

    def fail(
        self,
        kind: EntrezTrouble,
        times: int = 1,
        service: str = "",
        retry_after_s: int | None = None,
    ) -> None:
        """Make the next requests fail.

        Failures from several calls of `fail` occur in the order of the calls.

        ================  =================================================================
        kind              response
        ================  =================================================================
        `rate_limit`      429, with a `Retry-After` header if `retry_after_s` is set
        `server_error`    500 with an HTML page, and the same `Retry-After`
        `cut_off`         200 with the full `Content-Length`, but only half of the body
        `error_in_reply`  200 with an error of the backend in JSON or XML
        `wrong_key`       400 with the key in its message
        `down`            closed connection; use `close` to refuse connections
        ================  =================================================================

        Args:
            kind: Kind of failure, listed in the table.
            times: Number of requests that fail.
            service: Service that fails, or "" for all services.
            retry_after_s: Value of the `Retry-After` header in seconds.
        """
        with self._lock:
            self._planned.append(_PlannedTrouble(kind, times, service, retry_after_s))

    def start(self) -> Self:
        """Start the server, unless it is running."""
        if self._server is None:
            scripted = self

            class Handler(_EntrezHandler):
                entrez = scripted

            self._server = ThreadingHTTPServer((_HOST, 0), Handler)
            self._thread = threading.Thread(
                target=self._server.serve_forever, args=(0.01,), name="scripted-entrez", daemon=True
            )
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop the server, if it is running."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _answer(self, request: EntrezRequest) -> _EntrezAnswer | None:
        """Return the response to a request, or None to close the connection."""
        with self._lock:
            self._requests.append(request)
            active = (p for p in self._planned if p.times and p.service in ("", request.service))
            trouble = next(active, None)
            if trouble:
                trouble.times -= 1
        normal = self._build_good_answer(request)
        return _build_faulty_answer(normal, trouble, request) if trouble else normal

    def _build_good_answer(self, request: EntrezRequest) -> _EntrezAnswer:
        params = request.params
        if request.service == "esearch":
            found = _search(params.get("term", ""), list(self._articles.values()))
            ids = [article.id for article in found]
            result = {"count": str(len(ids)), "idlist": ids[: int(params.get("retmax", "20"))]}
            return _EntrezAnswer(200, json.dumps({"header": {}, "esearchresult": result}).encode())
        if request.service == "efetch":
            ids = [i for i in params.get("id", "").split(",") if i.isdigit() and int(i)]
            if not ids:
                return _build_xml_error("ID list is empty! Possibly it has no correct IDs.", 400)
            articles = [self._articles[i] for i in dict.fromkeys(ids) if i in self._articles]
            return _EntrezAnswer(200, render_efetch(articles), "text/xml")
        if request.service == "idconv":
            records = [self._convert_pmcid(pmcid) for pmcid in params.get("ids", "").split(",")]
            return _EntrezAnswer(200, json.dumps({"status": "ok", "records": records}).encode())
        return _EntrezAnswer(404, b"no such service", "text/plain")

    def _convert_pmcid(self, pmcid: str) -> dict[str, str | int]:
        record: dict[str, str | int] = {"requested-id": pmcid, "pmcid": pmcid}
        pmid = self._pmcids.get(pmcid)
        if pmid is None:
            return record | {"status": "error", "errmsg": "Identifier not found in PMC"}
        return record | {"pmid": int(pmid)}


class _EntrezHandler(BaseHTTPRequestHandler):
    entrez: ScriptedEntrez

    def do_GET(self) -> None:
        self._serve("")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode())

    def log_message(self, format: str, *args: object) -> None:
        """Suppress log output."""

    def _serve(self, body: str) -> None:
        address = urlsplit(self.path)
        service = address.path.removeprefix(_PREFIX).strip("/").removesuffix(".fcgi")
        params = dict(parse_qsl(address.query) + parse_qsl(body))
        answer = self.entrez._answer(EntrezRequest(service, self.command, params, self.path))
        if answer is None:
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.retry_after_s is not None:
            self.send_header("Retry-After", str(answer.retry_after_s))
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut_off else answer.body)


def _build_faulty_answer(
    normal: _EntrezAnswer, trouble: _PlannedTrouble, request: EntrezRequest
) -> _EntrezAnswer | None:
    wait_s = trouble.retry_after_s
    key = request.params.get("api_key", "127.0.0.1")
    match trouble.kind:
        case "rate_limit":
            body = {"error": "API rate limit exceeded", "api-key": key, "count": "4", "limit": "3"}
            return _EntrezAnswer(429, json.dumps(body).encode(), retry_after_s=wait_s)
        case "server_error":
            return _EntrezAnswer(500, b"<html>Internal Server Error</html>", "text/html", wait_s)
        case "wrong_key":
            body = {"error": "API key invalid", "api-key": key, "type": "api key"}
            return _EntrezAnswer(400, json.dumps(body).encode())
        case "cut_off":
            return _EntrezAnswer(200, normal.body, normal.content_type, cut_off=True)
        case "error_in_reply" if normal.content_type == "text/xml":
            return _build_xml_error("Error occurred: cannot get document summary", 200)
        case "error_in_reply":
            result = {"esearchresult": {"ERROR": "Search Backend failed: timed out"}}
            return _EntrezAnswer(200, json.dumps(result).encode())
        case "down":
            return None


def _build_xml_error(message: str, status: int) -> _EntrezAnswer:
    body = f'<?xml version="1.0"?>\n<eFetchResult><ERROR>{message}</ERROR></eFetchResult>\n'
    return _EntrezAnswer(status, body.encode(), "text/xml")


def _search(term: str, articles: Sequence[Article]) -> list[Article]:
    if doi := re.fullmatch(r'"(.+)"\[doi\]', term):
        registrant = doi[1].partition("/")[0] + "/"
        exact = [article for article in articles if article.doi == doi[1]]
        return exact or [a for a in articles if a.doi.startswith(registrant)]
    barred = set(re.findall(r'NOT "([^"]+)"\[pt\]', term))
    kinds = set(re.findall(r'"([^"]+)"\[pt\]', term)) - barred
    dates = re.search(r'"([\d/]+)"\[dp\] : "([\d/]+)"\[dp\]', term)
    words = set(re.sub(r'"[^"]*"\[\w+\]|[():]|\b(?:AND|OR|NOT)\b', " ", term).split())
    return [
        article
        for article in articles
        if words
        <= set(re.findall(r"(?<![\w.'-])[\w.'-]*\w", f"{article.title} {article.text}".lower()))
        and (not kinds or kinds & set(article.publication_types))
        and not barred & set(article.publication_types)
        and (not dates or dates[1] <= _complete_date(article.published) <= dates[2])
    ]


def _complete_date(published: str) -> str:
    return (published + "-01-01"[len(published) - 4 :] if published else "").replace("-", "/")


def render_efetch(articles: Sequence[Article]) -> bytes:
    """Render an efetch response (`retmode=xml`), with elements in the order of NCBI's DTD."""
    root = Element("PubmedArticleSet")
    for article in articles:
        record = SubElement(root, "PubmedArticle")
        citation = SubElement(record, "MedlineCitation", Status="MEDLINE")
        _add_leaf(citation, "PMID", article.id, Version=str(article.version))
        _render_article(SubElement(citation, "Article"), article)
        if article.links:
            links = SubElement(citation, "CommentsCorrectionsList")
            for link in article.links:
                element = SubElement(links, "CommentsCorrections", RefType=_REF_TYPES[link.kind])
                _add_leaf(element, "RefSource", link.source)
                _add_leaf(element, "PMID", link.id, Version="1")
        if article.mesh:
            headings = SubElement(citation, "MeshHeadingList")
            for name in article.mesh:
                _add_leaf(SubElement(headings, "MeshHeading"), "DescriptorName", name)
        ids = SubElement(SubElement(record, "PubmedData"), "ArticleIdList")
        _add_leaf(ids, "ArticleId", article.id, IdType="pubmed")
        _add_leaf(ids, "ArticleId", article.doi, IdType="doi")
    return tostring(root, encoding="UTF-8")


def _render_article(element: Element, article: Article) -> None:
    journal = SubElement(element, "Journal")
    date = SubElement(SubElement(journal, "JournalIssue"), "PubDate")
    year, month, day = (*article.published.split("-"), "", "")[:3]
    _add_leaf(date, "Year", year)
    _add_leaf(date, "Month", _MONTHS[int(month) - 1] if month else "")
    _add_leaf(date, "Day", day)
    _add_leaf(journal, "Title", article.journal)
    _add_leaf(element, "ArticleTitle", article.title)
    _add_leaf(element, "ELocationID", article.doi, EIdType="doi", ValidYN="Y")
    if article.text:
        abstract = SubElement(element, "Abstract")
        for line in article.text.splitlines():
            labelled = re.fullmatch(r"([A-Z][A-Z /&-]+): (.+)", line)
            label = {"Label": labelled[1]} if labelled else {}
            _add_leaf(abstract, "AbstractText", labelled[2] if labelled else line, **label)
    kinds = SubElement(element, "PublicationTypeList")
    for kind in article.publication_types:
        _add_leaf(kinds, "PublicationType", kind)


def _add_leaf(parent: Element, tag: str, text: str, **attributes: str) -> None:
    if text:
        SubElement(parent, tag, attributes).text = text
