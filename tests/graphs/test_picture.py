"""The picture of a graph opens its subgraphs and shows no error handlers."""

from __future__ import annotations

import re

import pytest
from langgraph.graph import END, START, StateGraph

from ragassay.evaluators import OURS
from ragassay.graphs.base import make_drawn
from ragassay.graphs.each import build_paraphrase_graph, build_reason_graph
from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.graphs.evidence import build_evidence_graph
from ragassay.graphs.nuggets import build_nugget_graph
from ragassay.graphs.qa import build_qa_graph
from ragassay.graphs.writing import build_exam_graph, build_synthesis_graph

BUILDERS = (
    *(build_evaluate_graph, build_evidence_graph, build_exam_graph, build_nugget_graph),
    *(build_paraphrase_graph, build_qa_graph, build_reason_graph, build_synthesis_graph),
)
EVIDENCE_NODES = {
    *("read_citations", "write_query", "run_agent", "retrieve", "choose_passages"),
    *("judge_sufficiency", "end_searches"),
}

_EDGE = re.compile(r"^\t(\S+) (?:-->|-\.->)(?:\|[^|]*\|)? (\S+?);$", re.M)
_NODE = re.compile(r"^\t([\w\\]+)\(", re.M)

NODES = {
    build_evaluate_graph: (*(f"ask_{one.name}" for one in OURS), "segment", "aggregate"),
    build_nugget_graph: "open_windows write_nuggets merge_nuggets rate_importance review".split(),
}


@pytest.mark.parametrize("build", BUILDERS)
def test_no_picture_shows_error_handlers_or_loose_nodes(build):
    for xray in (False, True):
        drawn = build().get_graph(xray=xray).draw_mermaid()
        assert "error_handler" not in drawn
        edges = _EDGE.findall(drawn)
        linked = {name for edge in edges for name in edge}
        assert linked == set(_NODE.findall(drawn)), "each node has an edge, each edge its nodes"
        assert all(name in drawn for name in NODES.get(build, ()))


def test_the_evaluations_picture_opens_the_search_for_evidence():
    drawn = build_evaluate_graph().get_graph(xray=True).draw_mermaid()
    assert drawn.count("subgraph find_evidence") == drawn.count("\tend\n") == 1
    inside = drawn.split("subgraph find_evidence", 1)[1].split("\tend\n", 1)[0]
    # Mermaid's escape of a colon.
    nodes = {name.removeprefix("find_evidence\\3a") for name in _NODE.findall(inside)}
    assert nodes == EVIDENCE_NODES | {"__start__", "__end__"}
    edges = {tuple(n.removeprefix("find_evidence\\3a") for n in e) for e in _EDGE.findall(inside)}
    loop = ["retrieve", "choose_passages", "judge_sufficiency", "end_searches", "write_query"]
    assert edges >= set(zip(loop, [*loop[1:], "retrieve"], strict=True))
    outside = _EDGE.findall(drawn.replace(inside, ""))
    assert ("dispatch", "find_evidence\\3a__start__") in outside
    assert ("find_evidence\\3a__end__", "dispatch") in outside
    closed = build_evaluate_graph().get_graph().draw_mermaid()
    assert "subgraph" not in closed and "find_evidence" in closed


async def test_langgraphs_server_gets_the_same_picture():
    graph = build_evaluate_graph()
    there, here = await graph.aget_graph(xray=True), graph.get_graph(xray=True)
    assert there.draw_mermaid() == here.draw_mermaid()
    configured = graph.with_config(tags=["a"])
    assert configured.get_graph(xray=True).draw_mermaid() == here.draw_mermaid()


def test_a_drawn_graph_still_handles_errors():
    def fail(state: dict) -> dict:
        raise ValueError("no")

    builder = StateGraph(dict)
    builder.add_node("fail", fail, error_handler=lambda state: {"handled": True})
    builder.add_edge(START, "fail")
    builder.add_edge("fail", END)
    graph = make_drawn(builder.compile(name="failing"))
    assert "error_handler" not in graph.get_graph().draw_mermaid()
    assert graph.invoke({"handled": False}) == {"handled": True}
