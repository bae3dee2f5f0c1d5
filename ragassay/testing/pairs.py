"""Write question-answer pairs as a model would that copies: each answer is a sentence of the paper.

`ragassay qa generate` checks what a model writes, so that the usual default replies, which quote
any words of a prompt, would leave it without a pair.
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
"""Pairs where the prompt names no number."""


def asks_for_pairs(schema: JsonSchema) -> bool:
    """Return whether a schema is of nothing but a list of pairs."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or set(properties) != {"pairs"}:
        return False
    return {"question", "answer"} <= set(_pair_properties(schema))


def build_pairs(schema: JsonSchema, text: str) -> dict[str, list[dict[str, str]]]:
    """Build the reply to a prompt that shows a paper and asks for pairs, or for better ones.

    Args:
        schema: One of which `asks_for_pairs`.
        text: The prompt: the paper in its first `<data ...>` block, or unfenced. As many pairs as
            its "number:" says, or as it shows faulty ones ("Question: ...").

    Returns:
        Pairs whose answer and quote are a sentence of the paper and whose question names words of
        it; those of which the prompt has the question already are left out. Where sentences run
        out, pairs of empty texts: "no better one".
    """
    paper, asked = _split(text)
    properties = _pair_properties(schema)
    limits = [_limit(properties, name) for name in ("answer", "quote")]
    pairs = []
    for sentence in _sentences(paper, min(limits)):
        question = _question(sentence)[: _limit(properties, "question")]
        if question not in asked:
            pairs.append({"question": question, "answer": sentence, "quote": sentence})
    number = _NUMBER.search(asked)
    wanted = int(number[1]) if number else len(_FAULTY.findall(asked)) or _N_PAIRS
    pairs += [dict.fromkeys(("question", "answer", "quote"), "")] * wanted
    names = [name for name in ("question", "answer", "quote") if name in properties]
    return {"pairs": [{name: pair[name] for name in names} for pair in pairs[:wanted]]}


def _pair_properties(schema: JsonSchema) -> JsonSchema:
    """Return the properties of a pair, by way of a reference where there is one."""
    pairs = _member(_member(schema, "properties"), "pairs")
    pair = _member(pairs, "items")
    if isinstance(reference := pair.get("$ref"), str):
        pair = _member(_member(schema, "$defs"), reference.rpartition("/")[2])
    return _member(pair, "properties")


def _member(schema: JsonSchema, name: str) -> JsonSchema:
    found = schema.get(name)
    return found if isinstance(found, Mapping) else {}


def _limit(properties: JsonSchema, name: str) -> int:
    longest = _member(properties, name).get("maxLength")
    return longest if isinstance(longest, int) else 10_000


def _split(text: str) -> tuple[str, str]:
    """Return what the first data block has, and what comes after it."""
    _, opened, rest = text.partition("<data ")
    mark, closed, rest = rest.partition(">")
    paper, ended, asked = rest.partition(f"</data {mark}>")
    return (paper, asked) if opened and closed and ended else (text, text)


def _sentences(paper: str, most_chars: int) -> list[str]:
    """Return the sentences that can be understood alone, in an order that the paper decides."""
    found = [
        sentence
        for line in paper.splitlines()
        for sentence in _SENTENCE_END.split(line.strip())
        if sentence.endswith(".")
        and _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS
        and len(sentence) <= most_chars
        and not _NEEDS_PAPER.search(sentence)
    ]
    return sorted(dict.fromkeys(found), key=lambda one: hashlib.sha256(one.encode()).digest())


def _question(sentence: str) -> str:
    words = dict.fromkeys(_WORD.findall(sentence))
    longest = sorted(words, key=len, reverse=True)[:3]
    named = [word for word in words if word in longest]
    return f"How do {', '.join(named)} go together?"
