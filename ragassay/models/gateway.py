"""Gateway for all model calls: a DSPy language model that calls LiteLLM.

The gateway limits concurrency, waits as long as providers request, adds up costs, and converts
errors to ragassay's types. Failed calls are retried by the graph, not by the gateway.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dspy

from ragassay.errors import (
    BudgetError,
    FatalModelError,
    ModelError,
    SettingsError,
)
from ragassay.model_names import INSTRUMENTS, find_provider, is_local, is_ragassay_model
from ragassay.models.batch_queue import BatchQueue, open_batch_queue
from ragassay.models.call_parameters import (
    REASONING,
    apply_learned,
    build_call_parameters,
    find_refused_parameter,
    learn,
    list_call_options,
    list_learned_parameters,
    parse_refusal,
    strip_constraints,
)
from ragassay.models.call_reply import convert_reply, identify_system, read_usage
from ragassay.models.limiter import RunLimiter, get_current_limiter
from ragassay.models.litellm_library import compute_batch_price_usd, disable_logging, import_litellm
from ragassay.models.local.provider import register_provider
from ragassay.models.prompt_caching import PromptCaching
from ragassay.models.provider_errors import (
    PROVIDERS,
    convert_error,
    format_missing_key,
    is_about_the_question,
    lacks_key,
    needs_key,
    read_retry_after,
    trim_error,
)
from ragassay.models.received import Arrival, open_bounded_client, record_arrival
from ragassay.records import Usage
from ragassay.tracing import call_span

if TYPE_CHECKING:
    from ragassay.settings import Settings

NEEDS_JUDGE = (
    "a judge is required; pass --model openai/gpt-4.1-mini, ragassay/judge or another model"
)

MOST_COOLDOWN_S = 120.0
"""Longest Retry-After to wait for, in seconds. Longer waits count as rate limit errors."""

BOUNDED = frozenset(PROVIDERS) - {"cohere"}
"""Providers for which LiteLLM accepts an HTTP client, so that response sizes can be limited."""


@dataclass
class Meter:
    """Total usage of the calls made while the meter is active."""

    usage: Usage = field(default_factory=Usage)


_METER: contextvars.ContextVar[Meter | None] = contextvars.ContextVar(
    "ragassay_meter", default=None
)


@contextmanager
def meter_calls() -> Iterator[Meter]:
    """Count the model calls of the enclosed code and its tasks.

    Calls are also counted by outer meters.
    """
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)
        if outer := _METER.get():
            outer.usage = outer.usage + meter.usage


class JudgeLM(dspy.LM):
    """Language model used as a judge. Raises `SettingsError` if the settings name no judge."""

    def __init__(self, settings: Settings) -> None:
        if settings.judge.model == INSTRUMENTS:
            raise SettingsError(NEEDS_JUDGE)
        litellm = import_litellm()
        if is_local(settings.judge.model):
            register_provider(settings.literature.cache_dir, settings.prompting.local_dtype)
        supported = frozenset(litellm.get_supported_openai_params(settings.judge.model) or ())
        self.takes_schema = "response_format" in supported
        self.calls_tools = "tools" in supported and not is_ragassay_model(settings.judge.model)
        options, self._user_options = build_call_parameters(settings, supported, litellm)
        super().__init__(
            settings.judge.model,
            engine="litellm",
            cache=False,
            num_retries=0,
            timeout=settings.judge.timeout_s,
            **options,
        )
        self._api_base = settings.judge.api_base
        self.is_batched = settings.limits.batch and not is_local(settings.judge.model)
        self._n_slots = settings.n_slots
        self._slots: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}
        self._first_replies: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}
        self._endpoint = settings.judge.api_base or find_provider(settings.judge.model)
        self._own_limiter = RunLimiter.from_settings(settings)
        self.fatal: FatalModelError | None = None
        """Error after which no call can succeed. Later calls raise the same error immediately."""
        self.n_samples = settings.prompting.samples
        self.gives_logprobs: bool | None = None if options.get("logprobs") else False
        """Whether replies have log-probabilities, or None before a hosted model has replied."""
        if is_local(settings.judge.model):
            self.gives_logprobs = True
        self.has_decisions = takes_decisions(settings, litellm, bool(options.get("logprobs")))
        self._acompletion = litellm.acompletion
        self._caching = PromptCaching(settings)
        self._lacks_key = _lacks_openai_key(settings.judge.model, settings.judge.api_base)

    async def acall(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Make one completion.

        Args:
            prompt: User message, if there are no messages.
            messages: Messages in OpenAI's chat format.
            kwargs: Options that override the options in the settings. The value None removes an
                option.

        Returns:
            A list with one reply, in the format of `convert_reply`.

        Raises:
            ModelError: The call failed. The subclasses are listed in `ragassay.errors`.
        """
        messages = messages or [{"role": "user", "content": prompt}]
        requested, response = self.kwargs | kwargs | self._user_options, None
        if requested.get("response_format") and not is_ragassay_model(self.model):
            requested["response_format"] = strip_constraints(requested["response_format"])
        # In batch mode, a separate first call would take as long as all the others together.
        first = (
            nullcontext() if self.is_batched else self._caching.wait_for_prefix(messages, requested)
        )
        async with first, self.admit() as paid:
            if self._lacks_key:  # LiteLLM's own client would send the request without a key.
                self.fatal = FatalModelError(f"{self.model}: {_describe_missing_key(self.model)}")
            while response is None:
                if self.fatal is not None:
                    raise self.fatal
                options = apply_learned(requested, self._learnt)
                with record_arrival() as arrival:
                    try:
                        async with self._open_call(messages, options) as (sent, note):
                            response = await self._acompletion(**sent)
                            note(response)
                    except Exception as error:  # Providers raise their own types, converted here.
                        await self._learn_or_raise(error, requested, options, arrival)
            paid.usage = read_usage(response, is_local(self.model))
            paid.usage += Usage(answered_by=(identify_system(self.model, response),))
            if self._queue:
                price = compute_batch_price_usd(self.model, getattr(response, "usage", None))
                paid.usage = paid.usage.model_copy(update={"cost_usd": price})
        reply = convert_reply(response, self.model)
        # A single token, as in a probe, does not show whether the model reasons.
        if reply["reasons"] and not self.reasons and requested.get("max_tokens") != 1:
            learn(self.model, self._api_base, REASONING)
        return [reply]

    @property
    def first_reply(self) -> asyncio.Lock:
        """Lock held by the first call, which shows whether replies have log-probabilities."""
        return self._first_replies.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    @asynccontextmanager
    async def admit(self) -> AsyncIterator[Meter]:
        """Wait until the limits allow a call, and yield a meter for its usage."""
        async with self._slot, self._admit_call() as paid:
            yield paid
        meter = _METER.get()
        if meter is not None:
            meter.usage = meter.usage + paid.usage

    @property
    def reasons(self) -> bool:
        """Return whether the model is known to reason before replying."""
        return REASONING in self._learnt or self.kwargs.get("max_tokens") is None

    async def _learn_or_raise(
        self,
        error: Exception,
        requested: Mapping[str, Any],
        sent: Mapping[str, Any],
        arrival: Arrival,
    ) -> None:
        """Return normally if the call can be repeated without a refused parameter.

        Otherwise, pause calls for as long as the endpoint requests, and raise the converted error.
        """
        self._learn_from(error, sent)
        if self.fatal is None and apply_learned(requested, self._learnt) != sent:
            return
        wait_s = read_retry_after(error)
        if wait_s is not None and wait_s <= MOST_COOLDOWN_S:
            await get_current_limiter(self._own_limiter).hold(self._endpoint, wait_s)
        # Errors of hosted models may quote the key, so they are not chained.
        cause = error if is_local(self.model) else None
        raise self.fatal or self._convert_error(error, arrival) from cause

    @property
    def _learnt(self) -> Any:
        return list_learned_parameters(self.model, self._api_base)

    def _learn_from(self, error: Exception, options: Mapping[str, Any]) -> None:
        if is_local(self.model) or is_about_the_question(error):
            return
        status, message = int(getattr(error, "status_code", 0) or 0), str(error)
        refused = find_refused_parameter(status, message, options)
        if not refused:
            return
        by_user = sorted(set(self._user_options) & set(list_call_options(refused)))
        if by_user:
            self.fatal = FatalModelError(
                f"{self.model} refuses {by_user[0]}, set by --model-option: {trim_error(error)}"
            )
            return
        learn(self.model, self._api_base, *parse_refusal(refused, message))

    @asynccontextmanager
    async def _open_call(
        self, messages: Any, options: Mapping[str, Any]
    ) -> AsyncIterator[tuple[dict[str, Any], Callable[[Any], None]]]:
        """Open a trace span and a timeout for a call.

        Yields the call's arguments and a function that records the response.
        """
        provider, queue, options = find_provider(self.model), self._queue, dict(options)
        if queue:
            options["client"] = queue.client
        elif provider in BOUNDED:
            options["client"] = open_bounded_client(provider)
        is_waiting = is_local(self.model) or queue
        with call_span(self.model, messages, options) as note:
            # LiteLLM limits only the time between chunks, so a slow server could send forever.
            async with asyncio.timeout(None if is_waiting else options.get("timeout")):
                sent = options | self._caching.prepare(messages, options)
                with disable_logging():
                    yield {"model": self.model, "drop_params": True, **sent}, note

    @property
    def _queue(self) -> BatchQueue | None:
        return open_batch_queue(self.model, self._api_base) if self.is_batched else None

    @property
    def _slot(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if loop not in self._slots:
            self._slots = {loop: asyncio.Semaphore(self._n_slots)}
        return self._slots[loop]

    @asynccontextmanager
    async def _admit_call(self) -> AsyncIterator[Meter]:
        limiter, paid = get_current_limiter(self._own_limiter), Meter()
        try:
            await limiter.admit(self._endpoint)
        except FatalModelError as error:
            self.fatal = error
            raise
        try:
            yield paid
        finally:
            await limiter.settle(paid.usage.cost_usd, paid.usage.n_tokens)

    def _convert_error(self, error: Exception, arrival: Arrival) -> ModelError:
        cause = error.__cause__ or error.__context__
        ours = next((e for e in (error, cause, arrival.error) if isinstance(e, ModelError)), None)
        if ours and not isinstance(ours, FatalModelError):
            return ours
        if isinstance(ours, BudgetError):  # A batch is too expensive. The message names no judge.
            self.fatal = ours
            return ours
        if ours:
            typed = FatalModelError(str(ours).removeprefix(f"{self.model}: "))
        elif isinstance(cause, SettingsError):  # The local model cannot be loaded.
            typed = FatalModelError(str(cause))
        elif is_local(self.model):
            # LiteLLM reports all errors of a custom provider as connection errors.
            return ModelError(trim_error(cause or error))
        else:
            base = self._api_base or ""
            typed = (
                FatalModelError(_describe_missing_key(self.model))
                if lacks_key(error)
                else convert_error(error, self.model, base, arrival.start)
            )
        if isinstance(typed, FatalModelError):
            # The name is needed if there are several judges.
            typed = self.fatal = FatalModelError(f"{self.model}: {typed}")
        return typed


def _lacks_openai_key(model: str, api_base: str | None) -> bool:
    if find_provider(model) != "openai" or not needs_key(model, api_base):
        return False
    litellm = import_litellm()
    has_key = litellm.api_key or litellm.openai_key
    return not (has_key or litellm.validate_environment(model)["keys_in_environment"])


def _describe_missing_key(model: str) -> str:
    missing = import_litellm().validate_environment(model).get("missing_keys") or ()
    return format_missing_key(sorted(name for name in missing if name.endswith("_KEY")))


DECISIONS = "/v1/decisions"
"""Entry in LiteLLM's model list for models with a decisions API."""


def takes_decisions(settings: Settings, litellm: Any, has_logprobs: bool) -> bool:
    """Return whether to query label probabilities through the decisions API.

    LiteLLM lists the hosted models that support this API. For self-hosted models, set `decisions`
    to on.
    """
    if settings.prompting.decisions != "auto" or has_logprobs:
        return settings.prompting.decisions == "on"
    name = settings.judge.model.partition("/")[2]
    listed = litellm.model_cost.get(settings.judge.model) or litellm.model_cost.get(name) or {}
    return DECISIONS in (listed.get("supported_endpoints") or ())
