"""Read conversations: the last answer is judged, the turns before it are its context.

{"messages": [{"role", "content"}]}                   OpenAI (fine-tuning, logs), LangGraph states
{"conversations": [{"from", "value"}]}                ShareGPT
{"user_input": [{"type", "content"}], "reference"}    ragas, several turns

The question is the last message of the user in front of the answer. System prompts are metadata.
What tools returned is read as sources: those of the answer's own turn first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragassay.formats.items import Item
from ragassay.formats.named_fields import FieldTally
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    is_list,
    is_mapping,
    is_object,
)
from ragassay.formats.ragassay_jsonl import read_ragassay
from ragassay.formats.replies import add_reply, find_shape, read_structured_reply
from ragassay.formats.reply_builder import (
    NAME_NAMES,
    TITLE_NAMES,
    Fields,
    ReplyBuilder,
    StructuredReply,
    free_text,
    get,
    get_fields,
    get_list,
    get_text,
)
from ragassay.formats.reply_messages import read_message
from ragassay.formats.rows import as_text, distinct_ids
from ragassay.formats.sniff import Format
from ragassay.formats.values import parse_json
from ragassay.records import Document, Record, Turn

Role = Literal["system", "user", "assistant", "tool"]
ROLES: dict[str, Role] = {
    **dict.fromkeys(("system", "developer", "SystemMessage", "SystemMessageChunk"), "system"),
    **dict.fromkeys(("user", "human", "HumanMessage", "HumanMessageChunk", "prompter"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "AIMessage", "AIMessageChunk", "gpt", "chatgpt", "bot", "chatbot"),
        "assistant",
    ),
    **dict.fromkeys(("model", "agent"), "assistant"),
    **dict.fromkeys(("tool", "function", "ToolMessage", "FunctionMessage"), "tool"),
    **dict.fromkeys(("observation", "tool_response", "context", "ipython"), "tool"),
}
"""Names of roles: those of OpenAI, LangChain, ShareGPT, Gemini, Cohere, Llama, OpenAssistant."""

_ROLE_NAMES = ("role", "from", "type", "author", "speaker")
_CONTENT_NAMES = ("content", "value", "text", "message", "parts")
_LISTS = ("messages", "conversations", "conversation", "user_input", "dialog", "dialogue")
ANSWER_FIELDS = ("answer", "response", "output", "completion")
"""Fields beside the messages that may hold the answer to the last of them."""

_PASSAGE_LISTS = ("documents", "results", "passages", "chunks", "contexts", "sources", "data")


@dataclass(frozen=True)
class Conversation:
    """The last answer of a conversation, and what stands in front of it.

    Attributes:
        question: The last message of the user in front of the answer.
        answer: The last message of the assistant that has a text.
        turns: The messages of the user and the assistant in front of the question.
        sources: What tools returned.
        system: System prompts.
        n_after: Messages behind the answer, which are not read.
    """

    question: str
    answer: StructuredReply
    turns: tuple[Turn, ...] = ()
    sources: tuple[Document, ...] = ()
    system: tuple[str, ...] = ()
    n_after: int = 0


@dataclass(frozen=True)
class _Message:
    role: Role
    fields: Fields
    reply: StructuredReply


def read_messages(messages: Sequence[object]) -> Conversation | Problem:
    """Read the messages of a conversation, oldest first, in any of the shapes of `ROLES`."""
    read: list[_Message] = []
    for n, message in enumerate(messages):
        made = _read_one(message)
        if isinstance(made, str):
            expected = "a message with a role (user, assistant, system, tool) and a content"
            return Problem(str(n), made, expected)
        read.append(made)
    last = _last(read, len(read), "assistant")
    if last is None:
        return Problem("", "no message of the assistant has a text", "an answer to be judged")
    asked = _last(read, last, "user")
    if asked is None:
        text = "no message of the user is in front of the last answer"
        return Problem("", text, "the question that it answers")
    return Conversation(
        question=read[asked].reply.text.strip(),
        answer=read[last].reply,
        turns=_turns(read[:asked]),
        sources=_sources([*read[asked:last], *read[:asked]]),
        system=tuple(one.reply.text for one in read if one.role == "system"),
        n_after=len(read) - 1 - last,
    )


def _last(messages: Sequence[_Message], end: int, role: Role) -> int | None:
    return next(
        (
            n
            for n in range(end - 1, -1, -1)
            if messages[n].role == role and messages[n].reply.text.strip()
        ),
        None,
    )


def _read_one(message: object) -> _Message | str:
    """Return a message, or what is wrong with it."""
    if is_list(message) and len(message) == 2:  # LangChain's ("human", "…")
        message = {"role": message[0], "content": message[1]}
    if not is_mapping(message):
        return f"found {describe_value(message)}"
    fields = {str(name): part for name, part in message.items()}
    fields = fields | get_fields(fields, "kwargs") | get_fields(fields, "data")
    name = _role_name(fields)
    role = ROLES.get(name) or ROLES.get(name.lower())
    if role is None:
        return f"found the role {describe_value(name)}" if name else "the message has no role"
    content = next((part for one in _CONTENT_NAMES if (part := get(fields, one)) is not None), "")
    builder = ReplyBuilder()
    read_message({**fields, "content": content}, builder)
    return _Message(role, {**fields, "content": content}, builder.build())


def read_history(history: object) -> tuple[Turn, ...] | None:
    """Return the turns of a chat history: messages, or pairs of a question and its answer.

    Returns:
        None where it is neither.
    """
    if not is_list(history) or not history:
        return None
    messages: list[object] = []
    for one in history:
        is_pair = is_list(one) and len(one) == 2 and one[0] not in ROLES
        if is_pair and is_list(one):
            roles = zip(("user", "assistant"), one, strict=True)
            messages += [{"role": role, "content": text or ""} for role, text in roles]
        else:
            messages.append(one)
    read = [_read_one(message) for message in messages]
    if any(isinstance(one, str) for one in read):
        return None
    return _turns(one for one in read if isinstance(one, _Message))


def _turns(messages: Iterable[_Message]) -> tuple[Turn, ...]:
    """Return what the user and the assistant wrote; calls of tools have no text."""
    return tuple(
        Turn(role="user" if one.role == "user" else "assistant", text=one.reply.text)
        for one in messages
        if one.role in ("user", "assistant") and one.reply.text.strip()
    )


def _role_name(fields: Fields) -> str:
    for name in _ROLE_NAMES:
        value = get(fields, name)
        value = get(value, "role") if is_mapping(value) else value
        if isinstance(value, str) and value not in ("constructor", "message"):
            return value
    ids = get_list(fields, "id")
    return str(ids[-1]) if ids else ""


def _sources(messages: Sequence[_Message]) -> tuple[Document, ...]:
    """Return what tools returned as documents: lists of passages, or the text itself."""
    found_sources: list[Document] = []
    for message in messages:
        if message.role != "tool":
            continue
        artifact = get(message.fields, "artifact")
        content = message.fields["content"] if not message.reply.text else message.reply.text
        passages = _passages(artifact) or _passages(_parse_content(content))
        if not passages and isinstance(content, str) and content.strip():
            passages = [{"text": content, "title": get_text(message.fields, "name")}]
        for passage in passages:
            name = get_text(passage, *NAME_NAMES) or str(len(found_sources) + 1)
            title, text = get_text(passage, *TITLE_NAMES), free_text(passage)
            found_sources.append(Document(id=name, text=text, title=title))
    ids = distinct_ids([one.id for one in found_sources])
    return tuple(
        one if one.id == name else one.model_copy(update={"id": name, "part_of": one.id})
        for one, name in zip(found_sources, ids, strict=True)
    )


def _parse_content(content: object) -> object:
    if not isinstance(content, str) or not content.lstrip().startswith(("[", "{")):
        return content
    value = parse_json(content.encode("utf-8", "replace"))
    return None if isinstance(value, Problem) else value


def _passages(value: object) -> list[Mapping[str, Any]]:
    """Return the passages of a tool's result; none where it has no list of texts or objects."""
    if is_object(value):
        inner = next((one for one in _PASSAGE_LISTS if is_list(value.get(one))), None)
        return _passages(value[inner]) if inner else []
    if not is_list(value):
        return []
    passages = [_passage(one) for one in value]
    return [one for one in passages if free_text(one).strip()]


