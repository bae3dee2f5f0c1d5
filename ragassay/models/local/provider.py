"""The embedded judge as a LiteLLM provider: `ragassay/NAME` is answered in this process.

`ragassay/smollm2-135m` is the packaged model. Any other name is that of a shipped adapter, a folder
of an adapter or of a whole model, or a Hugging Face id:
`ragassay/HuggingFaceTB/SmolLM2-360M-Instruct`.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ragassay.errors import SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.model_names import PROVIDER
from ragassay.models.hosting import OwnModels, current_host
from ragassay.models.hub import loading, source_of
from ragassay.models.quiet import quiet_loading
from ragassay.models.tuned import adapter_folder, read_note
from ragassay.models.verifiers import is_pair_verifier
from ragassay.models.weights import best_dtype

if TYPE_CHECKING:
    from litellm.llms.custom_llm import CustomLLM
    from litellm.types.utils import ModelResponse
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ragassay.models.local.engine import Engine, Prompt, Reply


ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Those whose attention and logits the engine computes as transformers does."""


@functools.cache
def register_provider(cache_dir: Path, dtype: str = "auto") -> None:
    """Make `ragassay/...` known to LiteLLM, once a process.

    Args:
        cache_dir: Where converted weights live.
        dtype: "auto", "bfloat16" or "float32".

    Raises:
        ExtraError: What runs models in this process is not installed.
    """
    need(*EXTRAS["local"])
    import litellm

    handler = _handler_class()(cache_dir, dtype)
    others = [p for p in litellm.custom_provider_map if p["provider"] != PROVIDER]
    litellm.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": handler}]
    litellm.utils.custom_llm_setup()


def load_engine(name: str, cache_dir: Path, dtype: str = "auto") -> Engine:
    """Load a model for in-process judging.

    Args:
        name: `SMOLLM2`, a shipped adapter, a Hugging Face id, or a folder.
        cache_dir: Where converted weights live.
        dtype: "auto", "bfloat16" or "float32".

    Raises:
        SettingsError: The architecture computes attention or logits in a way of its own, or the
            model writes nothing.
    """
    from ragassay.models.local.engine import Engine

    if is_pair_verifier(f"{PROVIDER}/{name}"):
        raise SettingsError(
            f"{PROVIDER}/{name} compares a claim with a passage and writes nothing: name it as "
            "--verifier"
        )
    folder = adapter_folder(name)
    base = read_note(folder).base if folder else name
    model, tokenizer = load_base(base, cache_dir, dtype)
    if folder is not None:
        model = adapted(model, folder)
    return Engine(model, tokenizer)


def load_base(
    name: str, cache_dir: Path, dtype: str = "auto"
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Load a whole model and its tokenizer, once for all adapters on it.

    Safe across threads: each model's own thread loads it.

    Raises:
        SettingsError: It is unavailable, or its architecture computes attention or logits in a way
            of its own.
    """
    with _LOADING:
        return _loaded_base(name, cache_dir, dtype)


_LOADING = threading.Lock()


@functools.lru_cache(maxsize=2)
def _loaded_base(
    name: str, cache_dir: Path, dtype: str
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = source_of(name, cache_dir)
    chosen = best_dtype() if dtype == "auto" else getattr(torch, dtype)
    with loading(name):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=chosen, trust_remote_code=False
        ).eval()
    if model.config.model_type not in ARCHITECTURES:
        raise SettingsError(
            f"model {name!r} is a {model.config.model_type!r}; in-process judging knows "
            f"{', '.join(ARCHITECTURES)}: serve it over HTTP and name its endpoint instead"
        )
    return model, tokenizer


def adapted(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """Return a model with an adapter beside its weights, which it shares with the model given."""
    from peft import PeftModel

    shared = {id(t): t for t in (*model.parameters(), *model.buffers())}
    with quiet_loading():
        tuned = PeftModel.from_pretrained(copy.deepcopy(model, shared), str(folder))
    return cast("PreTrainedModel", tuned.get_base_model()).eval()


@functools.cache
def _handler_class() -> Callable[[Path, str], CustomLLM]:
    """Return the handler's class, defined late because importing LiteLLM takes seconds."""
    from litellm.llms.custom_llm import CustomLLM

    class LocalJudge(CustomLLM):
        """Answer chat messages with text and log-probabilities."""

        def __init__(self, cache_dir: Path, dtype: str) -> None:
            super().__init__()
            self._settings = (cache_dir, dtype)

        def _submit(self, kwargs: Mapping[str, Any]) -> Future[Reply]:
            host = current_host() or OwnModels()
            prompt = _prompt(kwargs["messages"], kwargs["optional_params"])
            return host.reply(kwargs["model"], *self._settings, prompt)

        def completion(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return _response(kwargs["model"], self._submit(kwargs).result())

        async def acompletion(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return _response(kwargs["model"], await asyncio.wrap_future(self._submit(kwargs)))

    return LocalJudge


def _prompt(messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Prompt:
    from ragassay.models.local.engine import Prompt

    wanted = options.get("response_format") or {}
    schema = (wanted.get("json_schema") or {}).get("schema")
    limit = options.get("max_completion_tokens") or options.get("max_tokens") or 256
    return Prompt(
        messages=tuple((m["role"], _text(m["content"])) for m in messages),
        schema=json.dumps(schema, sort_keys=False) if schema else None,
        max_tokens=int(limit),
        n_top=int(options.get("top_logprobs") or 0) if options.get("logprobs") else 0,
    )


def _text(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    """Return a message's text, also where it comes in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content)


def _response(model: str, reply: Reply) -> ModelResponse:
    from litellm.types.utils import (
        ChatCompletionTokenLogprob,
        ChoiceLogprobs,
        Choices,
        Message,
        ModelResponse,
        PromptTokensDetailsWrapper,
        TopLogprob,
        Usage,
    )

    content = [
        ChatCompletionTokenLogprob(
            token=token.text,
            logprob=token.logprob,
            bytes=None,
            top_logprobs=[
                TopLogprob(token=text, logprob=logprob, bytes=None) for text, logprob in token.top
            ],
        )
        for token in reply.tokens
    ]
    n_written = len(reply.tokens)
    return ModelResponse(
        id=f"local-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=model,
        object="chat.completion",
        choices=[
            Choices(
                index=0,
                finish_reason="length" if reply.is_cut else "stop",
                message=Message(role="assistant", content=reply.text),
                logprobs=ChoiceLogprobs(content=content),
            )
        ],
        usage=Usage(
            prompt_tokens=reply.n_prompt_tokens,
            completion_tokens=n_written,
            total_tokens=reply.n_prompt_tokens + n_written,
            prompt_tokens_details=PromptTokensDetailsWrapper(
                cached_tokens=reply.n_prompt_tokens
                - min(reply.n_prompt_tokens, reply.n_computed_tokens)
            ),
        ),
    )
