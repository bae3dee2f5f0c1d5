"""Ask a judge for a reply and a distribution over its labels, however the judge can give one."""

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
from ragassay.metrics.stats.uncertainty import rounded_bits
from ragassay.models.decisions import decide
from ragassay.records import Usage

TEMPERATURE = 1.0
"""Temperature of a sample, which models take that take no other one. Some providers' default is
lower, and would make a judge look surer than it is."""

LOGPROBS = "log-probabilities"
DECISIONS = "decisions"

T = TypeVar("T")


@dataclass
class ModelCall(Generic[T]):
    """A call of a model.

    Attributes:
        messages: The prompt.
        read: Reads a reply; one that was cut may still be whole enough.
        labels: The labels of each output field whose distribution is wanted.
    """

    lm: Any
    messages: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    async def draw(self, more: Mapping[str, Any] = MappingProxyType({})) -> T:
        """Make the call, with further options; return the parsed reply.

        Raises:
            CutReplyError: The reply was cut, and again with twice the tokens.
            ModelError: The call failed, or its reply cannot be read.
        """
        options = {**self.options, **more}
        bound = options.get("max_tokens") or self.lm.kwargs.get("max_tokens")
        # Of a model that is now known to reason, the gateway multiplies it further.
        longer = [{**options, "max_tokens": bound * 2}] if bound else []
        text = ""
        for tried in (options, *longer):
            reply = (await self.lm.acall(messages=self.messages, **tried))[0]
            try:
                return self.read(reply)
            except UnparsableReplyError:
                text = reply["text"]
                if not reply.get("is_cut"):
                    raise
        what = (
            "its reasoning took all its tokens" if not text.strip() else f"it ends {text[-60:]!r}"
        )
        told = "raise --max-reply-tokens" if bound else "give --model-option max_tokens=N"
        raise CutReplyError(f"the reply of {self.lm.model} was cut: {what}; {told}")


@dataclass(frozen=True)
class Samples:
    """Several replies to one question, which stand where log-probabilities would.

    Attributes:
        replies: The usable replies, at least one.
        n_failed: Samples without one.
    """

    replies: tuple[dspy.Prediction, ...]
    n_failed: int = 0

    def shares(self, field: str, labels: Sequence[str]) -> dict[str, float]:
        """Return the share of the replies that gave each label, in the order of `labels`."""
        counts = Counter(str(reply[field]) for reply in self.replies)
        return {label: counts[label] / len(self.replies) for label in labels}

    @property
    def name(self) -> str:
        """Return their number in words, such as "5 samples" or "4 of 5 samples"."""
        n = len(self.replies)
        return f"{n} of {n + self.n_failed} samples" if self.n_failed else f"{n} samples"


@dataclass(frozen=True)
class Decision:
    """Probabilities that a model gave by its decisions, which stand where log-probabilities would.

    Attributes:
        probabilities: By field and label.
    """

    probabilities: Mapping[str, Mapping[str, float]]

    def shares(self, field: str, labels: Sequence[str]) -> dict[str, float]:
        """Return the probability of each label, in the order of `labels`."""
        return {label: self.probabilities[field].get(label, 0.0) for label in labels}


@asynccontextmanager
async def first_reply(call: ModelCall[dspy.Prediction]) -> AsyncIterator[bool]:
    """Yield whether one reply is drawn as without samples, which is to be done inside.

    Whether a judge gives log-probabilities its first reply shows. Where samples depend on that, the
    other questions wait for it: each would pay for a reply that is then not used. Of a judge that
    gives none only samples are drawn.
    """
    lm = call.lm
    if not call.labels or lm.n_samples == 1 or lm.has_decisions:
        yield True
        return
    # A batch of one question takes as long as any.
    if lm.gives_logprobs is None and not lm.is_batched:
        async with lm.first_reply:
            if lm.gives_logprobs is None:
                yield True
                return
    yield lm.gives_logprobs is not False


def note_logprobs(call: ModelCall[dspy.Prediction], found: dspy.Prediction) -> dspy.Prediction:
    """Remember whether a judge gives log-probabilities, by a reply; return the reply."""
    if call.labels:
        call.lm.gives_logprobs = call.lm.gives_logprobs or _has_logprobs(found)
    return found


