"""Batch APIs of providers: submit requests, check their status and download replies.

Transient failures are retried. Permanent failures are converted to ragassay's error types.

OpenAI, Azure and Vertex use request files, which LiteLLM supports. Anthropic receives the requests
directly. LiteLLM can check Anthropic's batches but not create them.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ragassay.errors import FatalModelError, ModelError, TransientModelError, UnparsableReplyError
from ragassay.model_names import find_provider
from ragassay.models.batches import ItemReply, JsonBody
from ragassay.models.litellm_library import import_litellm
from ragassay.models.provider_errors import convert_error, read_retry_after

MIB = 2**20
TIMEOUT_S = 600.0
"""Timeout of an upload or a download in seconds."""

EXPIRED = "the batch expired before the provider answered"

TOO_LATE, CANCELLED = 504, 499
"""HTTP statuses that represent expired and cancelled requests of a batch."""


@dataclass(frozen=True)
class BatchRequest:
    """Request of a batch, with its key and body."""

    key: str
    body: JsonBody


@dataclass(frozen=True)
class BatchStatus:
    """Status of a batch.

    Attributes:
        refusal: Reason why the provider refused the whole batch, or "" if it was accepted.
        ending: Final status: completed, expired or cancelled.
        files: Ids of the reply files.
    """

    is_over: bool
    refusal: str = ""
    ending: str = ""
    files: tuple[str, ...] = ()


class BatchService(ABC):
    """Batch API of a provider."""

    most_requests: int
    most_bytes: int

    def __init__(self, model: str, api_base: str | None) -> None:
        self._litellm = import_litellm()
        self._model, self._base = model, api_base
        self._options: dict[str, Any] = {
            "custom_llm_provider": find_provider(model),
            "timeout": TIMEOUT_S,
        }
        if api_base:
            self._options["api_base"] = api_base

    @abstractmethod
    async def submit(self, name: str, requests: Sequence[BatchRequest]) -> str:
        """Create a batch with a name chosen by ragassay, and return the provider's id for it."""

    async def find(self, name: str) -> str | None:
        """Search for a batch by ragassay's name, and return the provider's id.

        Returns None if the batch does not exist, or if the provider does not store the name.
        """
        return None

    async def check(self, batch_id: str) -> BatchStatus:
        """Return the status of a batch."""
        return self.read_status(
            await _call_in_thread(self._litellm.retrieve_batch, batch_id=batch_id, **self._options)
        )

    async def collect(self, status: BatchStatus) -> dict[str, ItemReply]:
        """Download the replies of a finished batch, keyed by request."""
        replies: dict[str, ItemReply] = {}
        for file in status.files:
            content = await _call_in_thread(
                self._litellm.file_content, file_id=file, **self._options
            )
            found = map(self.read_reply, _parse_lines(content.content))
            replies |= {reply.key: reply for reply in found if reply}
        return replies

    @abstractmethod
    def read_status(self, batch: Any) -> BatchStatus:
        """Convert LiteLLM's description of a batch to its status."""

    @abstractmethod
    def read_reply(self, line: Mapping[str, Any]) -> ItemReply | None:
        """Parse a line of a reply file. Returns None if the line has no request key."""


def create_batch_service(model: str, api_base: str | None) -> BatchService:
    """Return the batch API of a model's provider. See `model_names.BATCH_PROVIDERS`."""
    services = {"anthropic": AnthropicBatches, "vertex_ai": VertexBatches}
    return services.get(find_provider(model), FileBatches)(model, api_base)


