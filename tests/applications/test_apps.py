"""Applications in every form are asked, and their replies read."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from case_tables import each_case
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from ragassay.applications.apps import identify_app, load_app, open_app, read_reply
from ragassay.errors import InputError
from ragassay.files import limit_line_length
from ragassay.records import Document, Record

Q = "Does drug A work?"


async def reply_of(app: Any, question: str = Q) -> Any:
    async with open_app(load_app(app), 2) as caller:
        return await caller(question)


class Async:
    async def __call__(self, question: str) -> str:
        return f"async {question}"


class Engine:
    """As a query engine of LlamaIndex (0.14.25): it has `aquery`, and cannot be called."""

    async def aquery(self, question: str) -> str:
        return f"engine {question}"


async def a_coroutine(question: str) -> str:
    return f"coroutine {question}"


def a_function(question: str) -> str:
    assert threading.current_thread() is not threading.main_thread(), "the loop is not blocked"
    return f"function {question}"


@each_case(
    ("app", "wanted"),
    [
        (a_coroutine, f"coroutine {Q}"),
        (a_function, f"function {Q}"),
        (lambda question: a_coroutine(question), f"coroutine {Q}"),
        (Async(), f"async {Q}"),
        (Engine(), f"engine {Q}"),
        (RunnableLambda(lambda text: text.upper()), Q.upper()),
        (RunnablePassthrough.assign(answer=lambda given: given["input"]), Q),
        (ChatPromptTemplate.from_template("so: {question}"), f"so: {Q}"),
    ],
)
async def test_each_form_is_asked(app, wanted):
    value = (await reply_of(app)).value
    if hasattr(value, "messages"):
        value = value.messages[0].content
    assert wanted == (value["answer"] if isinstance(value, dict) else value)


class State(TypedDict, total=False):
    question: str
    context: list[LangChainDocument]
    answer: str


def graph_of(state: Any, node: Any, **compiled: Any) -> Any:
    graph = StateGraph(state)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    return graph.compile(**compiled)


async def test_a_graph_gets_what_its_state_names():
    found = [LangChainDocument(page_content="A works.", metadata={"pmid": "11", "title": "T"})]
    asked = graph_of(State, lambda s: {"answer": f"{s['question']} Yes [11].", "context": found})
    read = read_reply((await reply_of(asked)).value)
    assert read.answer == f"{Q} Yes [11]."
    assert read.sources == (Document(id="11", text="A works.", title="T"),)

    def talk(state: Any) -> dict[str, Any]:
        (said,) = state["messages"]
        tool = ToolMessage("found", artifact=found, tool_call_id="1")
        return {"messages": [tool, AIMessage(f"{said.content} Yes [11].")]}

    read = read_reply((await reply_of(graph_of(MessagesState, talk))).value)
    assert read.answer == f"{Q} Yes [11]."
    assert [source.id for source in read.sources] == ["11"]


async def test_a_graph_that_remembers_gets_each_question_in_a_thread_of_its_own():
    def talk(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{len(state['messages'])} said.")]}

    app = graph_of(MessagesState, talk, checkpointer=InMemorySaver())
    for _ in range(2):
        assert read_reply((await reply_of(app)).value).answer == "1 said."


async def test_tokens_are_those_that_langchain_counts():
    usage = {"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010}
    told = {"model_name": "gpt-4.1-mini"}
    message = AIMessage("Yes.", usage_metadata=usage, response_metadata=told)
    chain = ChatPromptTemplate.from_template("{question}") | GenericFakeChatModel(
        messages=iter([message])
    )
    reply = await reply_of(chain)
    assert read_reply(reply.value).answer == "Yes."
    # 1000 tokens at $0.40 and 10 at $1.60 a million
    assert reply.usage.cost_usd == pytest.approx(0.000416)
    assert (reply.usage.n_prompt_tokens, reply.usage.n_completion_tokens) == (1000, 10)


class Handler(BaseHTTPRequestHandler):
    """Answers questions as JSON; at /text as text, at /down not at all."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/down":
            self.send_error(503)
            return
        is_text = self.path == "/text"
        body = asked["question"] if is_text else json.dumps({"answer": asked["question"]})
        self.send_response(200)
        self.send_header("content-type", "text/plain" if is_text else "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.integration
async def test_an_endless_reply_is_refused(endpoint):
    with limit_line_length(1_000):
        assert (await reply_of(f"{endpoint}/text", "x" * 999)).value == "x" * 999
        with pytest.raises(InputError, match="longer than 1,000 bytes"):
            await reply_of(f"{endpoint}/text", "x" * 1_001)


@pytest.mark.integration
async def test_an_endpoint_is_asked(endpoint):
    assert (await reply_of(f"{endpoint}/ask")).value == {"answer": Q}
    assert (await reply_of(f"{endpoint}/text")).value == Q
    with pytest.raises(httpx.HTTPStatusError, match="503"):
        await reply_of(f"{endpoint}/down")


def test_a_name_is_imported_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("my_own_rag.py").write_text("def answer(question):\n    return 'A.'\nnumber = 3\n")
    assert load_app("my_own_rag:answer")("Q?") == "A."
    with pytest.raises(InputError, match=r"cannot import my_own_rag:answr: .* has no"):
        load_app("my_own_rag:answr")
    with pytest.raises(InputError, match="No module named 'my_other_rag'"):
        load_app("my_other_rag:answer")
    with pytest.raises(InputError, match="of type int cannot be called"):
        load_app("my_own_rag:number")
    with pytest.raises(InputError, match="specify module:name or http"):
        load_app("my_own_rag")


def test_names_stay_the_same():
    assert identify_app(a_function).endswith(":a_function")
    assert identify_app(Async()).endswith(":Async")
    assert identify_app("http://127.0.0.1/ask") == "http://127.0.0.1/ask"


@dataclass
class Response:
    """As LlamaIndex' `Response` (0.14.25)."""

    response: str
    source_nodes: list[Any] = field(default_factory=list)


PASSAGES = (Document(id="1", text="c1"), Document(id="2", text="c2"))


@each_case(
    "reply",
    [
        {"answer": "A.", "sources": ["c1", "c2"]},
        {"response": "A.", "contexts": ["c1", "c2"]},
        {"output": "A.", "documents": [{"id": "1", "text": "c1"}, {"id": 2, "text": "c2"}]},
        {"result": "A.", "source_documents": [LangChainDocument("c1"), LangChainDocument("c2")]},
        {"answer": AIMessage("A."), "context": [{"page_content": "c1"}, {"page_content": "c2"}]},
        {"output": {"answer": "A.", "citations": [{"text": "c1"}, {"text": "c2"}]}},
        {"messages": [{"role": "assistant", "content": "A."}], "passages": PASSAGES},
        Record(id="x", question="other", answer="A.", sources=PASSAGES),
    ],
)
def test_replies_say_the_same_in_many_ways(reply):
    read = read_reply(reply)
    assert (read.answer, read.sources) == ("A.", PASSAGES)


def test_texts_messages_and_responses_are_replies():
    assert read_reply("A.").answer == "A."
    assert read_reply(AIMessage([{"type": "text", "text": "A."}])).answer == "A."
    assert read_reply(Response("A.")).answer == "A."
    assert read_reply({"answer": "A.", "context": "one text"}).sources[0].text == "one text"


def test_what_a_reply_cost_is_read():
    read = read_reply({"answer": "A.", "cost_usd": 0.25, "usage": {"prompt_tokens": 7}})
    assert (read.cost_usd, read.n_prompt_tokens, read.n_completion_tokens) == (0.25, 7, None)


def test_chunks_of_one_document_are_kept_apart():
    chunks = [{"id": "11", "text": "a", "score": 0.5}, {"id": "11", "text": "b"}]
    assert [s.id for s in read_reply({"answer": "A.", "sources": chunks}).sources] == ["11", "11#2"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (3, "returned int; expected text, a dictionary with an answer"),
        ({"text": "A."}, "returned a dictionary with text; expected"),
        ({"answer": "A.", "sources": [3]}, "cannot read a source that the application"),
    ],
)
def test_other_replies_are_named(reply, problem):
    with pytest.raises(InputError, match=problem):
        read_reply(reply)
