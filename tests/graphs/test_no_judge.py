"""The default names no judge: instruments decide what they can tell, and nothing else is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fakes import WordEmbedder

import ragassay
from ragassay.errors import SettingsError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.graphs.case import Input
from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.model_names import INSTRUMENTS
from ragassay.models.gateway import JudgeLM
from ragassay.records import Document, Evaluation, Nugget, Record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import build_job, build_manifest, plan
from ragassay.runs.nugget_matching import assign_nuggets
from ragassay.runs.nuggets import build_nugget_jobs, write_nuggets
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel, default_reply

SOURCE = Document(
    id="11",
    title="Drug A in hypertension",
    text="Drug A lowered systolic blood pressure by 5 mmHg in adults with hypertension. "
    "The effect lasted for twelve weeks. Cough was seen in 4 % of the patients.",
)
ANSWER = (
    "Drug A lowers systolic blood pressure by 5 mmHg in adults with hypertension [1]. "
    "The effect lasts for twelve weeks, but cough was seen in 4 % of the patients [1]."
)
OFF_TOPIC = (
    "The home team scored twice in the second half and won the derby in front of a full house."
)
RECORD = Record(
    id="one",
    question="Does drug A lower blood pressure?",
    answer=ANSWER,
    sources=(SOURCE,),
    nuggets=(Nugget(text="Drug A lowers blood pressure.", importance="vital"),),
)
UNRATED = ("nuggets", "sentences", "evidence", "citations")
"""All parts but those that take the embedded models' measurements."""


def run(*given: object, **options: object) -> Run:
    found = build_run(load_settings(**options), *given)  # type: ignore[arg-type]
    return found.with_models(embedder=WordEmbedder())


async def evaluate(run: Run, record: Record = RECORD) -> Evaluation:
    found = await build_evaluate_graph().ainvoke(Input(record=record), context=run)
    return found["evaluation"]


class Fixed:
    name, digest = "ragassay/assignment", "d"

    def predict_probabilities(self, pairs):
        return np.array([(0.9, 0.05, 0.05) for _ in pairs])


async def test_what_only_a_judge_can_tell_is_undecided_or_not_said():
    corpus = Corpus([SOURCE])
    found = await evaluate(run(corpus, only=UNRATED))
    assert (found.judge, found.usage.n_calls) == (INSTRUMENTS, 0)
    assert [n.text for n in found.nuggets] == [
        "Drug A lowers systolic blood pressure by 5 mmHg in adults with hypertension.",
        "The effect lasts for twelve weeks.",
        "Cough was seen in 4 % of the patients.",
    ]
    assert {(n.method, n.origin, n.importance) for n in found.nuggets} == {
        ("clause", "answer", None)
    }
    assert [n.sentence for n in found.nuggets] == [1, 2, 2]
    assert found.scores["nuggets.precision"].judge == "clauses, by rule"
    assert found.find_verdicts("assignment") == found.find_verdicts("sentence_label") == ()
    assert not {"nuggets.strict_vital", "sentences.required"} & set(found.scores)
    queries = [query for search in found.searches for query in search.queries]
    assert [query.side for query in queries] == ["for", "for"], "the sentence and its question"
    assert all(query.text.endswith(RECORD.question) for query in queries)
    assert all(verdict.evidence for verdict in found.evidence)


async def test_facts_of_cited_documents_are_their_sentences():
    found = await evaluate(run(only=("citations",), citation_evidence="nuggets"))
    assert [len(citation.nuggets) for citation in found.citations] == [1, 2]
    assert found.usage.n_calls == 0


