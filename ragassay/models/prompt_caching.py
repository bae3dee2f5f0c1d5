"""Provider-side caching of the prompt prefix that all calls for one answer share.

All prompts for an answer start with the same text: the system message, the question, the sources
and the answer. Some providers cache the shared prefix automatically. Some other providers require a
marker at the end of the prefix, which LiteLLM translates from `cache_control` to Bedrock's
`cachePoint` or OpenAI's `prompt_cache_breakpoint`.

A cache entry can only be read after the call that wrote it has finished. Therefore, the first call
with a prefix runs alone while other calls wait. If all calls ran at once, every call would pay for
writing the cache entry.

Gemini's explicit caches are not used, because each cache costs money per hour and LiteLLM needs an
additional request per call. Gemini discounts repeated prefixes automatically.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ragassay.model_names import find_provider, is_local

if TYPE_CHECKING:
    from ragassay.settings import Settings

CHARS_PER_TOKEN = 4
"""Approximate characters per token of English text."""

CACHE_S = 240.0
"""Seconds for which a prefix counts as cached after its last use.

Providers keep prefixes for 5 minutes.
"""

MOST_KEPT = 10_000

Way = Literal["marked", "automatic", "none"]
"""How a provider caches prompts: with a marker, automatically, or not at all (or unknown)."""


@dataclass(frozen=True)
class Marking:
    """Models whose prompts need a marker, given by provider and part of the model name."""

    provider: str
    family: str
    example: str


MARKED = (
    Marking("anthropic", "claude", "anthropic/claude-sonnet-5"),
    Marking("bedrock", "claude", "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0"),
    Marking("bedrock", "nova", "bedrock/amazon.nova-lite-v1:0"),
    Marking("vertex_ai", "claude", "vertex_ai/claude-haiku-4-5"),
    Marking("azure_ai", "claude", "azure_ai/claude-haiku-4-5"),
    Marking("databricks", "claude", "databricks/databricks-claude-sonnet-4-5"),
    Marking("openrouter", "claude", "openrouter/anthropic/claude-haiku-4.5"),
    Marking("dashscope", "qwen", "dashscope/qwen3.7-max"),
    Marking("minimax", "", "minimax/MiniMax-M2.1"),
)
"""Models whose providers require a cache marker.

OpenAI's models are listed by LiteLLM (see `takes_breakpoint`).
"""

KEYED = frozenset({"openai", "mistral"})
"""Providers that route calls with the same `prompt_cache_key` to the same cache."""


class SharedPrompt(str):
    """Prompt that starts with `n_shared` characters shared by other calls for the same answer."""

    n_shared: int

    def __new__(cls, text: str, n_shared: int = 0) -> SharedPrompt:
        """Create a prompt and set the length of its shared text."""
        prompt = super().__new__(cls, text)
        prompt.n_shared = n_shared
        return prompt


def detect_caching_way(model: str, api_base: str = "") -> Way:
    """Return how a model's provider caches prompts."""
    provider = find_provider(model)
    if is_local(model) or (provider == "openai" and not _is_openai(api_base)):
        return "none"  # Other servers with an OpenAI API may reject the marker and the key.
    name = model.partition("/")[2].lower()
    if any(mark.provider == provider and mark.family in name for mark in MARKED):
        return "marked"
    if provider == "openai" and takes_breakpoint(model):
        return "marked"
    return "automatic" if _has_cheap_reads(model) else "none"


def takes_breakpoint(model: str) -> bool:
    """Return whether LiteLLM lists this OpenAI model as supporting markers (GPT-5.6 and later).

    Example:
        >>> takes_breakpoint("openai/gpt-5.6"), takes_breakpoint("openai/gpt-4.1-mini")
        (True, False)
    """
    from litellm.integrations.anthropic_cache_control_hook import (
        supports_openai_prompt_cache_breakpoint,
    )

    return supports_openai_prompt_cache_breakpoint(model, "openai")


def find_min_cached_tokens(model: str) -> int:
    """Return the minimum number of tokens in a cached prefix, from LiteLLM's model list."""
    from litellm.utils import get_prompt_cache_min_tokens

    return get_prompt_cache_min_tokens(model)


