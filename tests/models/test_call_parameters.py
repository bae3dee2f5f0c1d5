"""What endpoints refuse, by their own words, and what a call then carries."""

from __future__ import annotations

from typing import Any

from case_tables import each_case

from ragassay.models.call_parameters import (
    REASONING,
    REFUSABLE,
    apply_learned,
    describe_refusals,
    find_refused_parameter,
    list_call_options,
)

SENT: dict[str, Any] = {
    "temperature": 0,
    "max_tokens": 256,
    "logprobs": True,
    "top_logprobs": 5,
    "seed": 1,
    "response_format": {"type": "json_schema"},
}

REFUSALS = (
    # (status, an endpoint's words, what it refuses)
    (400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", "max_tokens"),
    (400, "Unsupported value: 'temperature' does not support 0 with this model. Only the default "
     "(1) value is supported.", "temperature"),
    (400, "Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
    (403, "You are not allowed to request logprobs from this model", "logprobs"),
    (400, "Unsupported parameter: 'logprobs' is not supported with this model.", "logprobs"),
    (400, "This model does not support `logprobs`.", "logprobs"),
    (400, "`top_logprobs` is not supported with this model", "logprobs"),
    (400, "Logprobs is not enabled for models/gemini-2.5-flash", "logprobs"),
    (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this "
     "model. Learn more about supported models.", "json_schema"),
    (400, "This model does not support response format `json_schema`.", "json_schema"),
    (422, '{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not '
     'permitted"}]}', "seed"),
    (400, "Unrecognized request arguments supplied: logprobs, top_logprobs", "logprobs"),
    (400, "`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
    (400, "The model returned the following errors: `temperature` is deprecated for this model.",
     "temperature"),
    (500, "structured output is not supported by this backend", "json_schema"),
    (400, "max_tokens: 256 must be greater than thinking.budget_tokens: not supported",
     "max_tokens"),
    (405, "this server has logprobs disabled", "logprobs"),
    # None of what was sent is refused.
    (401, "Incorrect API key provided; you may not use logprobs.", ""),
    (429, "Rate limit reached: max_tokens is not allowed to exceed the limit", ""),
    (400, "The patient's temperature was 39 degrees.", ""),
    (400, "The prompt is too long.", ""),
    (404, "The model `m` does not exist or you do not have access to it.", ""),
    (400, "Could not finish the message because max_tokens or model output limit was reached.", ""),
    (400, "Unknown parameter: 'presence_penalty'", ""),
)  # fmt: skip


def test_refusals_are_known_by_their_words() -> None:
    found = {words: find_refused_parameter(status, words, SENT) for status, words, _ in REFUSALS}
    assert found == {words: refused for _, words, refused in REFUSALS}


def test_examples_of_the_table_are_refusals() -> None:
    for one in REFUSABLE:
        sent = {name: 1 for name in one.sent_as}
        if one.sent_as == ("response_format",):
            sent = {"response_format": {"type": one.name}}
        assert find_refused_parameter(400, one.example, sent) == one.name


def test_what_was_not_sent_is_not_refused() -> None:
    for status, words, _ in REFUSALS:
        assert find_refused_parameter(status, words, {"temperature": None}) == ""


@each_case(
    ("learnt", "left"),
    [
        ((), SENT),
        (("logprobs",), {k: v for k, v in SENT.items() if "logprobs" not in k}),
        (("temperature",), {k: v for k, v in SENT.items() if k != "temperature"}),
        (("json_schema",), SENT | {"response_format": {"type": "json_object"}}),
        (("json_schema", "json_object"), {k: v for k, v in SENT.items() if k != "response_format"}),
        (
            ("max_tokens",),
            {k: v for k, v in SENT.items() if k != "max_tokens"} | {"max_completion_tokens": 256},
        ),
        (
            ("max_tokens", "max_completion_tokens"),
            {k: v for k, v in SENT.items() if k != "max_tokens"},
        ),
        ((REASONING,), SENT | {"max_tokens": 4096}),
    ],
)  # fmt: skip
def test_a_call_carries_what_its_endpoint_takes(
    learnt: tuple[str, ...], left: dict[str, Any]
) -> None:
    assert apply_learned({**SENT, "tools": None}, learnt) == left


def test_the_note_says_what_was_left_out() -> None:
    assert describe_refusals("openai/m", ()) == ""
    note = describe_refusals("openai/m", ["temperature", "logprobs"])
    assert note.startswith("openai/m: ")
    assert "no log-probabilities" in note
    assert "the endpoint's default temperature" in note
    assert list_call_options("logprobs") == ("logprobs", "top_logprobs")
