"""Replies of providers: the answer, the spans that cite, the sources, whatever the shape."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from case_tables import each_case

from ragassay.formats.replies import SHAPES, read_structured_reply
from ragassay.formats.reply_builder import MAX_SPANS, ReplyBlock, StructuredReply

EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text("utf-8"))
TEXT = "It fell by 2 points. It rose later."
FELL, ROSE = TEXT[:20], TEXT[21:]


def cited(reply: StructuredReply) -> list[tuple[str, tuple[str, ...]]]:
    return [(reply.text[one.start : one.end], one.documents) for one in reply.citations]


def chat(message: dict[str, Any], **around: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "message": message}]} | around


def url(start: int | None, end: int | None, name: str = "https://a.org", **more: Any) -> Any:
    note = {"url": name, "title": "A", "start_index": start, "end_index": end} | more
    return {"type": "url_citation", "url_citation": note}


def response(*blocks: dict[str, Any]) -> dict[str, Any]:
    searched = {"type": "web_search_call", "id": "ws", "status": "completed"}
    thought = {"type": "reasoning", "summary": []}
    message = {"type": "message", "role": "assistant", "content": list(blocks)}
    return {"object": "response", "output": [thought, searched, message]}


def output_text(text: str, *notes: dict[str, Any]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": list(notes)}


def claude(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(blocks), "model": "m"}


def said(text: str, *citations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": text, "citations": list(citations) or None}


def char(index: int, quote: str, title: str | None = None) -> dict[str, Any]:
    place = {"start_char_index": 0, "end_char_index": len(quote)}
    about = {"document_index": index, "document_title": title, "file_id": None}
    return {"type": "char_location", "cited_text": quote} | about | place


def gemini(parts: list[Any], chunks: list[Any], supports: list[Any]) -> dict[str, Any]:
    grounding = {"grounding_chunks": chunks, "grounding_supports": supports}
    return {"candidates": [{"content": {"parts": parts}, "grounding_metadata": grounding}]}


def ai(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "ai", "content": list(blocks)} | more


def at(start: int, end: int, text: str, *sources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A citation of Cohere."""
    cited_part = {"start": start, "end": end, "text": text} | more
    return cited_part | ({"sources": list(sources)} if sources else {})


def support(start: int | None, end: int, text: str, *chunks: int, part: int | None = None) -> Any:
    segment = {"start_index": start, "end_index": end, "text": text, "part_index": part}
    return {"segment": segment, "grounding_chunk_indices": list(chunks)}


WEB = {"web": {"uri": "https://a.org", "title": "a.org"}}
OWN = {"retrieved_context": {"uri": "gs://b/x.pdf", "title": "X", "text": "Fell by 2."}}
SEARCHED = {
    "role": "tool",
    "content": json.dumps({"citations": [{"content": "C.", "url": "u", "title": None}]}),
}
GROUNDING = {
    "groundingChunks": [{"retrievedContext": {"uri": "u", "text": "F."}}],
    "groundingSupports": [{"segment": {"endIndex": 20}, "groundingChunkIndices": [0]}],
}
RECITED = {"citationSources": [{"startIndex": 21, "endIndex": 35, "uri": "u"}]}
MARK = {
    **{"type": "file_citation", "text": "【4:0†s】", "start_index": 7, "end_index": 14},
    "file_citation": {"file_id": "f", "quote": "Fell."},
}
MARKED = {"value": "It fell【4:0†s】.", "annotations": [MARK]}
RETRIEVED = [
    {"content": {"text": "F."}, "location": {"type": "S3", "s3Location": {"uri": "s3"}}},
    {"content": {"text": "G."}, "location": {"webLocation": {"url": "w"}}},
]
NAIVE = "Naïve adults fell. Others — no."

