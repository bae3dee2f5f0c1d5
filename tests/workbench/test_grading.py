"""Passages are graded by a scripted model: every item once, killed or not, failures unscored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rows import write_rows
from safetensors.torch import load_file, save_file
from tiny_graders import tiny_reader, tiny_t5

import ragassay
from ragassay.errors import InputError, SettingsError
from ragassay.formats import read_graded_paragraphs
from ragassay.formats.workbench.paragraphs import GradedParagraph
from ragassay.records import BANK, Document, Review
from ragassay.runs.folder import RunFolder
from ragassay.runs.journal import open_journal
from ragassay.testing import Fault, ScriptedModel, last_user_text
from ragassay.workbench.grading import compute_covers

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

TEXTS = {"p1": "It began in 1950.", "p2": "Rocks are hard.", "p3": "Elvis was the first star."}
ITEMS = [
    {"question_id": "q/who", "question_text": "Who was first?"},
    {"question_id": "q/when", "question_text": "When did it begin?", "gold_answers": ["1950"]},
]
NUGGETS = [{"nugget_id": "q/n", "nugget_text": "Elvis"}]


def said(messages: Sequence[Any], schema: Any) -> dict[str, object]:
    """Rate what stands in the passage, and take it from there."""
    text, asked = last_user_text(messages), schema["properties"]
    right = ("1950" in text and "When" in text) or ("Elvis was" in text and "When" not in text)
    if "same" in asked:
        return {"same": "yes"}
    if "relevance" in asked:
        return {"relevance": 2 if 2 in asked["relevance"]["enum"] else "yes"}
    if "answered" in asked:
        return {"answered": "yes" if right else "no", "answer": "it was fifty" if right else ""}
    return dict.fromkeys(asked, 5 if right else 0)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Three passages of two systems, and a bank of two questions and a nugget."""
    found = []
    for name, text, system in zip(TEXTS, TEXTS.values(), "aba", strict=True):
        place = {"method": system, "paragraphId": name, "queryId": "q", "rank": 1, "score": 1}
        data = {"judgments": [], "rankings": [place]}
        found.append({"paragraph_id": name, "text": text, "paragraph_data": data})
    passages = tmp_path / "passages.jsonl"
    passages.write_text(json.dumps(["q", found]), encoding="utf-8")
    rows = [{"query_id": "q", "query_text": "when?", "items": items} for items in (ITEMS, NUGGETS)]
    return passages, write_rows(tmp_path / "bank.jsonl", rows)


def graded(files: tuple[Path, Path], model: ScriptedModel, **options: Any) -> Any:
    passages, bank = files
    given = {"testbank": bank, "model": model.model_name, "api_base": model.base_url} | options
    return ragassay.grade(passages, **given)


def ratings(paragraph: GradedParagraph) -> dict[str, int]:
    rated = [one for exam in paragraph.exam_grades or () for one in exam.self_ratings or ()]
    return {str(one.question_id or one.nugget_id): one.self_rating for one in rated}


def test_each_item_is_asked_of_each_passage_once_and_the_file_holds_it(files, tmp_path):
    out = tmp_path / "run"
    with ScriptedModel(said) as model:
        found = graded(files, model, out=out)
        assert (model.n_requests, found.n_grades, found.n_unscored) == (9, 9, 0)
        again = graded(files, model, out=out)
        assert model.n_requests == 9 and again.queries == found.queries
    (query,) = read_graded_paragraphs(out / "graded.jsonl.gz").queries
    assert query == found.queries[0]
    assert [ratings(one) for one in query.paragraphs] == [
        {"q/who": 0, "q/when": 5, "q/n": 0},
        {"q/who": 0, "q/when": 0, "q/n": 0},
        {"q/who": 5, "q/when": 0, "q/n": 5},
    ]
    assert not (out / "report.html").exists()
    assert found.run.summary.scores["exam.cover"].value == pytest.approx(1 / 3, abs=1e-3)


def test_items_that_share_a_call_get_the_same_grades_for_less(files):
    with ScriptedModel(lambda m, s: dict.fromkeys(s["properties"], 4)) as model:
        found = graded(files, model, items_per_call=5)
        # Two questions together, one nugget: two calls a passage.
        assert (model.n_requests, found.n_grades) == (6, 9)
        assert found.run.summary.usage.n_calls == 6
    assert set(ratings(found.queries[0].paragraphs[0]).values()) == {4}


def test_an_answer_is_held_against_the_known_ones_by_rule_then_by_the_judge(files):
    with ScriptedModel(said) as model:
        found = graded(files, model, grades=["extraction"])
        checks = [r for r in model.requests if "same" in str(r.body)]
    # "it was fifty" is not "1950" by rule: the judge is asked whether it means the same.
    assert len(checks) == 1
    first = found.queries[0].paragraphs[0]
    by_class = {str((e.prompt_info or {})["prompt_class"]): e for e in first.exam_grades or ()}
    known = by_class["QuestionCompleteConcisePromptWithAnswerKey2"]
    assert known.correct_answered == ("q/when",)
    assert known.answers == (("q/when", "it was fifty"),)
    assert found.run.summary.scores["exam.answered"].n == 3


def test_a_direct_grader_needs_no_bank(files):
    with ScriptedModel(said) as model:
        found = graded(files, model, testbank=None, grades=["thomas", "fagb"])
        assert model.n_requests == 6
    direct = found.queries[0].paragraphs[0].grades or ()
    assert [(g.self_ratings, g.correct_answered) for g in direct] == [(2, True), (1, True)]


