"""The key of the server: a strong one is made, a weak one refused."""

from __future__ import annotations

import re

from case_tables import each_case

from ragassay.errors import SettingsError
from ragassay.models.serving.server import check_server_key, make_server_key


def refusal_of(key: str) -> str:
    try:
        check_server_key(key)
    except SettingsError as error:
        return str(error)
    return ""


def test_a_made_key_is_strong() -> None:
    first, second = make_server_key(), make_server_key()
    assert first != second
    # 32 random bytes are 43 characters of base64.
    assert len(first) == len("sk-") + 43
    assert refusal_of(first) == ""


@each_case(
    ("key", "problem"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("sk-1234", "7 characters"),
        ("aaaaaaaabbbbbbbbcccc", "3 different"),
        ("my-Password-is-long-enough", "'password'"),
        ("sk-1234-and-what-comes-next", "'sk-1234'"),
        ("two words in a row, or more", "spaces"),
        ("schlüssel-der-lang-genug-ist", "header"),
        ("line\nbreak-in-a-long-key-7x", "header"),
    ],
)
def test_a_weak_key_is_refused_by_name(key: str, problem: str) -> None:
    refusal = refusal_of(key)
    assert re.search(r"server_key.*token_urlsafe", refusal) and problem in refusal


def test_a_strong_key_passes() -> None:
    assert refusal_of("9c1fX-27Qb_zzT0wmK4e") == ""
