"""Render the review page and its parts as HTML, with all reviewed texts escaped."""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.records import Review
from ragassay.reports.display import Tone
from ragassay.reports.labels import replace_controls
from ragassay.review.items import ReviewItem
from ragassay.review.session import (
    ORDERS,
    STATES,
    Filter,
    ReviewSession,
    build_queue,
    list_filter_options,
)

if TYPE_CHECKING:
    from jinja2 import Environment

N_FIRST_ROWS = 60
"""Number of queue rows that the page contains at first; a script requests further rows."""

FIELDS = {"answers": "known answers"}
"""Names of review fields on the page, if they differ from the field."""


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A review for display."""

    id: str
    who: str
    when: str
    word: str
    tone: Tone
    why: str
    is_mine: bool


@functools.cache
def create_environment() -> Environment:
    """Return the Jinja environment, in which values are escaped and undefined names are errors."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    packages = ("ragassay.review", "ragassay.reports")
    return Environment(
        loader=ChoiceLoader(list(map(PackageLoader, packages))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, **known: object) -> str:
    """Render a template, and remove characters that HTML does not allow."""
    return replace_controls(create_environment().get_template(name).render(**known))


def render_page(session: ReviewSession, who: str, suggested: str, nonce: str) -> str:
    """Render the page, opened at the first item that the reviewer has not reviewed.

    Args:
        who: Name of the reviewer, or empty if the page should ask for it.
        suggested: Name that the page suggests when it asks for the name.
        nonce: Nonce of the Content Security Policy.
    """
    order = build_queue(session, Filter(), who)
    n = next((n for n in order if not session.is_done(session.items[n], who)), order[0])
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
        options=list_filter_options(session),
        states={key: word for key, (word, _) in STATES.items()},
        orders=ORDERS,
        rows=[(n, render_row(session, n, who)) for n in order[start : start + N_FIRST_ROWS]],
        item=render_item(session, n, who),
    )


def create_nonce() -> str:
    """Return a new nonce for a Content Security Policy."""
    return secrets.token_urlsafe(18)


def render_row(session: ReviewSession, n: int, who: str) -> str:
    """Render one row of the queue."""
    review_item = session.items[n]
    reviews = session.find_reviews(review_item)
    return render(
        "row.html.j2",
        n=n,
        item=review_item,
        is_done=session.is_done(review_item, who),
        others=sorted({review.who for review in reviews if review.who != who}),
        differs=session.has_disagreement(review_item),
    )


def render_rows(session: ReviewSession, numbers: Sequence[int], who: str) -> list[str]:
    """Render several rows of the queue."""
    return [render_row(session, n, who) for n in numbers]


def render_item(session: ReviewSession, n: int, who: str) -> str:
    """Render a review item with the texts and verdicts around it."""
    review_item = session.items[n]
    reviews = session.find_reviews(review_item)
    return render(
        "item.html.j2",
        n=n,
        item=review_item,
        noun=session.source.noun,
        view=session.source.view(review_item),
        reviews=[describe_review(review, review_item, who) for review in reviews],
        mine=[review.value for review in reviews if review.who == who],
        number_of=session.find_number,
        choices=[
            (_find_key(review_item, i), choice) for i, choice in enumerate(review_item.choices)
        ],
        texts={"texts": list(review_item.written)}
        | {review.field: review.value for review in reviews},
    )


def _find_key(item: ReviewItem, position: int) -> str:
    """Return the key to press for a choice, such as "2" for a rating of 2 or the second label."""
    if item.field == "removed":
        return ("a", "x")[position]
    return item.choices[position].key or (str(position + 1) if position < 9 else "")


def describe_review(review: Review, item: ReviewItem, who: str) -> ReviewView:
    """Format a review for display."""
    word, tone = item.describe_choice(review.value)
    if review.field != item.field:
        name = FIELDS.get(review.field, review.field)
        is_flag = review.field == "removed"
        word = ("remove" if review.value else "keep") if is_flag else f"{name}: {word}"
        tone = "bad" if is_flag and review.value else "plain"
    when = review.when.replace("T", " ")[:16]
    return ReviewView(review.id, review.who, when, word, tone, review.why, review.who == who)
