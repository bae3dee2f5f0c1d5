"""The only access to any model: a DSPy language model whose every call is a LiteLLM call.

It limits concurrent calls, waits as long as a provider asks, sums the calls' cost, and turns errors
into ragassay's own. It does not retry: the graph does.
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
from ragassay.model_names import INSTRUMENTS, is_local, is_ours, provider_of
from ragassay.models.batch_queue import BatchQueue, batch_queue
from ragassay.models.call_parameters import (
    REASONING,
    apply_learnt,
    learn,
    learnt_of,
    lessons_of,
    options_of,
    parameters_of,
    portable_format,
    refused_parameter,
)
from ragassay.models.call_reply import answered_by, read_usage, reply_of
from ragassay.models.limiter import RunLimiter, limiter_or
from ragassay.models.litellm_library import batch_price_usd, disable_logging, import_litellm
from ragassay.models.local.provider import register_provider
from ragassay.models.prompt_caching import PromptCaching
from ragassay.models.provider_errors import (
    PROVIDERS,
    is_about_the_question,
    lacks_key,
    needs_key,
    no_key,
    retry_after_s,
    trim_error,
    typed_error,
)
from ragassay.models.received import Arrival, arriving, bounded_client
from ragassay.records import Usage
from ragassay.tracing import call_span

if TYPE_CHECKING:
    from ragassay.settings import Settings

NEEDS_JUDGE = "this needs a judge: --model openai/gpt-4.1-mini, ragassay/judge or another"

MOST_COOLDOWN_S = 120.0
"""Longest Retry-After that is waited for; beyond it the call counts as rate-limited."""

BOUNDED = frozenset(PROVIDERS) - {"cohere"}
"""Providers to which LiteLLM takes the client that it is given; other clients are of other kinds.

