"""Answers as DeepEval, RAGChecker, the nuggetizer, BioASQ and MedAESQA keep them."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case

from ragassay.formats import read_labels, read_records, read_records_from_rows
from ragassay.records import Document, Nugget, SentenceInput

CASE = {
    "input": "Q?",
    "actual_output": "A.",
    "expected_output": "R",
    "context": ["ideal"],
    "retrieval_context": ["C1", "C2"],
    "metadata": {"year": 2024, "none": None},
    "tags": ["x"],
}
CHECKED = {
    "query_id": "7",
    "query": "Q?",
    "gt_answer": "R",
    "response": "A.",
    "retrieved_context": [{"doc_id": 11, "text": "C1"}, {"doc_id": "11", "text": "C2"}],
}
CREATE = {
    "query": {"qid": "q1", "text": "Q?"},
    "candidates": [
        {"docid": "d1", "score": 10.5, "judgment": 2, "doc": {"segment": "S1", "title": "T"}},
        {"docid": "d2", "doc": {"segment": "S2"}},
    ],
}
ASSIGNED = {
    "query": "Q?",
    "qid": "q1",
    "answer_text": "One two three.",
    "response_length": 3,
    "run_id": "run",
    "nuggets": [
        {"text": "n1", "importance": "vital", "assignment": "support"},
        {"text": "n2", "importance": "okay", "assignment": "failed"},
    ],
}
EXPERT = {
    "id": "55031181e9bde69634000014",
    "type": "factoid",
    "body": "Q?",
    "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/123", "http://x/other"],
    "snippets": [
        {"document": "http://www.ncbi.nlm.nih.gov/pubmed/123", "text": "S1", "beginSection": "a"},
        {"document": "http://www.ncbi.nlm.nih.gov/pubmed/123", "text": "S2"},
        {"document": "http://x/other", "text": "S3"},
    ],
    "ideal_answer": ["I1", "I2"],
    "exact_answer": [["e1", "e2"]],
    "concepts": ["c"],
}


def cited(pmid, relation):
    return {"cited_pmid": pmid, "evidence_relation": relation}


SENTENCES = [
    {
        **{"answer_sentence_id": "1", "answer_sentence": "S1."},
        "answer_sentence_relevance": "required",
        "citation_assessment": [
            *(cited(111, "supporting"), cited("222", "invalid citation")),
            *(cited("111", "neutral"), cited("", "invalid citation")),
        ],
    },
    {"answer_sentence": "  ", "answer_sentence_relevance": "required"},
    {"answer_sentence": "S2.", "answer_sentence_relevance": None, "citation_assessment": None},
    {
        "answer_sentence": "S3.",
        "answer_sentence_relevance": "borderline",
        "citation_assessment": [cited("333", None), cited("444", "Not relevant")],
    },
]
MACHINE = {"answer": "S1. S2. S3.", "is_answer_accurate": "yes", "answer_sentences": SENTENCES}
ASSESSED = {
    "question_id": 132,
    "question": "Q?",
    "question_frame": {"Type": "x"},
    "expert_curated_answer": "Expert [1].",
    "machine_generated_answers": {
        "M1": MACHINE,
        "M2": {"answer": "Plain.", "is_answer_accurate": None, "answer_sentences": None},
    },
}


def one(result):
    assert result.rejections == ()
    (record,) = result.records
    return record


@pytest.mark.parametrize(
    "change",
    [
        {},
        {
            **{name: None for name in ("actual_output", "expected_output", "retrieval_context")},
            "actualOutput": "A.",
            "expectedOutput": "R",
            "retrievalContext": ["C1", "C2"],
        },
    ],
)
def test_a_deepeval_case_becomes_a_record_in_both_spellings(write, change):
    result = read_records(write(json.dumps([{**CASE, **change}], indent=2)))
    assert result.format == "deepeval"
    record = one(result)
    assert (record.id, record.question, record.answer) == ("item-1", "Q?", "A.")
    assert record.reference == "R"
    assert record.sources == (Document(id="1", text="C1"), Document(id="2", text="C2"))
    assert record.metadata == {"context": '["ideal"]', "metadata.year": "2024", "tags": '["x"]'}


def test_deepeval_passages_may_be_objects_and_context_stands_in_for_none(write):
    golden = {"input": "Q", "actual_output": "A", "context": ["ideal"]}
    assert one(read_records(write(golden))).sources == (Document(id="1", text="ideal"),)
    case = {**golden, "retrieval_context": [{"context": "C", "source": "s"}]}
    assert one(read_records(write(case))).sources == (Document(id="1", text="C", title="s"),)


@pytest.mark.parametrize("indent", [None, 1])
def test_ragchecker_results_are_read_however_they_are_laid_out(write, indent):
    document = {"results": [CHECKED, {"query": "Q", "response": "R"}], "metrics": {"f1": 1.0}}
    result = read_records(write(json.dumps(document, indent=indent)))
    assert (result.format, result.rejections) == ("ragchecker", ())
    first, second = result.records
    assert (first.id, first.topic, first.reference) == ("7", "7", "R")
    assert first.sources == (
        Document(id="11", text="C1", part_of="11"),
        Document(id="11#2", text="C2", part_of="11"),
    )
    assert second.topic is None
    assert one(read_records(write(CHECKED))).id == "7"


def test_a_ragchecker_document_may_be_a_row():
    assert one(read_records_from_rows([{"results": [CHECKED]}])).question == "Q?"


def test_nuggetizer_input_is_a_question_with_documents(write):
    result = read_records(write(CREATE))
    assert result.format == "nuggetizer-create"
    record = one(result)
    assert (record.id, record.topic, record.question, record.answer) == ("q1", "q1", "Q?", "")
    assert record.sources == (
        Document(id="d1", text="S1", title="T"),
        Document(id="d2", text="S2"),
    )
    assert record.metadata == {"candidates.0.score": "10.5", "candidates.0.judgment": "2"}


def test_nuggetizer_input_in_short_form_is_read(write):
    record = one(read_records(write({"query": "Q?", "candidates": ["S1", {"text": "S2"}]})))
    assert (record.id, record.topic) == ("line-1", None)
    assert [source.text for source in record.sources] == ["S1", "S2"]


def test_nuggetizer_assignments_give_answers_whose_record_does_not_tell_them(write):
    result = read_records(write(ASSIGNED, {**ASSIGNED, "run_id": "other", "response_length": 9}))
    assert result.format == "nuggetizer-assign"
    first, second = result.records
    assert (first.id, first.topic, first.system) == ("run/q1", "q1", "run")
    assert first.answer == "One two three."
    assert first.nuggets == (
        Nugget(text="n1", importance="vital"),
        Nugget(text="n2", importance="okay"),
    )
    assert (first.metadata, second.metadata) == ({}, {"response_length": "9"})
    assert "support" not in first.model_dump_json()


@pytest.mark.parametrize("indent", [None, 2])
def test_a_bioasq_question_is_a_record_without_an_answer(write, indent):
    result = read_records(write(json.dumps({"questions": [EXPERT]}, indent=indent)))
    assert result.format == "bioasq"
    record = one(result)
    assert (record.id, record.question, record.answer) == (EXPERT["id"], "Q?", "")
    assert record.reference == "I1"
    assert [source.id for source in record.sources] == ["123", "123#2", "http://x/other"]
    assert record.metadata == {
        "type": "factoid",
        "exact_answer": '[["e1", "e2"]]',
        "ideal_answer": '["I2"]',
        "documents": json.dumps(EXPERT["documents"]),
        "snippets.0.beginSection": "a",
        "concepts": '["c"]',
    }


def test_a_bioasq_answer_may_be_text_and_an_unanswered_question_has_no_reference(write):
    yesno = {"id": "1", "type": "yesno", "body": "Q", "ideal_answer": "I", "exact_answer": "yes"}
    record = one(read_records(write({"questions": [yesno]})))
    assert (record.reference, record.metadata["exact_answer"]) == ("I", "yes")
    bare = {"id": "1", "type": "summary", "body": "Q"}
    assert one(read_records(write({"questions": [bare]}))).reference is None


@pytest.mark.parametrize("indent", [None, 4])
def test_each_machine_answer_of_medaesqa_is_a_record(write, indent):
    result = read_records(write(json.dumps([ASSESSED], indent=indent)))
    assert (result.format, result.rejections) == ("medaesqa", ())
    first, second = result.records
    assert (first.id, first.topic, first.system) == ("132/M1", "132", "M1")
    assert first.reference == "Expert [1]."
    assert first.answer == (
        SentenceInput(text="S1.", citations=("111", "222")),
        SentenceInput(text="S2."),
        SentenceInput(text="S3.", citations=("333", "444")),
    )
    assert first.metadata == {"answer": "S1. S2. S3.", "question_frame": '{"Type": "x"}'}
    assert (second.id, second.answer) == ("132/M2", "Plain.")
    for word in ("required", "borderline", "supporting", "neutral"):
        assert word not in first.model_dump_json()


def test_limit_stops_within_a_question(write):
    assert len(read_records(write([ASSESSED]), limit=1).records) == 1


def test_a_bad_machine_answer_does_not_take_the_others_with_it(write):
    answers = {"M1": MACHINE, "M2": 3, "M3": {"answer": []}}
    result = read_records(write({**ASSESSED, "machine_generated_answers": answers}))
    assert [record.id for record in result.records] == ["132/M1"]
    assert [one.field for one in result.rejections] == [
        "machine_generated_answers.M2",
        "machine_generated_answers.M3.answer",
    ]


def test_the_second_of_two_equal_questions_is_rejected(write):
    result = read_records(write(ASSESSED, ASSESSED))
    assert len(result.records) == 2
    assert [one.line for one in result.rejections] == [2, 2]


@each_case(
    ("row", "change", "field", "problem"),
    [
        (CASE, {"retrieval_context": 3}, "retrieval_context", "the number 3"),
        (CASE, {"retrieval_context": [3]}, "retrieval_context.0", "the number 3"),
        (CASE, {"metadata": []}, "metadata", "an empty list"),
        (CHECKED, {"response": ["A"]}, "response", "a list of 1"),
        (CHECKED, {"retrieved_context": [{"doc_id": "1"}]}, "retrieved_context.0.text", "missing"),
        (CREATE, {"query": {"qid": "x"}}, "query.text", "missing"),
        (CREATE, {"candidates": [{"docid": "d"}]}, "candidates.0.doc", "missing"),
        (CREATE, {"candidates": {"a": 1}}, "candidates", "an object"),
        (ASSIGNED, {"run_id": " "}, "run_id", "empty id"),
        (ASSIGNED, {"response_length": -1}, "response_length", "the number -1"),
        (EXPERT, {"body": 5}, "body", "the number 5"),
        (EXPERT, {"snippets": [{"text": "S"}]}, "snippets.0.document", "missing"),
        (ASSESSED, {"question_id": True}, "question_id", "true"),
        (ASSESSED, {"machine_generated_answers": []}, "machine_generated_answers", "empty list"),
    ],
)  # fmt: skip
def test_a_row_that_does_not_fit_is_rejected_and_the_others_are_read(
    write, row, change, field, problem
):
    n_good = len(read_records(write(row)).records)
    result = read_records(write(row, {**row, **change}))
    assert len(result.records) == n_good
    (rejection,) = result.rejections
    assert (rejection.line, rejection.field) == (2, field)
    assert problem in rejection.problem
    assert rejection.expected


def test_labels_of_medaesqa_count_sentences_as_the_records_do(write):
    path = write([ASSESSED])
    result = read_labels(path)
    assert (result.format, result.rejections) == ("medaesqa", ())
    found = [(one.task, one.label, one.sentence, one.item) for one in result.labels]
    assert found == [
        ("accuracy", "yes", None, ""),
        ("relevance", "required", 1, ""),
        ("citation", "supports", 1, "111"),
        ("citation", "invalid", 1, "222"),
        ("citation", "neutral", 1, "111"),
        ("relevance", "borderline", 3, ""),
        ("citation", "not_relevant", 3, "444"),
    ]
    record = read_records(path).records[0]
    for label in result.labels:
        assert (label.record_id, label.topic, label.system) == (record.id, "132", "M1")
        if label.task == "citation":
            assert label.item in record.answer[label.sentence - 1].citations


def test_an_unknown_word_for_a_label_is_rejected_alone(write):
    answers = {
        "M1": {"answer": "A", "is_answer_accurate": "perhaps", "answer_sentences": [
            {"answer_sentence": "S", "answer_sentence_relevance": "needed",
             "citation_assessment": [{"cited_pmid": "1", "evidence_relation": "agrees"},
                                     {"cited_pmid": "2", "evidence_relation": "contradicting"}]}]}
    }  # fmt: skip
    result = read_labels(write({**ASSESSED, "machine_generated_answers": answers}))
    assert [one.label for one in result.labels] == ["contradicts"]
    place = "machine_generated_answers.M1"
    assert [one.field for one in result.rejections] == [
        f"{place}.is_answer_accurate",
        f"{place}.answer_sentences.0.answer_sentence_relevance",
        f"{place}.answer_sentences.0.citation_assessment.0.evidence_relation",
    ]
    assert "supporting or contradicting" in result.rejections[-1].expected


@pytest.mark.parametrize("name", ["question_id", "topic_id", "qa_id", "id"])
def test_assessments_without_questions_take_them_from_the_topics(write, name):
    row = {key: ASSESSED[key] for key in ("machine_generated_answers",)} | {name: 116}
    path = write(json.dumps([row, row | {name: 117}], indent=1))
    found = read_records(path, questions=write({"116": "Q116?"}, name="topics.json"))
    assert [(one.id, one.question) for one in found.records] == [
        ("116/M1", "Q116?"),
        ("116/M2", "Q116?"),
    ]
    (rejection,) = found.rejections
    assert (rejection.field, rejection.line > 0) == ("question", True)
    assert "117" in rejection.problem
    assert {label.topic for label in read_labels(path).labels} == {"116", "117"}


def test_extracts_of_medaesqa_are_answers_or_questions_with_a_document(write):
    answers = write({"question": "Q?", "machine_id": "M1", "answer": "A."})
    record = one(read_records(answers))
    assert (record.system, record.topic, record.answer) == ("M1", "Q?", "A.")
    evidence = write({"question": "Q?", "evidence": "E."}, {"question": "Q?", "evidence": "F."})
    found = read_records(evidence)
    assert (found.format, found.rejections) == ("medaesqa-evidence", ())
    assert [(r.id, r.answer, r.sources[0].text) for r in found.records] == [
        ("line-1", "", "E."),
        ("line-2", "", "F."),
    ]
