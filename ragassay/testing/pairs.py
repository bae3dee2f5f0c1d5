"""Generate question-answer pairs that pass the checks of `ragassay qa generate`.

Each answer is a sentence copied from the paper. Random text would not pass the checks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from ragassay.testing.chat_completions import JsonSchema

_LEAST_WORDS, _MOST_WORDS = 8, 60
_SENTENCE_END = re.compile(r"(?<=[.])\s+(?=[A-Z])")
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{3,40}")
_NEEDS_PAPER = re.compile(
    r"\b(?:we|our|us|this|these|those|here|figures?|figs?|tables?|sections?|study|studies|trial"
    r"|paper|article|authors?|above|below|it|they|their|its|such)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"^number: (\d{1,3})\b", re.MULTILINE)
_FAULTY = re.compile(r"^Question: ", re.MULTILINE)
_N_PAIRS = 3
"""Number of pairs if the prompt does not specify a number."""


def asks_for_pairs(schema: JsonSchema) -> bool:
    """Return whether a schema asks for a list of question-answer pairs."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or set(properties) != {"pairs"}:
        return False
    return {"question", "answer"} <= set(_find_pair_properties(schema))


def build_pairs(schema: JsonSchema, text: str) -> dict[str, list[dict[str, str]]]:
    """Build the reply to a prompt that contains a paper and asks for pairs.

    Args:
        schema: Schema accepted by `asks_for_pairs`.
        text: Prompt with the paper in its first `<data ...>` block, if there is one. The number of
            pairs is the number after "number:", or else the number of faulty pairs ("Question:
            ...") in the prompt.

    Returns:
        Pairs whose answer and quote are the same sentence from the paper. Pairs whose question is
        already in the prompt are excluded. If the paper has too few sentences, pairs of empty
        strings are added.
    """
    paper, request = _split(text)
    properties = _find_pair_properties(schema)
    limits = [_limit(properties, name) for name in ("answer", "quote")]
    pairs = []
    for sentence in _find_sentences(paper, min(limits)):
        question = _write_question(sentence)[: _limit(properties, "question")]
        if question not in request:
            pairs.append({"question": question, "answer": sentence, "quote": sentence})
    number = _NUMBER.search(request)
    n_pairs = int(number[1]) if number else len(_FAULTY.findall(request)) or _N_PAIRS
    pairs += [dict.fromkeys(("question", "answer", "quote"), "")] * n_pairs
    names = [name for name in ("question", "answer", "quote") if name in properties]
    return {"pairs": [{name: pair[name] for name in names} for pair in pairs[:n_pairs]]}


def _find_pair_properties(schema: JsonSchema) -> JsonSchema:
    pair = _get_member(_get_member(_get_member(schema, "properties"), "pairs"), "items")
    if isinstance(reference := pair.get("$ref"), str):
        pair = _get_member(_get_member(schema, "$defs"), reference.rpartition("/")[2])
    return _get_member(pair, "properties")


def _get_member(schema: JsonSchema, name: str) -> JsonSchema:
    found = schema.get(name)
    return found if isinstance(found, Mapping) else {}


def _limit(properties: JsonSchema, name: str) -> int:
    longest = _get_member(properties, name).get("maxLength")
    return longest if isinstance(longest, int) else 10_000


def _split(text: str) -> tuple[str, str]:
    _, opened, rest = text.partition("<data ")
    mark, closed, rest = rest.partition(">")
    paper, ended, request = rest.partition(f"</data {mark}>")
    return (paper, request) if opened and closed and ended else (text, text)


def _find_sentences(paper: str, most_chars: int) -> list[str]:
    """Return the sentences that can be understood without the paper, ordered by their hashes."""
    found = [
        sentence
        for line in paper.splitlines()
        for sentence in _SENTENCE_END.split(line.strip())
        if sentence.endswith(".")
        and _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS
        and len(sentence) <= most_chars
        and not _NEEDS_PAPER.search(sentence)
    ]
    return sorted(dict.fromkeys(found), key=lambda text: hashlib.sha256(text.encode()).digest())


def _write_question(sentence: str) -> str:
    words = dict.fromkeys(_WORD.findall(sentence))
    longest = sorted(words, key=len, reverse=True)[:3]
    keywords = [word for word in words if word in longest]
    return f"How do {', '.join(keywords)} go together?"
