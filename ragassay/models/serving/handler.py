"""The local models as a server shows them: errors in OpenAI's terms, and replies in a stream."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from ragassay.errors import ModelError, PromptTooLongError, RefusedError, SettingsError
from ragassay.model_names import PROVIDER

if TYPE_CHECKING:
    from litellm.llms.custom_llm import CustomLLM
    from litellm.types.utils import GenericStreamingChunk, ModelResponse

ROLES = ("system", "developer", "user", "assistant")


def serve_local_models() -> None:
    """Put the registered provider behind one that speaks to strangers; once a process."""
    import litellm

    for entry in litellm.custom_provider_map:
        if entry["provider"] == PROVIDER:
            entry["custom_handler"] = _handler_class()(entry["custom_handler"])


def request_problem(messages: Any, options: Mapping[str, Any]) -> str:
    """What a local model cannot do about a request; empty where it can do all.

    Args:
        messages: As the client sent them.
        options: The call's other parameters.
    """
    if not isinstance(messages, list) or not messages:
        return "messages: at least one is wanted"
    for number, message in enumerate(messages):
        problem = _message_problem(message)
        if problem:
            return f"messages[{number}]: {problem}"
    for name in ("max_tokens", "max_completion_tokens"):
        limit = options.get(name)
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            return f"{name}: a whole number of at least 1 is wanted, not {limit!r}"
    if options.get("tools") or options.get("functions"):
        return "tools: this model calls none"
    if options.get("n") not in (None, 1):
        return "n: this model gives one reply, always its likeliest"
    wanted = (options.get("response_format") or {}).get("type", "text")
    if wanted not in ("text", "json_schema"):
        return f"response_format: json_schema with a schema is wanted, not {wanted!r}"
    return ""


def _message_problem(message: Any) -> str:
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        return f"role must be one of {', '.join(ROLES)}"
    content = message.get("content")
    if isinstance(content, list):
        kinds = [part.get("type") if isinstance(part, Mapping) else None for part in content]
        return "" if set(kinds) <= {"text"} else "this model reads text, nothing else"
    return "" if isinstance(content, str) else "content: text is wanted"


@functools.cache
def _handler_class() -> Callable[[CustomLLM], CustomLLM]:
    """The handler, defined late because importing LiteLLM takes seconds."""
    from litellm.llms.custom_llm import CustomLLM

    class ServedModels(CustomLLM):
        """Passes calls on; what goes wrong comes back with the status that it deserves."""

        def __init__(self, inner: Any) -> None:
            super().__init__()
            self._inner = inner

        async def acompletion(self, *args: Any, **kwargs: Any) -> ModelResponse:
            model = kwargs["model"]
            problem = request_problem(kwargs["messages"], kwargs["optional_params"])
            if problem:
                raise _as_openai(RefusedError(problem), model)
            try:
                return await self._inner.acompletion(*args, **kwargs)
            except (ModelError, SettingsError) as error:
                raise _as_openai(error, model) from error

        async def astreaming(  # type: ignore[override]  # LiteLLM iterates what it gets
            self, *args: Any, **kwargs: Any
        ) -> AsyncIterator[GenericStreamingChunk]:
            # A batch decodes together and a schema may force many tokens at once: the reply comes
            # whole.
            yield _as_chunk(await self.acompletion(*args, **kwargs))

    return ServedModels


def _as_openai(error: ModelError | SettingsError, model: str) -> Exception:
    """LiteLLM's error with the HTTP status for one of ours."""
    from litellm import exceptions

    known: dict[str, Any] = {"message": str(error), "model": model, "llm_provider": PROVIDER}
    if isinstance(error, PromptTooLongError):
        # In the words by which OpenAI's clients tell this error from other refusals.
        known["message"] = f"This model's maximum context length is exceeded: {error}"
        return exceptions.ContextWindowExceededError(**known)
    if isinstance(error, RefusedError):
        return exceptions.BadRequestError(**known)
    return exceptions.InternalServerError(**known)


def _as_chunk(response: ModelResponse) -> GenericStreamingChunk:
    choice: Any = response.choices[0]
    usage: Any = getattr(response, "usage", None)
    return {
        "text": choice.message.content or "",
        "is_finished": True,
        "finish_reason": choice.finish_reason,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        },
        "index": 0,
        "tool_use": None,
    }
