"""What leads a report, what is worth a look, and what is undecided."""

from __future__ import annotations

import pytest
from lxml import html
from pages import unfolded, unpacked

from ragassay.metrics.stats.summary import summarize
from ragassay.records import (
    Bound,
    CascadeSummary,
    Citation,
    CitationVerdict,
    Evaluation,
    EvidenceVerdict,
    Failure,
    Finding,
    ModelCard,
    SentenceCorrectness,
)
from ragassay.reports.display import format_verdict_value
from ragassay.reports.findings_view import (
    UNMEASURED,
    FindingGroup,
    describe_certainty,
    describe_hidden_findings,
    describe_precision,
    describe_secondary_findings,
    describe_undecided,
    view_findings,
    view_open,
)
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.marked import mark_claim, mark_passage
from ragassay.reports.run_sheets import build_answer_sheet
from ragassay.reports.text import summarize_run

DOUBT = Failure(reason="undecided", detail="leans to contradicts at 0.71; it is right only often")
OPEN = {"confidence": 0.71, "tentative_label": "contradicts", "failure": DOUBT}
MEASURED = {"precision": 0.86, "data": "SciFact dev"}
CARD = MEASURED | {"coverage": 0.4}


def finding(kind: str, message: str, **given: object) -> Finding:
    return Finding.model_validate({"kind": kind, "message": message, "sentence": 1} | given)


def cited(marker: str, **given: object) -> CitationVerdict:
    """An undecided verdict on a citation."""
    citation = {"sentence": 1, "citation": Citation(marker=marker, document="d")}
    return CitationVerdict.model_validate(citation | OPEN | given)


def secondary(verdict: CitationVerdict) -> dict[str, str]:
    """Fields of a finding that is worth a look at this verdict."""
    return {"level": "secondary", "evaluator": verdict.evaluator, "item": verdict.item}


HEAD = finding("contradicted_citation", "Sentence 1 cites '1', which contradicts it.", **MEASURED)
LOOK = finding("contradicted_citation", "Sentence 2 cites '1', which may contradict it.")
LOOK = LOOK.model_copy(update={"level": "secondary", "sentence": 2})
NOWHERE = finding("invalid_citation", "Sentence 1 cites '9', which points nowhere.")
ANSWER = Evaluation(
    record_id="one",
    question="Q?",
    answer="A.",
    verdicts=(
        EvidenceVerdict(sentence=1, **OPEN),
        cited("1"),
        SentenceCorrectness(sentence=1, tentative_label="not_supported", failure=DOUBT),
        EvidenceVerdict(sentence=2, failure=Failure(reason="timeout")),
    ),
    findings=(LOOK, HEAD, NOWHERE),
)


def pages(run, *answers: Evaluation, **changed: object) -> tuple[str, str]:
    summary = summarize(answers, len(answers), 0, 0).model_copy(update=changed)
    given = (run.manifest, summary, answers)
    return render_html(*given), render_markdown(*given)


def messages_of(group: FindingGroup) -> list[str]:
    return [message.text for _, message in group.sheet.shown]


def test_only_what_leads_is_in_the_headline_and_in_the_counts():
    summary = summarize([ANSWER], 1, 0, 0)
    assert summary.findings == {"contradicted_citation": 1, "invalid_citation": 1}
    assert summary.secondary_findings == {"contradicted_citation": 1}
    assert "1 contradicted citation and 1 invalid citation" in summarize_run(summary)
    assert describe_secondary_findings(summary) == (
        "Worth a look, but often false alarms: 1 possibly contradicted citation."
    )
    assert next(build_answer_sheet([ANSWER]).shown)[-1].text == "2"
    heads, looks = view_findings(summary, [ANSWER]), view_findings(summary, [ANSWER], "secondary")
    assert [messages_of(group) for group in heads] == [[HEAD.message], [NOWHERE.message]]
    assert [messages_of(group) for group in looks] == [[LOOK.message]]


