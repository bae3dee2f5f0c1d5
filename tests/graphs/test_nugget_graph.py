"""The nugget graph: windows, merging, importance, a person in between, kills and failures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ragassay.errors import FatalModelError, InputError
from ragassay.graphs.nugget_state import NuggetJob
from ragassay.graphs.nuggets import MOST_LISTED, apply_review, build_nugget_graph
from ragassay.records import Document, Nugget
from ragassay.store import open_store
from ragassay.testing import Fault

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

FACTS = (
    "Brelozant lowered monthly migraine days.",
    "Constipation was the most common side effect.",
    "Tolerance developed in nobody.",
)
SOURCES = tuple(Document(id=str(n), text=fact) for n, fact in enumerate(FACTS, 1))
JOB = NuggetJob("t1", "Does brelozant help?", SOURCES, n_window=1, accept_all=True)


def scripted(extra=(), vital=FACTS[1]):
    """Lists what the shown source says, and what is extra; one fact is vital."""

    def reply(messages, schema):
        prompt = messages[-1]["content"]
        if "facts" in schema["properties"]:
            return {"facts": [*(f for f in FACTS if f"] {f}" in prompt), *extra]}
        asked = prompt.split("fact: ")[1]
        return {"importance": "vital" if vital in asked else "okay"}

    return reply


async def written(run, job=JOB, **options):
    graph = build_nugget_graph(run.settings.judge.max_attempts, **options)
    return await graph.ainvoke(job, context=run)


async def test_windows_are_read_one_after_another_and_vital_nuggets_come_first(
    make_model, make_run
):
    model = make_model(scripted())
    found = await written(make_run(model))
    assert [(n.text, n.importance) for n in found["nuggets"]] == [
        (FACTS[1], "vital"),
        (FACTS[0], "okay"),
        (FACTS[2], "okay"),
    ]
    assert {n.method for n in found["nuggets"]} == {"model"}
    assert model.n_requests == 3 + 3 == found["usage"].n_calls
    last = [r.messages[-1]["content"] for r in model.requests if "facts" in str(r.schema)][-1]
    assert all(f"- {fact}" in last for fact in FACTS[:2]), "the list so far is shown"


async def test_window_holds_so_many_sources(make_model, make_run):
    model = make_model(scripted())
    await written(make_run(model), replace(JOB, n_window=2))
    assert sum("facts" in str(r.schema) for r in model.requests) == 2


async def test_facts_that_are_listed_already_or_invented_are_left_out_and_named(
    make_model, make_run
):
    again = FACTS[0].replace("lowered", "LOWERED")
    invented = "Brelozant cured 90 of 100 patients."
    extra = [FACTS[0], again, invented]
    found = await written(make_run(make_model(scripted(extra))))
    texts = [n.text.casefold() for n in found["nuggets"]]
    assert texts.count(FACTS[0].casefold()) == 1 and invented.casefold() not in texts
    reasons = [(one.reason, one.text == invented) for one in found["left_out"]]
    assert reasons.count(("not_carried", True)) == 3
    assert {reason for reason, _ in reasons} == {"duplicate", "not_carried"}


async def test_window_of_inventions_gives_its_closest_sentence(make_model, make_run):
    def reply(messages, schema):
        if "facts" in schema["properties"]:
            return {"facts": ["Everything was cured by 3 pm."]}
        return {"importance": "okay"}

    text = "Nothing to see here. Brelozant does help in migraine."
    job = NuggetJob("t", "Does brelozant help?", (Document(id="1", text=text),), accept_all=True)
    found = await written(make_run(make_model(reply)), job)
    (nugget,) = found["nuggets"]
    assert (nugget.text, nugget.method) == ("Brelozant does help in migraine.", "extractive")


async def test_list_is_cut_and_says_what_was_cut(make_model, make_run):
    job = NuggetJob("t1", "Does it help?", SOURCES, n_most=2, accept_all=True)
    found = await written(make_run(make_model(scripted())), job)
    assert len(found["nuggets"]) == 2
    assert [one.reason for one in found["left_out"]] == ["too_many"]


async def test_running_list_is_bounded(make_model, make_run):
    texts = [f"Agent{n}x lowered marker{n}y." for n in range(MOST_LISTED + 5)]

    def reply(messages, schema):
        return {"facts": texts} if "facts" in schema["properties"] else {"importance": "okay"}

    source = Document(id="1", text=" ".join(texts))
    job = NuggetJob("t", "What lowered what?", (source,), n_most=50, accept_all=True)
    found = await written(make_run(make_model(reply)), job)
    n_kept, n_out = len(found["nuggets"]), len(found["left_out"])
    assert n_kept <= MOST_LISTED and n_kept + n_out == len(texts)


async def test_failed_window_is_counted_and_the_rest_goes_on(make_model, make_run):
    model = make_model(scripted(), faults=[Fault("refusal", contains=f"] {FACTS[1]}")])
    found = await written(make_run(model))
    assert {n.text for n in found["nuggets"]} == {FACTS[0], FACTS[2]}
    assert [f.reason for f in found["failures"]] == ["refused"]


async def test_unparsable_reply_is_asked_for_once_more(make_model, make_run):
    model = make_model(scripted(), faults=[Fault("junk", contains=f"] {FACTS[0]}", attempts=1)])
    found = await written(make_run(model))
    assert len(found["nuggets"]) == 3 and not found["failures"]


async def test_importance_that_cannot_be_had_leaves_the_nugget(make_model, make_run):
    model = make_model(scripted(), faults=[Fault("junk", contains="fact: <data")])
    found = await written(make_run(model))
    assert [n.importance for n in found["nuggets"]] == [None] * 3
    assert [f.reason for f in found["failures"]] == ["unparsable"] * 3


async def test_wrong_key_stops_the_run(make_model, make_run):
    with pytest.raises(FatalModelError):
        await written(make_run(make_model(faults=[Fault("unauthorized")])))


async def test_nothing_to_write_from_is_named(make_model, make_run):
    job = NuggetJob("t9", "Q?", (Document(id="1", text=" "),))
    with pytest.raises(InputError, match="topic 't9' has no source text"):
        await written(make_run(make_model()), job)


async def test_replies_that_make_no_sense_do_not_break_it(make_model, make_run):
    texts = {n.text for n in (await written(make_run(make_model())))["nuggets"]}
    assert texts and texts <= set(FACTS)


WAITING = replace(JOB, accept_all=False)
THREAD = {"configurable": {"thread_id": "one"}}


async def test_graph_waits_for_a_person_and_goes_on_with_what_was_edited(make_model, make_run):
    model, saver = make_model(scripted()), InMemorySaver()
    run = make_run(model)
    stopped = await build_nugget_graph(checkpointer=saver).ainvoke(WAITING, THREAD, context=run)
    (asked,) = stopped["__interrupt__"]
    assert [n["text"] for n in asked.value["nuggets"]] == [FACTS[1], FACTS[0], FACTS[2]]
    n_asked = model.n_requests
    edited = [
        {"text": FACTS[0], "importance": "vital"},
        {"text": "Added by hand.", "importance": None},
    ]
    graph = build_nugget_graph(checkpointer=saver)  # Days later.
    found = await graph.ainvoke(Command(resume=edited), THREAD, context=run)
    assert [(n.text, n.importance, n.method) for n in found["nuggets"]] == [
        (FACTS[0], "vital", "model"),
        ("Added by hand.", None, "given"),
    ]
    assert model.n_requests == n_asked


async def test_an_edit_that_cannot_be_used_is_named_and_asked_for_again(make_model, make_run):
    run = make_run(make_model(scripted()))
    graph = build_nugget_graph(checkpointer=InMemorySaver())
    await graph.ainvoke(WAITING, THREAD, context=run)
    bad = [{"text": "A fact.", "importance": "crucial"}]
    again = await graph.ainvoke(Command(resume=bad), THREAD, context=run)
    assert "0.importance" in again["__interrupt__"][0].value["problem"]
    good = [{"text": "A fact.", "importance": "vital"}]
    found = await graph.ainvoke(Command(resume=good), THREAD, context=run)
    assert [n.text for n in found["nuggets"]] == ["A fact."]


async def test_what_was_read_before_a_kill_is_not_read_again(make_model, make_run, tmp_path):
    path, graph = tmp_path / "finished.sqlite", build_nugget_graph()
    first, second = make_model(scripted()), make_model(scripted())
    with open_store(path) as store:
        run = replace(make_run(first), store=store)
        stream = graph.astream(JOB, context=run, stream_mode="updates")
        async for update in stream:
            if "merge_nuggets" in update:
                break
        await stream.aclose()
    with open_store(path) as store:
        found = await graph.ainvoke(JOB, context=replace(make_run(second), store=store))
    assert {n.text for n in found["nuggets"]} == set(FACTS)
    assert not any(f"] {FACTS[0]}" in r.messages[-1]["content"] for r in second.requests)


@pytest.mark.parametrize(
    ("edited", "problem"),
    [
        ("no list", "list"),
        ([{"text": "A.", "importance": "high"}], "0.importance"),
        ([{"importance": "vital"}], "0.text"),
        ([{"text": "A.", "note": "x"}], "0.note"),
        ([{"text": "  "}], "nugget 1: the text is empty"),
        ([{"text": "A."}, {"text": "a."}], "nugget 2: 'a.' is a duplicate"),
    ],
)
def test_edit_is_checked_item_by_item(edited, problem):
    with pytest.raises(InputError, match=problem.replace(".", r"\.")):
        apply_review(edited, [])


def test_edited_text_is_a_persons_and_an_untouched_one_is_not():
    before = [Nugget(text="A fact.", method="model")]
    found = apply_review([{"text": "A fact."}, {"text": "Another fact."}], before)
    assert [n.method for n in found] == ["model", "given"]
