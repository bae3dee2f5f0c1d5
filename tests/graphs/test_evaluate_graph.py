"""The evaluation graph over a real HTTP model that is scripted."""

from __future__ import annotations

import importlib.util
import json

import casefiles
import pytest
from casefiles import build_word_run, evaluate, watch
from conftest import ROOT

from ragassay.errors import InputError
from ragassay.process import run_sync
from ragassay.records import (
    Article,
    ArticleLink,
    Evaluation,
    MatchObjectives,
    MixtureComponent,
    Nugget,
    NuggetMatcher,
)
from ragassay.retrievers.literature import Corpus
from ragassay.testing import Fault, ScriptedModel, default_reply
from ragassay.text.sentences import split_sentences

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

RECORD = casefiles.RECORD.model_copy(
    update={"answer": f"{casefiles.RECORD.answer} See also [9]."}  # No source has this number.
)
GOLD = (
    Nugget(text="Drug A lowers blood pressure by 5 mmHg", importance="vital"),
    Nugget(text="Kidney function stays normal", importance="okay"),
)
WITH_GOLD = RECORD.model_copy(update={"nuggets": GOLD})


def list_kinds(found: Evaluation) -> set[str]:
    return {finding.kind for finding in found.findings}


@pytest.fixture(scope="module")
def model():
    """The model that judged `plain`."""
    with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="module")
def plain(model) -> Evaluation:
    endpoint = {"model": model.model_name, "api_base": model.base_url}
    return run_sync(evaluate(build_word_run(**endpoint, reranker="none"), RECORD))


def test_every_verdict_is_had_once(plain, model):
    numbers = list(range(1, len(plain.sentences) + 1))
    assert len(plain.judgments) == 9
    assert [label.sentence for label in plain.labels] == numbers
    assert [verdict.sentence for verdict in plain.evidence] == numbers
    assert [(c.sentence, c.citation.marker) for c in plain.citations] == [
        (s.index, c.marker) for s in plain.sentences for c in s.citations
    ]
    assert plain.usage.n_calls == model.n_requests
    assert all(score.n_unscored == 0 for score in plain.scores.values())


def test_a_score_is_the_expectation_over_the_rating_tokens(plain):
    for judgment in plain.judgments:
        assert sum(judgment.distribution) == pytest.approx(1, abs=1e-5)
        by_hand = sum(rating * p for rating, p in enumerate(judgment.distribution, 1))
        assert judgment.score == pytest.approx(by_hand, abs=1e-3)


def test_one_verdict_serves_a_sentence_and_the_citation_that_its_best_passage_is_from(plain, model):
    cited = {c.citation.marker: c for c in plain.citations}
    for marker, verdict in zip("12", plain.evidence, strict=False):
        assert (verdict.evidence, verdict.verdict) == (
            cited[marker].evidence,
            cited[marker].verdict,
        )
    n_asked = sum("verdict" in str(r.schema) for r in model.requests)
    assert n_asked == sum(e.evidence is not None for e in plain.evidence)
    assert cited["9"].verdict == "invalid", "it points nowhere and costs no call"
    assert "invalid_citation" in list_kinds(plain)


