"""A judge asked in four ways and misled, from a file of answers to files of tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import calls
import pytest
from rows import read_csv, write_rows

from ragassay.agents.rubric_judge import build_expert_hint
from ragassay.errors import InputError, RunMismatchError
from ragassay.metrics.papers.strategies import PERTURBED
from ragassay.perturbations.perturb import Inversion
from ragassay.prompts import STRATEGIES, load_rubrics
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.studies.strategies import (
    StrategyStudy,
    choose_rubric_set,
    read_strategy_job,
    study_strategies,
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


def write_dialogues(path: Path, *ratings: list[int]) -> Path:
    """Write a dialogue with one rated turn for each list of ratings."""
    rows = [
        {
            "context": f"do you knit ? {n}",
            "fact": "wool is warm .",
            "responses": [{"response": f"i do . {n}", "model": "m", "Natural": natural}],
        }
        for n, natural in enumerate(ratings)
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    return write_dialogues(tmp_path / "dialogues.json", [1, 1, 2], [3, 3, 2], [1, 1, 1])


def write_labels(path: Path, *labels: tuple[str, str, str]) -> Path:
    """Write people's ratings as record, rubric and rating."""
    return write_rows(
        path,
        (
            {"task": "rubric", "record_id": name, "item": rubric, "label": label}
            for name, rubric, label in labels
        ),
    )


def studied(
    model: ScriptedModel,
    answers: Path,
    out: Path | None = None,
    *,
    human: Path | None = None,
    inversion: Inversion = "extreme",
    **more: object,
) -> StrategyStudy:
    given = {"rubric_set": "usr", "rubrics": ("natural",), "max_attempts": 1} | more
    settings = load_settings(model=model.model_name, api_base=model.base_url, **given)
    return study_strategies(read_strategy_job(answers, human), settings, out, inversion=inversion)


def asked(model: ScriptedModel) -> list[str]:
    return [str(request.messages[-1]["content"]) for request in model.requests]


def test_each_answer_is_rated_by_four_strategies_and_misled(model, dialogues):
    study = studied(model, dialogues)
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
    # The misled judge alone sees the hint.
    told = [text for text in asked(model) if "hint: " in text]
    found = sorted(text.rpartition("hint: ")[2] for text in told)
    assert found == sorted(map(build_expert_hint, (3, 1, 3)))
    assert not [text for text in told if "step by step" in text or "examples: " in text]


def test_the_hint_can_be_the_mirror_image_of_peoples_rating(model, tmp_path):
    path = write_dialogues(tmp_path / "d.json", [2, 2, 3], [3, 3, 2], [1, 1, 1])
    study = studied(model, path, inversion="mirror")
    # Modes 2, 3, 1 on a scale of 1 to 3: the middle is its own mirror image.
    assert [answer.hint for answer in study.answers["natural"]] == [2, 1, 3]
    assert "1 of 3 perturbed ratings are not misleading" in study.notes[-1]
    assert "mirror image" in study.how[0]
    assert json.loads(study.to_json())["inversion"] == "mirror"
    plain = studied(model, path, tmp_path / "out")
    assert [answer.hint for answer in plain.answers["natural"]] == [3, 1, 3]
    assert (plain.inversion, plain.notes) == ("extreme", ())
    with pytest.raises(RunMismatchError, match="perturbed ratings"):
        studied(model, path, tmp_path / "out", inversion="mirror")


def test_examples_are_the_best_and_the_worst_answers_to_other_questions(model, dialogues):
    study = studied(model, dialogues)
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


def test_without_two_other_questions_the_examples_are_the_rubrics_own(model, tmp_path):
    study = studied(model, write_dialogues(tmp_path / "d.json", [1, 1, 2], [3, 3, 2]))
    assert study.how[1] == "Few-shot: the examples come from the rubric."
    own = load_rubrics("usr")["natural"].render_examples()
    assert sum(own in text for text in asked(model)) == 2


def test_started_again_it_judges_nothing_twice(model, dialogues, tmp_path):
    first = studied(model, dialogues, tmp_path / "out")
    n_requests = model.n_requests
    assert studied(model, dialogues, tmp_path / "out") == first
    assert model.n_requests == n_requests
    with pytest.raises(AttributeError):
        first.judge = "other"  # type: ignore[misc]
    folders = {path.name for path in (tmp_path / "out").iterdir()}
    assert folders == {*STRATEGIES, PERTURBED}
    labels = [(f"item-{n}/m", "natural", "3") for n in (1, 2, 3)]
    human = write_labels(tmp_path / "labels.jsonl", *labels)
    with pytest.raises(RunMismatchError, match="examples by people's ratings"):
        studied(model, dialogues, tmp_path / "out", human=human)


