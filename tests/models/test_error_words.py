"""Errors by their providers' words."""

from __future__ import annotations

from case_tables import each_case

from ragassay.models.provider_errors import MEANINGS, detect_meaning


def test_examples_of_the_table_have_their_meanings() -> None:
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
def test_what_passes_by_itself_is_no_gone_quota(
    status: int, words: str, meaning: str | None
) -> None:
    assert detect_meaning(status, words) == meaning