async def test_calls_on_one_answer_share_at_least_80_percent_of_their_prompt(
    make_model, make_run, records
):
    model = make_model()
    await evaluate(make_run(model), records[0])
    prompts = ["".join(m["content"] for m in r.messages) for r in model.requests]
    first, last = min(prompts), max(prompts)
    shared = next(i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    assert len(prompts) > 30
    assert shared * len(prompts) / sum(len(p) for p in prompts) >= 0.8


def test_the_rubric_comes_last(plain, model):
    prompts = [r.messages[-1]["content"] for r in model.requests]
    for rubric in build_word_run(model="openai/a").rubrics.values():
        (prompt,) = [p for p in prompts if rubric.question in p]
        assert prompt.index(rubric.question) > prompt.index(RECORD.sources[-1].text)


@pytest.mark.parametrize("kind", ["rate_limit", "server_error", "unavailable", "cut_off"])
async def test_passing_trouble_is_retried(make_model, make_run, kind):
    model = make_model(faults=[Fault(kind, attempts=1)])
    found = await evaluate(make_run(model, rubrics=("cohesion",)), RECORD)
    assert "unscored" not in list_kinds(found)
    n_struck = sum(r.fault == kind for r in model.requests)
    assert n_struck == len({r.key for r in model.requests}) > 5


@pytest.mark.parametrize(
    ("kind", "reason", "n_tries"),
    [
        ("junk", "unparsable", 2),
        ("server_error", "server_error", 3),
        ("rate_limit", "rate_limit", 3),
        ("refusal", "refused", 1),
        ("content_filter", "refused", 1),
        ("bad_request_too_long", "too_long", 1),
    ],
)
async def test_lasting_trouble_is_unscored(make_model, make_run, kind, reason, n_tries):
    model = make_model(faults=[Fault(kind, contains="rubric: cohesion.")])
    run = make_run(model, rubrics=("cohesion", "coherence"), max_attempts=3)
    found = await evaluate(run, RECORD)
    judgments = {j.rubric: j for j in found.judgments}
    assert judgments["cohesion"].rating is None
    assert judgments["cohesion"].failure.reason == reason
    assert judgments["coherence"].rating is not None
    assert all(label.label is not None for label in found.labels)
    score = found.scores["rubric.cohesion"]
    assert (score.value, score.n, score.n_unscored, score.worst, score.best) == (None, 0, 1, 1, 5)
    assert sum(r.fault == kind for r in model.requests) == n_tries


async def test_a_time_out_is_unscored(make_model, make_run):
    model = make_model(faults=[Fault("hang", contains="rubric: cohesion.")])
    run = make_run(model, only=("rubrics",), rubrics=("cohesion",), max_attempts=1, timeout_s=0.5)
    found = await evaluate(run, RECORD)
    assert found.judgments[0].failure.reason == "timeout"


async def test_every_call_failing_still_gives_an_evaluation(make_model, make_run):
    found = await evaluate(make_run(make_model(faults=[Fault("refusal")])), RECORD)
    assert all(j.failure.reason == "refused" for j in found.judgments)
    score = found.scores["sentences.required"]
    assert (score.value, score.n_unscored) == (None, len(found.sentences))
    assert "unscored" in list_kinds(found)


async def test_an_empty_answer_has_no_calls_and_says_so(make_model, make_run):
    model = make_model()
    found = await evaluate(make_run(model), WITH_GOLD.model_copy(update={"answer": "  "}))
    assert model.n_requests == 0
    assert {j.failure.reason for j in found.judgments} == {"empty_answer"}
    assert "empty_answer" in list_kinds(found)
    assert found.scores["nuggets.strict_vital"].value == 0.0


async def test_too_many_sentences_is_a_clear_error(make_model, make_run):
    answer = "One more sentence is here. " * 10_000
    with pytest.raises(InputError, match="10000 sentences"):
        await evaluate(make_run(make_model()), RECORD.model_copy(update={"answer": answer}))


async def test_a_fact_that_its_sentence_does_not_carry_gives_way_to_it(make_model, make_run):
    def reply(messages, schema):
        if "facts" in schema["properties"]:
            return {"facts": ["Drug A cures cancer in 90 of 100 patients."]}
        return default_reply(messages, schema)

    found = await evaluate(make_run(make_model(reply)), RECORD)
    assert {n.method for n in found.nuggets} == {"extractive"}
    assert [n.text for n in found.nuggets] == [s.text for s in found.sentences]
    assert "extractive_nugget" in list_kinds(found)


async def test_gold_nuggets_are_matched_one_to_one_and_assigned_in_a_call_each(
    make_model, make_run, plain, model
):
    second = make_model()
    found = await evaluate(make_run(second), WITH_GOLD)
    assert [m.gold for m in found.matches] == [0]
    assert found.scores["nuggets.recall"].value == 0.5
    assert found.scores["nuggets.vital_recall"].value == 1.0
    assert second.n_requests == model.n_requests + len(GOLD)
    assert plain.assignments == ()
    assert [a.gold for a in found.assignments] == [0, 1]
    assert all(a.assignment and a.confidence is not None for a in found.assignments)
    keys = {"nuggets.strict_vital", "nuggets.strict_all", "nuggets.vital", "nuggets.all"}
    assert keys <= found.scores.keys()
    assert not keys & plain.scores.keys()


async def test_assignment_that_cannot_be_had_is_unscored(make_model, make_run):
    model = make_model(faults=[Fault("junk", contains=f"{GOLD[1].text}\n</data")])
    found = await evaluate(make_run(model), WITH_GOLD)
    first, second = found.assignments
    assert first.assignment is not None
    assert (second.assignment, second.failure.reason) == (None, "unparsable")
    assert sum(r.fault == "junk" for r in model.requests) == 2
    score = found.scores["nuggets.all"]
    assert (score.n, score.n_unscored) == (1, 1)
    assert found.scores["nuggets.vital"].n_unscored == 0


async def test_a_reference_answer_is_nuggetized_and_matched_but_not_assigned(make_model, make_run):
    record = RECORD.model_copy(update={"reference": "Some patients cough. Nobody died."})
    found = await evaluate(make_run(make_model()), record)
    assert {n.origin for n in found.gold_nuggets} == {"reference"}
    assert found.scores["nuggets.recall"].n == len(found.gold_nuggets) >= 2
    assert not found.assignments


async def test_evidence_is_the_passage_that_the_offsets_name(make_model, make_run, corpus):
    answer = "Brelozant lowered monthly migraine days [PMID 99000101]."
    record = RECORD.model_copy(update={"answer": answer, "sources": ()})
    (verdict,) = (await evaluate(make_run(make_model(), corpus), record)).citations
    assert verdict.citation.document == "99000101"
    span = verdict.evidence
    assert corpus.get("99000101").text[span.start : span.end] == span.text


async def test_what_is_known_against_cited_articles_is_found(make_model, make_run):
    links = (ArticleLink(kind="retracted_by", id="99009"),)
    retracted = Article(id="99001", text="Drug A lowered blood pressure by 5 mmHg.", links=links)
    answer = "Drug A lowers blood pressure [PMID 99001]."
    record = RECORD.model_copy(update={"answer": answer, "sources": ()})
    found = await evaluate(make_run(make_model(), Corpus([retracted])), record)
    (finding,) = [f for f in found.findings if f.kind == "retracted_citation"]
    assert finding.sentence == 1
    assert "PMID 99009" in finding.message


async def test_without_a_corpus_nothing_is_said_of_what_it_would_hold(make_model, make_run):
    source = RECORD.sources[0].model_copy(update={"id": "12345678"})
    record = RECORD.model_copy(update={"sources": (source,), "answer": "It does [1]."})
    assert "unknown_citation" not in list_kinds(await evaluate(make_run(make_model()), record))


async def test_progress_expects_as_many_verdicts_as_a_run_takes(
    make_model, make_run, records, corpus
):
    model = make_model()
    n_expected, n_done, _ = await watch(make_run(model, corpus), records[0])
    n_by_instrument = len(split_sentences(records[0].answer))  # the correctness of each sentence
    assert n_expected == n_done == model.n_requests + n_by_instrument


async def test_the_graph_that_langgraph_json_names_takes_plain_json(
    make_model, make_run, monkeypatch
):
    where = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["evaluate"]
    path, name = where.split(":")
    spec = importlib.util.spec_from_file_location("served", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run = make_run(make_model())
    monkeypatch.setattr("ragassay.evaluators.build_run.build_default_run", lambda: run)
    out = await getattr(module, name).ainvoke({"record": RECORD.model_dump(mode="json")})
    assert len(out["evaluation"].judgments) == 9


async def test_a_fitted_matcher_decides_which_nuggets_are_the_same(make_model, make_run):
    component = {"weight": 0.5, "variance": 0.01, "weight_concentration": (50, 50)}
    precision = {"mean_precision": 50, "degrees_of_freedom": 50}
    components = [MixtureComponent(mean=mean, **component, **precision) for mean in (0.1, 0.9)]
    matcher = NuggetMatcher(
        components=components,
        probability_threshold=0.5,
        similarity_threshold=0.5,
        embedder="words",
        n_questions=1,
        n_pairs=20,
        data_sha256="",
        seed=0,
        n_trials=1,
        objectives=MatchObjectives(f1=1, similarity=1, n_alignments=1),
    )
    run = make_run(make_model(), nugget_threshold=0.0, only=("nuggets",))
    assert len((await evaluate(run, WITH_GOLD)).matches) == 2
    found = await evaluate(run.with_models(matcher=matcher), WITH_GOLD)
    assert [m.gold for m in found.matches] == [0]


async def test_a_whole_answer_is_nuggetized_in_one_call(make_model, make_run):
    facts = ["Drug A lowers blood pressure by 5 mmHg.", "Some patients cough."]

    def reply(messages, schema):
        return {"facts": [*reversed(facts), "Drug A cures cancer in 90 of 100 patients."]}

    model = make_model(reply)
    run = make_run(model, only=("nuggets",), nugget_unit="answer")
    found = await evaluate(run, WITH_GOLD)
    asked = [r for r in model.requests if "facts" in r.schema["properties"]]
    assert len(asked) == 1
    # In the order of the answer, each under its sentence; what it does not state is left out.
    assert [(n.sentence, n.text) for n in found.nuggets] == list(enumerate(facts, 1))
    assert {n.method for n in found.nuggets} == {"model"}