def test_undecided_verdicts_have_a_count_of_their_own():
    summary = summarize([ANSWER], 1, 0, 0)
    assert summary.n_undecided == 2
    assert view_open([ANSWER]).undecided == ("1 evidence verdict", "1 citation verdict")
    assert view_open([ANSWER]).unscored == ("1 evidence verdict: time-out",)
    assert describe_undecided(summary) == (
        "2 verdicts are undecided. Use --escalate MODEL to have a second judge decide."
    )
    cascade = CascadeSummary(judge="a", second="b", when="undecided")
    decided = summary.model_copy(update={"cascade": cascade})
    assert describe_undecided(decided) == "2 verdicts are undecided."
    nothing = summarize([], 0, 0, 0)
    assert describe_undecided(nothing) == describe_secondary_findings(nothing) == ""


def test_the_page_leads_with_what_was_measured_and_folds_the_rest(run):
    page, _ = pages(run, ANSWER)
    tree = html.fromstring(page)
    (folded,) = tree.xpath("//details[@id='worth']")
    assert folded.get("open") is None
    assert LOOK.message in folded.text_content() and HEAD.message not in folded.text_content()
    top = tree.xpath("//section[@id='wrong']")[0].text_content()
    assert top.index(HEAD.message) < top.index(LOOK.message)
    assert "86\N{NO-BREAK SPACE}% of such findings on SciFact dev were correct." in top
    assert UNMEASURED not in top
    assert "1 citation verdict" in top and "--escalate" in top
    marks = html.fromstring(unfolded(page)).xpath("//span[contains(@class, 'c undecided')]")
    assert {mark.text for mark in marks} == {
        "undecided, tentatively contradicts",
        "undecided, tentatively not supported",
    }
    assert DOUBT.detail in unfolded(page)
    assert unpacked(page)["index"][0]["primary"] == [HEAD.kind, NOWHERE.kind]


def test_markdown_has_a_section_for_each(run):
    _, page = pages(run, ANSWER)
    head, _, rest = page.partition("## Worth a look")
    assert "which contradicts it" in head and "may contradict" not in head
    assert "may contradict" in rest.partition("##")[0]
    assert "**Undecided** verdicts" in page
    assert "undecided, tentatively contradicts" in page


def test_a_precision_has_its_interval_and_n_and_says_what_never_leads(run):
    known = {"precision_low": 0.26, "precision_high": 0.59, "n_measured": 29} | MEASURED
    known["precision"] = 0.41
    never = LOOK.model_copy(update=known)
    interval = "41\N{NO-BREAK SPACE}% (26\N{EN DASH}59\N{NO-BREAK SPACE}%)"
    assert describe_certainty(never) == (
        f"{interval} of 29 such findings on SciFact dev were correct, too few for a main finding"
    )
    assert describe_precision([never]) == (
        f"Measured precision: {interval}, n = 29, SciFact dev. "
        "This precision is too low for a main finding."
    )
    assert "too low" not in describe_precision([HEAD])
    assert describe_precision([LOOK]) == ""
    page, markdown = pages(run, ANSWER.model_copy(update={"findings": (never,)}))
    assert interval in html.fromstring(page).xpath("//details[@id='worth']")[0].text_content()
    assert "too low for a main finding" in markdown


@pytest.mark.parametrize("n", [1, 3])
def test_that_nobody_measured_is_said_once(run, n):
    said = HEAD.model_copy(update={"precision": None, "data": ""})
    answer = ANSWER.model_copy(update={"findings": (said, said)})
    answers = [answer.model_copy(update={"record_id": str(i)}) for i in range(n)]
    for page in pages(run, *answers):
        assert page.count(UNMEASURED) == 1
    # What nobody judged needs no measurement.
    for page in pages(run, ANSWER.model_copy(update={"findings": (NOWHERE,)})):
        assert UNMEASURED not in page


def test_where_nothing_leads_the_page_does_not_say_that_all_is_well(run):
    answer = ANSWER.model_copy(update={"verdicts": ANSWER.verdicts[:2], "findings": (LOOK,)})
    page, text = pages(run, answer)
    assert "no main finding" in page and "no main finding" in text
    assert "no inappropriate sentences" not in page


def test_the_second_judges_mark_names_the_leaning():
    assert format_verdict_value(ANSWER.verdicts[0]) == "undecided, tentatively contradicts"


