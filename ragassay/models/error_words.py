"""Tell providers' errors by their words: the statuses and codes of one cause differ."""

from __future__ import annotations

import re
from typing import Literal

Meaning = Literal["quota", "too_long", "no_model", "busy"]

MEANINGS: tuple[tuple[Meaning, str, str], ...] = (
    # (meaning, words, example); the first that matches counts.
    ("quota", r"insufficient[_ ](?:quota|balance|credits?|funds)", "Insufficient Balance"),
    ("quota", r"credit balance is too low", "Your credit balance is too low"),
    ("quota", r"(?:balance|credits?) (?:is|are) (?:insufficient|exhausted|depleted)",
     "Your prepayment credits are depleted."),
    ("quota", r"out of credits|credit limit (?:reached|exceeded)", "You are out of credits."),
    ("quota", r"payment required|spend(?:ing)? limit", "Payment required"),
    ("quota", r"billing[_ ](?:hard[_ ]limit|not[_ ]active)", "billing_hard_limit_reached"),
    ("quota", r"budget has been exceeded", "Budget has been exceeded! Max budget: 10"),
    ("quota", r"usage limit, upgrade|organization has been restricted",
     "You have reached your session usage limit, upgrade"),
    ("quota", r"(?:tokens|requests) per day, please wait", "Too many tokens per day, please wait"),
    ("too_long", r"maximum context length|context[_ ](?:length|size|window)",
     "This model's maximum context length is 8192 tokens"),
    ("too_long", r"(?:prompt|input|request) is too long", "prompt is too long: 210000 tokens"),
    ("too_long", r"reduce the length of the (?:messages|prompt|input)",
     "Please reduce the length of the messages or completion."),
    ("too_long", r"input token count[^.]{0,40}exceeds", "The input token count (9) exceeds 8"),
    ("no_model", r"model identifier is invalid|not a valid model|invalid model\b|model not exist",
     "The provided model identifier is invalid."),
    ("no_model", r"no models loaded", "No models loaded. Please load a model"),
    ("busy", r"model is unloaded|loading model", "Model is unloaded."),
)  # fmt: skip

_MEANINGS: tuple[tuple[Meaning, re.Pattern[str]], ...] = tuple(
    (meaning, re.compile(words, re.IGNORECASE)) for meaning, words, _ in MEANINGS
)
_EXCEEDED = re.compile(r"exceeded (?:your|its) current quota", re.IGNORECASE)
_A_WHILE = re.compile(r"per[_ ]?(?:minute|second)|retry[_ ]?(?:in|delay|after)", re.IGNORECASE)
"""Gemini says of a rate, too, that the quota is exceeded."""
_WAIT = re.compile(r"(?:retry|try again)\s(?:after|in)\s(\d{1,9})(?:\.\d{1,9})?\s?s", re.IGNORECASE)
LONGEST_WAIT_S = 3600
"""A provider that asks for more has no more for today."""


def meaning_of(status: int, message: str) -> Meaning | None:
    """Return what an error means, by its words; None where its status says as much.

    Args:
        status: HTTP status, 0 where there is none.
        message: The error's words.

    Example:
        >>> meaning_of(400, "Your credit balance is too low")
        'quota'
    """
    wait = _WAIT.search(message)
    is_spent = _EXCEEDED.search(message) and not _A_WHILE.search(message)
    if status == 402 or is_spent or (wait and int(wait[1]) > LONGEST_WAIT_S):
        return "quota"
    if status in (401, 403) or status >= 500:
        return None
    return next((meaning for meaning, words in _MEANINGS if words.search(message)), None)


def quota_words(model: str, message: str) -> str:
    """Return what to do about a quota that is gone."""
    return f"the quota of {model} is used up: pay its provider, or name another ({message})"
