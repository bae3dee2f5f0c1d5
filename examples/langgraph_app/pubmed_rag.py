"""Evaluate a small LangGraph RAG application over the sample abstracts.

Without a model, the application answers with sentences copied from the retrieved abstracts.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from langgraph.graph import END, START, StateGraph

import ragassay
from ragassay.formats import read_records

SAMPLE = Path(__file__).parent.parent / "sample"
N_SOURCES = 4
N_SENTENCES = 5
PROMPT = """Answer the question in three to six sentences from these abstracts alone. End each
sentence with the PMIDs that support it in brackets, as in [99000101].

{sources}

Question: {question}"""


class State(TypedDict):
    """State of the graph.

    Attributes:
        question: Question of the user.
        sources: Retrieved abstracts, best first: `{"id", "title", "text"}`.
        answer: Answer with PMIDs in brackets.
        usage: Token usage in the OpenAI format. Missing without a model.
        cost_usd: Cost according to LiteLLM. Missing without a model or a known price.
    """

    question: str
    sources: NotRequired[list[dict[str, str]]]
    answer: NotRequired[str]
    usage: NotRequired[dict[str, int]]
    cost_usd: NotRequired[float]


def build_app(model: str = "", api_base: str | None = None) -> Any:
    """Return the compiled graph: retrieve, then answer.

    Args:
        model: LiteLLM model name. Empty for extractive answers.
        api_base: URL of a custom endpoint.
    """
    corpus = ragassay.Corpus(_abstracts())

    def retrieve(state: State) -> dict[str, Any]:
        hits = corpus.search(state["question"], N_SOURCES)
        return {"sources": [hit.document.model_dump() for hit in hits]}

    async def ask_model(state: State) -> dict[str, Any]:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm

        sources = "\n\n".join(
            f"PMID {s['id']}: {s['title']}\n{s['text']}" for s in state.get("sources", [])
        )
        prompt = PROMPT.format(sources=sources, question=state["question"])
        reply: Any = await litellm.acompletion(
            model=model, api_base=api_base, messages=[{"role": "user", "content": prompt}]
        )
        usage = {
            "prompt_tokens": reply.usage.prompt_tokens,
            "completion_tokens": reply.usage.completion_tokens,
        }
        update = {"answer": reply.choices[0].message.content, "usage": usage}
        cost = reply._hidden_params.get("response_cost")
        return update if cost is None else {**update, "cost_usd": cost}

    graph = StateGraph(State)
    graph.add_node("retrieve", retrieve)
    graph.add_node("answer", ask_model if model else extract)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "answer")
    graph.add_edge("answer", END)
    return graph.compile()


def extract(state: State) -> dict[str, Any]:
    """Answer with the source sentences that share the most words with the question."""
    question_words = set(_words(state["question"]))
    sentences = [
        (len(question_words & set(_words(text))) / (1 + place), place, n, text, source["id"])
        for place, source in enumerate(state.get("sources", []))
        for n, text in enumerate(re.split(r"(?<=[.!?])\s+(?=[A-Z])", source["text"]))
    ]
    best = sorted(sentences, key=lambda one: (-one[0], one[1:3]))[:N_SENTENCES]
    selected = sorted(best, key=lambda one: one[1:3])
    return {"answer": " ".join(f"{text.rstrip('.')} [{name}]." for *_, text, name in selected)}


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{4,}", text.lower())


def _abstracts() -> list[ragassay.Document]:
    lines = (SAMPLE / "abstracts.jsonl").read_text(encoding="utf-8").splitlines()
    return [ragassay.Document.model_validate_json(line) for line in lines]


def sample_questions() -> list[ragassay.Record]:
    """Return the unique sample questions with their gold nuggets and references."""
    records = read_records(SAMPLE / "answers.jsonl").records
    by_topic = {record.topic or record.id: record for record in reversed(records)}
    plain = {"answer": "", "sources": (), "system": None, "metadata": {}}
    return [
        record.model_copy(update=plain | {"id": topic})
        for topic, record in sorted(by_topic.items())
    ]


def sample_qrels() -> dict[str, dict[str, int]]:
    """Return the relevant abstracts of each question. 99000101, for example, is about t1."""
    qrels: dict[str, dict[str, int]] = {}
    for abstract in _abstracts():
        qrels.setdefault(f"t{abstract.id[5]}", {})[abstract.id] = 1
    return qrels


app = build_app()
"""Compiled graph for `ragassay run pubmed_rag:app QUESTIONS`."""


def main() -> None:
    """Evaluate the application and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="LiteLLM name of the answering model")
    parser.add_argument("--api-base", help="URL of a custom endpoint for the answering model")
    parser.add_argument("--judge", help="LiteLLM name of the judge (default: no judge)")
    parser.add_argument("--out", default="runs/langgraph", help="run folder")
    args = parser.parse_args()
    results = ragassay.run(
        build_app(args.model, args.api_base),
        sample_questions(),
        qrels=sample_qrels(),
        corpus=SAMPLE / "abstracts.jsonl",
        model=args.judge,
        out=args.out,
        progress=True,
    )
    print(results)
    print(f"Report: {Path(args.out) / 'report.html'}")


if __name__ == "__main__":
    main()
