"""Which requests a fault strikes, without a server."""

from __future__ import annotations

from collections import Counter

import pytest

from ragassay.errors import InputError
from ragassay.testing import Fault, FaultKind, request_key
from ragassay.testing.faults import FaultPlan


def kinds(faults: list[Fault], prompts: str) -> list[FaultKind | None]:
    """What each one-letter prompt meets, asked in this order."""
    plan = FaultPlan(faults)
    n_attempts: Counter[str] = Counter()
    met: list[FaultKind | None] = []
    for prompt in prompts:
        n_attempts[prompt] += 1
        body = {"messages": [{"role": "user", "content": prompt}]}
        fault = plan.find_next_fault(request_key(body), n_attempts[prompt], body)
        met.append(fault.kind if fault else None)
    return met


def test_a_fault_without_conditions_strikes_every_request() -> None:
    assert kinds([Fault("junk")], "ab") == ["junk", "junk"]


def test_first_counts_the_requests_in_question_only() -> None:
    assert kinds([Fault("junk", first=1, contains="a")], "bbaa") == [None, None, "junk", None]


def test_every_strikes_each_kth_request() -> None:
    assert kinds([Fault("junk", every=2)], "abcd") == [None, "junk", None, "junk"]


def test_attempts_strikes_each_distinct_request_anew() -> None:
    assert kinds([Fault("junk", attempts=1)], "abab") == ["junk", "junk", None, None]


def test_when_sees_the_body() -> None:
    struck = Fault("junk", when=lambda body: "b" in str(body["messages"]))
    assert kinds([struck], "ab") == [None, "junk"]


def test_the_first_fault_wins_and_the_others_still_count() -> None:
    faults = [Fault("junk", first=1), Fault("slow", first=2)]
    assert kinds(faults, "abc") == ["junk", "slow", None]


@pytest.mark.parametrize(("probability", "share"), [(0.0, 0.0), (1.0, 1.0)])
def test_a_certain_probability_is_kept(probability: float, share: float) -> None:
    met = kinds([Fault("junk", probability=probability)], "abcdefgh")
    assert met.count("junk") / len(met) == share


def test_a_probability_is_roughly_kept_and_blind_to_order() -> None:
    prompts = [chr(0x4E00 + position) for position in range(400)]
    fault = Fault("junk", probability=0.3, seed=7)
    forward = dict(zip(prompts, kinds([fault], "".join(prompts)), strict=True))
    backward = dict(zip(prompts[::-1], kinds([fault], "".join(prompts[::-1])), strict=True))
    assert forward == backward
    # Four standard deviations around 120 are 4 * sqrt(400 * 0.3 * 0.7) = 37.
    assert 83 <= list(forward.values()).count("junk") <= 157


def test_another_seed_strikes_other_requests() -> None:
    prompts = "".join(chr(0x4E00 + position) for position in range(100))
    one, other = (kinds([Fault("junk", probability=0.5, seed=seed)], prompts) for seed in (1, 2))
    assert one != other


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"kind": "typo"}, "unknown fault 'typo'"),
        ({"first": 0}, "first=0"),
        ({"every": -1}, "every=-1"),
        ({"attempts": 0}, "attempts=0"),
        ({"probability": 1.5}, "probability=1.5"),
        ({"delay_s": -1.0}, "delay_s"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(
    arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        Fault(**{"kind": "junk", **arguments})  # type: ignore[arg-type]


def test_the_key_depends_on_messages_and_response_format_alone() -> None:
    body = {"messages": [{"role": "user", "content": "a"}], "model": "x"}
    assert request_key(body) == request_key({**body, "model": "y", "temperature": 1})
    assert request_key(body) != request_key({**body, "response_format": {"type": "json_object"}})
