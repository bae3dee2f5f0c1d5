"""All errors that ragassay raises.

RagassayError
├── InputError (ValueError)          the user's data or arguments are not usable
│   └── NoRecordError                no record of an input can be evaluated
├── SettingsError (ValueError)       a setting is wrong, or settings contradict each other
├── RunMismatchError (ValueError)    a run folder belongs to another input or other settings
├── ExtraError (ImportError)          a library that only this job needs is not installed
├── EvaluatorError (ValueError)       a user's evaluator returned what it does not declare
├── UnjudgedError (RuntimeError)      in ragassay.results: `raise_on_failure`, and something failed
├── BelowError (AssertionError)       in ragassay.results: a mean is less than `fail_under`
├── UnmeasuredError (RuntimeError)    in ragassay.results: a mean that is asked for is unknown
├── CorpusError (RuntimeError)       a corpus is missing, damaged, or cannot be reached
└── ModelError (RuntimeError)        a model call gave no usable reply
    ├── TransientModelError          rate limit, time-out, 5xx, lost connection: worth a retry
    ├── UnparsableReplyError         the reply does not fit the schema: worth one retry
    ├── CutReplyError                the reply's tokens ended before its verdict
    ├── RefusedError                 the model refused, or the request was refused
    ├── PromptTooLongError           the prompt does not fit into the model's context
    ├── BatchError                   a batch ended without a reply: `--retry-failed` asks again
    └── FatalModelError              a wrong key, an unknown model: every further call fails too
        └── BudgetError              the money that a run or a job may cost is spent
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragassay.records import FailureReason, Rejection
from ragassay.safe_text import without_secrets

if TYPE_CHECKING:
    from pydantic import ValidationError


class RagassayError(Exception):
    """Base of all errors of ragassay; its words hold no secret of this process."""

    def __init__(self, *words: object) -> None:
        super().__init__(*(without_secrets(w) if isinstance(w, str) else w for w in words))


class InputError(RagassayError, ValueError):
    """The data or the arguments are not usable."""


class NoRecordError(InputError):
    """No record of an input can be evaluated.

    Args:
        message: For a person: the input, and why its first records were rejected.
        rejections: All that was rejected.
    """

    def __init__(self, message: str, rejections: tuple[Rejection, ...] = ()) -> None:
        super().__init__(message)
        self.rejections = rejections


class SettingsError(RagassayError, ValueError):
    """A setting is wrong, or two contradict each other."""


class RunMismatchError(RagassayError, ValueError):
    """The run folder has a run of other input or other settings."""


class ExtraError(RagassayError, ImportError):
    """A library that only this job needs is not installed; an extra of ragassay brings it."""


class EvaluatorError(RagassayError, ValueError):
    """A user's evaluator returned something else than it declares."""


class CorpusError(RagassayError, RuntimeError):
    """A corpus is missing or damaged, or its service cannot be reached."""


class StorageError(RagassayError, RuntimeError):
    """A file of a run cannot be written or read, so the run stops; what is on disk is kept."""


class ModelError(RagassayError, RuntimeError):
    """A model call gave no usable reply.

    Attributes:
        reason: The reason given in an unscored verdict.
    """

    reason: FailureReason = "error"


class TransientModelError(ModelError):
    """A call that may succeed later.

    Args:
        message: For a person.
        reason: The kind of failure.
    """

    def __init__(self, message: str, reason: FailureReason) -> None:
        super().__init__(message)
        self.reason = reason


class UnparsableReplyError(ModelError):
    """The reply does not fit the schema."""

    reason: FailureReason = "unparsable"


class CutReplyError(ModelError):
    """A reply, or the reasoning before it, took all tokens that it may have."""

    reason: FailureReason = "cut"


class RefusedError(ModelError):
    """The model refused, or the provider refused the request."""

    reason: FailureReason = "refused"


class PromptTooLongError(ModelError):
    """The prompt does not fit into the model's context."""

    reason: FailureReason = "too_long"


class BatchError(ModelError):
    """A batch ended without a reply to a request; it is not asked again in this run.

    Args:
        message: For a person.
        reason: The kind of failure.
    """

    def __init__(self, message: str, reason: FailureReason) -> None:
        super().__init__(message)
        self.reason = reason


class FatalModelError(ModelError):
    """A wrong key or an unknown model: no further call can succeed, so the run stops."""


class BudgetError(FatalModelError):
    """The money that a run or a job may cost is spent; replies so far are kept."""


PLAIN_WORDS = (
    (r"^Value error, ", ""),
    (r"greater than or equal to", "at least"),
    (r"less than or equal to", "at most"),
    (r"greater than", "more than"),
    (r"a valid integer.*", "a whole number"),
    (r"a valid (\w+), unable to .*", r"a \1"),
    (r"^Input should be", "it must be"),
    (r"^String should have at least 1 character", "it must not be empty"),
    (r"^(String|Tuple|List) should have", "it must have"),
    (r"after validation, not \d+", ""),
    (r"^Extra inputs are not permitted", "there is no such field"),
    (r"^Field required", "it is missing"),
)
"""A validator's words, and ours."""


def plain_words(message: str) -> str:
    """Return a validator's message as a person would say it.

    Example:
        >>> plain_words("Input should be greater than or equal to 1")
        'it must be at least 1'
    """
    for pattern, words in PLAIN_WORDS:
        message = re.sub(pattern, words, message)
    return message.strip()


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return the dotted path and the words of the first thing that a validator found wrong."""
    first = error.errors()[0]
    return ".".join(map(str, first["loc"])), plain_words(first["msg"])


@contextmanager
def raise_ungrouped(*kinds: type[BaseException]) -> Iterator[None]:
    """Raise the first error of these kinds in a group by itself; what else it has is dropped.

    A task group raises groups. `raise` in an `except*` would wrap the error in another one, before
    Python 3.11.4.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        found: BaseException | None = group.subgroup(kinds)
        if found is None:
            raise
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        raise found from None
