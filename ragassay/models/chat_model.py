"""LangChain chat model backed by the judge, for agents that call tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import SkipValidation

from ragassay.errors import ModelError
from ragassay.models.gateway import JudgeLM
from ragassay.text.faults import replace_surrogates


class ToolCaller(BaseChatModel):
    """Chat model that sends every turn through the gateway, which limits and records all calls."""

    lm: SkipValidation[JudgeLM]

    @property
    def _llm_type(self) -> str:
        return "ragassay"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools that it may call."""
        described = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=described, tool_choice=tool_choice, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        options: dict[str, Any] = {
            **kwargs,
            "stop": stop,
            "logprobs": None,
            "top_logprobs": None,
            # Stops LiteLLM from looking for MCP tools with a package that is not installed.
            "_skip_mcp_handler": True,
        }
        reply = (await self.lm.acall(messages=convert_to_openai_messages(messages), **options))[0]
        calls, invalid = _parse_tool_calls(reply["tool_calls"])
        message = AIMessage(content=reply["text"], tool_calls=calls, invalid_tool_calls=invalid)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise ModelError("the gateway is asynchronous; use ainvoke")


def _parse_tool_calls(raw_calls: Sequence[Any]) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in raw_calls:
        raw = replace_surrogates(call.model_dump())
        try:
            parsed = parse_tool_call(raw, return_id=True)
        except OutputParserException as error:
            invalid.append(make_invalid_tool_call(raw, str(error)))
        else:
            if parsed:
                calls.append(ToolCall(**replace_surrogates(parsed)))
    return calls, invalid
