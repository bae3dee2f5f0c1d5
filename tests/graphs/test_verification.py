"""What of a document a citation is checked against, by whom, in how many labels."""

from __future__ import annotations

import numpy as np
import pytest
from casefiles import evaluate

from ragassay.evaluators.base import Run
from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.prompts import load_prompts
from ragassay.records import AttributionVerdict, Bound, Document, Nugget, Record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import build_job, plan
from ragassay.testing import default_reply

pytestmark = pytest.mark.integration

FIRST = Document(
    id="11",
    title="Trial",
    text=(
        "Adults were enrolled. Drug A lowered blood pressure by 5 mmHg. No adult left. "
        "The trial took a year. It was paid for by a fund."
    ),
)
SECOND = Document(id="12", title="Safety", text="Cough was seen in some patients on drug A.")
RECORD = Record(
    id="one",
    question="Does drug A lower blood pressure?",
    answer="Drug A lowers blood pressure by 5 mmHg [1]. Some patients cough [2, 9].",
    sources=(FIRST, SECOND),
    nuggets=(Nugget(text="Drug A lowers blood pressure", importance="vital"),),
)


JOB = build_job([RECORD], Corpus())


class FixedModel:
    """Supports each claim that lowers something, and contradicts all others."""

    name, digest, threshold = "fixed", "0" * 64, 0.5

    def __init__(self, *bounds: Bound) -> None:
        self.bounds = bounds
        self.asked: list[tuple[str, str]] = []

    def predict_probabilities(self, pairs):
        self.asked += pairs
        supports, contradicts = [0.8, 0.1, 0.1], [0.1, 0.7, 0.2]
        return np.array([supports if "lowers" in claim else contradicts for claim, _ in pairs])

    def score_pairs(self, pairs):
        return self.predict_probabilities(pairs)[:, 0]

    def find_doubt(self, pairs):
        return None


def with_verifier(run: Run, model: FixedModel) -> Run:
    return run.with_models(encoder=EncoderVerifier(model, run.models.embedder))


def list_verdict_schemas(model):
    schemas = [r.schema["properties"] for r in model.requests]
    return [properties["verdict"] for properties in schemas if "verdict" in properties]


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("document", FIRST.text),
        ("nuggets", FIRST.text),
        (
            "passage",
            "Adults were enrolled. Drug A lowered blood pressure by 5 mmHg. No adult left.",
        ),
        ("sentence", "Drug A lowered blood pressure by 5 mmHg."),
    ],
)
async def test_the_span_that_was_checked_has_the_offsets_of_its_source(
    make_model, make_run, setting, text
):
    found = await evaluate(make_run(make_model(), citation_evidence=setting), RECORD)
    sources = {source.id: source for source in found.sources}
    spans = [c.evidence for c in found.citations if c.evidence]
    assert [span.document for span in spans] == ["11", "12"]
    for span in spans:
        assert sources[span.document].text[span.start : span.end] == span.text
    assert spans[0].text == text


@pytest.mark.parametrize(
    ("n", "labels"),
    [
        (2, {"supports", "not_attributable"}),
        (3, {"supports", "contradicts", "neutral"}),
        (4, {"supports", "contradicts", "neutral", "not_relevant"}),
    ],
)
async def test_the_judge_chooses_from_as_many_labels_as_the_setting_says(
    make_model, make_run, n, labels
):
    model = make_model()
    found = await evaluate(make_run(model, verdict_labels=n), RECORD)
    assert {frozenset(one["enum"]) for one in list_verdict_schemas(model)} == {frozenset(labels)}
    assert {c.verdict for c in found.citations} <= labels | {"invalid"}
    assert ("citations.contradict" in found.scores) == (n > 2)


async def test_a_verifier_beside_the_judge_takes_its_place(make_model, make_run):
    judge, fixed = make_model(), FixedModel()
    found = await evaluate(with_verifier(make_run(judge), fixed), RECORD)
    assert not list_verdict_schemas(judge)
    assert [e.verdict for e in found.evidence] == ["supports", "contradicts"]
    verdicts = {c.citation.marker: c.verdict for c in found.citations}
    assert verdicts == {"1": "supports", "2": "contradicts", "9": "invalid"}
    assert found.evidence[0].confidence == 0.8
    for key in ("evidence.support", "citations.support", "citations.coverage"):
        assert found.scores[key].judge == "fixed"
    assert found.scores["rubric.cohesion"].judge == judge.model_name
    # What is compared is the text itself: no prompt, no fence.
    assert fixed.asked[0][1].startswith("Trial.\n")


BOUND = Bound(label="contradicts", threshold=0.9, risk=0.2, delta=0.1, n=100, data="made up")


