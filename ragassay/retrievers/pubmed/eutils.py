"""Call NCBI's services within NCBI's limits: pace, retries, errors inside good responses."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ragassay.errors import CorpusError

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

_ATTEMPTS = 5
_ATTEMPTS_UNREACHABLE = 2
_LONGEST_WAIT_S = 120.0
MOST_REPLY_BYTES = 256 * 1024 * 1024
"""Longest response that is read, unpacked; two hundred articles take a few megabytes."""

_WHOLE_SET = re.compile(rb"(?:</PubmedArticleSet\s*>|<PubmedArticleSet\s*/>)\s*\Z")
_XML_ERROR = re.compile(rb"<ERROR>((?:(?!</?ERROR>).)*)</ERROR>", re.DOTALL)
_NO_SUCH_ID = re.compile(rb"(?:<ERROR>|\A)\s*(?:ID[ +]list[ +]is[ +]empty|Empty id list)", re.I)


class _PassingError(Exception):
    """A failure that may be over at the next attempt."""

    def __init__(
        self, words: str, retry_after_s: float | None = None, unreachable: bool = False
    ) -> None:
        super().__init__(words)
        self.retry_after_s = retry_after_s
        self.unreachable = unreachable


class Eutils:
    """A client of NCBI's services: paces and retries requests, and detects errors in responses."""

    def __init__(
        self,
        api_key: str | None,
        caller: Mapping[str, str],
        client: httpx.Client,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._api_key = api_key
        self._caller = caller
        self._client = client
        self._pace = Pace(1 / 10 if api_key else 1 / 3, clock, sleep)
        self._sleep = sleep

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, url: str, params: Mapping[str, str], keyed: bool = True) -> bytes:
        """Return the body of a usable response; empty where efetch knows none of the ids.

        Raises:
            CorpusError: NCBI cannot be reached, refuses, or keeps failing.
        """
        from tenacity import Retrying, retry_if_exception_type, wait_exponential_jitter

        back_off = wait_exponential_jitter(initial=1, max=30)

        def wait_s(state: RetryCallState) -> float:
            asked_for = _trouble(state).retry_after_s
            return back_off(state) if asked_for is None else asked_for

        retrying = Retrying(
            stop=_given_up,
            wait=wait_s,
            retry=retry_if_exception_type(_PassingError),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._send, url, params, keyed)
        except _PassingError as error:
            host = urlsplit(url).netloc
            instead = "or use a corpus on disk (`ragassay corpus build`)"
            if error.unreachable:
                advice = f"cannot reach {host}: check the network and the proxy, {instead}"
            else:
                advice = f"{host} keeps failing: try again later, {instead}"
            raise CorpusError(f"{advice} ({error})") from error

    def _send(self, url: str, params: Mapping[str, str], keyed: bool) -> bytes:
        import httpx

        asked = {**params, **self._caller}
        self._pace.wait()
        try:
            if keyed:
                # Never in the address: httpx, proxies and servers log addresses.
                secret = {"api_key": self._api_key} if self._api_key else {}
                sent = self._client.build_request("POST", url, data=asked | secret)
            else:
                sent = self._client.build_request("GET", url, params=asked)
            response = self._client.send(sent, stream=True, follow_redirects=not keyed)
            with closing(response):
                body = _body_of(response)
        except httpx.RequestError as error:
            no_way = httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError
            unreachable = isinstance(error, no_way)
            words = f"{type(error).__name__}: {error}"
            raise _PassingError(words, unreachable=unreachable) from error
        return self._usable(response, body)

    def _usable(self, response: httpx.Response, body: bytes) -> bytes:
        status = response.status_code
        if _NO_SUCH_ID.search(body[:2000]):
            return b""
        # NCBI's error messages quote the key; it is masked before anything is cut out of them.
        shown = body.replace(self._api_key.encode(), b"***") if self._api_key else body
        words = _problem(shown) if status == 200 else f"status {status}: {_excerpt(shown)}"
        if not words:
            return body
        # A 400 with an <ERROR> is the backend's failure: our requests are well formed.
        if 300 <= status < 500 and status != 429 and not _XML_ERROR.search(body[:2000]):
            raise CorpusError(f"PubMed refused a request, {words}")
        wait_s = retry_after_seconds(response.headers.get("Retry-After", ""))
        if wait_s is not None:
            if wait_s > _LONGEST_WAIT_S:
                raise CorpusError(f"PubMed asks to wait {wait_s:.0f} s: try again then ({words})")
            self._pace.pause(wait_s)
        raise _PassingError(words, wait_s)


class Pace:
    """Assigns evenly spaced start times to the requests of all threads."""

    def __init__(
        self, interval_s: float, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = float("-inf")

    def wait(self) -> None:
        """Wait until the next request may start."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._interval_s
        if start > now:
            self._sleep(start - now)

    def pause(self, wait_s: float) -> None:
        """Let no thread start a request for a number of seconds."""
        with self._lock:
            self._next = max(self._next, self._clock() + wait_s)


def _body_of(response: httpx.Response) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > MOST_REPLY_BYTES:
            raise CorpusError(f"PubMed's response is longer than {MOST_REPLY_BYTES:,} bytes")
    return bytes(body)


def _problem(body: bytes) -> str:
    """Return what is wrong with the body of a response with a good status; empty for nothing."""
    if body.lstrip()[:1] == b"{":
        try:
            reply = json.loads(body, strict=False)
        except ValueError:
            return f"a reply cut short: {_excerpt(body)}"
        found = reply.get("error") or reply.get("esearchresult", {}).get("ERROR")
        if found:
            return str(found)
        complete = "idlist" in reply.get("esearchresult", {}) or "records" in reply
        return "" if complete else f"an unknown reply: {_excerpt(body)}"
    if error := _XML_ERROR.search(body[:2000]):
        return error[1].strip().decode(errors="replace")
    if _WHOLE_SET.search(body[-100:]):
        return ""
    return f"an unknown or cut reply: {_excerpt(body)}"


def _excerpt(body: bytes) -> str:
    return " ".join(body[:300].decode(errors="replace").split())


def retry_after_seconds(retry_after: str) -> float | None:
    """Return the value of a Retry-After header, seconds or a date; None without a usable one."""
    try:
        if retry_after.strip().isdigit():
            return float(retry_after)
        until = parsedate_to_datetime(retry_after)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _trouble(state: RetryCallState) -> _PassingError:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, _PassingError) else _PassingError("unknown trouble")


def _given_up(state: RetryCallState) -> bool:
    most = _ATTEMPTS_UNREACHABLE if _trouble(state).unreachable else _ATTEMPTS
    return state.attempt_number >= most
