"""How an answer cites: MedAESQA's measures, BioACE's merge rule."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.citations import (
    RELEVANT,
    merge_citations,
    merge_nugget_verdicts,
    score_citations,
)
from ragassay.records import (
    VERDICTS,
    AnswerSentence,
    Citation,
    CitationLabel,
    CitationVerdict,
    EvidenceSpan,
    Failure,
    NuggetVerdict,
    Usage,
    Verdict,
)

FAILED = Failure(reason="timeout")


def answer(
    *cited: Sequence[tuple[str, CitationLabel | None]],
) -> tuple[list[AnswerSentence], list[CitationVerdict]]:
    """An answer with the documents that each sentence cites, and the verdict on each."""
    sentences: list[AnswerSentence] = []
    verdicts: list[CitationVerdict] = []
    for index, pairs in enumerate(cited, 1):
        citations = [
            Citation(marker=name, document=None if label == "invalid" else name)
            for name, label in pairs
        ]
        sentences.append(
            AnswerSentence(index=index, text="s", start=0, end=1, citations=tuple(citations))
        )
        verdicts += [
            CitationVerdict(
                sentence=index,
                citation=citation,
                verdict=label,
                failure=None if label else FAILED,
            )
            for citation, (_, label) in zip(citations, pairs, strict=True)
        ]
    return sentences, verdicts


def test_by_hand():
    # Five citations of four documents (1 is cited twice) in three sentences, one of which cites
    # nothing. Two support: 2/5. One contradicts: 1/5. Of three sentences the first alone has a
    # support: 1/3. Documents 1, 2 are on the subject, 3 is not, 9 points nowhere: 2/4. Of three
    # sentences two cite a document: 2/3.
    sentences, verdicts = answer(
        [("1", "supports"), ("2", "supports"), ("9", "invalid")],
        [("1", "contradicts"), ("3", "not_relevant")],
        [],
    )
    found = score_citations(sentences, verdicts, "judge")
    values = {key.removeprefix("citations."): score.value for key, score in found.items()}
    assert values == pytest.approx(
        {
            "support": 0.4,
            "contradict": 0.2,
            "coverage": 1 / 3,
            "document_precision": 0.5,
            "cited": 2 / 3,
        },
        abs=1e-4,
    )
    assert {key: score.judge for key, score in found.items() if not score.judge} == {
        "citations.cited": ""
    }


def test_what_could_not_be_had_is_left_out_and_widens_the_bounds():
    sentences, verdicts = answer([("1", "supports"), ("2", None)], [("2", None)])
    found = score_citations(sentences, verdicts, "judge")
    support = found["citations.support"]
    assert (support.value, support.n, support.n_unscored) == (1.0, 1, 2)
    assert (support.worst, support.best) == (pytest.approx(1 / 3, abs=1e-4), 1.0)
    # The first sentence is covered whatever its other citation does; the second may be.
    coverage = found["citations.coverage"]
    assert (coverage.value, coverage.n, coverage.n_unscored) == (1.0, 1, 1)
    assert (coverage.worst, coverage.best) == (0.5, 1.0)
    precision = found["citations.document_precision"]
    assert (precision.value, precision.n, precision.n_unscored) == (1.0, 1, 1)


def test_two_labels_cannot_tell_a_contradiction():
    sentences, verdicts = answer([("1", "supports"), ("2", "not_attributable")])
    found = score_citations(sentences, verdicts, "judge")
    assert "citations.contradict" not in found
    assert found["citations.support"].value == 0.5


def test_an_answer_without_citations_has_zero_of_each_as_in_medaesqa():
    sentences, verdicts = answer([], [])
    found = score_citations(sentences, verdicts, "judge")
    assert {score.value for score in found.values()} == {0.0}
    support = found["citations.support"]
    assert (support.n, support.worst, support.best, support.low) == (0, 0.0, 0.0, None)


def test_citations_that_could_not_be_judged_are_not_zero():
    found = score_citations(*answer([("1", None)]), "judge")
    assert found["citations.support"].value is None


def test_what_is_known_without_asking_makes_no_share_where_all_that_was_asked_failed():
    # One citation failed; the second sentence cites nothing, and the third one nowhere.
    found = score_citations(*answer([("1", None)], [], [("9", "invalid")]), "judge")
    spans = {key: (s.value, s.n, s.n_unscored, s.worst, s.best) for key, s in found.items()}
    assert spans == {
        "citations.support": (None, 0, 2, 0.0, 0.5),
        "citations.contradict": (None, 0, 2, 0.5, 0.0),
        "citations.coverage": (None, 0, 3, 0.0, pytest.approx(1 / 3, abs=1e-4)),
        "citations.document_precision": (None, 0, 2, 0.0, 0.5),
        "citations.cited": (0.3333, 3, 0, 0.3333, 0.3333),
    }
    nowhere = score_citations(*answer([], [("9", "invalid")]), "judge")
    assert nowhere["citations.support"].value == 0.0, "nothing was asked, and nothing failed"


def test_an_empty_answer_has_no_score():
    found = score_citations([], [], "judge")
    assert all(score.value is None and score.n == 0 for score in found.values())


labels = st.sampled_from([*VERDICTS, "invalid"])
cited = st.lists(
    st.dictionaries(st.sampled_from("12345"), labels, max_size=4).map(lambda d: list(d.items())),
    min_size=1,
    max_size=5,
)


@given(cited)
def test_against_medaesqas_counting(cites: list[list[tuple[str, CitationLabel]]]):
    # A document that one sentence takes for invalid and another does not cannot be: a citation
    # resolves or it does not.
    invalid = {name for pairs in cites for name, label in pairs if label == "invalid"}
    clean: list[list[tuple[str, CitationLabel]]] = [
        [(name, "invalid" if name in invalid else label) for name, label in pairs]
        for pairs in cites
    ]
    found = score_citations(*answer(*clean), "judge")
    n_all = sum(len(pairs) for pairs in clean)
    n_support = sum(label == "supports" for pairs in clean for _, label in pairs)
    n_covered = sum(any(label == "supports" for _, label in pairs) for pairs in clean)
    documents = {name for pairs in clean for name, _ in pairs}
    relevant = {name for pairs in clean for name, label in pairs if label in RELEVANT}
    assert found["citations.coverage"].value == pytest.approx(n_covered / len(clean), abs=1e-4)
    if n_all:
        assert found["citations.support"].value == pytest.approx(n_support / n_all, abs=1e-4)
        wanted = len(relevant) / len(documents)
        assert found["citations.document_precision"].value == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("verdicts", "every", "some"),
    [
        ([], None, None),
        (["supports"], "supports", "supports"),
        (["supports", "supports"], "supports", "supports"),
        # One that is not supported makes it neutral, or by the other rule nothing.
        (["supports", "neutral", "not_relevant"], "neutral", "supports"),
        (["supports", "contradicts"], "contradicts", "contradicts"),
        (["neutral", "not_relevant"], "neutral", "neutral"),
        (["not_relevant", "not_relevant"], "not_relevant", "not_relevant"),
    ],
)
def test_the_merge_rules(verdicts: list[Verdict], every: Verdict | None, some: Verdict | None):
    assert merge_nugget_verdicts(verdicts) == every
    assert merge_nugget_verdicts(verdicts, "any") == some


@given(st.lists(st.sampled_from(VERDICTS), min_size=1), st.randoms())
def test_the_order_of_nuggets_does_not_matter(verdicts: list[Verdict], random):
    shuffled = list(verdicts)
    random.shuffle(shuffled)
    assert merge_nugget_verdicts(shuffled) == merge_nugget_verdicts(verdicts)


SPAN = EvidenceSpan(document="7", start=0, end=4, text="Text")


def nugget(verdict: Verdict | None) -> NuggetVerdict:
    return NuggetVerdict(
        sentence=1,
        document="7",
        nugget="A fact.",
        verdict=verdict,
        usage=Usage(n_calls=1),
        failure=None if verdict else FAILED,
    )


@pytest.mark.parametrize(
    ("verdicts", "merged"),
    [
        (["supports", "neutral"], "neutral"),
        (["supports", None], None),
        # Whatever the missing verdict would be, one contradiction decides.
        (["contradicts", None], "contradicts"),
    ],
)
def test_a_missing_verdict_leaves_the_citation_open(
    verdicts: list[Verdict | None], merged: Verdict | None
):
    cited = [(1, Citation(marker="1", document="7"), SPAN)]
    (found,) = merge_citations(cited, [nugget(verdict) for verdict in verdicts])
    assert found.verdict == merged
    assert (found.failure is None) == (merged is not None)
    assert found.usage.n_calls == len(verdicts)


def test_a_nugget_that_failed_counts_before_one_that_is_undecided():
    doubt = Failure(reason="undecided", detail="leans to contradicts at 0.60")
    open_ = nugget(None).model_copy(update={"failure": doubt, "tentative_label": "contradicts"})
    cited = [(1, Citation(marker="1", document="7"), SPAN)]
    (found,) = merge_citations(cited, [open_, nugget(None)])
    assert (found.failure, found.tentative_label) == (FAILED, None)
    # What it leans to is merged with what was decided.
    (found,) = merge_citations(cited, [nugget("supports"), open_])
    assert (found.verdict, found.failure, found.tentative_label) == (None, doubt, "contradicts")
    tentative_label = open_.model_copy(update={"tentative_label": "neutral"})
    (found,) = merge_citations(cited, [nugget("supports"), tentative_label])
    assert (found.verdict, found.tentative_label) == (None, "neutral")
    (found,) = merge_citations(cited, [nugget("supports"), tentative_label], "any")
    assert (found.verdict, found.tentative_label) == (None, "supports")
    (found,) = merge_citations(cited, [nugget("contradicts"), open_])
    assert (found.verdict, found.tentative_label, found.failure) == ("contradicts", None, None)


def test_two_markers_of_one_document_are_booked_once():
    cited = [(1, Citation(marker=m, document="7"), SPAN) for m in ("1", "PMID 7")]
    found = merge_citations(cited, [nugget("supports")])
    assert [verdict.verdict for verdict in found] == ["supports", "supports"]
    assert sum(verdict.usage.n_calls for verdict in found) == 1


def test_a_sentence_without_a_nugget_has_no_verdict():
    assert merge_citations([(1, Citation(marker="1", document="7"), SPAN)], []) == []
