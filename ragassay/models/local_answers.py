"""Tell servers of language models apart by what they answer, and read their lists of models.

What a server sends is untrusted: a value of the wrong type counts as missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

EMBEDDING_FAMILIES = frozenset(
    {"bert", "jina-bert-v2", "modernbert", "nomic-bert", "nomic-bert-moe", "roberta", "xlm-roberta"}
)
"""Architectures that only embed, as Ollama names them."""

NO_JUDGE_NAMES = (
    (r"embed", "nomic-embed-text:latest"),
    (r"(?:^|[/_:-])(?:bge|gte|e5|all-minilm|sbert|colbert)(?:[/_:.-]|$)", "BAAI/bge-m3"),
    (r"rerank", "Qwen/Qwen3-Reranker-0.6B"),
    (r"(?:^|[/_:-])(?:whisper|tts|clip)(?:[/_:.-]|$)", "openai/whisper-large-v3"),
)
"""Parts of the names of models that write no text, each with an example."""

_NO_JUDGE = re.compile("|".join(pattern for pattern, _ in NO_JUDGE_NAMES), re.IGNORECASE)

_OWNERS = {"vllm": "vllm", "llamacpp": "llama_cpp"}
"""Kinds of servers by the owner that their models have in OpenAI's list."""


REFUSED = object()
"""The answer of a path that wants a key."""


@dataclass(frozen=True)
class ServerModel:
    """A model that a server lists; what is unknown is None or empty.

    Attributes:
        name: As the server wants it named.
        parameters: Its number of parameters, such as "8.0B".
        quantization: How its weights are kept, such as "Q4_K_M".
        n_context: Most tokens of prompt and reply.
        remote_host: Where it runs, if not on this machine: what is judged is sent there.
    """

    name: str
    can_judge: bool
    n_bytes: int | None = None
    parameters: str = ""
    quantization: str = ""
    n_context: int | None = None
    is_loaded: bool | None = None
    remote_host: str = ""


@dataclass(frozen=True)
class ServerRead:
    """A server, as far as its answers tell.

    Attributes:
        kind: Key of `KINDS` in `ragassay.models.local_servers`.
        models: All of its models; None where it does not list them without a key.
    """

    kind: str
    version: str
    models: tuple[ServerModel, ...] | None


@dataclass(frozen=True)
class ServerAnswers:
    """The answers of one address: by path the JSON, `REFUSED`, or None."""

    by_path: Mapping[str, Any]

    def object_at(self, path: str) -> Mapping[str, Any]:
        """Return the JSON object at a path; empty where there is none."""
        return _object(self.by_path.get(path))

    def rows_at(self, path: str, field: str) -> list[Mapping[str, Any]] | None:
        """Return the objects of a list; None where there is no such list."""
        listed = self.object_at(path).get(field)
        # A server without a model may write null.
        if listed is None and field in self.object_at(path):
            return []
        if not isinstance(listed, list):
            return None
        return [row for row in listed if isinstance(row, dict)]

    def refuses(self, path: str) -> bool:
        """Return whether a path wants a key."""
        return self.by_path.get(path) is REFUSED


def read_server(answers: ServerAnswers) -> ServerRead | None:
    """Return what kind of server answered, and its models; None where it has none of models."""
    return next(filter(None, (read(answers) for read in _READERS)), None)


def _read_by_owner(answers: ServerAnswers) -> ServerRead | None:
    """Read vLLM and llama.cpp; the latter also answers as Ollama does."""
    rows = answers.rows_at("/v1/models", "data") or []
    kind = next(filter(None, (_OWNERS.get(_text(row, "owned_by").lower()) for row in rows)), None)
    props = answers.object_at("/props")
    if kind is None and "default_generation_settings" in props:
        kind = "llama_cpp"
    if kind == "llama_cpp":
        n_context = _number(_object(props.get("default_generation_settings")), "n_ctx")
        version = _text(props, "build_info")
        return ServerRead(kind, version, tuple(_llama_cpp_model(row, n_context) for row in rows))
    if kind == "vllm":
        models = tuple(
            replace(_plain(row), n_context=_number(row, "max_model_len")) for row in rows
        )
        return ServerRead(kind, _text(answers.object_at("/version"), "version"), models)
    return None


