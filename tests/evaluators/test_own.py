"""Users' own evaluators and rubrics: they get what ours get."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from case_tables import each_case
from casefiles import RECORD, reply_with
from fakes import WordEmbedder
from pages import unfolded

import ragassay
from ragassay.errors import SettingsError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.own import OwnEvaluator
from ragassay.formats import read_records
from ragassay.metrics.stats.summary import summarize
from ragassay.prompts import read_rubrics
from ragassay.records import Evaluation
from ragassay.reports.findings_view import view_open
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.retrievers.literature import Corpus
from ragassay.runs.audit_job import AuditOptions, build_audit_job
from ragassay.runs.evaluate import RunResult, build_job, plan, run_job
from ragassay.runs.folder import RunFolder
from ragassay.runs.gates import parse_thresholds
from ragassay.settings import load_settings
from ragassay.studies.audit import run_audit
from ragassay.testing import ScriptedModel, default_reply

CALLS: list[str] = []


@ragassay.evaluator(of="sentence")
async def has_number(sentence):
    """A score of each sentence, without a model."""
    CALLS.append(sentence.text)
    return float(any(c.isdigit() for c in sentence.text))


@ragassay.evaluator(labels=("plain", "hedged", "vague"), good=("plain", "hedged"))
async def tone(judge):
    """A label of the answer, by the judge."""
    return await judge.choose("How does the answer speak?", ("plain", "hedged", "vague"))


@ragassay.evaluator(of="citation", scale=(1, 5), attacks=("rubric",))
async def recency(citation, case):
    """A rating of each citation."""
    return ragassay.Assessment(value=4, reason=f"{citation.document} of {len(case.sources)}")


@ragassay.evaluator
async def broken(case):
    """It returns what it does not declare."""
    return 7


OWN = (has_number, tone, recency)


def run_of(own: Sequence[OwnEvaluator] = OWN, *models: ScriptedModel, **options) -> Run:
    first = {"model": "openai/a", "api_base": models[0].base_url if models else None}
    settings = load_settings(**(first | {"signals": False} | options))
    return build_run(settings, None, own).with_models(embedder=WordEmbedder())


@pytest.fixture
def plain():
    with ScriptedModel(reply_with(reply="plain")) as model:
        yield model


@pytest.fixture
def vague():
    with ScriptedModel(reply_with(reply="vague")) as model:
        yield model


async def evaluated(run: Run, folder: RunFolder | None = None) -> tuple[RunResult, Evaluation]:
    result = await run_job(build_job([RECORD], Corpus()), run, folder)
    (evaluation,) = result.evaluations
    return result, evaluation


def test_a_decorated_function_declares_its_name_labels_and_scale():
    assert [one.name for one in OWN] == ["has_number", "tone", "recency"]
    assert (tone.labels, tone.good) == (("plain", "hedged", "vague"), ("plain", "hedged"))
    assert [one.is_weighed for one in OWN] == [False, True, False]
    assert has_number.digest != tone.digest


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"name": "Not a name"}, "use only a-z"),
        ({"name": "x", "labels": ("one",)}, "at least two distinct labels"),
        ({"name": "x", "labels": ("a", "b"), "good": ("c",)}, "at least two distinct labels"),
        ({"name": "x", "scale": (1, 1)}, "scale must be"),
    ],
)
def test_an_unclear_declaration_is_refused(declared, said):
    async def function(case):
        return 1.0

    with pytest.raises(SettingsError, match=said):
        OwnEvaluator(function, **declared)


def test_a_function_with_strange_parameters_or_a_taken_name_is_refused():
    async def unknown(case, moon):
        return 1.0

    with pytest.raises(SettingsError, match="unknown parameter moon; use case"):
        ragassay.evaluator(unknown)
    for name in ("citations", "rubric", "evidence", "sentence_label"):

        async def taken(case):
            return 1.0

        with pytest.raises(SettingsError, match="the name is already used"):
            run_of([OwnEvaluator(taken, name=name)])


@pytest.mark.integration
async def test_answers_sentences_and_citations_are_judged_by_functions_and_by_the_model(plain):
    names = tuple(one.name for one in OWN)
    _, found = await evaluated(run_of(OWN, plain, only=names))
    numbers = [(v.sentence, v.score) for v in found.find_verdicts("has_number")]
    assert numbers == [(1, 1.0), (2, 0.0)]
    assert [(v.item, v.score, v.reason) for v in found.find_verdicts("recency")] == [
        ("1/1", 4.0, "11 of 2"),
        ("2/2", 4.0, "12 of 2"),
    ]
    (label,) = found.find_verdicts("tone")
    assert (label.label, label.usage.n_calls) == ("plain", 1)
    assert label.confidence is not None and label.reason
    assert {key: score.value for key, score in found.scores.items()} == {
        "has_number.score": 0.5,
        "tone.score": 1.0,
        "tone.plain": 1.0,
        "tone.hedged": 0.0,
        "tone.vague": 0.0,
        "recency.score": 4.0,
    }
    assert found.scores["recency.score"].scale == (1.0, 5.0)
    assert plain.n_requests == found.usage.n_calls == 1
    assert found.scores["tone.score"].judge == "openai/a"


@pytest.mark.integration
async def test_they_run_beside_ours_and_one_that_lies_is_unscored_with_its_cause(plain):
    result, found = await evaluated(run_of([broken, has_number], plain))
    assert "rubric.cohesion" in found.scores and found.scores["has_number.score"].value == 0.5
    (verdict,) = found.find_verdicts("broken")
    assert "returned 7.0, which is not a number from 0 to 1" in verdict.failure.detail
    score = found.scores["broken.score"]
    assert (score.value, score.n_unscored, score.worst, score.best) == (None, 1, 0.0, 1.0)
    assert view_open([found]).unscored == ("1 verdict of broken: error",)
    assert result.manifest.own.keys() == {"broken", "has_number"}


@pytest.mark.integration
async def test_a_second_run_takes_verdicts_from_the_cache_and_another_function_does_not(tmp_path):
    folder, only = RunFolder(tmp_path / "run"), ("has_number",)
    CALLS.clear()
    first = run_of([has_number], only=only)
    await evaluated(first, folder)
    folder.forget_failures()
    await evaluated(run_of([has_number], only=only), folder)
    assert len(CALLS) == 2
    other = OwnEvaluator(has_number.says, name="has_number", of="sentence", version="2")
    assert run_of([other], only=only).identity != first.identity


@pytest.mark.integration
async def test_a_panel_answers_by_its_majority_and_the_cascade_asks_the_second(plain, vague):
    panel = (f"openai/b@{vague.base_url}", f"openai/c@{plain.base_url}")
    _, found = await evaluated(run_of([tone], plain, panel=panel, only=("tone",)))
    (joint,) = found.find_verdicts("tone")
    assert joint.label == "plain"
    assert [one.label for one in joint.members] == ["plain", "vague", "plain"]
    assert found.usage.n_calls == 3
    second = {"escalate": f"openai/b@{vague.base_url}", "when": "entropy>0", "only": ("tone",)}
    unsure = run_of([tone], plain, **second)
    for name in ("logprobs", "top_logprobs"):
        unsure.judge.lm.kwargs.pop(name)
    result, found = await evaluated(unsure)
    (decided,) = found.find_verdicts("tone")
    assert (decided.label, decided.escalated_from.label) == ("vague", "plain")
    assert [part.kind for part in result.summary.cascade.parts] == ["tone"]


@pytest.mark.integration
async def test_the_plan_counts_calls_and_reports_show_what_was_said(plain):
    run = run_of(OWN, plain, only=tuple(one.name for one in OWN))
    assert plan(build_job([RECORD], Corpus()), run).n_calls == 1
    result, found = await evaluated(run)
    summary = summarize([found], 1, 0, 0)
    page = unfolded(render_html(result.manifest, summary, [found]))
    text = render_markdown(result.manifest, summary, [found])
    for shown in (page, text):
        assert "11 of 2" in shown and "Has number" in shown and "plain" in shown
        assert has_number.digest in shown


@pytest.mark.integration
async def test_the_audit_damages_answers_and_sees_whether_a_score_falls(plain, sample):
    @ragassay.evaluator(attacks=("rubric",))
    async def brevity(case):
        return 1 / (1 + len(case.answer) / 1000)

    run = run_of([brevity], plain, only=("brevity",))
    records = read_records(sample / "answers.jsonl").records
    job = build_audit_job(build_job(records, Corpus()), run, AuditOptions(limit=4))
    targets = {target for perturbation in job.perturbed for target in perturbation.targets}
    assert targets == {"brevity.score"}
    result = await run_audit(job, run)
    assert {figure.target for figure in result.audit.figures} == {"brevity.score"}
    assert any(line.target == "brevity.score" for line in result.audit.certificate)


MINE = """
rubrics:
  dosing:
    question: "Is each dose given with its unit and how often it is taken?"
    scale:
      1: "No dose."
      2: "A dose without a unit."
      3: "Dose and unit."
      4: "Dose, unit and frequency, once unclear."
      5: "Dose, unit and frequency of every drug."
  checklist:
    reference: "Drug A lowers blood pressure by 5 mmHg and may cause cough."
    criteria:
      - {text: "It gives the size of the effect.", weight: 3}
      - {text: "It names a side effect."}
