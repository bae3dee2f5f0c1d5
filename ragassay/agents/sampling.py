"""Ask a judge for a reply and a distribution over its labels, however the judge can give one.

Log-probabilities come with the reply. A model with LiteLLM's decisions is asked for them in a
second call. For others the distribution is estimated from several replies.

G-Eval (Liu et al. 2023, section 2, arXiv 2303.16634) draws 20 replies at temperature 1 from such a
judge and takes the share of each rating for its probability. So does this, with as many replies as
the setting `samples` says; a judge with log-probabilities is asked once, at temperature 0.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import dspy

from ragassay.errors import FatalModelError, ModelError, TransientModelError
from ragassay.models.decisions import decide
from ragassay.records import Usage

TEMPERATURE = 1.0
"""Temperature of a sample, which models take that take no other one. Some providers' default is
lower, and would make a judge look surer than it is."""

LOGPROBS = "log-probabilities"
DECISIONS = "decisions"

Draw = Callable[[Mapping[str, Any]], Awaitable[dspy.Prediction]]
"""Makes one call with some options more, and returns its fields and `logprobs`."""


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


async def ask_judge(
    draw: Draw, lm: Any, signature: Any, messages: Sequence[Mapping[str, Any]]
) -> tuple[dspy.Prediction, Usage]:
    """Ask once, and again where one reply has no distribution and more calls can give one.

    A distribution is that of the model's decisions where it has them, else that of the reply's
    log-probabilities, else that of samples where the setting `samples` asks for some.

    Args:
        draw: Makes one call.
        lm: The judge; what its first reply shows of log-probabilities is kept there.
        signature: The signature of the call.
        messages: The prompt of the call.

    Returns:
        The reply to read, its `logprobs` perhaps a `Decision` or `Samples`, and where its
        distribution comes from. Of samples it is the first one with the most frequent value.

    Raises:
        ModelError: There was no usable reply.
    """
    choices = choices_of(signature)
    if not choices or not hasattr(lm, "n_samples"):
        return await draw({}), Usage()
    found = await _draw_once(draw, lm)
    if found is not None:
        has_logprobs = bool(getattr(found.logprobs, "content", None))
        decided = await decide(lm, _prompt_text(messages), choices) if lm.has_decisions else None
        if decided is not None:
            return _with(found, Decision(decided)), _source(DECISIONS, found, choices)
        if has_logprobs or lm.n_samples == 1:
            return found, _source(LOGPROBS if has_logprobs else "", found, choices)
    samples = await draw_samples(draw, lm, lm.n_samples)
    found = _with(most_frequent(samples.replies, list(choices)), samples)
    usage = Usage(n_failed_samples=samples.n_failed)
    return found, usage + _source(samples.name, found, choices)


async def _draw_once(draw: Draw, lm: Any) -> dspy.Prediction | None:
    """Ask once as without samples; return None for a judge that only samples are asked of.

    Whether a judge gives log-probabilities its first reply shows. Where samples depend on that, the
    other questions wait for it: each would pay for a reply that is then not used.
    """
    if lm.n_samples > 1 and not lm.has_decisions:
        if lm.gives_logprobs is None and lm.is_batched:
            return await _noted(draw, lm)  # A batch of one question takes as long as any.
        if lm.gives_logprobs is None:
            async with lm.first_reply:
                if lm.gives_logprobs is None:
                    return await _noted(draw, lm)
        if not lm.gives_logprobs:
            return None
    return await _noted(draw, lm)


async def _noted(draw: Draw, lm: Any) -> dspy.Prediction:
    found = await draw({})
    lm.gives_logprobs = lm.gives_logprobs or bool(getattr(found.logprobs, "content", None))
    return found


async def draw_samples(draw: Draw, lm: Any, n: int) -> Samples:
    """Draw samples: the first alone, then the others together.

    So a provider can serve the prompt of the others from its cache. A sample that fails for a
    temporary reason is drawn once more.

    Raises:
        FatalModelError: No call can succeed.
        ModelError: All of them failed; it is the first one's error.
    """
    first = await _draw_all(draw, lm, [0])
    results = first + await _draw_all(draw, lm, range(1, n))
    again = [i for i, one in enumerate(results) if isinstance(one, TransientModelError)]
    for i, result in zip(again, await _draw_all(draw, lm, again), strict=True):
        results[i] = result
    replies = [one for one in results if not isinstance(one, ModelError)]
    if not replies:
        raise next(one for one in results if isinstance(one, ModelError))
    return Samples(tuple(replies), n - len(replies))


async def _draw_all(
    draw: Draw, lm: Any, places: Sequence[int]
) -> list[dspy.Prediction | ModelError]:
    """Draw samples together; an error stands in the place of its sample."""

    async def one(place: int) -> dspy.Prediction | ModelError:
        try:
            return await draw(sample_options(lm.kwargs, place))
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


def _with(found: dspy.Prediction, distribution: Decision | Samples) -> dspy.Prediction:
    return dspy.Prediction(**{**dict(found.items()), "logprobs": distribution})


def _prompt_text(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n\n".join(str(message["content"]) for message in messages)


def _source(name: str, found: dspy.Prediction, choices: Iterable[str]) -> Usage:
    """Say where the distribution over a reply's labels comes from; by default there is none."""
    kind = "rating" if isinstance(found[next(iter(choices))], int) else "label"
    return Usage(confidence_from=(name or f"the written {kind} alone",))
