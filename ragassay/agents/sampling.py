"""Call a judge, and get a distribution over labels from log-probabilities, decisions or samples."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

import dspy

from ragassay.agents.replies import read_reply
from ragassay.errors import (
    CutReplyError,
    FatalModelError,
    ModelError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.metrics.stats.uncertainty import round_entropy
from ragassay.models.decisions import decide
from ragassay.records import Usage

TEMPERATURE = 1.0
"""Temperature for sampling. All models support 1, and lower values would overstate confidence."""

LOGPROBS = "log-probabilities"
DECISIONS = "decisions"

T = TypeVar("T")


@dataclass
class ModelCall(Generic[T]):
    """A model call.

    Attributes:
        read: Function that parses a reply, and that may accept truncated replies.
        labels: Possible labels of each output field that needs a distribution.
    """

    lm: Any
    messages: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    async def draw(self, more: Mapping[str, Any] = MappingProxyType({})) -> T:
        """Make the call with additional options, and return the parsed reply.

        Raises:
            CutReplyError: The reply was truncated twice, the second time with twice the tokens.
            ModelError: The call failed, or the reply cannot be parsed.
        """
        options = {**self.options, **more}
        limit = options.get("max_tokens") or self.lm.kwargs.get("max_tokens")
        # For reasoning models, the gateway increases the limit further.
        retries = [{**options, "max_tokens": limit * 2}] if limit else []
        text = ""
        for attempt in (options, *retries):
            reply = (await self.lm.acall(messages=self.messages, **attempt))[0]
            try:
                return self.read(reply)
            except UnparsableReplyError:
                text = reply["text"]
                if not reply.get("is_cut"):
                    raise
        detail = f"it ends with {text[-60:]!r}" if text.strip() else "reasoning used all tokens"
        advice = "increase --max-reply-tokens" if limit else "pass --model-option max_tokens=N"
        raise CutReplyError(
            f"the reply of {self.lm.model} was cut off at the token limit: {detail}; {advice}"
        )


@dataclass(frozen=True)
class Samples:
    """Several replies to one prompt, used instead of log-probabilities.

    Attributes:
        replies: One or more valid replies.
    """

    replies: tuple[dspy.Prediction, ...]
    n_failed: int = 0

    def compute_shares(self, field: str, labels: Sequence[str]) -> dict[str, float]:
        """Return the share of replies with each label, in the order of `labels`."""
        counts = Counter(str(reply[field]) for reply in self.replies)
        return {label: counts[label] / len(self.replies) for label in labels}

    @property
    def name(self) -> str:
        """Return a label such as "5 samples" or "4 of 5 samples"."""
        n = len(self.replies)
        return f"{n} of {n + self.n_failed} samples" if self.n_failed else f"{n} samples"


@dataclass(frozen=True)
class Decision:
    """Probabilities from a model that decides instead of generating, by field and label."""

    probabilities: Mapping[str, Mapping[str, float]]

    def compute_shares(self, field: str, labels: Sequence[str]) -> dict[str, float]:
        """Return the probability of each label, in the order of `labels`."""
        return {label: self.probabilities[field].get(label, 0.0) for label in labels}


@asynccontextmanager
async def await_first_reply(call: ModelCall[dspy.Prediction]) -> AsyncIterator[bool]:
    """Yield whether to make a single call inside the context before drawing any samples.

    The first reply shows whether a judge returns log-probabilities. Until then, other calls wait,
    because their replies would be wasted if samples are needed. If the judge returns no
    log-probabilities, only samples are drawn.
    """
    lm = call.lm
    if not call.labels or lm.n_samples == 1 or lm.has_decisions:
        yield True
        return
    # A batch of one call would take as long as a full batch.
    if lm.gives_logprobs is None and not lm.is_batched:
        async with lm.first_reply:
            if lm.gives_logprobs is None:
                yield True
                return
    yield lm.gives_logprobs is not False


def note_logprobs(call: ModelCall[dspy.Prediction], found: dspy.Prediction) -> dspy.Prediction:
    """Record whether a reply has log-probabilities, and return the reply."""
    if call.labels:
        call.lm.gives_logprobs = call.lm.gives_logprobs or _has_logprobs(found)
    return found


async def add_distribution(
    call: ModelCall[dspy.Prediction], found: dspy.Prediction | None
) -> tuple[dspy.Prediction, Usage]:
    """Add a distribution over labels to a reply, with more calls if necessary.

    The distribution comes from the model's decisions if available, otherwise from
    log-probabilities, and otherwise from samples if the settings enable them.

    Args:
        found: First reply, or None if only samples are drawn.

    Returns:
        Reply whose `logprobs` may be a `Decision` or `Samples`, and a usage with the source of the
        distribution. With samples, the reply is the first one with the most frequent value.

    Raises:
        ModelError: There is no valid reply.
    """
    lm, labels = call.lm, call.labels
    if found is not None:
        if not labels:
            return found, Usage()
        prompt = "\n\n".join(str(message["content"]) for message in call.messages)
        decisions = await decide(lm, prompt, labels) if lm.has_decisions else None
        if decisions is not None:
            reply = _set_distribution(found, Decision(decisions))
            return reply, _build_source(DECISIONS, found, labels)
        has_logprobs = _has_logprobs(found)
        if has_logprobs or lm.n_samples == 1:
            return found, _build_source(LOGPROBS if has_logprobs else "", found, labels)
    samples = await draw_samples(call, lm.n_samples)
    reply = _set_distribution(choose_typical_reply(samples.replies, list(labels)), samples)
    usage = Usage(n_failed_samples=samples.n_failed)
    return reply, usage + _build_source(samples.name, reply, labels)


async def draw_samples(call: ModelCall[dspy.Prediction], n: int) -> Samples:
    """Draw one sample, and then the remaining samples concurrently.

    Providers can cache the prompt of the first sample for the others. Samples that fail with
    temporary errors are retried once.

    Raises:
        FatalModelError: No call can succeed, for example because the API key is wrong.
        ModelError: All samples failed, the first of them with this error.
    """
    results = await _draw_all(call, [0])
    results += await _draw_all(call, range(1, n))
    retries = [i for i, result in enumerate(results) if isinstance(result, TransientModelError)]
    for i, result in zip(retries, await _draw_all(call, retries), strict=True):
        results[i] = result
    replies = [result for result in results if not isinstance(result, ModelError)]
    if not replies:
        raise next(result for result in results if isinstance(result, ModelError))
    return Samples(tuple(replies), n - len(replies))


async def _draw_all(
    call: ModelCall[dspy.Prediction], indices: Sequence[int]
) -> list[dspy.Prediction | ModelError]:
    async def draw(index: int) -> dspy.Prediction | ModelError:
        try:
            return await call.draw(build_sample_options(call.lm.kwargs, index))
        except FatalModelError:
            raise
        except ModelError as error:
            return error

    return list(await asyncio.gather(*map(draw, indices)))


def build_sample_options(options: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the options of a sample. Each sample has a different seed.

    Example:
        >>> build_sample_options({"temperature": 0, "seed": 1}, 2)
        {'logprobs': None, 'top_logprobs': None, 'temperature': 1.0, 'seed': 3}
    """
    sample: dict[str, Any] = {"logprobs": None, "top_logprobs": None, "temperature": TEMPERATURE}
    if options.get("seed") is not None:
        sample["seed"] = options["seed"] + place
    return sample


