"""Call a batch interface: try again what fails for a moment, and type what fails for good."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ragassay.errors import FatalModelError, TransientModelError, UnparsableReplyError
from ragassay.models.batch_services import BatchRequest, BatchStatus, batch_service
from ragassay.models.batch_store import ItemReply
from ragassay.models.provider_errors import retry_after_s, typed_error

T = TypeVar("T")

N_ATTEMPTS = 12
"""Attempts of a call that fails for a temporary reason."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 120.0


class UnknownBatchError(Exception):
    """A provider does not know a batch."""


class BatchCalls:
    """The batch interface of a model's provider."""

    def __init__(self, model: str, api_base: str | None) -> None:
        self._model, self._base = model, api_base or ""
        self._service = batch_service(model, api_base)
        self.most_requests = self._service.most_requests
        self.most_bytes = self._service.most_bytes

    async def create(self, name: str, requests: Sequence[BatchRequest]) -> str:
        """Create a batch and return the provider's name for it.

        Raises:
            FatalModelError: The provider refuses it, or cannot be reached.
        """
        attempts = 0

        async def create_once() -> str:
            nonlocal attempts
            attempts += 1
            # An attempt may have been lost on its way back only.
            found = await self._service.find(name) if attempts > 1 else None
            return found or await self._service.submit(name, requests)

        try:
            return await self._tried(create_once)
        except UnknownBatchError as error:
            raise FatalModelError(
                f"{self._model}: {self._base or 'its provider'} has no batch interface (404): "
                "leave out --batch"
            ) from error

    async def find(self, name: str) -> str:
        """Return the provider's name of a batch whose creation was not confirmed.

        Raises:
            UnknownBatchError: There is none.
            FatalModelError: The provider cannot be asked.
        """
        found = await self._tried(lambda: self._service.find(name))
        if found is None:
            raise UnknownBatchError(name)
        return found

    async def check(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is.

        Raises:
            UnknownBatchError: The provider does not know it.
            FatalModelError: The provider cannot be asked.
        """
        return await self._tried(lambda: self._service.check(batch_id))

    async def collect(self, status: BatchStatus) -> dict[str, ItemReply]:
        """Return the replies of a batch that is over, by key.

        Raises:
            UnknownBatchError: The provider has deleted them.
            FatalModelError: They cannot be had.
        """
        return await self._tried(lambda: self._service.collect(status))

    async def _tried(self, call: Callable[[], Awaitable[T]]) -> T:
        pause_s = FIRST_PAUSE_S
        for attempt in range(1, N_ATTEMPTS + 1):
            try:
                return await call()
            except Exception as error:  # each provider has its own errors; all are typed here
                if getattr(error, "status_code", None) == 404:
                    raise UnknownBatchError(self._model) from None
                typed = typed_error(error, self._model, self._base, None)
                is_temporary = isinstance(typed, TransientModelError | UnparsableReplyError)
                if not is_temporary or attempt == N_ATTEMPTS:
                    # What a provider says may quote the key: it is not chained to a traceback.
                    raise FatalModelError(f"{self._model}, its batches: {typed}") from None
                asked_s = retry_after_s(error)
            await asyncio.sleep(min(asked_s or pause_s, LONGEST_PAUSE_S))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        raise AssertionError("unreachable")
