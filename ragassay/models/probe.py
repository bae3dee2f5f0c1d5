"""Ask a hosted model for one token before a run: is it there, and what does it refuse?

Where a provider's address is known, these are the only calls that LiteLLM does not make: importing
it takes longer than all the rest of saying that a key is wrong. What may pass by itself (a rate
limit, a time-out, a server's error) stops nothing: the run retries it.
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
from ragassay.model_names import is_local, provider_of
from ragassay.models.call_parameters import (
    REASONING,
    apply_learnt,
    base_parameters,
    learn,
    learnt_of,
    lessons_of,
    options_of,
    refused_parameter,
)
from ragassay.models.provider_errors import (
    PROVIDERS,
    Provider,
    address_of,
    meaning_of,
    needs_key,
    no_key,
    quota_words,
    refusal,
    trim_error,
    unreachable,
)
from ragassay.models.received import MOST_ERROR_BYTES, refuse_elsewhere

if TYPE_CHECKING:
    from ragassay.settings import Settings

QUICK_S = 0.2
"""Time in which most refusals come, such as that of a wrong key."""

_LACKED = re.compile(
    r"No module named '[\w.]{1,80}'|pip install [^\s.]{1,80}|Please install the [\w-]{1,80}"
)
"""What LiteLLM says where a provider's own library is missing.

For example: "No module named 'google'", "Please install it with: pip install cryptography".
"""

TIMEOUT_S = 5.0
"""Longest wait for a probe: whoever is slower is asked by the run."""

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
    """Ask each hosted model for one token, all at the same time.

    Args:
        judges: Settings of one judge each; those in this process are not asked.

    Raises:
        ExtraError: LiteLLM needs a library for one that is not installed.
        FatalModelError: One cannot be asked: no key or a wrong one, an unknown model, an endpoint
            that is not there.
    """
    hosted = {
        (one.judge.model, one.judge.api_base): one
        for one in judges
        if not is_local(one.judge.model)
    }
    if not hosted:
        return
    for one in hosted.values():
        _require_key(one.judge.model, one.judge.api_base)
    importlib.import_module("httpx")  # Its import is no part of a model's time.
    with ThreadPoolExecutor(len(hosted)) as workers:
        asked = [workers.submit(_check, one) for one in hosted.values()]
        is_thinking = bool(wait(asked, QUICK_S, FIRST_EXCEPTION).not_done)
        loading = Thread(target=_load_meanwhile, daemon=True)  # A refusal does not wait for it.
        if is_thinking:
            loading.start()
        for one in asked:
            one.result()
        if is_thinking:
            loading.join()


def _load_meanwhile() -> None:
    """Import what every call of the run needs."""
    from ragassay.models.litellm_library import import_litellm

    import_litellm()


def _check(settings: Settings) -> None:
    judge = settings.judge
    known = PROVIDERS.get(provider_of(judge.model))
    if known is None or not known.speaks_openai or _has_key_in_code(judge.model):
        _check_by_litellm(settings)
        return
    base = address_of(known, judge.api_base)
    if not base:
        raise FatalModelError(f"{judge.model}: it has no endpoint: name it with --api-base URL")
    options, own_names = base_parameters(settings)
    wanted = options | {"response_format": PROBE_FORMAT} | own_names | {"max_tokens": 1}
    while True:  # Each refusal teaches one parameter to leave out.
        learnt = learnt_of(judge.model, judge.api_base)
        options = apply_learnt(wanted, [name for name in learnt if name != REASONING])
        status, words = _answer_by_http(judge.model, base, known, options)
        meaning = meaning_of(status, words) if status >= 400 else None
        refused = "" if meaning else refused_parameter(status, words, options)
        if not refused or set(options_of(refused)) & set(own_names):
            break
        learn(judge.model, judge.api_base, *lessons_of(refused, words))
    if meaning == "quota":
        raise FatalModelError(quota_words(judge.model, trim_error(words)))
    if meaning == "no_model" or (status in (401, 403, 404) and not refused):
        told = refusal(404 if meaning else status, words, judge.model, base)
        raise FatalModelError(f"{judge.model}: {told}")


def _answer_by_http(
    model: str, base: str, known: Provider, options: Mapping[str, Any]
) -> tuple[int, str]:
    """Return the status of a probe, and an error's words; 0 where nobody answered in time."""
    import httpx

    key = next((os.environ[name] for name in known.keys if os.environ.get(name)), "")
    body = {"model": model.partition("/")[2], "messages": PROBE, **options}
    body |= body.pop("extra_body", None) or {}
    headers = {"Accept-Encoding": "identity", **body.pop("extra_headers", {})}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        with httpx.stream(
            "POST", f"{base}/chat/completions", json=body, headers=headers, timeout=TIMEOUT_S
        ) as found:
            refuse_elsewhere(found)
            status = found.status_code
            # An error's words stand at its start; of anything else, nothing is read.
            error_body = next(found.iter_raw(), b"") if status >= 400 else b""
    except FatalModelError as error:
        raise FatalModelError(f"{model}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if why := unreachable(error, base):
            raise FatalModelError(f"{model}: {why}") from error
        return 0, ""
    return status, error_body[:MOST_ERROR_BYTES].decode("utf-8", "replace")


def _check_by_litellm(settings: Settings) -> None:
    """Ask a provider of another protocol."""
    from ragassay.models.gateway import JudgeLM
    from ragassay.models.litellm_library import import_litellm

    judge, litellm = settings.judge, import_litellm()
    try:
        litellm.get_llm_provider(judge.model, api_base=judge.api_base)
    except litellm.exceptions.BadRequestError as error:
        raise FatalModelError(
            f"{judge.model}: no provider has this name: write PROVIDER/NAME, as in "
            "openai/gpt-4.1-mini or hosted_vllm/NAME"
        ) from error
    lm = JudgeLM(settings)
    try:
        form = PROBE_FORMAT if lm.takes_schema else None
        asked = lm.acall(messages=PROBE, max_tokens=1, response_format=form, timeout=TIMEOUT_S)
        asyncio.run(asked)
    except FatalModelError:
        raise
    except ModelError as error:
        if lacked := _LACKED.search(str(error)):
            raise ExtraError(
                f"{judge.model}: LiteLLM needs another library to ask it: {lacked[0]}"
            ) from error
        if why := unreachable(error, judge.api_base or ""):
            raise FatalModelError(f"{judge.model}: {why}") from error


def _require_key(model: str, api_base: str | None) -> None:
    known = PROVIDERS.get(provider_of(model))
    has_key = known is None or any(map(os.environ.get, known.keys)) or _has_key_in_code(model)
    if known and not has_key and needs_key(model, api_base):
        raise FatalModelError(f"{model}: {no_key(known.keys)}")


def _has_key_in_code(model: str) -> bool:
    """Return whether the application has given LiteLLM a key itself."""
    litellm = sys.modules.get("litellm")
    names = ("api_key", f"{provider_of(model)}_key")
    return any(getattr(litellm, name, None) for name in names)
