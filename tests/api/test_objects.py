"""Answers as Python programs hold them: frames, tables, data sets, documents of LangChain."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

import pytest
from langchain_core.documents import Document as LangChainDocument
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.records import Document, Record
from ragassay.runs.job import build_documents, read_job

pd = LazyModule("pandas")

ROWS = [
    {"question": "Q1?", "answer": "A one.", "contexts": ["c1", "c2"], "ground_truth": "G"},
    {"question": "Q2?", "answer": "A two.", "contexts": ["c3"], "ground_truth": "H"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
CHUNKS = [
    LangChainDocument(page_content="x", metadata={"source": "a.pdf", "title": "T"}),
    LangChainDocument(page_content="y", metadata={"source": "a.pdf"}),
    LangChainDocument(page_content="z", id="7"),
    LangChainDocument(page_content="w"),
]
SOURCES = (
    Document(id="a.pdf", text="x", title="T", part_of="a.pdf"),
    Document(id="a.pdf#2", text="y", part_of="a.pdf"),
    Document(id="7", text="z"),
    Document(id="4", text="w"),
)


@pytest.mark.parametrize(
    "answers",
    [pd.DataFrame(ROWS), COLUMNS, pd.DataFrame(ROWS).to_dict("series"), iter(ROWS)],
    ids=["pandas", "columns", "series", "iterator"],
)
def test_rows_are_the_same_however_they_are_held(answers):
    assert read_job(answers).records == read_job(ROWS).records


def test_an_arrow_table_is_read():
    arrow = pytest.importorskip("pyarrow")
    assert read_job(arrow.Table.from_pylist(ROWS)).records == read_job(ROWS).records


def test_a_frame_of_polars_is_read():
    polars = pytest.importorskip("polars")
    for frame in (polars.DataFrame(ROWS), polars.LazyFrame(ROWS)):
        assert read_job(frame).records == read_job(ROWS).records


def test_a_data_set_of_hugging_face_is_read():
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_list(ROWS)
    for answers in (made, made.to_iterable_dataset(), made.with_format("numpy")):
        assert read_job(answers).records == read_job(ROWS).records
    with pytest.raises(InputError, match="DatasetDict with the keys test; pass one of"):
        read_job(datasets.DatasetDict(test=made))


def test_lists_in_a_frame_that_was_read_from_csv_are_lists():
    frame = pd.DataFrame([ROWS[0] | {"contexts": "['c1' 'c2']"}])
    assert read_job(frame).records[0].sources == read_job(ROWS).records[0].sources


def test_columns_of_a_frame_can_be_named():
    frame = pd.DataFrame({"q": ["Q?"], "out": ["A."], "docs": ["['a', 'b']"], "n": [1]})
    named = {"question": "q", "answer": "out", "sources": "docs"}
    (record,) = read_job(frame, columns=named).records
    assert [source.text for source in record.sources] == ["a", "b"]
    assert record.metadata == {"n": "1"}


def test_documents_of_langchain_are_sources():
    assert build_documents(CHUNKS) == SOURCES
    (record,) = read_job([{"question": "Q?", "answer": "A.", "sources": CHUNKS}]).records
    assert record.sources == SOURCES
    dumped = [chunk.model_dump() for chunk in CHUNKS]
    (record,) = read_job([{"question": "Q?", "answer": "A.", "sources": dumped}]).records
    assert record.sources == SOURCES
    assert build_documents([CHUNKS[0], {"text": "q"}, "p"]) == (
        SOURCES[0].model_copy(update={"part_of": ""}),
        Document(id="2", text="q"),
        Document(id="3", text="p"),
    )


@dataclass
class Sample:
    """As ragas' `SingleTurnSample` (0.4.3): its fields, and `model_dump` of pydantic."""

    user_input: str
    response: str | None
    retrieved_contexts: list[str] | None = None
    reference: str | None = None
    rubrics: dict[str, str] | None = None

    def model_dump(self) -> dict[str, object]:
        return asdict(self)

    def __iter__(self):  # as pydantic's models: it is no list of rows
        return iter(asdict(self).items())


class Samples:
    """As ragas' `EvaluationDataset` (0.4.3): it has `features`, as a data set of Hugging Face."""

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples

    def features(self) -> list[str]:
        return ["user_input", "response"]

    def __iter__(self):
        return iter(self.samples)


@dataclass
class TestCase:
    """As DeepEval's `LLMTestCase` (4.3.1), with one of the marks that say nothing of an answer."""

    __test__ = False
    input: str
    actual_output: str | None
    expected_output: str | None = None
    retrieval_context: list[str] | None = None
    multimodal: bool = False
    name: str | None = None

    def model_dump(self) -> dict[str, object]:
        return asdict(self)


