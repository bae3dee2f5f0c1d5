"""Read the rating and the reason from a published judge's reply.

A reply is untrusted: it quotes judged text. So a rating counts only at its place in the form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragassay.agents.replies import read_reply
from ragassay.agents.reply_values import value_of
from ragassay.errors import UnparsableReplyError
from ragassay.judge_forms import SCALE, FormName, JudgeForm

_YESCIEVAL_NAME = re.compile(
    r"""([A-Za-z ]{1,40})["'\u2018\u2019\u201c\u201d]?\s{0,9}:\s{0,99}\{[^{}:]{0,99}:\s{0,99}$"""
)
"""Before the rating in a reply of YESciEval's judges: {"Cohesion": {"rating": "4", ...}}."""

_PROMETHEUS = re.compile(
    r"\[(?:RESULT|SCORE)\][\s:(\[*]{0,9}(?P<rating>\d{1,9}(?:\.\d{1,9})?)", re.I
)
"""The end of a reply of Prometheus 2: its feedback, then [RESULT] 4."""


@dataclass(frozen=True)
class Rating:
    """The rating and the reason in a reply.

    Attributes:
        rating: From 1 to 5.
        rationale: The reason.
        offset: Where the rating stands in the reply.
    """

    rating: int
    rationale: str
    offset: int


def read_rating(form: JudgeForm, text: str, rubric: str) -> Rating:
    """Return the rating in a reply.

    Args:
        form: The form that it answers.
        text: The reply.
        rubric: The name of the rubric that was asked for.

    Raises:
        UnparsableReplyError: There is none at its place, or it is of another rubric.
    """
    return _READERS[form.name](text, rubric)


def rating_distribution(form: JudgeForm, logprobs: Any, rubric: str) -> tuple[float, ...] | None:
    """Return the probability of each rating from 1 to 5, of the token that has the rating.

    Args:
        form: The form that the reply answers.
        logprobs: `choices[0].logprobs` of the reply; None where the model returns none.
        rubric: The name of the rubric that was asked for.
    """
    tokens = list(getattr(logprobs, "content", None) or ())
    try:
        wanted = read_rating(form, "".join(token.token for token in tokens), rubric).offset
    except UnparsableReplyError:
        return None
    start = 0
    for token in tokens:
        if start <= wanted < start + len(token.token):
            return _weights(token)
        start += len(token.token)
    return None


def _weights(token: Any) -> tuple[float, ...] | None:
    """Return the share of each rating among a token's alternatives; None where there are none."""
    low, high = SCALE
    weights = dict.fromkeys(map(str, range(low, high + 1)), 0.0)
    for option in token.top_logprobs or ():
        digit = option.token.strip(" \t\r\n\"'([")
        if digit in weights and math.isfinite(option.logprob):
            weights[digit] += math.exp(min(0.0, option.logprob))
    total = sum(weights.values())
    return tuple(weight / total for weight in weights.values()) if total > 0 else None


def _read_yescieval(text: str, rubric: str) -> Rating:
    """Read {"Cohesion": {"rating": "4", "rationale": "..."}}."""
    try:
        found = read_reply(text, ("rating", "rationale"), ("rating",))
    except ValueError as error:
        raise UnparsableReplyError(f"{error} in {text[:200]!r}") from error
    field = found["rating"]
    rating = value_of("rating", field.value, Literal[1, 2, 3, 4, 5])
    named = _YESCIEVAL_NAME.search(text[max(0, field.start - 300) : field.start])
    if named and named[1].strip().casefold() != rubric.casefold():
        raise UnparsableReplyError(f"the reply rates {named[1].strip()!r}, not {rubric!r}")
    reason = value_of("rationale", found["rationale"].value, str) if "rationale" in found else ""
    return Rating(rating, reason.strip(), text.find(str(rating), field.start))


def _read_prometheus(text: str, rubric: str) -> Rating:
    """Read what follows the last mark of a result; before it stands the feedback."""
    found = list(_PROMETHEUS.finditer(text))
    low, high = SCALE
    if not found:
        raise UnparsableReplyError(f"the reply has no [RESULT] with a number: {text[-200:]!r}")
    rating = float(found[-1]["rating"])
    if rating not in range(low, high + 1):
        raise UnparsableReplyError(f"the result {found[-1]['rating']} is not from {low} to {high}")
    feedback = text[: found[-1].start()].strip().removeprefix("Feedback:").strip()
    return Rating(int(rating), feedback, found[-1].start("rating"))


_READERS: Mapping[FormName, Callable[[str, str], Rating]] = {
    "yescieval": _read_yescieval,
    "prometheus": _read_prometheus,
}
