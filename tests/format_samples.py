"""Samples of files as other tools write them; their text is invented.

All ids are texts, so that a file comes back as it was.
"""

from __future__ import annotations

from typing import Any

RAG24: dict[str, Any] = {
    "run_id": "r",
    "topic_id": "2024-1",
    "topic": "Q?",
    "references": ["d1", "d2"],
    "response_length": 3,
    "answer": [
        {"text": "One two.", "citations": [0, 1]},
        {"text": "Three.", "citations": []},
    ],
}
RAG25: dict[str, Any] = {
    "metadata": {
        "team_id": "t",
        "run_id": "r",
        "narrative_id": "14",
        "narrative": "Q?",
        "type": "automatic",
        "prompt": "P",
    },
    "references": ["d1", "d2", "d3"],
    "answer": [
        {"text": "S1.", "citations": [2, "d1"]},
        {"text": "S2.", "citations": [9]},
    ],
}
RUN24: dict[str, Any] = {
    "team_id": "t",
    "run_name": "r",
    "contact_email": "a@b.c",
    "results": [
        {"topic_id": "116", "answer": "S1 [111,222, 333,444]. S2 [111].",
         "references": ["111", "222", "333", "444"]},
        {"topic_id": "117", "answer": "None cited.", "references": ["9"]},
    ],
}  # fmt: skip
TASK_A: dict[str, Any] = {
    "metadata": {"team_id": "t", "run_id": "r", "qa_id": "116", "question": "Q?",
                 "existing_supported_citations": [1, 2]},
    "answer": [
        {"text": "S1.", "supported_citations": ["111", "222"], "contradicted_citations": ["333"]},
        {"text": "S2.", "supported_citations": [], "contradicted_citations": [],
         "existing_supported_citations": ["5"]},
    ],
}  # fmt: skip
NUGGETS: list[dict[str, Any]] = [
    {"text": "n1", "importance": "vital", "assignment": "support", "reasoning": "stated"},
    {"text": "n2", "importance": "failed", "assignment": "not_support"},
    {"text": "n3", "importance": "strong prose", "assignment": "failed"},
    {"text": "n4", "importance": "okay", "assignment": "supporter", "trace": {"model": "m"}},
]
ASSIGNED: dict[str, Any] = {
    "query": "Q?",
    "qid": "2024-1",
    "answer_text": "It is so.",
    "response_length": 3,
    "run_id": "run",
    "nuggets": NUGGETS,
    "reasoning_traces": ["stated"],
}
RETRIEVED: dict[str, Any] = {
    "text": "Q?",
    "qid": "2024-1",
    "candidate_text": "It is so.",
    "docid": "d_1#0",
    "nuggets": NUGGETS[:1],
    "rank": 4,
}
QUESTION: dict[str, Any] = {
    "query_id": "q",
    "facet_id": None,
    "info": None,
    "question_id": "q/1",
    "question_text": "Who?",
    "gold_answers": None,
}
BANK: dict[str, Any] = {
    "query_id": "q",
    "facet_id": None,
    "facet_text": None,
    "test_collection": "c",
    "query_text": "Q?",
    "info": {"gpt_model": "m", "hash": "2024"},
    "hash": 1243234,
    "items": [
        QUESTION,
        QUESTION | {"question_id": "q/2", "question_text": "When?", "gold_answers": ["a", "b"]},
        QUESTION | {"question_id": "q/3", "question_text": "Why?", "gold_answers": []},
    ],
}
JUDGMENT = {"paragraphId": "p1", "query": "q", "relevance": 2, "titleQuery": "q"}
RANKING = {"method": "sys", "paragraphId": "p1", "queryId": "q", "rank": 6, "score": 17.560528}
EXAM_GRADE: dict[str, Any] = {
    "correctAnswered": ["q/1"],
    "wrongAnswered": ["q/2"],
    "self_ratings": [
        {"question_id": "q/1", "self_rating": 4},
        {"nugget_id": "q/2", "self_rating": 0},
    ],
    "answers": [["q/1", "text"]],
    "llm": "flan",
    "llm_options": {"temperature": 0.5, "seed": None},
    "prompt_info": {"prompt_class": "QuestionSelfRatedPrompt", "context_first": False},
    "exam_ratio": 0.25,
    "prompt_type": "question",
}
GRADE: dict[str, Any] = {
    **{"correctAnswered": True, "self_ratings": 4, "answer": "yes", "llm": "flan"},
    **{"llm_options": {}, "prompt_info": None},
}
NULLS: dict[str, Any] = {
    "paragraph_id": "p",
    "text": "T",
    "paragraph": None,
    "paragraph_data": {
        "judgments": [{"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": None}],
        "rankings": [],
        "source": None,
    },
    "exam_grades": [EXAM_GRADE | {"self_ratings": None, "prompt_info": None, "prompt_type": None}],
    "grades": None,
}
GRADED: dict[str, Any] = {
    "paragraph_id": "p1",
    "text": "T",
    "paragraph": {"markup": [None, 1]},
    "paragraph_data": {"judgments": [JUDGMENT], "rankings": [RANKING]},
    "exam_grades": [EXAM_GRADE],
    "grades": [GRADE],
}
