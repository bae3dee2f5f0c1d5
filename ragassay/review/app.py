"""The routes of the review page, and the check of what a browser sends."""

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
from ragassay.review.access import HEADERS, AccessControl, page_policy
from ragassay.review.items import ReviewItem, ReviewSource, Value
from ragassay.review.session import Filter, ReviewSession, queue

LONGEST_TEXT = 4_000
LONGEST_NAME = 80


class Submission(Frozen):
    """A message of the browser: a person said something.

    Attributes:
        id: Made by the browser, so that sending it again adds nothing.
        field: What is said: the item's own field, one of its edits, "removed", "note", "added".
        undoes: The review that is taken back.
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
    """Read what a browser sent.

    Raises:
        InputError: The message has another form.
    """
    try:
        return Submission.model_validate_json(body)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "body"
        raise InputError(f"{where}: {problem['msg']}") from error


def review_of(submission: Submission, item: ReviewItem, source: ReviewSource) -> Review:
    """Return the review of an item; what the model said is read from the item.

    Raises:
        InputError: The value is none that can be said of the item.
    """
    field = submission.field or item.field
    if not submission.undoes:
        problem = _problem(field, submission.value, item)
        if problem:
            raise InputError(f"{field}: {problem}")
    name, value = item.item, submission.value
    if field == "added" and isinstance(value, dict):
        name, value = source.addition(item, str(value["text"]))
    return Review(
        id=submission.id,
        who=submission.who,
        why=submission.why,
        evaluator=item.evaluator,
        record=item.record,
        item=name,
        field=field,
        was=_was(field, item),
        value=None if submission.undoes else value,
        undoes=submission.undoes,
    )


def _was(field: str, item: ReviewItem) -> Value | None:
    if field == item.field:
        return item.model_choice
    return item.item_text if field == "text" else None


def _problem(field: str, value: JsonValue, item: ReviewItem) -> str:
    """Return what is wrong with a value; empty where nothing is."""
    if field == "removed":
        return "" if isinstance(value, bool) else "true or false is wanted"
    if field == "note" or (field == "text" and "text" in item.edits):
        return _text_problem(value)
    if field in ("answers", "texts") and field in item.edits:
        is_list = isinstance(value, list) and all(not _text_problem(one) for one in value)
        return "" if is_list else "a list of texts is wanted"
    if field == "added" and item.evaluator == BANK:
        is_item = isinstance(value, dict) and not _text_problem(value.get("text"))
        return "" if is_item else "an item with a text is wanted"
    if field != item.field:
        return "nothing of the kind can be said of this item"
    if any(choice.value == value and type(choice.value) is type(value) for choice in item.choices):
        return ""
    if field == "rating" and _is_between(value, item):
        return ""
    # Labels of a user's own evaluator are known by what it said so far.
    is_open = field == "label" and item.evaluator not in VerdictBase.kinds
    if is_open and not _text_problem(value):
        return ""
    return f"one of {', '.join(choice.word for choice in item.choices)} is wanted"


def _is_between(value: JsonValue, item: ReviewItem) -> bool:
    """Return whether a number lies on the scale of an item whose ratings are no whole numbers."""
    scale = [choice.value for choice in item.choices]
    is_share = any(isinstance(one, float) for one in scale)
    numbers = [one for one in scale if isinstance(one, int | float)]
    if not is_share or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return min(numbers) <= value <= max(numbers)


def _text_problem(value: JsonValue) -> str:
    if not isinstance(value, str) or not value.strip():
        return "a text is wanted"
    is_long = len(value) > LONGEST_TEXT
    return f"a text of at most {LONGEST_TEXT:,} characters is wanted" if is_long else ""


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
        submission = read_submission(body)
        if self._number(submission.n) is None:
            return PlainTextResponse("there is no such item", 404)
        review = review_of(submission, self.session.items[submission.n], self.session.source)
        await run_in_threadpool(self.session.add, review)
        return JSONResponse({"id": review.id, "n": self.session.number_of(review.about[:3])})

    async def tell_news(self, request: Request) -> Response:
        """Tell which items somebody said something of after the first `since` reviews."""
        n = await run_in_threadpool(self.session.refresh)
        submission = request.query_params.get("since", "")
        since = int(submission) if _is_number(submission) else n
        told = {"n": n, "changed": sorted(self.session.reviews_since(since))}
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

    def _number(self, submission: object) -> int | None:
        text = str(submission)
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
