"""The key of the server: a strong one is made, a weak one refused."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.errors import SettingsError
from ragassay.models.serving.server import check_server_key, make_server_key


def test_a_made_key_is_strong() -> None:
    first, second = make_server_key(), make_server_key()
    assert first != second
    # 32 random bytes are 43 characters of base64.
    assert len(first) == len("sk-") + 43
    check_server_key(first)


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
        check_server_key(key)
    assert problem in str(refused.value)


def test_a_strong_key_passes() -> None:
    check_server_key("9c1fX-27Qb_zzT0wmK4e")