def _passage(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"text": value}
    if not is_mapping(value):
        return {}
    fields = {str(name): part for name, part in value.items()}
    inner = get_fields(fields, "document", "node", "metadata")
    return inner | fields


def read_conversation(item: Item) -> Sequence[Record | Problem]:
    """Turn a row with messages into a record; its other fields are those of ragassay's format."""
    name = next((one for one in _LISTS if is_list(item.fields.get(one))), None)
    if name is None:
        seen = next((one for one in _LISTS if one in item.fields), _LISTS[0])
        text = f"found {describe_value(item.fields.get(seen))}"
        raise ProblemError(seen, text, 'a list of messages: [{"role": …, "content": …}]')
    given = item.fields[name]
    messages = list(given) if is_list(given) else []
    beside = next((key for key in ANSWER_FIELDS if item.fields.get(key)), None)
    if beside is not None:
        messages.append({"role": "assistant", "content": item.fields[beside]})
    conversation = read_messages(messages)
    if isinstance(conversation, Problem):
        where = ".".join(part for part in (name, conversation.field) if part)
        raise ProblemError(where, conversation.text, conversation.expected)
    fields = {key: value for key, value in item.fields.items() if key not in (name, beside)}
    fields |= {"question": conversation.question, "answer": conversation.answer.text}
    record = _with_turns(read_ragassay(replace(item, fields=fields)), conversation)
    return _with_reply(record, conversation.answer, name)


