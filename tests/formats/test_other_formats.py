"""ragas, TREC BioGen 2025 task B, YESciEval, corpora."""

from __future__ import annotations

import gzip
import json

import pytest
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.formats import read_corpus, read_records, read_records_from_rows
from ragassay.records import Document, SentenceInput

SAMPLE = {
    "user_input": "Q?",
    "response": "A.",
    "retrieved_contexts": ["C1", "C2"],
    "reference": "R",
    "reference_contexts": ["RC"],
    "retrieved_context_ids": [11, "p2"],
    "rubrics": {"score1": "bad"},
    "persona_name": "doctor",
}
ANSWER = {
    "metadata": {"team_id": "t", "run_id": "r", "topic_id": 116, "question": "Q?"},
    "responses": [
        {"text": "S1.", "citations": [31452104, "123"]},
        {"text": "S2.", "citations": []},
    ],
}
QUESTIONS = [
    {"id": "q1", "question": "Q?", "papers": [{"title": "T", "abstract": "A1", "doi": "x"},
                                              {"title": "", "abstract": "A2"}]}
]  # fmt: skip
RATED = {
    "question_id": "q1",
    "generator": "gen",
    "variant": "subtle",
    "target_rubric": "Cohesion",
    "answer": "It is so (1, 2).",
    "ratings": {"judge": {"Cohesion": {"rating": 1, "rationale": "bad"}}},
}


def test_a_ragas_sample_becomes_a_record_and_loses_nothing(write):
    result = read_records(write(SAMPLE))
    assert (result.format, result.rejections) == ("ragas", ())
    (record,) = result.records
    assert (record.id, record.question, record.answer) == ("line-1", "Q?", "A.")
    assert record.sources == (Document(id="11", text="C1"), Document(id="p2", text="C2"))
    assert record.reference == "R"
    assert record.metadata == {
        "reference_contexts": '["RC"]',
        "rubrics": '{"score1": "bad"}',
        "persona_name": "doctor",
    }


def test_ragas_passages_of_one_document_get_ids_that_differ(write):
    sample = {**SAMPLE, "retrieved_contexts": list("abcd"),
              "retrieved_context_ids": ["x", "x", "x#2", "x"]}  # fmt: skip
    (record,) = read_records(write(sample)).records
    assert [source.id for source in record.sources] == ["x", "x#3", "x#2", "x#4"]


@pytest.mark.parametrize(
    ("row", "change", "field", "problem"),
    [
        (SAMPLE, {"user_input": [{"content": "A.", "type": "ai"}]}, "user_input", "no user"),
        (SAMPLE, {"response": None}, "response", "missing"),
        (SAMPLE, {"retrieved_contexts": [None]}, "retrieved_contexts.0", "null"),
        (SAMPLE, {"retrieved_context_ids": [1]}, "retrieved_context_ids", "1 ids for 2"),
        (SAMPLE, {"rubrics": "no"}, "rubrics", "the text"),
        (ANSWER, {"responses": [{"text": "S", "citations": list("1234")}]},
         "responses.0.citations", "4"),
        (ANSWER, {"responses": [{"citations": []}]}, "responses.0.text", "missing"),
        (ANSWER, {"responses": "text"}, "responses", "the text"),
        (ANSWER, {"metadata": {"team_id": "t", "runid": "r", "topic_id": "1"}},
         "metadata.run_id", "'runid'"),
        (ANSWER, {"metadata": 3}, "metadata", "the number 3"),
        (ANSWER, {}, "", "line 1"),
    ],
)  # fmt: skip
def test_a_row_that_does_not_fit_is_rejected(write, row, change, field, problem):
    result = read_records(write(row, {**row, **change}))
    assert len(result.records) == 1
    (rejection,) = result.rejections
    assert (rejection.line, rejection.field) == (2, field)
    assert problem in rejection.problem


def test_a_file_of_ragas_conversations_is_read_with_all_its_fields(write):
    turns = [{"content": "Q?", "type": "human"}, {"content": "A.", "type": "ai"}]
    kept = {"reference_topics": ["x"], "rubrics": {"score1": "bad"}}
    found = read_records(write({"user_input": turns, "reference": "R"} | kept))
    (record,) = found.records
    assert (record.question, record.answer, record.reference) == ("Q?", "A.", "R")
    assert record.metadata == {"reference_topics": '["x"]', "rubrics": '{"score1": "bad"}'}


