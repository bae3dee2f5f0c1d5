"""Writing test banks: kinds, parts, answers; kills, failures, duplicates."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from case_tables import each_case
from fakes import WordEmbedder
from rows import write_rows

from ragassay.errors import FatalModelError, SettingsError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats import BankItem, RubricBank, build_bank_item_id, read_test_banks
from ragassay.formats.exam_queries import ExamQuery, QueryFile, read_exam_queries
from ragassay.records import Document, Record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.banks import remove_duplicate_items
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel
from ragassay.workbench.bank_create import ExamPlan, build_exam_jobs, write_testbanks

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

QUERIES = QueryFile(
    (
        ExamQuery("q1", "when did jazz begin?"),
        ExamQuery("q2", "what is brelozant?"),
        ExamQuery("q3", "Tides", (("q3/1", "Spring tides"), ("q3/2", "Tidal power"))),
    )
)
BUILT = "When was the old railway bridge over the Tay built?"
BUILT_TOO = "In what year was the old railway bridge over the Tay built?"
PLAN = ExamPlan()
SOURCE = "Brelozant was found in 1999 by Mira Holt. It lowers pain."


def reply(messages, schema):
    """Items that name what the prompt is about; an answer that the source states, and one not."""
    text = messages[-1]["content"]
    about = next(w for w in ("Spring", "power", "brelozant", "jazz") if w in text)
    if "nuggets" in schema["properties"]:
        return {"nuggets": [f"{about} fact one", f"{about} another thing"]}
    questions = [f"Who discovered {about}?", f"Why does {about} matter?"]
    answers = {"answers": ["Mira Holt", "Nobody knows"]}
    return {"questions": questions} | (answers if "answers" in schema["properties"] else {})


def run_for(model: ScriptedModel, corpus: Corpus | None = None) -> Run:
    settings = load_settings(model=model.model_name, api_base=model.base_url)
    return build_run(settings, corpus).with_models(embedder=WordEmbedder())  # type: ignore[arg-type]


async def created(model: ScriptedModel, out: Path, plan: ExamPlan = PLAN, **given):
    run = run_for(model, given.pop("corpus", None))
    file = given.pop("file", QUERIES)
    return await write_testbanks(build_exam_jobs(file, plan, run), plan, run, out, **given)


async def test_a_bank_for_each_query_part_and_kind(tmp_path: Path):
    out, events = tmp_path / "bank.jsonl.gz", []
    plan = ExamPlan(kinds=("questions", "nuggets"), number=2)
    with ScriptedModel(reply) as model:
        found = await created(model, out, plan, collection="sample", listen=events.append)
        prompts = [request.messages[-1]["content"] for request in model.requests]
    banks = read_test_banks(out).banks
    assert banks == found.banks
    assert [(b.query_id, b.facet_id, b.kind) for b in banks] == [
        (query, facet, kind)
        for query, facet in (("q1", ""), ("q2", ""), ("q3", "q3/1"), ("q3", "q3/2"))
        for kind in ("questions", "nuggets")
    ]
    first, part = banks[0], banks[4]
    assert (first.query_text, first.test_collection) == ("when did jazz begin?", "sample")
    assert first.items[0].id == build_bank_item_id("q1", "Who discovered jazz?")
    info = json.loads(first.info)
    assert (info["prompt_target"], info["written_from"]) == ("questions", "query")
    assert part.facet_text == "Spring tides"
    assert part.items[0].id == build_bank_item_id("q3", "Who discovered Spring?", "q3/1")
    in_parts = [prompt for prompt in prompts if "Subtopic:" in prompt]
    assert len(in_parts) == 4 and all("Topic:" in prompt for prompt in in_parts)
    assert all("number: 2" in prompt for prompt in prompts)
    assert sum(event.n_records for event in events) == len(prompts) == 8


async def test_without_parts_a_query_gets_one_bank(tmp_path: Path):
    with ScriptedModel(lambda m, s: {"questions": ["What is it?"]}) as model:
        found = await created(model, tmp_path / "bank", ExamPlan(with_facets=False))
    assert [(b.query_id, b.facet_id) for b in found.banks] == [("q1", ""), ("q2", ""), ("q3", "")]


async def test_answers_that_the_documents_state_become_known_answers(tmp_path: Path):
    corpus = Corpus([Document(id="d1", text=SOURCE), Document(id="d2", text="On jazz.")])
    plan = ExamPlan(origin="documents", with_answers=True)
    file = QueryFile((QUERIES.queries[1],))
    with ScriptedModel(reply) as model:
        found = await created(model, tmp_path / "bank", plan, corpus=corpus, file=file)
        assert SOURCE in model.requests[0].messages[-1]["content"]
    (bank,) = found.banks
    assert [item.answers for item in bank.items] == [("Mira Holt",), ()]
    assert json.loads(bank.info)["documents"] == ["d1"]
    assert found.written[0].found and found.written[0].found.n_unfounded == 1


async def test_known_answers_of_records_are_written_from(tmp_path: Path):
    record = Record(id="r", topic="t", question="what is brelozant?", answer="x", reference=SOURCE)
    other = Record(id="s", question="jazz?", answer="x")
    file = QueryFile((ExamQuery("t", record.question), ExamQuery("s", "jazz?")), (record, other))
    plan = ExamPlan(origin="reference")
    with ScriptedModel(reply) as model:
        found = await created(model, tmp_path / "bank", plan, file=file)
        assert model.n_requests == 1 and SOURCE in model.requests[0].messages[-1]["content"]
    assert [bank.query_id for bank in found.banks] == ["t"]
    assert found.written[1].problem == "no reference to write from"


async def test_unparsable_replies_are_counted_and_tried_again_by_the_same_command(tmp_path: Path):
    out = tmp_path / "bank"
    with ScriptedModel(reply, faults=[Fault("junk", contains="jazz", attempts=None)]) as model:
        found = await created(model, out)
        n_asked = model.n_requests
    failed = [one for one in found.written if one.found is None]
    assert [one.job.query for one in failed] == ["q1"] and "unparsable" in failed[0].problem
    assert [bank.query_id for bank in read_test_banks(out).banks] == ["q2", "q3", "q3"]
    assert n_asked == 3 + 2
    with ScriptedModel(reply) as model:
        again = await created(model, out)
        assert model.n_requests == 1
    assert [bank.query_id for bank in again.banks] == ["q1", "q2", "q3", "q3"]


async def test_items_without_words_are_none(tmp_path: Path):
    said = iter([["]} # 3.1.1", "Why?"], ["]} # 3.1.1"], ["1.1"]])
    file = QueryFile(QUERIES.queries[:1])
    with ScriptedModel(lambda messages, schema: {"questions": next(said)}) as model:
        found = await created(model, tmp_path / "bank", file=file)
        again = await created(model, tmp_path / "other", file=file)
    assert [item.text for item in found.banks[0].items] == ["Why?"]
    assert not again.banks and "unparsable" in again.written[0].problem


async def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path):
    out = tmp_path / "bank"
    with ScriptedModel(reply, faults=[Fault("unauthorized", contains="Tidal power")]) as model:
        with pytest.raises(FatalModelError):
            await created(model, out)
    assert not out.exists()
    with ScriptedModel(reply) as model:
        await created(model, out)
        first, n_asked = out.read_bytes(), model.n_requests
        await created(model, out)
        assert (out.read_bytes(), model.n_requests) == (first, n_asked)
    assert 1 <= n_asked <= 4


async def test_duplicates_of_a_query_are_folded_across_its_parts(tmp_path: Path):
    def same(messages, schema):
        return {"questions": [BUILT, BUILT_TOO, "Why?"]}

    with ScriptedModel(same) as model:
        found = await created(model, tmp_path / "bank")
    texts = [(b.facet_id or b.query_id, [i.text for i in b.items]) for b in found.banks]
    assert texts == [(name, [BUILT, "Why?"]) for name in ("q1", "q2", "q3/1")]
    assert len(found.folded) == 2 + 1 + 3
    assert ("q3", "Why?") in found.folded


def test_nobody_writes_without_a_judge(tmp_path: Path):
    run = build_run(load_settings(only=("nuggets",)))
    jobs = build_exam_jobs(QUERIES, ExamPlan(), run)
    with pytest.raises(SettingsError, match="--model"):
        asyncio.run(write_testbanks(jobs, ExamPlan(), run, tmp_path / "bank"))
    assert not list(tmp_path.iterdir())


async def test_without_a_judge_nuggets_are_clauses_of_the_documents(tmp_path: Path):
    corpus = Corpus([Document(id="d", text=f"{SOURCE} Tides are caused by the moon.")])
    plan = ExamPlan(kinds=("nuggets",), origin="documents", number=2)
    run = build_run(load_settings(only=("nuggets",)), corpus).with_models(embedder=WordEmbedder())
    jobs = build_exam_jobs(QueryFile(QUERIES.queries[:2]), plan, run)
    found = await write_testbanks(jobs, plan, run, tmp_path / "bank")
    (bank,) = found.banks
    assert (bank.query_id, bank.kind, len(bank.items)) == ("q2", "nuggets", 2)
    assert any("Mira Holt" in item.text for item in bank.items)
    assert json.loads(bank.info)["gpt_model"] == "clauses by rule"
    assert found.written[0].problem == "no document to write from"


def test_a_folded_question_leaves_its_answer_with_the_one_that_stays():
    items = (
        BankItem(BUILT, "1", answers=("1901",)),
        BankItem(BUILT_TOO, "2", answers=("in 1901",)),
    )
    banks = [RubricBank("q", "", "questions", items)]
    (bank,), folded = remove_duplicate_items(banks, WordEmbedder().encode)
    assert [(i.id, i.answers) for i in bank.items] == [("1", ("1901", "in 1901"))]
    assert folded == (("q", BUILT_TOO),)


SGML = """<top>
<num> Number: q1
<title> when?
<desc> Description:
x
</top>
<top>
<num> Number: q2
<title> where?
</top>
"""
ROW = {"topic": "q1", "question": "when?", "answer": "then", "system": "s"}
ANSWERS = [
    ROW | {"id": "1"},
    ROW | {"id": "2", "answer": "now", "system": "t"},
    {"id": "q2", "question": "where?", "answer": "here"},
]


# `tests/formats/test_topics.py` has the forms of topics.
@each_case(
    ("text", "has_records"),
    [
        ('{"q1": "when?", "q2": "where?"}', False),
        ("q1\twhen?\nq2\twhere?\n", False),
        (
            '{"query_id": "q1", "query_text": "when?"}\n{"query_id": "q2", "query": "where?"}\n',
            False,
        ),
        (SGML, False),
        (
            '<topics><topic number="q1"><title>when?</title></topic>\n'
            '<topic number="q2"><question>where?</question></topic></topics>',
            False,
        ),
        ("\n".join(map(json.dumps, ANSWERS)), True),
    ],
)
def test_queries_are_read_in_any_form(tmp_path: Path, text: str, has_records: bool):
    path = tmp_path / "queries"
    path.write_text(text)
    found = read_exam_queries(path)
    assert [(q.id, q.text) for q in found.queries] == [("q1", "when?"), ("q2", "where?")]
    assert not found.rejections and bool(found.records) == has_records


def test_bad_topics_in_tags_are_named(tmp_path: Path):
    path = tmp_path / "topics.txt"
    path.write_text(
        "<top>\n<num> Number: 1\n<title> when?\n</top>\n<top>\n<title> where?\n</top>\n"
        "<top>\n<num> Number: 2\n</top>\n<top><num>1<title>again</top>\n"
    )
    found = read_exam_queries(path)
    assert [(q.id, q.text) for q in found.queries] == [("1", "when?")]
    assert [(r.line, r.field) for r in found.rejections] == [(5, "num"), (8, "title"), (11, "num")]


def test_titles_with_parts_are_read_and_bad_lines_named(tmp_path: Path):
    same = [{"id": "x", "text": "a"}, {"id": "x", "text": "b"}]
    rows = [
        {"query_id": "p", "title": "Tides", "facets": [{"id": "p/1", "text": "Springs"}, "Neaps"]},
        {"query_id": "r", "title": "", "facets": []},
        {"query_id": "p", "title": "Again"},
        {"query_id": "s", "title": "Moon", "facets": same},
    ]
    found = read_exam_queries(write_rows(tmp_path / "car.jsonl", rows))
    assert found.queries == (ExamQuery("p", "Tides", (("p/1", "Springs"), ("Neaps", "Neaps"))),)
    rejected = [(r.line, r.field) for r in found.rejections]
    assert rejected == [(2, "title"), (3, "id"), (4, "facets.1.id")]
