"""A scripted language model for tests, behind a real HTTP server."""

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
from ragassay.testing.chat_completions import compact_json
from ragassay.testing.faults import BatchPlan, Fault, ScriptedBatch
from ragassay.testing.manners import load_manner
from ragassay.testing.script import RecordedRequest, Reply, Script

if TYPE_CHECKING:
    from ragassay.testing.http_server import LoopbackServer

_HOST = "127.0.0.1"


class ScriptedModel:
    """A server on loopback that speaks the OpenAI chat-completions protocol, or another provider's.

    It serves `POST /v1/chat/completions` (or the path of its `manner`), `GET /v1/models` and
    `GET /health` from a thread of its own, to any model name and any key. It does not stream, and
    gives one choice.

    Without `reply` it generates replies: valid under the JSON schema that `response_format` asks
    for, otherwise a sentence that quotes the last user message. The same messages and schema give
    the same reply in any process. With `logprobs` in the request every token of the reply has
    log-probabilities; where the token is a digit from 1 to 5 they are a distribution over "1" to
    "5", peaked at that digit.

    Args:
        reply: Called as `reply(messages, schema)`, where `schema` is None if the request asks for
            none; returns the text, an object that is sent as JSON, or a list of `ToolCall`. It runs
            in the server's thread and should be quick. If it raises, the client gets a 400 with the
            error's words.
        latency_s: How long each answer waits; waiting requests overlap.
        faults: What goes wrong; of several that affect one request, the first wins.
        port: 0 lets the system choose.
        log: A file to which each finished request appends a line of JSON (`n`, `key`, `attempt`,
            `status`, `fault`, `client_there`), flushed just before its answer is sent.
        keep_requests: Whether `requests` keeps the bodies; turn it off for a very long run.
        manner: Whose protocol, replies and errors it has; see `MANNER_NAMES`. For LiteLLM, use
            `model_name` and `base_url`, and set the variables of `environment`.
        model: The name under which it is asked; None takes one of the provider's.
        refuses: Parameters that it refuses, by their names in OpenAI's protocol, in the provider's
            own words until they are left out: "temperature", "max_tokens", "logprobs", ...;
            "response_format" is that of type json_schema. Those that the provider lacks are refused
            in any case.
        thinking: The reasoning before each reply, sent in the place that the provider has for it.
        n_cached: The prompt's tokens that are reported as read from a cache; at most all of them.
        batches: How batches fare, by the interfaces of OpenAI, Azure and Anthropic; None serves no
            batches.

    Raises:
        InputError: a number is negative, there is no such manner, or it has no such fault or
            refusal.

    Example:
        >>> model = ScriptedModel(reply=lambda messages, schema: {"score": 4})
        >>> model.model_name
        'openai/scripted'

        In `with model:`, call LiteLLM with `model=model.model_name, api_base=model.base_url` and
        any `api_key`.
    """

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
        """The provider's manner."""
        self.model_name = self.manner.prefix + (model or self.manner.model)
        """Its model name in LiteLLM."""
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
        self._wanted_port = port
        self._batch_plan = batches
        self._log = None if log is None else Path(log)
        self._log_file: TextIO | None = None
        self._port: int | None = None
        self._server: LoopbackServer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v1`, the `api_base` of LiteLLM; some manners have another path.

        Raises:
            InputError: the server is not running.
        """
        if self._port is None:
            raise InputError("the scripted model is not running: use it in a with statement")
        return f"http://{_HOST}:{self._port}{self.manner.base}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that LiteLLM wants for this provider, with made-up keys."""
        return self.manner.environment

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """The completions requested so far, in order of arrival."""
        return tuple(self._script.requests)

    @property
    def probes(self) -> tuple[RecordedRequest, ...]:
        """The requests for one token, by which a run finds out whether the model is there.

        They are kept apart from `requests`, take no turn of a fault with a count, and meet those
        faults that strike whatever they concern.
        """
        return tuple(self._script.probes)

    @property
    def n_requests(self) -> int:
        """The number of completions requested so far."""
        return self._script.n_requests

    @property
    def max_in_flight(self) -> int:
        """The largest number of completions waiting for their answer at one time."""
        return self._server.max_in_flight if self._server else 0

    @property
    def batches(self) -> tuple[ScriptedBatch, ...]:
        """The batches created so far, in order of arrival."""
        server = self._server.batch_server if self._server else None
        return tuple(server.batches.values()) if server else ()

    def start(self) -> Self:
        """Start serving; do nothing if it already serves.

        Raises:
            OSError: the port is taken, or the log cannot be written.
        """
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
        """Stop serving and drop requests in flight; do nothing if it does not serve."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = self._loop = self._stop = self._port = None

    def __enter__(self) -> Self:
        """Start serving."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop serving."""
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
        async with self._server.serving(_HOST, self._wanted_port) as port:
            started.set_result(port)
            await self._stop.wait()

    def _note_finished(self, recorded: RecordedRequest, status: int, client_there: bool) -> None:
        if self._log_file is None:
            return
        noted = {
            "n": recorded.n,
            "key": recorded.key,
            "attempt": recorded.attempt,
            "status": status,
            "fault": recorded.fault,
            "client_there": client_there,
        }
        self._log_file.write(f"{compact_json(noted)}\n")
        self._log_file.flush()