def list_label_choices(signature: Any) -> dict[str, tuple[str, ...]]:
    """Return the labels of each `Literal` output field of a signature."""
    return {
        name: tuple(map(str, get_args(field.annotation)))
        for name, field in signature.output_fields.items()
        if get_origin(field.annotation) is Literal
    }


def choose_typical_reply(
    replies: Sequence[dspy.Prediction], fields: Sequence[str]
) -> dspy.Prediction:
    """Return the first reply that has the most frequent value in as many fields as possible."""
    tops = {name: Counter(reply[name] for reply in replies).most_common(1)[0][0] for name in fields}
    return max(replies, key=lambda reply: sum(reply[name] == top for name, top in tops.items()))


def _has_logprobs(reply: dspy.Prediction) -> bool:
    return bool(getattr(reply.logprobs, "content", None))


def _set_distribution(reply: dspy.Prediction, distribution: Decision | Samples) -> dspy.Prediction:
    return dspy.Prediction(**{**dict(reply.items()), "logprobs": distribution})


def _build_source(name: str, reply: dspy.Prediction, choices: Iterable[str]) -> Usage:
    """Return a usage that names the source of the distribution, or the label if there is none."""
    kind = "rating" if isinstance(reply[next(iter(choices))], int) else "label"
    return Usage(confidence_from=(name or f"the written {kind} alone",))


