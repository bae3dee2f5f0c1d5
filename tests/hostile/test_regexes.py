"""No regular expression of the package takes longer than its text is long.

They are found in the source, so that a new one is tried, too. A text that takes a moment is tried
at four times its length: four times the work where it is linear, sixteen where it is quadratic.
"""

from __future__ import annotations

import functools
import re
import time

import pytest
from case_tables import each_case
from hostile.regexes import Attack, Expression, attacks, expressions

from ragassay import errors
from ragassay.formats.papers import prose
from ragassay.models import provider_errors
from ragassay.prompts.model_forms import load_embedders, load_verifier_kinds
from ragassay.text import questions, sentence_rules

BOUNDARY_RULES = (*sentence_rules.SPLITS, *sentence_rules.JOINS)

VARIABLES = {
    ("ragassay/errors.py", "pattern"): tuple(pattern for pattern, _ in errors.PLAIN_WORDS),
    ("ragassay/formats/papers/prose.py", "words"): tuple(prose.HEADINGS.values()),
    ("ragassay/text/sentence_rules.py", "before"): tuple(
        rule.before.pattern for rule in BOUNDARY_RULES
    ),
    ("ragassay/text/sentence_rules.py", "after"): tuple(
        rule.after.pattern for rule in BOUNDARY_RULES
    ),
    ("ragassay/text/questions.py", "rule"): tuple(rule for _, rule in questions.RULES),
    ("ragassay/models/provider_errors.py", "words"): tuple(
        w for _, w, _ in provider_errors.MEANINGS
    ),
    ("ragassay/prompts/model_forms.py", "form.pattern"): tuple(
        form.pattern for form in load_embedders().forms.values()
    ),
    ("ragassay/prompts/model_forms.py", "one.pattern"): tuple(
        kind.pattern for kind in load_verifier_kinds().all.values() if kind.pattern
    ),
}
"""What a variable holds that is a whole pattern."""

N_FIRST = 36
"""Attacks on each expression in the short run."""
N = 2_000
MEGABYTE = 1_000_000
UNNOTICED_S = 0.002
MOST_S_A_MEGABYTE = 10.0


POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+|\(\?>")


@functools.cache
def every_expression() -> list[Expression]:
    """All of the package's: reading its sources takes seconds, and collecting tests none of it."""
    return list(expressions(VARIABLES))


def seconds(one: Expression, text: str | bytes) -> float:
    """Processor time of reading a text as the package does, the better of two."""
    ask = getattr(one.compiled(), "finditer" if one.method == "search" else one.method)
    found = []
    for _ in range(2):
        start = time.thread_time()
        for _match in ask(text) or () if one.method == "search" else (ask(text),):
            pass
        found.append(time.thread_time() - start)
        if found[0] < UNNOTICED_S:
            break
    return min(found)


def is_slow(one: Expression, attack: Attack, n: int = N) -> bool:
    """Whether the work grows faster than the text. Short ones first: some would never end."""
    if seconds(one, attack.text(one, 20)) > 0.02 or seconds(one, attack.text(one, 300)) > 0.1:
        return True
    short = seconds(one, attack.text(one, n))
    if short < UNNOTICED_S:
        return False
    ratios = (
        seconds(one, attack.text(one, 4 * n)) / seconds(one, attack.text(one, n)) for _ in "123"
    )
    return all(ratio > 8 for ratio in ratios)


def test_the_walk_finds_them():
    places = {one.place.split(":")[0] for one in every_expression()}
    assert {"ragassay/text/citation_markers.py", "ragassay/text/quantities.py"} <= places
    assert len(every_expression()) > 300


@pytest.mark.parametrize(
    ("pattern", "method", "n"),
    [
        (r"\s+$", "search", N),
        (r"(a|a)*b", "match", 800),
        (r"\[[^\]]*\]", "search", 3 * N),
        (r"\d*\d*x", "match", N),
    ],
)
def test_what_is_not_linear_is_caught(pattern, method, n):
    one = Expression("here", pattern, 0, method)
    assert any(is_slow(one, attack, n) for attack in attacks(one))


def test_no_group_is_possessive():
    """Such a group can match wrongly before Python 3.11.5 (gh-106052)."""
    assert [
        one.name for one in every_expression() if POSSESSIVE_GROUP.search(str(one.pattern))
    ] == []
    assert all(map(POSSESSIVE_GROUP.search, (r"(?:a|b)++", r"(a)?+", r"(?:a){1,3}+", "(?>a)")))
    assert not any(map(POSSESSIVE_GROUP.search, (r"\s++", r"\)++", r"[()]*+", r"(?:a)+b?+")))


@pytest.mark.timeout(1_200)
@each_case("one", every_expression, ids=lambda one: one.name)
def test_a_regular_expression_is_linear(one):
    slow = [attack for attack in attacks(one)[:N_FIRST] if is_slow(one, attack)]
    assert not slow, f"{one.pattern!r} is slow over {slow[0]}"


@pytest.mark.long
@pytest.mark.timeout(0)
@each_case("one", every_expression, ids=lambda one: one.name)
def test_a_regular_expression_is_linear_over_every_attack(one):
    for seed in range(3):
        for attack in attacks(one, seed):
            for after in ("", "\x00", "\n"):
                tried = Attack(attack.before, attack.piece, after)
                assert not is_slow(one, tried), f"{one.pattern!r} is slow over {tried}"


@pytest.mark.long
@pytest.mark.timeout(0)
@each_case("one", every_expression, ids=lambda one: one.name)
def test_a_regular_expression_reads_a_megabyte(one):
    for attack in attacks(one)[:N_FIRST]:
        took = seconds(one, attack.text(one, MEGABYTE))
        assert took < MOST_S_A_MEGABYTE, f"{one.pattern!r} took {took:.1f} s over {attack}"