"""


@pytest.mark.integration
async def test_rubrics_of_a_file_are_rated_beside_ours_and_criteria_are_weighed(tmp_path):
    def reply(messages, schema):
        made = json.loads(default_reply(messages, schema))
        text = messages[-1]["content"]
        if "reply" in made:
            made["reply"] = "met" if "size of the effect" in text else "not_met"
        return made | ({"rating": 2} if "dosing" in text and "rating" in made else {})

    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    with ScriptedModel(reply) as model:
        only = ("rubrics", "checklist")
        run = run_of([], model, rubrics=(str(path), "cohesion"), only=only)
        _, found = await evaluated(run)
        asked = [request.messages[-1]["content"] for request in model.requests]
    ratings = {j.rubric: j.rating for j in found.judgments}
    assert ratings.keys() == {"dosing", "cohesion"} and ratings["dosing"] == 2
    # 3 of 3 + 1 by weight
    assert found.scores["checklist.score"].value == 0.75
    assert any("Dose, unit and frequency of every drug." in prompt for prompt in asked)
    assert any("may cause cough" in prompt and "names a side effect" in prompt for prompt in asked)


@each_case(
    ("text", "said"),
    [
        ("rubrics: [", "while parsing"),
        ("rules: {}", "a mapping `rubrics:`"),
        ("rubrics: {mine: 3}", "mine: expected a mapping with question and scale"),
        ("rubrics: {mine: {scale: {1: a, 2: b}}}", "mine, question: it is missing"),
        ("rubrics: {mine: {question: q, scale: {1: a, 3: b}}}", "must describe every rating"),
        ("rubrics: {mine: {criteria: []}}", "mine, criteria: it must have at least 1"),
        ("rubrics: {mine: {criteria: [{text: t, weight: 0}]}}", "criteria.0.weight"),
        ("rubrics: {mine: {criteria: [{text: t}, {text: t}]}}", "two criteria are identical"),
    ],
)
def test_a_file_of_rubrics_that_cannot_be_read_names_file_rubric_and_field(tmp_path, text, said):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said) as caught:
        read_rubrics([path])
    assert "mine.yaml" in str(caught.value)


def test_a_rubric_has_a_name_of_its_own():
    shipped = {"question": "q", "scale": {1: "a", 2: "b"}}
    for name, said in (("cohesion", "name is already used"), ("Two words", "contain only a-z")):
        mine = ragassay.Rubric.model_validate(shipped | {"name": name})
        with pytest.raises(SettingsError, match=said):
            build_run(load_settings(model="openai/a", signals=False), None, (), [mine])


def test_evaluators_are_found_by_module_and_by_entry_point(tmp_path, monkeypatch):
    lines = ("import ragassay", "@ragassay.evaluator", "async def short(case):", "    return 1.0")
    (tmp_path / "mine_of_test.py").write_text("\n".join((*lines, "other = 3", "")))
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = {"model": "openai/a", "signals": False}
    found = build_run(load_settings(**settings, evaluators=("mine_of_test:short",)))
    assert found.get_evaluator("short").display.title == "Short"
    for name, said in (
        ("mine_of_test:other", "is not an evaluator"),
        ("mine_of_test:none", "has no 'none'"),
        ("nowhere_at_all:x", "cannot be imported"),
        ("unknown", "an entry point in the group"),
    ):
        with pytest.raises(SettingsError, match=said):
            build_run(load_settings(**settings, evaluators=(name,)))
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ragassay.evaluators]\nshort = mine_of_test:short\n")
    named = build_run(load_settings(**settings, evaluators=("short",)))
    assert named.get_evaluator("short") is found.get_evaluator("short")


def test_a_rubric_of_the_users_own_is_held_against_a_threshold_by_its_name():
    (threshold,) = parse_thresholds(["dosing=3"], own=("dosing",))
    assert (threshold.key, threshold.least) == ("rubric.dosing", 3.0)
