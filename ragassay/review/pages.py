"""The page and its parts as HTML. Everything that is reviewed is untrusted: all is escaped."""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.records import Review
from ragassay.reports.display import Tone
from ragassay.reports.labels import without_controls
from ragassay.review.items import ReviewItem
from ragassay.review.session import ORDERS, STATES, Filter, ReviewSession, options, queue

if TYPE_CHECKING:
    from jinja2 import Environment

N_FIRST_ROWS = 60
"""Rows of the queue that come with the page; the script asks for others."""

FIELDS = {"answers": "known answers"}
"""Names of what can be said beside a choice, where they are not the words."""


@dataclass(frozen=True, slots=True)
class Told:
    """A person's word on an item, as shown."""

    id: str
    who: str
    when: str
    word: str
    tone: Tone
    why: str
    is_mine: bool


@functools.cache
def environment() -> Environment:
    """Return the Jinja environment: it escapes all output and raises on undefined names."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    rooms = ("ragassay.review", "ragassay.reports")
    return Environment(
        loader=ChoiceLoader([PackageLoader(room) for room in rooms]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, **known: object) -> str:
    """Render a template, without characters that HTML forbids."""
    return without_controls(environment().get_template(name).render(**known))


def page(session: ReviewSession, who: str, suggested: str, nonce: str) -> str:
    """Return the page: the first rows of the queue, and the first item that is not done.

    Args:
        session: What is reviewed.
        who: The person; empty where the page has to ask.
        nonce: Of the content security policy.
    """
    order = queue(session, Filter(), who)
    n = next((one for one in order if not session.is_done(session.items[one], who)), order[0])
    source = session.source
    start = max(0, order.index(n) - N_FIRST_ROWS // 2)
    return render(
        "page.html.j2",
        source=source,
        nonce=nonce,
        who=who,
        suggested=suggested,
        order=order,
        first=n,
        target=hashlib.sha256(str(source.journal.path).encode()).hexdigest()[:16],
        is_bank="text" in session.items[0].edits,
        options=options(session),
        states={key: word for key, (word, _) in STATES.items()},
        orders=ORDERS,
        rows=[(n, row_of(session, n, who)) for n in order[start : start + N_FIRST_ROWS]],
        item=item(session, n, who),
    )


def nonce() -> str:
    """Return a new nonce."""
    return secrets.token_urlsafe(18)


def row_of(session: ReviewSession, n: int, who: str) -> str:
    """Return a row of the queue."""
    one = session.items[n]
    reviews = session.reviews_of(one)
    return render(
        "row.html.j2",
        n=n,
        item=one,
        is_done=session.is_done(one, who),
        others=sorted({review.who for review in reviews if review.who != who}),
        differs=session.people_differ(one),
    )


def rows(session: ReviewSession, numbers: Sequence[int], who: str) -> list[str]:
    """Return rows of the queue."""
    return [row_of(session, n, who) for n in numbers]


def item(session: ReviewSession, n: int, who: str) -> str:
    """Return an item with everything that stands around it."""
    one = session.items[n]
    reviews = [describe_review(review, one, who) for review in session.reviews_of(one)]
    return render(
        "item.html.j2",
        n=n,
        item=one,
        noun=session.source.noun,
        view=session.source.view(one),
        reviews=reviews,
        mine=[review.value for review in session.reviews_of(one) if review.who == who],
        number_of=session.number_of,
        choices=[(_key(one, i), choice) for i, choice in enumerate(one.choices)],
        texts={"texts": list(one.written)}
        | {review.field: review.value for review in session.reviews_of(one)},
    )


def _key(item: ReviewItem, place: int) -> str:
    """Return the key of a choice: its digit, or its place from 1."""
    if item.field == "removed":
        return ("a", "x")[place]
    return item.choices[place].key or (str(place + 1) if place < 9 else "")


def describe_review(review: Review, item: ReviewItem, who: str) -> Told:
    """Return what a person said in words."""
    word, tone = item.word_of(review.value)
    if review.field != item.field:
        name = FIELDS.get(review.field, review.field)
        is_flag = review.field == "removed"
        word = ("leave it out" if review.value else "keep it") if is_flag else f"{name}: {word}"
        tone = "bad" if is_flag and review.value else "plain"
    when = review.when.replace("T", " ")[:16]
    return Told(review.id, review.who, when, word, tone, review.why, review.who == who)
