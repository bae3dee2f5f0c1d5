"""Outcomes of each provider's errors and refusals in LiteLLM, for `testing/test_manners.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Outcome: TypeAlias = tuple[str, int, str]
"""LiteLLM's exception, its `status_code`, and text of the provider that it includes."""

TOO_LONG, BLOCKED = "ContextWindowExceededError", "ContentPolicyViolationError"

ERRORS: Mapping[str, Mapping[str, Outcome]] = {
    "anthropic": {
        "rate_limit": ("RateLimitError", 429, "This request would exceed the rate"),
        "quota": ("BadRequestError", 400, "Your credit balance is too low to"),
        "spend_limit": ("BadRequestError", 400, "You have reached your specified API"),
        "server_error": ("InternalServerError", 500, "Internal server error"),
        "unavailable": ("InternalServerError", 500, "Overloaded"),
        "unauthorized": ("AuthenticationError", 401, "invalid x-api-key"),
        "unknown_model": ("NotFoundError", 404, "model: claude-sonnet-4-5"),
        "bad_request_too_long": (TOO_LONG, 400, "prompt is too long: 210000 tokens >"),
        "prompt_blocked": (BLOCKED, 400, "Output blocked by content filtering"),
    },
    "azure": {
        "rate_limit": ("RateLimitError", 429, "Your requests to judge-deployment"),
        "quota": ("RateLimitError", 429, "Requests to the"),
        "server_error": ("APIError", 500, "The server had an error while"),
        "unavailable": ("ServiceUnavailableError", 503, "The service is temporarily unable"),
        "unauthorized": ("AuthenticationError", 401, "Access denied due to invalid"),
        "unknown_model": ("NotFoundError", 404, "The API deployment for this"),
        "bad_request_too_long": (TOO_LONG, 400, "This model's maximum context length"),
        "prompt_blocked": (BLOCKED, 400, "The response was filtered due to"),
    },
    "bedrock": {
        "rate_limit": ("RateLimitError", 429, "Too many tokens, please wait before"),
        "quota": ("RateLimitError", 429, "Too many tokens per day, please"),
        "no_payment": ("PermissionDeniedError", 403, "Model access is denied due to"),
        "no_access": ("PermissionDeniedError", 403, "You don't have access to the model"),
        "server_error": ("ServiceUnavailableError", 503, "The system encountered an"),
        "unavailable": ("ServiceUnavailableError", 503, "Bedrock is unable to process your"),
        "unauthorized": ("AuthenticationError", 403, "The security token included in the"),
        "unknown_model": ("BadRequestError", 400, "The provided model identifier is"),
        "bad_request_too_long": (TOO_LONG, 400, "Input is too long for requested"),
    },
    "deepseek": {
        "rate_limit": ("RateLimitError", 429, "Rate limit reached: too many"),
        "quota": ("BadRequestError", 402, "Insufficient Balance"),
        "server_error": ("InternalServerError", 500, "Internal Server Error"),
        "unavailable": ("ServiceUnavailableError", 503, "Service is too busy. We advise"),
        "unauthorized": ("AuthenticationError", 401, "Authentication Fails, Your api key:"),
        "unknown_model": ("BadRequestError", 400, "Model Not Exist"),
        "bad_request_too_long": (TOO_LONG, 400, "This model's maximum context length"),
        "prompt_blocked": ("BadRequestError", 400, "Content Exists Risk"),
    },
    "gemini": {
        "rate_limit": ("RateLimitError", 429, "Please retry in 7s."),
        "quota": ("RateLimitError", 429, "Your prepayment credits are"),
        "daily_quota": ("RateLimitError", 429, "GenerateRequestsPerDay"),
        "server_error": ("InternalServerError", 500, "An internal error has occurred."),
        "unavailable": ("InternalServerError", 500, "The model is overloaded. Please try"),
        "unauthorized": ("AuthenticationError", 401, "API key not valid. Please pass a"),
        "unknown_model": ("NotFoundError", 404, "models/gemini-2.5-flash is not"),
        "bad_request_too_long": (TOO_LONG, 400, "The input token count (2845475)"),
    },
    "groq": {
        "rate_limit": ("RateLimitError", 429, "Rate limit reached for model"),
        "quota": ("BadRequestError", 400, "Organization has been restricted."),
        "request_too_large": ("RateLimitError", 429, "Request too large for model"),
        "server_error": ("InternalServerError", 500, "Internal Server Error"),
        "unavailable": ("ServiceUnavailableError", 503, "openai/gpt-oss-20b is currently"),
        "unauthorized": ("AuthenticationError", 401, "Invalid API Key"),
        "unknown_model": ("NotFoundError", 404, "The model `openai/gpt-oss-20b` does"),
        "bad_request_too_long": ("BadRequestError", 400, "Please reduce the length of the"),
    },
    "llama_cpp": {
        "server_error": ("InternalServerError", 500, "Compute error."),
        "unavailable": ("ServiceUnavailableError", 503, "Loading model"),
        "unauthorized": ("AuthenticationError", 401, "Invalid API Key"),
        "unknown_model": ("NotFoundError", 404, "model 'qwen3-8b' not found"),
        "bad_request_too_long": (TOO_LONG, 400, "request (20000 tokens) exceeds the"),
    },
    "lm_studio": {
        "server_error": ("InternalServerError", 500, "The model has crashed without"),
        "unavailable": ("BadRequestError", 400, "Model is unloaded."),
        "unknown_model": ("BadRequestError", 400, "No models loaded. Please load a"),
        "bad_request_too_long": ("BadRequestError", 400, "The number of tokens to keep from"),
    },
    "mistral": {
        "rate_limit": ("RateLimitError", 429, "Rate limit exceeded"),
        "quota": ("APIError", 402, "Payment required: your organization"),
        "capacity": ("RateLimitError", 429, "Service tier capacity exceeded for"),
        "server_error": ("InternalServerError", 500, "Internal server error"),
        "unavailable": ("ServiceUnavailableError", 503, "Service unavailable."),
        "unauthorized": ("AuthenticationError", 401, "Unauthorized"),
        "unknown_model": ("BadRequestError", 400, "Invalid model: mistral-small-latest"),
        "bad_request_too_long": ("BadRequestError", 400, "Prompt contains 170397 tokens and 0"),
    },
    "ollama": {
        "rate_limit": ("ServiceUnavailableError", 503, "maximum pending requests exceeded"),
        "quota": ("RateLimitError", 429, "you (test) have reached your"),
        "server_error": ("InternalServerError", 500, "llama runner process has"),
        "unavailable": ("ServiceUnavailableError", 503, "Server overloaded, please retry"),
        "unauthorized": ("AuthenticationError", 401, "unauthorized"),
        "unknown_model": ("NotFoundError", 404, "model 'qwen3:8b' not found"),
        "bad_request_too_long": ("BadRequestError", 400, "exceeds the available context size"),
    },
    "openai": {
        "rate_limit": ("RateLimitError", 429, "Rate limit reached for gpt-4.1-mini"),
        "quota": ("RateLimitError", 429, "You exceeded your current quota,"),
        "server_error": ("InternalServerError", 500, "The server had an error while"),
        "unavailable": ("ServiceUnavailableError", 503, "The engine is currently overloaded,"),
        "unauthorized": ("AuthenticationError", 401, "Incorrect API key provided:"),
        "unknown_model": ("NotFoundError", 404, "The model `gpt-4.1-mini` does not"),
        "bad_request_too_long": (TOO_LONG, 400, "This model's maximum context length"),
        "prompt_blocked": (BLOCKED, 400, "Invalid prompt: your prompt was"),
    },
    "openai_responses": {
        "rate_limit": ("RateLimitError", 429, "Rate limit reached for gpt-5-mini"),
        "quota": ("RateLimitError", 429, "You exceeded your current quota,"),
        "server_error": ("InternalServerError", 500, "The server had an error while"),
        "unavailable": ("ServiceUnavailableError", 503, "The engine is currently overloaded,"),
        "unauthorized": ("AuthenticationError", 401, "Incorrect API key provided:"),
        "unknown_model": ("NotFoundError", 404, "The model `gpt-5-mini` does not"),
        "bad_request_too_long": (TOO_LONG, 400, "This model's maximum context length"),
        "prompt_blocked": (BLOCKED, 400, "Invalid prompt: your prompt was"),
    },
    "openrouter": {
        "rate_limit": ("RateLimitError", 429, "Provider returned error"),
        "quota": ("APIError", 402, "Insufficient credits. Add more"),
        "few_credits": ("APIError", 402, "This request requires more credits,"),
        "server_error": ("APIError", 500, "Internal Server Error"),
        "unavailable": ("ServiceUnavailableError", 503, "No instances available"),
        "unauthorized": ("AuthenticationError", 401, "User not found."),
        "unknown_model": ("BadRequestError", 400, "qwen/qwen3-32b is not a valid model"),
        "bad_request_too_long": ("BadRequestError", 400, "This endpoint's maximum context"),
        "prompt_blocked": ("APIError", 403, "qwen/qwen3-32b requires moderation"),
    },
    "scripted": {
        "rate_limit": ("RateLimitError", 429, "Rate limit reached."),
        "quota": ("RateLimitError", 429, "You exceeded your current quota,"),
        "server_error": ("InternalServerError", 500, "The server had an error."),
        "unavailable": ("ServiceUnavailableError", 503, "The server is overloaded."),
        "unauthorized": ("AuthenticationError", 401, "Incorrect API key provided:"),
        "unknown_model": ("NotFoundError", 404, "The model `scripted` does not exist"),
        "bad_request_too_long": (TOO_LONG, 400, "This model's maximum context length"),
    },
    "together": {
        "rate_limit": ("RateLimitError", 429, "You have reached the rate limit"),
        "quota": ("APIError", 402, "Credit limit exceeded, please"),
        "server_error": ("InternalServerError", 500, "Internal server error"),
        "unavailable": ("ServiceUnavailableError", 503, "The server is overloaded or not"),
        "unauthorized": ("AuthenticationError", 401, "Invalid API key provided. You can"),
        "unknown_model": ("NotFoundError", 404, "Unable to access model"),
        "bad_request_too_long": (TOO_LONG, 422, "Input validation error: `inputs`"),
    },
    "vllm": {
        "server_error": ("InternalServerError", 500, "Internal server error"),
        "unavailable": ("ServiceUnavailableError", 503, "Service Unavailable"),
        "unauthorized": ("AuthenticationError", 401, "Unauthorized"),
        "unknown_model": ("NotFoundError", 404, "The model `Qwen/Qwen3-8B` does not"),
        "bad_request_too_long": (TOO_LONG, 400, "This model's maximum context length"),
    },
}
"""Outcome by provider and kind of fault."""

