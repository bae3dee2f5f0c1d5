"""Chat completions API: parsing requests, and building replies and log-probabilities."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias, cast

JsonObject: TypeAlias = Mapping[str, object]
Message: TypeAlias = Mapping[str, object]
JsonSchema: TypeAlias = Mapping[str, object]


def list_messages(body: JsonObject) -> tuple[Message, ...]:
    """Return the messages of a request, or none if `messages` is not a list of objects."""
    return _list_objects(body.get("messages"))


def find_reply_schema(body: JsonObject) -> JsonSchema | None:
    """Return the JSON schema in `response_format`, or None.

    The type "json_object" allows any object.
    """
    response_format = _as_object(body.get("response_format"))
    if response_format.get("type") == "json_object":
        return {"type": "object"}
    schema = _as_object(response_format.get("json_schema")).get("schema")
    return cast(JsonSchema, schema) if isinstance(schema, Mapping) else None


def join_messages(body: JsonObject) -> str:
    """Return the texts of all messages in a request, joined with newlines."""
    return "\n".join(message_text(message) for message in list_messages(body))


def message_text(message: Message) -> str:
    """Return the text parts of a message, joined with newlines."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in _list_objects(content) if "text" in part)


def last_user_text(messages: Sequence[Message]) -> str:
    """Return the text of the last message with the role `user`, or an empty string."""
    users = (message for message in reversed(messages) if message.get("role") == "user")
    return message_text(next(users, {}))


def request_key(body: JsonObject) -> str:
    """Return the SHA-256 of `messages` and `response_format`, without other parameters."""
    parts = {name: body.get(name) for name in ("messages", "response_format")}
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _as_object(value: object) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, Mapping) else {}


def _list_objects(value: object) -> tuple[JsonObject, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    items = cast(Sequence[object], value)
    return tuple(cast(JsonObject, item) for item in items if isinstance(item, Mapping))


_CREATED = 1_700_000_000
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Tool call used as a reply. `arguments` are sent unchanged if they are a string."""

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)


def build_error_body(message: str, kind: str, code: str | None) -> JsonObject:
    """Build an error response in the format of OpenAI's API."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def build_models_body(names: Sequence[str]) -> JsonObject:
    """Build the response of `GET /v1/models`."""
    models = [
        {"id": name, "object": "model", "created": _CREATED, "owned_by": "ragassay"}
        for name in names
    ]
    return {"object": "list", "data": models}


def format_json(value: object) -> str:
    """Return JSON without whitespace, like the replies of models that follow a schema."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def render_reply(reply: str | Mapping[str, object]) -> str:
    """Return the message text of a scripted reply. Objects are converted to compact JSON."""
    return reply if isinstance(reply, str) else format_json(reply)


def count_tokens(text: str) -> int:
    """Return the token count of a text, assuming four characters per token."""
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


TopLogprob: TypeAlias = tuple[str, float]

_TOKEN = re.compile(r"\d+| ?[^\W\d]+|\s+|[^\w\s]")
_RATINGS = ("1", "2", "3", "4", "5")
_OTHERS = tuple(
    f" {word}"
    for word in (
        *("the", "a", "of", "and", "in", "is", "to", "not", "with", "for"),
        *("or", "by", "was", "are", "that", "no", "as", "on", "this", "it", "at"),
    )
)
_CERTAINTY = 0.999
_NEVER = -50.0


def tokenise(text: str) -> tuple[str, ...]:
    """Split a text into numbers, words, whitespace and punctuation without losing characters.

    Words include the preceding space, as in the vocabularies of real models.

    Example:
        >>> tokenise('{"score":4}')
        ('{', '"', 'score', '"', ':', '4', '}')
        >>> tokenise("in 20 adults")
        ('in', ' ', '20', ' adults')
    """
    return tuple(_TOKEN.findall(text))


def build_logprobs(
    text: str, n_top: int, seed: str
) -> Mapping[str, Sequence[Mapping[str, object]]]:
    """Build the `logprobs` object of a choice.

    Args:
        text: Reply text, which is equal to the concatenated tokens.
        n_top: Number of alternatives for each token, from 0 to 20, including the token itself.
        seed: Seed. Equal seeds give equal numbers in all processes.
    """
    return {
        "content": [
            _build_entry(token, _build_distribution(token, f"{seed}|{position}"), n_top)
            for position, token in enumerate(tokenise(text))
        ]
    }


def _build_distribution(token: str, seed: str) -> tuple[TopLogprob, ...]:
    return (
        _build_rating_distribution(token, seed)
        if token in _RATINGS
        else _build_word_distribution(token)
    )


def _build_rating_distribution(token: str, seed: str) -> tuple[TopLogprob, ...]:
    """Return a sorted probability distribution over "1" to "5" that is highest for the token."""
    digest = hashlib.sha256(seed.encode()).digest()
    sharpness = 0.7 + 2.0 * digest[0] / 255
    lean = 0.4 * (digest[1] / 255 - 0.5)
    chosen = int(token)
    weights = {
        rating: math.exp(-sharpness * abs(int(rating) - chosen) + lean * (int(rating) - chosen))
        for rating in _RATINGS
    }
    total = sum(weights.values())
    ratings = [(rating, math.log(weight / total)) for rating, weight in weights.items()]
    ratings.sort(key=lambda pair: (-pair[1], pair[0]))
    return (*ratings, *((other, _NEVER - rank) for rank, other in enumerate(_OTHERS)))


@lru_cache(maxsize=4096)
def _build_word_distribution(token: str) -> tuple[TopLogprob, ...]:
    """Return the token with a probability near 1, and alternatives with decreasing ones."""
    others = [other for other in _OTHERS if other != token]
    alternatives = (
        (other, math.log((1 - _CERTAINTY) / 2 ** (rank + 1))) for rank, other in enumerate(others)
    )
    return ((token, math.log(_CERTAINTY)), *alternatives)


def _build_entry(
    token: str, distribution: Sequence[TopLogprob], n_top: int
) -> Mapping[str, object]:
    top = [_build_token(*pair) for pair in distribution[:n_top]]
    return {**_build_token(*distribution[0]), "top_logprobs": top}


def _build_token(token: str, logprob: float) -> Mapping[str, object]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
