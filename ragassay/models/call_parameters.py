"""The parameters of a hosted model's calls: which are sent, and which its endpoint refuses.

Servers differ in what they take, and a name behind an endpoint of one's own tells nothing. So a
parameter is left out once the endpoint has refused it by name, for the rest of the run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.model_names import is_local, parse_options, provider_of

if TYPE_CHECKING:
    from ragassay.settings import Settings

N_TOP_LOGPROBS = 5

REASONING = "reasoning"
"""Learnt of a model that writes its reasoning out of the tokens of its reply."""

REASONING_FACTOR = 16
"""A reasoning model's replies are given so many times the tokens of another's."""


@dataclass(frozen=True)
class Refusable:
    """A parameter that some endpoints refuse.

    Attributes:
        words: A pattern of its names in refusals.
        sent_as: The call's options that it consists of.
        without: What is done instead, for a person.
    """

    name: str
    words: str
    sent_as: tuple[str, ...]
    without: str
    example: str


_LOCAL_BOUNDS = frozenset(
    {"maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "pattern"}
)
"""Schema bounds that the local judge enforces and that hosted strict modes refuse."""

_FORMAT = (
    r"json[_ ]?schema|response[_ ]?(?:format|mime[_ ]?type|(?:json[_ ]?)?schema)"
    r"|json[_ ]?(?:object|mode|output)|structured[_ ]outputs?|guided[_ ](?:json|decoding)"
    r"|output[_ ](?:format|config)|grammar|required for format"
)
_TOKENS = r"max(?:imum)?[_ ](?:\w{1,20}[_ ])?tokens|maxoutputtokens"

REFUSABLE = (
    Refusable(
        "logprobs",
        r"log[_ -]?prob\w*|log probabilit\w+|response_?logprobs",
        ("logprobs", "top_logprobs"),
        "no log-probabilities: a rating is the written number",
        "You are not allowed to request logprobs from this model",
    ),
    Refusable(
        "json_schema",
        _FORMAT,
        ("response_format",),
        "no JSON schema: the prompt alone asks for the form of a reply",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
    ),
    Refusable(
        "json_object",
        _FORMAT,
        ("response_format",),
        "no JSON mode",
        "'response_format.type' must be 'json_schema' or 'text'",
    ),
    Refusable(
        "max_tokens",
        _TOKENS,
        ("max_tokens",),
        "max_completion_tokens in place of max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'.",
    ),
    Refusable(
        "max_completion_tokens",
        _TOKENS,
        ("max_completion_tokens",),
        "no bound on a reply's tokens",
        "Unrecognized request argument supplied: max_completion_tokens",
    ),
    Refusable(
        "temperature",
        r"temperature",
        ("temperature",),
        "no temperature: the endpoint's own",
        "'temperature' does not support 0 with this model. Only the default (1) is supported.",
    ),
    Refusable("seed", r"\bseed\b", ("seed",), "no seed", "body.seed: Extra inputs not permitted"),
)
"""In the order in which a refusal that names several is read."""

_REFUSES = (
    r"unsupported|(?:not|n't) (?:be )?(?:\w+ )?"
    r"(?:support|allow|permit|enabled|available|accept|compatible)\w*"
    r"|invalid|unknown|unrecogni[sz]ed|unexpected|extra|forbidden|deprecated|only the default"
    r"|may only|only supports?|cannot|can't|disabled|must be|may not|no longer|requires?"
    r"|denied|rejected|failed|exceeds|greater than|maximum allowed|max allowed"
)
_SPENT = re.compile(r"could not finish|(?:limit|max_tokens) was reached", re.IGNORECASE)
"""Some models answer a question for one token so: the parameter itself was taken."""

_UNNAMED = re.compile("the requested parameters", re.IGNORECASE)
"""OpenRouter's words where no endpoint takes all that was sent."""

_CLIENT_ERRORS = {*range(400, 500)} - {401, 402, 408, 429}


def refused_parameter(status: int, message: str, sent: Mapping[str, Any]) -> str:
    """Return what an endpoint's refusal names of what a call sent; empty for any other error.

    Args:
        status: HTTP status, 0 where there is none.
        sent: The call's options.

    Example:
        >>> refused_parameter(403, "You may not request logprobs", {"logprobs": True})
        'logprobs'
        >>> refused_parameter(400, "The prompt is too long", {"logprobs": True})
        ''
    """
    if not (status in _CLIENT_ERRORS or status in (500, 501)) or _SPENT.search(message):
        return ""
    if _UNNAMED.search(message):
        return next((one.name for one in REFUSABLE if _is_sent(one, sent)), "")
    places: list[tuple[int, str]] = []
    for one in REFUSABLE:
        if not _is_sent(one, sent):
            continue
        near = _near(one.words).search(message)
        if near:
            places.append((near.start("name" if near["name"] else "after"), one.name))
    # A server that names what to use instead names what it refuses first.
    return min(places)[1] if places else ""


@functools.cache
def _near(words: str) -> re.Pattern[str]:
    """Return a pattern of a parameter's names beside words of a refusal."""
    return re.compile(
        rf"(?P<name>{words})\b[^\n]{{0,160}}?(?:{_REFUSES})"
        rf"|(?:{_REFUSES})[^\n]{{0,160}}?\b(?P<after>{words})\b",
        re.IGNORECASE,
    )


