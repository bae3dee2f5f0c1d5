"""Names that people give to the fields of an answer, as data; in lists, best first.

A name is looked up as it is written, then without case, spaces, hyphens and underscores:
"userInput" and "User Input" are "user_input".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

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
"""Fields with the texts that an answer was written from."""

LISTED_NAMES = ("references", "citations", "results", "document", "source", "evidence", "papers")
"""Names of sources that often list ids or titles: only long texts in them are sources."""

GOLD_SOURCE_NAMES = (
    *("reference_contexts", "reference_context", "gold_contexts", "gold_context"),
    *("golden_contexts", "ground_truth_context", "ground_truth_contexts", "gold_passages"),
    *("expected_context", "expected_contexts", "reference_context_ids", "retrieved_context_ids"),
)
"""What a perfect search would have found: never read as what was retrieved."""

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
"""Fields of texts that are no sources: not reported as unread."""

TEXT_NAMES = (
    *("text", "content", "page_content", "body", "abstract", "snippet", "passage", "chunk"),
    *("contents", "paragraph", "segment", "chunk_text", "passage_text", "document_text"),
    *("doc_text", "full_text", "raw_text", "page_text", "raw_content", "excerpt", "quote"),
    *("extract", "document_content", "context", "sentence", "highlight", "document", "doc"),
    *("cited_text", "evidence", "summary", "description", "value"),
)
"""Keys of a source that have its text."""

INNER_NAMES = (
    *("document", "doc", "node", "payload", "_source", "source", "chunk", "passage", "entity"),
    *("fields", "article", "record", "object", "retrieved_context", "metadata"),
)
"""Keys of a source that have an object with its text: `document.content`, `node.text`."""

SOURCE_ID_NAMES = (
    *("id", "pmid", "docid", "doc_id", "docno", "document_id", "passage_id", "pubmed_id"),
    *("pmcid", "doi", "_id", "source_id", "uuid", "source", "url", "uri", "link", "href"),
    *("file_path", "file_name", "file", "chunk_id", "node_id", "id_"),
)
TITLE_NAMES = ("title", "document_title", "doc_title", "article_title", "headline", "name")

PASSAGE_ID_NAMES = ("passage_id", "chunk_id", "doc_id", "docid", "document_id", "pmid", "source_id")
"""Columns beside a column with one passage that have its id."""

ONE_PASSAGE_NAMES = (
    *("passage", "passage_text", "chunk", "chunk_text", "document", "snippet", "context"),
    *("context_text", "source_text", "source", "evidence", "retrieved_context", "sources"),
)
"""Columns of tables that may have one passage a row."""


_MAX_NAME = 100
"""Characters of a field's name; a longer one is none of those known here."""


def fold(name: str) -> str:
    """Return a name without case, spaces, hyphens and underscores.

    Example:
        >>> fold("User-Input") == fold("userInput") == fold("user_input")
        True
    """
    return _fold(name) if len(name) <= _MAX_NAME else name


@lru_cache(maxsize=4_096)
def _fold(name: str) -> str:
    if name.strip("_") != name:
        return name  # `_id` and `id_` are names of their own
    return name.strip().lower().replace("_", "").replace("-", "").replace(" ", "")


@lru_cache(maxsize=256)
def _fold_all(names: tuple[str, ...]) -> dict[str, int]:
    """Return the rank of each folded name, the best first."""
    folded = dict.fromkeys(map(fold, names))
    return {name: rank for rank, name in enumerate(folded)}


def find_name(fields: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    """Return the first field that has one of the names and a value; None where there is none."""
    return next(iter(find_all(fields, names)), None)


def find_all(fields: Mapping[str, object], names: tuple[str, ...]) -> list[str]:
    """Return the fields that have one of the names and a value, in the order of the names.

    Of several that are one name in other spellings, the one as the name is written comes first.
    """
    ranks = _fold_all(names)
    found = [
        (rank, key not in names, key)
        for key, value in fields.items()
        if (rank := ranks.get(fold(key))) is not None and has_value(value)
    ]
    return [key for _, _, key in sorted(found)]


def has_value(value: object) -> bool:
    """Return whether a field is more than null or empty."""
    is_empty = isinstance(value, str | list | dict | tuple) and not value
    return value is not None and not is_empty