async def test_what_a_verifier_cannot_tell_is_undecided_and_keeps_its_leaning(make_model, make_run):
    found = await evaluate(with_verifier(make_run(make_model()), FixedModel(BOUND)), RECORD)
    decided, open_ = found.evidence
    assert (decided.verdict, decided.tentative_label) == ("supports", None)
    assert (open_.verdict, open_.value, open_.tentative_label) == (None, None, "contradicts")
    assert open_.is_undecided and not decided.is_undecided
    assert open_.confidence == 0.7 and open_.entropy_bits is not None
    assert open_.failure.detail == (
        'the tentative label "contradicts" has confidence 0.70, below the threshold of 0.90'
    )
    undecided = {c.citation.marker for c in found.citations if c.is_undecided}
    assert undecided == {"2"}
    # Left out of the means, and bounded: of three citations one is undecided, one invalid.
    support, contradict = (found.scores[f"citations.{n}"] for n in ("support", "contradict"))
    assert (support.decided, support.n, support.n_unscored) == (0.5, 2, 1)
    assert (support.worst, support.best) == (0.3333, 0.6667)
    assert (contradict.decided, contradict.worst, contradict.best) == (0.0, 0.3333, 0.0)
    # No bound admits findings, so no contradiction leads; it is worth a look.
    assert not [f for f in found.primary_findings if f.kind.startswith("contradicted")]
    assert "invalid_citation" in {f.kind for f in found.primary_findings}
    (finding,) = found.secondary_findings
    assert (finding.kind, finding.sentence) == ("contradicted_citation", 2)
    assert finding.message.startswith("Sentence 2 cites '2', which may contradict it")
    # It is no fault of the run.
    assert not {"unscored", "escalation_failed"} & {f.kind for f in found.findings}
    assert [v.evaluator for v in found.undecided] == ["evidence", "citation"]


async def test_other_bounds_are_another_question(make_model, make_run):
    run = make_run(make_model())
    plain, bounded = (with_verifier(run, FixedModel(*bounds)) for bounds in ((), (BOUND,)))
    assert plain.verifier_identity != bounded.verifier_identity
    assert plain.identity != bounded.identity
    # Without bounds all is as it was before there were any.
    assert plain.verifier_identity == ("fixed", "0" * 64)


async def test_a_citation_is_undecided_where_one_of_its_nuggets_is(make_model, make_run):
    run = make_run(make_model(), citation_evidence="nuggets")
    found = await evaluate(with_verifier(run, FixedModel(BOUND)), RECORD)
    citation = next(c for c in found.citations if c.citation.marker == "2")
    assert {v.is_undecided for v in citation.nuggets} == {True}
    assert (citation.verdict, citation.tentative_label) == (None, "contradicts")
    assert citation.is_undecided


async def test_citations_are_checked_nugget_by_nugget(make_model, make_run):
    model, fixed = make_model(), FixedModel()
    run = with_verifier(make_run(model, citation_evidence="nuggets"), fixed)
    found = await evaluate(run, RECORD)
    by_marker = {c.citation.marker: c for c in found.citations}
    nuggets = {n: [one.text for one in found.nuggets if one.sentence == n] for n in (1, 2)}
    assert [v.nugget for v in by_marker["1"].nuggets] == nuggets[1]
    assert [v.nugget for v in by_marker["2"].nuggets] == nuggets[2]
    assert by_marker["9"].verdict == "invalid"
    assert {f.document for f in found.facts} == {"11", "12"}
    # Each nugget was compared with the facts of the document, and with nothing else.
    facts = "\n".join(fact for f in found.facts if f.document == "12" for fact in f.facts)
    assert (nuggets[2][0], f"\n{facts}") in fixed.asked
    assert found.usage.n_calls == model.n_requests


async def test_the_judge_compares_nuggets_too_and_the_plan_is_no_less(make_model, make_run):
    model = make_model()
    run = make_run(model, citation_evidence="nuggets")
    found = await evaluate(run, RECORD)
    assert all(c.nuggets for c in found.citations if c.verdict != "invalid")
    assert found.usage.n_calls == model.n_requests <= plan(JOB, run).n_calls


async def test_lists_of_nuggets_are_compared_whole(make_model, make_run):
    fixed = FixedModel()
    run = with_verifier(make_run(make_model(), citation_evidence="nugget-lists"), fixed)
    found = await evaluate(run, RECORD)
    cited = [c for c in found.citations if c.verdict != "invalid"]
    assert all(len(c.nuggets) == 1 for c in cited)
    nuggets = [n.text for n in found.nuggets if n.sentence == 1]
    assert "\n".join(nuggets) in {claim for claim, _ in fixed.asked}


