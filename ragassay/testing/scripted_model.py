"""Scripted language model for tests, reached through a real HTTP server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.testing.chat_completions import format_json
from ragassay.testing.faults import BatchPlan, Fault, ScriptedBatch
from ragassay.testing.manners import load_manner
from ragassay.testing.script import RecordedRequest, Reply, Script

if TYPE_CHECKING:
    from ragassay.testing.http_server import LoopbackServer

_HOST = "127.0.0.1"


class ScriptedModel:
    """Local HTTP server with the chat completions API of OpenAI or another provider.

    The server offers `POST /v1/chat/completions` (or the path of its `manner`), `GET /v1/models`
    and `GET /health` in a separate thread. All model names and keys are accepted. Each response
    contains one choice, and streaming is not supported.

    If `reply` is not set, the model generates replies that are valid for the JSON schema in
    `response_format`, or a sentence that quotes the last user message if there is no schema. Equal
    messages and schemas give equal replies in all processes. If requested, tokens have
    log-probabilities. The log-probabilities of a digit from 1 to 5 form a distribution over these
    five digits that is highest for the digit itself.

    Args:
        reply: Function called as `reply(messages, schema)`, where the schema may be None. The
            function returns a text, an object to send as JSON, or a list of `ToolCall`. The
            function runs in the server's thread, so it should be fast. If the function raises an
            error, the client gets status 400 with the error message.
        latency_s: Delay of each answer in seconds. Concurrent requests wait in parallel.
        faults: Faults to simulate, in order of precedence.
        port: Port to listen on, or 0 for a free port.
        log: File that receives a JSON line per finished request (`n`, `key`, `attempt`, `status`,
            `fault`, `client_there`), written just before the answer is sent.
        keep_requests: Whether to store request bodies in `requests`, which should be False for long
            runs.
        manner: Provider whose API, replies and errors are imitated. See `MANNER_NAMES`. For
            LiteLLM, use `model_name` and `base_url`, and set the variables in `environment`.
        model: Model name, by default the name of one of the provider's models.
        refuses: Parameters to refuse, by their names in OpenAI's API, in addition to the parameters
            that the provider does not support. The name "response_format" stands for the format
            type json_schema.
        thinking: Reasoning before each reply, sent in the provider's format.
        n_cached: Number of prompt tokens to report as cached, at most the length of the prompt.
        batches: Behaviour of the batch APIs of OpenAI, Azure and Anthropic. None disables batches.

    Raises:
        InputError: A number is negative, or a manner, fault or refused parameter is unknown.

    Example:
        >>> model = ScriptedModel(reply=lambda messages, schema: {"score": 4})
        >>> model.model_name
        'openai/scripted'

        In `with model:`, call LiteLLM with `model=model.model_name, api_base=model.base_url` and
        any `api_key`.
    """

    _log_file: TextIO | None = None
    _port: int | None = None
    _server: LoopbackServer | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _stop: asyncio.Event | None = None
    _thread: threading.Thread | None = None

    def __init__(
        self,
        reply: Reply | None = None,
        *,
        latency_s: float = 0.0,
        faults: Sequence[Fault] = (),
        port: int = 0,
        log: AnyPath | None = None,
        keep_requests: bool = True,
        manner: str = "scripted",
        model: str | None = None,
        refuses: Sequence[str] = (),
        thinking: str | None = None,
        n_cached: int = 0,
        batches: BatchPlan | None = None,
    ) -> None:
        for name, number in (("latency_s", latency_s), ("n_cached", n_cached)):
            if number < 0:
                raise InputError(f"{name}={number} must not be negative")
        self.manner = load_manner(manner)
        self.model_name = self.manner.prefix + (model or self.manner.model)
        """Model name for LiteLLM."""
        self._script = Script(
            reply,
            faults,
            keep_requests=keep_requests,
            manner=self.manner,
            refuses=refuses,
            thinking=thinking,
            n_cached=n_cached,
        )
        self._latency_s = latency_s
        self._requested_port = port
        self._batch_plan = batches
        self._log = None if log is None else Path(log)

    @property
    def base_url(self) -> str:
        """Value of `api_base` for LiteLLM. Raises `InputError` if the server is not running."""
        if self._port is None:
            raise InputError("the scripted model is not running; use it in a with statement")
        return f"http://{_HOST}:{self._port}{self.manner.base}"

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that LiteLLM needs for the provider, with invented API keys."""
        return self.manner.environment

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Completion requests in order of arrival."""
        return tuple(self._script.requests)

    @property
    def probes(self) -> tuple[RecordedRequest, ...]:
        """Single-token requests, which runs send to check that a model is available.

        Probes are not recorded in `requests` and not counted by faults. Only faults that need no
        counting affect probes.
        """
        return tuple(self._script.probes)

    @property
    def n_requests(self) -> int:
        """Number of completion requests."""
        return self._script.n_requests

    @property
    def max_in_flight(self) -> int:
        """Maximum number of concurrent completion requests."""
        return self._server.max_in_flight if self._server else 0

    @property
    def batches(self) -> tuple[ScriptedBatch, ...]:
        """Batches in order of creation."""
        server = self._server.batch_server if self._server else None
        return tuple(server.batches.values()) if server else ()

    def start(self) -> Self:
        """Start the server, unless it is running. Raises `OSError` if the port is in use."""
        if self._thread is not None:
            return self
        started: Future[int] = Future()
        thread = threading.Thread(
            target=self._run, args=(started,), name="scripted-model", daemon=True
        )
        thread.start()
        try:
            self._port = started.result()
        except BaseException:
            thread.join()
            raise
        self._thread = thread
        return self

    def close(self) -> None:
        """Stop the server, if it is running, and drop unfinished requests."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = self._loop = self._stop = self._port = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, started: Future[int]) -> None:
        try:
            with ExitStack() as stack:
                if self._log is not None:
                    self._log_file = stack.enter_context(self._log.open("a", encoding="utf-8"))
                asyncio.run(self._serve(started))
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)

    async def _serve(self, started: Future[int]) -> None:
        from ragassay.testing.http_server import LoopbackServer

        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._server = LoopbackServer(
            self._script, self._latency_s, self._note_finished, self._batch_plan
        )
        async with self._server.listen_on_port(_HOST, self._requested_port) as port:
            started.set_result(port)
            await self._stop.wait()

    def _note_finished(self, recorded: RecordedRequest, status: int, client_there: bool) -> None:
        if self._log_file is None:
            return
        line = {
            "n": recorded.n,
            "key": recorded.key,
            "attempt": recorded.attempt,
            "status": status,
            "fault": recorded.fault,
            "client_there": client_there,
        }
        self._log_file.write(f"{format_json(line)}\n")
        self._log_file.flush()