class FileBatches(BatchService):
    """OpenAI and Azure batches, with a request file and reply files."""

    most_requests = 50_000
    most_bytes = 100 * MIB

    def __init__(self, model: str, api_base: str | None) -> None:
        super().__init__(model, api_base)
        # Azure documents the path without a version.
        self._path = "/chat/completions" if find_provider(model) == "azure" else _OPENAI_PATH
        self._options["max_retries"] = 0  # BatchCalls retries instead.

    async def submit(self, name: str, requests: Sequence[BatchRequest]) -> str:
        """Upload the requests and create a batch."""
        lines = "".join(f"{json.dumps(self.write_line(request))}\n" for request in requests)
        file = await _call_in_thread(
            self._litellm.create_file,
            file=(f"{name}.jsonl", lines.encode(), "application/jsonl"),
            purpose="batch",
            **self._upload_options(),
        )
        batch = await _call_in_thread(
            self._litellm.create_batch,
            completion_window="24h",
            endpoint=_OPENAI_PATH,
            input_file_id=file.id,
            metadata={"ragassay": name},
            **self._options,
        )
        return str(batch.id)

    async def find(self, name: str) -> str | None:
        """Search the latest batches for ragassay's batch name."""
        listed = await _call_in_thread(self._litellm.list_batches, limit=100, **self._options)
        ids = (str(b.id) for b in listed.data or () if (b.metadata or {}).get("ragassay") == name)
        return next(ids, None)

    def read_status(self, batch: Any) -> BatchStatus:
        """Convert LiteLLM's description of a batch to its status."""
        if batch.status == "failed":
            problems = getattr(batch.errors, "data", None) or ()
            message = "; ".join(str(one.message) for one in problems if one.message)
            return BatchStatus(True, message or "no reason given")
        files = (batch.output_file_id, getattr(batch, "error_file_id", None))
        is_over = batch.status in ("completed", "expired", "cancelled")
        return BatchStatus(is_over, "", batch.status, tuple(str(file) for file in files if file))

    def _upload_options(self) -> dict[str, Any]:
        return self._options

    def write_line(self, request: BatchRequest) -> JsonBody:
        """Return a request as it is written to the request file."""
        line = {"custom_id": request.key, "method": "POST", "url": self._path}
        return {**line, "body": request.body}

    def read_reply(self, line: Mapping[str, Any]) -> ItemReply | None:
        """Parse a line of a reply file. Returns None if the line has no request key."""
        response, error = line.get("response") or {}, line.get("error")
        if not line.get("custom_id"):
            return None
        if response and not (error and response.get("status_code") == 200):
            status, body = int(response.get("status_code") or 200), response.get("body")
        else:
            is_cancelled = (error or {}).get("code") == "batch_cancelled"
            status = CANCELLED if is_cancelled else TOO_LATE
            body = {"error": error or {"message": EXPIRED}}
        return ItemReply(key=line["custom_id"], status=status, body=_read_object(body))


class VertexBatches(FileBatches):
    """Gemini batches on Vertex, with request files in Gemini's format, stored in a bucket.

    LiteLLM uploads the files to the bucket named by GCS_BATCH_BUCKET_NAME or GCS_BUCKET_NAME.
    """

    def _upload_options(self) -> dict[str, Any]:
        return self._options | {"passthrough": True, "model": self._model}

    async def find(self, name: str) -> str | None:
        """Return None, because Vertex does not store ragassay's batch name."""
        return None

    def write_line(self, request: BatchRequest) -> JsonBody:
        """Return a request as it is written to the request file."""
        # Replies are unordered and have no id, but include the request with its labels.
        labels = {**_read_object(request.body.get("labels")), _LABEL: request.key}
        return {"request": {**request.body, "labels": labels}}

    def read_reply(self, line: Mapping[str, Any]) -> ItemReply | None:
        """Parse a line of a reply file. Returns None if the line has no request key."""
        key = _read_object(_read_object(line.get("request")).get("labels")).get(_LABEL)
        if not key:
            return None
        body, problem = _read_object(line.get("response")), line.get("status")
        if body and not problem:
            return ItemReply(key=str(key), status=200, body=body)
        return ItemReply(key=str(key), status=503, body={"error": {"message": problem or EXPIRED}})


