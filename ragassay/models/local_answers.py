"""Identify language model servers from their responses, and read their model lists.

Responses are untrusted. Values of the wrong type in a response count as missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

EMBEDDING_FAMILIES = frozenset(
    {"bert", "jina-bert-v2", "modernbert", "nomic-bert", "nomic-bert-moe", "roberta", "xlm-roberta"}
)
"""Ollama's names for architectures that only compute embeddings."""

NO_JUDGE_NAMES = (
    (r"embed", "nomic-embed-text:latest"),
    (r"(?:^|[/_:-])(?:bge|gte|e5|all-minilm|sbert|colbert)(?:[/_:.-]|$)", "BAAI/bge-m3"),
    (r"rerank", "Qwen/Qwen3-Reranker-0.6B"),
    (r"(?:^|[/_:-])(?:whisper|tts|clip)(?:[/_:.-]|$)", "openai/whisper-large-v3"),
)
"""Name patterns of models that do not generate text, each with an example."""

_NO_JUDGE = re.compile("|".join(pattern for pattern, _ in NO_JUDGE_NAMES), re.IGNORECASE)

_OWNERS = {"vllm": "vllm", "llamacpp": "llama_cpp"}
"""Server kinds, keyed by the model owner in OpenAI's model list."""


REFUSED = object()
"""Placeholder for the response at a path that requires an API key."""


@dataclass(frozen=True)
class ServerModel:
    """Model listed by a server. Attributes whose values are unknown are None or "".

    Attributes:
        name: Model name in requests.
        parameters: Number of parameters as text, such as "8.0B".
        quantization: Weight format, such as "Q4_K_M".
        n_context: Maximum number of tokens in prompt and reply.
        remote_host: Host that runs the model and receives the evaluated texts, or "" if the server
            runs it.
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
class ServerDescription:
    """Description of a server, read from its responses.

    Attributes:
        kind: Key of `KINDS` in `ragassay.models.local_servers`.
        models: All models, or None if listing the models requires an API key.
    """

    kind: str
    version: str
    models: tuple[ServerModel, ...] | None


@dataclass(frozen=True)
class ServerAnswers:
    """Responses of one server, keyed by path. A response is a JSON value, `REFUSED` or None."""

    by_path: Mapping[str, Any]

    def read_object(self, path: str) -> Mapping[str, Any]:
        """Return the JSON object at a path, or an empty object."""
        return _read_object(self.by_path.get(path))

    def list_objects(self, path: str, field: str) -> list[Mapping[str, Any]] | None:
        """Return the JSON objects in a list at a path, or None if there is no such list."""
        listed = self.read_object(path).get(field)
        # Servers without models may return null.
        if listed is None and field in self.read_object(path):
            return []
        if not isinstance(listed, list):
            return None
        return [row for row in listed if isinstance(row, dict)]

    def requires_key(self, path: str) -> bool:
        """Return whether a path requires an API key."""
        return self.by_path.get(path) is REFUSED


def read_server(answers: ServerAnswers) -> ServerDescription | None:
    """Return the description of a server, or None if it is not a model server."""
    return next(filter(None, (read(answers) for read in _READERS)), None)


def _read_by_owner(answers: ServerAnswers) -> ServerDescription | None:
    """Recognize vLLM and llama.cpp by their responses. llama.cpp also supports Ollama's paths."""
    rows = answers.list_objects("/v1/models", "data") or []
    kind = next(
        filter(None, (_OWNERS.get(_read_text(row, "owned_by").lower()) for row in rows)), None
    )
    props = answers.read_object("/props")
    if kind is None and "default_generation_settings" in props:
        kind = "llama_cpp"
    if kind == "llama_cpp":
        n_context = _read_number(_read_object(props.get("default_generation_settings")), "n_ctx")
        version = _read_text(props, "build_info")
        return ServerDescription(
            kind, version, tuple(_read_llama_cpp_model(row, n_context) for row in rows)
        )
    if kind == "vllm":
        models = tuple(
            replace(_read_plain_model(row), n_context=_read_number(row, "max_model_len"))
            for row in rows
        )
        return ServerDescription(
            kind, _read_text(answers.read_object("/version"), "version"), models
        )
    return None