def test_without_ratings_of_people_it_is_misled_about_its_own(model, tmp_path):
    row = {"id": "a", "question": "Does it help?", "answer": "It does. It is cheap."}
    path = write_rows(tmp_path / "answers.jsonl", [row])
    study = studied(model, path, rubric_set="yescieval", rubrics=("cohesion",))
    (answer,) = study.answers["cohesion"]
    # It rates 1 of 1 to 5 in all four ways.
    assert (answer.people, answer.hint, answer.get_rating(PERTURBED)) == ((), 5, 5)
    (cohesion,) = study.rubrics
    assert (cohesion.unmoved.value, cohesion.unmoved.n) == (0.0, 1)
    assert cohesion.alignment["knowledge"].value is None
    assert cohesion.sentiment.value is not None
    assert "no human ratings" in study.notes[0]
    # That the file has no labels is an error only if labels are asked for.
    with pytest.raises(InputError):
        read_strategy_job(path, path)


def test_answers_that_nobody_rated_are_not_misled_and_noted(model, dialogues, tmp_path):
    labels = [
        ("item-1/m", "natural", "3"),
        ("item-2/m", "natural", "5"),
        ("item-2/m", "beauty", "2"),
        ("elsewhere", "natural", "2"),
    ]
    study = studied(model, dialogues, human=write_labels(tmp_path / "labels.jsonl", *labels))
    assert [answer.hint for answer in study.answers["natural"]] == [1, None, None]
    assert study.n_labels == 1
    assert len(study.notes) == 3
    assert "one human rating" in study.notes[0]
    assert study.notes[1].endswith("without human ratings or hints: 2.")
    assert "outside the rubric's scale, excluded: 1." in study.notes[2]


def test_failed_ratings_are_counted_and_never_zero(dialogues):
    junk = Fault("junk", contains="step by step")
    with ScriptedModel(reply=gullible, faults=[junk]) as model:
        study = studied(model, dialogues)
    assert study.n_unscored == 3
    (natural,) = study.rubrics
    thinking = natural.alignment["chain_of_thought"]
    assert (thinking.value, thinking.n, thinking.n_unscored) == (None, 0, 3)
    assert (natural.sentiment.n, natural.sentiment.n_unscored) == (9, 3)
    assert natural.unmoved.n == 3


@pytest.mark.parametrize(
    ("name", "rubrics"),
    [("usr", "usr"), ("usr-means", "usr"), ("summeval", "summeval"), ("ragas", "yescieval")],
)
def test_rubrics_are_those_that_the_file_was_rated_on(name, rubrics):
    assert choose_rubric_set(name) == rubrics


call = partial(calls.call, "strategies")


def test_command_prints_four_tables_and_names_the_files(model, dialogues, tmp_path):
    given = (dialogues, *calls.judged_by(model), "--rubric", "natural")
    code, shown, errors = call(*given, "--out", tmp_path / "out")
    assert code == 0
    for number in (1, 2, 3, 4):
        assert f"\n{number}. " in shown
    assert "33 %" in shown.replace("\N{NO-BREAK SPACE}", " ")
    for name in ("strategies.csv", "ratings.csv", "strategies.tex", "strategies.md"):
        assert name in errors
    assert "the end of the scale that is opposite to the mode of human ratings (extreme)" in errors
    page = (tmp_path / "out" / "strategies.md").read_text(encoding="utf-8")
    assert "Perturbed: the misleading rating in the prompt is the end of the scale" in page
    assert len(read_csv(tmp_path / "out" / "ratings.csv")) == 15
    more = ("--json", "--limit", 2, "--quiet", "--out", tmp_path / "json")
    code, shown, _ = call(*given, *more)
    found = json.loads(shown)
    assert (code, found["n_answers"], found["n_labels"]) == (0, 2, 6)
    assert (found["rubrics"][0]["rubric"], found["rubrics"][0]["unmoved"]["n"]) == ("natural", 2)


def test_command_with_ratings_that_could_not_be_had_says_so(dialogues, tmp_path):
    out = tmp_path / "out"
    with ScriptedModel(reply=gullible, faults=[Fault("junk")]) as model:
        given = (dialogues, *calls.judged_by(model), "--rubric", "natural", "--out", out)
        code, shown, _ = call(*given)
    assert code == 3
    assert "ratings failed" in shown
    # An unscored rating keeps the scale of its rubric.
    (first, *_) = RunFolder(out / "knowledge").read_evaluations()
    assert (first.judgments[0].rating, first.judgments[0].scale) == (None, (1, 3))
    score = first.scores["rubric.natural"]
    assert (score.value, score.worst, score.best, score.scale) == (None, 1.0, 3.0, (1.0, 3.0))


def test_unknown_rubric_is_one_clear_line(model, dialogues, tmp_path):
    given = (dialogues, *calls.judged_by(model), "--out", tmp_path / "out")
    code, _, errors = call(*given, "--rubric", "cohesion")
    assert code == 1
    assert "unknown rubric 'cohesion'" in errors
