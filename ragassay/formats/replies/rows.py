"""Read rows of answers whose answer is a provider's reply, or that are one beside a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragassay.formats.conversations import read_history
from ragassay.formats.items import Item
from ragassay.formats.named_fields import FieldTally
from ragassay.formats.problems import Problem, is_list, is_object
from ragassay.formats.ragassay_jsonl import read_ragassay
from ragassay.formats.replies.builder import StructuredReply
from ragassay.formats.replies.reading import add_reply, find_shape, read_structured_reply
from ragassay.formats.sniff import Format
from ragassay.records import Record

ANSWER_FIELDS = ("answer", "response", "reply", "output", "result", "completion", "generation")
"""Fields of a row that may hold a reply."""

_ASKED = ("query", "prompt", "input")
HISTORY_FIELDS = ("chat_history", "history", "conversation_history", "previous_messages")
"""Fields of a row that may hold the turns in front of its question."""

_SHAPED = ("choices", "candidates", "message", "content")
"""Fields that make a row a provider's reply."""

REPLY = Format(
    name="provider-reply",
    required=(("question", *_ASKED), (*_SHAPED, "reply")),
    fields=frozenset({"question", "reply", *_SHAPED}),
    leading="choices",
    keys="question, and a provider's reply: choices, candidates, output, content, message or "
    "response",
)


def read_answer(
    item: Item, tally: FieldTally | None = None
) -> Record | Problem | Sequence[Record | Problem]:
    """Turn a row into a record, where its answer may be a reply that cites by structure.

    Citations that could not be read are problems beside the record. A chat history becomes turns.

    Args:
        item: The row.
        tally: Counts where question, answer and sources were read; None where nobody asks.
    """
    name = next((one for one in HISTORY_FIELDS if is_list(item.fields.get(one))), "")
    turns = read_history(item.fields[name]) if name else None
    if turns is None:
        return _read_answer(item, tally)
    fields = {key: value for key, value in item.fields.items() if key != name}
    made = _read_answer(replace(item, fields=fields), tally)
    outcomes = [made] if isinstance(made, Record | Problem) else made
    return [
        one.model_copy(update={"turns": turns}) if isinstance(one, Record) else one
        for one in outcomes
    ]


def _read_answer(
    item: Item, tally: FieldTally | None
) -> Record | Problem | Sequence[Record | Problem]:
    fields = item.fields
    name = next((one for one in ANSWER_FIELDS if is_object(p := fields.get(one)) or is_list(p)), "")
    reply = read_structured_reply(fields[name]) if name else None
    if reply is not None:
        rest = {key: value for key, value in fields.items() if key != name}
        return _read_with(replace(item, fields=rest), reply, name, tally)
    shape = find_shape(fields)
    reply = read_structured_reply(fields) if shape is not None else None
    if shape is None or reply is None:
        return read_ragassay(item, tally)
    rest = {key: value for key, value in fields.items() if key not in shape.fields}
    return _read_with(replace(item, fields=rest), reply, shape.fields[0], tally)


def _read_with(
    item: Item, reply: StructuredReply, name: str, tally: FieldTally | None
) -> Record | Problem | Sequence[Record | Problem]:
    fields = item.fields | {"answer": reply.text}
    record = read_ragassay(replace(item, fields=fields), tally)
    if isinstance(record, Problem):
        return record
    expected = "citations that name a source, and offsets inside the text"
    problems = [Problem(name, problem, expected) for problem in reply.problems]
    return [add_reply(record, reply), *problems]