def test_a_biogen_answer_becomes_a_record(write):
    result = read_records(write(ANSWER))
    assert (result.format, result.rejections) == ("biogen-2025-b", ())
    (record,) = result.records
    assert (record.id, record.system, record.topic) == ("t/r/116", "t/r", "116")
    assert record.question == "Q?"
    assert record.answer == (
        SentenceInput(text="S1.", citations=("31452104", "123")),
        SentenceInput(text="S2."),
    )


def test_biogen_runs_are_read_as_they_occur_in_the_wild(write):
    wild = {"meta_data": {**ANSWER["metadata"], "type": "auto", "answer": "S1. S2."},
            "responses": ANSWER["responses"]}  # fmt: skip
    (record,) = read_records(write(json.dumps([wild], indent=1))).records
    assert record.id == "t/r/116"
    assert record.metadata == {"answer": "S1. S2.", "metadata.type": "auto"}


def test_a_biogen_answer_without_its_question_takes_it_from_the_topics(write):
    bare = {**ANSWER, "metadata": {"team_id": "t", "run_id": "r", "topic_id": "116"}}
    path = write(bare, {**bare, "metadata": {**bare["metadata"], "topic_id": "999"}})
    as_json = write(
        json.dumps({"topics": [{"id": 116, "topic": "t", "question": "J?", "narrative": "n"}]}),
        name="topics.txt",
    )
    as_csv = write("topic_id,title,question,narrative", '116,t,"C, or\nnot?",n', name="topics.csv")
    for topics, question in ((as_json, "J?"), (as_csv, "C, or\nnot?")):
        result = read_records(path, questions=topics)
        assert [record.question for record in result.records] == [question]
        assert [one.field for one in result.rejections] == ["metadata.question"]
        assert "nor is the topic in the questions file" in result.rejections[0].problem


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("topic_id,date\n1,t", "no topic"),
        ("{", "not JSON"),
        ('{"topics": 3}', "the number 3"),
        ("\xff\xfe", "no topic"),
    ],
)
def test_a_topics_file_that_cannot_be_read_is_an_input_error(write, content, message):
    with pytest.raises(InputError, match=message):
        read_records(write(ANSWER), questions=write(content, name="topics"))


@pytest.mark.parametrize("name", ["bio-questions.jsonl", "bio-questions.jsonl.gz"])
def test_yescieval_answers_find_their_questions_beside_them(write, name):
    questions = write(*QUESTIONS, name=name)
    if name.endswith(".gz"):
        questions.write_bytes(gzip.compress(questions.read_bytes()))
    benign = {**RATED, "variant": "benign", "target_rubric": None}
    result = read_records(write(RATED, benign, name="bio-answers.jsonl"))
    assert (result.format, result.rejections) == ("yescieval", ())
    first, second = result.records
    assert (first.id, second.id) == ("q1/gen/subtle/Cohesion", "q1/gen/benign")
    assert (first.system, first.topic, first.question) == ("gen", "q1", "Q?")
    assert first.sources == (Document(id="1", text="A1", title="T"), Document(id="2", text="A2"))
    assert first.metadata == {"variant": "subtle", "target_rubric": "Cohesion"}
    assert second.metadata == {"variant": "benign"}


def test_yescieval_lines_that_do_not_fit_are_rejected_in_both_files(write):
    questions = write(*QUESTIONS, *QUESTIONS, {"id": "q2", "question": "Q"}, name="q.jsonl")
    path = write(RATED, RATED, {**RATED, "question_id": "q9"}, {**RATED, "variant": 3})
    result = read_records(path, questions=questions)
    assert len(result.records) == 1
    places = [(one.file, one.line, one.field) for one in result.rejections]
    assert places == [
        (str(questions), 2, "id"),
        (str(questions), 3, "papers"),
        (str(path), 2, ""),
        (str(path), 3, "question_id"),
        (str(path), 4, "variant"),
    ]


