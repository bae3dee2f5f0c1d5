"""Findings on an answer as a whole, which need no model."""

from __future__ import annotations

from collections.abc import Sequence

from case_tables import each_case
from casefiles import build_word_run, filed

from ragassay.evaluators.base import Outcome
from ragassay.evaluators.findings import (
    find_answer_problems,
    find_citing_problems,
    find_text_problems,
)
from ragassay.records import (
    AnswerSentence,
    Case,
    Citation,
    Document,
    Finding,
    Nugget,
    NuggetAssignment,
    NuggetMatch,
)

QUESTION = "Does metformin lower the glucose of adults?"
WHOLE = "Metformin lowers blood glucose in adults with diabetes."
GERMAN = "Metformin senkt den Blutzucker bei Erwachsenen mit Diabetes, wie die Studie zeigt."


def case(
    texts: Sequence[str] = (WHOLE,),
    cites: Sequence[str | None] = (),
    n_sources: int = 3,
    gold: Sequence[Nugget] = (),
) -> Case:
    citations = [() if one == "" else (Citation(marker=one or "9", document=one),) for one in cites]
    citations += [()] * (len(texts) - len(citations))
    return Case(
        record_id="r",
        question=QUESTION,
        answer=" ".join(texts),
        sentences=tuple(
            AnswerSentence(index=n, text=text, start=n, end=n + 1, citations=cited)
            for n, (text, cited) in enumerate(zip(texts, citations, strict=True), start=1)
        ),
        sources=tuple(Document(id=f"d{n}", text="T") for n in range(n_sources)),
        gold=tuple(gold),
    )


def kinds(findings: Sequence[Finding]) -> list[str]:
    return [one.kind for one in findings]


@each_case(
    ("texts", "expected"),
    [
        ([WHOLE], []),
        ([GERMAN], ["other_language"]),
        (["I cannot answer this question."], ["refusal"]),
        ([WHOLE, "It is given with"], ["cut_off_answer"]),
    ],
)
def test_faults_of_the_text_lead_with_the_words_they_are_told_from(texts, expected):
    found = find_text_problems(case(texts))
    assert kinds(found) == expected
    assert all(one.level == "primary" for one in found)
    if expected not in ([], ["other_language"]):
        assert texts[-1] in found[0].message


def test_an_answer_that_goes_on_with_citations_is_no_refusal():
    opening, more = "The passages do not mention night shifts.", "They are about day shifts alone."
    assert kinds(find_text_problems(case([opening, more], ["", ""]))) == ["refusal"]
    assert kinds(find_text_problems(case([opening, more], ["", "d0"]))) == []


def test_a_missing_stop_alone_is_a_secondary_finding():
    (found,) = find_text_problems(case([WHOLE, "It is given to adults who have diabetes"]))
    assert (found.kind, found.level, found.sentence) == ("cut_off_answer", "secondary", 2)
    assert "may stop in the middle of a sentence" in found.message


@each_case(
    ("cites", "n_sources", "expected"),
    [
        (["", "", "", ""], 3, []),
        (["d0", "d0", "d0", "d0"], 3, ["one_source_cited"]),
        (["d0", "d0", "d0", "d0"], 1, []),
        (["d0", "d0", "d0", "d1"], 3, []),
        ([None, None, None, None], 3, []),
        (["d0", "", "", "d1"], 3, ["uncited_sentence"]),
        (["d0", "d0", "d0", "d0", ""], 2, ["uncited_sentence", "one_source_cited"]),
    ],
)
def test_sentences_without_a_citation_and_one_source_for_all_are_worth_a_look(
    cites, n_sources, expected
):
    found = find_citing_problems(case([WHOLE] * len(cites), cites, n_sources))
    assert kinds(found) == expected
    assert all(one.level == "secondary" for one in found)


def test_a_lead_to_a_list_needs_no_citation():
    texts = ["Yes.", "Here is what the studies say:", "Is it safe in older people?", WHOLE]
    assert find_citing_problems(case(texts, ["", "", "", "d0"])) == []


def test_uncited_sentences_are_listed_up_to_five():
    (found,) = find_citing_problems(case([WHOLE] * 9, ["d0", "", "", "", "", "", "", "d1", "d2"]))
    assert found.message == "6 of 9 sentences cite nothing: 2, 3, 4, 5, 6 and 1 more."


GOLD = (
    Nugget(text="It lowers glucose.", importance="vital"),
    Nugget(text="It may cause nausea.", importance="vital"),
    Nugget(text="It is cheap.", importance="okay"),
)


def outcome(*verdicts: NuggetAssignment, matches: tuple[NuggetMatch, ...] = ()) -> Outcome:
    run = build_word_run(model="openai/judge", signals=False, only=("nuggets",))
    return Outcome(filed(case(gold=GOLD)), run, {"assignment": verdicts}, matches)


def test_facts_that_no_nugget_matches_are_worth_a_look():
    match = NuggetMatch(gold=0, nugget=0, similarity_score=1.0)
    (found,) = find_answer_problems(outcome(matches=(match,)))
    assert (found.kind, found.level) == ("missed_nugget", "secondary")
    assert found.message.startswith("The answer misses 1 of 2 required facts: \u201cIt may")


def test_facts_that_a_judge_finds_missed_lead():
    judged = [NuggetAssignment(gold=n, assignment="not_support") for n in (0, 2)]
    stated = NuggetAssignment(gold=1, assignment="partial_support")
    (found,) = find_answer_problems(outcome(*judged, stated))
    assert (found.kind, found.level) == ("missed_nugget", "primary")
    assert "It lowers glucose." in found.message
    assert "It is cheap." not in found.message
