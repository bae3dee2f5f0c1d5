"""Whether found passages are enough is the judge's word, bounded, and never a cosine's."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from case_tables import each_case
from casefiles import build_word_run, evaluate
from fakes import FakeCorpus

from ragassay.evaluators.base import Run
from ragassay.records import Article, EvidenceSearch, Failure, FileFingerprint, Record, SearchEnd
from ragassay.reports.sentence_view import view_search
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import plan
from ragassay.runs.job import Job
from ragassay.settings import load_settings
from ragassay.testing import Fault, default_reply

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

# Shares all but one of the claim's words with it, and says nothing on transplants.
PRESSURE = Article(
    id="10000001",
    title="Blood pressure after drug A",
    text="After five years of drug A the blood pressure of adults was lower than before.",
)
SALT = Article(id="10000002", title="Salt", text="Less salt lowered the blood pressure of adults.")
CLAIM = "After five years of drug A the transplants of adults were lower in number than before."
RECORD = Record(id="one", question="Does drug A avert transplants?", answer=CLAIM)
CORPUS = Corpus([PRESSURE, SALT])


class Judge:
    """Writes another query each time; says of passages what it was told to, then the last again.

    Args:
        *words: What it says on whether passages are enough, in order: a reply, or a value.
    """

    def __init__(self, *words: str) -> None:
        self.words, self.n_written, self.judged = list(words), 0, []

    def __call__(self, messages, schema):
        asked = set(schema["properties"]) if schema else set()
        if "opposite" in asked:
            self.n_written += 1
            words = ("adults blood", "salt", "years of drug", "pressure lower", "transplants")
            query = words[self.n_written % len(words)]
            return {"query": f"{query} transplants", "opposite": "Drug A averts no transplants"}
        if asked == {"enough"}:
            self.judged.append(messages[-1]["content"])
            word = self.words.pop(0) if len(self.words) > 1 else self.words[0]
            return {"enough": word} if word in ("yes", "no") else word
        return default_reply(messages, schema)


@pytest.fixture
def make_evidence_run(make_model, make_run):
    """Make runs that only search for evidence."""

    def make(judge, corpus=CORPUS, faults=(), **options) -> Run:
        return make_run(make_model(judge, faults), corpus, only=("evidence",), **options)

    return make


async def search(run: Run) -> EvidenceSearch:
    (found,) = (await evaluate(run, RECORD)).searches
    return found


async def test_a_claim_on_transplants_is_not_settled_by_articles_on_blood_pressure(
    make_evidence_run,
):
    """The closest passage has a cosine above .6, and the judge says that it is not enough."""
    judge = Judge("no")
    found = await evaluate(make_evidence_run(judge, evidence_rounds=3), RECORD)
    (search,) = found.searches
    assert max(e.evidence.relevance_score for e in found.evidence if e.evidence) > 0.6
    assert search.end == "out_of_rounds"
    assert "enough passages" in view_search(search).summary
    queries = [q for q in search.queries if q.side == "for"]
    assert [q.round for q in queries] == [1, 1, 2, 3]
    assert len({q.text for q in queries}) == 4, "each round asks something else"
    assert judge.n_written == 3
    assert CLAIM in judge.judged[0] and PRESSURE.text in judge.judged[0]


@pytest.mark.parametrize("n_rounds", [1, 2, 5])
async def test_the_judge_is_asked_at_most_once_a_round(n_rounds, make_evidence_run):
    judge = Judge("no")
    await search(make_evidence_run(judge, evidence_rounds=n_rounds))
    assert judge.n_written == n_rounds
    assert 1 <= len(judge.judged) <= n_rounds
    assert len(set(judge.judged)) == len(judge.judged), "the same passages are not judged twice"


def build_fresh_corpus() -> FakeCorpus:
    """Finds a closer article for each query, so that every round has another passage to judge."""
    words, asked = CLAIM.split(), []

    def find(query):
        asked.append(query)
        text = " ".join(words[: 4 + len(asked)])
        return [Article(id=str(20_000_000 + len(asked)), title="", text=text)]

    return FakeCorpus(find)


@pytest.mark.parametrize(
    ("words", "n_written", "end"),
    [
        (("yes",), 1, "enough"),
        (("no", "yes"), 2, "enough"),
        (("no", "no", "yes"), 3, "enough"),
        (("no",), 4, "out_of_rounds"),
    ],
)
async def test_the_search_goes_on_until_the_judge_says_enough(
    words, n_written, end, make_evidence_run
):
    judge = Judge(*words)
    found = await search(make_evidence_run(judge, build_fresh_corpus(), evidence_rounds=4))
    assert (judge.n_written, found.end) == (n_written, end)
    assert found.n_judgments == n_written == len(judge.judged)


@each_case(
    "text",
    [
        '{"enough": "yes"}',
        '```json\n{"enough": "yes"}\n```',
        'The trial reports it.\n{"enough": "yes"}',
        '<think>Same drug? "no" at first.</think>{"enough": "yes"}',
        '{"Enough": "Yes"}',
        '{"reason": "the trial reports it", "enough": "yes"}',
    ],
)
@each_case(("value", "end"), [("yes", "enough"), ("no", "out_of_rounds")])
async def test_replies_are_read_by_the_reader_of_all_replies(make_evidence_run, text, value, end):
    reply = text.replace('"yes"', f'"{value}"').replace('"Yes"', f'"{value.title()}"')
    found = await search(make_evidence_run(Judge(reply), evidence_rounds=1))
    assert (found.end, found.judgment_failure) == (end, None)


@each_case(
    "text",
    [
        *('{"enough": "perhaps"}', '{"enough": "yes or no"}', '{"enough": 1}'),
        *('{"verdict": "supports"}', "The first passage is a cohort study.", "{}"),
    ],
)
async def test_a_failed_judgment_is_not_enough_and_fails_nothing(make_evidence_run, text):
    judge = Judge(text)
    found = await evaluate(make_evidence_run(judge, evidence_rounds=2, max_attempts=2), RECORD)
    (search,) = found.searches
    assert (search.end, search.n_judgments, search.failure) == ("out_of_rounds", 0, None)
    assert search.judgment_failure.reason == "unparsable"
    assert judge.n_written == 2, "the search goes on"
    assert found.evidence and all(e.failure is None for e in found.evidence)
    kinds = {f.kind for f in found.findings}
    assert "search_not_judged" in kinds and "search_without_queries" not in kinds
    assert "judge could not assess the passages" in view_search(search).summary


async def test_one_failed_judgment_leaves_the_other_sentences_theirs(make_evidence_run):
    answer = "Drug A lowers the blood pressure of adults. Less salt lowered the blood pressure."
    record = RECORD.model_copy(update={"answer": answer})

    def reply(messages, schema):
        if schema and set(schema["properties"]) == {"enough"}:
            claim = messages[-1]["content"].rsplit("claim:", 1)[1]
            return {"enough": "yes"} if "salt" in claim else "who knows"
        return Judge("no")(messages, schema)

    found = await evaluate(make_evidence_run(reply, evidence_rounds=2), record)
    assert [s.end for s in found.searches] == ["out_of_rounds", "enough"]
    assert [bool(s.judgment_failure) for s in found.searches] == [True, False]
    assert {q.round for q in found.searches[1].queries} == {1}


@each_case("kind", ["server_error", "refusal", "rate_limit", "cut", "truncated", "content_filter"])
async def test_a_server_that_is_down_for_judgments_ends_no_search(make_evidence_run, kind):
    fault = Fault(kind, when=lambda body: "enough" in json.dumps(body.get("response_format")))
    options = {"faults": [fault], "evidence_rounds": 1, "max_attempts": 1}
    found = await search(make_evidence_run(Judge("yes"), **options))
    assert found.end == "out_of_rounds" and found.judgment_failure
    assert found.failure is None


async def test_judgments_are_in_the_bill_and_below_the_estimate(make_evidence_run):
    judge = Judge("no")
    run = make_evidence_run(judge, build_fresh_corpus(), evidence_rounds=3)
    found = await evaluate(run, RECORD)
    assert found.searches[0].usage.n_calls == 6 == judge.n_written + len(judge.judged)
    assert found.usage_by_part["searches"].n_calls == 6
    job = Job((RECORD,), (), FileFingerprint(name="answers", sha256="", n_items=1), CORPUS)
    without = make_evidence_run(judge, evidence_rounds=0)
    assert plan(job, run).n_calls - plan(job, without).n_calls == 6


async def test_a_search_without_passages_asks_no_judge(make_evidence_run):
    judge = Judge("yes")
    empty = Corpus([Article(id="10000009", title="Zeta", text="Omega.")])
    found = await search(make_evidence_run(judge, empty, evidence_threshold=0.9))
    assert judge.judged == [] and found.end == "out_of_rounds"


async def test_without_a_judge_the_closest_passages_are_taken_and_none_is_called_enough():
    found = await search(build_word_run(CORPUS, only=("evidence",)))
    assert found.end == "closest_passages"
    assert "closest passages" in view_search(found).summary.lower()


def test_small_judges_of_ours_write_queries_once_and_are_not_asked():
    for model in ("ragassay/judge", "ragassay/smollm2-135m", "hosted_vllm/ragassay/judge"):
        settings = load_settings(model=model, evidence_rounds=4)
        assert (settings.query_rounds, settings.judges_sufficiency) == (1, False), model
    for model in ("openai/gpt-4.1-mini", "hosted_vllm/qwen2.5-72b"):
        settings = load_settings(model=model, evidence_rounds=4)
        assert (settings.query_rounds, settings.judges_sufficiency) == (4, True), model
        assert not load_settings(model=model, evidence_rounds=0).judges_sufficiency
    assert not load_settings().judges_sufficiency


def test_a_run_of_an_earlier_version_called_a_cosine_enough():
    old = {"sentence": 1, "n_documents": 3, "end": "enough"}
    assert EvidenceSearch.model_validate(old).end == "closest_passages"
    assert EvidenceSearch.model_validate_json(json.dumps(old)).end == "closest_passages"
    assert EvidenceSearch.model_validate(old | {"n_judgments": 1}).end == "enough"


ENDS = {
    "enough": (1, "judge found the passages sufficient"),
    "closest_passages": (0, "closest passages were used"),
    "out_of_rounds": (1, "ended after its last round without finding enough passages"),
    "out_of_tokens": (1, "did not find enough passages before the answer's token budget"),
    "agent_done": (0, "agent ended its search"),
    "sources_only": (0, "no corpus"),
    "nowhere_to_search": (0, "neither a corpus nor a source"),
}


def test_each_end_is_said_in_words_and_only_a_judgment_calls_passages_enough():
    assert set(ENDS) == set(get_args(SearchEnd))
    for end, (n_judgments, words) in ENDS.items():
        search = EvidenceSearch(sentence=1, n_documents=2, end=end, n_judgments=n_judgments)
        shown = view_search(search).summary
        assert words in shown, end
        assert "close enough" not in shown, end
    nothing = EvidenceSearch(sentence=1, end="closest_passages")
    assert view_search(nothing).summary == "No documents were found."
    failed = Failure(reason="timeout")
    search = EvidenceSearch(sentence=1, end="out_of_rounds", judgment_failure=failed)
    assert "The judge could not assess the passages" in view_search(search).summary
