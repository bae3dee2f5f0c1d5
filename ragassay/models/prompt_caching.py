"""Ask providers to cache the part of a prompt that all calls on one answer share.

All prompts start with the same text: the system message, then the question, the sources and the
answer. Some providers cache it by themselves, some only where the request marks its end. LiteLLM
turns the mark `cache_control` into what a provider wants: Anthropic's own, Bedrock's `cachePoint`,
OpenAI's `prompt_cache_breakpoint`.

A cache entry can be read only after the call that wrote it. So the first call with a prefix goes
alone, and the others wait for it; otherwise each of them would pay for writing.

Gemini's explicit caches are not used: each is a resource with a price by the hour, and LiteLLM
looks for it with one more request a call. Gemini discounts repeated prefixes without being asked.
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

from ragassay.model_names import is_local, provider_of

if TYPE_CHECKING:
    from ragassay.settings import Settings

CHARS_A_TOKEN = 4
"""Approximate length of a token of English text."""

CACHE_S = 240.0
"""A prefix counts as cached for so long after its last use; providers keep it for 5 minutes."""

MOST_KEPT = 10_000
"""Prefixes whose last use is remembered."""

Way = Literal["marked", "automatic", "none"]
"""How a provider caches: where a mark asks for it, by itself, or not at all as far as is known."""


@dataclass(frozen=True)
class Marking:
    """Models to which the end of the shared text is marked.

    Attributes:
        family: Part of the model's name; empty for all models of the provider.
    """

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
"""OpenAI's models that take a mark are listed by LiteLLM itself (`takes_breakpoint`)."""

KEYED = frozenset({"openai", "mistral"})
"""Providers that route calls with the same `prompt_cache_key` to the same cache."""


class SharedPrompt(str):
    """A prompt whose first characters are those of other calls on the same answer too.

    It is an ordinary string to everything else.

    Attributes:
        n_shared: Number of these characters.
    """

    n_shared: int

    def __new__(cls, text: str, n_shared: int = 0) -> SharedPrompt:
        """Mark the end of the shared text in a prompt."""
        made = super().__new__(cls, text)
        made.n_shared = n_shared
        return made


def way_of(model: str, api_base: str = "") -> Way:
    """Return how a model's provider caches prompts."""
    provider = provider_of(model)
    if is_local(model) or (provider == "openai" and not _is_openai(api_base)):
        return "none"  # another server behind OpenAI's protocol may refuse the mark and the key
    name = model.partition("/")[2].lower()
    if any(one.provider == provider and one.family in name for one in MARKED):
        return "marked"
    if provider == "openai" and takes_breakpoint(model):
        return "marked"
    return "automatic" if _has_cheap_reads(model) else "none"


def takes_breakpoint(model: str) -> bool:
    """Return whether LiteLLM knows a model of OpenAI as one that reads a mark (GPT-5.6 and later).

    Example:
        >>> takes_breakpoint("openai/gpt-5.6"), takes_breakpoint("openai/gpt-4.1-mini")
        (True, False)
    """
    from litellm.integrations.anthropic_cache_control_hook import (
        supports_openai_prompt_cache_breakpoint,
    )

    return supports_openai_prompt_cache_breakpoint(model, "openai")


def least_cached_tokens(model: str) -> int:
    """Return the length of the shortest prefix that is cached, by LiteLLM's price list."""
    from litellm.utils import get_prompt_cache_min_tokens

    return get_prompt_cache_min_tokens(model)


class PromptCaching:
    """Caching of one judge's prompts."""

    def __init__(self, settings: Settings) -> None:
        self._provider = provider_of(settings.judge.model)
        self.way = way_of(settings.judge.model, settings.judge.api_base or "")
        least = least_cached_tokens(settings.judge.model) if self.way != "none" else 0
        self._least_chars = least * CHARS_A_TOKEN
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._last_used: dict[str, float] = {}

    @asynccontextmanager
    async def first_alone(
        self, messages: Sequence[Mapping[str, Any]] | None, options: Mapping[str, Any]
    ) -> AsyncIterator[None]:
        """Wait while the first call with the same prefix is being made.

        Where that call fails, the next one takes its place.
        """
        prefix = self._prefix(messages or (), options)
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
        """Return what a call's `messages` become, and a key for the cache where one is taken."""
        system, shared = self._find_shared_text(messages)
        if not shared:
            return {"messages": messages}
        found: dict[str, Any] = {"messages": messages}
        if self.way == "marked":
            found["messages"] = [_mark_shared(message) for message in messages]
        if self._provider in KEYED and "prompt_cache_key" not in options:
            found["prompt_cache_key"] = _digest(system, shared)[:32]
        return found

    def _prefix(
        self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> str | None:
        """Return a digest of all that a cache entry depends on; None where nothing is cached."""
        system, shared = self._find_shared_text(messages)
        # Providers put the schema of the reply before the messages.
        form = options.get("response_format")
        return _digest(json.dumps(form), system, shared) if shared else None

    def _find_shared_text(self, messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        """Return the system message and the shared text; empty where that is too short."""
        contents = [message["content"] for message in messages]
        prompt = next((one for one in contents if isinstance(one, SharedPrompt)), None)
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
    """Return a message with its shared text as a part of its own, its end marked."""
    prompt = message["content"]
    if not isinstance(prompt, SharedPrompt):
        return message
    shared, rest = prompt[: prompt.n_shared], prompt[prompt.n_shared :]
    mark = {"cache_control": {"type": "ephemeral"}}
    parts = [{"type": "text", "text": shared, **mark}, {"type": "text", "text": rest}]
    return {**message, "content": parts}


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _is_openai(api_base: str) -> bool:
    from litellm.integrations.anthropic_cache_control_hook import targets_openai_api

    return targets_openai_api(api_base)


def _has_cheap_reads(model: str) -> bool:
    """Return whether LiteLLM's price list has a lower price for tokens read from a cache."""
    import litellm

    try:
        info = litellm.get_model_info(model)
    except Exception:  # LiteLLM raises a bare Exception for a model that is not listed
        return False
    read, sent = info.get("cache_read_input_token_cost"), info.get("input_cost_per_token")
    return read is not None and bool(sent) and read < sent