def _read_lm_studio(answers: ServerAnswers) -> ServerDescription | None:
    rows = answers.list_objects("/api/v0/models", "data")
    if rows is None:
        return None
    models = tuple(
        ServerModel(
            name=_read_text(row, "id"),
            can_judge=_read_text(row, "type") in ("llm", "vlm"),
            quantization=_read_text(row, "quantization"),
            n_context=_read_number(row, "loaded_context_length")
            or _read_number(row, "max_context_length"),
            is_loaded=_read_text(row, "state") == "loaded",
        )
        for row in rows
    )
    return ServerDescription("lm_studio", "", models)


def _read_ollama(answers: ServerAnswers) -> ServerDescription | None:
    rows = answers.list_objects("/api/tags", "models")
    version = _read_text(answers.read_object("/api/version"), "version")
    if rows is None or not version:
        return None
    return ServerDescription("ollama", version, tuple(map(_read_ollama_model, rows)))


def _read_ollama_model(row: Mapping[str, Any]) -> ServerModel:
    name, details = (
        _read_text(row, "name") or _read_text(row, "model"),
        _read_object(row.get("details")),
    )
    embeds = _read_text(details, "family") in EMBEDDING_FAMILIES
    return ServerModel(
        name=name,
        can_judge=not embeds and not _NO_JUDGE.search(name),
        n_bytes=_read_number(row, "size"),
        parameters=_read_text(details, "parameter_size"),
        quantization=_read_text(details, "quantization_level"),
        remote_host=_read_text(row, "remote_host"),
    )


def read_ollama_details(model: ServerModel, answer: Any) -> ServerModel:
    """Add details from Ollama's `/api/show` to a model.

    Old versions of Ollama return fewer fields.
    """
    details = _read_object(answer)
    capabilities = details.get("capabilities")
    is_listed = isinstance(capabilities, list)
    can_judge = "completion" in capabilities if is_listed else model.can_judge
    sizes = _read_object(details.get("model_info"))
    lengths = [_read_number(sizes, key) for key in sizes if key.endswith(".context_length")]
    remote_host = _read_text(details, "remote_host") or model.remote_host
    n_context = next(iter(lengths), None)
    return replace(model, can_judge=can_judge, n_context=n_context, remote_host=remote_host)


def _read_other(answers: ServerAnswers) -> ServerDescription | None:
    rows = answers.list_objects("/v1/models", "data")
    if rows is not None:
        return ServerDescription("other", "", tuple(map(_read_plain_model, rows)))
    if not answers.requires_key("/v1/models"):
        return None
    # vLLM requires the key only under /v1.
    version = _read_text(answers.read_object("/version"), "version")
    return ServerDescription("vllm" if version else "other", version, None)


_READERS: Sequence[Callable[[ServerAnswers], ServerDescription | None]] = (
    _read_by_owner,
    _read_lm_studio,
    _read_ollama,
    _read_other,
)
"""Functions that recognize a server, from the most specific to the least specific."""


def _read_llama_cpp_model(row: Mapping[str, Any], n_context: int | None) -> ServerModel:
    sizes = _read_object(row.get("meta"))
    n_parameters = _read_number(sizes, "n_params")
    state = _read_text(_read_object(row.get("status")), "value")
    return replace(
        _read_plain_model(row),
        n_bytes=_read_number(sizes, "size"),
        parameters=f"{n_parameters / 1e9:.1f}B" if n_parameters else "",
        n_context=n_context or _read_number(sizes, "n_ctx_train"),
        is_loaded=state == "loaded" if state else None,
    )


def _read_plain_model(row: Mapping[str, Any]) -> ServerModel:
    name = _read_text(row, "id")
    return ServerModel(name=name, can_judge=not _NO_JUDGE.search(name))


def _read_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    return value if isinstance(value, str) else ""


def _read_number(row: Mapping[str, Any], field: str) -> int | None:
    value = row.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
