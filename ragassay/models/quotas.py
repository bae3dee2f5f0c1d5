"""Tell whether a provider's error says that the money is gone, which no retry mends."""

from __future__ import annotations

import re

_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|credit balance is too low|out of credits"
    r"|payment required|credit limit (?:reached|exceeded)"
    r"|billing[_ ](?:hard[_ ]limit|not[_ ]active)|spend(?:ing)? limit"
    r"|budget has been exceeded|exceeded (?:your|its) current quota"
    r"|(?:balance|credits?) (?:is|are) (?:insufficient|exhausted)",
    re.IGNORECASE,
)
"""Providers' words for money that is gone."""

_PER_TIME = re.compile(r"per[_ ]?(?:minute|second|day)|retry[_ ]?(?:in|delay|after)", re.IGNORECASE)
"""Gemini says of a rate, too, that the quota is exceeded."""


def is_out_of_quota(status: int, message: str) -> bool:
    """Return whether a provider says that no money or quota is left, by an error's words."""
    return status == 402 or bool(_QUOTA.search(message) and not _PER_TIME.search(message))


def quota_words(model: str, message: str) -> str:
    """Return what to do about a quota that is gone."""
    return f"the quota of {model} is used up: pay its provider, or name another ({message})"