def _read_lm_studio(answers: ServerAnswers) -> ServerRead | None:
    rows = answers.rows_at("/api/v0/models", "data")
    if rows is None:
        return None
    models = tuple(
        ServerModel(
            name=_text(row, "id"),
            can_judge=_text(row, "type") in ("llm", "vlm"),
            quantization=_text(row, "quantization"),
            n_context=_number(row, "loaded_context_length") or _number(row, "max_context_length"),
            is_loaded=_text(row, "state") == "loaded",
        )
        for row in rows
    )
    return ServerRead("lm_studio", "", models)


def _read_ollama(answers: ServerAnswers) -> ServerRead | None:
    rows = answers.rows_at("/api/tags", "models")
    version = _text(answers.object_at("/api/version"), "version")
    if rows is None or not version:
        return None
    return ServerRead("ollama", version, tuple(map(_ollama_model, rows)))


def _ollama_model(row: Mapping[str, Any]) -> ServerModel:
    name, details = _text(row, "name") or _text(row, "model"), _object(row.get("details"))
    embeds = _text(details, "family") in EMBEDDING_FAMILIES
    return ServerModel(
        name=name,
        can_judge=not embeds and not _NO_JUDGE.search(name),
        n_bytes=_number(row, "size"),
        parameters=_text(details, "parameter_size"),
        quantization=_text(details, "quantization_level"),
        remote_host=_text(row, "remote_host"),
    )


def read_ollama_details(model: ServerModel, answer: Any) -> ServerModel:
    """Return a model with what an Ollama's `/api/show` says of it; older ones say less."""
    details = _object(answer)
    found = details.get("capabilities")
    can_judge = "completion" in found if isinstance(found, list) else model.can_judge
    sizes = _object(details.get("model_info"))
    lengths = [_number(sizes, key) for key in sizes if key.endswith(".context_length")]
    remote_host = _text(details, "remote_host") or model.remote_host
    n_context = next(iter(lengths), None)
    return replace(model, can_judge=can_judge, n_context=n_context, remote_host=remote_host)


def _read_other(answers: ServerAnswers) -> ServerRead | None:
    """Read any server that lists its models as OpenAI does, or wants a key for that."""
    rows = answers.rows_at("/v1/models", "data")
    if rows is not None:
        return ServerRead("other", "", tuple(map(_plain, rows)))
    if not answers.refuses("/v1/models"):
        return None
    # vLLM guards what stands under /v1 alone.
    version = _text(answers.object_at("/version"), "version")
    return ServerRead("vllm" if version else "other", version, None)


_READERS: Sequence[Callable[[ServerAnswers], ServerRead | None]] = (
    _read_by_owner,
    _read_lm_studio,
    _read_ollama,
    _read_other,
)
"""Readers, those that look for the surest sign first."""


def _llama_cpp_model(row: Mapping[str, Any], n_context: int | None) -> ServerModel:
    sizes = _object(row.get("meta"))
    n_parameters = _number(sizes, "n_params")
    state = _text(_object(row.get("status")), "value")
    return replace(
        _plain(row),
        n_bytes=_number(sizes, "size"),
        parameters=f"{n_parameters / 1e9:.1f}B" if n_parameters else "",
        n_context=n_context or _number(sizes, "n_ctx_train"),
        is_loaded=state == "loaded" if state else None,
    )


def _plain(row: Mapping[str, Any]) -> ServerModel:
    name = _text(row, "id")
    return ServerModel(name=name, can_judge=not _NO_JUDGE.search(name))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    return value if isinstance(value, str) else ""


def _number(row: Mapping[str, Any], field: str) -> int | None:
    value = row.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
