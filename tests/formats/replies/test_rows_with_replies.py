"""Rows of answers whose answer is a provider's reply, in files and in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from lazy import LazyModule

from ragassay.applications.apps import AppAnswer, read_reply
from ragassay.errors import InputError
from ragassay.formats import read_records, read_records_from_rows
from ragassay.formats.objects import extract_rows, split_response
from ragassay.formats.replies import add_reply, read_structured_reply
from ragassay.formats.write import write_records
from ragassay.records import CitedSpan, Document, Record, Turn

openai_chat = LazyModule("openai.types.chat")

TEXT = "It fell by 2 points."
NOTE = {
    "type": "url_citation",
    "url_citation": {"url": "https://a.org", "title": "A", "start_index": 0, "end_index": 20},
}
MESSAGE = {"role": "assistant", "content": TEXT, "annotations": [NOTE]}
CHAT: dict[str, Any] = {
    **{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"},
    "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
}
BLOCK = {"type": "output_text", "text": TEXT, "annotations": [NOTE]}
QUOTE = {"type": "char_location", "cited_text": "fell by 2", "document_index": 1}
CLAUDE = {"role": "assistant", "content": [{"type": "text", "text": TEXT, "citations": [QUOTE]}]}
SPAN = (CitedSpan(start=0, end=20, documents=("https://a.org",)),)


@pytest.mark.parametrize(
    "row",
    [
        *({"question": "Q?", name: CHAT} for name in ("answer", "response", "reply", "output")),
        {"question": "Q?"} | CHAT,
        {"query": "Q?"} | CHAT,
        {"question": "Q?", "output": [{"type": "message", "content": [BLOCK]}]},
    ],
)
def test_a_reply_in_a_row_or_beside_its_question_is_the_answer(write, row):
    found = read_records(write(row))
    assert found.rejections == ()
    (record,) = found.records
    assert (record.question, record.answer, record.citations) == ("Q?", TEXT, SPAN)
    assert [(one.id, one.title, one.text) for one in record.sources] == [("https://a.org", "A", "")]
    assert "choices" not in record.metadata


def test_what_is_written_of_it_comes_back(write, tmp_path):
    record = read_records(write({"id": "a", "question": "Q?", "answer": CHAT})).records[0]
    record = record.model_copy(update={"turns": (Turn(role="user", text="Hi."),)})
    path = tmp_path / "again.jsonl"
    assert write_records([record], path).left_out == {}
    assert read_records(path).records == (record,)


def test_a_document_that_the_request_numbered_is_the_records_own_source(write):
    sources = [{"id": "7", "text": "No."}, {"id": "8", "text": "It fell by 2 mg."}]
    row = {"question": "Q?", "answer": CLAUDE, "sources": sources}
    (record,) = read_records(write(row)).records
    assert [one.id for one in record.sources] == ["7", "8"]
    assert record.citations == (CitedSpan(start=0, end=20, documents=("8",)),)


@pytest.mark.parametrize(
    ("own", "id_found"),
    [
        ([Document(id="https://a.org", text="T")], "https://a.org"),
        ([Document(id="7", text="T", title="A")], "7"),
        ([Document(id="7", text="T", title="A"), Document(id="8", text="T", title="A")], None),
        ([Document(id="7", text="T")], None),
    ],
)
def test_a_source_of_a_reply_is_the_records_where_id_or_title_say_so(own, id_found):
    reply = read_structured_reply(CHAT)
    assert reply is not None
    record = Record(id="r", question="Q?", answer=TEXT, sources=tuple(own))
    joined = add_reply(record, reply)
    assert joined.citations[0].documents == (id_found or "https://a.org",)
    assert len(joined.sources) == len(own) + (id_found is None)


def test_citations_that_cannot_be_placed_are_reported_beside_the_record(write):
    note = {"type": "url_citation", "url": "u", "start_index": 90, "end_index": 99}
    message = {"role": "assistant", "content": TEXT, "annotations": [note]}
    found = read_records(write({"question": "Q?", "answer": {"choices": [{"message": message}]}}))
    (record,), (rejection,) = found.records, found.rejections
    assert record.answer == TEXT and record.citations == ()
    assert (rejection.line, rejection.field) == (1, "answer")
    assert "characters 90 to 99, but the text has 20" in rejection.problem
    assert "characters 90 to 99" in record.metadata["unread_citations"]


@each_case("name", ["chat_history", "history", "conversation_history"])
@each_case(
    "history",
    [
        [["A?", "A."]],
        [{"role": "user", "content": "A?"}, {"role": "assistant", "content": "A."}],
        [["human", "A?"], ["ai", "A."]],
    ],
)
def test_a_chat_history_beside_the_question_is_earlier_turns(write, name, history):
    (record,) = read_records(write({"question": "B?", "answer": "B.", name: history})).records
    assert record.turns == (Turn(role="user", text="A?"), Turn(role="assistant", text="A."))
    assert name not in record.metadata


def test_a_history_of_something_else_is_metadata(write):
    row = {"question": "B?", "answer": "B.", "history": [{"time": 1}]}
    (record,) = read_records(write(row)).records
    assert record.turns == () and json.loads(record.metadata["history"]) == [{"time": 1}]


def test_objects_in_rows_and_as_an_answer_are_read(write):
    made = openai_chat.ChatCompletion.model_validate(CHAT)
    found = read_records_from_rows(extract_rows([{"question": "Q?", "answer": made}]))
    assert found.records[0].citations == SPAN
    parts = split_response(made)
    assert parts.text == TEXT and parts.reply is not None and parts.reply.citations == SPAN
    assert split_response("It fell.").reply is None
    with pytest.raises(InputError, match="a provider reply"):
        split_response(7)


STATE = {
    "messages": [
        HumanMessage("Q?"),
        ToolMessage("x", tool_call_id="1", artifact=[Document(id="d", text="F.")]),
        AIMessage(TEXT, additional_kwargs={"annotations": [NOTE]}),
    ]
}


@pytest.mark.parametrize(
    ("reply", "sources"),
    [
        (CHAT, ["https://a.org"]),
        (openai_chat.ChatCompletion.model_validate(CHAT), ["https://a.org"]),
        ({"answer": CHAT, "cost_usd": 0.5}, ["https://a.org"]),
        ({"answer": CHAT, "sources": [{"id": "d", "text": "F."}]}, ["d", "https://a.org"]),
        (AIMessage(TEXT, additional_kwargs={"annotations": [NOTE]}), ["https://a.org"]),
        (STATE, ["d", "https://a.org"]),
    ],
)
def test_an_application_may_return_a_reply(reply, sources):
    found = read_reply(reply)
    assert (found.answer, found.citations) == (TEXT, SPAN)
    assert [one.id for one in found.sources] == sources


def test_tokens_of_a_reply_are_counted():
    assert (read_reply(CHAT).n_prompt_tokens, read_reply(CHAT).n_completion_tokens) == (11, 7)
    message = AIMessage(
        TEXT, usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    )
    found = read_reply(message)
    assert (found.n_prompt_tokens, found.n_completion_tokens) == (3, 4)


def test_a_dictionary_with_a_text_stays_what_it_was():
    reply = {"answer": "It fell [1].", "context": ["F."], "content": [{"type": "x", "text": "T"}]}
    assert read_reply(reply) == AppAnswer("It fell [1].", (Document(id="1", text="F."),))