class PromptCaching:
    """Prompt caching for one judge."""

    def __init__(self, settings: Settings) -> None:
        self._provider = find_provider(settings.judge.model)
        self.way = detect_caching_way(settings.judge.model, settings.judge.api_base or "")
        min_tokens = find_min_cached_tokens(settings.judge.model) if self.way != "none" else 0
        self._least_chars = min_tokens * CHARS_PER_TOKEN
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._last_used: dict[str, float] = {}

    @asynccontextmanager
    async def wait_for_prefix(
        self, messages: Sequence[Mapping[str, Any]] | None, options: Mapping[str, Any]
    ) -> AsyncIterator[None]:
        """Wait while another call writes the same prefix to the cache.

        If the other call fails, the next waiting call writes the prefix.
        """
        prefix = self._hash_prefix(messages or (), options)
        if prefix and not self._is_cached(prefix):
            lock = self._locks.setdefault(prefix, asyncio.Lock())
            async with lock:
                if not self._is_cached(prefix):
                    yield
                    self._keep(prefix)
                    return
        yield
        if prefix:
            self._keep(prefix)

    def prepare(
        self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return messages with cache markers, and a cache key if the provider supports one."""
        system, shared = self._find_shared_text(messages)
        if not shared:
            return {"messages": messages}
        found: dict[str, Any] = {"messages": messages}
        if self.way == "marked":
            found["messages"] = [_mark_shared(message) for message in messages]
        if self._provider in KEYED and "prompt_cache_key" not in options:
            found["prompt_cache_key"] = _hash_parts(system, shared)[:32]
        return found

    def _hash_prefix(
        self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> str | None:
        """Return a digest of what a cache entry depends on, or None if nothing is cached."""
        system, shared = self._find_shared_text(messages)
        # Providers place the reply schema before the messages.
        schema = json.dumps(options.get("response_format"))
        return _hash_parts(schema, system, shared) if shared else None

    def _find_shared_text(self, messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        """Return the system message and the shared text.

        Both are empty if they are too short to cache.
        """
        contents = [message["content"] for message in messages]
        prompt = next((text for text in contents if isinstance(text, SharedPrompt)), None)
        if self.way == "none" or prompt is None or not prompt.n_shared:
            return "", ""
        system = contents[0] if messages[0]["role"] == "system" else ""
        shared = prompt[: prompt.n_shared]
        is_enough = len(system) + len(shared) >= self._least_chars
        return (system, shared) if is_enough else ("", "")

    def _is_cached(self, prefix: str) -> bool:
        return time.monotonic() - self._last_used.get(prefix, -CACHE_S) < CACHE_S

    def _keep(self, prefix: str) -> None:
        self._last_used.pop(prefix, None)
        self._last_used[prefix] = time.monotonic()
        if len(self._last_used) > MOST_KEPT:
            del self._last_used[next(iter(self._last_used))]


def _mark_shared(message: Mapping[str, Any]) -> Mapping[str, Any]:
    prompt = message["content"]
    if not isinstance(prompt, SharedPrompt):
        return message
    shared, rest = prompt[: prompt.n_shared], prompt[prompt.n_shared :]
    mark = {"cache_control": {"type": "ephemeral"}}
    parts = [{"type": "text", "text": shared, **mark}, {"type": "text", "text": rest}]
    return {**message, "content": parts}


def _hash_parts(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _is_openai(api_base: str) -> bool:
    from litellm.integrations.anthropic_cache_control_hook import targets_openai_api

    return targets_openai_api(api_base)


def _has_cheap_reads(model: str) -> bool:
    import litellm

    try:
        info = litellm.get_model_info(model)
    except Exception:  # LiteLLM raises plain `Exception` for unlisted models.
        return False
    read_cost, input_cost = (
        info.get("cache_read_input_token_cost"),
        info.get("input_cost_per_token"),
    )
    return read_cost is not None and bool(input_cost) and read_cost < input_cost
