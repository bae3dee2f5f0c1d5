"""Search PubMed through the NCBI E-utilities."""

from __future__ import annotations

import calendar
import json
import re
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from pydantic import ValidationError

from ragassay.errors import CorpusError, InputError
from ragassay.process import Rebuilt
from ragassay.records import Article, Rejection
from ragassay.retrievers.literature import ANY, Filters, Hit, strip_article_id
from ragassay.retrievers.pubmed.eutils import Eutils

if TYPE_CHECKING:
    from diskcache import Cache


_MOST_WORDS = 8
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_WORD = re.compile(r"[^\W_]+(?:(?:[-']|(?<=\d)\.(?=\d))[^\W_]+)*")

_STOPWORDS = frozenset(
    "a about after all also although among an and any are as at be because been before being "
    "between both but by can could did do does due during each for from had has have how however "
    "if in into is it its may might more most no nor not of on or other our over should so some "
    "such than that the their them then there these they this those through thus to under until "
    "up was we were what when where whether which while who whom whose why will with within "
    "without would you your".split()
)
_EVERYDAY = frozenset(
    "analysis associated association based compared comparison data decrease decreased different "
    "effect effective effects evidence factors found group groups high higher improve improved "
    "improves increase increased increases level levels low lower outcome outcomes patient "
    "patients people rate rates recent reduce reduced reduces reduction report reported result "
    "results review risk show showed shown shows significant significantly studies study treatment "
    "trial trials use used using year years".split()
)
"""Words that are common in abstracts and are dropped first if a question is too long for PubMed."""


def list_word_choices(query: str) -> Iterator[list[str]]:
    """Yield shorter and shorter lists of words to search for in PubMed.

    The first list has at most eight words, and each further list is about a quarter shorter. Stop
    words are dropped, and names and long words are kept longest. Operators and wildcards have no
    effect.

    Example:
        >>> list(list_word_choices('Does "aspirin"[ti] OR heparin?'))
        [['aspirin', 'ti', 'heparin'], ['aspirin', 'heparin']]
    """
    text = unicodedata.normalize("NFKC", query).replace("\u2019", "'")
    words: dict[str, str] = {}
    for word in _WORD.findall(text):
        if word.lower() not in _STOPWORDS:
            words.setdefault(word.lower(), word)
    kept = list(words.values())
    ranked = sorted(range(len(kept)), key=lambda i: (-_rate_word(kept[i]), i))
    n_words = min(len(kept), _MOST_WORDS)
    while n_words:
        # Lowercase AND, OR and NOT are not operators.
        yield [kept[i].lower() for i in sorted(ranked[:n_words])]
        n_words = n_words * 3 // 4 if n_words > 2 else 0


def _rate_word(word: str) -> int:
    if not any(letter.isalpha() for letter in word):
        return 0
    if word.lower() in _EVERYDAY:
        return 1
    is_name = any(letter.isupper() or letter.isdigit() for letter in word[1:])
    return min(len(word), 20) + (100 if is_name else 1)


def filter_term(filters: Filters) -> str:
    """Return filters as part of a PubMed query, or an empty string if there are no filters.

    Raises:
        InputError: A date is invalid.

    Example:
        >>> filter_term(Filters(since="2020", no_retracted=True))
        ' AND ("2020/01/01"[dp] : "3000/12/31"[dp]) NOT "Retracted Publication"[pt]'
    """
    term = ""
    if filters.since or filters.until:
        first = _format_day(filters.since, "since") if filters.since else "1000/01/01"
        last = _format_day(filters.until, "until") if filters.until else "3000/12/31"
        term += f' AND ("{first}"[dp] : "{last}"[dp])'
    kinds = [" ".join(re.sub(r'["\[\]()]', " ", kind).split()) for kind in filters.types]
    if any(kinds):
        term += f" AND ({' OR '.join(f'{chr(34)}{kind}{chr(34)}[pt]' for kind in kinds if kind)})"
    if filters.no_retracted:
        term += ' NOT "Retracted Publication"[pt]'
    return term


def _format_day(date: str, name: str) -> str:
    """Return the first day ("since") or the last day ("until") of a period in PubMed format."""
    try:
        match = _DATE.fullmatch(date)
        if match is None:
            raise ValueError("the value is not a date")
        year, is_last = int(match[1]), name == "until"
        month = int(match[2] or (12 if is_last else 1))
        day = int(match[3] or (calendar.monthrange(year, month)[1] if is_last else 1))
        return datetime(year, month, day).strftime("%Y/%m/%d")
    except ValueError as error:
        raise InputError(
            f"{name}={date!r} must be a date such as 2020, 2020-03 or 2020-03-09"
        ) from error


