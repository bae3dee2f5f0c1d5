"""The Workbench's files as released and as its software writes them: nulls, items that come twice.

The samples are modelled on its data model (TREMA-UNH/rubric-grading-workbench), which writes nulls,
and on the released DL19 nuggets, where an id comes twice; their text is invented.
"""

from __future__ import annotations

from pathlib import Path

from format_samples import sample

from ragassay.formats import (
    build_bank_item_id,
    read_graded_paragraphs,
    read_labels,
    read_records,
    read_test_banks,
    write_test_banks,
)
from ragassay.workbench.graded_files import merge_grades


def nugget(name: str, text: str, **more: object) -> dict[str, object]:
    return {"query_id": "q", "nugget_id": name, "nugget_text": text} | more


def test_files_that_differ_in_nulls_only_are_merged(write):
    nulls = sample("graded paragraphs", 1)
    bare = {name: value for name, value in nulls.items() if value is not None}
    bare["paragraph_data"] = {"judgments": [{"paragraphId": "p", "query": "q", "relevance": 1}]}
    one = read_graded_paragraphs(write(["q", [nulls]])).queries
    two = read_graded_paragraphs(write(["q", [bare]], name="b.jsonl")).queries
    ((merged,),) = (query.paragraphs for query in merge_grades([one, two]))
    assert len(merged.paragraph_data.judgments) == 1


def test_an_item_that_comes_twice_is_kept_once_and_said(write, tmp_path: Path):
    items = [
        nugget("q/a", "In 1951", gold_answers=["y"]),
        nugget("q/b", "By Ada"),
        nugget("q/a", " In 1951 ", gold_answers=["x"]),
        nugget("q/b", "Of a lake"),
    ]
    path = write({"query_id": "p", "items": []}, {"query_id": "q", "items": items})
    (_, bank), (odd,) = (lambda found: (found.banks, found.rejections))(read_test_banks(path))
    assert [(item.id, item.text, item.answers) for item in bank.items] == [
        ("q/a", "In 1951", ("x", "y")),
        ("q/b", "By Ada", ()),
        (build_bank_item_id("q", "Of a lake"), "Of a lake", ()),
    ]
    assert (odd.line, odd.field) == (2, "items.2")
    assert odd.problem.startswith("the id already appeared in the bank (and 1 more)")
    write_test_banks([bank], tmp_path / "again")
    assert read_test_banks(tmp_path / "again").banks == (bank,)


def test_a_paragraph_that_several_systems_ranked_is_an_answer_of_each(write):
    ranks = [
        {"method": method, "paragraphId": "p", "queryId": query, "rank": 1, "score": 1.0}
        for method, query in (("bm25", "q"), ("deep", "q"), ("bm25", "q/facet"))
    ]
    judged = [{"paragraphId": "p", "query": "q", "relevance": 2}]
    data = {"judgments": judged, "rankings": ranks}
    alone = {"paragraph_id": "p2", "text": "U", "paragraph_data": {"rankings": ranks[1:2]}}
    nobody = {"paragraph_id": "p3", "text": "V"}
    given = ["q", [{"paragraph_id": "p", "text": "T", "paragraph_data": data}, alone, nobody]]
    path = write(given)
    found = read_records(path, questions=write({"q": "Q?"}, name="queries.json"))
    assert found.rejections == ()
    assert [(one.id, one.system, one.answer) for one in found.records] == [
        ("q/p", "bm25", "T"),
        ("q/p/deep", "deep", "T"),
        ("q/p2", "deep", "U"),
        ("q/p3", None, "V"),
    ]
    assert [(one.record_id, one.label) for one in read_labels(path).labels] == [("q/p", "2")]
