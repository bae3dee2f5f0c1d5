"""Every part of the system knows every registered evaluator."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from case_tables import each_case
from casefiles import filed, question

import ragassay.records
from ragassay.evaluators import OURS, Evaluator, OpenCase, Task
from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.cases import Cited, Found
from ragassay.evaluators.registry import group_asked_verdicts, group_single_verdicts
from ragassay.graphs.case import VERDICTS
from ragassay.graphs.evaluate import PREPARED_BY, build_evaluate_graph, open_tasks
from ragassay.metrics.papers.answer_scores import LOWER_IS_BETTER
from ragassay.metrics.stats.uncertainty import parse_condition
from ragassay.records import (
    PARTS,
    AnswerSentence,
    Case,
    Citation,
    CitationVerdict,
    Document,
    DocumentFacts,
    Escalation,
    Evaluation,
    EvidenceSpan,
    ExamItem,
    Failure,
    Nugget,
    QAPair,
    SentenceNuggets,
    VerdictBase,
)
from ragassay.reports.display import format_verdict_value
from ragassay.reports.findings_view import view_open
from ragassay.reports.text import (
    find_group_title,
    find_question_title,
    find_score_title,
    find_verdict_title,
    humanise,
)
from ragassay.runs.audit_job import PART_OF
from ragassay.runs.evaluate import count_max_escalations
from ragassay.settings import load_settings

LOST = Failure(reason="timeout", detail="no reply")
DOUBT = Failure(reason="undecided", detail="leans to x at 0.60")
SPAN = EvidenceSpan(document="d", start=0, end=5, text="Text.", title="Title")
CITES_TWO = (Citation(marker="1", document="d"), Citation(marker="2", document="e"))
CASE = Case(
    record_id="r",
    question="Q?",
    answer="A. B.",
    sentences=(AnswerSentence(index=1, text="A.", start=0, end=2, citations=CITES_TWO[:1]),),
    sources=(Document(id="d", text="Text."),),
    gold=(Nugget(text="Gold"),),
    exam=(ExamItem(id="q/1", text="What?"),),
    pairs=(
        QAPair(id="d/1", question="What?", answer="A."),
        QAPair(id="d/2", question="How?", answer="B."),
    ),
    context="context",
)
OTHER_SPAN = SPAN.model_copy(update={"document": "e"})
TWICE_CITED = CASE.model_copy(
    update={"sentences": (CASE.sentences[0].model_copy(update={"citations": CITES_TWO}),)}
)
CITED_ALONE: list[VerdictBase] = [
    CitationVerdict(sentence=1, citation=one, verdict="neutral") for one in CITES_TWO
]
PLACE = {"origin": "answer", "sentence": 1}
WRITTEN: list[VerdictBase] = [
    SentenceNuggets(**PLACE, nuggets=(Nugget(text="N", **PLACE),)),
    DocumentFacts(document="d", start=0, facts=("F",)),
]
every = each_case("evaluator", OURS, ids=lambda one: one.name)


def toolbox(evaluator: Evaluator[Any], **options: object) -> Run:
    """What a run that asks this evaluator works with; nobody is asked."""
    by_nuggets = evaluator.name in ("facts", "cited_nugget")
    given = {
        "model": "openai/a",
        "signals": False,
        "only": (evaluator.part,),
        "citation_evidence": "nuggets" if by_nuggets else "passage",
        "attribution": evaluator.name == "attribution",
        "correctness": "cosine",
        "grades": ("rating", "fagb"),
    }
    return build_run(load_settings(**(given | options)))


def file_for(evaluator: Evaluator[Any], verdicts: list[VerdictBase] | None = None):
    """A case with a passage on each side of its sentence, which also cites one."""
    needed = WRITTEN if evaluator.name == "cited_nugget" else []
    if evaluator.name == "attribution":
        file = filed(TWICE_CITED, [*CITED_ALONE, *(verdicts or [])])
        return replace(file, cited=(Cited(1, "1", SPAN), Cited(1, "2", OTHER_SPAN)))
    found = () if evaluator.name == "citation" else (Found(1, "for", 1, SPAN),)
    file = filed(CASE, [*needed, *(verdicts or [])])
    return replace(file, found=found, cited=(Cited(1, "1", SPAN),))


def task_of(evaluator: Evaluator[Any], run: Run) -> Task:
    return evaluator.build_tasks(file_for(evaluator), run)[0]


def evaluation(verdict: VerdictBase) -> Evaluation:
    return Evaluation(record_id="r", question="q", answer="a", verdicts=(verdict,))


def unscored(evaluator: Evaluator[Any]) -> VerdictBase:
    run, file = toolbox(evaluator), file_for(evaluator)
    item = evaluator.get_cached_items(file, run)[task_of(evaluator, run).item]
    return evaluator.make_unscored(item, file, run, LOST)[0]


def test_names_differ_and_each_stands_behind_what_it_needs():
    names = [evaluator.name for evaluator in OURS]
    assert len(set(names)) == len(names)
    for place, evaluator in enumerate(OURS):
        for need in evaluator.needs:
            assert need in PREPARED_BY or need in names[:place], f"{evaluator.name} needs {need}"


@every
def test_the_command_line_offers_its_part(evaluator):
    assert evaluator.part in PARTS
    assert evaluator.is_wanted(toolbox(evaluator))


def test_each_part_has_an_evaluator():
    assert {evaluator.part for evaluator in OURS} == set(PARTS)


@every
def test_the_graph_asks_it_and_its_verdict_is_filed_at_its_task(evaluator):
    run, file = toolbox(evaluator), file_for(evaluator)
    assert f"ask_{evaluator.name}" in build_evaluate_graph().get_graph().nodes
    task = task_of(evaluator, run)
    verdict = unscored(evaluator)
    assert isinstance(verdict, evaluator.record)
    assert (verdict.evaluator, verdict.item) == (evaluator.name, task.item)
    assert verdict.failure == LOST
    asked = [one.key for one in open_tasks(file, run, [])]
    answered = [one.key for one in open_tasks(file_for(evaluator, [verdict]), run, [])]
    assert task.key in asked and task.key not in answered


@every
def test_the_store_keeps_its_verdicts_and_an_evaluation_reads_them(evaluator):
    verdict = unscored(evaluator)
    assert evaluator.record.__name__ in ragassay.records.__all__
    assert VERDICTS.validate_json(VERDICTS.dump_json([verdict])) == [verdict]
    found = evaluation(verdict)
    again = Evaluation.model_validate_json(found.model_dump_json())
    assert again == found and again.find_verdicts(evaluator.name) == (verdict,)


@every
def test_the_key_of_its_verdict_holds_what_it_is_about(evaluator):
    """Everything that the evaluator reads: another case, passage, title or fact is another key."""
    run, file = toolbox(evaluator), file_for(evaluator)
    task = task_of(evaluator, run)
    titled = SPAN.model_copy(update={"title": "Another title"})
    files = [file, replace(file, case=CASE.model_copy(update={"context": "another"}))]
    if evaluator.name in ("evidence", "citation", "correctness"):
        found = file.found and (Found(1, "for", 1, titled),)
        files.append(replace(file, found=found, cited=(Cited(1, "1", titled),)))

    def key(one: OpenCase, run: Run = run) -> str:
        return question(evaluator, task.item, one, run).compute_key(run.judge)

    assert len({key(one) for one in files}) == len(files)
    assert key(file, toolbox(evaluator, model="openai/b")) != key(file)


def undecided(evaluator: Evaluator[Any]) -> VerdictBase:
    """The verdict of an evaluator that cannot tell."""
    open_ = {"failure": DOUBT, "tentative_label": "x", "confidence": 0.6}
    return unscored(evaluator).model_copy(update=open_)


@every
def test_it_may_leave_a_question_undecided(evaluator):
    """A value of its own all the way: kept, bounded, counted apart, sent on, and no fault."""
    verdict = undecided(evaluator)
    assert verdict.is_undecided and verdict.value is None
    run, file = toolbox(evaluator), file_for(evaluator, [verdict])
    listed = evaluator.name != "cited_nugget"
    settled = evaluator.collect_verdicts(file, run) if listed else [verdict]
    assert [one for one in settled if one.is_undecided and one.tentative_label == "x"]
    others = {"citation": CITED_ALONE} if evaluator.name == "attribution" else {}
    outcome = Outcome(file, run, {evaluator.name: settled, **others})
    judged = {n: s for n, s in evaluator.scores(outcome).items() if s.n_unscored}
    assert bool(judged) == (evaluator.name not in ("facts", "cited_nugget"))
    for score in judged.values():
        assert None not in (score.worst, score.best) and score.worst != score.best
    assert not [f for f in evaluator.findings(outcome) if f.level == "primary"]
    found = evaluation(verdict)
    assert Evaluation.model_validate_json(found.model_dump_json()) == found
    assert view_open([found]).unscored == ()
    # Correctness follows from the evidence, which counts it.
    counted = [] if evaluator.name == "correctness" else [find_verdict_title(evaluator.name)]
    assert view_open([found]).undecided == tuple(f"1 {title}" for title in counted)
    assert format_verdict_value(verdict) == "undecided, tentatively x"


@every
def test_the_cascade_sends_on_what_it_is_not_sure_of_and_counts_it(evaluator):
    run = toolbox(evaluator, escalate="openai/b", when="entropy>1", correctness="judge")
    if not evaluator.is_weighed:
        return
    file, task = file_for(evaluator), task_of(evaluator, run)
    asked = question(evaluator, task.item, file, run)
    assert asked.is_unsure(undecided(evaluator), parse_condition("undecided"))
    verdict = unscored(evaluator)
    assert asked.is_unsure(verdict, run.judges.condition)
    again = asked.isolate_question(verdict)
    assert again.item == task.item
    assert count_max_escalations(file, run) >= 1
    # It says how sure it is, and what it said, in the report's words.
    assert evaluator.record.model_fields.keys() >= {"escalation", "escalated_from", "confidence"}
    assert format_verdict_value(verdict) == "unscored (time-out)"
    assert find_question_title(evaluator.display.kind) == evaluator.display.question != ""


@every
def test_a_weighed_verdict_is_a_question_of_its_kind(evaluator):
    if not evaluator.is_weighed:
        return
    kept = unscored(evaluator).model_copy(update={"escalation": Escalation(judge="b")})
    if evaluator.name == "cited_nugget":
        citation = CITES_TWO[0]
        kept = CitationVerdict(sentence=1, citation=citation, evidence=SPAN, nuggets=(kept,))
    found = evaluation(kept).model_copy(update={"sentences": CASE.sentences})
    ((kind, asked),) = group_asked_verdicts([found]).items()
    assert (kind, len(asked)) == (evaluator.display.kind, 1)


@every
def test_the_report_counts_it_among_the_unscored_by_its_name(evaluator):
    found = evaluation(unscored(evaluator))
    assert view_open([found]).unscored == (f"1 {find_verdict_title(evaluator.name)}: time-out",)
    assert evaluator.display.verdict == find_verdict_title(evaluator.name)
    assert [one.failure for one in group_single_verdicts(found)[evaluator.name]] == [LOST]


@every
def test_the_report_has_words_for_its_scores_and_the_audit_knows_their_part(evaluator):
    display = evaluator.display
    if display.group:
        assert find_group_title(display.group) == display.title != humanise("")
        assert PART_OF[display.group] == evaluator.part
    for name, shown in display.scores.items():
        assert find_score_title(name) == shown.title
        assert PART_OF[name.partition(".")[0]] == evaluator.part
        assert (shown.direction == "lower") == (name in LOWER_IS_BETTER)


@every
def test_the_documentation_names_it_its_part_and_its_scores(evaluator):
    page = (Path(__file__).parents[2] / "docs" / "evaluators.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith(f"| `{evaluator.name}` |")]
    assert len(rows) == 1, f"docs/evaluators.md has no row for {evaluator.name}"
    assert f"`{evaluator.part}`" in rows[0]
    named = set(re.findall(r"`([a-z]+\.[a-z0-9_]+)`", page))
    assert set(evaluator.display.scores) <= named