CONVERSATION = Format(
    name="conversation",
    required=(("messages", "conversations", "conversation", "dialog", "dialogue"),),
    fields=frozenset({"messages", "conversations", "conversation", "dialog", "dialogue", "id"}),
    leading="messages",
    keys="messages[{role, content}], or conversations[{from, value}]: the last answer is read",
    read=read_conversation,
)


def _with_reply(record: Record, reply: StructuredReply, name: str) -> list[Record | Problem]:
    """Return a record with what a reply cites, and what could not be read of the reply."""
    expected = "citations that name a source, and offsets inside the text"
    problems = [Problem(name, problem, expected) for problem in reply.problems]
    return [add_reply(record, reply), *problems]


def _with_turns(record: Record, conversation: Conversation) -> Record:
    kept = {"system_prompt": "\n\n".join(conversation.system)} if conversation.system else {}
    if conversation.n_after:
        kept["messages_after_the_answer"] = as_text(conversation.n_after)
    return record.model_copy(
        update={
            "turns": conversation.turns,
            "sources": record.sources or conversation.sources,
            "metadata": record.metadata | kept,
        }
    )


REPLY_FIELDS = ("answer", "response", "reply", "output", "result", "completion", "generation")
"""Fields of a row that may hold a reply."""

_ASKED = ("query", "prompt", "input")
HISTORY_FIELDS = ("chat_history", "history", "conversation_history", "previous_messages")
"""Fields of a row that may hold the turns in front of its question."""

_SHAPED = ("choices", "candidates", "message", "content")
"""Fields that make a row a provider's reply."""


def read_answer(item: Item, tally: FieldTally | None = None) -> Sequence[Record | Problem]:
    """Turn a row into a record, where its answer may be a reply that cites by structure.

    Citations that could not be read are problems beside the record. A chat history becomes turns.
    """
    name = next((one for one in HISTORY_FIELDS if is_list(item.fields.get(one))), "")
    turns = read_history(item.fields[name]) if name else None
    if turns is None:
        return _read_answer(item, tally)
    fields = {key: value for key, value in item.fields.items() if key != name}
    return [
        one.model_copy(update={"turns": turns}) if isinstance(one, Record) else one
        for one in _read_answer(replace(item, fields=fields), tally)
    ]


def _read_answer(item: Item, tally: FieldTally | None) -> Sequence[Record | Problem]:
    fields = item.fields
    name = next((one for one in REPLY_FIELDS if is_object(p := fields.get(one)) or is_list(p)), "")
    reply = read_structured_reply(fields[name]) if name else None
    taken: tuple[str, ...] = (name,)
    if reply is None and (shape := find_shape(fields)) is not None:
        taken = shape.fields
        reply = read_structured_reply(fields)
    if reply is None:
        return [read_ragassay(item, tally)]
    rest = {key: value for key, value in fields.items() if key not in taken}
    record = read_ragassay(replace(item, fields=rest | {"answer": reply.text}), tally)
    return _with_reply(record, reply, taken[0])


REPLY = Format(
    name="provider-reply",
    required=(("question", *_ASKED), (*_SHAPED, "reply")),
    fields=frozenset({"question", "reply", *_SHAPED}),
    leading="choices",
    keys="question, and a provider's reply: choices, candidates, output, content, message or "
    "response",
    read=read_answer,
)
