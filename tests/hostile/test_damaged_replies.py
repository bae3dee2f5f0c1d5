"""A reply or a conversation with any part of it damaged is read in part or not at all: no crash."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from case_tables import each_case

from ragassay.formats.conversations import Conversation, read_history, read_messages
from ragassay.formats.problems import Problem
from ragassay.formats.replies import SHAPES, read_structured_reply

REPLIES = Path(__file__).parents[1] / "formats" / "replies" / "replies.yaml"
EXAMPLES = {
    case["shape"]: case["reply"]
    for case in yaml.safe_load(REPLIES.read_text("utf-8")).values()
    if "shape" in case
}
JUNK: tuple[Any, ...] = (
    *(None, True, -1, 10**12, 0.5, "", "7", "\x00", "99999999999999999999"),
    *([], {}, [[]], [None], [{}], {"text": {}}, {"": None}, ["x"], [{"type": "text"}]),
)
MESSAGES = [
    {"role": "system", "content": "S."},
    {"role": "user", "content": [{"type": "text", "text": "Q?"}]},
    {"role": "tool", "content": '[{"id": "7", "text": "F."}]', "artifact": ["G."]},
    {"type": "constructor", "id": ["x", "AIMessage"], "kwargs": {"content": "A.", "type": "ai"}},
]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        yield (*path, key)
        yield from paths(part, (*path, key))


def damaged(value: Any) -> Iterator[Any]:
    for path in paths(value):
        for junk in JUNK:
            made = copy.deepcopy(value)
            inner = made
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = junk
            yield made


@each_case("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_reply_with_a_damaged_part_is_read_without_a_crash(shape):
    for reply in damaged(EXAMPLES[shape.name]):
        found = read_structured_reply(reply)
        if found is None:
            continue
        known = {one.id for one in found.sources}
        assert len(known) == len(found.sources)
        for span in found.citations:
            assert 0 <= span.start <= span.end <= len(found.text)
            assert known.issuperset(span.documents)


def test_a_conversation_with_a_damaged_part_is_read_or_named():
    for messages in damaged(MESSAGES):
        assert isinstance(read_messages(messages), Conversation | Problem)
        read_history(messages)


def test_a_reply_nested_without_end_is_none():
    deep: Any = {"type": "text", "text": "A."}
    for _ in range(5_000):
        deep = {"type": "text", "citationsContent": {"content": [deep]}}
    assert read_structured_reply([deep]) is None
    for _ in range(5_000):
        deep = [deep]
    assert read_structured_reply({"choices": deep}) is None
