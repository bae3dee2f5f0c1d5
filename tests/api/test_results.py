"""What `ragassay.evaluate` returns, raises and tells while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

import ragassay
from ragassay.errors import InputError
from ragassay.metrics.stats.summary import summarize
from ragassay.records import (
    CompactEvaluations,
    Evaluation,
    Failure,
    FileFingerprint,
    Finding,
    Manifest,
    RecordFailure,
    Score,
)
from ragassay.runs.evaluate import RunResult
from ragassay.settings import Settings, load_settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.usefixtures("no_embedding_model")

ROWS = [
    {"id": "a", "question": "Does drug A work?", "answer": "It lowers blood pressure."},
    {"id": "b", "question": "Does drug B work?", "answer": "It does not."},
]
ASKED = {"only": "rubrics", "rubrics": ["cohesion", "conciseness"]}
HOSTILE = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture
def settings() -> Iterator[Settings]:
    """Of a judge that refuses to say anything of drug B."""
    with ScriptedModel(faults=[Fault("refusal", contains="Does drug B work?")]) as model:
        yield load_settings(model=model.model_name, api_base=model.base_url)


def result_of(*evaluations: Evaluation, failures: tuple[RecordFailure, ...] = ()) -> RunResult:
    summary = summarize(evaluations, len(evaluations) + len(failures), len(failures), 0)
    fingerprint = FileFingerprint(name="a", sha256="", n_items=1)
    manifest = Manifest(ragassay="0", judge="openai/a", answers=fingerprint)
    return RunResult(summary, CompactEvaluations(evaluations), failures, (), manifest)


@pytest.mark.integration
def test_what_could_not_be_judged_is_named(settings):
    results = ragassay.evaluate(ROWS, settings=settings, **ASKED)
    assert type(results) is ragassay.Results
    assert [(f.record_id, f.evaluator, f.item) for f in results.failed] == [
        ("b", "rubric", "cohesion"),
        ("b", "rubric", "conciseness"),
    ]
    assert {f.failure.reason for f in results.failed} == {"refused"}
    assert "2 failures, see `.failed`" in repr(results)
    with pytest.raises(
        ragassay.UnjudgedError, match="2 failures:\n  b: rubric cohesion:"
    ) as caught:
        ragassay.evaluate(ROWS, settings=settings, raise_on_failure=True, **ASKED)
    assert len(caught.value.results) == 2
    one = {"question": "Does drug A work?", "answer": "It does."}
    result = ragassay.evaluate(**one, settings=settings, raise_on_failure=True, **ASKED)
    assert type(result) is ragassay.Result and result.failed == ()


@pytest.mark.integration
def test_a_row_that_cannot_be_read_is_a_failure_too(settings):
    rows = [ROWS[0], {"id": "c", "question": "Q?", "answer": 3}]
    with pytest.raises(ragassay.UnjudgedError, match="1 failure:\n  rows:2: found"):
        ragassay.evaluate(rows, settings=settings, raise_on_failure=True, **ASKED)


@pytest.mark.integration
def test_a_mean_below_the_threshold_is_an_error_with_the_results(settings):
    asked = {"settings": settings, **ASKED}
    assert len(ragassay.evaluate(ROWS[:1], fail_under={"cohesion": 1}, **asked)) == 1
    with pytest.raises(AssertionError, match=r"rubric.cohesion is .*, below 5") as caught:
        ragassay.evaluate(ROWS[:1], fail_under="cohesion=5", **asked)
    assert isinstance(caught.value, ragassay.BelowError)
    assert caught.value.results.scores["rubric.cohesion"].n == 1
    with pytest.raises(InputError, match="`fail_under=`: unknown score 'cohesin'"):
        ragassay.evaluate(ROWS[:1], fail_under={"cohesin": 1}, **asked)


@pytest.mark.integration
def test_a_mean_that_could_not_be_measured_is_not_below(settings):
    asked = {"settings": settings, **ASKED}
    unknown = {"nuggets.recall": 0.5}
    with pytest.raises(ragassay.UnmeasuredError, match=r"nuggets\.recall could not be") as caught:
        ragassay.evaluate(ROWS[:1], fail_under=unknown, **asked)
    assert len(caught.value.results) == 1 and not isinstance(caught.value, AssertionError)
    with pytest.raises(ragassay.BelowError, match=r"could not be measured .*; .*, below 5"):
        ragassay.evaluate(ROWS[:1], fail_under={**unknown, "cohesion": 5}, **asked)


@pytest.mark.integration
async def test_a_function_receives_what_the_bar_shows(settings):
    events: list[ragassay.Event] = []
    await ragassay.aevaluate(ROWS[:1], settings=settings, progress=events.append, **ASKED)
    assert sum(event.n_records for event in events) == 1
    assert sum(event.n_calls for event in events) == sum(event.n_expected for event in events) == 2
    assert any(event.phase for event in events)


@pytest.mark.integration
def test_a_run_in_memory_is_audited_too(settings):
    results = ragassay.evaluate(ROWS[:1], settings=settings, audit=1, **ASKED)
    assert results.audit is not None and results.audit.certificate
    assert ragassay.evaluate(ROWS[:1], settings=settings, **ASKED).audit is None


def test_a_plan_asks_nobody():
    found = ragassay.plan(ROWS, model="openai/none", **ASKED)
    assert (found.n_records, found.n_calls) == (2, 4)


class Texts(HTMLParser):
    """Collects the tags of a page and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_what_is_shown_has_the_scores_and_is_escaped():
    scores = {
        f"rubric.{HOSTILE}": Score(value=3.5, n=4, n_unscored=1, low=3, high=4, scale=(1, 5)),
        "nuggets.recall": Score(value=0.5, n=2),
    }
    finding = Finding(kind="unscored", message=HOSTILE)
    evaluation = Evaluation(
        record_id=HOSTILE, question="q", answer="a", scores=scores, findings=(finding,)
    )
    assert "3.50 (3.00\u20134.00), n 4, 1 unscored" in repr(ragassay.Result(result_of(evaluation)))
    for shown in (ragassay.Result(result_of(evaluation)), ragassay.Results(result_of(evaluation))):
        told = repr(shown)
        assert "\x1b" not in told and "Nugget recall" in told
        page = Texts(shown._repr_html_())
        assert "script" not in page.tags
        assert "3.50" in page.text and "50\u00a0%" in page.text
        assert "<script>alert(1)</script>" in page.text and "\x1b" not in page.text


def test_a_run_without_an_answer_is_shown():
    failure = RecordFailure(
        record_id="a", stage="ask", failure=Failure(reason="timeout", detail="after 3 s")
    )
    results = ragassay.Results(result_of(failures=(failure,)))
    assert str(results.failed[0]) == "a: ask: after 3 s"
    assert "1 failure" in repr(results) and "1 failure" in results._repr_html_()
