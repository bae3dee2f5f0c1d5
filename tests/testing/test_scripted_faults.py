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


FIRST, SECOND = Fault("junk", first=1), Fault("slow", first=2)


@pytest.mark.parametrize(
    ("faults", "prompts", "met"),
    [
        ([Fault("junk")], "ab", ["junk", "junk"]),
        # The first of those that contain it.
        ([Fault("junk", first=1, contains="a")], "bbaa", [None, None, "junk", None]),
        ([Fault("junk", every=2)], "abcd", [None, "junk", None, "junk"]),
        # Each distinct request anew.
        ([Fault("junk", attempts=1)], "abab", ["junk", "junk", None, None]),
        ([Fault("junk", when=lambda body: "b" in str(body["messages"]))], "ab", [None, "junk"]),
        # The first of several wins, and the others still count.
        ([FIRST, SECOND], "abc", ["junk", "slow", None]),
        ([Fault("junk", probability=0.0)], "abcd", [None] * 4),
        ([Fault("junk", probability=1.0)], "abcd", ["junk"] * 4),
    ],
)
def test_a_fault_strikes_the_requests_that_its_conditions_name(faults, prompts, met):
    assert kinds(faults, prompts) == met


def test_a_probability_is_roughly_kept_and_blind_to_order():
    prompts = [chr(0x4E00 + position) for position in range(400)]
    fault = Fault("junk", probability=0.3, seed=7)
    forward = dict(zip(prompts, kinds([fault], "".join(prompts)), strict=True))
    backward = dict(zip(prompts[::-1], kinds([fault], "".join(prompts[::-1])), strict=True))
    assert forward == backward
    # Four standard deviations around 120 are 4 * sqrt(400 * 0.3 * 0.7) = 37.
    assert 83 <= list(forward.values()).count("junk") <= 157


def test_another_seed_strikes_other_requests():
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
def test_a_fault_that_makes_no_sense_is_refused(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        Fault(**{"kind": "junk", **arguments})  # type: ignore[arg-type]


def test_the_key_depends_on_messages_and_response_format_alone():
    body = {"messages": [{"role": "user", "content": "a"}], "model": "x"}
    assert request_key(body) == request_key({**body, "model": "y", "temperature": 1})
    assert request_key(body) != request_key({**body, "response_format": {"type": "json_object"}})