CASES: dict[str, tuple[Any, str, list[Any], list[Any]]] = {
    "OpenAI: the place of a link": (
        chat({"role": "assistant", "content": "It fell ([a](u)).", "annotations": [url(8, 16)]}),
        "It fell ([a](u)).",
        [("([a](u))", ("https://a.org",))],
        [("https://a.org", "A", "")],
    ),
    "OpenAI: one page twice, and two pages at one place": (
        chat({"content": TEXT, "annotations": [url(0, 20), url(21, 35), url(0, 20, "b")]}),
        TEXT,
        [(FELL, ("https://a.org", "b")), (ROSE, ("https://a.org",))],
        [("https://a.org", "A", ""), ("b", "A", "")],
    ),
    "OpenRouter: the page's content, no place": (
        chat({"content": TEXT, "annotations": [url(None, None, content="Page.")]}),
        TEXT,
        [],
        [("https://a.org", "A", "Page.")],
    ),
    "responses: two blocks": (
        response(
            output_text("It fell. ", url(0, 8)["url_citation"] | {"type": "url_citation"}),
            output_text(
                "It rose.",
                {"type": "file_citation", "file_id": "f", "filename": "f.pdf", "index": 7},
            ),
        ),
        "It fell. It rose.",
        [("It fell.", ("https://a.org",)), ("", ("f",))],
        [("https://a.org", "A", ""), ("f", "f.pdf", "")],
    ),
    "responses: a file that was written is no evidence": (
        response(
            output_text(
                TEXT,
                {"type": "file_path", "file_id": "out", "index": 0},
                {"type": "container_file_citation", "container_id": "c", "file_id": "f"}
                | {"filename": "f.csv", "start_index": 0, "end_index": 20},
            )
        ),
        TEXT,
        [(FELL, ("f",))],
        [("f", "f.csv", "")],
    ),
    "responses: a refusal": (
        response({"type": "refusal", "refusal": "I cannot."}),
        "I cannot.",
        [],
        [],
    ),
    "Assistants: the mark in the text": (
        {
            "data": [
                {"role": "assistant", "content": [{"type": "text", "text": MARKED}]},
                {"role": "user", "content": [{"type": "text", "text": {"value": "Q?"}}]},
            ]
        },
        "It fell【4:0†s】.",
        [("【4:0†s】", ("f",))],
        [("f", "", "Fell.")],
    ),
    "Azure: chunks of one file stay in their order": (
        chat(
            {
                "role": "assistant",
                "content": "It fell [doc2].",
                "context": {
                    "citations": [
                        {"content": "One.", "title": "T", "filepath": "x.pdf", "chunk_id": "0"},
                        {"content": "Two.", "title": "T", "filepath": "x.pdf", "chunk_id": "1"},
                    ]
                },
            }
        ),
        "It fell [doc2].",
        [],
        [("x.pdf", "T", "One."), ("x.pdf#2", "T", "Two.")],
    ),
    "Azure: citations in a tool's message": (
        chat({"content": "It fell [doc1].", "context": {"messages": [SEARCHED]}}),
        "It fell [doc1].",
        [],
        [("u", "", "C.")],
    ),
    "Perplexity: addresses in the order of the marks": (
        chat(
            {"content": "It fell [2]."},
            citations=["u1", "u2"],
            search_results=[{"url": "u2", "title": "Two", "snippet": "S.", "date": "2024-01-01"}],
        ),
        "It fell [2].",
        [],
        [("u1", "", ""), ("u2", "Two", "S.")],
    ),
    "Mistral: a reference stands behind its text": (
        chat(
            {
                "content": [
                    {"type": "text", "text": "It fell."},
                    {"type": "reference", "reference_ids": [0, "d7"]},
                    {"type": "text", "text": " It rose."},
                ]
            }
        ),
        "It fell. It rose.",
        [("", ("0", "d7"))],
        [("0", "", ""), ("d7", "", "")],
    ),
    "LiteLLM: Anthropic's citations by the text they support": (
        chat(
            {
                "content": TEXT,
                "provider_specific_fields": {
                    "citations": [[char(0, "Rose.", "D") | {"supported_text": ROSE}]]
                },
            }
        ),
        TEXT,
        [(ROSE, ("D",))],
        [("D", "D", "Rose.")],
    ),
    "Anthropic: a block with two quotes of one document": (
        claude(
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            said("It fell. ", char(0, "Fell.", "Trial"), char(0, "By 2.", "Trial")),
            said("So."),
        ),
        "It fell. So.",
        [("It fell. ", ("Trial",))],
        [("Trial", "Trial", "Fell.\n\nBy 2.")],
    ),
    "Anthropic: two documents of one title": (
        claude(said("It fell.", char(0, "Fell.", "T")), said(" It rose.", char(1, "Rose.", "T"))),
        "It fell. It rose.",
        [("It fell.", ("T",)), (" It rose.", ("T#2",))],
        [("T", "T", "Fell."), ("T#2", "T", "Rose.")],
    ),
    "Anthropic: documents without a title": (
        claude(said("It fell.", char(2, "Fell."))),
        "It fell.",
        [("It fell.", ("document-3",))],
        [("document-3", "", "Fell.")],
    ),
    "Anthropic: pages, blocks, search results and the web": (
        claude(
            said(
                "It fell.",
                {"type": "page_location", "cited_text": "P.", "document_index": 0}
                | {"document_title": "P", "start_page_number": 1, "end_page_number": 2},
                {"type": "content_block_location", "cited_text": "B.", "document_index": 1}
                | {"document_title": "B", "start_block_index": 0, "end_block_index": 1},
                {"type": "search_result_location", "cited_text": "S.", "search_result_index": 0}
                | {"source": "https://s.org", "title": "S", "start_block_index": 0},
                {"type": "web_search_result_location", "cited_text": "W.", "url": "https://w.org"}
                | {"title": "W", "encrypted_index": "x"},
            )
        ),
        "It fell.",
        [("It fell.", ("P", "B", "https://s.org", "https://w.org"))],
        [
            ("P", "P", "P."),
            ("B", "B", "B."),
            ("https://s.org", "S", "S."),
            ("https://w.org", "W", "W."),
        ],
    ),
    "Cohere v2: documents and tools": (
        {
            "id": "c",
            "finish_reason": "COMPLETE",
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": TEXT}],
                "citations": [
                    at(3, 7, "fell", {"id": "d:0", "document": {"snippet": "F."}}, content_index=0),
                    at(24, 28, "rose", {"id": "t:0", "tool_output": {"n": "Rose."}}),
                ],
            },
        },
        TEXT,
        [("fell", ("d:0",)), ("rose", ("t:0",))],
        [("d:0", "", "F."), ("t:0", "", "Rose.")],
    ),
    "Cohere v1: all documents, cited or not": (
        {
            "text": TEXT,
            "generation_id": "g",
            "citations": [at(3, 7, "fell", document_ids=["doc_1"])],
            "documents": [{"id": "doc_0", "snippet": "No."}, {"id": "doc_1", "text": "F."}],
        },
        TEXT,
        [("fell", ("doc_1",))],
        [("doc_0", "", "No."), ("doc_1", "", "F.")],
    ),
    "Gemini: offsets count bytes": (
        gemini(
            [{"text": NAIVE}],
            [WEB, OWN],
            [support(None, 19, "Naïve adults fell.", 0, 1), support(20, 34, "Others — no.", 1)],
        ),
        NAIVE,
        [
            ("Naïve adults fell.", ("https://a.org", "gs://b/x.pdf")),
            ("Others — no.", ("gs://b/x.pdf",)),
        ],
        [("https://a.org", "a.org", ""), ("gs://b/x.pdf", "X", "Fell by 2.")],
    ),
    "Gemini: thoughts keep their number": (
        gemini(
            [{"text": "Hm.", "thought": True}, {"text": "It fell."}],
            [{"retrieved_context": {"title": "X", "rag_chunk": {"text": "F."}}}],
            [support(0, 8, "It fell.", 0, part=1)],
        ),
        "It fell.",
        [("It fell.", ("X",))],
        [("X", "X", "F.")],
    ),
    "Gemini: camel case": (
        {"candidates": [{"content": {"parts": [{"text": TEXT}]}, "groundingMetadata": GROUNDING}]},
        TEXT,
        [(FELL, ("u",))],
        [("u", "", "F.")],
    ),
    "Gemini: recitation": (
        {"candidates": [{"content": {"parts": [{"text": TEXT}]}, "citationMetadata": RECITED}]},
        TEXT,
        [(ROSE, ("u",))],
        [("u", "", "")],
    ),
    "Bedrock: the last character of a span is in it": (
        {
            "output": {"text": TEXT},
            "citations": [
                {
                    "generatedResponsePart": {
                        "textResponsePart": {"text": FELL, "span": {"start": 0, "end": 19}}
                    },
                    "retrievedReferences": RETRIEVED,
                }
            ],
        },
        TEXT,
        [(FELL, ("s3", "w"))],
        [("s3", "", "F."), ("w", "", "G.")],
    ),
    "LangChain: standard blocks": (
        ai(
            {"type": "reasoning", "reasoning": "Hm."},
            {
                "type": "text",
                "text": TEXT,
                "annotations": [
                    {"type": "citation", "url": "u", "title": "U", "cited_text": "F."}
                    | {"start_index": 0, "end_index": 20},
                    {"type": "citation", "title": "D", "cited_text": "R."}
                    | {"extras": {"document_index": 0}},
                    # Gemini's citation repeats the answer, which is no source.
                    {"type": "citation", "url": "g", "cited_text": FELL}
                    | {"start_index": 0, "end_index": 20},
                ],
            },
        ),
        TEXT,
        [(FELL, ("u", "g")), (TEXT, ("D",))],
        [("u", "U", "F."), ("D", "D", "R."), ("g", "", "")],
    ),
    "LangChain: Cohere's and Perplexity's in additional_kwargs": (
        ai(
            {"type": "text", "text": TEXT},
            additional_kwargs={
                "citations": [at(3, 7, "fell", {"id": "d", "document": {"text": "F."}})]
            },
        ),
        TEXT,
        [("fell", ("d",))],
        [("d", "", "F.")],
    ),
    "LlamaIndex: nodes in the order of the marks": (
        {
            "response": "It fell [1].",
            "source_nodes": [
                {
                    "node": {"id_": "n", "text": "Source 1:\nF.", "metadata": {"pmid": "7"}},
                    "score": 1,
                }
            ],
        },
        "It fell [1].",
        [],
        [("7", "", "Source 1:\nF.")],
    ),
    "Ollama": ({"model": "m", "message": {"role": "assistant", "content": TEXT}}, TEXT, [], []),
    "content blocks alone": (
        [said("It fell.", char(0, "F.", "D"))],
        "It fell.",
        [("It fell.", ("D",))],
        [("D", "D", "F.")],
    ),
}


