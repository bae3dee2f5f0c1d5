"""LiteLLM provider for the embedded judge. Models named `ragassay/NAME` run in this process.

`ragassay/smollm2-135m` is the packaged model. Names of `ragassay/` models can also refer to a
shipped adapter, a folder of an adapter or model, or a Hugging Face id such as
`ragassay/HuggingFaceTB/SmolLM2-360M-Instruct`.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.extras import EXTRAS, need
from ragassay.model_names import PROVIDER
from ragassay.models.hosting import Recipe, get_current_host, load_own_model

if TYPE_CHECKING:
    from litellm.llms.custom_llm import CustomLLM
    from litellm.types.utils import ModelResponse

    from ragassay.models.local.batcher import Batcher
    from ragassay.models.local.replies import GeneratedReply, Prompt


@functools.cache
def register_provider(cache_dir: Path, dtype: str = "auto") -> None:
    """Register the provider once, or raise `ExtraError` if the `local` extra is missing."""
    need(*EXTRAS["local"])
    import litellm

    handler = _define_handler()(cache_dir, dtype)
    others = [p for p in litellm.custom_provider_map if p["provider"] != PROVIDER]
    litellm.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": handler}]
    litellm.utils.custom_llm_setup()


@functools.cache
def _define_handler() -> Callable[[Path, str], CustomLLM]:
    """Define the LiteLLM handler class when it is needed, because importing LiteLLM is slow."""
    from litellm.llms.custom_llm import CustomLLM

    class LocalJudge(CustomLLM):
        """LiteLLM handler that returns text and log-probabilities."""

        def __init__(self, cache_dir: Path, dtype: str) -> None:
            super().__init__()
            self._settings = (cache_dir, dtype)

        def _submit(self, kwargs: Mapping[str, Any]) -> Future[GeneratedReply]:
            host = get_current_host()
            recipe = Recipe(build_batcher, (kwargs["model"], *self._settings))
            prompt = build_prompt(kwargs["messages"], kwargs["optional_params"])
            if host is None:
                return load_own_model(recipe).submit(prompt)
            return host(recipe, "submit", (prompt,))

        def completion(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return _build_response(kwargs["model"], self._submit(kwargs).result())

        async def acompletion(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return _build_response(kwargs["model"], await asyncio.wrap_future(self._submit(kwargs)))

    return LocalJudge


def build_batcher(model: str, cache_dir: Path, dtype: str) -> Batcher:
    """Return the batcher that answers the prompts to a model.

    The batcher loads the weights on its first prompt.
    """
    from ragassay.models.local.batcher import Batcher
    from ragassay.models.local.loading import load_engine

    return Batcher(functools.partial(load_engine, model, cache_dir, dtype))


def build_prompt(messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Prompt:
    """Build a prompt from chat messages and options of OpenAI's API."""
    from ragassay.models.local.replies import Prompt

    response_format = options.get("response_format") or {}
    schema = (response_format.get("json_schema") or {}).get("schema")
    limit = options.get("max_completion_tokens") or options.get("max_tokens") or 256
    return Prompt(
        messages=tuple((m["role"], _join_content(m["content"])) for m in messages),
        schema=json.dumps(schema, sort_keys=False) if schema else None,
        max_tokens=int(limit),
        n_top=int(options.get("top_logprobs") or 0) if options.get("logprobs") else 0,
    )


def _join_content(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content)


def _build_response(model: str, reply: GeneratedReply) -> ModelResponse:
    from litellm.types.utils import ModelResponse

    def describe_token(text: str, logprob: float) -> dict[str, Any]:
        return {"token": text, "logprob": logprob, "bytes": None}

    content = [
        describe_token(token.text, token.logprob)
        | {"top_logprobs": [describe_token(*alternative) for alternative in token.top]}
        for token in reply.tokens
    ]
    n_prompt, n_written = reply.n_prompt_tokens, len(reply.tokens)
    n_cached = n_prompt - min(n_prompt, reply.n_computed_tokens)
    choice = {
        "index": 0,
        "finish_reason": "length" if reply.is_cut else "stop",
        "message": {"role": "assistant", "content": reply.text},
        "logprobs": {"content": content},
    }
    usage = {
        "prompt_tokens": n_prompt,
        "completion_tokens": n_written,
        "total_tokens": n_prompt + n_written,
        "prompt_tokens_details": {"cached_tokens": n_cached},
    }
    return ModelResponse(
        id=f"local-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=model,
        object="chat.completion",
        choices=[choice],
        usage=usage,
    )
