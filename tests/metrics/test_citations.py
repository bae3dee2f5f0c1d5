"""How an answer cites: MedAESQA's measures, BioACE's merge rule, ALCE's recall and precision."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.citations import (
    PRECISION,
    RECALL,
    RELEVANT,
    CitingSentence,
    MergeRule,
    Support,
    compute_alce_scores,
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
    sentences, verdicts = [], []
    for index, pairs in enumerate(cited, 1):
        citations = [
            Citation(marker=name, document=None if label == "invalid" else name)
            for name, label in pairs
        ]
        given = {"start": 0, "end": 1, "citations": tuple(citations)}
        sentences.append(AnswerSentence(index=index, text="s", **given))
        for citation, (_, label) in zip(citations, pairs, strict=True):
            failure = None if label else FAILED
            verdicts.append(
                CitationVerdict(sentence=index, citation=citation, verdict=label, failure=failure)
            )
    return sentences, verdicts


def test_by_hand():
    # Five citations of four documents (1 is cited twice) in three sentences, one of which cites
    # nothing. Two support: 2/5. One contradicts: 1/5. Of three sentences the first alone has a
    # support: 1/3. Documents 1, 2 are on the subject, 3 is not, 9 points nowhere: 2/4. Of three
    # sentences two cite a document: 2/3.
    first = [("1", "supports"), ("2", "supports"), ("9", "invalid")]
    second = [("1", "contradicts"), ("3", "not_relevant")]
    found = score_citations(*answer(first, second, []), "judge")
    assert {key: score.value for key, score in found.items()} == {
        "citations.support": 0.4,
        "citations.contradict": 0.2,
        "citations.coverage": 0.3333,
        "citations.document_precision": 0.5,
        "citations.cited": 0.6667,
    }
    assert [key for key, score in found.items() if not score.judge] == ["citations.cited"]


def test_what_could_not_be_had_is_left_out_and_widens_the_bounds():
    found = score_citations(*answer([("1", "supports"), ("2", None)], [("2", None)]), "judge")
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
    found = score_citations(*answer([("1", "supports"), ("2", "not_attributable")]), "judge")
    assert "citations.contradict" not in found
    assert found["citations.support"].value == 0.5


def test_an_answer_without_citations_has_zero_of_each_as_in_medaesqa():
    found = score_citations(*answer([], []), "judge")
    assert {score.value for score in found.values()} == {0.0}
    support = found["citations.support"]
    assert (support.n, support.worst, support.best, support.low) == (0, 0.0, 0.0, None)


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
CITED = (1, Citation(marker="1", document="7"), SPAN)


def nugget(verdict: Verdict | None, **fields: object) -> NuggetVerdict:
    given = {"sentence": 1, "document": "7", "nugget": "A fact.", "usage": Usage(n_calls=1)}
    given |= {"verdict": verdict, "failure": None if verdict else FAILED}
    return NuggetVerdict.model_validate(given | fields)


def merge(*nuggets: NuggetVerdict, rule: MergeRule = "all") -> CitationVerdict:
    (found,) = merge_citations([CITED], nuggets, rule)
    return found


@pytest.mark.parametrize(
    ("verdicts", "merged"),
    [
        (["supports", "neutral"], "neutral"),
        (["supports", None], None),
        # Whatever the missing verdict would be, one contradiction decides.
        (["contradicts", None], "contradicts"),
    ],
)
def test_a_missing_verdict_leaves_the_citation_open(verdicts, merged):
    found = merge(*map(nugget, verdicts))
    assert found.verdict == merged
    assert (found.failure is None) == (merged is not None)
    assert found.usage.n_calls == len(verdicts)


DOUBT = Failure(reason="undecided", detail="leans to contradicts at 0.60")
AGAINST = nugget(None, failure=DOUBT, tentative_label="contradicts")
NEUTRAL = nugget(None, failure=DOUBT, tentative_label="neutral")


@each_case(
    ("nuggets", "rule", "verdict", "failure", "tentative_label"),
    [
        # One that failed counts before one that is undecided.
        ([AGAINST, nugget(None)], "all", None, FAILED, None),
        # What it leans to is merged with what was decided.
        ([nugget("supports"), AGAINST], "all", None, DOUBT, "contradicts"),
        ([nugget("supports"), NEUTRAL], "all", None, DOUBT, "neutral"),
        ([nugget("supports"), NEUTRAL], "any", None, DOUBT, "supports"),
        ([nugget("contradicts"), AGAINST], "all", "contradicts", None, None),
    ],
)
def test_an_undecided_nugget_leaves_a_leaning(nuggets, rule, verdict, failure, tentative_label):
    found = merge(*nuggets, rule=rule)
    assert (found.verdict, found.failure) == (verdict, failure)
    assert found.tentative_label == tentative_label


def test_two_markers_of_one_document_are_booked_once():
    cited = [(1, Citation(marker=m, document="7"), SPAN) for m in ("1", "PMID 7")]
    found = merge_citations(cited, [nugget("supports")])
    assert [verdict.verdict for verdict in found] == ["supports", "supports"]
    assert sum(verdict.usage.n_calls for verdict in found) == 1


def test_a_sentence_without_a_nugget_has_no_verdict():
    assert merge_citations([CITED], []) == []


def alce_values(*sentences: CitingSentence) -> tuple[float | None, float | None]:
    found = compute_alce_scores(sentences, "judge")
    return found[RECALL].value, found[PRECISION].value


def test_alce_worked_by_hand():
    # The first sentence is supported by both together only: both are needed. In the second, 1 is
    # enough, and 2 is not needed. The third cites nothing. The fourth is not supported.
    both = CitingSentence({"1": False, "2": False}, True, {"1": False, "2": False})
    one = CitingSentence({"1": True, "2": False}, True, {"2": True})
    none = CitingSentence()
    wrong = CitingSentence({"3": False}, False)
    assert alce_values(both) == (1.0, 1.0)
    assert alce_values(one) == (1.0, 0.5)
    assert alce_values(none) == (0.0, 0.0)
    assert alce_values(wrong) == (0.0, 0.0)
    # Two of four sentences; of five citations three.
    assert alce_values(both, one, none, wrong) == (0.5, 0.6)


def test_an_invalid_citation_spoils_its_sentence():
    found = compute_alce_scores([CitingSentence({"1": True}, True, has_invalid=True)], "judge")
    assert (found[RECALL].value, found[PRECISION].value, found[PRECISION].n) == (0.0, 0.0, 2)


def test_what_nobody_could_tell_is_unscored_and_bounded():
    sentences = [CitingSentence({"1": None}, None), CitingSentence({"2": True}, True)]
    found = compute_alce_scores(sentences, "j")
    for score in found.values():
        assert (score.value, score.n, score.n_unscored) == (1.0, 1, 1)
        assert (score.worst, score.best) == (0.5, 1.0)


def test_a_sentence_without_a_citation_is_no_recall_where_all_others_failed():
    found = compute_alce_scores([CitingSentence({"1": None}, None), CitingSentence()], "j")
    assert (found[RECALL].value, found[RECALL].n, found[RECALL].n_unscored) == (None, 0, 2)
    assert (found[RECALL].worst, found[RECALL].best) == (0.0, 0.5)


def as_alces_program(alone: dict[str, bool], together: bool, without: dict[str, bool]):
    """What its loop adds for one sentence: to recall, and to precise citations."""
    if not together or len(alone) < 2:
        return int(together), int(together)
    return 1, sum(1 for name in alone if alone[name] or not without[name])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_sentence_counts_as_in_alces_program(n: int):
    names = [str(i) for i in range(n)]
    for bits in itertools.product((False, True), repeat=2 * n + 1):
        alone = dict(zip(names, bits[:n], strict=True))
        without = dict(zip(names, bits[n : 2 * n], strict=True))
        together = alone["0"] if n == 1 else bits[-1]
        asked: dict[str, Support] = {k: v for k, v in without.items() if not alone[k]}
        recall, precise = as_alces_program(alone, together, without)
        assert alce_values(CitingSentence(dict(alone), together, asked)) == (
            recall,
            pytest.approx(precise / n, abs=1e-4),
        )
