"""Choose the parameters of calls to hosted models, and record which ones an endpoint refuses.

Servers support different parameters, and the model name behind a custom endpoint does not show
which ones. Therefore, a parameter that an endpoint has refused by name is left out for the rest of
the run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.model_names import find_provider, is_local, parse_options

if TYPE_CHECKING:
    from ragassay.settings import Settings

N_TOP_LOGPROBS = 5

REASONING = "reasoning"
"""Name recorded, like a refused parameter, for a model that spends reply tokens on reasoning."""

REASONING_FACTOR = 16
"""Factor by which the reply token limit is multiplied for reasoning models."""


@dataclass(frozen=True)
class RefusableParameter:
    """Parameter that some endpoints refuse.

    Attributes:
        words: Pattern of the parameter's names in error messages.
        sent_as: Call options that contain the parameter.
        without: Consequence for the user if the parameter is left out.
    """

    name: str
    words: str
    sent_as: tuple[str, ...]
    without: str
    example: str


_LOCAL_BOUNDS = frozenset(
    {"maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "pattern"}
)
"""Schema constraints that the local judge enforces, but that strict modes of providers refuse."""

_FORMAT = (
    r"json[_ ]?schema|response[_ ]?(?:format|mime[_ ]?type|(?:json[_ ]?)?schema)"
    r"|json[_ ]?(?:object|mode|output)|structured[_ ]outputs?|guided[_ ](?:json|decoding)"
    r"|output[_ ](?:format|config)|grammar|required for format"
)
_TOKENS = r"max(?:imum)?[_ ](?:\w{1,20}[_ ])?tokens|maxoutputtokens"

REFUSABLE = (
    RefusableParameter(
        "logprobs",
        r"log[_ -]?prob\w*|log probabilit\w+|response_?logprobs",
        ("logprobs", "top_logprobs"),
        "replies have no log-probabilities, so a rating is the number in the reply",
        "You are not allowed to request logprobs from this model",
    ),
    RefusableParameter(
        "json_schema",
        _FORMAT,
        ("response_format",),
        "the model accepts no JSON schema, so only the prompt specifies the reply format",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
    ),
    RefusableParameter(
        "json_object",
        _FORMAT,
        ("response_format",),
        "the model has no JSON mode",
        "'response_format.type' must be 'json_schema' or 'text'",
    ),
    RefusableParameter(
        "max_tokens",
        _TOKENS,
        ("max_tokens",),
        "max_completion_tokens is sent instead of max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'.",
    ),
    RefusableParameter(
        "max_completion_tokens",
        _TOKENS,
        ("max_completion_tokens",),
        "the number of reply tokens is not limited",
        "Unrecognized request argument supplied: max_completion_tokens",
    ),
    RefusableParameter(
        "temperature",
        r"temperature",
        ("temperature",),
        "calls use the endpoint's default temperature",
        "'temperature' does not support 0 with this model. Only the default (1) is supported.",
    ),
    RefusableParameter(
        "seed", r"\bseed\b", ("seed",), "calls use no seed", "body.seed: Extra inputs not permitted"
    ),
)
"""Parameters that endpoints may refuse.

If an error message names none, the first one sent counts.
"""

_REFUSES = (
    r"unsupported|(?:not|n't) (?:be )?(?:\w+ )?"
    r"(?:support|allow|permit|enabled|available|accept|compatible)\w*"
    r"|invalid|unknown|unrecogni[sz]ed|unexpected|extra|forbidden|deprecated|only the default"
    r"|may only|only supports?|cannot|can't|disabled|must be|may not|no longer|requires?"
    r"|denied|rejected|failed|exceeds|greater than|maximum allowed|max allowed"
)
_SPENT = re.compile(r"could not finish|(?:limit|max_tokens) was reached", re.IGNORECASE)
"""Messages about a token limit that was reached, from models that accept the parameter."""

_UNNAMED = re.compile("the requested parameters", re.IGNORECASE)
"""OpenRouter's message if no endpoint supports all parameters."""

_CLIENT_ERRORS = {*range(400, 500)} - {401, 402, 408, 429}


def find_refused_parameter(status: int, message: str, sent: Mapping[str, Any]) -> str:
    """Return the parameter that an endpoint refused, or an empty string for other errors.

    Args:
        status: HTTP status, or 0 if there was no response.
        sent: Options that were sent with the call.

    Example:
        >>> find_refused_parameter(403, "You may not request logprobs", {"logprobs": True})
        'logprobs'
        >>> find_refused_parameter(400, "The prompt is too long", {"logprobs": True})
        ''
    """
    if not (status in _CLIENT_ERRORS or status in (500, 501)) or _SPENT.search(message):
        return ""
    if _UNNAMED.search(message):
        return next((param.name for param in REFUSABLE if _is_sent(param, sent)), "")
    positions: list[tuple[int, str]] = []
    for param in REFUSABLE:
        match = _compile_refusal(param.words).search(message) if _is_sent(param, sent) else None
        if match:
            positions.append((match.start("name" if match["name"] else "after"), param.name))
    # Messages that suggest another parameter name the refused one first.
    return min(positions)[1] if positions else ""