REFUSALS: Mapping[str, Mapping[str, Outcome]] = {
    "anthropic": {
        "temperature": ("BadRequestError", 400, "`temperature` is deprecated for"),
        "response_format": ("BadRequestError", 400, "output_format: Extra inputs are not"),
    },
    "azure": {
        "temperature": ("BadRequestError", 400, "Unsupported value: 'temperature'"),
        "max_tokens": ("BadRequestError", 400, "Unsupported parameter: 'max_tokens'"),
        "logprobs": ("APIError", 403, "You are not allowed to request"),
        "top_logprobs": ("APIError", 403, "You are not allowed to request"),
        "response_format": ("BadRequestError", 400, "Invalid parameter:"),
        "seed": ("BadRequestError", 400, "Unrecognized request argument supplied: seed"),
    },
    "bedrock": {
        "temperature": ("BadRequestError", 400, "The model returned the following"),
        "max_tokens": ("BadRequestError", 400, "The maximum tokens you requested"),
        "response_format": ("BadRequestError", 400, "This model doesn't support the"),
        "reasoning_effort": ("BadRequestError", 400, "The model returned the following"),
    },
    "deepseek": {
        "response_format": ("BadRequestError", 400, "This response_format type is"),
        "json_object": ("BadRequestError", 400, "deepseek-reasoner does not support"),
        "max_tokens": ("BadRequestError", 400, "Invalid max_tokens value, the valid"),
        "temperature": ("BadRequestError", 400, "does not support the parameter `temperature`"),
    },
    "gemini": {
        "response_format": ("BadRequestError", 400, "JSON mode is not enabled for"),
        "json_object": ("BadRequestError", 400, "JSON mode is not enabled for"),
        "reasoning_effort": ("BadRequestError", 400, "Thinking is not enabled for"),
    },
    "groq": {
        "logprobs": ("BadRequestError", 400, "`logprobs` is not supported with"),
        "response_format": ("BadRequestError", 400, "This model does not support"),
        "temperature": ("BadRequestError", 400, "`temperature` is not supported"),
    },
    "llama_cpp": {
        "response_format": ("InternalServerError", 500, "but got: json_schema"),
        "logprobs": ("BadRequestError", 400, "logprobs is not supported with"),
        "top_logprobs": ("BadRequestError", 400, "top_logprobs requires logprobs to"),
        "temperature": ("BadRequestError", 400, "Unsupported param: temperature"),
    },
    "lm_studio": {
        "json_object": ("BadRequestError", 400, "'response_format.type' must be"),
        "response_format": ("BadRequestError", 400, "'response_format.type' must be"),
    },
    "mistral": {
        "response_format": ("BadRequestError", 400, "Invalid response_format:"),
        "temperature": ("BadRequestError", 422, "Extra inputs are not permitted"),
    },
    "ollama": {
        "reasoning_effort": ("BadRequestError", 400, "does not support thinking"),
        "response_format": ("InternalServerError", 500, "failed to load model vocabulary"),
    },
    "openai": {
        "temperature": ("BadRequestError", 400, "Unsupported value: 'temperature'"),
        "max_tokens": ("BadRequestError", 400, "Unsupported parameter: 'max_tokens'"),
        "logprobs": ("BadRequestError", 403, "You are not allowed to request"),
        "top_logprobs": ("BadRequestError", 403, "You are not allowed to request"),
        "response_format": ("BadRequestError", 400, "Invalid parameter:"),
        "json_object": ("BadRequestError", 400, "Invalid parameter:"),
        "max_completion_tokens": ("BadRequestError", 400, "Unrecognized request argument"),
    },
    "openai_responses": {
        "temperature": ("BadRequestError", 400, "Unsupported parameter:"),
        "top_logprobs": ("BadRequestError", 400, "logprobs are not supported with"),
        "response_format": ("BadRequestError", 400, "Invalid parameter: 'text.format' of"),
        "reasoning_effort": ("BadRequestError", 400, "Unsupported parameter:"),
    },
    "openrouter": {
        "response_format": ("BadRequestError", 400, "Provider returned error"),
        "temperature": ("NotFoundError", 404, "No endpoints found that can handle"),
    },
    "scripted": {"temperature": ("BadRequestError", 400, "Unsupported parameter: 'temperature'")},
    "together": {
        "top_logprobs": ("BadRequestError", 400, "5 is greater than the maximum of 1"),
        "logprobs": ("BadRequestError", 400, "True is greater than the maximum of"),
        "temperature": ("BadRequestError", 400, "'temperature' is not supported"),
    },
    "vllm": {
        "top_logprobs": ("BadRequestError", 400, "Requested sample logprobs of 5,"),
        "logprobs": ("BadRequestError", 400, "Gaudi doesn't support logprobs."),
        "max_tokens": ("BadRequestError", 400, "max_tokens must be at least 1, got"),
        "temperature": ("BadRequestError", 400, "'loc': ('body', 'temperature')"),
    },
}
"""Outcome by provider and refused parameter."""