async def add_distribution(
    call: ModelCall[dspy.Prediction], found: dspy.Prediction | None
) -> tuple[dspy.Prediction, Usage]:
    """Give a reply a distribution over its labels, by more calls where one reply has none.

    That of the model's decisions where it has them, else of the reply's log-probabilities, else of
    samples where the setting `samples` asks for some.

    Args:
        found: Its first reply; None where only samples are drawn.

    Returns:
        The reply to read, its `logprobs` perhaps a `Decision` or `Samples`, and where its
        distribution comes from. Of samples it is the first one with the most frequent value.

    Raises:
        ModelError: There was no usable reply.
    """
    lm, labels = call.lm, call.labels
    if found is not None:
        if not labels:
            return found, Usage()
        prompt = "\n\n".join(str(message["content"]) for message in call.messages)
        decided = await decide(lm, prompt, labels) if lm.has_decisions else None
        if decided is not None:
            return _with(found, Decision(decided)), _source(DECISIONS, found, labels)
        has_logprobs = _has_logprobs(found)
        if has_logprobs or lm.n_samples == 1:
            return found, _source(LOGPROBS if has_logprobs else "", found, labels)
    samples = await draw_samples(call, lm.n_samples)
    found = _with(most_frequent(samples.replies, list(labels)), samples)
    usage = Usage(n_failed_samples=samples.n_failed)
    return found, usage + _source(samples.name, found, labels)


async def draw_samples(call: ModelCall[dspy.Prediction], n: int) -> Samples:
    """Draw samples: the first alone, then the others together.

    So a provider can serve the prompt of the others from its cache. A sample that fails for a
    temporary reason is drawn once more.

    Raises:
        FatalModelError: No call can succeed.
        ModelError: All of them failed; it is the first one's error.
    """
    first = await _draw_all(call, [0])
    results = first + await _draw_all(call, range(1, n))
    again = [i for i, one in enumerate(results) if isinstance(one, TransientModelError)]
    for i, result in zip(again, await _draw_all(call, again), strict=True):
        results[i] = result
    replies = [one for one in results if not isinstance(one, ModelError)]
    if not replies:
        raise next(one for one in results if isinstance(one, ModelError))
    return Samples(tuple(replies), n - len(replies))


async def _draw_all(
    call: ModelCall[dspy.Prediction], places: Sequence[int]
) -> list[dspy.Prediction | ModelError]:
    """Draw samples together; an error stands in the place of its sample."""

    async def one(place: int) -> dspy.Prediction | ModelError:
        try:
            return await call.draw(sample_options(call.lm.kwargs, place))
        except FatalModelError:
            raise
        except ModelError as error:
            return error

    return list(await asyncio.gather(*map(one, places)))