@functools.cache
def _compile_refusal(words: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<name>{words})\b[^\n]{{0,160}}?(?:{_REFUSES})"
        rf"|(?:{_REFUSES})[^\n]{{0,160}}?\b(?P<after>{words})\b",
        re.IGNORECASE,
    )


def _is_sent(param: RefusableParameter, sent: Mapping[str, Any]) -> bool:
    if param.sent_as == ("response_format",):
        return (sent.get("response_format") or {}).get("type") == param.name
    return any(sent.get(name) is not None for name in param.sent_as)


def list_call_options(name: str) -> tuple[str, ...]:
    """Return the call options of a parameter in `REFUSABLE`."""
    return next((param.sent_as for param in REFUSABLE if param.name == name), ())


def apply_learned(options: Mapping[str, Any], learnt: Collection[str]) -> dict[str, Any]:
    """Return the options of a call without None values and refused parameters."""
    remaining = {name: value for name, value in options.items() if value is not None}
    if REASONING in learnt and remaining.get("max_tokens"):
        remaining["max_tokens"] *= REASONING_FACTOR
    if "response_format" in remaining and "json_schema" in learnt:
        remaining["response_format"] = {"type": "json_object"}
    if (
        "json_object" in learnt
        and remaining.get("response_format", {}).get("type") == "json_object"
    ):
        del remaining["response_format"]
    if "max_tokens" in learnt and "max_tokens" in remaining:
        remaining.setdefault("max_completion_tokens", remaining.pop("max_tokens"))
        remaining.pop("max_tokens", None)
    for param in REFUSABLE:
        if param.name in learnt and param.name not in ("json_schema", "json_object", "max_tokens"):
            for name in param.sent_as:
                remaining.pop(name, None)
    return remaining


def build_base_parameters(settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of every call, before refused parameters are removed.

    Returns:
        Default parameters, and parameters set by the user, which take precedence. A token limit set
        by the user is among the default parameters, because some calls multiply it.
    """
    own_names = (
        {} if is_local(settings.judge.model) else parse_options(settings.judge.model_options)
    )
    limit = own_names.pop("max_tokens", settings.prompting.max_reply_tokens)
    if "max_completion_tokens" in own_names:  # The user knows the name that the endpoint expects.
        limit = own_names.pop("max_completion_tokens")
        learn(settings.judge.model, settings.judge.api_base, "max_tokens")
    options = {
        "temperature": 0,
        "max_tokens": limit,
        "logprobs": True,
        "top_logprobs": N_TOP_LOGPROBS,
    }
    return options, own_names


def build_call_parameters(
    settings: Settings, supported: Collection[str], litellm: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters for all calls to a model, and the user's options that override them."""
    options, own_names = build_base_parameters(settings)
    if litellm.supports_reasoning(settings.judge.model):
        has_limit = any("tokens" in name for name in parse_options(settings.judge.model_options))
        options = {"temperature": None, "max_tokens": options["max_tokens"] if has_limit else None}
    elif not {"logprobs", "top_logprobs"} <= set(supported):
        options = {n: v for n, v in options.items() if n not in ("logprobs", "top_logprobs")}
    if find_provider(settings.judge.model).startswith("azure"):
        options["max_retries"] = 0  # Azure uses OpenAI's client, which would retry on its own.
    if settings.judge.api_base:
        options["api_base"] = settings.judge.api_base
    if "seed" in supported and not is_local(settings.judge.model):
        options["seed"] = settings.prompting.judge_seed
    return options, own_names


_LEARNT: dict[tuple[str, str], list[str]] = {}
"""Refused parameters and `REASONING`, by model and endpoint."""


def list_learned_parameters(model: str, api_base: str | None) -> tuple[str, ...]:
    """Return what `learn` has recorded for a model and endpoint in this process, in order."""
    return tuple(_LEARNT.get((model, api_base or ""), ()))


def parse_refusal(refused: str, message: str) -> tuple[str, ...]:
    """Return the parameters to record as refused, given an error message about one of them."""
    is_renamed = refused != "max_tokens" or "max_completion_tokens" in message
    return (refused,) if is_renamed else ("max_tokens", "max_completion_tokens")


def learn(model: str, api_base: str | None, *names: str) -> None:
    """Record refused parameters, or `REASONING`, for a model and endpoint in this process."""
    known = _LEARNT.setdefault((model, api_base or ""), [])
    known += [name for name in names if name not in known]


def describe_refusals(model: str, learnt: Collection[str]) -> str:
    """Return a note for the user about refused parameters, or "" if there are none."""
    refused = [param.without for param in REFUSABLE if param.name in learnt]
    if "max_completion_tokens" in learnt:  # Replaces the note about max_tokens.
        refused = [text for text in refused if not text.startswith("max_completion_tokens")]
    if REASONING in learnt:
        times = f"{REASONING_FACTOR} times as many tokens"
        refused.append(f"the model reasons first, so replies may use {times}")
    return f"{model}: {'; '.join(refused)}" if refused else ""


def strip_constraints(response_format: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without the constraints that strict modes of providers refuse."""

    def strip_node(node: Any) -> Any:
        if isinstance(node, Mapping):
            return {k: strip_node(v) for k, v in node.items() if k not in _LOCAL_BOUNDS}
        return [strip_node(item) for item in node] if isinstance(node, list) else node

    return strip_node(response_format)
