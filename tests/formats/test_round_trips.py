"""What is written is read back, and what could not be read back is refused."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case
from format_samples import IDS, TEXT, Read, both
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    BankItem,
    GradedParagraph,
    NuggetBank,
    NuggetScores,
    QueryParagraphs,
    RankedDocument,
    RetrievalRun,
    RubricBank,
    read_assignments,
    read_labels,
    read_nugget_banks,
    read_qrels,
    read_records,
    read_run,
    read_test_banks,
    write_assignments,
    write_graded_paragraphs,
    write_nugget_banks,
    write_nugget_scores,
    write_qrels,
    write_records,
    write_run,
    write_test_banks,
)
from ragassay.formats.labels import LABELS_OF_TASK
from ragassay.records import Document, HumanLabel, Nugget, Record, SentenceInput

CELLS = st.text(
    st.characters(exclude_categories=["Cs", "Z", "Cc", "Cf"]), min_size=1, max_size=8
).filter(lambda cell: cell.split() == [cell])
IMPORTANCES = st.sampled_from(["vital", "okay", None])


def tuples(values: st.SearchStrategy, max_size: int = 3, **options: Any) -> st.SearchStrategy:
    return st.lists(values, max_size=max_size, **options).map(tuple)


DOCUMENTS = tuples(st.builds(Document, id=IDS, text=TEXT, title=TEXT), unique_by=lambda d: d.id)
NUGGETS = st.builds(
    Nugget,
    text=TEXT.filter(bool),
    importance=IMPORTANCES,
    origin=st.sampled_from(["gold", "answer", "reference"]),
    method=st.sampled_from(["given", "model", "extractive"]),
    sentence=st.none() | st.integers(1, 9),
)
RECORDS = st.builds(
    Record,
    id=IDS,
    question=TEXT,
    answer=TEXT | tuples(st.builds(SentenceInput, text=TEXT, citations=tuples(IDS))),
    sources=DOCUMENTS,
    nuggets=tuples(NUGGETS, 2),
    reference=st.none() | TEXT,
    system=st.none() | TEXT,
    topic=st.none() | IDS,
    metadata=st.dictionaries(TEXT, TEXT, max_size=2),
)
ASSIGNED = st.builds(
    AssignedNugget,
    text=TEXT.filter(bool),
    importance=IMPORTANCES,
    assignment=st.sampled_from(["support", "partial_support", "not_support", None]),
)
ASSIGNMENTS = st.builds(
    AssignedAnswer,
    topic=IDS,
    question=TEXT,
    answer=TEXT,
    system=IDS,
    nuggets=tuples(ASSIGNED),
    n_words=st.none() | st.integers(1000, 2000),
)
GOLD = st.builds(
    NuggetBank,
    IDS,
    TEXT,
    tuples(st.builds(Nugget, text=TEXT.filter(bool), importance=IMPORTANCES)),
)
ITEMS = st.builds(BankItem, text=IDS, id=IDS, info=st.sampled_from(["", '{"a": null}', "[1, 2.5]"]))
BANKS = st.builds(
    RubricBank,
    query_id=IDS,
    query_text=TEXT,
    kind=st.sampled_from(["nuggets", "questions"]),
    items=tuples(ITEMS, min_size=1, unique_by=lambda item: item.id),
    facet_id=st.just("") | IDS,
    test_collection=TEXT,
    info=st.sampled_from(["", '{"prompt_target": "nuggets"}']),
)
RANKED = st.builds(
    RankedDocument,
    id=CELLS,
    rank=st.integers(0, 10**6),
    score=st.floats(allow_nan=False, allow_infinity=False),
)
RANKINGS = tuples(RANKED, min_size=1, unique_by=lambda document: document.id)
GRADES = st.dictionaries(CELLS, st.integers(-9, 9), min_size=1, max_size=3)


@st.composite
def labels(draw) -> HumanLabel:
    task = draw(st.sampled_from(["accuracy", "relevance", "citation", "nugget", "rubric"]))
    known = LABELS_OF_TASK.get(task)
    label = draw(st.sampled_from(known) if known else st.integers(-2, 5).map(str))
    by_id = draw(st.booleans())
    return HumanLabel(
        task=task,
        label=label,
        record_id=draw(IDS) if by_id else None,
        topic=draw(IDS) if not by_id else draw(st.none() | IDS),
        system=draw(IDS) if not by_id else draw(st.none() | IDS),
        sentence=draw(st.none() | st.integers(1, 99)),
        item=draw(TEXT),
        annotator=draw(TEXT),
    )


def write_labels(values: tuple[HumanLabel, ...], path: Path) -> None:
    lines = [label.model_dump_json(exclude_defaults=True) for label in values]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


def some(values: st.SearchStrategy, *keys: str) -> st.SearchStrategy:
    """Several values that differ in these attributes."""
    return tuples(
        values, min_size=1, unique_by=lambda value: tuple(getattr(value, key) for key in keys)
    )


Kind = tuple[st.SearchStrategy, Callable[[Any, Path], object], Read]
KINDS: dict[str, Kind] = {
    "records": (some(RECORDS, "id"), write_records, both(read_records, "records")),
    "labels": (tuples(labels(), min_size=1), write_labels, both(read_labels, "labels")),
    "assignments": (some(ASSIGNMENTS, "topic", "system"), write_assignments, read_assignments),
    "gold": (some(GOLD, "topic"), write_nugget_banks, read_nugget_banks),
    "banks": (
        some(BANKS, "query_id", "facet_id", "kind"),
        write_test_banks,
        both(read_test_banks, "banks"),
    ),
    "qrels": (st.dictionaries(CELLS, GRADES, min_size=1, max_size=3), write_qrels, read_qrels),
    "runs": (
        st.builds(RetrievalRun, CELLS, st.dictionaries(CELLS, RANKINGS, min_size=1, max_size=3)),
        write_run,
        read_run,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["values.jsonl", "values.jsonl.gz"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_are_read_back_equal(tmp_path: Path, kind: str, name: str, data: st.DataObject):
    values, write, read = KINDS[kind]
    given_values = data.draw(values)
    write(given_values, tmp_path / name)
    found, rejections = read(tmp_path / name)
    assert found == given_values and not rejections


RECORD = Record(id="a", question="Q", answer="A")
ANSWER = AssignedAnswer("1", "", "", "r", ())
QUESTIONS = RubricBank("q", "", "nuggets")
TWICE = GradedParagraph(paragraph_id="p", text="T")


def run(*ranking: RankedDocument, tag: str = "t") -> RetrievalRun:
    return RetrievalRun(tag, {"q": ranking})


def record(**change: object) -> list[Record]:
    # Pydantic itself refuses half characters; a record may still hold one by way of a copy.
    return [RECORD, RECORD.model_copy(update={"id": "b", **change})]


BAD_CELLS = ["", "a b", "a\n", "\u00a0", "\x00", "\ud800", "\ufeffa"]
REFUSED: list[tuple[Callable[[Any, Path], object], object, str]] = [
    (write_records, record(id=" "), "empty id"),
    (write_records, record(answer="\ud800"), "answer: found text with a lone surrogate"),
    (write_records, record(question="\x00"), "NUL"),
    (write_records, [RECORD, RECORD], "already appeared"),
    (write_assignments, [ANSWER] * 2, "occurs twice"),
    (
        write_assignments,
        [AssignedAnswer("", "", "", "r", ())],
        "no topic, or neither system nor document",
    ),
    (write_assignments, [AssignedAnswer("1", "", "", "r", (AssignedNugget(""),))], "no text"),
    (write_assignments, [AssignedAnswer("1", "\ud800", "", "r", ())], "lone surrogate"),
    (
        write_assignments,
        [AssignedAnswer("1", "", "", "r", (), document="d")],
        "both a system and a document",
    ),
    (write_graded_paragraphs, [QueryParagraphs("a", ())] * 2, "blank or occurs twice"),
    (write_graded_paragraphs, [QueryParagraphs(" ", ())], "blank or occurs twice"),
    (write_graded_paragraphs, [QueryParagraphs("q", (TWICE, TWICE))], "blank or occurs twice"),
    (write_nugget_scores, [NuggetScores("1", math.nan, 0, 0, 0)], "NaN"),
    (write_nugget_scores, [], "no scores"),
    (write_nugget_banks, [NuggetBank("a"), NuggetBank("a")], "topic"),
    (write_nugget_banks, [NuggetBank(" ")], "topic"),
    (write_test_banks, [QUESTIONS, QUESTIONS], "occurs twice"),
    (write_test_banks, [RubricBank(" ", "", "nuggets")], "has no query"),
    (
        write_test_banks,
        [RubricBank("q", "", "nuggets", (BankItem("n"), BankItem("n ")))],
        "two items",
    ),
    (write_test_banks, [RubricBank("q", "", "nuggets", (BankItem(" "),))], "no text"),
    (write_test_banks, [RubricBank("q", "", "nuggets", info="{")], "not JSON"),
    (write_run, run(RankedDocument("d", 1, 1.0), RankedDocument("d", 2, 0.5)), "cannot be written"),
    (write_run, run(RankedDocument("d", -1, 1.0)), "cannot be written"),
    (write_run, run(RankedDocument("d", 1, math.inf)), "cannot be written"),
    *[(write_qrels, {cell: {"d": 1}}, "contains whitespace") for cell in BAD_CELLS],
    *[
        (write_run, run(RankedDocument("d", 1, 1.0), tag=cell), "contains whitespace")
        for cell in BAD_CELLS
    ],
]


@each_case(("write", "values", "message"), REFUSED)
def test_values_that_could_not_be_read_back_leave_the_file_as_it_was(
    tmp_path: Path, write, values, message
):
    path = tmp_path / "values"
    path.write_text("before")
    with pytest.raises(InputError, match=message):
        write(values, path)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["values"]


def test_a_packed_file_is_gzip_and_the_same_each_time(tmp_path: Path):
    first, second = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"
    write_records([RECORD], first)
    write_records([RECORD], second)
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(gzip.decompress(first.read_bytes())) == {
        "id": "a",
        "question": "Q",
        "answer": "A",
    }


def test_a_place_that_cannot_be_written_is_an_input_error(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere" / "records.jsonl", tmp_path / "folder"):
        with pytest.raises(InputError, match="cannot be written"):
            write_records([RECORD], path)