@dataclass
class TestCases:
    """As DeepEval's `EvaluationDataset` (4.3.1), which cannot be iterated over."""

    __test__ = False
    test_cases: list[TestCase]


@dataclass
class Node:
    """As LlamaIndex' `TextNode` (0.14.25): a random id, and metadata of its document."""

    text: str
    node_id: str = "5f3b"
    metadata: dict[str, str] = field(default_factory=dict)

    def get_content(self) -> str:
        return self.text


@dataclass
class NodeWithScore:
    """As LlamaIndex' (0.14.25)."""

    node: Node
    score: float = 0.5


@dataclass
class Response:
    """As LlamaIndex' `Response` (0.14.25)."""

    response: str | None
    source_nodes: list[NodeWithScore] = field(default_factory=list)


NODES = [
    NodeWithScore(Node("c1", metadata={"pmid": "11", "title": "T"})),
    NodeWithScore(Node("c2", node_id="5f3c")),
]
OF_NODES = (Document(id="11", text="c1", title="T"), Document(id="5f3c", text="c2"))
SAMPLE = Sample("Q1?", "A one.", ["c1", "c2"], "G")
CASE = TestCase("Q1?", "A one.", "G", ["c1", "c2"])


@pytest.mark.parametrize(
    "answers",
    [SAMPLE, [SAMPLE], Samples([SAMPLE]), CASE, [CASE], TestCases([CASE])],
    ids=["sample", "samples", "ragas", "case", "cases", "deepeval"],
)
def test_what_other_evaluators_take_is_read(answers):
    (record,) = read_job(answers).records
    (row,) = read_job(ROWS[:1]).records
    assert record == row.model_copy(update={"id": record.id})


def test_a_sample_without_an_answer_is_a_rejection_of_its_own():
    found = read_job([SAMPLE, Sample("Q2?", None)])
    assert len(found.records) == 1
    assert [(r.line, r.field) for r in found.rejections] == [(2, "response")]
    found = read_job([CASE, 3])
    assert [r.problem for r in found.rejections] == ["found the number 3"]


def test_one_record_is_read_as_a_list_of_one():
    record = Record(id="a", question="Q?", answer="A.")
    assert read_job(record).records == (record,)


def test_a_response_of_llama_index_is_an_answer_with_its_sources():
    response = Response("A one [1].", NODES)
    (record,) = read_job([{"question": "Q?", "answer": response}]).records
    assert (record.answer, record.sources) == ("A one [1].", OF_NODES)
    (record,) = read_job([{"question": "Q?", "answer": response, "sources": ["mine"]}]).records
    assert [source.text for source in record.sources] == ["mine"]
    assert build_documents(NODES) == OF_NODES
    (record,) = read_job([{"question": "Q?", "answer": "A.", "sources": NODES}]).records
    assert record.sources == OF_NODES
    for alone in (response, [response]):
        with pytest.raises(InputError, match="a Response has no question"):
            read_job(alone)


def test_lists_in_a_frame_may_be_json():
    passages = json.dumps([{"id": "11", "text": "c1", "title": "T"}, "c2"])
    frame = pd.DataFrame([{"question": "Q?", "answer": "A.", "sources": passages}])
    (record,) = read_job(frame).records
    assert record.sources == (OF_NODES[0], Document(id="2", text="c2"))


def test_a_frame_with_the_columns_of_a_sample_is_a_frame():
    frame = pd.DataFrame([asdict(SAMPLE), asdict(SAMPLE)])
    assert len(read_job(frame).records) == 2


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (3, "answers have the unsupported type int; pass a file, records, dicts, a pandas"),
        ([3, 4], "answers are a list of the unsupported type int; pass a file, records"),
        (
            [object()],
            "a list of the unsupported type object; .*ragas samples or DeepEval test cases",
        ),
        ({"question": ["Q?"], "answer": []}, "columns differ in length: question has 1"),
        ({"question": "Q?", "answer": "A."}, "pass one of its datasets, a list of rows"),
    ],
)
def test_what_is_no_table_is_an_error(answers, problem):
    with pytest.raises(InputError, match=problem):
        read_job(answers)


def test_how_the_input_was_read_is_noted_for_the_run():
    rows = [{"query": "Q?", "output": "A.", "blob": ["Drug A lowered pressure by far."]}] * 2
    assert read_job(rows).notes == (
        "Read `query` as question, `output` as answer.",
        "2 answers have text in `blob` that was not read; "
        "to read it as sources, pass --map sources=blob",
    )
    assert read_job(ROWS).notes == ("Read `ground_truth` as reference, `contexts` as sources.",)
    assert read_job(read_job(rows).records).notes == (
        "2 answers have text in `blob` that was not read; "
        "to read it as sources, pass --map sources=blob",
    )