def _is_sent(one: Refusable, sent: Mapping[str, Any]) -> bool:
    if one.sent_as == ("response_format",):
        return (sent.get("response_format") or {}).get("type") == one.name
    return any(sent.get(name) is not None for name in one.sent_as)


def options_of(name: str) -> tuple[str, ...]:
    """Return the options of a call that a name of `REFUSABLE` stands for."""
    return next((one.sent_as for one in REFUSABLE if one.name == name), ())


def apply_learnt(options: Mapping[str, Any], learnt: Collection[str]) -> dict[str, Any]:
    """Return a call's options without those that are None or that its endpoint refuses."""
    kept = {name: value for name, value in options.items() if value is not None}
    if REASONING in learnt and kept.get("max_tokens"):
        kept["max_tokens"] *= REASONING_FACTOR
    if "response_format" in kept and "json_schema" in learnt:
        kept["response_format"] = {"type": "json_object"}
    if "json_object" in learnt and kept.get("response_format", {}).get("type") == "json_object":
        del kept["response_format"]
    if "max_tokens" in learnt and "max_tokens" in kept:
        kept.setdefault("max_completion_tokens", kept.pop("max_tokens"))
        kept.pop("max_tokens", None)
    for one in REFUSABLE:
        if one.name in learnt and one.name not in ("json_schema", "json_object", "max_tokens"):
            for name in one.sent_as:
                kept.pop(name, None)
    return kept


def base_parameters(settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what every call carries, unless its model is known to take it not.

    Returns:
        The parameters, and the options that the user gave besides, which win. A bound on tokens
        that the user gave is among the former: some calls carry a multiple of it.
    """
    own_names = (
        {} if is_local(settings.judge.model) else parse_options(settings.judge.model_options)
    )
    bound = own_names.pop("max_tokens", settings.prompting.max_reply_tokens)
    if "max_completion_tokens" in own_names:  # The user knows how the endpoint names it.
        bound = own_names.pop("max_completion_tokens")
        learn(settings.judge.model, settings.judge.api_base, "max_tokens")
    options = {
        "temperature": 0,
        "max_tokens": bound,
        "logprobs": True,
        "top_logprobs": N_TOP_LOGPROBS,
    }
    return options, own_names


def parameters_of(
    settings: Settings, supported: Collection[str], litellm: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what all calls of a model carry, and what its user gave besides, which wins."""
    options, own_names = base_parameters(settings)
    if litellm.supports_reasoning(settings.judge.model):
        has_bound = any("tokens" in name for name in parse_options(settings.judge.model_options))
        options = {"temperature": None, "max_tokens": options["max_tokens"] if has_bound else None}
    elif not {"logprobs", "top_logprobs"} <= set(supported):
        options = {n: v for n, v in options.items() if n not in ("logprobs", "top_logprobs")}
    if provider_of(settings.judge.model).startswith("azure"):
        options["max_retries"] = 0  # OpenAI's client, which retries by itself, is used there.
    if settings.judge.api_base:
        options["api_base"] = settings.judge.api_base
    if "seed" in supported and not is_local(settings.judge.model):
        options["seed"] = settings.prompting.judge_seed
    return options, own_names


_LEARNT: dict[tuple[str, str], list[str]] = {}
"""What is known of each endpoint in this process, by model and address."""


def learnt_of(model: str, api_base: str | None) -> tuple[str, ...]:
    """Return what is known of an endpoint, in the order in which it was learnt."""
    return tuple(_LEARNT.get((model, api_base or ""), ()))


def lessons_of(refused: str, message: str) -> tuple[str, ...]:
    """Return what is learnt by a refusal: a server that names no other bound takes none."""
    is_renamed = refused != "max_tokens" or "max_completion_tokens" in message
    return (refused,) if is_renamed else ("max_tokens", "max_completion_tokens")


def learn(model: str, api_base: str | None, *names: str) -> None:
    """Remember names of `REFUSABLE`, or `REASONING`, of an endpoint, for this process."""
    known = _LEARNT.setdefault((model, api_base or ""), [])
    known += [name for name in names if name not in known]


def learnt_note(model: str, learnt: Collection[str]) -> str:
    """Return what was learnt of a model for a person; empty where nothing was."""
    refused = [one.without for one in REFUSABLE if one.name in learnt]
    if "max_completion_tokens" in learnt:  # It says more than the renaming does.
        refused = [words for words in refused if not words.startswith("max_completion_tokens")]
    if REASONING in learnt:
        refused.append(f"it reasons first, so replies may take {REASONING_FACTOR} times the tokens")
    return f"{model}: {'; '.join(refused)}" if refused else ""


def portable_format(response_format: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without the bounds that hosted strict modes refuse."""

    def strip_node(node: Any) -> Any:
        if isinstance(node, Mapping):
            return {k: strip_node(v) for k, v in node.items() if k not in _LOCAL_BOUNDS}
        return [strip_node(item) for item in node] if isinstance(node, list) else node

    return strip_node(response_format)