def test_a_grade_that_failed_is_unscored_or_as_the_original_has_it_1_and_correct(files):
    def reply(messages: Sequence[Any], schema: Any) -> Any:
        text = last_user_text(messages)
        return "no rating" if "1950" in text and "Who" in text else said(messages, schema)

    with ScriptedModel(reply) as model:
        found = graded(files, model)
        like = graded(files, model, like_original=True)
    exam = (found.queries[0].paragraphs[0].exam_grades or ())[0]
    assert (found.n_unscored, found.is_partial) == (1, True)
    assert exam.llm_response_errors is not None and list(exam.llm_response_errors) == ["q/who"]
    assert "q/who" not in (*exam.correct_answered, *exam.wrong_answered)
    theirs = (like.queries[0].paragraphs[0].exam_grades or ())[0]
    assert ratings(like.queries[0].paragraphs[0])["q/who"] == 1
    assert "q/who" in theirs.correct_answered and theirs.llm_response_errors is None


def test_a_cascade_asks_the_second_judge_for_single_items(files):
    unsure = ScriptedModel(lambda m, s: dict.fromkeys(s["properties"], 2))
    with unsure as first, ScriptedModel(said) as second:
        cascade = {"escalate": f"openai/second@{second.base_url}", "when": "entropy>0.01"}
        found = graded(files, first, items_per_call=5, **cascade)
        assert (first.n_requests, second.n_requests) == (6, 9)
    assert ratings(found.queries[0].paragraphs[0]) == {"q/who": 0, "q/when": 5, "q/n": 0}


def test_after_an_edit_of_the_bank_only_the_item_is_graded_again(files, tmp_path):
    place = {"record": "q", "item": "q/who", "field": "text"}
    with ScriptedModel(said) as model:
        graded(files, model, out=tmp_path / "run")
        open_journal(files[1]).add(Review(who="Ada", evaluator=BANK, value="Which When?", **place))
        found = graded(files, model, out=tmp_path / "run")
        # Nine grades, and then one item anew for each of three passages.
        assert model.n_requests == 9 + 3
    assert found.n_grades == 9
    assert [ratings(one)["q/who"] for one in found.queries[0].paragraphs] == [5, 0, 0]
    assert len(RunFolder(tmp_path / "run").read_evaluations()) == 3


@pytest.mark.parametrize(("make", "way"), [(tiny_t5, "rating"), (tiny_reader, "extraction")])
def test_a_local_model_grades_and_other_weights_grade_anew(files, tmp_path, make, way):
    folder, out = tmp_path / "model", tmp_path / "run"
    folder.mkdir()
    passages, bank = files
    given = {"testbank": bank, "grader": make(folder), "grades": [way], "out": out}
    found = ragassay.grade(passages, **given)
    assert found.n_grades + found.n_undecided + found.n_unscored == 9
    manifest = RunFolder(out).read_manifest()
    assert (manifest.grader, len(manifest.grader_digest)) == (str(folder), 64)
    first = {one.fingerprint for one in RunFolder(out).read_evaluations()}
    weights = next(folder.glob("*.safetensors"))
    tensors = load_file(weights)
    save_file({name: tensor * 1.5 for name, tensor in tensors.items()}, weights)
    ragassay.grade(passages, **given)
    assert first.isdisjoint(one.fingerprint for one in RunFolder(out).read_evaluations())


def test_the_same_grader_again_takes_the_place_of_its_grades(files, tmp_path):
    with ScriptedModel(said) as model:
        first = graded(files, model, out=tmp_path / "run")
        given = {"testbank": files[1], "model": "openai/another", "api_base": model.base_url}
        other = tmp_path / "other"
        again = ragassay.grade(tmp_path / "run" / "graded.jsonl.gz", out=other, **given)
        once_more = ragassay.grade(other / "graded.jsonl.gz", **given)
    n_exams = [len(f.queries[0].paragraphs[0].exam_grades) for f in (first, again, once_more)]
    assert n_exams == [2, 4, 4]
    tables = compute_covers(again)
    assert again.grader == "openai/another" and set(tables) == {"question", "nugget"}
    # Each question is covered by a passage, and so is the nugget.
    assert [t.systems[0].cover.value for t in tables.values()] == [1.0, 1.0]


def test_a_corpus_is_whatever_an_evaluation_takes(files, tmp_path):
    run_file, corpus_file = tmp_path / "a.run", tmp_path / "corpus.jsonl"
    run_file.write_text("q Q0 p1 1 2.0 a\nq Q0 p9 2 1.0 a\n", encoding="utf-8")
    write_rows(corpus_file, [{"id": "p1", "text": "It began in 1950."}, {"text": 3}])
    documents = [Document(id="p1", text="It began in 1950.")]
    with ScriptedModel(said) as model:
        from_file, in_memory = (
            graded((run_file, files[1]), model, corpus=corpus)
            for corpus in (corpus_file, documents)
        )
    assert from_file.queries == in_memory.queries
    # What the corpus lacks is named, and so is its line that could not be read.
    assert [len(one.run.rejections) for one in (from_file, in_memory)] == [2, 1]


def test_what_cannot_be_graded_by_is_said(files):
    passages, bank = files
    with pytest.raises(InputError, match=r"a test bank .* or a direct grader"):
        ragassay.grade(passages, model="openai/a")
    unsupported = "grades thomas: ragassay/exam-grader only supports rating"
    with pytest.raises(SettingsError, match=unsupported):
        ragassay.grade(passages, testbank=bank, grades=["thomas"])
    with pytest.raises(SettingsError, match="grader judge: a judge is required"):
        ragassay.grade(passages, testbank=bank, grader="judge")


def test_rate_limits_are_waited_for(files):
    with ScriptedModel(said, faults=[Fault("rate_limit", first=1)]) as model:
        assert graded(files, model).n_unscored == 0
