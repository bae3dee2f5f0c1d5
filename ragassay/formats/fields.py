"""Common names for the fields of an answer, and paths to nested values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice

from ragassay.formats.problems import is_list, is_object
from ragassay.formats.values import parse_text

QUESTION_NAMES = (
    *("question", "query", "user_input", "user_query", "user_question", "input", "prompt"),
    *("instruction", "query_text", "question_text", "input_text", "search_query", "user_message"),
    *("user_prompt", "request", "q"),
)
ANSWER_NAMES = (
    *("answer", "response", "output", "generated_answer", "model_answer", "final_answer"),
    *("actual_output", "answer_text", "prediction", "completion", "generation", "generated_text"),
    *("generated_response", "model_response", "model_output", "llm_response", "llm_output"),
    *("llm_answer", "rag_answer", "rag_response", "system_answer", "system_output"),
    *("assistant_response", "predicted_answer", "pred", "reply", "response_text", "output_text"),
    *("bot_response", "final_response", "final_output", "result", "a"),
)
REFERENCE_NAMES = (
    *("reference", "ground_truth", "reference_answer", "expected_answer", "gold_answer"),
    *("expected_output", "golden_answer", "correct_answer", "gt_answer", "ideal_answer"),
    *("expected_response", "reference_output", "ground_truth_answer", "expected"),
)
SOURCE_NAMES = (
    *("sources", "contexts", "context", "retrieved_contexts", "retrieved_context"),
    *("retrieval_context", "passages", "retrieved_passages", "documents", "retrieved_documents"),
    *("source_documents", "docs", "retrieved_docs", "chunks", "retrieved_chunks"),
    *("source_nodes", "retrieved_nodes", "nodes", "ctxs", "snippets", "retrieved_snippets"),
    *("evidence", "evidences", "search_results", "retrieval_results", "retrieved_results"),
    *("retrieved", "retrieval", "source_chunks", "source_passages", "source_texts"),
    *("context_documents", "context_passages", "context_chunks", "context_docs", "text_chunks"),
    *("evidence_passages", "evidence_documents", "reranked_documents", "retrieved_texts"),
    *("supporting_documents", "supporting_passages", "supporting_evidence", "abstracts"),
    *("papers", "articles", "knowledge", "knowledge_base", "grounding", "grounding_chunks"),
    *("hits", "matches", "results", "references", "citations", "context_text", "source_text"),
    *("passage", "passage_text", "chunk", "chunk_text", "document", "snippet", "source"),
)
"""Names of fields that may contain the source texts of an answer."""

LISTED_NAMES = ("references", "citations", "results", "document", "source", "evidence", "papers")
"""Source fields that often contain only ids or titles. Short texts in these fields are ignored."""

GOLD_SOURCE_NAMES = (
    *("reference_contexts", "reference_context", "gold_contexts", "gold_context"),
    *("golden_contexts", "ground_truth_context", "ground_truth_contexts", "gold_passages"),
    *("expected_context", "expected_contexts", "reference_context_ids", "retrieved_context_ids"),
)
"""Names of fields with the ideal retrieval results, which are never read as retrieved sources."""

NO_SOURCE_NAMES = frozenset(
    {
        *QUESTION_NAMES,
        *ANSWER_NAMES,
        *REFERENCE_NAMES,
        *GOLD_SOURCE_NAMES,
        *("id", "nuggets", "system", "topic", "date", "rubrics", "tags", "pairs", "exam"),
        *("messages", "history", "chat_history", "conversation", "turns", "dialogue"),
        *("reasoning", "thinking", "rationale", "rationales", "explanation", "thought", "thoughts"),
        *("feedback", "comment", "comments", "note", "notes", "title", "narrative", "background"),
        *("system_prompt", "system_message", "prompt_template", "instructions", "template"),
        *("follow_up_questions", "suggested_questions", "related_questions", "sub_questions"),
        *("ground_truths", "reference_answers", "gold_answers", "rubric", "criteria", "error"),
        *("tool_calls", "tools_called", "expected_tools", "usage", "config", "settings"),
    }
)
"""Names of fields that contain no sources, so their texts are never reported as unread."""

TEXT_NAMES = (
    *("text", "content", "page_content", "body", "abstract", "snippet", "passage", "chunk"),
    *("contents", "paragraph", "segment", "chunk_text", "passage_text", "document_text"),
    *("doc_text", "full_text", "raw_text", "page_text", "raw_content", "excerpt", "quote"),
    *("extract", "document_content", "context", "sentence", "highlight", "document", "doc"),
    *("cited_text", "evidence", "summary", "description", "value"),
)
"""Keys that contain the text of a source."""

INNER_NAMES = (
    *("document", "doc", "node", "payload", "_source", "source", "chunk", "passage", "entity"),
    *("fields", "article", "record", "object", "retrieved_context", "metadata"),
)
"""Keys of a nested object that contains the source text: `document.content`, `node.text`."""

SOURCE_ID_NAMES = (
    *("id", "pmid", "docid", "doc_id", "docno", "document_id", "passage_id", "pubmed_id"),
    *("pmcid", "doi", "_id", "source_id", "uuid", "source", "url", "uri", "link", "href"),
    *("file_path", "file_name", "file", "chunk_id", "node_id", "id_"),
)
URL_NAMES = ("url", "uri", "link", "href", "source", "source_url", "source_uri")
TITLE_NAMES = ("title", "document_title", "doc_title", "article_title", "headline", "name")

PASSAGE_ID_NAMES = ("passage_id", "chunk_id", "doc_id", "docid", "document_id", "pmid", "source_id")
"""Table columns that may contain the id of a passage whose text is in another column."""

ONE_PASSAGE_NAMES = (
    *("passage", "passage_text", "chunk", "chunk_text", "document", "snippet", "context"),
    *("context_text", "source_text", "source", "evidence", "retrieved_context", "sources"),
)
"""Table columns that may contain one passage per row."""


_MAX_NAME = 100
"""Maximum number of characters in a known field name."""


def fold(name: str) -> str:
    """Normalize a name by removing case, spaces, hyphens and underscores.

    Example:
        >>> fold("User-Input") == fold("userInput") == fold("user_input")
        True
    """
    return _fold(name) if len(name) <= _MAX_NAME else name


@lru_cache(maxsize=4_096)
def _fold(name: str) -> str:
    if name.strip("_") != name:
        return name  # `_id` and `id_` differ from `id`.
    return name.strip().lower().replace("_", "").replace("-", "").replace(" ", "")


@lru_cache(maxsize=256)
def _fold_all(names: tuple[str, ...]) -> dict[str, int]:
    """Return the position of each normalized name in the list of preferred names."""
    return {name: rank for rank, name in enumerate(dict.fromkeys(map(fold, names)))}


def find_name(fields: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    """Return the first name whose field has a value, or None if there is no such field."""
    return next(iter(find_all(fields, names)), None)


def find_all(fields: Mapping[str, object], names: tuple[str, ...]) -> list[str]:
    """Return the fields with a value and one of the given names, in the order of `names`.

    If several spellings of a name match, the exact spelling comes first.
    """
    ranks = _fold_all(names)
    matches = [
        (rank, key not in names, key)
        for key, value in fields.items()
        if (rank := ranks.get(fold(key))) is not None and has_value(value)
    ]
    return [key for _, _, key in sorted(matches)]


def has_value(value: object) -> bool:
    """Return whether a value is neither null nor empty."""
    is_empty = isinstance(value, str | list | dict | tuple) and not value
    return value is not None and not is_empty


MAX_PARTS = 20
"""Maximum number of parts of a path, after which the path is cut."""

_MOST_VALUES = 1_000
_INDEX = re.compile(r"-?\d{1,9}")
_BRACKETS = re.compile(r"\[(?P<index>-?\d{1,9}|\*?)\]")


def split_path(path: str) -> list[str]:
    """Split a path into names and indexes. In a path, `a[0]` means the same as `a.0`.

    Example:
        >>> split_path("messages[-1].content"), split_path("hits[].text")
        (['messages', '-1', 'content'], ['hits', '*', 'text'])
    """
    dotted = _BRACKETS.sub(lambda match: f".{match['index'] or '*'}", path)
    return [part for part in dotted.removeprefix("$").split(".") if part][:MAX_PARTS]


def find_value(fields: Mapping[str, object], path: str) -> object:
    """Return the value at a path, or None if it does not exist.

    A field whose name equals the whole path, or several parts of it, takes precedence. Indexes
    start at 0, -1 selects the last entry, and `*` selects all entries. Strings along the path are
    parsed as JSON.

    Example:
        >>> find_value({"messages": [{"content": "Hi"}]}, "messages.-1.content")
        'Hi'
    """
    if path in fields:
        return fields[path]
    return _follow(dict(fields), split_path(path))


def _follow(value: object, parts: Sequence[str]) -> object:
    if not parts:
        return value
    value = parse_text(value)
    if is_list(value):
        return _follow_list(value, parts)
    if not is_object(value):
        return None
    for n in range(len(parts), 0, -1):
        name = ".".join(parts[:n])
        if name in value:
            if (found := _follow(value[name], parts[n:])) is not None:
                return found
    return None


def _follow_list(value: list[object], parts: Sequence[str]) -> object:
    if parts[0] == "*":
        results = (_follow(entry, parts[1:]) for entry in islice(value, _MOST_VALUES))
        return [result for result in results if result is not None] or None
    if not _INDEX.fullmatch(parts[0]):
        return None
    index = int(parts[0])
    return _follow(value[index], parts[1:]) if -len(value) <= index < len(value) else None


def nest_fields(fields: Mapping[str, object], roots: Sequence[str]) -> dict[str, object]:
    """Nest fields whose dotted names start with one of the roots.

    Example:
        >>> nest_fields({"inputs.question": "Q", "id": "1"}, ["inputs"])
        {'id': '1', 'inputs': {'question': 'Q'}}
    """
    if not any("." in key for key in fields):
        return dict(fields)
    nested = {key: value for key, value in fields.items() if not _is_under(key, roots)}
    for key, value in fields.items():
        if _is_under(key, roots) and value is not None:
            _put_value(nested, split_path(key), value)
    return nested


def _is_under(key: str, roots: Sequence[str]) -> bool:
    root, dot, _ = key.partition(".")
    return bool(dot) and root in roots


def _put_value(target: dict[str, object], parts: Sequence[str], value: object) -> None:
    for part in parts[:-1]:
        inner = target.get(part)
        if not is_object(inner):
            inner = {} if inner is None else {"": inner}
        target[part] = dict(inner)
        target = target[part]  # type: ignore[assignment]
    if parts:
        target.setdefault(parts[-1], value)
