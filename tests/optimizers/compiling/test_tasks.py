"""What users have, as items: how files are read, named where they are wrong, split and limited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonl import read_jsonl, write_jsonl

from ragassay.agents.evidence_search import Queries
from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.optimizers.compiling.items import (
    CompileItem,
    ItemResult,
    draw_items,
    hash_items,
    split_by_group,
)
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
from ragassay.settings import load_settings

ANSWERS = (
    {"id": "q1", "question": "Does aspirin help?", "answer": "It helps. It is cheap."},
    {"id": "q2", "question": "Does zinc help?", "answer": "Nobody knows."},
)


def shown_to(task: CompileTask, item: CompileItem) -> dict[str, str]:
    return task.make_agent().request(*item.arguments).inputs


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    return lambda *rows: write_jsonl(tmp_path / "rows.jsonl", *rows)


@pytest.fixture
def read(run, tmp_path) -> Callable[..., tuple[CompileTask, ItemResult]]:
    """Read the answers with labels of people."""

    def read(agent: str, *labels: object, **options: Any) -> tuple[CompileTask, ItemResult]:
        gold = write_jsonl(tmp_path / "gold.jsonl", *labels)
        task = create_task(agent, run, TaskOptions(gold=gold, **options))
        return task, task.read(write_jsonl(tmp_path / "answers.jsonl", *ANSWERS))

    return read


def test_claims_are_read_as_other_collections_write_them(run, write):
    path = write(
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


def test_a_wrong_claim_is_named_by_line_and_field_and_the_rest_is_read(run, write):
    path = write(
        {"claim": "A.", "evidence": "B.", "label": "perhaps"},
        {"claim": "A.", "label": "supports"},
        {"evidence": "B.", "label": "supports"},
        {"claim": "A.", "evidence": "B.", "label": "supports"},
    )
    found = create_task("verifier", run, TaskOptions()).read(path)
    wrong = [(rejection.line, rejection.field) for rejection in found.rejections]
    assert wrong == [(1, "label"), (2, "evidence"), (3, "claim")]
    assert len(found.items) == 1


def test_an_example_shows_what_a_prompt_shows_and_the_right_reply(run, write):
    path = write({"claim": "A.", "evidence": "B.", "label": "supports"})
    task = create_task("verifier", run, TaskOptions())
    item = task.read(path).items[0]
    inputs = shown_to(task, item)
    example = build_example(item, inputs)
    assert example.verdict == "supports"
    assert (example.claim, example.passage) == (inputs["claim"], inputs["passage"])
    assert "context" not in example.keys() and "case" not in example.keys()
    assert list(example.inputs().keys()) == ["item"]


def test_sentences_with_labels_of_people(read):
    labels = (("q1", 1, "required"), ("q1", 2, "unnecessary"), ("q2", 9, "required"))
    task, found = read(
        "sentence_labeller",
        *(
            {"task": "relevance", "label": label, "record_id": record, "sentence": n}
            for record, n, label in labels
        ),
    )
    first, second = found.items
    assert [r.problem for r in found.rejections] == ["the answer q2 has no sentence 9"]
    assert (first.arguments[1].text, first.right) == ("It helps.", "required")
    assert (second.arguments[1].text, second.right) == ("It is cheap.", "unnecessary")
    assert "Does aspirin help?" in first.about
    assert build_example(first, shown_to(task, first)).case == first.about
    assert task.mark(first, SentenceLabel(sentence=1, label="required")).value == 1
    assert task.mark(first, SentenceLabel(sentence=1, label="borderline")).value == 0


def test_nuggets_with_assignments_of_people(read):
    label = {"task": "nugget", "label": "support", "record_id": "q1", "item": "Aspirin helps."}
    task, found = read("nugget_assigner", label)
    (item,) = found.items
    assert "Aspirin helps." in shown_to(task, item)["nugget"]
    assert task.mark(item, NuggetAssignment(gold=0, assignment="support")).value == 1


@pytest.mark.parametrize("agent", ["sentence_labeller", "nugget_assigner", "rubric_judge"])
def test_labels_of_another_task_are_refused_by_name(agent, read):
    with pytest.raises(InputError, match=r"gold\.jsonl contains no .* it has labels for accuracy"):
        read(agent, {"task": "accuracy", "label": "yes", "record_id": "q1"})


def rating(record: str, rubric: str, label: int, **more: str) -> dict[str, object]:
    return {"task": "rubric", "label": str(label), "record_id": record, "item": rubric} | more


def test_ratings_are_the_lower_median_and_of_the_chosen_rubrics(read):
    rated = [rating("q1", "cohesion", n, annotator=str(n)) for n in (2, 5, 3, 4)]
    labels = (*rated, rating("q1", "relevancy", 1))
    task, found = read("rubric_judge", *labels, rubrics=("cohesion",))
    (item,) = found.items
    assert (item.right, item.group, item.reply) == (3.0, "Does aspirin help?", {})
    assert task.mark(item, Judgment(rubric="cohesion", rating=3, score=2.0)).value == 0.75
    assert len(read("rubric_judge", *labels)[1].items) == 2
    with pytest.raises(InputError, match="unknown rubric 'wit'"):
        read("rubric_judge", *labels, rubrics=("wit",))


def test_damaged_answers_are_wanted_low_and_know_their_whole_one(run, write, sample):
    answers = sample / "answers.jsonl"
    ids = [row["id"] for row in read_jsonl(answers)]
    gold = write(*(rating(one, name, 5) for one in ids for name in run.rubrics))
    task = create_task("rubric_judge", run, TaskOptions(gold=gold, n_perturbed=6))
    found = task.read(answers).items
    damaged = [item for item in found if item.unperturbed]
    assert damaged and {item.right for item in damaged} <= {1.0, 3.0}
    keys = {item.key: item for item in found}
    assert all(keys[item.unperturbed].group == item.group for item in damaged)
    assert [item.key for item in task.read(answers).items] == [item.key for item in found]


def test_facts_of_sentences(run, write):
    path = write(
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


def test_questions_with_their_articles(write):
    texts = {"11": "zinc and colds", "12": "aspirin", "13": "gold", "14": "silver"}
    corpus = Corpus([Document(id=name, text=text) for name, text in texts.items()])
    run = build_run(load_settings(model="openai/scripted", signals=False), corpus)
    path = write(
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


def items(*keys: str) -> list[CompileItem]:
    """`group:key` each, or `group:key<whole` for a perturbed form."""
    found = []
    for text in keys:
        group, _, rest = text.partition(":")
        key, _, whole = rest.partition("<")
        found.append(CompileItem(key, group, (), right="x", unperturbed=whole))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_on_both_sides(seed):
    some = items("a:1", "a:2", "b:3", "c:4", "c:5", "d:6")
    first, second = split_by_group(some, 0.5, seed)
    assert {i.group for i in first}.isdisjoint(i.group for i in second)
    assert sorted(i.key for i in [*first, *second]) == ["1", "2", "3", "4", "5", "6"]
    assert len({i.group for i in second}) == 2
    assert split_by_group(some[::-1], 0.5, seed)[1] == second[::-1]


def test_each_side_has_a_group_where_there_are_two():
    for share in (0.0, 1.0):
        assert [len(side) for side in split_by_group(items("a:1", "b:2"), share, 0)] == [1, 1]
    assert split_by_group(items("a:1", "a:2"), 0.5, 0)[1] == []
    assert split_by_group([], 0.5, 0) == ([], [])


def test_a_limit_spreads_over_groups_and_keeps_pairs_together():
    some = items("a:1", "a:2", "a:3", "a:4", "b:5", "c:6", "c:7<6")
    found = draw_items(some, 4, seed=1)
    assert {item.group for item in found} == {"a", "b", "c"}
    assert {"6", "7"} <= {item.key for item in found}
    assert len(draw_items(some, 0, 1)) == len(some)
    assert draw_items([], 3, 1) == draw_items(items("a:1", "a:2<1"), 1, seed=0) == []


def test_the_hash_is_of_what_is_asked_in_any_order():
    one, two = items("a:1", "b:2")
    shown = [{"claim": "x"}, {"claim": "y"}]
    assert hash_items([one, two], shown) == hash_items([two, one], shown[::-1])
    assert hash_items([one, two], shown) != hash_items([one, two], shown[:1] * 2)