def test_yescieval_answers_without_questions_name_the_mend(write):
    with pytest.raises(InputError, match="`questions`"):
        read_records(write(RATED, name="bio-answers.jsonl"))
    with pytest.raises(InputError, match="`questions`"):
        read_records(write(RATED, name="else.jsonl"))
    with pytest.raises(InputError, match="no YESciEval question"):
        read_records(write(RATED, name="else.jsonl"), questions=write(SAMPLE, name="q.jsonl"))
    with pytest.raises(InputError, match="require a questions file; pass `questions`"):
        read_records_from_rows([RATED])


@each_case(
    ("row", "expected"),
    [
        ({"question": "Q", "answer": "A"}, "ragassay"),
        (SAMPLE, "ragas"),
        (ANSWER, "biogen-2025-b"),
    ],
)
@each_case("name", ["ragas.csv", "biogen-answers.json.gz", "yescieval", "x.xml"])
def test_the_format_is_told_by_content_whatever_the_name(write, row, expected, name):
    result = read_records(write(row, name=name))
    assert (result.format, len(result.records)) == (expected, 1)


def test_a_misspelt_field_does_not_hide_the_format(write):
    for row, expected in (
        ({"user_inptu": "Q", "response": "A"}, "ragas"),
        ({**{k: v for k, v in RATED.items() if k != "variant"}, "varient": "x"}, "yescieval"),
        ({"metadata": ANSWER["metadata"], "response": []}, "biogen-2025-b"),
    ):
        questions = write(*QUESTIONS, name="q.jsonl") if expected == "yescieval" else None
        result = read_records(write(row), questions=questions)
        assert (result.format, len(result.rejections)) == (expected, 1)


def test_a_corpus_takes_the_pmid_as_id_where_there_is_one(write):
    result = read_corpus(
        write(
            {"id": "abs-0", "pmid": None, "title": "T", "abstract": "A"},
            {"id": "abs-1", "pmid": 123, "title": None, "abstract": "B"},
            {"docid": "d", "contents": "C", "url": "x"},
            {"id": "e", "text": "D"},
        )
    )
    assert result.rejections == ()
    assert result.documents == (
        Document(id="abs-0", text="A", title="T"),
        Document(id="123", text="B"),
        Document(id="d", text="C"),
        Document(id="e", text="D"),
    )


def test_bad_lines_of_a_corpus_are_rejected(write):
    good = {"id": "1", "text": "T"}
    result = read_corpus(
        write(good, good, {"id": "2"}, {"text": "T"}, "{", {"id": " ", "text": ""})
    )
    assert len(result.documents) == 1
    places = [(one.line, one.field) for one in result.rejections]
    assert places == [(2, "id"), (3, "abstract"), (4, "pmid"), (5, ""), (6, "id")]
    assert '"abstract" or "text" or "contents"' in result.rejections[1].expected
    assert "line 1" in result.rejections[0].problem


def test_a_file_that_is_no_corpus_is_an_input_error(write):
    with pytest.raises(InputError, match="pmid or id or docid"):
        read_corpus(write(SAMPLE))


def test_the_real_yescieval_pair_is_read_whole(shared_data):
    result = read_records(shared_data / "yescieval" / "bioasq-train-answers.jsonl.gz")
    assert (result.format, result.rejections, len(result.records)) == ("yescieval", (), 3876)
    first = result.records[0]
    assert first.id == "bioasq-train-0/meta-llama-3.1-8b-instruct/benign"
    assert [source.id for source in first.sources[:3]] == ["1", "2", "3"]
    assert all(record.sources and record.metadata["variant"] for record in result.records)


def test_the_real_corpus_is_read_whole(shared_data):
    result = read_corpus(shared_data / "corpus" / "abstracts.jsonl.gz")
    assert len(result.documents) + len(result.rejections) == 31932
    # One PMID stands there twice.
    (rejection,) = result.rejections
    assert rejection.field == "pmid"
    assert rejection.line and rejection.problem and rejection.expected
    assert all(document.text for document in result.documents)


def test_the_real_topics_are_read(shared_data, write):
    bare = {**ANSWER, "metadata": {"team_id": "t", "run_id": "r", "topic_id": "117"}}
    topics = shared_data / "trec-biogen" / "topics2024.json"
    (record,) = read_records(write(bare), questions=topics).records
    assert record.question == "What will mutation in runx2 affect in the future?"
