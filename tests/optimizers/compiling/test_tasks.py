"""What users have, as items; and what is wrong with it, by file, line and field."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.student import build_example
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.optimizers.compiling.tasks import TaskOptions, create_task
from ragassay.records import (
    Document,
    Judgment,
    Nugget,
    NuggetAssignment,
    SentenceLabel,
    SentenceNuggets,
    Usage,
)
from ragassay.retrievers.literature import Corpus


def jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ANSWERS = (
    {"id": "q1", "question": "Does aspirin help?", "answer": "It helps. It is cheap."},
    {"id": "q2", "question": "Does zinc help?", "answer": "Nobody knows."},
)


def shown_to(task: CompileTask, item: CompileItem) -> dict[str, str]:
    return task.make_agent().request(*item.arguments).inputs


def test_claims_are_read_as_other_collections_write_them(run, tmp_path):
    path = jsonl(
        tmp_path / "c.jsonl",
        {"claim": "A.", "evidence": "B.", "label": "Refutes", "question": "Q?"},
        {"claim": "C.", "abstract": "D.", "label": "NEI"},
        {"claim": "E.", "sentences": ["F.", "G."], "label": "SUPPORT", "topic": 7},
    )
    items = create_task("verifier", run, TaskOptions(n_labels=3)).read(path).items
    assert [item.right for item in items] == ["contradicts", "neutral", "supports"]
    assert [item.group for item in items] == ["Q?", "C.", "7"]
    assert items[2].arguments[2].text == "F. G."
    two = create_task("verifier", run, TaskOptions(n_labels=2)).read(path).items
    assert [i.right for i in two] == ["not_attributable", "not_attributable", "supports"]


def test_a_wrong_claim_is_named_by_line_and_field_and_the_rest_is_read(run, tmp_path):
    path = jsonl(
        tmp_path / "c.jsonl",
        {"claim": "A.", "evidence": "B.", "label": "perhaps"},
        {"claim": "A.", "label": "supports"},
        {"evidence": "B.", "label": "supports"},
        {"claim": "A.", "evidence": "B.", "label": "supports"},
    )
    found = create_task("verifier", run, TaskOptions()).read(path)
    assert [(r.line, r.field) for r in found.rejections] == [
        (1, "label"),
        (2, "evidence"),
        (3, "claim"),
    ]
    assert len(found.items) == 1


def test_an_example_shows_what_a_prompt_shows_and_the_right_reply(run, tmp_path):
    path = jsonl(tmp_path / "c.jsonl", {"claim": "A.", "evidence": "B.", "label": "supports"})
    task = create_task("verifier", run, TaskOptions())
    item = task.read(path).items[0]
    inputs = shown_to(task, item)
    example = build_example(item, inputs)
    assert example.verdict == "supports"
    assert (example.claim, example.passage) == (inputs["claim"], inputs["passage"])
    assert "context" not in example.keys() and "case" not in example.keys()
    assert list(example.inputs().keys()) == ["item"]


def test_sentences_with_labels_of_people(run, tmp_path):
    answers = jsonl(tmp_path / "a.jsonl", *ANSWERS)
    gold = jsonl(
        tmp_path / "g.jsonl",
        {"task": "relevance", "label": "required", "record_id": "q1", "sentence": 1},
        {"task": "relevance", "label": "unnecessary", "record_id": "q1", "sentence": 2},
        {"task": "relevance", "label": "required", "record_id": "q2", "sentence": 9},
    )
    task = create_task("sentence_labeller", run, TaskOptions(gold=gold))
    found = task.read(answers)
    items = found.items
    assert [r.problem for r in found.rejections] == ["the answer q2 has no sentence 9"]
    assert [(i.arguments[1].text, i.right) for i in items] == [
        ("It helps.", "required"),
        ("It is cheap.", "unnecessary"),
    ]
    assert "Does aspirin help?" in items[0].about
    assert build_example(items[0], shown_to(task, items[0])).case == items[0].about
    assert task.mark(items[0], SentenceLabel(sentence=1, label="required")).value == 1
    assert task.mark(items[0], SentenceLabel(sentence=1, label="borderline")).value == 0


def test_nuggets_with_assignments_of_people(run, tmp_path):
    answers = jsonl(tmp_path / "a.jsonl", *ANSWERS)
    gold = jsonl(
        tmp_path / "g.jsonl",
        {"task": "nugget", "label": "support", "record_id": "q1", "item": "Aspirin helps."},
    )
    task = create_task("nugget_assigner", run, TaskOptions(gold=gold))
    (item,) = task.read(answers).items
    assert "Aspirin helps." in shown_to(task, item)["nugget"]
    assert task.mark(item, NuggetAssignment(gold=0, assignment="support")).value == 1


def test_labels_of_another_task_are_refused_by_name(run, tmp_path):
    answers = jsonl(tmp_path / "a.jsonl", *ANSWERS)
    gold = jsonl(tmp_path / "g.jsonl", {"task": "accuracy", "label": "yes", "record_id": "q1"})
    for agent in ("sentence_labeller", "nugget_assigner", "rubric_judge"):
        with pytest.raises(InputError, match=r"g\.jsonl contains no .* it has labels for accuracy"):
            create_task(agent, run, TaskOptions(gold=gold)).read(answers)


def rating(record: str, rubric: str, label: int, **more: str) -> dict[str, object]:
    return {"task": "rubric", "label": str(label), "record_id": record, "item": rubric} | more


def test_ratings_are_the_lower_median_and_of_the_chosen_rubrics(run, tmp_path):
    answers = jsonl(tmp_path / "a.jsonl", *ANSWERS)
    rated = [rating("q1", "cohesion", n, annotator=str(n)) for n in (2, 5, 3, 4)]
    gold = jsonl(tmp_path / "g.jsonl", *rated, rating("q1", "relevancy", 1))
    chosen = TaskOptions(rubrics=("cohesion",), gold=gold)
    task = create_task("rubric_judge", run, chosen)
    (item,) = task.read(answers).items
    assert (item.right, item.group, item.reply) == (3.0, "Does aspirin help?", {})
    assert task.mark(item, Judgment(rubric="cohesion", rating=3, score=2.0)).value == 0.75
    assert (
        len(create_task("rubric_judge", run, replace(chosen, rubrics=())).read(answers).items) == 2
    )
    with pytest.raises(InputError, match="unknown rubric 'wit'"):
        create_task("rubric_judge", run, TaskOptions(rubrics=("wit",)))


def test_damaged_answers_are_wanted_low_and_know_their_whole_one(run, tmp_path, sample):
    rows = [json.loads(line) for line in (sample / "answers.jsonl").read_text().splitlines()]
    answers = jsonl(tmp_path / "a.jsonl", *rows)
    labels = [rating(row["id"], name, 5) for row in rows for name in run.rubrics]
    gold = jsonl(tmp_path / "g.jsonl", *labels)
    found = (
        create_task("rubric_judge", run, TaskOptions(gold=gold, n_perturbed=6)).read(answers).items
    )
    damaged = [item for item in found if item.unperturbed]
    assert damaged and {item.right for item in damaged} <= {1.0, 3.0}
    keys = {item.key: item for item in found}
    assert all(keys[item.unperturbed].group == item.group for item in damaged)
    again = (
        create_task("rubric_judge", run, TaskOptions(gold=gold, n_perturbed=6)).read(answers).items
    )
    assert [item.key for item in again] == [item.key for item in found]


def test_facts_of_sentences(run, tmp_path):
    path = jsonl(
        tmp_path / "n.jsonl",
        {"sentence": "Zinc is cheap and safe.", "nuggets": ["Zinc is cheap.", "Zinc is safe."]},
        {"sentence": "Zinc is cheap.", "nuggets": []},
    )
    task = create_task("nugget_writer", run, TaskOptions())
    found = task.read(path)
    assert [(r.line, r.field) for r in found.rejections] == [(2, "nuggets")]
    said = [Nugget(text=t, origin="answer", method="model") for t in ("Zinc is cheap.", "Gold.")]
    nuggets = SentenceNuggets(origin="answer", sentence=1, nuggets=tuple(said), usage=Usage())
    # One of two facts in two nuggets: P = R = F1 = 1/2.
    assert task.mark(found.items[0], nuggets).value == pytest.approx(0.5)


def test_questions_with_their_articles(tmp_path):
    from ragassay.agents.evidence_search import Queries
    from ragassay.evaluators.build_run import build_run
    from ragassay.settings import load_settings

    texts = {"11": "zinc and colds", "12": "aspirin", "13": "gold", "14": "silver"}
    corpus = Corpus([Document(id=name, text=text) for name, text in texts.items()])
    run = build_run(load_settings(model="openai/scripted", signals=False), corpus)
    path = jsonl(
        tmp_path / "q.jsonl",
        {"body": "Zinc?", "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/11", "99"]},
        {"question": "Gold?", "pmids": [99]},
    )
    task = create_task("query_writer", run, TaskOptions())
    found = task.read(path)
    assert [(r.line, r.field) for r in found.rejections] == [(2, "pmids")]
    (item,) = found.items
    assert item.right == ("11",)
    assert task.mark(item, Queries("zinc", "", Usage())).value == 1.0
    assert task.mark(item, Queries("", "", Usage())).value == 0.0


def test_a_query_writer_wants_a_corpus_and_an_unknown_agent_is_named(run):
    with pytest.raises(InputError, match="--corpus"):
        create_task("query_writer", run, TaskOptions())
    with pytest.raises(InputError, match=r"fact_lister cannot be optimized: .* rubric_judge, veri"):
        create_task("fact_lister", run, TaskOptions())
