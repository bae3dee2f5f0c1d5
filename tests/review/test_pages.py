"""What a person sees: all of it, of any kind of verdict, and escaped."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from answers import answer, written_run
from reviewing import HOSTILE, client_of, evaluations, hostile_run, number, say

from ragassay.evaluators import OURS
from ragassay.records import (
    Escalation,
    ExamGrade,
    ExamItem,
    Nugget,
    OwnVerdict,
    VerdictBase,
)
from ragassay.review.server import open_source
from ragassay.review.session import ReviewSession
from ragassay.review.verdicts import RIGHT, build_review_item

SAMPLES = {
    "rubric": {"rubric": "cohesion", "rating": 4, "score": 3.6},
    "sentence_label": {"sentence": 1, "label": "required"},
    "cited_nugget": {"sentence": 1, "document": "d", "nugget": "n", "verdict": "supports"},
    "facts": {"document": "d", "start": 0, "facts": ["a fact"]},
    "correctness": {"sentence": 1, "correct": True},
    "attribution": {"sentence": 1, "verdict": "supports"},
    "citation": {"sentence": 1, "citation": {"marker": "1"}, "verdict": "invalid"},
    "evidence": {"sentence": 1, "verdict": "neutral"},
    "nuggets": {"origin": "answer", "sentence": 1, "nuggets": [{"text": "a nugget"}]},
    "assignment": {"gold": 0, "assignment": "support"},
    "exam_grade": {"exam_item": "q/1", "rating": 3, "score": 3.0, "is_correct": True},
    "racar": {"pair": "p/1", "dimension": "accuracy", "rating": 2, "score": 2.0},
    "intent": {"first": "p/1", "second": "p/2", "score": 40},
    "relevance_grade": {"grader": "thomas", "rating": 2, "is_relevant": True},
}


def test_every_evaluator_has_a_sample_here():
    assert {one.name for one in OURS} <= set(SAMPLES)
    assert set(VerdictBase.kinds) <= set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_verdict_of_any_kind_can_be_reviewed(name, tmp_path, make_client):
    verdict = VerdictBase.kinds[name].model_validate(SAMPLES[name])
    one = answer("r", labels=[("A sentence.", None)]).model_copy(
        update={"verdicts": (verdict,), "gold_nuggets": (Nugget(text="gold"),)}
    )
    client = make_client(written_run(tmp_path / name, [one]))
    (item,) = client.session.items
    assert item.choices and item.item_text and item.word and item.kind
    assert item.model_choice in [choice.value for choice in item.choices]
    assert "accept" in client.get("/items/0").text
    for choice in item.choices:
        assert say(client, 0, choice.value, id=f"said-{choice.word}-00".replace(" ", "-"))
    assert [one.value for one in client.session.find_reviews(item)] == [item.choices[-1].value]


def test_a_list_of_texts_is_right_or_wrong():
    verdict = VerdictBase.kinds["nuggets"].model_validate(SAMPLES["nuggets"])
    item = build_review_item(verdict, "r", "A sentence.")
    assert item.choices == RIGHT and item.model_choice is True and item.field == "right"


def test_labels_of_a_user_s_own_evaluator_are_those_that_it_used(tmp_path, make_client):
    verdicts = tuple(
        OwnVerdict(evaluator="tone", sentence=n, label=label)
        for n, label in enumerate(("calm", "shrill"), 1)
    )
    one = answer("r", labels=[("A.", None), ("B.", None)]).model_copy(update={"verdicts": verdicts})
    client = make_client(written_run(tmp_path / "own", [one]))
    assert [choice.value for choice in client.session.items[0].choices] == ["calm", "shrill"]
    assert say(client, 0, "ironic", "label").status_code == 200


def test_a_run_s_number_of_labels_limits_what_can_be_said(tmp_path, make_client):
    run = written_run(tmp_path / "two", evaluations())
    manifest = json.loads((run / "run.json").read_text())
    manifest["settings"]["verdict_labels"] = 2
    (run / "run.json").write_text(json.dumps(manifest))
    client = make_client(run)
    item = client.session.items[number(client.session, "citation", "2/1")]
    assert [one.value for one in item.choices] == ["supports", "not_attributable", "invalid"]


def test_an_item_stands_beside_its_sentence_evidence_and_judges(make_client, run):
    client = make_client(run)
    shown = client.get(f"/items/{number(client.session, 'citation', '2/1')}").text
    for wanted in ("Second sentence.", "A passage.", "A title", "97", "main finding"):
        assert wanted in shown
    assert "https://pubmed.ncbi.nlm.nih.gov/31452104/" in shown
    assert "<mark>Second sentence.</mark>" in shown
    shown = client.get(f"/items/{number(client.session, 'rubric', 'coherence')}").text
    assert "says 1" in shown and "says 5" in shown and "judge5" in shown


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.events, self.images = 0, [], 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.images += tag == "img"
        self.events += [name for name, _ in attrs if name.startswith("on")]


def test_everything_is_escaped(tmp_path, make_client):
    client = make_client(hostile_run(tmp_path / "run"), who=HOSTILE[:70])
    for n in range(len(client.session.items)):
        say(client, n, HOSTILE, "note", id=f"note-000{n}", who=HOSTILE[:60], why=HOSTILE)
    parts = [client.get("/").text]
    parts += [client.get(f"/items/{n}").text for n in range(len(client.session.items))]
    parts += client.get("/rows?n=0,1,2").json().values()
    for n, part in enumerate(parts):
        tags = Tags()
        tags.feed(part)
        assert (tags.scripts, tags.events, tags.images) == (2 if n == 0 else 0, [], 0)
        assert "60481729" not in part


def test_control_characters_do_not_reach_the_page(tmp_path, make_client):
    one = answer("r", labels=[("A\x00\x07sentence.", "required")])
    client = make_client(written_run(tmp_path / "run", [one]))
    assert "\x00" not in client.get("/items/0").text and "\x07" not in client.get("/").text


def test_the_page_is_whole_without_its_script(make_client, run):
    page = make_client(run).get("/").text
    assert "First sentence." in page and 'role="listbox"' in page
    assert len(re.findall('id="row-[0-9]', page)) == 8
    assert "<html lang" in page and 'aria-live="polite"' in page


def test_a_large_queue_sends_its_first_rows_alone(tmp_path):
    many = [answer(f"r{n}", labels=[("A sentence.", "required")] * 20) for n in range(50)]
    client = client_of(ReviewSession(open_source(written_run(tmp_path / "run", many))))
    page = client.get("/").text
    assert len(client.session.items) == 1000 and len(re.findall('id="row-[0-9]', page)) == 60


def test_exam_grades_of_a_run_show_the_items_text_and_the_scale(tmp_path, make_client):
    before = ExamGrade(exam_item="q/1", rating=3, score=3.0, is_correct=True)
    verdicts = (
        ExamGrade(
            exam_item="q/1",
            rating=2,
            score=2.4,
            is_correct=True,
            escalated_from=before,
            escalation=Escalation(judge="second"),
        ),
        ExamGrade(exam_item="q/1", grader="extraction", answer="1950", is_correct=True),
        ExamGrade(exam_item="q/2", rating=0, score=0.0, is_correct=False),
    )
    one = answer("r", labels=[("A sentence.", None)]).model_copy(
        update={"verdicts": verdicts, "exam": (ExamItem(id="q/1", text="When did it begin?"),)}
    )
    client = make_client(written_run(tmp_path / "run", [one]))
    assert [item.item_text for item in client.session.items] == ["When did it begin?"] * 2 + ["q/2"]
    assert [item.word for item in client.session.items] == ["2 of 5", "yes", "0 of 5"]
    shown = client.get("/items/0").text
    assert "3 of 5" in shown and "2 of 5" in shown and "300" not in shown
    assert "rating/q/1" not in shown and "<small>extraction</small>" in shown
    assert say(client, 0, 4).status_code == 200 and "rating/q/1" not in client.get("/").text
