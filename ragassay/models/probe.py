"""Before a run, check that each hosted judge is available by sending a one-token request.

Providers with a known address are called without LiteLLM, because importing it takes longer than
the whole check. Transient problems (rate limits, timeouts, server errors) do not stop the run,
because the run retries failed calls.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Thread
from typing import TYPE_CHECKING, Any

from ragassay.errors import ExtraError, FatalModelError, ModelError
from ragassay.model_names import find_provider, is_local
from ragassay.models.call_parameters import (
    REASONING,
    apply_learned,
    build_base_parameters,
    find_refused_parameter,
    learn,
    list_call_options,
    list_learned_parameters,
    parse_refusal,
)
from ragassay.models.provider_errors import (
    PROVIDERS,
    Provider,
    detect_meaning,
    explain_client_error,
    explain_unreachable,
    find_address,
    format_missing_key,
    format_quota_message,
    needs_key,
    trim_error,
)
from ragassay.models.received import MOST_ERROR_BYTES, refuse_elsewhere

if TYPE_CHECKING:
    from ragassay.settings import Settings

QUICK_S = 0.2
"""Time in seconds within which most providers refuse a request, for example with a wrong key."""

_LACKED = re.compile(
    r"No module named '[\w.]{1,80}'|pip install [^\s.]{1,80}|Please install the [\w-]{1,80}"
)
"""LiteLLM messages about a missing library, for example: "No module named 'google'" or "Please
install it with: pip install cryptography"."""

TIMEOUT_S = 5.0
"""Timeout of a test request in seconds.

Models that reply more slowly are not checked before the run.
"""

PROBE = [{"role": "user", "content": 'Reply with JSON: {"reply": "OK"}'}]
PROBE_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "Probe",
        "schema": {
            "type": "object",
            "properties": {"reply": {"type": "string", "enum": ["OK"]}},
            "required": ["reply"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}


def check_judges(judges: Sequence[Settings]) -> None:
    """Send a one-token test request to each hosted model, concurrently.

    Args:
        judges: Settings of each judge to check. Judges that run in this process are skipped.

    Raises:
        ExtraError: LiteLLM needs a library that is not installed.
        FatalModelError: A judge cannot be used, because the key is missing or wrong, the model is
            unknown, or the endpoint is unreachable.
    """
    hosted = {
        (settings.judge.model, settings.judge.api_base): settings
        for settings in judges
        if not is_local(settings.judge.model)
    }
    if not hosted:
        return
    for model, api_base in hosted:
        _require_key(model, api_base)
    importlib.import_module("httpx")  # The import must not count toward the timeout.
    with ThreadPoolExecutor(len(hosted)) as workers:
        checks = [workers.submit(_check, settings) for settings in hosted.values()]
        is_pending = bool(wait(checks, QUICK_S, FIRST_EXCEPTION).not_done)
        loading = Thread(target=_preload_litellm, daemon=True)  # A refusal need not wait for it.
        if is_pending:
            loading.start()
        for check in checks:
            check.result()
        if is_pending:
            loading.join()


def _preload_litellm() -> None:
    from ragassay.models.litellm_library import import_litellm

    import_litellm()


def _check(settings: Settings) -> None:
    judge = settings.judge
    provider = PROVIDERS.get(find_provider(judge.model))
    if provider is None or not provider.speaks_openai or _has_key_in_code(judge.model):
        _check_by_litellm(settings)
        return
    base = find_address(provider, judge.api_base)
    if not base:
        raise FatalModelError(f"{judge.model} has no endpoint; pass it with --api-base URL")
    options, own_names = build_base_parameters(settings)
    requested = options | {"response_format": PROBE_FORMAT} | own_names | {"max_tokens": 1}
    while True:  # Each iteration leaves out one more refused parameter.
        learnt = list_learned_parameters(judge.model, judge.api_base)
        options = apply_learned(requested, [name for name in learnt if name != REASONING])
        status, message = _post_probe(judge.model, base, provider, options)
        meaning = detect_meaning(status, message) if status >= 400 else None
        refused = "" if meaning else find_refused_parameter(status, message, options)
        if not refused or set(list_call_options(refused)) & set(own_names):
            break
        learn(judge.model, judge.api_base, *parse_refusal(refused, message))
    if meaning == "quota":
        raise FatalModelError(format_quota_message(judge.model, trim_error(message)))
    if meaning == "no_model" or (status in (401, 403, 404) and not refused):
        reason = explain_client_error(404 if meaning else status, message, judge.model, base)
        raise FatalModelError(f"{judge.model}: {reason}")


def _post_probe(
    model: str, base: str, provider: Provider, options: Mapping[str, Any]
) -> tuple[int, str]:
    """Send the test request over HTTP.

    Returns status code and error message, or (0, "") after a timeout.
    """
    import httpx

    key = next((os.environ[name] for name in provider.keys if os.environ.get(name)), "")
    body = {"model": model.partition("/")[2], "messages": PROBE, **options}
    body |= body.pop("extra_body", None) or {}
    headers = {"Accept-Encoding": "identity", **body.pop("extra_headers", {})}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        with httpx.stream(
            "POST", f"{base}/chat/completions", json=body, headers=headers, timeout=TIMEOUT_S
        ) as response:
            refuse_elsewhere(response)
            status = response.status_code
            # The start of an error contains the message. Other responses are not read.
            error_body = next(response.iter_raw(), b"") if status >= 400 else b""
    except FatalModelError as error:
        raise FatalModelError(f"{model}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if reason := explain_unreachable(error, base):
            raise FatalModelError(f"{model}: {reason}") from error
        return 0, ""
    return status, error_body[:MOST_ERROR_BYTES].decode("utf-8", "replace")


def _check_by_litellm(settings: Settings) -> None:
    """Check a model through LiteLLM, because its provider's API is not compatible with OpenAI's."""
    from ragassay.models.gateway import JudgeLM
    from ragassay.models.litellm_library import import_litellm

    judge, litellm = settings.judge, import_litellm()
    try:
        litellm.get_llm_provider(judge.model, api_base=judge.api_base)
    except litellm.exceptions.BadRequestError as error:
        raise FatalModelError(
            f"{judge.model}: unknown provider; write PROVIDER/NAME, for example "
            "openai/gpt-4.1-mini or hosted_vllm/NAME"
        ) from error
    lm = JudgeLM(settings)
    response_format = PROBE_FORMAT if lm.takes_schema else None
    try:
        asyncio.run(
            lm.acall(
                messages=PROBE, max_tokens=1, response_format=response_format, timeout=TIMEOUT_S
            )
        )
    except FatalModelError:
        raise
    except ModelError as error:
        if missing := _LACKED.search(str(error)):
            raise ExtraError(
                f"{judge.model}: LiteLLM needs a missing library for this provider: {missing[0]}"
            ) from error
        if reason := explain_unreachable(error, judge.api_base or ""):
            raise FatalModelError(f"{judge.model}: {reason}") from error


def _require_key(model: str, api_base: str | None) -> None:
    provider = PROVIDERS.get(find_provider(model))
    has_key = provider is None or any(map(os.environ.get, provider.keys)) or _has_key_in_code(model)
    if provider and not has_key and needs_key(model, api_base):
        raise FatalModelError(f"{model}: {format_missing_key(provider.keys)}")


def _has_key_in_code(model: str) -> bool:
    litellm = sys.modules.get("litellm")
    names = ("api_key", f"{find_provider(model)}_key")
    return any(getattr(litellm, name, None) for name in names)
