"""Routes of the review page, and validation of the reviews that the browser sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pydantic import ConfigDict, Field, JsonValue, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ragassay.errors import InputError
from ragassay.records import BANK, Review, VerdictBase
from ragassay.records.base import Frozen
from ragassay.review import pages
from ragassay.review.access import HEADERS, AccessControl, build_page_policy
from ragassay.review.items import ReviewItem, ReviewSource, Value
from ragassay.review.session import Filter, ReviewSession, build_queue

LONGEST_TEXT = 4_000
LONGEST_NAME = 80


class Submission(Frozen):
    """A review that the browser sends.

    Attributes:
        id: Id that the browser creates, so that a review that is sent twice is stored once.
        n: Number of the reviewed item.
        field: Field that the review sets: the `field` or one of the `edits` of the item, "removed",
            "note" or "added".
        undoes: Id of an earlier review that this review undoes.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    id: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    who: str = Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")
    n: int = Field(ge=0)
    field: str = ""
    value: JsonValue = None
    why: str = Field(default="", max_length=LONGEST_TEXT)
    undoes: str = Field(default="", max_length=64)


def read_submission(body: bytes) -> Submission:
    """Parse a review that the browser sent as JSON.

    Raises:
        InputError: The JSON is invalid.
    """
    try:
        return Submission.model_validate_json(body)
    except ValidationError as error:
        problem = error.errors()[0]
        location = ".".join(map(str, problem["loc"])) or "body"
        raise InputError(f"{location}: {problem['msg']}") from error


def convert_submission(submission: Submission, item: ReviewItem, source: ReviewSource) -> Review:
    """Return the review to store, which also contains the value that the model had chosen.

    Raises:
        InputError: The value is not valid for the item.
    """
    field = submission.field or item.field
    if not submission.undoes:
        problem = _check_value(field, submission.value, item)
        if problem:
            raise InputError(f"{field}: {problem}")
    name, value = item.item, submission.value
    if field == "added" and isinstance(value, dict):
        name, value = source.build_addition(item, str(value["text"]))
    return Review(
        id=submission.id,
        who=submission.who,
        why=submission.why,
        evaluator=item.evaluator,
        record=item.record,
        item=name,
        field=field,
        was=_find_model_value(field, item),
        value=None if submission.undoes else value,
        undoes=submission.undoes,
    )


def _find_model_value(field: str, item: ReviewItem) -> Value | None:
    if field == item.field:
        return item.model_choice
    return item.item_text if field == "text" else None


def _check_value(field: str, value: JsonValue, item: ReviewItem) -> str:
    """Return why a value is invalid, or "" if it is valid."""
    if field == "removed":
        return "" if isinstance(value, bool) else "must be true or false"
    if field == "note" or (field == "text" and "text" in item.edits):
        return _check_text(value)
    if field in ("answers", "texts") and field in item.edits:
        is_list = isinstance(value, list) and not any(map(_check_text, value))
        return "" if is_list else "must be a list of strings"
    if field == "added" and item.evaluator == BANK:
        is_item = isinstance(value, dict) and not _check_text(value.get("text"))
        return "" if is_item else "must be an item with a text"
    if field != item.field:
        return "the item does not have this field"
    if any(choice.value == value and type(choice.value) is type(value) for choice in item.choices):
        return ""
    if field == "rating" and _is_on_scale(value, item):
        return ""
    # The set of labels of a custom evaluator is open.
    is_open = field == "label" and item.evaluator not in VerdictBase.kinds
    if is_open and not _check_text(value):
        return ""
    return f"must be one of {', '.join(choice.word for choice in item.choices)}"


def _is_on_scale(value: JsonValue, item: ReviewItem) -> bool:
    """Return whether a value is a number on the scale of an item that allows fractional ratings."""
    scale = [choice.value for choice in item.choices if isinstance(choice.value, int | float)]
    is_fractional = any(isinstance(end, float) for end in scale)
    if not is_fractional or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return min(scale) <= value <= max(scale)


def _check_text(value: JsonValue) -> str:
    if not isinstance(value, str) or not value.strip():
        return "must be text"
    is_long = len(value) > LONGEST_TEXT
    return f"must have at most {LONGEST_TEXT:,} characters" if is_long else ""


N_BYTES_MOST = 2**16
N_ROWS_MOST = 200

WHO = "ragassay-review-who"
"""Name of the cookie in which the page stores the name of the reviewer."""


def build_app(
    session: ReviewSession,
    access: AccessControl,
    who: str = "",
    on_done: Callable[[], None] = lambda: None,
) -> Starlette:
    """Build the ASGI application of the review page.

    Args:
        who: Suggested name of the reviewer.
        on_done: Function that is called when a reviewer ends a review for which a run waits.
    """
    routes = _Routes(session, access, who, on_done)
    return Starlette(
        routes=[
            Route("/", routes.show_page),
            Route("/queue", routes.show_queue),
            Route("/rows", routes.show_rows),
            Route("/items/{n}", routes.show_item),
            Route("/reviews", routes.add_review, methods=["POST"]),
            Route("/news", routes.show_news),
            Route("/done", routes.finish, methods=["POST"]),
        ],
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=routes.guard)],
        exception_handlers={InputError: _refuse},
    )


