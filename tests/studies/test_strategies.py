"""A judge asked in four ways and misled, from a file of answers to files of tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragassay.agents.rubric_judge import build_expert_hint
from ragassay.cli import app
from ragassay.errors import InputError, RunMismatchError
from ragassay.metrics.papers.strategies import PERTURBED
from ragassay.prompts import STRATEGIES, load_rubrics
from ragassay.runs.folder import RunFolder
from ragassay.settings import Settings, load_settings
from ragassay.studies.strategies import (
    StrategyStudy,
    choose_rubric_set,
    read_strategy_job,
    study_strategies,
    write_strategies,
)
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_embedding_model")]

REASON = "The turn is clear and good."
BAD_REASON = "The turn is dull and bad."


def gullible(messages: Sequence[object], schema: object) -> dict[str, object]:
    """Rates 1, but what an expert is said to have said where it is told so."""
    text = str(messages[-1]["content"])  # type: ignore[index]
    rating = next((n for n in range(6) if build_expert_hint(n) in text), 1)
    reply: dict[str, object] = {"rating": rating, "rationale": REASON}
    if "hint: " in text:
        reply["rationale"] = BAD_REASON
    if "step by step" in text:
        reply["reasoning"] = "First it is read, then it is compared with the rubric."
    return reply


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply=gullible) as started:
        yield started


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    """Three dialogues with one turn each; raters agree on the last."""
    rows = [
        {
            "context": f"do you knit ? {n}",
            "fact": "wool is warm .",
            "responses": [{"response": f"i do . {n}", "model": "m", "Natural": natural}],
        }
        for n, natural in enumerate(([1, 1, 2], [3, 3, 2], [1, 1, 1]))
    ]
    path = tmp_path / "dialogues.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def settings_for(model: ScriptedModel, **more: object) -> Settings:
    given = {"rubric_set": "usr", "rubrics": ("natural",)} | more
    return load_settings(model=model.model_name, api_base=model.base_url, max_attempts=1, **given)


def asked(model: ScriptedModel) -> list[str]:
    return [str(request.messages[-1]["content"]) for request in model.requests]


def test_each_answer_is_rated_by_four_strategies_and_misled(model, dialogues, tmp_path):
    study = study_strategies(read_strategy_job(dialogues), settings_for(model), tmp_path / "out")
    assert (study.n_answers, study.n_labels, study.n_unscored, study.notes) == (3, 9, 0, ())
    assert model.n_requests == 3 * (len(STRATEGIES) + 1)
    (natural,) = study.rubrics
    assert set(natural.alignment) == {*STRATEGIES, PERTURBED}
    hints = [(answer.people, answer.hint) for answer in study.answers["natural"]]
    # Modes 1, 3, 1 on a scale of 1 to 3, turned over.
    assert hints == [((1, 1, 2), 3), ((3, 3, 2), 1), ((1, 1, 1), 3)]
    # It rates 1 always, but 3, 1, 3 under the hint.
    assert (natural.unmoved.value, natural.unmoved.n) == (pytest.approx(1 / 3), 3)
    assert (natural.followed.value, natural.followed.n) == (1.0, 2)
    assert natural.judge.value is None
    assert natural.perturbed_sentiment.value is not None and natural.sentiment.value is not None
    assert natural.perturbed_sentiment.value < 0 < natural.sentiment.value
    assert natural.sentiment.n == 12


def test_the_hint_is_shown_to_the_misled_judge_alone(model, dialogues):
    study_strategies(read_strategy_job(dialogues), settings_for(model))
    told = [text for text in asked(model) if "hint: " in text]
    assert sorted(text.rpartition("hint: ")[2] for text in told) == sorted(
        map(build_expert_hint, (3, 1, 3))
    )
    assert not [text for text in told if "step by step" in text or "examples: " in text]


def test_the_hint_can_be_the_mirror_image_of_peoples_rating(model, dialogues, tmp_path):
    rows = json.loads(dialogues.read_text(encoding="utf-8"))
    rows[0]["responses"][0]["Natural"] = [2, 2, 3]
    dialogues.write_text(json.dumps(rows), encoding="utf-8")
    given, settings = read_strategy_job(dialogues), settings_for(model)
    study = study_strategies(given, settings, inversion="mirror")
    # Modes 2, 3, 1 on a scale of 1 to 3: the middle is its own mirror image.
    assert [answer.hint for answer in study.answers["natural"]] == [2, 1, 3]
    assert "1 of 3 perturbed ratings are not misleading" in study.notes[-1]
    assert "mirror image" in study.how[0]
    assert json.loads(study.to_json())["inversion"] == "mirror"
    plain = study_strategies(given, settings)
    assert [answer.hint for answer in plain.answers["natural"]] == [3, 1, 3]
    assert (plain.inversion, plain.notes) == ("extreme", ())


def test_examples_are_the_best_and_the_worst_answers_to_other_questions(model, dialogues, tmp_path):
    study = study_strategies(read_strategy_job(dialogues), settings_for(model), tmp_path / "out")
    shown = {
        answer: text.rpartition("examples: ")[2]
        for text in asked(model)
        if "examples: " in text
        for answer in ("i do . 0", "i do . 1", "i do . 2")
        if answer in text.partition("rubric: ")[0]
    }
    # Means 1.33, 2.67 and 1: the best of the others, then the worst.
    orders = {
        "i do . 0": ["i do . 1", "i do . 2"],
        "i do . 1": ["i do . 0", "i do . 2"],
        "i do . 2": ["i do . 1", "i do . 0"],
    }
    for answer, (best, worst) in orders.items():
        assert answer not in shown[answer]
        assert 0 < shown[answer].index(best) < shown[answer].index(worst)
    assert "rating: 3" in shown["i do . 0"] and "rating: 1" in shown["i do . 0"]
    assert "with the highest and lowest human ratings" in study.how[1]


def test_without_two_other_questions_the_examples_are_the_rubrics_own(model, dialogues):
    rows = json.loads(dialogues.read_text(encoding="utf-8"))
    dialogues.write_text(json.dumps(rows[:2]), encoding="utf-8")
    study = study_strategies(read_strategy_job(dialogues), settings_for(model))
    assert study.how[1] == "Few-shot: the examples come from the rubric."
    own = load_rubrics("usr")["natural"].render_examples()
    assert sum(own in text for text in asked(model)) == 2


def test_started_again_it_judges_nothing_twice(model, dialogues, tmp_path):
    given, settings = read_strategy_job(dialogues), settings_for(model)
    first = study_strategies(given, settings, tmp_path / "out")
    n_requests = model.n_requests
    second = study_strategies(given, settings, tmp_path / "out")
    assert model.n_requests == n_requests
    assert second == first
    folders = {path.name for path in (tmp_path / "out").iterdir()}
    assert folders == {*STRATEGIES, PERTURBED}


def test_a_folder_that_was_misled_otherwise_is_refused(model, dialogues, tmp_path):
    rows = json.loads(dialogues.read_text(encoding="utf-8"))
    rows[0]["responses"][0]["Natural"] = [2, 2, 3]
    dialogues.write_text(json.dumps(rows), encoding="utf-8")
    given, settings = read_strategy_job(dialogues), settings_for(model)
    study_strategies(given, settings, tmp_path / "out")
    with pytest.raises(RunMismatchError, match="perturbed ratings"):
        study_strategies(given, settings, tmp_path / "out", inversion="mirror")


def test_a_folder_with_other_ratings_of_people_is_refused(model, dialogues, tmp_path):
    settings = settings_for(model)
    study_strategies(read_strategy_job(dialogues), settings, tmp_path / "out")
    human = tmp_path / "labels.jsonl"
    rows = [
        {"task": "rubric", "label": "3", "record_id": f"item-{n}/m", "item": "natural"}
        for n in (1, 2, 3)
    ]
    human.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(RunMismatchError, match="examples by people's ratings"):
        study_strategies(read_strategy_job(dialogues, human), settings, tmp_path / "out")


def test_without_ratings_of_people_it_is_misled_about_its_own(model, tmp_path):
    path = tmp_path / "answers.jsonl"
    row = {"id": "a", "question": "Does it help?", "answer": "It does. It is cheap."}
    path.write_text(json.dumps(row), encoding="utf-8")
    settings = settings_for(model, rubric_set="yescieval", rubrics=("cohesion",))
    study = study_strategies(read_strategy_job(path), settings)
    (answer,) = study.answers["cohesion"]
    # It rates 1 of 1 to 5 in all four ways.
    assert (answer.people, answer.hint, answer.get_rating(PERTURBED)) == ((), 5, 5)
    (cohesion,) = study.rubrics
    assert (cohesion.unmoved.value, cohesion.unmoved.n) == (0.0, 1)
    assert cohesion.alignment["knowledge"].value is None
    assert cohesion.sentiment.value is not None
    assert "no human ratings" in study.notes[0]


def test_answers_that_nobody_rated_are_not_misled_and_noted(model, dialogues, tmp_path):
    human = tmp_path / "labels.jsonl"
    rows = [
        {"task": "rubric", "label": "3", "record_id": "item-1/m", "item": "natural"},
        {"task": "rubric", "label": "5", "record_id": "item-2/m", "item": "natural"},
        {"task": "rubric", "label": "2", "record_id": "item-2/m", "item": "beauty"},
        {"task": "rubric", "label": "2", "record_id": "elsewhere", "item": "natural"},
    ]
    human.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    study = study_strategies(read_strategy_job(dialogues, human), settings_for(model))
    assert [answer.hint for answer in study.answers["natural"]] == [1, None, None]
    assert study.n_labels == 1
    assert len(study.notes) == 3
    assert "one human rating" in study.notes[0]
    assert study.notes[1].endswith("without human ratings or hints: 2.")
    assert "outside the rubric's scale, excluded: 1." in study.notes[2]


def test_failed_ratings_are_counted_and_never_zero(dialogues):
    junk = Fault("junk", contains="step by step")
    with ScriptedModel(reply=gullible, faults=[junk]) as model:
        study = study_strategies(read_strategy_job(dialogues), settings_for(model))
    assert study.n_unscored == 3
    (natural,) = study.rubrics
    thinking = natural.alignment["chain_of_thought"]
    assert (thinking.value, thinking.n, thinking.n_unscored) == (None, 0, 3)
    assert (natural.sentiment.n, natural.sentiment.n_unscored) == (9, 3)
    assert natural.unmoved.n == 3


def test_unscored_rating_keeps_the_scale_of_its_rubric(dialogues, tmp_path):
    with ScriptedModel(reply=gullible, faults=[Fault("junk")]) as model:
        study_strategies(read_strategy_job(dialogues), settings_for(model), tmp_path / "out")
    (first, *_) = RunFolder(tmp_path / "out" / "knowledge").read_evaluations()
    assert (first.judgments[0].rating, first.judgments[0].scale) == (None, (1, 3))
    score = first.scores["rubric.natural"]
    assert (score.value, score.worst, score.best, score.scale) == (None, 1.0, 3.0, (1.0, 3.0))


def test_tables_are_written(model, dialogues, tmp_path):
    study = study_strategies(read_strategy_job(dialogues), settings_for(model))
    written = write_strategies(study, tmp_path / "tables")
    assert [path.name for path in written] == [
        *("strategies.csv", "ratings.csv", "strategies.tex", "strategies.md")
    ]
    with (tmp_path / "tables" / "ratings.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 15


def test_json_has_the_figures(model, dialogues):
    study = study_strategies(read_strategy_job(dialogues), settings_for(model))
    found = json.loads(study.to_json())
    assert found["rubrics"][0]["rubric"] == "natural"
    assert found["rubrics"][0]["unmoved"]["n"] == 3
    assert (found["n_answers"], found["n_labels"]) == (3, 9)


@pytest.mark.parametrize(
    ("name", "rubrics"),
    [("usr", "usr"), ("usr-means", "usr"), ("summeval", "summeval"), ("ragas", "yescieval")],
)
def test_rubrics_are_those_that_the_file_was_rated_on(name, rubrics):
    assert choose_rubric_set(name) == rubrics


def test_labels_that_cannot_be_read_are_an_error_only_where_they_are_asked_for(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "a", "question": "q", "answer": "x"}\n', encoding="utf-8")
    assert read_strategy_job(path).labels == ()
    with pytest.raises(InputError):
        read_strategy_job(path, path)


def command(model: ScriptedModel, answers: Path, out: Path, *more: str) -> tuple[int, str, str]:
    judge = ["--judge", model.model_name, "--api-base", model.base_url, "--out", str(out)]
    result = CliRunner().invoke(app, ["strategies", str(answers), *judge, *more])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_command_prints_four_tables_and_names_the_files(model, dialogues, tmp_path):
    code, shown, errors = command(model, dialogues, tmp_path / "out", "--rubric", "natural")
    assert code == 0
    for number in (1, 2, 3, 4):
        assert f"\n{number}. " in shown
    assert "33 %" in shown.replace("\N{NO-BREAK SPACE}", " ")
    assert "strategies.md" in errors
    assert "the end of the scale that is opposite to the mode of human ratings (extreme)" in errors
    page = (tmp_path / "out" / "strategies.md").read_text(encoding="utf-8")
    assert "Perturbed: the misleading rating in the prompt is the end of the scale" in page
    assert (tmp_path / "out" / "strategies.md").exists()


def test_command_gives_json_for_machines(model, dialogues, tmp_path):
    more = ("--rubric", "natural", "--json", "--limit", "2", "--quiet")
    code, shown, _ = command(model, dialogues, tmp_path / "out", *more)
    assert code == 0
    assert json.loads(shown)["n_answers"] == 2


def test_command_with_ratings_that_could_not_be_had_says_so(dialogues, tmp_path):
    with ScriptedModel(reply=gullible, faults=[Fault("junk")]) as model:
        code, shown, _ = command(model, dialogues, tmp_path / "out", "--rubric", "natural")
    assert code == 3
    assert "ratings failed" in shown


def test_unknown_rubric_is_one_clear_line(model, dialogues, tmp_path):
    code, _, errors = command(model, dialogues, tmp_path / "out", "--rubric", "cohesion")
    assert code == 1
    assert "unknown rubric 'cohesion'" in errors


def test_study_is_a_value(model, dialogues):
    study = study_strategies(read_strategy_job(dialogues), settings_for(model))
    assert isinstance(study, StrategyStudy)
    with pytest.raises(AttributeError):
        study.judge = "other"  # type: ignore[misc]