@each_case("case", CASES)
def test_a_reply_is_read_with_what_it_cites(case: str):
    given, text, spans, sources = CASES[case]
    found = read_structured_reply(given)
    assert found is not None
    assert found.text == text
    assert cited(found) == spans
    assert [(one.id, one.title, one.text) for one in found.sources] == sources
    assert found.problems == ()


@each_case("case", CASES)
def test_an_object_with_attributes_reads_as_its_dictionary(case: str):
    given = CASES[case][0]
    made = json.loads(json.dumps(given), object_hook=lambda fields: SimpleNamespace(**fields))
    assert read_structured_reply(made) == read_structured_reply(given)


@each_case("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_example_of_a_shape_is_of_that_shape(shape):
    fields = EXAMPLES[shape.name]
    assert next(one for one in SHAPES if one.is_like(fields)) is shape
    found = read_structured_reply(fields)
    assert found is not None and found.text.startswith("It fell")
    assert found.problems == ()
    assert any(name in fields for name in shape.fields)


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


@pytest.mark.parametrize(
    ("start", "end", "kept"),
    [(5, 30, [(5, 8)]), (30, 40, []), (-3, 4, [(0, 4)]), (6, 2, []), (8, 9, []), (8, 8, [(8, 8)])],
)
def test_an_offset_outside_the_text_is_reported_and_what_lies_in_it_kept(start, end, kept):
    found = read_structured_reply(chat({"content": "It fell.", "annotations": [url(start, end)]}))
    assert found is not None
    assert [(one.start, one.end) for one in found.citations] == kept
    assert [one.id for one in found.sources] == ["https://a.org"]
    assert len(found.problems) == (0 if start == end else 1)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            gemini([{"text": "It fell."}], [WEB], [support(0, 8, "It fell.", 3)]),
            "missing chunk",
        ),
        (
            gemini([{"text": "A."}], [WEB], [support(0, 2, "A.", 0, part=4)]),
            "part 4, but the number of parts is 1",
        ),
        (
            chat({"content": "A.", "annotations": [{"type": "new_kind"}]}),
            "'new_kind' does not specify a source",
        ),
        (
            {"choices": [{"message": {"content": "A."}}, {"message": {"content": "B."}}]},
            "first of 2 choices",
        ),
    ],
)
def test_what_cannot_be_read_of_a_reply_is_reported(given, problem):
    found = read_structured_reply(given)
    assert found is not None and any(problem in one for one in found.problems)


