"""A run with a published judge: it rates what it was trained on, instruments decide the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from calls import run
from yescieval_double import install_yescieval, own_packages

import ragassay
from ragassay.errors import ExtraError, SettingsError
from ragassay.evaluators.build_run import build_run
from ragassay.model_names import INSTRUMENTS, MINILM_VERIFIER
from ragassay.settings import Settings, load_settings
from ragassay.testing import ScriptedModel

evaluate: Any = ragassay.evaluate
PROMETHEUS, YESCIEVAL = "openai/prometheus-7b-v2.0", "openai/yescieval-bioasq"
GIVEN: dict[str, Any] = {
    "question": "Does drug A lower blood pressure?",
    "answer": "Drug A lowers blood pressure by 5 mmHg [1]. It may cause a cough [2].",
    "sources": ["Drug A lowered blood pressure by 5 mmHg.", "Cough was seen in some patients."],
}
COHESION = GIVEN | {"only": ["rubrics"], "rubrics": ["cohesion"]}


@pytest.fixture(autouse=True)
def packages() -> Iterator[None]:
    """Nothing that a test has installed stays."""
    with own_packages():
        yield


def reply(messages: Any, schema: Any) -> Any:
    """Reply as the judge does that is asked; a schema is of ragassay's own prompts."""
    text = messages[-1]["content"]
    if schema is not None:
        return {"rating": 2, "rationale": "Asked as any other model.", "sentences": []}
    if "###Score Rubrics:" in text:
        return "Close to its sources. [RESULT] 4"
    name = messages[0]["content"].removeprefix("Invented: rate ").rstrip(".")
    return f'{{"{name}": {{"rating": "3", "rationale": "As {name.lower()} goes."}}}}'


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A judge that answers in its own form."""
    with ScriptedModel(reply=reply) as started:
        yield started


@pytest.mark.integration
def test_prometheus_rates_all_rubrics_and_instruments_decide_the_rest(model):
    found = evaluate(**GIVEN, model=PROMETHEUS, api_base=model.base_url)
    assert [one.rating for one in found.judgments] == [4] * 9
    assert {one.rationale for one in found.judgments} == {"Close to its sources."}
    assert all(one.distribution for one in found.judgments)
    assert model.n_requests == 9, "it is asked for ratings, and for nothing else"
    assert {request.schema for request in model.requests} == {None}
    assert {request.body["max_tokens"] for request in model.requests} == {1024}
    assert len(found.citations) == 2
    assert {verdict.usage.n_calls for verdict in found.citations} == {0}


@pytest.mark.integration
def test_yescieval_rates_its_nine_by_its_own_words(model, tmp_path, monkeypatch):
    install_yescieval(tmp_path, monkeypatch)
    found = evaluate(**GIVEN, model=YESCIEVAL, api_base=model.base_url, only=["rubrics"])
    assert {one.rubric: one.rationale for one in found.judgments} == {
        one.rubric: f"As {one.rubric} goes." for one in found.judgments
    }
    assert len(found.judgments) == 9 and model.n_requests == 9


@pytest.mark.integration
def test_a_judge_whose_name_does_not_tell_is_asked_in_the_form_that_is_named(model):
    asked = COHESION | {"api_base": model.base_url}
    named = evaluate(**asked, model="openai/team-judge", judge_form="prometheus")
    plain = evaluate(**asked, model=PROMETHEUS, judge_form="plain")
    assert [one.rating for one in (*named.judgments, *plain.judgments)] == [4, 2]


@pytest.mark.integration
def test_a_reply_out_of_form_is_unscored():
    with ScriptedModel(reply=lambda messages, schema: "I would say four.") as rambling:
        found = evaluate(**COHESION, model=PROMETHEUS, api_base=rambling.base_url)
    (judgment,) = found.judgments
    assert judgment.rating is None and judgment.failure is not None
    assert judgment.failure.reason == "unparsable" and "no [RESULT]" in judgment.failure.detail


@pytest.mark.integration
def test_on_a_panel_each_is_asked_in_its_own_form(model):
    panel = ["openai/general", f"{PROMETHEUS}@{model.base_url}"]
    (judgment,) = evaluate(**COHESION, model=panel, api_base=model.base_url).judgments
    ratings = {one.judge: one.rating for one in judgment.members}
    assert ratings == {"openai/general": 2, PROMETHEUS: 4}
    forms = [request.schema is None for request in model.requests]
    assert forms.count(True) == 1, "who has a form of its own does not hear the others"


@pytest.mark.integration
def test_the_second_judge_decides_what_instruments_leave_open(model):
    second = f"openai/second@{model.base_url}"
    settings = load_settings(model=PROMETHEUS, api_base=model.base_url, escalate=second)
    assert settings.judge.escalated_when == "undecided"
    built = build_run(settings)
    assert built.second is not None and built.second.judge.answered_by == "openai/second"


def test_what_it_cannot_rate_is_refused_in_words():
    for given, told in (
        ({"model": PROMETHEUS, "verifier": "judge"}, "verifier judge: .* rates rubrics only"),
        ({"model": PROMETHEUS, "grader": "judge"}, "grader judge: .* rates rubrics only"),
        ({"model": PROMETHEUS, "evidence": "agent"}, "cannot call tools"),
        ({"model": "openai/a", "escalate": PROMETHEUS}, "can only rate answers on rubrics"),
        ({"model": "ragassay/instruments", "judge_form": "prometheus"}, "requires a judge"),
    ):
        with pytest.raises(SettingsError, match=told):
            build_run(load_settings(**given))


def test_rubrics_of_another_set_are_refused_where_signals_cannot_rate_them(tmp_path, monkeypatch):
    install_yescieval(tmp_path, monkeypatch)
    with pytest.raises(SettingsError, match=r"YESciEval's judge, which rates the rubrics of yesci"):
        build_run(load_settings(model=YESCIEVAL, rubric_set="summeval"))
    build_run(load_settings(model=PROMETHEUS, rubric_set="summeval"))
    with pytest.raises(SettingsError, match="rates scales from 1 to 5 only"):
        build_run(load_settings(model=PROMETHEUS, rubric_set="usr"))


def test_without_its_words_yescieval_is_refused_before_any_call():
    import importlib.metadata

    try:
        importlib.metadata.version("yescieval")
    except importlib.metadata.PackageNotFoundError:
        with pytest.raises(ExtraError, match="pip install yescieval"):
            build_run(load_settings(model=YESCIEVAL))
    build_run(load_settings(model=YESCIEVAL, judge_form="plain"))


def test_the_form_and_who_decides_are_on_record():
    settings = load_settings(model=PROMETHEUS, panel=("openai/general",))
    assert settings.judge.form_names == ("prometheus", "plain")
    assert Settings().judge.form_names == ("plain",)
    built = build_run(settings)
    assert built.judge.answered_by == INSTRUMENTS and built.judge.name == PROMETHEUS
    assert built.verifier_name == MINILM_VERIFIER
    assert settings.build_judge_settings(1).judge.judge_form == "auto"
    same = build_run(load_settings(model=PROMETHEUS, judge_form="prometheus"))
    plain = build_run(load_settings(model=PROMETHEUS, judge_form="plain"))
    auto = build_run(load_settings(model=PROMETHEUS))
    assert auto.identity == same.identity != plain.identity


@pytest.mark.integration
def test_the_run_names_who_rated_and_who_decided_the_rest(model, tmp_path, sample):
    judge = ("--model", "openai/team-judge", "--judge-form", "prometheus")
    given = ("--limit", 1, "--out", tmp_path, "--only", "rubrics", "--only", "citations")
    run("evaluate", sample / "answers.jsonl", *given, *judge, "--api-base", model.base_url)
    manifest = json.loads((tmp_path / "run.json").read_text())
    assert (manifest["judge"], manifest["base"]) == ("openai/team-judge", INSTRUMENTS)
    assert manifest["settings"]["form_names"] == "prometheus"
    page = (tmp_path / "report.html").read_text()
    assert "Rubrics were rated" in page and "Everything except the rubrics was judged" in page