class AnthropicBatches(BatchService):
    """Anthropic message batches. A finished batch contains a reply for each request."""

    most_requests = 100_000
    most_bytes = 200 * MIB

    async def submit(self, name: str, requests: Sequence[BatchRequest]) -> str:
        """Create a batch, using the URL and headers from LiteLLM, which cannot create it."""
        from litellm.llms.anthropic.batches.transformation import AnthropicBatchesConfig
        from litellm.llms.custom_httpx.http_handler import HTTPHandler

        config, nothing = AnthropicBatchesConfig(), dict[str, Any]()
        data: Any = nothing
        url = config.get_complete_batch_url(self._base, None, "", nothing, nothing, data)
        headers = config.validate_environment(
            {}, self._model, [], nothing, {"api_base": self._base}, api_base=self._base
        )
        body = {"requests": [{"custom_id": r.key, "params": r.body} for r in requests]}
        reply = await _call_in_thread(
            HTTPHandler(timeout=TIMEOUT_S).post, url, json=body, headers=headers
        )
        return str(reply.json()["id"])

    def read_status(self, batch: Any) -> BatchStatus:
        """Convert LiteLLM's description of a batch to its status."""
        return BatchStatus(batch.status == "completed", "", "completed", (batch.id,))

    def read_reply(self, line: Mapping[str, Any]) -> ItemReply:
        """Parse a line of a reply file."""
        from litellm.llms.anthropic.common_utils import ANTHROPIC_ERROR_STATUS_CODE_MAP

        result = _read_object(line.get("result"))
        key, kind = str(line.get("custom_id")), result.get("type")
        if kind == "succeeded":
            return ItemReply(key=key, status=200, body=_read_object(result.get("message")))
        if kind == "errored":
            error = _read_object(result.get("error"))
            inner = _read_object(error.get("error"))
            status = ANTHROPIC_ERROR_STATUS_CODE_MAP.get(str(inner.get("type")), 500)
            return ItemReply(key=key, status=status, body=error)
        message = EXPIRED if kind == "expired" else f"the request was {kind}"
        status = TOO_LATE if kind == "expired" else CANCELLED
        return ItemReply(key=key, status=status, body={"error": {"message": message}})


_OPENAI_PATH = "/v1/chat/completions"
_LABEL = "ragassay_key"


async def _call_in_thread(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Call LiteLLM in a thread, because its async functions reuse clients of closed event loops."""
    return await asyncio.to_thread(function, *values, **options)


def _parse_lines(content: bytes) -> Iterator[Mapping[str, Any]]:
    for line in content.splitlines():
        if line.strip():
            try:
                found = json.loads(line)
            except ValueError as error:
                raise ModelError("a reply file of a batch contains invalid JSON") from error
            if isinstance(found, Mapping):
                yield found


def _read_object(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


T = TypeVar("T")

N_ATTEMPTS = 12

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 120.0


class UnknownBatchError(Exception):
    """Raised when a provider does not know a batch."""


class BatchCalls:
    """Batch API of a provider, with retries.

    If all retries fail, methods raise `FatalModelError`.
    """

    def __init__(self, model: str, api_base: str | None) -> None:
        self._model, self._base = model, api_base or ""
        self._service = create_batch_service(model, api_base)
        self.most_requests = self._service.most_requests
        self.most_bytes = self._service.most_bytes

    async def create(self, name: str, requests: Sequence[BatchRequest]) -> str:
        """Create a batch and return the provider's id."""
        attempts = 0

        async def create_once() -> str:
            nonlocal attempts
            attempts += 1
            # An earlier attempt may have succeeded without a response.
            found = await self._service.find(name) if attempts > 1 else None
            return found or await self._service.submit(name, requests)

        try:
            return await self._try_call(create_once)
        except UnknownBatchError as error:
            raise FatalModelError(
                f"{self._model}: {self._base or 'its provider'} has no batch API (404); "
                "remove --batch"
            ) from error

    async def find(self, name: str) -> str:
        """Return the provider's id of a batch by its name, or raise `UnknownBatchError`."""
        found = await self._try_call(lambda: self._service.find(name))
        if found is None:
            raise UnknownBatchError(name)
        return found

    async def check(self, batch_id: str) -> BatchStatus:
        """Return the status of a batch, or raise `UnknownBatchError`."""
        return await self._try_call(lambda: self._service.check(batch_id))

    async def collect(self, status: BatchStatus) -> dict[str, ItemReply]:
        """Return the replies of a finished batch, by request key. May raise `UnknownBatchError`."""
        return await self._try_call(lambda: self._service.collect(status))

    async def _try_call(self, call: Callable[[], Awaitable[T]]) -> T:
        pause_s = FIRST_PAUSE_S
        for attempt in range(1, N_ATTEMPTS + 1):
            try:
                return await call()
            except Exception as error:  # Providers raise their own types, converted here.
                if getattr(error, "status_code", None) == 404:
                    raise UnknownBatchError(self._model) from None
                typed = convert_error(error, self._model, self._base, None)
                is_temporary = isinstance(typed, TransientModelError | UnparsableReplyError)
                if not is_temporary or attempt == N_ATTEMPTS:
                    # Error messages may quote the key, so they are not chained.
                    raise FatalModelError(f"{self._model}, batch call: {typed}") from None
                wait_s = read_retry_after(error)
            await asyncio.sleep(min(wait_s or pause_s, LONGEST_PAUSE_S))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        raise AssertionError("unreachable")