Only their replies are read within bounds.
"""


@dataclass
class Meter:
    """The total usage of the calls made while the meter is active."""

    usage: Usage = field(default_factory=Usage)


_METER: contextvars.ContextVar[Meter | None] = contextvars.ContextVar(
    "ragassay_meter", default=None
)


@contextmanager
def meter_calls() -> Iterator[Meter]:
    """Count the model calls of the enclosed code, including those of tasks that it starts.

    An enclosing meter counts them too, also where the code fails.
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
    """A judging model.

    Raises:
        SettingsError: No judge is named.
    """

    def __init__(self, settings: Settings) -> None:
        if settings.judge.model == INSTRUMENTS:
            raise SettingsError(NEEDS_JUDGE)
        litellm = import_litellm()
        if is_local(settings.judge.model):
            register_provider(settings.literature.cache_dir, settings.prompting.local_dtype)
        supported = frozenset(litellm.get_supported_openai_params(settings.judge.model) or ())
        self.takes_schema = "response_format" in supported
        self.calls_tools = "tools" in supported and not is_ours(settings.judge.model)
        options, self._given = parameters_of(settings, supported, litellm)
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
        self._endpoint = settings.judge.api_base or provider_of(settings.judge.model)
        self._own_limiter = RunLimiter.of(settings)
        self.fatal: FatalModelError | None = None
        """The error that dooms all further calls; each of them fails with it at once."""
        self.n_samples = settings.prompting.samples
        self.gives_logprobs: bool | None = None if options.get("logprobs") else False
        """Whether its replies have log-probabilities; None before the first one of a hosted one."""
        if is_local(settings.judge.model):
            self.gives_logprobs = True
        self.has_decisions = takes_decisions(settings, litellm, bool(options.get("logprobs")))
        self._acompletion = litellm.acompletion
        self._caching = PromptCaching(settings)
        is_openai = provider_of(settings.judge.model) == "openai"
        self._lacks_key = (
            is_openai
            and needs_key(settings.judge.model, settings.judge.api_base)
            and not (litellm.api_key or litellm.openai_key or _has_key(settings.judge.model))
        )

    async def acall(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Make one completion.

        Args:
            prompt: A user's message, if there are no messages.
            messages: Messages in OpenAI's chat form.
            kwargs: Options over those of the settings; None removes one.

        Returns:
            One reply, as DSPy's adapters expect it: `text`, `logprobs`, `tool_calls`.

        Raises:
            ModelError: One of its children; see `ragassay.errors`.
        """
        messages = messages or [{"role": "user", "content": prompt}]
        wanted, response = self.kwargs | kwargs | self._given, None
        if wanted.get("response_format") and not is_ours(self.model):
            wanted["response_format"] = portable_format(wanted["response_format"])
        # Alone in its batch, the first call would take as long as all others.
        first = nullcontext() if self.is_batched else self._caching.first_alone(messages, wanted)
        async with first, self.admit() as paid:
            if self._lacks_key:  # LiteLLM's own client would ask without one.
                self.fatal = FatalModelError(f"{self.model}: {_wanted_key(self.model)}")
            while response is None:
                if self.fatal is not None:
                    raise self.fatal
                options = apply_learnt(wanted, self._learnt)
                with arriving() as arrival:
                    try:
                        async with self._sending(messages, options) as (sent, note):
                            response = await self._acompletion(**sent)
                            note(response)
                    except Exception as error:  # each provider has its own errors; all are typed
                        await self._learn_or_raise(error, wanted, options, arrival)
            paid.usage = read_usage(response, is_local(self.model))
            paid.usage += Usage(answered_by=(answered_by(self.model, response),))
            if self._queue:
                price = batch_price_usd(self.model, getattr(response, "usage", None))
                paid.usage = paid.usage.model_copy(update={"cost_usd": price})
        reply = reply_of(response, self.model)
        # One token, as a probe asks for, shows no reasoning.
        if reply["reasons"] and not self.reasons and wanted.get("max_tokens") != 1:
            learn(self.model, self._api_base, REASONING)
        return [reply]

    @property
    def first_reply(self) -> asyncio.Lock:
        """Held by the call that finds out whether replies have log-probabilities; one a loop."""
        return self._first_replies.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    @asynccontextmanager
    async def admit(self) -> AsyncIterator[Meter]:
        """Wait for a call's place and turn; yield where its usage is noted, which then counts."""
        async with self._slot, self._admit_call() as paid:
            yield paid
        meter = _METER.get()
        if meter is not None:
            meter.usage = meter.usage + paid.usage

    @property
    def reasons(self) -> bool:
        """Return whether the model is known to reason before it replies."""
        return REASONING in self._learnt or self.kwargs.get("max_tokens") is None

    async def _learn_or_raise(
        self, error: Exception, wanted: Mapping[str, Any], sent: Mapping[str, Any], arrival: Arrival
    ) -> None:
        """Return where the call can be made again without a parameter that the endpoint refuses.

        Else pause all calls to the endpoint for as long as it asks, and raise its error as ours.
        """
        self._learn_from(error, sent)
        if self.fatal is None and apply_learnt(wanted, self._learnt) != sent:
            return
        wait_s = retry_after_s(error)
        if wait_s is not None and wait_s <= MOST_COOLDOWN_S:
            await limiter_or(self._own_limiter).hold(self._endpoint, wait_s)
        # What a hosted one says may quote the key: it is not chained to a traceback.
        shown = error if is_local(self.model) else None
        raise self.fatal or self._convert_error(error, arrival) from shown

    @property
    def _learnt(self) -> Any:
        """What the endpoint's earlier replies have shown."""
        return learnt_of(self.model, self._api_base)

    def _learn_from(self, error: Exception, options: Mapping[str, Any]) -> None:
        """Remember the parameter that an endpoint's error refuses by its name, if any."""
        if is_local(self.model) or is_about_the_question(error):
            return
        status, message = int(getattr(error, "status_code", 0) or 0), str(error)
        refused = refused_parameter(status, message, options)
        if not refused:
            return
        given = sorted(set(self._given) & set(options_of(refused)))
        if given:
            self.fatal = FatalModelError(
                f"{self.model} refuses {given[0]}, which --model-option gives: {trim_error(error)}"
            )
            return
        learn(self.model, self._api_base, *lessons_of(refused, message))

    @asynccontextmanager
    async def _sending(
        self, messages: Any, options: Mapping[str, Any]
    ) -> AsyncIterator[tuple[dict[str, Any], Callable[[Any], None]]]:
        """Trace and bound the enclosed call; yield its arguments, and what takes its response."""
        provider, queue, options = provider_of(self.model), self._queue, dict(options)
        if queue:
            options["client"] = queue.client
        elif provider in BOUNDED:
            options["client"] = bounded_client(provider)
        is_waiting = is_local(self.model) or queue
        with call_span(self.model, messages, options) as note:
            # LiteLLM bounds each wait for more; a server may send a byte at a time, for ever.
            async with asyncio.timeout(None if is_waiting else options.get("timeout")):
                sent = options | self._caching.prepare(messages, options)
                with disable_logging():
                    yield {"model": self.model, "drop_params": True, **sent}, note

    @property
    def _queue(self) -> BatchQueue | None:
        """The queue of batches that the calls wait in; None where each is sent by itself."""
        return batch_queue(self.model, self._api_base) if self.is_batched else None

    @property
    def _slot(self) -> asyncio.Semaphore:
        """The places of calls under way; a new event loop, of a second run, has its own."""
        loop = asyncio.get_running_loop()
        if loop not in self._slots:
            self._slots = {loop: asyncio.Semaphore(self._n_slots)}
        return self._slots[loop]

    @asynccontextmanager
    async def _admit_call(self) -> AsyncIterator[Meter]:
        """Wait for the call's turn; yield where its usage is noted, which then counts."""
        limiter, paid = limiter_or(self._own_limiter), Meter()
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
        """Return ragassay's error for an error of LiteLLM or of the local engine."""
        cause = error.__cause__ or error.__context__
        ours = next((e for e in (error, cause, arrival.error) if isinstance(e, ModelError)), None)
        if ours and not isinstance(ours, FatalModelError):
            return ours
        if isinstance(ours, BudgetError):  # a batch that would cost too much; it names no judge
            self.fatal = ours
            return ours
        if ours:
            typed = FatalModelError(str(ours).removeprefix(f"{self.model}: "))
        elif isinstance(cause, SettingsError):  # a local model can never be loaded
            typed = FatalModelError(str(cause))
        elif is_local(self.model):
            # LiteLLM reports any error in our own provider as a lost connection.
            return ModelError(trim_error(cause or error))
        else:
            base = self._api_base or ""
            typed = (
                FatalModelError(_wanted_key(self.model))
                if lacks_key(error)
                else typed_error(error, self.model, base, arrival.start)
            )
        if isinstance(typed, FatalModelError):
            # With several judges, the user must know which one.
            typed = self.fatal = FatalModelError(f"{self.model}: {typed}")
        return typed


def _has_key(model: str) -> bool:
    return bool(import_litellm().validate_environment(model)["keys_in_environment"])


def _wanted_key(model: str) -> str:
    """Return the environment variable that a user has to set."""
    missing = import_litellm().validate_environment(model).get("missing_keys") or ()
    return no_key(sorted(name for name in missing if name.endswith("_KEY")))


DECISIONS = "/v1/decisions"
"""What LiteLLM's list of models names where a model has the interface."""


def takes_decisions(settings: Settings, litellm: Any, has_logprobs: bool) -> bool:
    """Return whether a judge is asked for decisions.

    LiteLLM lists the hosted models that have the interface; for a self-served one the setting
    `decisions` says so.
    """
    if settings.prompting.decisions != "auto" or has_logprobs:
        return settings.prompting.decisions == "on"
    name = settings.judge.model.partition("/")[2]
    listed = litellm.model_cost.get(settings.judge.model) or litellm.model_cost.get(name) or {}
    return DECISIONS in (listed.get("supported_endpoints") or ())