NCBI = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
NCBI_IDCONV = "https://pmc.ncbi.nlm.nih.gov/tools/idconv/api/v1/articles/"

_TTL_SEARCH_S = 24 * 3600
_TTL_ARTICLE_S = 30 * 24 * 3600
_BATCH = 200
_READER = 1
"""Part of the cache keys of articles. Increase this number if `read_efetch` parses more fields."""

_MOST_HITS = 10_000
"""Maximum number of ids that esearch returns."""


_PMID = re.compile(r"0*([1-9]\d{0,8})")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_PMCID = re.compile(r"(?:pmcid:?\s*)?(pmc[1-9]\d*)(?:\.\d+)?", re.IGNORECASE)


class LivePubMed(Rebuilt):
    """Searches PubMed over the network. Thread-safe. Close it, or use it as a context manager.

    Results are not reproducible, because PubMed and its ranking change daily. Searches are cached
    for a day and articles for 30 days. For reproducible results, build a corpus on disk.

    All threads together stay within NCBI's limits (NBK25497): 3 requests per second, or 10 with an
    API key. If NCBI still returns status 429, for example because of other processes at the same IP
    address, requests are retried. The API key is sent in the body of POST requests and never
    appears in URLs, in the cache or in error messages.

    Args:
        cache_dir: Folder of the response cache, which is created if it does not exist.
        email: Email address at which NCBI can contact a user before blocking them.
        timeout_s: Timeout of a request in seconds.
        idconv_url: URL of the PMC ID converter; by default, NCBI's converter, or
            `<base_url>/idconv/` if `base_url` is set.
        clock: Function that returns a monotonic time in seconds.
        sleep: Function that waits for a number of seconds.

    Raises:
        InputError: `base_url` is not an HTTP URL.
        CorpusError: The cache folder cannot be used.
    """

    def __init__(
        self,
        cache_dir: Path,
        api_key: str | None = None,
        email: str = "",
        base_url: str = NCBI,
        timeout_s: float = 30.0,
        *,
        idconv_url: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import httpx

        if not base_url.startswith(("http://", "https://")):
            raise InputError(f"base_url={base_url!r} must start with http:// or https://")
        self._base = base_url.rstrip("/")
        self._idconv = idconv_url or (
            NCBI_IDCONV if self._base == NCBI else f"{self._base}/idconv/"
        )
        self._day = datetime.now(UTC).date().isoformat()
        self._cache = open_cache(cache_dir)
        client = httpx.Client(timeout=timeout_s, headers={"User-Agent": "ragassay"})
        caller = {"tool": "ragassay"} | ({"email": email} if email else {})
        self._eutils = Eutils(api_key, caller, client, clock, sleep)

    @property
    def sha256(self) -> str:
        """Host and date of opening (UTC) instead of a hash, such as "live:HOST:2026-11-21"."""
        return f"live:{urlsplit(self._base).hostname}:{self._day}"

    def close(self) -> None:
        """Close the connections and the cache."""
        self._eutils.close()
        self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def get(self, identifier: str) -> Article | None:
        """Return the article with the given PMID (`123`, `PMID 123`), PMCID (`PMC123`) or DOI.

        Returns:
            Article, or None if PubMed does not have it or the id is of another kind.

        Raises:
            CorpusError: PubMed cannot be reached, all retries fail, or the record is invalid.
        """
        name = strip_article_id(identifier)
        if _DOI.fullmatch(name):
            term = f'"{name.replace(chr(34), "")}"[doi]'
            articles, rejections = self._get_articles(self._search_pmids(term, 5))
            # For unknown DOIs, PubMed may search for parts of the DOI instead.
            article = next((a for a in articles.values() if a.doi == name), None)
        else:
            pmid = self._get_pmid(name)
            articles, rejections = self._get_articles([pmid] if pmid else [])
            article = articles.get(pmid or "")
        if article is None and rejections:
            problem = rejections[0].problem
            raise CorpusError(f"the PubMed record of {identifier!r} is invalid: {problem}")
        return article

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return up to `k` articles in PubMed's relevance order, scored 1, 1/2, 1/3, ...

        PubMed finds only articles with all words of a query. Queries are therefore reduced to the
        most informative words, and to fewer words if nothing matches. See `list_word_choices`. Date
        filters use the `[dp]` field.

        Raises:
            InputError: A date filter is invalid.
            CorpusError: PubMed cannot be reached, or all retries fail.
        """
        conditions = filter_term(filters)
        if k < 1:
            return []
        for words in list_word_choices(query):
            pmids = self._search_pmids(f"({' '.join(words)}){conditions}", min(k, _MOST_HITS))
            if pmids:
                articles, _ = self._get_articles(pmids)
                ranked = [articles[pmid] for pmid in pmids if pmid in articles]
                return [Hit(article, 1 / rank) for rank, article in enumerate(ranked, 1)]
        return []

    def _get_pmid(self, name: str) -> str | None:
        if pmid := _PMID.fullmatch(name):
            return pmid[1]
        pmcid = _PMCID.fullmatch(name)
        if not pmcid:
            return None
        params = {"ids": pmcid[1].upper(), "idtype": "pmcid", "format": "json"}
        body = self._fetch_cached(self._idconv, params, keyed=False)
        records = json.loads(body, strict=False).get("records", [])
        return next((str(record["pmid"]) for record in records if record.get("pmid")), None)

    def _search_pmids(self, term: str, k: int) -> list[str]:
        params = {"db": "pubmed", "term": term, "retmax": str(k), "sort": "relevance"}
        body = self._fetch_cached(f"{self._base}/esearch.fcgi", params | {"retmode": "json"})
        return json.loads(body, strict=False)["esearchresult"]["idlist"]

    def _fetch_cached(self, url: str, params: Mapping[str, str], keyed: bool = True) -> bytes:
        key = json.dumps([url, sorted(params.items())])
        body = self._cache.get(key)
        if not isinstance(body, bytes):
            body = self._eutils.ask(url, params, keyed)
            self._cache.set(key, body, expire=_TTL_SEARCH_S)
        return body

    def _get_articles(self, pmids: Sequence[str]) -> tuple[dict[str, Article], list[Rejection]]:
        articles: dict[str, Article] = {}
        missing: list[str] = []
        rejections: list[Rejection] = []
        for pmid in dict.fromkeys(pmids):
            cached: Any = self._cache.get(self._build_article_key(pmid))
            try:
                if cached:
                    articles[pmid] = Article.model_validate_json(cached)
                elif cached is None:
                    missing.append(pmid)
            except ValidationError:
                missing.append(pmid)
        for start in range(0, len(missing), _BATCH):
            rejections += self._fetch(missing[start : start + _BATCH], articles)
        return articles, rejections

    def _fetch(self, pmids: Sequence[str], articles: dict[str, Article]) -> list[Rejection]:
        from ragassay.retrievers.pubmed.xml import read_efetch

        params = {"db": "pubmed", "id": ",".join(pmids), "retmode": "xml"}
        body = self._eutils.ask(f"{self._base}/efetch.fcgi", params)
        items = read_efetch(body) if body else []
        rejections = [item for item in items if isinstance(item, Rejection)]
        articles |= {item.id: item for item in items if isinstance(item, Article)}
        for pmid in pmids:
            if pmid in articles:
                text = articles[pmid].model_dump_json(exclude_defaults=True)
                self._cache.set(self._build_article_key(pmid), text, expire=_TTL_ARTICLE_S)
            elif not rejections:
                self._cache.set(self._build_article_key(pmid), "", expire=_TTL_SEARCH_S)
        return rejections

    def _build_article_key(self, pmid: str) -> str:
        return json.dumps([_READER, self._base, "efetch", pmid])


def open_cache(folder: Path) -> Cache:
    """Open the response cache, which never loads pickles and so never executes code.

    Raises:
        CorpusError: The folder cannot be used.
    """
    import diskcache

    class ReplyDisk(diskcache.Disk):
        """Disk cache for text and bytes that ignores pickled values."""

        def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
            """Return a stored value, or None if it is pickled."""
            if mode == diskcache.core.MODE_PICKLE:
                return None
            return super().fetch(mode, filename, value, read)

    try:
        return diskcache.Cache(str(folder), disk=ReplyDisk)
    except (OSError, sqlite3.Error) as error:
        raise CorpusError(
            f"cannot use the PubMed cache in {folder}: {error}; choose another folder"
        ) from error
