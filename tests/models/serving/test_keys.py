"""The key of the server: a strong one is made, a weak one refused."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.errors import SettingsError
from ragassay.models.serving.keys import server_key


def test_a_key_is_made_where_none_is_given() -> None:
    first, second = server_key(None), server_key(None)
    assert first.is_new and second.is_new and first.value != second.value
    # 32 random bytes are 43 characters of base64.
    assert len(first.value) == len("sk-") + 43
    assert server_key(first.value).value == first.value


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
    with pytest.raises(SettingsError, match=r"server_key.*token_urlsafe") as refused:
        server_key(key)
    assert problem in str(refused.value)


def test_a_given_key_is_kept() -> None:
    key = server_key("9c1fX-27Qb_zzT0wmK4e")
    assert key.value == "9c1fX-27Qb_zzT0wmK4e" and not key.is_new