async def test_what_is_undecided_goes_to_a_second_judge():
    def reply(messages, schema):
        made = json.loads(default_reply(messages, schema))
        said = {"label": "required", "assignment": "support"}
        return {name: said.get(name, value) for name, value in made.items()}

    with ScriptedModel(reply) as model:
        members = {"escalate": f"{model.model_name}@{model.base_url}", "when": "unscored"}
        chosen = run(only=("nuggets", "sentences"), **members)
        found = await evaluate(chosen)
        assert plan(build_job([RECORD], Corpus()), chosen).n_calls == 0
    assert [label.value for label in found.find_verdicts("sentence_label")] == [
        "required",
        "required",
    ]
    [assignment] = found.find_verdicts("assignment")
    assert assignment.value == "support" and assignment.escalation is not None
    assert found.scores["sentences.required"].value == 1.0
    assert (
        found.scores["sentences.required"].judge == f"{INSTRUMENTS}, where unsure openai/scripted"
    )
    assert {nugget.method for nugget in found.nuggets} == {"clause"}, "no second judge writes them"
    assert len(model.requests) == 3


def test_a_run_takes_no_call_and_names_the_instruments():
    chosen = run(only=UNRATED)
    assert plan(build_job([RECORD], Corpus()), chosen).n_calls == 0
    manifest = build_manifest(build_job([RECORD], Corpus()), chosen)
    assert (manifest.judge, manifest.judge_digest, manifest.base) == (INSTRUMENTS, "", "")
    assert manifest.card is not None and "need a judge" in " ".join(manifest.card.limits)


async def asks(judge: ragassay.Judge) -> str:
    return (await judge.choose("Good?", ("yes", "no"))).value  # type: ignore[return-value]


@pytest.mark.parametrize(
    "given",
    [
        {"signals": False},
        {"signals": True, "rubric_set": "summeval"},
        {"only": ("evidence",), "verifier": "judge"},
    ],
)
def test_what_needs_a_judge_says_so_in_one_line(given: dict[str, object]):
    with pytest.raises(SettingsError, match="a judge is required; pass --model") as caught:
        build_run(load_settings(**given))
    assert len(str(caught.value).splitlines()) == 1


def test_an_evaluator_that_asks_a_judge_needs_one():
    own = ragassay.evaluator(name="good", labels=("yes", "no"))(asks)
    with pytest.raises(SettingsError, match="evaluator good: a judge is required"):
        build_run(load_settings(only=("good",)), None, (own,))
    assert build_run(load_settings(only=("citations",)), None, (own,)).judge.lm is None


def test_instruments_are_no_member_of_a_panel_and_no_language_model():
    with pytest.raises(
        SettingsError, match="is not a language model and cannot be part of a panel"
    ):
        load_settings(panel=("openai/a",))
    with pytest.raises(SettingsError, match="a judge is required"):
        JudgeLM(load_settings())


async def test_nuggets_are_created_and_assigned_by_a_judge(tmp_path: Path):
    chosen = run(only=("nuggets",))
    jobs = build_nugget_jobs([RECORD], "documents", chosen, n_window=2, n_most=9)
    with pytest.raises(SettingsError, match="a judge is required"):
        await write_nuggets(jobs, chosen, tmp_path / "nuggets.jsonl")
    with pytest.raises(SettingsError, match="a judge is required"):
        await assign_nuggets([RECORD], chosen, tmp_path / "a.jsonl", tmp_path / "m.jsonl")


@pytest.mark.integration
async def test_without_a_judge_signals_rate_and_tell_what_is_off_topic():
    chosen = build_run(load_settings(only=("rubrics", "sentences"), signals=True))
    assert await _labels(chosen, ANSWER) == {}
    damaged = f"{ANSWER} {OFF_TOPIC}"
    assert await _labels(chosen, damaged) == {3: "unnecessary"}
    alone = build_run(load_settings(only=("sentences",), signals=True))
    assert await _labels(alone, damaged) == {3: "unnecessary"}


async def _labels(run: Run, answer: str) -> dict[int, str]:
    found = await evaluate(run, RECORD.model_copy(update={"answer": answer}))
    assert found.usage.n_calls == 0
    assert all(judgment.rating for judgment in found.judgments)
    return {label.sentence: label.label or "" for label in found.labels}
