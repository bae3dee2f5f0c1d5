"""The default names no judge: instruments decide what they can tell, and nothing else is said."""

from __future__ import annotations

import pytest
from casefiles import LASTING_EFFECT, OFF_TOPIC, build_word_run, evaluate, reply_with

import ragassay
from ragassay.errors import SettingsError
from ragassay.evaluators.build_run import build_run
from ragassay.model_names import INSTRUMENTS
from ragassay.models.gateway import JudgeLM
from ragassay.records import Nugget
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import build_job, build_manifest, plan
from ragassay.runs.nugget_matching import assign_nuggets
from ragassay.runs.nuggets import build_nugget_jobs, write_nuggets
from ragassay.settings import load_settings

RECORD = LASTING_EFFECT.model_copy(
    update={"nuggets": (Nugget(text="Drug A lowers blood pressure.", importance="vital"),)}
)
UNRATED = ("nuggets", "sentences", "evidence", "citations")
"""All parts but those that take the embedded models' measurements."""

JOB = build_job([RECORD], Corpus())


async def test_what_only_a_judge_can_tell_is_undecided_or_not_said():
    found = await evaluate(build_word_run(Corpus(RECORD.sources), only=UNRATED), RECORD)
    assert (found.judge, found.usage.n_calls) == (INSTRUMENTS, 0)
    assert [n.text for n in found.nuggets] == [
        "Drug A lowers systolic blood pressure by 5 mmHg in adults with hypertension.",
        "The effect lasts for twelve weeks.",
        "Cough was seen in 4 % of the patients.",
    ]
    origins = {(n.method, n.origin, n.importance) for n in found.nuggets}
    assert origins == {("clause", "answer", None)}
    assert [n.sentence for n in found.nuggets] == [1, 2, 2]
    assert found.scores["nuggets.precision"].judge == "clauses, by rule"
    assert found.find_verdicts("assignment") == found.find_verdicts("sentence_label") == ()
    assert not {"nuggets.strict_vital", "sentences.required"} & set(found.scores)
    queries = [query for search in found.searches for query in search.queries]
    assert [query.side for query in queries] == ["for", "for"], "the sentence and its question"
    assert all(query.text.endswith(RECORD.question) for query in queries)
    assert all(verdict.evidence for verdict in found.evidence)


async def test_facts_of_cited_documents_are_their_sentences():
    run = build_word_run(only=("citations",), citation_evidence="nuggets")
    found = await evaluate(run, RECORD)
    assert [len(citation.nuggets) for citation in found.citations] == [1, 2]
    assert found.usage.n_calls == 0


async def test_what_is_undecided_goes_to_a_second_judge(make_model):
    model = make_model(reply_with(label="required", assignment="support"))
    second = {"escalate": f"{model.model_name}@{model.base_url}", "when": "unscored"}
    run = build_word_run(only=("nuggets", "sentences"), **second)
    found = await evaluate(run, RECORD)
    assert plan(JOB, run).n_calls == 0
    assert [label.value for label in found.find_verdicts("sentence_label")] == ["required"] * 2
    [assignment] = found.find_verdicts("assignment")
    assert assignment.value == "support" and assignment.escalation is not None
    score = found.scores["sentences.required"]
    assert (score.value, score.judge) == (1.0, f"{INSTRUMENTS}, where unsure openai/scripted")
    assert {nugget.method for nugget in found.nuggets} == {"clause"}, "no second judge writes them"
    assert len(model.requests) == 3


def test_a_run_takes_no_call_and_names_the_instruments():
    run = build_word_run(only=UNRATED)
    assert plan(JOB, run).n_calls == 0
    manifest = build_manifest(JOB, run)
    assert (manifest.judge, manifest.judge_digest, manifest.base) == (INSTRUMENTS, "", "")
    assert manifest.card is not None and "need a judge" in " ".join(manifest.card.limits)


@pytest.mark.parametrize(
    "options",
    [
        {"signals": False},
        {"signals": True, "rubric_set": "summeval"},
        {"only": ("evidence",), "verifier": "judge"},
    ],
)
def test_what_needs_a_judge_says_so_in_one_line(options):
    with pytest.raises(SettingsError, match="a judge is required; pass --model") as caught:
        build_run(load_settings(**options))
    assert len(str(caught.value).splitlines()) == 1


def test_an_evaluator_that_asks_a_judge_needs_one():
    @ragassay.evaluator(name="good", labels=("yes", "no"))
    async def own(judge: ragassay.Judge) -> str:
        return (await judge.choose("Good?", ("yes", "no"))).value

    with pytest.raises(SettingsError, match="evaluator good: a judge is required"):
        build_run(load_settings(only=("good",)), None, (own,))
    assert build_run(load_settings(only=("citations",)), None, (own,)).judge.lm is None


def test_instruments_are_no_member_of_a_panel_and_no_language_model():
    with pytest.raises(SettingsError, match="not a language model and cannot be part of a panel"):
        load_settings(panel=("openai/a",))
    with pytest.raises(SettingsError, match="a judge is required"):
        JudgeLM(load_settings())


async def test_nuggets_are_created_and_assigned_by_a_judge(tmp_path):
    run = build_word_run(only=("nuggets",))
    jobs = build_nugget_jobs([RECORD], "documents", run, n_window=2, n_most=9)
    with pytest.raises(SettingsError, match="a judge is required"):
        await write_nuggets(jobs, run, tmp_path / "nuggets.jsonl")
    with pytest.raises(SettingsError, match="a judge is required"):
        await assign_nuggets([RECORD], run, tmp_path / "a.jsonl", tmp_path / "m.jsonl")


@pytest.mark.integration
@pytest.mark.parametrize("only", [("rubrics", "sentences"), ("sentences",)])
async def test_without_a_judge_signals_rate_and_tell_what_is_off_topic(only):
    run = build_run(load_settings(only=only, signals=True))
    for answer, labels in (
        (RECORD.answer, {}),
        (f"{RECORD.answer} {OFF_TOPIC}", {3: "unnecessary"}),
    ):
        found = await evaluate(run, RECORD.model_copy(update={"answer": answer}))
        assert {label.sentence: label.label for label in found.labels} == labels
        assert found.usage.n_calls == 0
        assert all(judgment.rating for judgment in found.judgments)
