"""Files that authors released: YESciEval's answers and workbooks, ratings of texts, claims.

Modelled on the programs that wrote or read them (YESciEval's `refactor_dataset.py`,
`adversarial_creation.py` and `qualitative_eval_cleanup.py`; Evidence Inference's README of its
annotations; SciFact's claims); the texts are ours.
"""

from __future__ import annotations

import csv
import gzip
import json

import pytest
from format_samples import CASES, sample

from ragassay.errors import InputError
from ragassay.formats import read_corpus, read_labels, read_records, read_records_from_rows
from ragassay.formats.claims import iter_claims
from ragassay.formats.items import Item, Place
from ragassay.formats.rated_texts import USR_SCALES, AnnotatorRow, read_summeval_labels
from ragassay.prompts import load_rubrics
from ragassay.records import Document, Rejection

GENERATOR, JUDGE = "meta-llama-3.1-8b-instruct", "qwen2.5-72b-instruct"
QUESTION = {
    "research_question": "Does iron help?",
    "mapped_domain": "Medicine",
    "paper_1_title": "T1",
    "paper_1_abstract": "A1",
    "paper_2_title": "T2",
    "paper_2_abstract": "",
}
ORIGINAL = QUESTION | {
    f"{GENERATOR}_synthesis": "It helps (1).",
    f"{JUDGE}_evaluation_scores_{GENERATOR}": "**Cohesion** Rating: 4 Rationale: secret",
    f"{JUDGE}_{GENERATOR}_Cohesion": "4",
    f"{JUDGE}_{GENERATOR}_Relevancy": "",
}
EXTREME = QUESTION | {
    f"{GENERATOR}_synthesis": "It helps (1).",
    f"{GENERATOR}_extreme_cohesion": "(1) helps It.",
    f"{GENERATOR}_extreme_relevancy": "It helps (1). A match was won.",
    f"{JUDGE}_{GENERATOR}_Cohesion": "2.0",
    f"{JUDGE}_{GENERATOR}_Relevancy": "7",
}
FINDING = {
    "pmcid": "1",
    "intervention": "iron",
    "comparator": "placebo",
    "outcome": "fatigue",
    "label": "significantly decreased",
    "evidence": "Fatigue fell.",
}


