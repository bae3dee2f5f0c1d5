"""HTTP client for NCBI services that limits the request rate and retries failed requests."""

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
"""Maximum size of a decompressed response in bytes. A response with 200 articles takes a few
megabytes."""

_WHOLE_SET = re.compile(rb"(?:</PubmedArticleSet\s*>|<PubmedArticleSet\s*/>)\s*\Z")
_XML_ERROR = re.compile(rb"<ERROR>((?:(?!</?ERROR>).)*)</ERROR>", re.DOTALL)
_NO_SUCH_ID = re.compile(rb"(?:<ERROR>|\A)\s*(?:ID[ +]list[ +]is[ +]empty|Empty id list)", re.I)


class _TemporaryError(Exception):
    """Failure of a request that may succeed if it is repeated."""

    def __init__(
        self, message: str, retry_after_s: float | None = None, unreachable: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.unreachable = unreachable


class Eutils:
    """Client for NCBI that limits the request rate, retries requests and recognizes errors."""

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
        """Send a request and return the body of the response.

        The body is empty if efetch finds none of the ids.

        Raises:
            CorpusError: NCBI cannot be reached or rejects the request, or all retries fail.
        """
        from tenacity import Retrying, retry_if_exception_type, wait_exponential_jitter

        back_off = wait_exponential_jitter(initial=1, max=30)

        def wait_s(state: RetryCallState) -> float:
            retry_after_s = _get_error(state).retry_after_s
            return back_off(state) if retry_after_s is None else retry_after_s

        retrying = Retrying(
            stop=_should_stop,
            wait=wait_s,
            retry=retry_if_exception_type(_TemporaryError),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._send, url, params, keyed)
        except _TemporaryError as error:
            host = urlsplit(url).netloc
            problem = f"requests to {host} keep failing; try again later"
            if error.unreachable:
                problem = f"cannot reach {host}; check the network and the proxy settings"
            alternative = "or use a corpus on disk (`ragassay corpus build`)"
            raise CorpusError(f"{problem}, {alternative} ({error})") from error

    def _send(self, url: str, params: Mapping[str, str], keyed: bool) -> bytes:
        import httpx

        data = {**params, **self._caller}
        self._pace.wait()
        try:
            if keyed:
                # The key must not be in the URL, because URLs are logged.
                secret = {"api_key": self._api_key} if self._api_key else {}
                request = self._client.build_request("POST", url, data=data | secret)
            else:
                request = self._client.build_request("GET", url, params=data)
            response = self._client.send(request, stream=True, follow_redirects=not keyed)
            with closing(response):
                body = _read_body(response)
        except httpx.RequestError as error:
            connection_errors = httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError
            raise _TemporaryError(
                f"{type(error).__name__}: {error}",
                unreachable=isinstance(error, connection_errors),
            ) from error
        return self._check_body(response, body)

    def _check_body(self, response: httpx.Response, body: bytes) -> bytes:
        status = response.status_code
        if _NO_SUCH_ID.search(body[:2000]):
            return b""
        # NCBI quotes the key in error messages.
        masked = body.replace(self._api_key.encode(), b"***") if self._api_key else body
        problem = (
            _find_problem(masked) if status == 200 else f"status {status}: {_shorten_body(masked)}"
        )
        if not problem:
            return body
        # Our requests are well formed, so a 400 with an <ERROR> is a failure of the backend.
        if 300 <= status < 500 and status != 429 and not _XML_ERROR.search(body[:2000]):
            raise CorpusError(f"PubMed rejected a request: {problem}")
        wait_s = retry_after_seconds(response.headers.get("Retry-After", ""))
        if wait_s is not None:
            if wait_s > _LONGEST_WAIT_S:
                raise CorpusError(f"PubMed is busy; try again in {wait_s:.0f} s ({problem})")
            self._pace.pause(wait_s)
        raise _TemporaryError(problem, wait_s)


class Pace:
    """Limits the request rate by spacing the requests of all threads evenly."""

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
        """Delay all new requests by a number of seconds."""
        with self._lock:
            self._next = max(self._next, self._clock() + wait_s)


def _read_body(response: httpx.Response) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > MOST_REPLY_BYTES:
            raise CorpusError(f"PubMed's response is longer than {MOST_REPLY_BYTES:,} bytes")
    return bytes(body)


def _find_problem(body: bytes) -> str:
    """Return what is wrong with a response of status 200, or an empty string if it is valid."""
    if body.lstrip()[:1] == b"{":
        try:
            reply = json.loads(body, strict=False)
        except ValueError:
            return f"truncated response: {_shorten_body(body)}"
        error = reply.get("error") or reply.get("esearchresult", {}).get("ERROR")
        if error:
            return str(error)
        is_known = "idlist" in reply.get("esearchresult", {}) or "records" in reply
        return "" if is_known else f"unknown response: {_shorten_body(body)}"
    if error := _XML_ERROR.search(body[:2000]):
        return error[1].strip().decode(errors="replace")
    if _WHOLE_SET.search(body[-100:]):
        return ""
    return f"unknown or truncated response: {_shorten_body(body)}"


def _shorten_body(body: bytes) -> str:
    return " ".join(body[:300].decode(errors="replace").split())


def retry_after_seconds(retry_after: str) -> float | None:
    """Return the seconds to wait according to a Retry-After header, or None if it is invalid."""
    try:
        if retry_after.strip().isdigit():
            return float(retry_after)
        until = parsedate_to_datetime(retry_after)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _get_error(state: RetryCallState) -> _TemporaryError:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, _TemporaryError) else _TemporaryError("unknown error")


def _should_stop(state: RetryCallState) -> bool:
    limit = _ATTEMPTS_UNREACHABLE if _get_error(state).unreachable else _ATTEMPTS
    return state.attempt_number >= limit
