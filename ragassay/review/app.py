"""The routes of the review page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ragassay.errors import InputError
from ragassay.review import pages
from ragassay.review.server import HEADERS, AccessControl, page_policy
from ragassay.review.session import Filter, ReviewSession, queue
from ragassay.review.submissions import LONGEST_NAME, read_said, review_of

N_BYTES_MOST = 2**16
N_ROWS_MOST = 200

WHO = "ragassay-review-who"
"""The cookie of a person's name, which the page sets."""


def build_app(
    session: ReviewSession,
    access: AccessControl,
    who: str = "",
    on_done: Callable[[], None] = lambda: None,
) -> Starlette:
    """Build the application.

    Args:
        session: What is reviewed.
        access: Who may come in.
        who: A name to suggest to whoever opens the page.
        on_done: Called when a person ends the review, where a run waits for it.
    """
    routes = _Routes(session, access, who, on_done)
    return Starlette(
        routes=[
            Route("/", routes.show_page),
            Route("/queue", routes.show_queue),
            Route("/rows", routes.show_rows),
            Route("/items/{n}", routes.show_item),
            Route("/reviews", routes.add_review, methods=["POST"]),
            Route("/news", routes.tell_news),
            Route("/done", routes.finish, methods=["POST"]),
        ],
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=routes.guard)],
        exception_handlers={InputError: _refuse},
    )


@dataclass(frozen=True)
class _Routes:
    """What is served; see `build_app`. What takes long runs in a thread."""

    session: ReviewSession
    access: AccessControl
    who: str
    on_done: Callable[[], None]

    async def guard(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Refuse who may not come in; tell the browser what it may do with any reply."""
        token = request.query_params.get("token", "") if request.url.path == "/" else ""
        headers = {name.lower(): value for name, value in request.headers.items()}
        problem = self.access.refusal(request.method, headers, request.cookies, token)
        response = PlainTextResponse(problem, 403) if problem else await call_next(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("content-security-policy", "default-src 'none'")
        return response

    async def show_page(self, request: Request) -> Response:
        """Return the page."""
        await run_in_threadpool(self.session.refresh)
        nonce = pages.nonce()
        html = await run_in_threadpool(pages.page, self.session, _who(request), self.who, nonce)
        headers = {
            "content-security-policy": page_policy(nonce),
            "set-cookie": self.access.set_cookie(),
        }
        return HTMLResponse(html, headers=headers)

    async def show_queue(self, request: Request) -> Response:
        """Return the numbers of the items that fit the filters, in order."""
        n = await run_in_threadpool(self.session.refresh)
        told = {"n": n, "undo": self.session.last_of(_who(request))}
        return JSONResponse(told | await self._in_numbers(request, with_order=True))

    async def show_rows(self, request: Request) -> Response:
        """Return rows of the queue, by their items' numbers."""
        asked = request.query_params.get("n", "").split(",")[:N_ROWS_MOST]
        numbers = [n for n in map(self._number, asked) if n is not None]
        rows = await run_in_threadpool(pages.rows, self.session, numbers, _who(request))
        return JSONResponse(dict(zip(numbers, rows, strict=True)))

    async def show_item(self, request: Request) -> Response:
        """Return an item."""
        n = self._number(request.path_params["n"])
        if n is None:
            return PlainTextResponse("there is no such item", 404)
        return HTMLResponse(await run_in_threadpool(pages.item, self.session, n, _who(request)))

    async def add_review(self, request: Request) -> Response:
        """Keep what a person said; the reply says that it is on disk."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return PlainTextResponse("JSON is wanted", 415)
        body = await _body(request)
        if body is None:
            return PlainTextResponse(f"at most {N_BYTES_MOST:,} bytes", 413)
        said = read_said(body)
        if self._number(said.n) is None:
            return PlainTextResponse("there is no such item", 404)
        review = review_of(said, self.session.items[said.n], self.session.source)
        await run_in_threadpool(self.session.add, review)
        return JSONResponse({"id": review.id, "n": self.session.number_of(review.about[:3])})

    async def tell_news(self, request: Request) -> Response:
        """Tell which items somebody said something of after the first `since` reviews."""
        n = await run_in_threadpool(self.session.refresh)
        given = request.query_params.get("since", "")
        since = int(given) if _is_number(given) else n
        told = {"n": n, "changed": sorted(self.session.said_since(since))}
        return JSONResponse(told if since >= n else told | await self._in_numbers(request))

    async def finish(self, request: Request) -> Response:
        """End the review: the run that waits for it goes on."""
        if not self.session.source.finish:
            return PlainTextResponse("nothing waits for this review", 404)
        self.on_done()
        return JSONResponse({"done": True})

    async def _in_numbers(self, request: Request, *, with_order: bool = False) -> dict[str, Any]:
        name = _who(request)
        wanted = Filter.of(request.query_params)
        numbers = await run_in_threadpool(queue, self.session, wanted, name)
        found = self.session.progress(numbers, name)
        told = {"total": found.n, "done": found.n_done, "left_s": found.left_s}
        return {**told, "order": numbers} if with_order else told

    def _number(self, given: object) -> int | None:
        text = str(given)
        return int(text) if _is_number(text) and int(text) < len(self.session.items) else None


async def _refuse(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 400)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _who(request: Request) -> str:
    """Return the person's name; empty before the page asked for it."""
    name = unquote(request.cookies.get(WHO, "")).strip()
    return name[:LONGEST_NAME] if name.isprintable() else ""


async def _body(request: Request) -> bytes | None:
    """Return a request's body; None where it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > N_BYTES_MOST:
            return None
    return bytes(body)
