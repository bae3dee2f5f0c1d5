"""Writing question-answer pairs from papers: repair, bounds, ratings, kills, papers too long."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from case_tables import each_case
from fakes import WordEmbedder

from ragassay.errors import FatalModelError, InputError, SettingsError
from ragassay.formats.papers import read_pairs
from ragassay.graphs.qa_state import QAJob, QARun
from ragassay.qa.generate import Generated, build_qa_run, make_pairs
from ragassay.records import RACAR, Paper, PaperSection
from ragassay.runs.banks import map_duplicates
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

LOWERS = "Brelozant lowers the monthly migraine days of adults by 4.2 days at a dose of 60 mg."
BLOCKS = "Brelozant blocks the CGRP receptor on trigeminal neurons, which stops vasodilation."
SPOILS = "Storage of brelozant above 25 \u00b0C halves its potency within 30 days."
PAPER = Paper(
    id="p1",
    title="Brelozant in migraine",
    sections=(
        PaperSection(title="Abstract", text=f"{LOWERS} {BLOCKS}", kind="abstract"),
        PaperSection(title="Methods", text=SPOILS),
    ),
    keywords=("brelozant", "migraine"),
)
OTHER = PAPER.model_copy(update={"id": "p2", "title": "Brelozant again"})
GOOD = {
    "question": "By how much does 60 mg of brelozant reduce migraine in adults?",
    "answer": "Brelozant lowers the monthly migraine days of adults by 4.2 days.",
    "quote": "lowers the monthly migraine days of adults by 4.2 days at a dose",
}
SECOND = {
    "question": "How does brelozant stop vasodilation in trigeminal neurons?",
    "answer": "It blocks the CGRP receptor on trigeminal neurons.",
    "quote": "no such words anywhere in it",
}
POINTING = {**GOOD, "question": "What does this study show in Figure 2 about brelozant?"}
INVENTED = {**SECOND, "answer": "It blocks 97 percent of the CGRP receptors on neurons."}
PLAN = QAJob(number=2)


class Scripted:
    """Replies by what is asked: written pairs by turn, repairs by turn, ratings by dimension."""

    def __init__(self, written, mended=(), rating=3):
        self.written, self.mended, self.rating = list(written), list(mended), rating

    def __call__(self, messages, schema):
        asked = messages[-1]["content"]
        if "pairs" not in schema["properties"]:
            return self._rated(asked, schema)
        turns = self.mended if "\nfaulty: " in asked else self.written
        pairs = turns.pop(0) if len(turns) > 1 else turns[0]
        return pairs if isinstance(pairs, str) else {"pairs": pairs}

    def _rated(self, asked, schema):
        found = {}
        for name in schema["properties"]:
            number = name.partition("_")[2]
            about = asked.split(f"pair_{number}: " if number else "pair: ")[1]
            rating = self.rating if isinstance(self.rating, int) else self.rating(asked, about)
            value = {"quotes": [], "reason": "It says so.", "rating": rating}
            found[name] = value[name.partition("_")[0]]
        return found


def run_for(model: ScriptedModel, papers=(PAPER,), evaluator: bool = False, **options) -> QARun:
    settings = load_settings(model=model.model_name, api_base=model.base_url, **options)
    rater = f"openai/rater@{model.base_url}" if evaluator else ""
    encode = WordEmbedder().encode
    return replace(
        build_qa_run(settings, papers, rater),
        fold=lambda texts: map_duplicates(texts, "questions", encode),
    )


def prompts_of(model: ScriptedModel) -> list[str]:
    return [request.messages[-1]["content"] for request in model.requests]


def questions_of(found: Generated) -> list[str]:
    return [pair.question for pair in found.pairs]


async def generated(
    model: ScriptedModel, out: Path, plan: QAJob = PLAN, papers=(PAPER,), **options
) -> Generated:
    listen = options.pop("listen", lambda event: None)
    return await make_pairs(papers, plan, run_for(model, papers, **options), out, listen=listen)


async def test_pairs_are_written_with_the_sentences_that_the_paper_really_has(tmp_path: Path):
    out, events = tmp_path / "pairs.jsonl", []
    with ScriptedModel(Scripted([[GOOD, SECOND]])) as model:
        found = await generated(model, out, papers=(PAPER, OTHER), listen=events.append)
        prompts = prompts_of(model)
    assert read_pairs(out).pairs == found.pairs
    assert [pair.id for pair in found.pairs] == ["p1/1", "p1/2", "p2/1", "p2/2"]
    first, second = found.pairs[:2]
    assert (first.question, first.paper, first.system) == (GOOD["question"], "p1", model.model_name)
    assert (first.sources, second.sources) == ((LOWERS,), ())
    assert len(prompts) == 2 and all(p.startswith("Paper:\n<data ") for p in prompts)
    assert "number: 2" in prompts[0] and "brelozant; migraine" in prompts[0]
    assert found.ends == {"done": 2} and not found.dropped and found.usage.n_calls == 2
    assert sum(event.n_records for event in events) == 2
    assert sum(event.n_expected for event in events) == sum(e.n_calls for e in events) == 2


async def test_a_pair_that_needs_the_paper_and_one_with_a_wrong_number_are_repaired(tmp_path: Path):
    reply = Scripted([[POINTING, INVENTED]], [[GOOD, SECOND]])
    with ScriptedModel(reply) as model:
        found = await generated(model, tmp_path / "pairs.jsonl")
        first, repair = prompts_of(model)
    assert questions_of(found) == [GOOD["question"], SECOND["question"]]
    assert found.n_mended == 2 and found.ends == {"done": 1}
    assert '"this study" in the question' in repair and 'does not say "97' in repair
    assert repair.partition("Task: ")[0] == first.partition("Task: ")[0], "the paper is a prefix"


@each_case(
    ("bounds", "n_requests", "end"),
    [({"rounds": 2}, 1 + 2, "out_of_rounds"), ({"max_tokens": 1}, 1, "out_of_tokens")],
)
async def test_repair_is_bounded_and_what_still_has_a_flaw_is_dropped(
    bounds: dict[str, int], n_requests: int, end: str, tmp_path: Path
):
    with ScriptedModel(Scripted([[GOOD, POINTING]], [[POINTING]])) as model:
        found = await generated(model, tmp_path / "pairs.jsonl", replace(PLAN, **bounds))
        assert model.n_requests == n_requests
    assert questions_of(found) == [GOOD["question"]]
    assert found.dropped == {"context": 1} and found.ends == {end: 1}


async def test_duplicates_are_dropped_and_others_asked_for_that_are_not_known(tmp_path: Path):
    again = {**GOOD, "question": GOOD["question"].replace("adults", "the adults")}
    with ScriptedModel(Scripted([[GOOD, again], [SECOND]])) as model:
        found = await generated(model, tmp_path / "pairs.jsonl")
        prompts = prompts_of(model)
    assert questions_of(found) == [GOOD["question"], SECOND["question"]]
    assert found.dropped == {"duplicate": 1}
    assert "number: 1\n" in prompts[1] and f"- {GOOD['question']}" in prompts[1]


async def test_pairs_that_are_rated_low_are_repaired_with_the_raters_reason(tmp_path: Path):
    def rating(asked, about):
        return 1 if "Check each number" in asked and "stop vasodilation" in about[:200] else 3

    better = {**SECOND, "question": "By what does brelozant act on trigeminal neurons?"}
    reply = Scripted([[GOOD, SECOND]], [[better]], rating)
    with ScriptedModel(reply) as model:
        found = await generated(model, tmp_path / "pairs.jsonl", evaluator=True)
        asked = [request.body["model"] for request in model.requests]
        repairs = [prompt for prompt in prompts_of(model) if "faulty" in prompt]
    assert questions_of(found) == [GOOD["question"], better["question"]]
    assert asked.count("rater") == 2 * len(RACAR) and len(repairs) == 1
    assert "accuracy is rated 1 of 3: It says so." in repairs[0]
    assert GOOD["question"] not in repairs[0].partition("Task: ")[2]


async def test_failed_ratings_leave_a_pair_unrated_and_are_counted(tmp_path: Path):
    faults = [Fault("junk", contains="Check each number", attempts=None)]
    with ScriptedModel(Scripted([[GOOD, SECOND]]), faults=faults) as model:
        found = await generated(model, tmp_path / "pairs.jsonl", evaluator=True)
    assert len(found.pairs) == 2
    assert "unparsable" in found.papers[0].problem


async def test_unparsable_replies_are_counted_and_tried_again_by_the_same_command(tmp_path: Path):
    out = tmp_path / "pairs.jsonl"
    faults = [Fault("junk", contains="Brelozant again", attempts=None)]
    with ScriptedModel(Scripted([[GOOD, SECOND]]), faults=faults) as model:
        found = await generated(model, out, papers=(PAPER, OTHER))
        assert model.n_requests == 1 + 2
    assert [len(one.pairs) for one in found.papers] == [2, 0]
    assert "unparsable" in found.papers[1].problem
    with ScriptedModel(Scripted([[GOOD, SECOND]])) as model:
        again = await generated(model, out, papers=(PAPER, OTHER))
        assert model.n_requests == 1
    assert [len(one.pairs) for one in again.papers] == [2, 2]


async def test_a_failed_repair_drops_its_pairs(tmp_path: Path):
    faults = [Fault("junk", contains="faulty: ", attempts=None)]
    with ScriptedModel(Scripted([[GOOD, POINTING], [SECOND]]), faults=faults) as model:
        found = await generated(model, tmp_path / "pairs.jsonl")
    assert questions_of(found) == [GOOD["question"], SECOND["question"]]
    assert found.dropped == {"context": 1}


async def test_a_stopped_run_goes_on_and_asks_nothing_twice(tmp_path: Path):
    out, reply = tmp_path / "pairs.jsonl", ([[GOOD, POINTING]], [[SECOND]])
    faults = [Fault("unauthorized", contains="faulty: ", attempts=None)]
    with ScriptedModel(Scripted(*reply), faults=faults) as model:
        with pytest.raises(FatalModelError):
            await generated(model, out, evaluator=True)
        before = [r.messages[-1]["content"] for r in model.requests if r.fault is None]
    assert not out.exists() and before
    with ScriptedModel(Scripted(*reply)) as model:
        found = await generated(model, out, evaluator=True)
        after = prompts_of(model)
        text = out.read_bytes()
        await generated(model, out, evaluator=True)
        assert len(after) == model.n_requests and out.read_bytes() == text
    assert len(found.pairs) == 2 and found.n_mended == 1
    assert not set(before) & set(after) and len(set(after)) == len(after)
    assert len(before) + len(after) == 1 + len(RACAR) + 1 + len(RACAR)


async def test_a_killed_run_repeats_only_the_call_that_it_was_killed_in(tmp_path: Path):
    out, loop, killed = tmp_path / "pairs.jsonl", asyncio.get_running_loop(), []
    scripted, has_ended = Scripted([[GOOD, POINTING]], [[SECOND]]), threading.Event()

    def reply(messages, schema):
        if "\nfaulty: " in messages[-1]["content"] and not killed:
            killed.append(loop.call_soon_threadsafe(run.cancel))
            assert has_ended.wait(30)  # A reply that comes before would be kept.
        return scripted(messages, schema)

    with ScriptedModel(reply) as model:
        run = asyncio.ensure_future(generated(model, out))
        run.add_done_callback(lambda _: has_ended.set())
        with pytest.raises(asyncio.CancelledError):
            await run
        assert killed and not out.exists()
        found = await generated(model, out)
        prompts = prompts_of(model)
    assert ["faulty: " in prompt for prompt in prompts] == [False, True, True]
    assert questions_of(found) == [GOOD["question"], SECOND["question"]]


async def test_a_paper_that_does_not_fit_says_so_and_the_others_are_written(tmp_path: Path):
    long = Paper(id="long", sections=(PaperSection(text=f"{LOWERS}\n" * 40),), keywords=("x",))
    empty = Paper(id="empty", sections=())
    options = {"papers": (long, empty, PAPER), "max_source_chars": 1_000}
    with ScriptedModel(Scripted([[GOOD, SECOND]])) as model:
        found = await generated(model, tmp_path / "pairs.jsonl", **options)
        assert model.n_requests == 1
    assert [len(one.pairs) for one in found.papers] == [0, 0, 2]
    problem = found.papers[0].problem
    assert problem.startswith("too_long: long has 3,400 characters")
    assert "--long sections" in problem
    assert "empty has no running text" in found.papers[1].problem
    assert found.ends == {"does_not_fit": 1, "done": 2}


async def test_a_known_window_counts_tokens_with_the_reply(tmp_path: Path):
    with ScriptedModel() as model:
        run = replace(run_for(model), window_tokens=1_500)
        found = await make_pairs((PAPER,), PLAN, run, tmp_path / "pairs.jsonl")
    problem = found.papers[0].problem
    assert "including 512 for the reply" in problem and "only 1,500" in problem


async def test_long_papers_are_read_in_groups_of_sections(tmp_path: Path):
    def reply(messages, schema):
        asked = messages[-1]["content"]
        n = int(asked.split("number: ")[1].split()[0])
        shown = asked.partition("Task: ")[0]
        return {"pairs": [SECOND if "CGRP" in shown else {**GOOD, **STORED}][:n]}

    STORED = {
        "question": "What happens to brelozant when it is stored above 25 \u00b0C?",
        "answer": "Storage above 25 \u00b0C halves the potency of brelozant within 30 days.",
    }
    plan = replace(PLAN, long="sections", section_chars=190)
    with ScriptedModel(reply) as model:
        found = await generated(model, tmp_path / "pairs.jsonl", plan)
        prompts = prompts_of(model)
    assert questions_of(found) == [SECOND["question"], STORED["question"]]
    assert len(prompts) == 2 and SPOILS not in prompts[0] and LOWERS not in prompts[1]
    assert f"- {SECOND['question']}" in prompts[1], "what was asked of the first part is known"


async def test_self_questioning_asks_five_of_a_paragraph_and_repairs_nothing(tmp_path: Path):
    text = "\n".join(f"{n} {LOWERS} {BLOCKS} {SPOILS}" for n in range(4))
    paper = Paper(id="p", sections=(PaperSection(text=text),))
    plan = QAJob(number=7, way="self-questioning")
    with ScriptedModel(Scripted([[POINTING] * 5, [POINTING] * 5])) as model:
        found = await generated(model, tmp_path / "pairs.jsonl", plan, papers=(paper,))
        prompts = prompts_of(model)
    assert len(found.pairs) == 7 and not found.dropped
    assert [p.count("migraine") for p in prompts] == [1, 1]
    assert ["number: 5" in prompts[0], "number: 2" in prompts[1]] == [True, True]


async def test_a_paper_without_a_pair_is_asked_about_again(tmp_path: Path):
    out, plan = tmp_path / "pairs.jsonl", QAJob(number=1)
    with ScriptedModel(Scripted([[POINTING]], [[POINTING]])) as model:
        assert not (await generated(model, out, plan)).pairs
    with ScriptedModel(Scripted([[GOOD]])) as model:
        found = await generated(model, out, plan)
        assert model.n_requests == 1 and len(found.pairs) == 1


def test_papers_have_different_ids_and_a_writer_is_named():
    settings = load_settings(model="openai/x")
    with pytest.raises(InputError, match="two papers have the id 'p1'"):
        build_qa_run(settings, (PAPER, PAPER))
    with pytest.raises(SettingsError, match="--model"):
        build_qa_run(load_settings(), (PAPER,))