def test_a_quote_decides_between_ways_to_count():
    # "é" is 2 bytes and the smiley 4 bytes, or 2 units of UTF-16.
    block = ReplyBlock(0, "é😀 fell by 2")
    for start, end in ((3, 7), (7, 11), (4, 8), (3, 6), (90, 94)):
        assert block.locate(start, end, "fell") == (3, 7)
    assert block.locate(7, 11, unit="bytes") == (3, 7)
    assert block.locate(90, 94) == (90, 94)


def test_a_reply_with_endless_citations_is_read_in_part_and_said():
    notes = [url(n, n + 1, f"u{n % 7}") for n in range(MAX_SPANS + 5)]
    text = "x" * (MAX_SPANS + 10)
    found = read_structured_reply(chat({"content": text, "annotations": notes}))
    assert found is not None and len(found.citations) == MAX_SPANS
    assert found.problems == (f"5 citations beyond the first {MAX_SPANS:,} were not read",)


def test_objects_of_real_libraries_are_read():
    from langchain_core.messages import AIMessage
    from litellm import ModelResponse
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    message = {"role": "assistant", "content": TEXT, "annotations": [url(0, 20)]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    about = {"id": "c", "created": 1, "model": "m"}
    fields = about | {"object": "chat.completion", "choices": [choice]}
    block = output_text(TEXT, {"type": "url_citation"} | url(0, 20)["url_citation"])
    blocks = CASES["LangChain: standard blocks"][0]["content"]
    for made in (
        ChatCompletion.model_validate(fields),
        ModelResponse(**fields),
        Response.model_construct(**response(block)),
        AIMessage(content=blocks),
        AIMessage(content=TEXT, additional_kwargs={"annotations": [url(0, 20)]}),
    ):
        found = read_structured_reply(made)
        assert found is not None and found.text == TEXT
        assert cited(found)[0][0] == FELL
