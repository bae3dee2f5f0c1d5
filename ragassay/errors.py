"""Exception hierarchy of ragassay.

RagassayError
├── InputError (ValueError)          invalid data or arguments
│   └── NoRecordError                an input without any valid record
├── SettingsError (ValueError)       an invalid setting, or contradictory settings
├── RunMismatchError (ValueError)    a run folder with different input or settings
├── ExtraError (ImportError)         a missing optional dependency
├── EvaluatorError (ValueError)      an undeclared return value of a user-defined evaluator
├── UnjudgedError (RuntimeError)     in ragassay.results: a failure with `raise_on_failure`
├── BelowError (AssertionError)      in ragassay.results: a mean below `fail_under`
├── UnmeasuredError (RuntimeError)   in ragassay.results: an unknown mean with `fail_under`
├── CorpusError (RuntimeError)       a missing, damaged or unreachable corpus
└── ModelError (RuntimeError)        a model call without a usable reply
    ├── TransientModelError          rate limit, timeout, 5xx or lost connection; can be retried
    ├── UnparsableReplyError         a reply that does not match the schema; retried once
    ├── CutReplyError                a reply cut off at the token limit
    ├── RefusedError                 a refusal by the model or the provider
    ├── PromptTooLongError           a prompt that exceeds the context length
    ├── BatchError                   a batch without a reply; use `--retry-failed`
    └── FatalModelError              an error that affects all further calls, e.g. an invalid key
        └── BudgetError              an exhausted budget of a run or job
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragassay.records import FailureReason, Rejection
from ragassay.safe_text import hide_secrets

if TYPE_CHECKING:
    from pydantic import ValidationError


class RagassayError(Exception):
    """Base class of all ragassay errors. Secrets from the environment are removed from messages."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(hide_secrets(a) if isinstance(a, str) else a for a in args))


class InputError(RagassayError, ValueError):
    """Data or arguments are invalid."""


class NoRecordError(InputError):
    """An input contains no valid record.

    Args:
        message: Error message that names the input and the first rejected records.
        rejections: Rejected records.
    """

    def __init__(self, message: str, rejections: tuple[Rejection, ...] = ()) -> None:
        super().__init__(message)
        self.rejections = rejections


class SettingsError(RagassayError, ValueError):
    """A setting is invalid, or two settings contradict each other."""


class RunMismatchError(RagassayError, ValueError):
    """The run folder contains a run with different input or settings."""


class ExtraError(RagassayError, ImportError):
    """An optional dependency is missing."""


class EvaluatorError(RagassayError, ValueError):
    """A user-defined evaluator returned a value that it did not declare."""


class CorpusError(RagassayError, RuntimeError):
    """A corpus is missing, damaged or unreachable."""


class StorageError(RagassayError, RuntimeError):
    """A file in the run folder cannot be written or read. Finished work remains on disk."""


class ModelError(RagassayError, RuntimeError):
    """A model call returned no usable reply.

    Attributes:
        reason: Failure reason, reported for a verdict that could not be made.
    """

    reason: FailureReason = "error"


class _ReasonedError(ModelError):
    # Copied and unpickled errors are created with the default, and restore `reason` later.
    def __init__(self, message: str, reason: FailureReason = "error") -> None:
        super().__init__(message)
        self.reason = reason


class TransientModelError(_ReasonedError):
    """A model call failed temporarily and can be retried."""


class UnparsableReplyError(ModelError):
    """The reply does not match the schema."""

    reason: FailureReason = "unparsable"


class CutReplyError(ModelError):
    """The reply was cut off at the token limit."""

    reason: FailureReason = "cut"


class RefusedError(ModelError):
    """The model refused to answer, or the provider rejected the request."""

    reason: FailureReason = "refused"


class PromptTooLongError(ModelError):
    """The prompt exceeds the context length of the model."""

    reason: FailureReason = "too_long"


class BatchError(_ReasonedError):
    """A batch contains no reply to a request. The request is not retried in this run."""


class FatalModelError(ModelError):
    """No further call can succeed, for example because of an invalid key, so the run stops."""


class BudgetError(FatalModelError):
    """The budget of a run or job is exhausted. All replies received so far are saved."""


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
"""Patterns in pydantic messages, with plain English replacements."""


def simplify_message(message: str) -> str:
    """Rewrite a pydantic message in plain English.

    Example:
        >>> simplify_message("Input should be greater than or equal to 1")
        'it must be at least 1'
    """
    for pattern, replacement in PLAIN_WORDS:
        message = re.sub(pattern, replacement, message)
    return message.strip()


def find_first_problem(error: ValidationError) -> tuple[str, str]:
    """Return the dotted path and the message of the first validation error."""
    first = error.errors()[0]
    return ".".join(map(str, first["loc"])), simplify_message(first["msg"])


@contextmanager
def raise_ungrouped(*kinds: type[BaseException]) -> Iterator[None]:
    """Replace an exception group with its first exception of the given types.

    Task groups raise exception groups. Before Python 3.11.4, `raise` in `except*` would create
    another group.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException | None = group.subgroup(kinds)
        if error is None:
            raise
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
