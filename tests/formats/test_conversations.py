"""Conversations: the last answer, the question in front of it, the turns before, tools' texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, messages_to_dict

from ragassay.formats import read_records, read_records_from_rows
from ragassay.formats.conversations import Conversation, read_history, read_messages
from ragassay.formats.named_fields import describe_input
from ragassay.formats.objects import extract_rows
from ragassay.formats.problems import Problem
from ragassay.records import Document, Record, Turn

TURNS = (Turn(role="user", text="A?"), Turn(role="assistant", text="A."))
LANGCHAIN = [HumanMessage("A?"), AIMessage("A."), HumanMessage("B?"), AIMessage("B.")]


def openai(*pairs: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in pairs]


TWO = (("user", "A?"), ("assistant", "A."), ("user", "B?"), ("assistant", "B."))


def named(role: str, user: str, assistant: str, text: str) -> list[dict[str, str]]:
    """The messages with other names of their fields and roles."""
    names = {"user": user, "assistant": assistant}
    return [{role: names[one], text: said} for one, said in TWO]


SHAPES: dict[str, Any] = {
    "OpenAI": {"messages": openai(*TWO)},
    "OpenAI, a developer's prompt": {"messages": openai(("developer", "Be brief."), *TWO)},
    "parts": {"messages": openai(*((r, [{"type": "text", "text": t}]) for r, t in TWO))},
    "input and output parts": {
        "messages": openai(*((r, [{"type": "input_text", "text": t}]) for r, t in TWO))
    },
    "ShareGPT": {"conversations": named("from", "human", "gpt", "value")},
    "Gemini": {
        "messages": [
            {"role": one["role"], "parts": [{"text": one["text"]}]}
            for one in named("role", "user", "model", "text")
        ]
    },
    "LangChain, pairs": {"messages": [["human" if r == "user" else "ai", t] for r, t in TWO]},
    "LangChain, dumped": {"messages": [one.model_dump() for one in LANGCHAIN]},
    "LangChain, messages_to_dict": {"messages": messages_to_dict(LANGCHAIN)},
    "LangChain, serialized": {"messages": [dumpd(one) for one in LANGCHAIN]},
    "an author with a role": {
        "messages": [{"author": {"role": role}, "content": text} for role, text in TWO]
    },
    "the answer beside its messages": {"messages": openai(*TWO[:3]), "response": "B."},
    "calls of tools between": {
        "messages": [
            *openai(*TWO[:3]),
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            *openai(TWO[3]),
        ]
    },
    "ragas, several turns": {
        "user_input": named("type", "human", "ai", "content"),
        "reference_topics": ["a"],
    },
}


@each_case("shape", SHAPES)
def test_the_last_answer_is_judged_with_the_turns_before_it(write, shape: str):
    found = read_records(write(SHAPES[shape]))
    assert found.rejections == ()
    (record,) = found.records
    assert (record.question, record.answer, record.turns) == ("B?", "B.", TURNS)
    assert record.sources == ()


def test_messages_of_langchain_in_memory_are_read():
    found = read_records_from_rows(extract_rows([{"messages": [SystemMessage("S."), *LANGCHAIN]}]))
    (record,) = found.records
    assert (record.answer, record.turns) == ("B.", TURNS)
    assert record.metadata == {"system_prompt": "S."}


def test_other_fields_of_the_row_are_those_of_an_answer(write):
    row = {"id": "c1", "reference": "R", "system": "s", "contexts": ["F."], "model": "m"}
    (record,) = read_records(write(row | {"messages": openai(*TWO)})).records
    assert (record.id, record.reference, record.system) == ("c1", "R", "s")
    assert record.sources == (Document(id="1", text="F."),)
    assert record.metadata == {"model": "m"}


PASSAGES = [{"id": "7", "title": "T", "text": "F."}, {"pmid": "8", "abstract": "G."}]
TOOLS: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    "plain text": (openai(("tool", "Found: F.")), [("1", "Found: F.")]),
    "a list of texts": (openai(("tool", '["F.", "G."]')), [("1", "F."), ("2", "G.")]),
    "a list of passages": (openai(("tool", json.dumps(PASSAGES[:1]))), [("7", "F.")]),
    "passages inside": (openai(("tool", json.dumps({"results": PASSAGES[:1]}))), [("7", "F.")]),
    "content parts": (openai(("tool", [{"type": "text", "text": "F."}])), [("1", "F.")]),
    "an object without passages": (openai(("tool", '{"ok": true}')), [("1", '{"ok": true}')]),
    "a function's result": (openai(("function", "F.")), [("1", "F.")]),
    "documents of LangChain": (
        openai(("tool", json.dumps([{"page_content": "F.", "metadata": {"source": "u"}}]))),
        [("u", "F.")],
    ),
    "two chunks of one document": (
        openai(("tool", '[{"id": "7", "text": "F."}, {"id": "7", "text": "G."}]')),
        [("7", "F."), ("7#2", "G.")],
    ),
    "nothing": (openai(("tool", "")), []),
}


@each_case("case", TOOLS)
def test_what_a_tool_returned_is_a_source(case: str):
    messages, sources = TOOLS[case]
    found = read_messages([*openai(*TWO[:3]), *messages, *openai(TWO[3])])
    assert isinstance(found, Conversation)
    assert [(one.id, one.text) for one in found.sources] == sources


def test_sources_of_the_answers_own_turn_come_first():
    earlier, own = openai(("tool", '["Old."]')), openai(("tool", '["New."]'))
    found = read_messages([TWO_[0], *earlier, TWO_[1], TWO_[2], *own, TWO_[3]])
    assert isinstance(found, Conversation)
    assert [one.text for one in found.sources] == ["New.", "Old."]


TWO_ = openai(*TWO)


def test_a_structured_answer_in_a_conversation_keeps_its_citations(write):
    note = {"type": "url_citation", "url_citation": {"url": "u", "start_index": 0, "end_index": 2}}
    messages = [*openai(*TWO[:3]), {"role": "assistant", "content": "B.", "annotations": [note]}]
    (record,) = read_records(write({"messages": messages})).records
    assert [one.documents for one in record.citations] == [("u",)]


def test_messages_behind_the_answer_are_counted_not_read(write):
    (record,) = read_records(write({"messages": openai(*TWO, ("user", "C?"))})).records
    assert (record.question, record.answer) == ("B?", "B.")
    assert record.metadata == {"messages_after_the_answer": "1"}


@each_case(
    ("messages", "field", "problem"),
    [
        (openai(("user", "A?")), "messages", "no assistant message"),
        (openai(("assistant", "A.")), "messages", "no user message"),
        (openai(("user", "A?"), ("assistant", "")), "messages", "no assistant message"),
        ([{"content": "A?"}], "messages.0", "no role"),
        (openai(("narrator", "A?")), "messages.0", '"narrator"'),
        (["A?"], "messages.0", 'the text "A?"'),
        ([], "messages", "no assistant message"),
        ("A?", "messages", 'the text "A?"'),
        ({"role": "user"}, "messages", "an object"),
    ],
)
def test_a_conversation_that_cannot_be_read_is_named(write, messages, field, problem):
    found = read_records(write({"messages": openai(*TWO)}, {"messages": messages}))
    assert len(found.records) == 1
    (rejection,) = found.rejections
    assert (rejection.line, rejection.field) == (2, field)
    assert problem in rejection.problem


@pytest.mark.parametrize("other", [None, [], "text", [1], [["a", "b", "c"]], [{"role": "x"}]])
def test_what_is_no_history_is_none(other: object):
    assert read_history(other) is None
    assert isinstance(read_messages([other]), Problem)


def test_the_run_says_once_how_many_answers_are_last_turns():
    def record(*turns: Turn) -> Record:
        return Record(id="r", question="Q?", answer="A.", turns=turns)

    told = "the last turn of a conversation; earlier turns were read as context, not judged."
    assert describe_input({}, [record()]) == ()
    assert describe_input({}, [record(), record(*TURNS)]) == (f"1 answer is {told}",)
    assert describe_input({}, [record(*TURNS)] * 2) == (f"2 answers are {told}",)
