"""What the reports say of verifiers, correctness, nuggets of citations and assignments."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from case_tables import each_case
from lxml import html
from pages import unfolded

from ragassay.records import (
    AnswerSentence,
    CardFigure,
    Citation,
    CitationVerdict,
    Document,
    Evaluation,
    EvidenceSpan,
    Failure,
    ModelCard,
    Nugget,
    NuggetAssignment,
    NuggetVerdict,
    SentenceCorrectness,
)
from ragassay.reports.answer_view import view_gold
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.prose_view import view_prose
from ragassay.reports.provenance import view_judges
from ragassay.reports.sentence_view import view_sentences

SPAN = EvidenceSpan(document="31000001", start=0, end=5, text="Text.")
CITATION = Citation(marker="1", document="31000001")
NUGGET = NuggetVerdict(
    sentence=1,
    document="31000001",
    nugget="A <i>nugget</i>.",
    verdict="contradicts",
    confidence=0.6,
)
EVALUATION = Evaluation(
    record_id="r",
    question="Q?",
    answer="One. Two.",
    sentences=(
        AnswerSentence(index=1, text="One.", start=0, end=4, citations=(CITATION,)),
        AnswerSentence(index=2, text="Two.", start=5, end=9),
    ),
    sources=(Document(id="31000001", text="Text."),),
    gold_nuggets=(Nugget(text="Gold <b>fact</b>."), Nugget(text="Other.")),
    assignments=(
        NuggetAssignment(gold=0, assignment="partial_support", confidence=0.7),
        NuggetAssignment(gold=1, failure=Failure(reason="timeout")),
    ),
    correctness=(
        SentenceCorrectness(sentence=1, correct=True, score=0.91, evidence=SPAN),
        SentenceCorrectness(sentence=2, correct=False, score=0.2, evidence=SPAN),
    ),
    citations=(
        CitationVerdict(
            sentence=1, citation=CITATION, verdict="contradicts", evidence=SPAN, nuggets=(NUGGET,)
        ),
    ),
)


def test_a_sentence_says_whether_it_is_borne_out_and_by_which_passage():
    first, second = view_sentences(EVALUATION)
    assert first.correctness and second.correctness
    assert (first.correctness.chip.word, first.correctness.chip.tone) == ("correct", "good")
    assert (first.correctness.chip.confidence, second.correctness.chip.tone) == ("0.91", "weak")
    assert second.correctness.chip.word == "not supported"
    assert first.correctness.passage and first.correctness.passage.document == "31000001"


def test_a_citation_shows_the_nuggets_that_it_was_merged_from():
    (citation,) = view_sentences(EVALUATION)[0].citations
    ((text, chip),) = citation.nuggets
    assert (text, chip.word, chip.tone) == ("A <i>nugget</i>.", "contradicts", "bad")


def test_a_gold_nugget_shows_what_the_judge_said_of_it():
    first, second = view_gold(EVALUATION)
    assert first.assignment and second.assignment
    assert (first.assignment.word, first.assignment.confidence) == ("partial support", "70\xa0%")
    assert "time-out" in second.assignment.word


@pytest.mark.parametrize("verifier", ["", "judge-model"])
def test_a_judge_that_verifies_itself_is_shown_once(run, verifier: str):
    manifest = run[0].model_copy(update={"judge": "judge-model", "verifier": verifier})
    assert [view.role for view in view_judges(manifest)] == ["Judged"]


def test_a_verifier_beside_the_judge_shows_its_own_card(run):
    figure = CardFigure(task="t", data="d", metric="m", value=0.5, n=3, command="c")
    card = ModelCard(model="small/verifier", description="A verifier.", figures=(figure,))
    manifest = run[0].model_copy(update={"verifier": "small/verifier", "verifier_card": card})
    views = view_judges(manifest)
    assert [(view.role, view.model) for view in views][1] == ("Verified", "small/verifier")
    page = render_html(manifest, *run[1:])
    section = html.document_fromstring(page).xpath("//details[@id='cards']")[0]
    text = " ".join(section.text_content().split())
    assert "Verified by small/verifier. A verifier." in text
    assert "Verified by **small/verifier**. A verifier." in render_markdown(manifest, *run[1:])


def test_both_reports_show_them_escaped(run):
    parts = (run[0], run[1], [EVALUATION])
    page, text = unfolded(render_html(*parts)), render_markdown(*parts)
    assert "<i>nugget</i>" not in page
    assert "A &lt;i&gt;nugget&lt;/i&gt;." in page
    assert "partial support" in page and "partial support" in text
    assert "not supported" in page and "not supported" in text


def marked(text: str, *verdicts: tuple[str, Sequence[tuple[int, int]]]) -> Evaluation:
    """An answer of one sentence, with the label and the spans of verdicts on its citations."""
    citations = tuple(
        CitationVerdict.model_validate(
            {
                "sentence": 1,
                "citation": {"marker": str(n), "document": str(n)},
                "verdict": label,
                "spans": [{"start": a, "end": b, "score": 0.9} for a, b in spans],
            }
        )
        for n, (label, spans) in enumerate(verdicts)
    )
    sentence = AnswerSentence(index=1, text=text, start=0, end=len(text))
    given = {"record_id": "r", "question": "Q?", "answer": text}
    return Evaluation(**given, sentences=(sentence,), citations=citations)


UNSUPPORTED = [
    # The spans of verdicts that do not support the sentence; the places that are marked.
    ([[(0, 3)]], False, ((0, 3),)),
    ([[(0, 3), (5, 8)]], False, ((0, 3), (5, 8))),
    ([[(0, 5)], [(3, 8)]], False, ((3, 5),)),
    ([[(0, 2)], [(4, 6)]], False, ()),
    ([[(0, 3)]], True, ()),
    ([[(0, 3)], []], False, ((0, 3),)),
    ([[]], False, ()),
    ([], True, ()),
]


@each_case(("spans", "is_supported", "wanted"), UNSUPPORTED)
def test_a_sentence_is_marked_where_no_passage_supports_it(spans, is_supported, wanted):
    verdicts = [("not_attributable", each) for each in spans] + [("supports", ())] * is_supported
    (view,) = view_sentences(marked("One is two.", *verdicts))
    assert view.unsupported == wanted


def test_marked_text_is_escaped_on_the_page():
    found = marked("<b>Two</b> fell.", ("not_attributable", [(0, 10)]))
    (shown,) = [s for block in view_prose(found, ()) for s in block.sentences]
    pieces = [(piece.text, piece.mark) for piece in shown.shown]
    assert pieces == [("<b>Two</b>", "unsupported"), (" fell.", "")]
    assert shown.quoted[0].remarks[0].unsupported == ("<b>Two</b>",)
