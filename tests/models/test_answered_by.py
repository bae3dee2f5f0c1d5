"""Who answered, as the provider says."""

from types import SimpleNamespace

from case_tables import each_case

from ragassay.models.call_reply import MOST_CHARS, describe_mixtures, identify_system
from ragassay.records import Usage


@each_case(
    ("asked", "model", "fingerprint"),
    [
        ("openai/gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", "fp_44709d6fcb"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929", None),
        ("mistral/mistral-small-latest", "mistral-small-2506", ""),
    ],
)
def test_name_and_fingerprint_are_kept_beside_the_name_that_was_asked(asked, model, fingerprint):
    reply = SimpleNamespace(model=model, system_fingerprint=fingerprint)
    found = identify_system(asked, reply)
    assert found == f"{asked}: {' '.join(filter(None, (model, fingerprint)))}"
    assert describe_mixtures([found]) == ()


@each_case(
    "reply",
    [SimpleNamespace(), SimpleNamespace(model=None), SimpleNamespace(model=7), {"model": "x"}],
)
def test_a_reply_without_a_name_leaves_the_name_that_was_asked(reply):
    assert identify_system("openai/a", reply) == "openai/a"


def test_what_a_server_says_stays_on_one_short_line():
    reply = SimpleNamespace(model="a\nb" + "x" * 500, system_fingerprint=None)
    found = identify_system("openai/a", reply)
    assert "\n" not in found and len(found) <= len("openai/a: ") + MOST_CHARS


def test_two_dated_names_or_fingerprints_of_one_model_are_said_and_two_models_are_not():
    dated = ("openai/a: a-2025-04-14 fp_1", "openai/a: a-2025-09-01 fp_1", "openai/b: b")
    (note,) = describe_mixtures(dated)
    assert note.startswith("openai/a answered as 2 systems: a-2025-04-14 fp_1; a-2025-09-01 fp_1.")
    fingerprints = ("openai/a: a fp_1", "openai/a: a fp_2", "openai/a: a")
    assert "as 3 systems" in describe_mixtures(fingerprints)[0]
    assert describe_mixtures(("openai/a: a fp_1", "openai/b: a fp_2")) == ()
    assert describe_mixtures(()) == ()


def test_usage_sums_who_answered_as_a_union():
    one, other = Usage(n_calls=1, answered_by=("b", "a")), Usage(n_calls=1, answered_by=("b",))
    assert (one + other).answered_by == ("a", "b")
    assert sum([one, one, one], Usage()).answered_by == ("a", "b")
    assert one.unpaid == Usage(answered_by=("b", "a"))