@dataclass(frozen=True)
class _Routes:
    """Handles the requests of the review page, with slow operations in a thread."""

    session: ReviewSession
    access: AccessControl
    who: str
    on_done: Callable[[], None]

    async def guard(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Refuse unauthorized requests and add security headers to every response."""
        token = request.query_params.get("token", "") if request.url.path == "/" else ""
        headers = {name.lower(): value for name, value in request.headers.items()}
        problem = self.access.explain_refusal(request.method, headers, request.cookies, token)
        response = PlainTextResponse(problem, 403) if problem else await call_next(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("content-security-policy", "default-src 'none'")
        return response

    async def show_page(self, request: Request) -> Response:
        """Return the review page as HTML."""
        await run_in_threadpool(self.session.refresh)
        nonce = pages.create_nonce()
        html = await run_in_threadpool(
            pages.render_page, self.session, _read_reviewer(request), self.who, nonce
        )
        headers = {
            "content-security-policy": build_page_policy(nonce),
            "set-cookie": self.access.set_cookie(),
        }
        return HTMLResponse(html, headers=headers)

    async def show_queue(self, request: Request) -> Response:
        """Return the numbers of the items that match the filters, in the order of the queue."""
        n = await run_in_threadpool(self.session.refresh)
        reply = {"n": n, "undo": self.session.list_undoable_reviews(_read_reviewer(request))}
        return JSONResponse(reply | await self._describe_progress(request, with_order=True))

    async def show_rows(self, request: Request) -> Response:
        """Return the HTML of queue rows, keyed by item number."""
        requested = request.query_params.get("n", "").split(",")[:N_ROWS_MOST]
        numbers = [n for n in map(self._parse_number, requested) if n is not None]
        rows = await run_in_threadpool(
            pages.render_rows, self.session, numbers, _read_reviewer(request)
        )
        return JSONResponse(dict(zip(numbers, rows, strict=True)))

    async def show_item(self, request: Request) -> Response:
        """Return a review item as HTML."""
        n = self._parse_number(request.path_params["n"])
        if n is None:
            return PlainTextResponse("item not found", 404)
        return HTMLResponse(
            await run_in_threadpool(pages.render_item, self.session, n, _read_reviewer(request))
        )

    async def add_review(self, request: Request) -> Response:
        """Store a review. The response is sent after the review is saved on disk."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return PlainTextResponse("the content type must be application/json", 415)
        body = await _read_body(request)
        if body is None:
            return PlainTextResponse(f"the body must have at most {N_BYTES_MOST:,} bytes", 413)
        submission = read_submission(body)
        if self._parse_number(submission.n) is None:
            return PlainTextResponse("item not found", 404)
        review = convert_submission(
            submission, self.session.items[submission.n], self.session.source
        )
        await run_in_threadpool(self.session.add, review)
        return JSONResponse({"id": review.id, "n": self.session.find_number(review.about[:3])})

    async def show_news(self, request: Request) -> Response:
        """Return the numbers of the items with new reviews, ignoring the first `since` reviews."""
        n = await run_in_threadpool(self.session.refresh)
        parameter = request.query_params.get("since", "")
        since = int(parameter) if _is_number(parameter) else n
        reply = {"n": n, "changed": sorted(self.session.find_changed_items(since))}
        return JSONResponse(reply if since >= n else reply | await self._describe_progress(request))

    async def finish(self, request: Request) -> Response:
        """End the review so that the waiting run continues."""
        if not self.session.source.finish:
            return PlainTextResponse("no run is waiting for this review", 404)
        self.on_done()
        return JSONResponse({"done": True})

    async def _describe_progress(
        self, request: Request, *, with_order: bool = False
    ) -> dict[str, Any]:
        who = _read_reviewer(request)
        wanted = Filter.from_query(request.query_params)
        numbers = await run_in_threadpool(build_queue, self.session, wanted, who)
        progress = self.session.measure_progress(numbers, who)
        reply = {"total": progress.n, "done": progress.n_done, "left_s": progress.left_s}
        return {**reply, "order": numbers} if with_order else reply

    def _parse_number(self, value: object) -> int | None:
        text = str(value)
        return int(text) if _is_number(text) and int(text) < len(self.session.items) else None


async def _refuse(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 400)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _read_reviewer(request: Request) -> str:
    """Return the name of the reviewer, or "" if the page has not asked for it yet."""
    name = unquote(request.cookies.get(WHO, "")).strip()
    return name[:LONGEST_NAME] if name.isprintable() else ""


async def _read_body(request: Request) -> bytes | None:
    """Return the request body, or None if it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > N_BYTES_MOST:
            return None
    return bytes(body)