def sheet(path, *rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_workbook_of_yescieval_gives_answers_and_ratings(tmp_path):
    path = sheet(tmp_path / "BioASQ_synthesis_clean.csv", ORIGINAL)
    found = read_records(path)
    assert (found.format, found.rejections) == ("yescieval-workbook", ())
    (record,) = found.records
    assert (record.id, record.system) == (f"row-1/{GENERATOR}/benign", GENERATOR)
    assert record.sources == (Document(id="1", text="A1", title="T1"),)
    assert record.metadata == {"mapped_domain": "Medicine", "variant": "benign"}
    (label,) = read_labels(path).labels
    assert (label.record_id, label.item, label.label) == (record.id, "cohesion", "4")
    assert (label.annotator, label.system) == (JUDGE, GENERATOR)


def test_in_a_workbook_of_damaged_answers_a_rating_is_of_the_damaged_one(tmp_path):
    path = sheet(tmp_path / "BioASQ_extreme_clean.csv", EXTREME | {"sample_id": "s1"})
    records = {record.id: record for record in read_records(path).records}
    damaged = records[f"s1/{GENERATOR}/extreme/cohesion"]
    assert damaged.answer == "(1) helps It."
    assert damaged.metadata["target_rubric"] == "cohesion"
    assert len(records) == 3
    result = read_labels(path)
    assert [(one.record_id, one.label) for one in result.labels] == [(damaged.id, "2")]
    assert result.rejections[0].field == f"{JUDGE}_{GENERATOR}_Relevancy"


def test_a_folder_of_workbooks_has_each_answer_once(tmp_path):
    (tmp_path / "extreme").mkdir()
    sheet(tmp_path / "a_clean.csv", ORIGINAL)
    sheet(tmp_path / "extreme" / "a_extreme_clean.csv", EXTREME)
    sheet(tmp_path / "scores.csv", {"model": "m", "mean": "3"})
    found = read_records(tmp_path)
    assert len(found.records) == 3
    assert [(r.file, r.problem) for r in found.rejections] == [
        (str(tmp_path / "scores.csv"), "the file is not a YESciEval workbook")
    ]
    assert {one.record_id for one in read_labels(tmp_path).labels} == {
        f"row-1/{GENERATOR}/benign",
        f"row-1/{GENERATOR}/extreme/cohesion",
    }


def test_an_excel_workbook_of_yescieval_is_read(tmp_path):
    excel = pytest.importorskip("openpyxl")
    book = excel.Workbook()
    book.active.append(list(ORIGINAL))
    book.active.append([4 if value == "4" else value or None for value in ORIGINAL.values()])
    book.save(tmp_path / "a.xlsx")
    assert len(read_records(tmp_path).records) == 1
    assert [one.label for one in read_labels(tmp_path / "a.xlsx").labels] == ["4"]


def test_a_folder_without_tables_says_so(tmp_path):
    with pytest.raises(InputError, match="is a folder without workbooks"):
        read_records(tmp_path)


@pytest.mark.parametrize("name", ["bio-questions.jsonl", "bio-questions.jsonl.gz"])
def test_yescieval_answers_find_their_questions_beside_them(write, name):
    lines = json.dumps(CASES["yescieval"]["questions"][0]).encode()
    write(gzip.compress(lines) if name.endswith(".gz") else lines, name=name, end=b"")
    found = read_records(write(sample("yescieval"), name="bio-answers.jsonl"))
    assert found.rejections == ()
    assert [(one.id, one.question) for one in found.records] == [("q1/gen/subtle/Cohesion", "Q?")]


def test_yescieval_answers_without_questions_name_the_mend(write):
    rated = sample("yescieval")
    for name in ("bio-answers.jsonl", "else.jsonl"):
        with pytest.raises(InputError, match="`questions`"):
            read_records(write(rated, name=name))
    with pytest.raises(InputError, match="no YESciEval question"):
        read_records(write(rated), questions=write(sample("ragas"), name="q.jsonl"))
    with pytest.raises(InputError, match="require a questions file; pass `questions`"):
        read_records_from_rows([rated])


def test_scales_of_the_formats_are_those_of_the_rubrics():
    assert dict(USR_SCALES) == {name: r.bounds for name, r in load_rubrics("usr").items()}
    assert list(AnnotatorRow.model_fields) == list(load_rubrics("summeval"))
    assert {r.bounds for r in load_rubrics("summeval").values()} == {(1, 5)}


def test_crowd_workers_ratings_are_labels_where_they_are_wanted():
    item = Item(Place("f", 1, "line-1", ""), sample("summeval"))
    labels = read_summeval_labels(item, turkers=True)
    assert len(labels) == 7 + 4
    assert {one.annotator for one in labels} == {"expert 1", "expert 2", "turker 1"}


WANTED = [
    ("Compared with placebo, iron significantly decreased fatigue.", "supports"),
    ("Compared with placebo, iron significantly increased fatigue.", "contradicts"),
]


def claims(path):
    found = list(iter_claims(path))
    return (
        [(i.fields["claim"], i.fields["label"]) for i in found if not isinstance(i, Rejection)],
        [(i.line, i.field) for i in found if isinstance(i, Rejection)],
    )


def test_a_finding_of_a_trial_becomes_two_claims(write):
    same = FINDING | {"label": "no significant difference"}
    made, rejected = claims(write(FINDING, FINDING | {"label": "invalid prompt"}, same))
    assert made == [
        *WANTED,
        ("Compared with placebo, iron made no significant difference to fatigue.", "supports"),
        ("Compared with placebo, iron significantly increased fatigue.", "contradicts"),
    ]
    assert rejected == [(2, "label")]


def test_annotations_are_joined_with_the_prompts_beside_them(tmp_path):
    prompt = {"PromptID": "7", "PMCID": "1", "Outcome": "fatigue", "Intervention": "iron"}
    row = {
        "PromptID": "7",
        "Valid Label": "1",
        "Label": FINDING["label"],
        "Annotations": "It fell.",
    }
    path = sheet(
        tmp_path / "annotations_merged.csv",
        row,
        row | {"Valid Label": "0"},
        row | {"PromptID": "8"},
    )
    with pytest.raises(InputError, match=r"requires prompts_merged\.csv"):
        claims(path)
    sheet(tmp_path / "prompts_merged.csv", prompt | {"Comparator": "placebo"})
    assert claims(path) == (WANTED, [(3, "Valid Label"), (4, "PromptID")])


def test_claims_that_cite_documents_are_joined_with_the_corpus_beside_them(write):
    claim = {"id": 1, "claim": "Iron helps.", "cited_doc_ids": [5, 6, 9]}
    path = write(
        claim | {"evidence": {"5": [{"sentences": [1, 0], "label": "REFUTE"}]}}, name="claims.jsonl"
    )
    with pytest.raises(InputError, match=r"requires corpus\.jsonl"):
        claims(path)
    documents = [{"doc_id": n, "title": "T", "abstract": ["One. ", "Two."]} for n in (5, 6)]
    corpus = write(*documents, name="corpus.jsonl")
    assert claims(path) == (
        [("Iron helps.", "REFUTE"), ("Iron helps.", "NEI")],
        [(1, "evidence.9")],
    )
    first = next(iter(iter_claims(path)))
    assert not isinstance(first, Rejection)
    assert first.fields["evidence_sentences"] == [0, 1]
    assert read_corpus(corpus).documents[0] == Document(id="5", text="One. Two.", title="T")


@pytest.mark.parametrize(
    ("row", "hint"),
    [
        ({"doi": "x", "Q&A": [{"Q": "Q?", "A": "A."}]}, "ragassay qa evaluate"),
        (FINDING, "ragassay finetune verifier"),
        ({"claim": "c", "evidence": "e", "label": "NEI"}, "ragassay finetune verifier"),
        ({"id": "q", "question": "Q?", "papers": []}, "pass the answer file"),
    ],
)
def test_a_file_that_holds_something_else_is_sent_elsewhere(row, hint, write):
    with pytest.raises(InputError, match=hint):
        read_records(write(row))
