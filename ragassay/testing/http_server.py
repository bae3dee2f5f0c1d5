"""HTTP server of the scripted model, in a separate module because aiohttp is slow to import."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from ragassay.errors import InputError
from ragassay.testing.batch_server import BatchServer
from ragassay.testing.chat_completions import JsonObject, build_models_body
from ragassay.testing.faults import BatchPlan, Fault
from ragassay.testing.script import (
    RecordedRequest,
    Script,
    ScriptedAnswer,
    build_bad_request,
    require_object,
    validate_request,
)

_MAX_BODY_BYTES = 64 * 2**20
_BACKLOG = 1024
_SHUTDOWN_S = 0.05


class LoopbackServer:
    """HTTP server that imitates a provider's API and sends answers from a script."""

    def __init__(
        self,
        script: Script,
        latency_s: float,
        on_finished: Callable[[RecordedRequest, int, bool], None],
        batches: BatchPlan | None = None,
    ) -> None:
        self._script = script
        self._latency_s = latency_s
        self._on_finished = on_finished
        self._n_in_flight = 0
        self.max_in_flight = 0
        self.batch_server = BatchServer(script, batches) if batches else None

    @asynccontextmanager
    async def listen_on_port(self, host: str, port: int) -> AsyncGenerator[int]:
        """Listen on a port, and yield the port. Unfinished requests are dropped on exit."""
        runner = web.AppRunner(
            self._build_app(), access_log=None, shutdown_timeout=_SHUTDOWN_S, handle_signals=False
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port, backlog=_BACKLOG).start()
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    def _build_app(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        manner = self._script.manner
        app.router.add_post(manner.path, self._complete)
        for path in manner.lists.keys() | {"/v1/models"}:
            app.router.add_get(path, self._list_models)
        app.router.add_get("/health", self._report_health)
        if self.batch_server:
            self.batch_server.add_routes(app)
        return app

    async def _list_models(self, request: web.Request) -> web.Response:
        manner = self._script.manner
        return web.json_response(
            manner.lists.get(request.path) or build_models_body([manner.model])
        )

    async def _report_health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        try:
            body = require_object(json.loads(await request.read()))
            model = request.match_info.get("model")
            asked = validate_request(self._script.manner.read_request(body, model))
        except (InputError, ValueError) as error:
            return await _send(request, build_bad_request(str(error)))
        self._n_in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self._n_in_flight)
        try:
            return await self._complete_usable(request, body, asked)
        finally:
            self._n_in_flight -= 1

    async def _complete_usable(
        self, request: web.Request, body: JsonObject, asked: JsonObject
    ) -> web.StreamResponse:
        recorded, fault = self._script.take(body, asked)
        await self._wait(fault)
        answer = self._script.answer(recorded, fault)
        transport = request.transport
        self._on_finished(
            recorded, answer.status, transport is not None and not transport.is_closing()
        )
        return await _send(request, answer)

    async def _wait(self, fault: Fault | None) -> None:
        kind = fault.kind if fault else None
        if kind == "hang":
            await asyncio.Event().wait()
        delay_s = self._latency_s + (fault.delay_s if fault and kind == "slow" else 0.0)
        if delay_s:
            await asyncio.sleep(delay_s)


async def _send(request: web.Request, answer: ScriptedAnswer) -> web.StreamResponse:
    if not answer.cut_off:
        return web.Response(
            status=answer.status,
            body=answer.body,
            headers=answer.headers,
            content_type="application/json",
        )
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.content_type = "application/json"
    response.content_length = len(answer.body)
    response.force_close()
    await response.prepare(request)
    await response.write(answer.body[: len(answer.body) // 2])
    return response
