"""Errors raised in task groups and worker processes."""

from __future__ import annotations

import asyncio
import pickle
import traceback

import pytest

from ragassay.errors import (
    BatchError,
    FatalModelError,
    StorageError,
    TransientModelError,
    raise_ungrouped,
)


async def fail(error: Exception) -> None:
    raise error


async def test_the_first_error_of_a_kind_leaves_its_groups_alone():
    with pytest.raises(FatalModelError, match="a wrong key") as caught:
        with raise_ungrouped(FatalModelError, StorageError):
            async with asyncio.TaskGroup():
                async with asyncio.TaskGroup() as inner:
                    inner.create_task(fail(KeyError("other")))
                    inner.create_task(fail(FatalModelError("a wrong key")))
    assert "ExceptionGroup" not in "".join(traceback.format_exception(caught.value))


async def test_other_errors_stay_in_their_group():
    with pytest.raises(ExceptionGroup) as caught, raise_ungrouped(FatalModelError):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(KeyError("other")))
    assert isinstance(caught.value.exceptions[0], KeyError)


@pytest.mark.parametrize("kind", [TransientModelError, BatchError])
def test_an_error_of_a_worker_process_keeps_its_reason(kind):
    error = pickle.loads(pickle.dumps(kind("no answer", "rate_limit")))
    assert (str(error), error.reason) == ("no answer", "rate_limit")
