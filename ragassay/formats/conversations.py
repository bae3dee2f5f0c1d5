"""Read conversations. The last answer is evaluated, and earlier turns are its context.

{"messages": [{"role", "content"}]}                   OpenAI (fine-tuning, logs), LangGraph states
{"conversations": [{"from", "value"}]}                ShareGPT
{"user_input": [{"type", "content"}], "reference"}    ragas, multi-turn

The question is the last user message before the answer. System prompts become metadata, and tool
results become sources, starting with those of the last turn.
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
    collect_free_text,
    get,
    get_fields,
    get_list,
    get_text,
)
from ragassay.formats.reply_messages import read_message
from ragassay.formats.rows import as_text, distinguish_ids
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
"""Role names used by OpenAI, LangChain, ShareGPT, Gemini, Cohere, Llama and OpenAssistant."""

_ROLE_NAMES = ("role", "from", "type", "author", "speaker")
_CONTENT_NAMES = ("content", "value", "text", "message", "parts")
_LISTS = ("messages", "conversations", "conversation", "user_input", "dialog", "dialogue")
ANSWER_FIELDS = ("answer", "response", "output", "completion")
"""Fields next to the list of messages that may contain the answer to the last message."""

_PASSAGE_LISTS = ("documents", "results", "passages", "chunks", "contexts", "sources", "data")


@dataclass(frozen=True)
class Conversation:
    """The last answer in a conversation, with the preceding messages.

    Attributes:
        question: Last user message before the answer.
        answer: Last assistant message that contains text.
        turns: User and assistant messages before the question.
        n_after: Number of ignored messages after the answer.
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
    """Read a list of messages, oldest first, in any format that uses the roles in `ROLES`."""
    read: list[_Message] = []
    for n, raw_message in enumerate(messages):
        message = _read_one(raw_message)
        if isinstance(message, str):
            expected = "a message with a role (user, assistant, system, tool) and content"
            return Problem(str(n), message, expected)
        read.append(message)
    if (answer := _find_last(read, len(read), "assistant")) is None:
        return Problem(
            "", "no assistant message contains text", "an assistant message with an answer"
        )
    if (question := _find_last(read, answer, "user")) is None:
        return Problem(
            "", "no user message precedes the last answer", "a user message with the question"
        )
    return Conversation(
        question=read[question].reply.text.strip(),
        answer=read[answer].reply,
        turns=_list_turns(read[:question]),
        sources=_collect_sources([*read[question:answer], *read[:question]]),
        system=tuple(message.reply.text for message in read if message.role == "system"),
        n_after=len(read) - 1 - answer,
    )


def _find_last(messages: Sequence[_Message], end: int, role: Role) -> int | None:
    texts = enumerate(one.reply.text.strip() if one.role == role else "" for one in messages[:end])
    return max((n for n, text in texts if text), default=None)


def _read_one(message: object) -> _Message | str:
    if is_list(message) and len(message) == 2:  # LangChain's ("human", "…") pairs
        message = {"role": message[0], "content": message[1]}
    if not is_mapping(message):
        return f"found {describe_value(message)}"
    fields = {str(name): part for name, part in message.items()}
    fields = fields | get_fields(fields, "kwargs") | get_fields(fields, "data")
    name = _find_role_name(fields)
    role = ROLES.get(name) or ROLES.get(name.lower())
    if role is None:
        return f"found the role {describe_value(name)}" if name else "the message has no role"
    content = next((part for one in _CONTENT_NAMES if (part := get(fields, one)) is not None), "")
    builder = ReplyBuilder()
    read_message({**fields, "content": content}, builder)
    return _Message(role, {**fields, "content": content}, builder.build())


def read_history(history: object) -> tuple[Turn, ...] | None:
    """Return the turns of a chat history, or None if it is not a chat history.

    The history is a list of messages or of (question, answer) pairs.
    """
    if not is_list(history) or not history:
        return None
    messages: list[object] = []
    for entry in history:
        if is_list(entry) and len(entry) == 2 and entry[0] not in ROLES:
            roles = zip(("user", "assistant"), entry, strict=True)
            messages += [{"role": role, "content": text or ""} for role, text in roles]
        else:
            messages.append(entry)
    read = [_read_one(message) for message in messages]
    if any(isinstance(message, str) for message in read):
        return None
    return _list_turns(message for message in read if isinstance(message, _Message))


def _list_turns(messages: Iterable[_Message]) -> tuple[Turn, ...]:
    """Return the user and assistant messages that contain text. Tool calls are excluded."""
    return tuple(
        Turn(role="user" if one.role == "user" else "assistant", text=one.reply.text)
        for one in messages
        if one.role in ("user", "assistant") and one.reply.text.strip()
    )


def _find_role_name(fields: Fields) -> str:
    for name in _ROLE_NAMES:
        value = get(fields, name)
        value = get(value, "role") if is_mapping(value) else value
        if isinstance(value, str) and value not in ("constructor", "message"):
            return value
    ids = get_list(fields, "id")
    return str(ids[-1]) if ids else ""