async def test_citations_are_compared_together_where_that_is_wanted(make_model, make_run):
    answer = "Drug A lowers blood pressure by 5 mmHg [1][2]. Some patients cough [2]."
    record = RECORD.model_copy(update={"answer": answer})
    fixed = FixedModel()
    run = with_verifier(make_run(make_model(), only=("citations",), attribution=True), fixed)
    found = await evaluate(run, record)
    # One question: the two documents together. Without one of them is the other alone.
    assert [one.item for one in found.select_verdicts(AttributionVerdict)] == ["1/"]
    texts = [passage for claim, passage in fixed.asked if claim == found.sentences[0].text]
    assert any("by 5 mmHg." in text and "Cough was seen" in text for text in texts)
    assert found.scores["attribution.recall"].n == 2
    assert found.scores["attribution.precision"].n == 3
    plain = await evaluate(make_run(make_model(), only=("citations",)), record)
    assert "attribution.recall" not in plain.scores


async def test_a_passage_whose_facts_cannot_be_had_stands_for_them(make_model, make_run):
    task = load_prompts().agents["fact_lister"].task

    def reply(messages, schema):
        if task in messages[-1]["content"]:
            return "no JSON here"
        return default_reply(messages, schema)

    found = await evaluate(make_run(make_model(reply), citation_evidence="nuggets"), RECORD)
    assert {f.failure.reason for f in found.facts if f.failure} == {"unparsable"}
    assert found.facts[0].facts[0] == "Adults were enrolled."
    assert "unscored" in {f.kind for f in found.findings}
    assert all(c.verdict for c in found.citations)


@pytest.mark.parametrize(
    ("part", "prefixes", "field"),
    [
        ("rubrics", {"rubric"}, "rating"),
        ("sentences", {"sentences"}, "label"),
        ("nuggets", {"nuggets"}, "facts"),
        ("evidence", {"evidence"}, "verdict"),
        ("citations", {"citations"}, "verdict"),
        ("correctness", {"correctness"}, None),
    ],
)
async def test_only_what_is_wanted_is_asked_and_scored(make_model, make_run, part, prefixes, field):
    model = make_model()
    run = make_run(model, only=(part,))
    found = await evaluate(run, RECORD)
    assert {key.split(".")[0] for key in found.scores} == prefixes
    asked = {name for r in model.requests for name in r.schema.get("properties", {})}
    assert (field in asked) if field else not asked
    assert model.n_requests <= plan(JOB, run).n_calls
    assert not {"unscored", "no_evidence"} & {f.kind for f in found.findings}


async def test_correctness_is_that_of_the_best_passage(make_model, make_run):
    run = make_run(make_model()).with_models(correctness=FixedModel())
    found = await evaluate(run, RECORD)
    correctness = [(c.sentence, c.correct, c.score) for c in found.correctness]
    assert correctness == [(1, True, 0.8), (2, False, 0.1)]
    score = found.scores["correctness.score"]
    assert (score.value, score.n, score.judge) == (0.5, 2, "fixed")


async def test_without_a_model_of_correctness_the_verdicts_decide(make_model, make_run):
    found = await evaluate(make_run(make_model(), correctness="judge"), RECORD)
    supported = {e.sentence for e in found.evidence if e.verdict == "supports"}
    assert {c.sentence for c in found.correctness if c.correct} == supported
    assert found.scores["correctness.score"].value == found.scores["evidence.support"].value


async def test_the_judge_says_alone_whether_sentences_are_correct(make_model, make_run):
    model = make_model()
    run = make_run(model, only=("correctness",), correctness="judge")
    found = await evaluate(run, RECORD)
    assert found.evidence == ()
    assert [c.failure for c in found.correctness] == [None, None]
    assert {key.split(".")[0] for key in found.scores} == {"correctness"}
    assert model.n_requests == 2 <= plan(JOB, run).n_calls


async def test_a_sentence_without_a_passage_is_unscored(make_model, make_run):
    found = await evaluate(make_run(make_model()), RECORD.model_copy(update={"sources": ()}))
    assert [c.failure.reason for c in found.correctness if c.failure] == ["no_evidence"] * 2
    assert found.scores["correctness.score"].value is None


def test_settings_of_verification_are_part_of_the_identity(make_model, make_run):
    model = make_model()
    options = [
        {},
        {"verdict_labels": 3},
        {"citation_evidence": "sentence"},
        {"correctness": "cosine"},
        {"verifier": "embedded"},
        {"only": ("citations",)},
    ]
    assert len({make_run(model, **option).identity for option in options}) == len(options)