def test_the_verifiers_card_shows_its_bounds(run):
    given = {"threshold": 0.93, "risk": 0.2, "delta": 0.1, "n": 120} | CARD
    bound = Bound(label="contradicts", level="finding", **given)
    card = ModelCard(model="ragassay/minilm-verifier", description="Compares.", bounds=(bound,))
    manifest = run.manifest.model_copy(update={"verifier": card.model, "verifier_card": card})
    given = (manifest, summarize([ANSWER], 1, 0, 0), [ANSWER])
    tree = html.fromstring(render_html(*given))
    (row,) = tree.xpath("//div[starts-with(@aria-label, 'Thresholds of')]//tbody/tr")
    cells = [cell.text_content().replace("\N{NO-BREAK SPACE}", " ") for cell in row]
    numbers = ["0.93", "20 % (delta 0.1)", "40 %", "86 %", "120"]
    assert cells == ["contradicts", "finding", *numbers, "SciFact dev"]
    assert "| contradicts | finding | 0.93 |" in render_markdown(*given)


def test_what_is_worth_a_look_is_ranked_and_capped(run):
    shares = (0.5, 0.9, 0.6, 0.8, 0.7, 0.55, 0.65)
    verdicts = [cited(str(n), confidence=share) for n, share in enumerate(shares)]
    looks = [
        finding("contradicted_citation", f"Sentence 1 cites '{n}'.", **secondary(verdict))
        for n, verdict in enumerate(verdicts)
    ]
    rule = finding("uncited_sentence", "1 of 2 sentences cites nothing.", level="secondary")
    changed = {"verdicts": tuple(verdicts), "findings": (rule, *looks)}
    answer = ANSWER.model_copy(update=changed)
    ordered = [looks[n] for n in (1, 3, 4, 6, 2, 5, 0)]
    assert list(answer.secondary_findings) == [*ordered, rule]
    summary = summarize([answer], 1, 0, 0)
    (group, unlisted) = view_findings(summary, [answer], "secondary")
    assert messages_of(group) == [one.message for one in ordered[:5]]
    assert (group.n, group.n_unlisted, unlisted.n_unlisted) == (7, 2, 1)
    line = "Only the 5 most likely findings of each answer are listed, and 3 others are not."
    assert describe_hidden_findings(3) == line and describe_hidden_findings(0) == ""
    assert describe_hidden_findings(1).endswith("listed, and 1 other is not.")
    page, text = pages(run, answer)
    worth = html.fromstring(page).xpath("//details[@id='worth']")[0].text_content()
    places = [worth.find(one.message) for one in ordered]
    assert places[:5] == sorted(places[:5]) and places[0] > 0 and places[5:] == [-1, -1]
    assert line in worth
    assert "- Number of less likely findings that are not listed: 2" in text
    assert "- Number of less likely findings that are not listed: 3" in text


def test_a_measured_precision_ranks_before_confidence():
    verdict, supports = cited("1"), cited("1", tentative_label="supports")
    linked = secondary(verdict)

    def estimate(kind: str, verdict: CitationVerdict = verdict, **given: object) -> float:
        answer = ANSWER.model_copy(update={"verdicts": (verdict,)})
        return answer.estimate_likelihood(finding(kind, "M.", **given))

    assert estimate("irrelevant_citation", **linked) == 0.355
    assert estimate("irrelevant_citation", **linked, precision=0.2) == 0.2
    assert estimate("uncited_sentence", level="secondary") == 0
    assert estimate("number_not_in_source", supports, **linked) == 0


WORDS = "the source says 46 years, the answer 64 years"


def test_the_numbers_that_differ_are_marked_on_both_sides():
    claim = "Mean age was 64 years."
    passage = "The mean age group was old. Of 120 men the mean was 46 years. All went home."
    assert [one.text for one in mark_claim(claim, WORDS) if one.mark] == ["64 years"]
    pieces = mark_passage(passage, claim, WORDS)
    assert "".join(one.text for one in pieces) == passage
    assert [one.text for one in pieces if one.mark == "against"] == ["46 years"]
    # The sentence that has the number is shown, though another shares more words.
    assert "Of 120 men the mean was " in [one.text for one in pieces if one.mark == "close"]
