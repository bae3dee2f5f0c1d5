"""From tokens with alternatives to a distribution over labels."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st
from replying import Step, logprobs_of

from ragassay.agents.sampling import read_choice_distribution
from ragassay.records import RELEVANCE_LABELS, VERDICTS

RATINGS = ("1", "2", "3", "4", "5")


def test_rating_is_renormalised_over_its_labels() -> None:
    # 0.6 and 0.2 of 0.8 that belong to ratings: 0.75 and 0.25.
    found = read_choice_distribution(
        logprobs_of(
            '{"', "rating", '":', " ", ("4", {"4": 0.6, "5": 0.2, "x": 0.1, '"': 0.1}), "}"
        ),
        "rating",
        RATINGS,
    )
    assert found == pytest.approx({"1": 0, "2": 0, "3": 0, "4": 0.75, "5": 0.25})
    assert found is not None
    assert list(found) == list(RATINGS)


@each_case(
    "steps",
    [
        ['{"rating": ', ("4", {"4": 0.75, "5": 0.25}), "}"],
        ['{"rating":', (" 4", {" 4": 0.75, " 5": 0.25}), "}"],
        ['{"rating"', (":4", {":4": 0.75, ":5": 0.25}), "}"],
        ['{"rating":', (' "4', {' "4': 0.75, ' "5': 0.25}), '"}'],
        ['{"rating": ', '"', ("4", {"4": 0.75, "5": 0.25}), '"}'],
        ['{"rating": ', ("4}", {"4}": 0.75, "5": 0.25})],
        ['{"rating": \n\n', ("4", {"4": 0.5, " 4": 0.25, "5": 0.25}), ', "rationale": "x"}'],
        ['{ "rating" :', " ", ("4", {"4": 0.75, "5": 0.25}), "\n}"],
    ],
)
def test_spaces_and_quotes_do_not_matter(steps: list[Step]) -> None:
    found = read_choice_distribution(logprobs_of(*steps), "rating", RATINGS)
    assert found == pytest.approx({"1": 0, "2": 0, "3": 0, "4": 0.75, "5": 0.25})


@pytest.mark.parametrize(
    ("first", "rest", "label"),
    [
        ("un", "necessary", "unnecessary"),
        ("in", "appropriate", "inappropriate"),
        ("re", "quired", "required"),
        ("b", "orderline", "borderline"),
        ("required", "", "required"),
    ],
)
def test_first_token_speaks_for_the_label_that_it_starts(first: str, rest: str, label: str) -> None:
    other = "borderline" if label == "required" else "required"
    found = read_choice_distribution(
        logprobs_of('{"label": "', (first, {first: 0.8, other: 0.2}), rest, '"}'),
        "label",
        RELEVANCE_LABELS,
    )
    assert found is not None
    assert found[label] == pytest.approx(0.8)
    assert found[other] == pytest.approx(0.2)


def test_ambiguous_token_that_was_written_is_decided_by_the_next() -> None:
    # P(n) = 0.9; then eutral 0.7, ot_relevant 0.3: 0.63 and 0.27, beside supports 0.1.
    found = read_choice_distribution(
        logprobs_of(
            '{"verdict": "',
            ("n", {"n": 0.9, "supports": 0.1}),
            ("eutral", {"eutral": 0.7, "ot": 0.3}),
            '"}',
        ),
        "verdict",
        VERDICTS,
    )
    expected = {"supports": 0.1, "contradicts": 0, "neutral": 0.63, "not_relevant": 0.27}
    assert found == pytest.approx(expected)


def test_ambiguous_token_that_was_not_written_counts_for_none() -> None:
    found = read_choice_distribution(
        logprobs_of('{"verdict": "', ("supports", {"supports": 0.5, "n": 0.4, "contr": 0.1}), '"}'),
        "verdict",
        VERDICTS,
    )
    # 0.5 and 0.1 of 0.6.
    assert found == pytest.approx(
        {"supports": 5 / 6, "contradicts": 1 / 6, "neutral": 0, "not_relevant": 0}
    )


def test_forced_start_of_a_value_is_kept_in_mind() -> None:
    # A grammar forces "not_" without alternatives; nothing that follows starts a label by itself.
    found = read_choice_distribution(
        logprobs_of('{"verdict": "n', ("ot", {"ot": 0.8, "eutral": 0.2}), '_relevant"}'),
        "verdict",
        VERDICTS,
    )
    assert found is not None
    assert found["not_relevant"] == pytest.approx(0.8)
    assert found["neutral"] == pytest.approx(0.2)


def test_written_token_counts_though_it_is_not_among_the_alternatives() -> None:
    logprobs = logprobs_of('{"rating": ', ("4", {"5": 0.25}), "}")
    logprobs.content[1].logprob = math.log(0.75)
    found = read_choice_distribution(logprobs, "rating", RATINGS)
    assert found is not None
    assert found["4"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    "before",
    [
        '{"rationale": "The answer says \\"rating\\": 5.", "rating": ',
        '{"kind": "rating", "n": 3, "rating": ',
        '{"meta": {"rating": 1}, "rating": ',
        'My "rating" follows: {"rating": ',
        '{"rationale": "{\\"rating\\": 5}", "rating": ',
    ],
)
def test_field_name_elsewhere_does_not_mislead(before: str) -> None:
    noise: list[Step] = [(c, {c: 0.6, "1": 0.4}) for c in before]
    found = read_choice_distribution(
        logprobs_of(*noise, ("2", {"2": 0.75, "3": 0.25}), "}"), "rating", RATINGS
    )
    assert found == pytest.approx({"1": 0, "2": 0.75, "3": 0.25, "4": 0, "5": 0})


def test_later_fields_are_never_read_for_the_value() -> None:
    # The rating came without alternatives: what the rationale's tokens could have been is no help.
    steps: list[Step] = ['{"rating": 4, "rationale": "', ("1", {"1": 0.5, "2": 0.5}), '"}']
    assert read_choice_distribution(logprobs_of(*steps), "rating", RATINGS) is None


@each_case(
    "logprobs",
    [
        None,
        SimpleNamespace(content=None),
        SimpleNamespace(content=[]),
        {"content": []},
        logprobs_of('{"rating": 4}'),
        logprobs_of("no JSON"),
        logprobs_of('{"other": ', ("4", {"4": 1.0}), "}"),
        logprobs_of('{"rating": ', ("x", {"x": 0.5, "y": 0.5}), "}"),
    ],
)
def test_none_where_it_cannot_be_told(logprobs: Any) -> None:
    assert read_choice_distribution(logprobs, "rating", RATINGS) is None


@pytest.mark.parametrize("junk", [float("nan"), float("-inf"), 1e9])
def test_junk_log_probabilities_do_no_harm(junk: float) -> None:
    logprobs = logprobs_of('{"rating": ', ("4", {"4": 0.5, "5": 0.5}), "}")
    logprobs.content[1].top_logprobs[1].logprob = junk
    found = read_choice_distribution(logprobs, "rating", RATINGS)
    assert found is not None
    assert all(0 <= weight <= 1 for weight in found.values())


def test_missing_alternatives_are_as_none() -> None:
    logprobs = logprobs_of('{"rating": ', ("4", {"4": 1.0}), "}")
    for token in logprobs.content:
        token.top_logprobs = token.top_logprobs or None
    found = read_choice_distribution(logprobs, "rating", RATINGS)
    assert found is not None
    assert found["4"] == 1.0


@given(st.dictionaries(st.sampled_from([*RATINGS, " 1", "x"]), st.floats(1e-6, 1), min_size=1))
def test_is_a_distribution_over_the_labels(table: dict[str, float]) -> None:
    chosen = max(table, key=lambda token: table[token])
    text = chosen if chosen != "x" else "3"
    found = read_choice_distribution(
        logprobs_of('{"rating": ', (text, table), "}"), "rating", RATINGS
    )
    assert found is not None
    assert list(found) == list(RATINGS)
    assert math.isclose(sum(found.values()), 1)
    assert all(weight >= 0 for weight in found.values())