def sample_options(options: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the options in which a sample differs from a call of the judge.

    Each sample has a seed of its own: with the same seed all would be one reply.

    Example:
        >>> sample_options({"temperature": 0, "seed": 1}, 2)
        {'logprobs': None, 'top_logprobs': None, 'temperature': 1.0, 'seed': 3}
    """
    found: dict[str, Any] = {"logprobs": None, "top_logprobs": None, "temperature": TEMPERATURE}
    if options.get("seed") is not None:
        found["seed"] = options["seed"] + place
    return found


def choices_of(signature: Any) -> dict[str, tuple[str, ...]]:
    """Return the labels of each output field of a signature that is one of given labels."""
    return {
        name: tuple(map(str, get_args(field.annotation)))
        for name, field in signature.output_fields.items()
        if get_origin(field.annotation) is Literal
    }


def most_frequent(replies: Sequence[dspy.Prediction], fields: Sequence[str]) -> dspy.Prediction:
    """Return the first reply that gives the most frequent value; of several fields, in most."""
    tops = {name: Counter(one[name] for one in replies).most_common(1)[0][0] for name in fields}
    return max(replies, key=lambda one: sum(one[name] == top for name, top in tops.items()))


def _has_logprobs(found: dspy.Prediction) -> bool:
    return bool(getattr(found.logprobs, "content", None))


def _with(found: dspy.Prediction, distribution: Decision | Samples) -> dspy.Prediction:
    return dspy.Prediction(**{**dict(found.items()), "logprobs": distribution})


def _source(name: str, found: dspy.Prediction, choices: Iterable[str]) -> Usage:
    """Say where the distribution over a reply's labels comes from; by default there is none."""
    kind = "rating" if isinstance(found[next(iter(choices))], int) else "label"
    return Usage(confidence_from=(name or f"the written {kind} alone",))


@dataclass(frozen=True)
class SampledChoice:
    """A label of a reply, with the probabilities of all labels.

    Attributes:
        label: What was written.
        weights: As `choice_distribution` returns them.
    """

    label: str
    weights: Mapping[str, float] | None

    @classmethod
    def of(cls, found: dspy.Prediction, field: str, labels: Iterable[object]) -> SampledChoice:
        """Read the label in a field, one of `labels`."""
        names = list(map(str, labels))
        weights = choice_distribution(found.get("logprobs"), field, names)
        return cls(str(found[field]), weights)

    @property
    def sureness(self) -> dict[str, Any]:
        """The label's `confidence` and the distribution's `entropy_bits`; None where unknown."""
        weights = self.weights
        return {
            "confidence": round(weights[self.label], 4) if weights else None,
            "entropy_bits": rounded_bits(weights.values() if weights else None),
        }

    @property
    def mean(self) -> float:
        """The expectation over the labels, which are numbers; the written one where unknown."""
        if not self.weights:
            return float(self.label)
        return sum(float(label) * share for label, share in self.weights.items())


_LEAD = ' \t\r\n":'
_END = re.compile(r'[\s",}\]]')


def choice_distribution(
    logprobs: Any, field: str, labels: Sequence[str]
) -> dict[str, float] | None:
    """Return the probability of each label where the reply's JSON has `field`.

    The tokens of the field's value are found by position. A token, with the part of the value
    before it, counts for the only label that it starts. If it starts several, the next token
    decides where it is the one that was written; otherwise it counts for none. The probability
    outside the alternatives is not distributed: the distribution is renormalised over them.

    Args:
        logprobs: `choices[0].logprobs` of the reply; None where the model returns none;
            a `Decision` or `Samples` may stand in their place.
        field: The field's name.
        labels: All possible values of the field.

    Returns:
        Probabilities by label, in the order of `labels`, summing to 1; None where they cannot be
        determined.
    """
    if isinstance(logprobs, Decision | Samples):
        return logprobs.shares(field, labels)
    tokens = list(getattr(logprobs, "content", None) or ())
    weights = dict.fromkeys(labels, 0.0)
    written, reach, was_open = "", 1.0, False
    for token, piece in _value_tokens(tokens, field):
        options = [(o.token, _probability(o.logprob)) for o in token.top_logprobs or ()]
        was_open = was_open or bool(options)
        if all(text != token.token for text, _ in options):
            # A token that the grammar forces has no alternatives.
            options.append((token.token, _probability(token.logprob)))
        for text, probability in options:
            meant = _matching_labels(written, piece if text == token.token else text, labels)
            if len(meant) == 1:
                weights[meant[0]] += reach * probability
        chosen = _clean(written, piece)
        if len(_matching_labels(written, piece, labels)) < 2 and chosen:
            break
        written += chosen
        reach *= dict(options)[token.token]
    total = sum(weights.values())
    if not was_open or not total > 0:
        return None
    return {label: weight / total for label, weight in weights.items()}


def _value_tokens(tokens: Sequence[Any], field: str) -> Iterator[tuple[Any, str]]:
    """Return the tokens of a field's value, each with its part of the value."""
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


def _matching_labels(written: str, text: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that the written part and this text may become."""
    clean = _clean(written, text)
    begun = written + clean
    if not clean:
        return list(labels) if not written else []
    return [begun] if begun in labels else [label for label in labels if label.startswith(begun)]


def _clean(written: str, text: str) -> str:
    """Return a token's part of a value, without quotes, outer space and what follows."""
    return _END.split(text if written else text.lstrip(_LEAD), maxsplit=1)[0]


def _probability(logprob: float) -> float:
    return math.exp(min(0.0, logprob)) if math.isfinite(logprob) else 0.0