@dataclass(frozen=True)
class SampledChoice:
    """The label in a reply, and the probabilities of all labels."""

    label: str
    weights: Mapping[str, float] | None

    @classmethod
    def from_reply(
        cls, found: dspy.Prediction, field: str, labels: Iterable[object]
    ) -> SampledChoice:
        """Return the label in a field, and the distribution over labels."""
        names = list(map(str, labels))
        weights = read_choice_distribution(found.get("logprobs"), field, names)
        return cls(str(found[field]), weights)

    @property
    def sureness(self) -> dict[str, Any]:
        """`confidence` of the label and `entropy_bits` of the distribution, or None if unknown."""
        weights = self.weights
        return {
            "confidence": round(weights[self.label], 4) if weights else None,
            "entropy_bits": round_entropy(weights.values() if weights else None),
        }

    @property
    def mean(self) -> float:
        """Expected value of numeric labels, or the written label if there is no distribution."""
        if not self.weights:
            return float(self.label)
        return sum(float(label) * share for label, share in self.weights.items())


_LEAD = ' \t\r\n":'
_END = re.compile(r'[\s",}\]]')


def read_choice_distribution(
    logprobs: Any, field: str, labels: Sequence[str]
) -> dict[str, float] | None:
    """Return the probability of each label, read at a field's value in a JSON reply.

    The tokens of the value are found by position. The probability of an alternative token is
    assigned to the label that starts with the token. If several labels start with the token that
    the model wrote, the next token decides. If several labels start with another token, the
    probability of this token is dropped. The distribution is renormalized over the alternatives.

    Args:
        logprobs: `choices[0].logprobs` of the reply, a `Decision`, `Samples` or None.

    Returns:
        Probabilities by label that sum to 1, in the order of `labels`, or None if unknown.
    """
    if isinstance(logprobs, Decision | Samples):
        return logprobs.compute_shares(field, labels)
    tokens = list(getattr(logprobs, "content", None) or ())
    weights = dict.fromkeys(labels, 0.0)
    written, reach, was_open = "", 1.0, False
    for token, piece in _find_value_tokens(tokens, field):
        options = [(o.token, _convert_logprob(o.logprob)) for o in token.top_logprobs or ()]
        was_open = was_open or bool(options)
        if all(text != token.token for text, _ in options):
            # Tokens forced by a grammar have no alternatives.
            options.append((token.token, _convert_logprob(token.logprob)))
        for text, probability in options:
            matches = _find_matching_labels(written, piece if text == token.token else text, labels)
            if len(matches) == 1:
                weights[matches[0]] += reach * probability
        part = _clean(written, piece)
        if len(_find_matching_labels(written, piece, labels)) < 2 and part:
            break
        written += part
        reach *= dict(options)[token.token]
    total = sum(weights.values())
    if not was_open or not total > 0:
        return None
    return {label: weight / total for label, weight in weights.items()}


def _find_value_tokens(tokens: Sequence[Any], field: str) -> Iterator[tuple[Any, str]]:
    """Yield the tokens of a field's value, each with its part of the value."""
    try:
        value = read_reply("".join(token.token for token in tokens), (field,))[field]
    except ValueError:
        return
    start = 0
    for token in tokens:
        end = start + len(token.token)
        if end > value.start and start < value.end:
            yield token, token.token[max(0, value.start - start) : value.end - start]
        start = end


def _find_matching_labels(written: str, text: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that start with the part already written, followed by this text."""
    clean = _clean(written, text)
    prefix = written + clean
    if not clean:
        return list(labels) if not written else []
    return [prefix] if prefix in labels else [label for label in labels if label.startswith(prefix)]


def _clean(written: str, text: str) -> str:
    return _END.split(text if written else text.lstrip(_LEAD), maxsplit=1)[0]


def _convert_logprob(logprob: float) -> float:
    return math.exp(min(0.0, logprob)) if math.isfinite(logprob) else 0.0
