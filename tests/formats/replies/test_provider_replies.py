"""Replies of providers: the answer, the spans that cite, the sources, whatever the shape."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from case_tables import each_case

from ragassay.formats.replies import SHAPES, find_shape, read_structured_reply
from ragassay.formats.reply_builder import MAX_SPANS, ReplyBlock, StructuredReply

CASES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text("utf-8"))


def read(reply: object) -> StructuredReply:
    found = read_structured_reply(reply)
    assert found is not None
    return found


def cited(reply: StructuredReply) -> list[list[Any]]:
    return [[reply.text[one.start : one.end], list(one.documents)] for one in reply.citations]


@each_case("name", CASES)
def test_a_reply_is_read_with_what_it_cites(name: str):
    case = CASES[name]
    found = read(case["reply"])
    assert (found.text, found.problems) == (case["text"], ())
    assert cited(found) == case.get("cites", [])
    assert [[one.id, one.title, one.text] for one in found.sources] == case.get("sources", [])


@each_case("name", CASES)
def test_an_object_with_attributes_reads_as_its_dictionary(name: str):
    reply = CASES[name]["reply"]
    made = json.loads(json.dumps(reply), object_hook=lambda fields: SimpleNamespace(**fields))
    assert read_structured_reply(made) == read_structured_reply(reply)


def test_each_shape_has_an_example():
    examples = {case["shape"]: case["reply"] for case in CASES.values() if "shape" in case}
    assert examples.keys() == {shape.name for shape in SHAPES}
    for shape in SHAPES:
        assert find_shape(examples[shape.name]) is shape
        assert any(name in examples[shape.name] for name in shape.fields)


TEXT = "It fell by 2 points. It rose later."
FELL = TEXT[:20]


def url(start: int, end: int, name: str = "https://a.org") -> dict[str, Any]:
    note = {"url": name, "title": "A", "start_index": start, "end_index": end}
    return {"type": "url_citation", "url_citation": note}


def chat(text: str, *notes: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text, "annotations": list(notes)}}]}


def gemini(text: str, chunk: int, part: int | None = None) -> dict[str, Any]:
    segment = {"end_index": len(text), "text": text, "part_index": part}
    grounding = {
        "grounding_chunks": [{"web": {"uri": "https://a.org", "title": "a.org"}}],
        "grounding_supports": [{"segment": segment, "grounding_chunk_indices": [chunk]}],
    }
    content = {"parts": [{"text": text}]}
    return {"candidates": [{"content": content, "grounding_metadata": grounding}]}


@each_case(
    "other",
    [
        {},
        {"answer": "It fell."},
        {"content": "It fell."},
        {"role": "user", "content": "Q?"},
        {"content": ["It fell."]},
        {"message": "It fell."},
        {"message": {"role": "user", "content": "Q?"}},
        {"text": "It fell.", "pmid": 7},
        {"choices": ["A", "B"]},
        {"choices": {"a": "yes"}},
        {"output": "It fell."},
        {"candidates": [{"docid": "d", "doc": {"segment": "S"}}]},
        {"data": [{"role": "user", "content": "Q?"}]},
        {"response": "It fell."},
        [],
        ["It fell."],
        [{"text": "It fell.", "citations": [1]}],
        7,
        None,
    ],
)
def test_what_is_no_reply_is_not_taken_for_one(other: object):
    assert read_structured_reply(other) is None


@each_case(
    ("start", "end", "kept"),
    [(5, 30, [(5, 8)]), (30, 40, []), (-3, 4, [(0, 4)]), (6, 2, []), (8, 9, []), (8, 8, [(8, 8)])],
)
def test_an_offset_outside_the_text_is_reported_and_what_lies_in_it_kept(start, end, kept):
    found = read(chat("It fell.", url(start, end)))
    assert [(one.start, one.end) for one in found.citations] == kept
    assert [one.id for one in found.sources] == ["https://a.org"]
    assert len(found.problems) == (0 if start == end else 1)


@each_case(
    ("reply", "problem"),
    [
        (gemini("It fell.", 3), "missing chunk"),
        (gemini("A.", 0, part=4), "part 4, but the number of parts is 1"),
        (chat("A.", {"type": "new_kind"}), "'new_kind' does not specify a source"),
        (
            {"choices": [{"message": {"content": "A."}}, {"message": {"content": "B."}}]},
            "first of 2 choices",
        ),
    ],
)
def test_what_cannot_be_read_of_a_reply_is_reported(reply, problem):
    assert any(problem in one for one in read(reply).problems)


def test_a_quote_decides_between_ways_to_count():
    # "é" is 2 bytes and the smiley 4 bytes, or 2 units of UTF-16.
    block = ReplyBlock(0, "é😀 fell, fell by 2")
    for start, end in ((3, 7), (7, 11), (4, 8), (3, 6)):
        assert block.locate(start, end, "fell") == (3, 7)
    assert block.locate(7, 11, unit="bytes") == (3, 7)
    assert (block.locate(90, 94), block.locate(90, 94, "by 2")) == ((90, 94), (14, 18))


def test_a_reply_with_endless_citations_is_read_in_part_and_said():
    notes = [url(n, n + 1, f"u{n % 7}") for n in range(MAX_SPANS + 5)]
    found = read(chat("x" * (MAX_SPANS + 10), *notes))
    assert len(found.citations) == MAX_SPANS
    assert found.problems == (f"5 citations beyond the first {MAX_SPANS:,} were not read",)


def test_objects_of_real_libraries_are_read():
    from langchain_core.messages import AIMessage
    from litellm import ModelResponse
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    message = {"role": "assistant", "content": TEXT, "annotations": [url(0, 20)]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    about = {"id": "c", "created": 1, "model": "m", "object": "chat.completion"}
    note = {"type": "url_citation"} | url(0, 20)["url_citation"]
    block = {"type": "output_text", "text": TEXT, "annotations": [note]}
    output = [{"type": "message", "role": "assistant", "content": [block]}]
    for made in (
        ChatCompletion.model_validate(about | {"choices": [choice]}),
        ModelResponse(**about, choices=[choice]),
        Response.model_construct(object="response", output=output),
        AIMessage(content=CASES["LangChain: standard blocks"]["reply"]["content"]),
        AIMessage(content=TEXT, additional_kwargs={"annotations": [url(0, 20)]}),
    ):
        found = read(made)
        assert found.text == TEXT
        assert cited(found)[0][0] == FELL