def _collect_sources(messages: Sequence[_Message]) -> tuple[Document, ...]:
    """Return a document for each passage of a tool result, or for each result without passages."""
    documents: list[Document] = []
    for message in messages:
        if message.role != "tool":
            continue
        artifact = get(message.fields, "artifact")
        content = message.reply.text or message.fields["content"]
        passages = _find_passages(artifact) or _find_passages(_parse_content(content))
        if not passages and isinstance(content, str) and content.strip():
            passages = [{"text": content, "title": get_text(message.fields, "name")}]
        for passage in passages:
            name = get_text(passage, *NAME_NAMES) or str(len(documents) + 1)
            title, text = get_text(passage, *TITLE_NAMES), collect_free_text(passage)
            documents.append(Document(id=name, text=text, title=title))
    ids = distinguish_ids([document.id for document in documents])
    return tuple(
        one if one.id == name else one.model_copy(update={"id": name, "part_of": one.id})
        for one, name in zip(documents, ids, strict=True)
    )


def _parse_content(content: object) -> object:
    if not isinstance(content, str) or not content.lstrip().startswith(("[", "{")):
        return content
    value = parse_json(content.encode("utf-8", "replace"))
    return None if isinstance(value, Problem) else value


def _find_passages(value: object) -> list[Mapping[str, Any]]:
    if is_object(value):
        inner = next((one for one in _PASSAGE_LISTS if is_list(value.get(one))), None)
        return _find_passages(value[inner]) if inner else []
    if not is_list(value):
        return []
    return [one for one in map(_read_passage, value) if collect_free_text(one).strip()]


def _read_passage(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"text": value}
    if not is_mapping(value):
        return {}
    fields = {str(name): part for name, part in value.items()}
    return get_fields(fields, "document", "node", "metadata") | fields


def read_conversation(item: Item) -> Sequence[Record | Problem]:
    """Convert a row with messages to a record. Further fields are read as in ragassay's format."""
    fields = item.fields
    name = next((one for one in _LISTS if is_list(fields.get(one))), None)
    if name is None:
        first = next((one for one in _LISTS if one in fields), _LISTS[0])
        text = f"found {describe_value(fields.get(first))}"
        raise ProblemError(first, text, 'a list of messages: [{"role": …, "content": …}]')
    value = fields[name]
    messages = list(value) if is_list(value) else []
    answer_field = next((key for key in ANSWER_FIELDS if fields.get(key)), None)
    if answer_field is not None:
        messages.append({"role": "assistant", "content": fields[answer_field]})
    conversation = read_messages(messages)
    if isinstance(conversation, Problem):
        path = ".".join(part for part in (name, conversation.field) if part)
        raise ProblemError(path, conversation.text, conversation.expected)
    rest = {key: part for key, part in fields.items() if key not in (name, answer_field)}
    rest |= {"question": conversation.question, "answer": conversation.answer.text}
    record = _add_turns(read_ragassay(replace(item, fields=rest)), conversation)
    return _join_reply(record, conversation.answer, name)


CONVERSATION = Format(
    name="conversation",
    required=(("messages", "conversations", "conversation", "dialog", "dialogue"),),
    fields=frozenset({"messages", "conversations", "conversation", "dialog", "dialogue", "id"}),
    leading="messages",
    keys="messages[{role, content}], or conversations[{from, value}]: the last answer is read",
    read=read_conversation,
)


def _join_reply(record: Record, reply: StructuredReply, name: str) -> list[Record | Problem]:
    expected = "citations with a known source and offsets within the text"
    problems = [Problem(name, problem, expected) for problem in reply.problems]
    return [add_reply(record, reply), *problems]


def _add_turns(record: Record, conversation: Conversation) -> Record:
    metadata = {"system_prompt": "\n\n".join(conversation.system)} if conversation.system else {}
    if conversation.n_after:
        metadata["messages_after_the_answer"] = as_text(conversation.n_after)
    return record.model_copy(
        update={
            "turns": conversation.turns,
            "sources": record.sources or conversation.sources,
            "metadata": record.metadata | metadata,
        }
    )


REPLY_FIELDS = ("answer", "response", "reply", "output", "result", "completion", "generation")
"""Fields of a row that may contain a provider's reply."""

_ASKED = ("query", "prompt", "input")
HISTORY_FIELDS = ("chat_history", "history", "conversation_history", "previous_messages")
"""Fields of a row that may contain the earlier turns of a conversation."""

_SHAPED = ("choices", "candidates", "message", "content")
"""Fields by which a provider's reply is recognized."""


def read_answer(item: Item, tally: FieldTally | None = None) -> Sequence[Record | Problem]:
    """Convert a row to a record. The answer may be a provider's reply with structured citations.

    The problems after the record describe citations that cannot be read. The chat history becomes
    the record's turns.
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
    used: tuple[str, ...] = (name,)
    if reply is None and (shape := find_shape(fields)) is not None:
        used = shape.fields
        reply = read_structured_reply(fields)
    if reply is None:
        return [read_ragassay(item, tally)]
    rest = {key: value for key, value in fields.items() if key not in used}
    record = read_ragassay(replace(item, fields=rest | {"answer": reply.text}), tally)
    return _join_reply(record, reply, used[0])


REPLY = Format(
    name="provider-reply",
    required=(("question", *_ASKED), (*_SHAPED, "reply")),
    fields=frozenset({"question", "reply", *_SHAPED}),
    leading="choices",
    keys="question, and a provider's reply: choices, candidates, output, content, message or "
    "response",
    read=read_answer,
)
