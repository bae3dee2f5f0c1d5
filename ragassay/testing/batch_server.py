"""Batch APIs of the scripted model, in the formats of OpenAI, Azure and Anthropic."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from aiohttp import web

from ragassay.testing.chat_completions import JsonObject, build_error_body, format_json
from ragassay.testing.faults import BatchPlan, ScriptedBatch
from ragassay.testing.script import Script, validate_request

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def convert_request(body: JsonObject) -> JsonObject:
    """Convert an Anthropic message request to a chat completion request."""
    found: dict[str, Any] = {"model": body.get("model"), "max_tokens": body.get("max_tokens")}
    system = _join_text(body.get("system"))
    messages: Any = body.get("messages") or ()
    found["messages"] = [
        *([{"role": "system", "content": system}] if system else []),
        *({"role": m["role"], "content": _join_text(m["content"])} for m in messages),
    ]
    schema = _find_schema(body)
    if schema:
        form = {"name": "reply", "schema": schema}
        found["response_format"] = {"type": "json_schema", "json_schema": form}
    return found


def build_message_body(request: JsonObject, completion: JsonObject) -> JsonObject:
    """Convert a chat completion to an Anthropic message."""
    found: Any = completion
    choice, usage = found["choices"][0], found["usage"]
    text = choice["message"]["content"] or choice["message"].get("refusal") or ""
    tool = _find_json_tool(request)
    block: dict[str, object] = {"type": "text", "text": text}
    reason = _STOP_REASONS.get(choice["finish_reason"], "end_turn")
    if tool:
        block = {
            "type": "tool_use",
            "id": "toolu_1",
            "name": tool["name"],
            "input": _parse_input(text),
        }
        reason = "tool_use"
    return {
        "id": str(found["id"]).replace("chatcmpl-", "msg_"),
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
        },
    }


def _find_schema(body: JsonObject) -> Any:
    form: Any = body.get("output_format")
    if isinstance(form, Mapping):
        return form.get("schema")
    tool = _find_json_tool(body)
    return tool["input_schema"] if tool else None


def _find_json_tool(body: JsonObject) -> Any:
    """Return the tool that LiteLLM uses to request JSON from older Claude models."""
    tools: Any = body.get("tools") or ()
    return next((tool for tool in tools if tool.get("name") == "json_tool_call"), None)


def _parse_input(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}


def _join_text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, Mapping))


class BatchServer:
    """Batch APIs with replies from a script, and with delays and failures from a plan."""

    def __init__(self, script: Script, plan: BatchPlan) -> None:
        self._script, self.plan = script, plan
        self._files: dict[str, bytes] = {}
        self._n_calls = 0
        self.batches: dict[str, ScriptedBatch] = {}

    def add_routes(self, app: web.Application) -> None:
        """Add the batch APIs of OpenAI, Azure and Anthropic to a server."""
        routes: list[tuple[str, str, Callable[[web.Request], Any]]] = [
            ("POST", "/files", self._upload),
            ("GET", "/files/{id}/content", self._download),
            ("POST", "/batches", self._create),
            ("GET", "/batches", self._list),
            ("GET", "/batches/{id}", self._retrieve),
            ("POST", "/messages/batches", self._create_messages),
            ("GET", "/messages/batches/{id}", self._retrieve_messages),
            ("GET", "/messages/batches/{id}/results", self._download_messages),
        ]
        for method, path, handle in routes:
            for base in ("/v1", "/openai"):
                app.router.add_route(method, base + path, self._guard(handle))

    def _guard(self, handle: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
        async def handle_guarded(request: web.Request) -> web.Response:
            self._n_calls += 1
            if self._n_calls <= self.plan.n_unavailable:
                body = build_error_body("The server is overloaded.", "server_error", None)
                return _build_response(body, status=503)
            return await handle(request)

        return handle_guarded

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        upload = form["file"]
        assert isinstance(upload, web.FileField)
        name = f"file-{len(self._files) + 1}"
        self._files[name] = upload.file.read()
        return _build_response(
            _build_file_object(name, self._files[name], upload.filename, str(form["purpose"]))
        )

    async def _download(self, request: web.Request) -> web.Response:
        content = self._files.get(request.match_info["id"])
        if content is None:
            return _build_not_found("file", request.match_info["id"])
        return web.Response(body=content, content_type="application/octet-stream")

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        lines = [json.loads(line) for line in self._files[body["input_file_id"]].splitlines()]
        requests = {line["custom_id"]: line["body"] for line in lines}
        batch = self._add("openai", requests, {**body, "n_lines": len(lines)})
        return _build_response(self._build_openai_object(batch))

    async def _list(self, request: web.Request) -> web.Response:
        ours = [batch for batch in self.batches.values() if batch.protocol == "openai"]
        data = [self._build_openai_object(batch) for batch in reversed(ours)]
        return _build_response({"object": "list", "data": data, "has_more": False})

    async def _retrieve(self, request: web.Request) -> web.Response:
        return self._describe(request, self._build_openai_object)

    async def _create_messages(self, request: web.Request) -> web.Response:
        body = await request.json()
        requests = {item["custom_id"]: item["params"] for item in body["requests"]}
        return _build_response(self._build_anthropic_object(self._add("anthropic", requests, {})))

    async def _retrieve_messages(self, request: web.Request) -> web.Response:
        return self._describe(request, self._build_anthropic_object)

    def _describe(
        self, request: web.Request, to_object: Callable[[ScriptedBatch], JsonObject]
    ) -> web.Response:
        batch = self.batches.get(request.match_info["id"])
        return (
            _build_response(to_object(batch))
            if batch
            else _build_not_found("batch", request.match_info["id"])
        )

    async def _download_messages(self, request: web.Request) -> web.Response:
        replies, errors = self._build_lines(self.batches[request.match_info["id"]])
        return web.Response(
            body=_render_jsonl([*replies, *errors]), content_type="application/x-jsonl"
        )

    def _add(self, protocol: Any, requests: Mapping[str, JsonObject], info: Any) -> ScriptedBatch:
        prefix = "msgbatch_" if protocol == "anthropic" else "batch_"
        batch = ScriptedBatch(f"{prefix}{len(self.batches) + 1}", protocol, requests, info)
        self.batches[batch.id] = batch
        return batch

    def _is_over(self, batch: ScriptedBatch) -> bool:
        return time.monotonic() - batch.created_s >= self.plan.takes_s

    def _build_lines(self, batch: ScriptedBatch) -> tuple[list[JsonObject], list[JsonObject]]:
        """Return the replies and errors of a batch in random order."""
        if batch.lines is None:
            items = list(batch.requests.items())
            n = len(items)
            n_left = {"completed": self.plan.n_expired, "failed": n}.get(self.plan.ending, n // 2)
            answered, left = items[: n - n_left], items[n - n_left :]
            answer = self._answer if batch.protocol == "openai" else self._answer_message
            miss = _build_missed_reply if batch.protocol == "openai" else _build_missed_message
            kind = "canceled" if self.plan.ending == "cancelled" else "expired"
            replies = [answer(key, body) for key, body in answered]
            errors = [miss(key, kind) for key, _ in left]
            order = random.Random(batch.id)
            order.shuffle(replies)
            order.shuffle(errors)
            batch.lines = (replies, errors)
        return batch.lines

    def _answer(self, key: str, body: JsonObject) -> JsonObject:
        status, reply = self._answer_body(body)
        response = {"status_code": status, "request_id": f"req-{key}", "body": reply}
        return {"id": f"batch_req_{key}", "custom_id": key, "response": response, "error": None}

    def _answer_message(self, key: str, body: JsonObject) -> JsonObject:
        status, reply = self._answer_body(convert_request(body))
        if status == 200:
            result = {"type": "succeeded", "message": build_message_body(body, reply)}
        else:
            error = cast(Mapping[str, Any], reply["error"])
            kind = _ANTHROPIC_ERRORS.get(status, "api_error")
            inner = {"type": kind, "message": error["message"]}
            result = {"type": "errored", "error": {"type": "error", "error": inner}}
        return {"custom_id": key, "result": result}

    def _answer_body(self, body: JsonObject) -> tuple[int, JsonObject]:
        recorded, fault = self._script.take(validate_request(body))
        answer = self._script.answer(recorded, fault)
        return answer.status, json.loads(answer.body)

    def _build_openai_object(self, batch: ScriptedBatch) -> JsonObject:
        is_over, n = self._is_over(batch), len(batch.requests)
        status = self.plan.ending if is_over else "in_progress"
        replies, errors = self._build_lines(batch) if is_over and status != "failed" else ([], [])
        found: dict[str, object] = {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.metadata["endpoint"],
            "input_file_id": batch.metadata["input_file_id"],
            "completion_window": "24h",
            "status": status,
            "created_at": 1_700_000_000,
            "metadata": batch.metadata.get("metadata"),
            "request_counts": {"total": n, "completed": len(replies), "failed": len(errors)},
        }
        for name, lines in (("output_file_id", replies), ("error_file_id", errors)):
            found[name] = f"{batch.id}-{name}" if lines else None
            if lines:
                self._files[f"{batch.id}-{name}"] = _render_jsonl(lines)
        if status == "failed":
            problem = {"code": "token_limit_exceeded", "message": self.plan.refusal}
            found["errors"] = {"object": "list", "data": [problem]}
        return found

    def _build_anthropic_object(self, batch: ScriptedBatch) -> JsonObject:
        is_over, n = self._is_over(batch), len(batch.requests)
        counts = {"processing": 0 if is_over else n, "succeeded": n if is_over else 0}
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if is_over else "in_progress",
            "request_counts": {**counts, "errored": 0, "canceled": 0, "expired": 0},
            "created_at": "2025-01-01T00:00:00Z",
            "expires_at": "2025-01-02T00:00:00Z",
            "ended_at": "2025-01-01T01:00:00Z" if is_over else None,
            "results_url": f"/v1/messages/batches/{batch.id}/results" if is_over else None,
        }


_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def _build_missed_reply(key: str, kind: str) -> JsonObject:
    code = "batch_expired" if kind == "expired" else "batch_cancelled"
    error = {"code": code, "message": f"This request could not be executed: {kind}."}
    return {"id": f"batch_req_{key}", "custom_id": key, "response": None, "error": error}


def _build_missed_message(key: str, kind: str) -> JsonObject:
    return {"custom_id": key, "result": {"type": kind}}


def _build_file_object(name: str, content: bytes, filename: str, purpose: str) -> JsonObject:
    return {
        "id": name,
        "object": "file",
        "bytes": len(content),
        "created_at": 1_700_000_000,
        "filename": filename,
        "purpose": purpose,
        "status": "processed",
    }


def _build_not_found(kind: str, name: str) -> web.Response:
    return _build_response(
        build_error_body(f"No {kind} found with id '{name}'.", "invalid_request_error", None), 404
    )


def _render_jsonl(lines: Sequence[JsonObject]) -> bytes:
    return "".join(f"{format_json(line)}\n" for line in lines).encode()


def _build_response(body: JsonObject, status: int = 200) -> web.Response:
    return web.json_response(body, status=status)
