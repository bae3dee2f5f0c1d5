"""What endpoints refuse and report, by their own words, and what a call then carries."""

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
from ragassay.models.provider_errors import MEANINGS, detect_meaning

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


def test_refusals_are_known_by_their_words():
    found = {words: find_refused_parameter(status, words, SENT) for status, words, _ in REFUSALS}
    assert found == {words: refused for _, words, refused in REFUSALS}


def test_examples_of_the_table_are_refusals():
    for one in REFUSABLE:
        sent = {name: 1 for name in one.sent_as}
        if one.sent_as == ("response_format",):
            sent = {"response_format": {"type": one.name}}
        assert find_refused_parameter(400, one.example, sent) == one.name


def test_what_was_not_sent_is_not_refused():
    for status, words, _ in REFUSALS:
        assert find_refused_parameter(status, words, {"temperature": None}) == ""


@each_case(
    ("learnt", "dropped", "added"),
    [
        ((), (), {}),
        (("logprobs",), ("logprobs", "top_logprobs"), {}),
        (("temperature",), ("temperature",), {}),
        (("json_schema",), (), {"response_format": {"type": "json_object"}}),
        (("json_schema", "json_object"), ("response_format",), {}),
        (("max_tokens",), ("max_tokens",), {"max_completion_tokens": 256}),
        (("max_tokens", "max_completion_tokens"), ("max_tokens",), {}),
        ((REASONING,), (), {"max_tokens": 4096}),
    ],
)
def test_a_call_carries_what_its_endpoint_takes(learnt, dropped, added):
    left = {name: value for name, value in SENT.items() if name not in dropped} | added
    assert apply_learned({**SENT, "tools": None}, learnt) == left


def test_the_note_says_what_was_left_out():
    assert describe_refusals("openai/m", ()) == ""
    note = describe_refusals("openai/m", ["temperature", "logprobs"])
    assert note.startswith("openai/m: ")
    assert "no log-probabilities" in note
    assert "the endpoint's default temperature" in note
    assert list_call_options("logprobs") == ("logprobs", "top_logprobs")


def test_examples_of_the_table_have_their_meanings():
    assert {words: detect_meaning(400, words) for _, _, words in MEANINGS} == {
        words: meaning for meaning, _, words in MEANINGS
    }


@each_case(
    ("status", "words", "meaning"),
    [
        (402, "No.", "quota"),
        (429, "You exceeded your current quota, please check your plan", "quota"),
        (429, "You exceeded your current quota. Quota metric: requests per minute", None),
        (429, "You exceeded your current quota. Please retry in 21.4s.", None),
        (429, "Rate limit reached. Please try again in 7s.", None),
        (429, "Please retry after 86400 seconds.", "quota"),
        (500, "Loading the context window failed", None),
        (401, "Your credit balance is too low", None),
        (400, "The patient was out of danger.", None),
    ],
)
def test_what_passes_by_itself_is_no_gone_quota(status, words, meaning):
    assert detect_meaning(status, words) == meaning
