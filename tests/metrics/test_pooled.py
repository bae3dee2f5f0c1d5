"""Scores that need the other answers to a question."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from answers import answer, changed
from case_tables import each_case

from ragassay.metrics.papers.pooled import (
    CLUSTER_RECALL,
    build_document_key,
    find_public_id,
    list_clustered_texts,
    score_document_recall,
    score_sentence_recall,
)
from ragassay.records import RELEVANCE_LABELS, Document, Evaluation, Score


def one_hot(*answers: Evaluation) -> dict[str, np.ndarray]:
    """Far apart for different first letters, the same for equal ones."""
    texts = {text for a in answers for text in list_clustered_texts(a)}
    return {text: np.eye(26)[ord(text[0]) - ord("a")] for text in texts}


def recalls(*answers: Evaluation) -> dict[str, dict[str, Score]]:
    return score_sentence_recall(answers, one_hot(*answers))


def cluster_recall(*answers: Evaluation) -> dict[str, Score]:
    return {name: scores[CLUSTER_RECALL] for name, scores in recalls(*answers).items()}


def labelled(record_id: str, text: str, label: str | None = "required") -> Evaluation:
    return answer(record_id, labels=[(word, label) for word in text.split()])


@each_case(
    ("first", "second", "recalls", "n"),
    [
        # Different sentences a b c d: four clusters, of which the first answer has a and b.
        ("a b", "b c d", (0.5, 0.75), 4),
        # The same meaning in other words is one cluster.
        ("apple b", "avocado", (1.0, 0.5), 2),
        ("", "a", (0.0, 1.0), 1),
    ],
)
def test_cluster_recall_worked_by_hand(first, second, recalls, n):
    found = cluster_recall(labelled("one", first), labelled("two", second))
    assert (found["one"].value, found["two"].value) == recalls
    assert {score.n for score in found.values()} == {n}


def test_medaesqas_recalls_divide_by_ten_and_count_their_own_sentences():
    # Required and borderline: a b c d, of which the first answer has three. Required: a b, and d.
    # Required and supported: a, and d.
    one = answer(
        "one",
        labels=[("a", "required"), ("b", "required"), ("c", "borderline"), ("x", "unnecessary")],
        citations=[(1, "31180121", "supports"), (2, "31180122", "neutral")],
    )
    two = answer("two", labels=[("d", "required")], citations=[(1, "31180121", "supports")])
    found = recalls(one, two)
    values = {name: [score.value for score in scores.values()] for name, scores in found.items()}
    names = ("recall", "cluster_recall", "recall_required", "recall_supported")
    assert list(found["one"]) == [f"sentences.{name}" for name in names]
    assert values == {"one": [0.3, 0.75, 0.2, 0.1], "two": [0.1, 0.25, 0.1, 0.1]}
    assert {found["one"][key].n for key in found["one"]} == {10, 4}


def test_recalls_of_unscored_sentences_have_bounds():
    one = answer("one", labels=[("a", "required"), ("x", None)])
    score = recalls(one, labelled("two", "b"))["one"]["sentences.recall"]
    assert (score.value, score.n_unscored, score.worst, score.best) == (0.1, 1, 0.1, 0.2)


def test_published_clusters_stand_in_place_of_ours():
    published = {
        "required_and_borderline_answer_sentences_cluster": {("one", 1): "7", ("one", 2): "7"},
        "required_answer_sentences_cluster": {("one", 1): "0", ("one", 2): "1"},
    }
    answers = labelled("one", "a b"), labelled("two", "c")
    found = score_sentence_recall(answers, {}, published)
    assert found["one"]["sentences.recall"].value == 0.1
    assert found["one"]["sentences.recall_required"].value == 0.2
    assert found["two"]["sentences.recall"].value == 0.0


def test_only_required_and_borderline_sentences_are_clustered():
    mixed = answer("one", labels=[*zip("abcd", RELEVANCE_LABELS, strict=True)])
    assert list_clustered_texts(mixed) == ["a", "b"]
    found = cluster_recall(mixed, labelled("two", "a"))
    assert (found["one"].value, found["two"].value) == (1.0, 0.5)


def test_there_are_ten_clusters_at_most():
    found = cluster_recall(labelled("one", "a b c d e f"), labelled("two", "g h i j k l m"))
    assert {score.n for score in found.values()} == {10}
    assert sum(score.value or 0 for score in found.values()) >= 1.0


def test_order_of_answers_does_not_show():
    answers = [labelled("one", "a b c"), labelled("two", "d e"), labelled("three", "a f g h i j k")]
    every = [cluster_recall(*order) for order in itertools.permutations(answers)]
    assert all(found == every[0] for found in every)


def test_unscored_labels_widen_the_bounds():
    # Clusters a and b. The first has a, and one sentence unknown: it may be b. Were the unknown
    # one a cluster of its own, the second would have one of three.
    first = answer("one", labels=[("a", "required"), ("x", None)])
    found = cluster_recall(first, labelled("two", "b"))
    one, two = found["one"], found["two"]
    assert (one.value, one.n, one.n_unscored, one.worst, one.best) == (0.5, 2, 1, 0.5, 1.0)
    assert (two.value, two.n_unscored, two.best) == (0.5, 1, 0.5)
    assert two.worst == pytest.approx(1 / 3, abs=1e-4)


def test_answer_with_every_label_missing_has_no_value():
    found = cluster_recall(labelled("one", "a b", None), labelled("two", "a"))
    assert (found["one"].value, found["one"].n, found["one"].n_unscored) == (None, 0, 2)
    assert (found["one"].worst, found["one"].best) == (0.0, 1.0)
    both = cluster_recall(labelled("one", "a", None), labelled("two", "b", None))
    assert [(s.value, s.worst, s.best) for s in both.values()] == [(None, 0.0, 1.0)] * 2


def test_nothing_required_has_no_value():
    found = cluster_recall(labelled("one", "a", "unnecessary"), labelled("two", "b", "unnecessary"))
    assert [(s.value, s.n, s.n_unscored) for s in found.values()] == [(None, 0, 0)] * 2


def test_single_answers_and_runs_without_labels_have_none():
    assert cluster_recall(labelled("one", "a")) == {}
    unlabelled = changed(labelled("two", "a"), labels=())
    assert cluster_recall(labelled("one", "a"), unlabelled) == {}
    assert cluster_recall(answer("one"), answer("two")) == {}
    assert cluster_recall() == {}


def cited(record_id: str, **verdicts: str | None) -> Evaluation:
    return answer(
        record_id,
        labels=[("a", "required")],
        citations=[(1, f"3118012{name[-1]}", verdict) for name, verdict in verdicts.items()],
    )


def test_document_recall_worked_by_hand():
    # Relevant: 1, 2 (first), 2, 3 (second): three in all. 4 is not relevant.
    one = cited("one", d1="supports", d2="neutral", d4="not_relevant")
    two = cited("two", d2="contradicts", d3="supports")
    found = score_document_recall([one, two, cited("three")])
    assert [score.value for score in found.values()] == [0.6667, 0.6667, 0.0]
    assert {score.n for score in found.values()} == {3}


def test_a_document_counts_once_however_often_it_is_cited():
    citations = [(1, "111111", "not_relevant"), (2, "111111", "supports")]
    twice = answer("one", labels=[("a", "required"), ("b", "required")], citations=citations)
    found = score_document_recall([twice, cited("two", d1="supports")])
    assert (found["one"].value, found["one"].n) == (0.5, 2)


def test_undecided_citations_widen_the_bounds():
    # Relevant for sure: 1 and 2. The first may gain 3: 1/2 to 2/3; if 3 were relevant for the
    # second answer, which does not cite it, nothing would change.
    answers = [cited("one", d1="supports", d3=None), cited("two", d2="supports")]
    found = score_document_recall(answers)
    one, two = found["one"], found["two"]
    assert (one.value, one.n, one.n_unscored, one.worst, one.best) == (0.5, 2, 1, 0.5, 0.6667)
    assert (two.value, two.n_unscored, two.worst, two.best) == (0.5, 1, 0.3333, 0.5)


def test_bounds_hold_every_way_in_which_verdicts_could_have_come_out():
    known = {"one": {"d1": "supports", "d2": None}, "two": {"d2": None, "d3": "neutral"}}
    found = score_document_recall([cited(name, **v) for name, v in known.items()])
    for first, second in itertools.product(("supports", "not_relevant"), repeat=2):
        decided = score_document_recall(
            [cited("one", d1="supports", d2=first), cited("two", d2=second, d3="neutral")]
        )
        for name, score in decided.items():
            assert found[name].worst <= score.value <= found[name].best


def test_answer_with_every_citation_undecided_has_no_value():
    found = score_document_recall([cited("one", d1=None), cited("two", d2="supports")])
    assert (found["one"].value, found["one"].n_unscored) == (None, 1)
    assert (found["one"].worst, found["one"].best) == (0.0, 0.5)


def test_recall_without_a_relevant_document_has_no_value():
    found = score_document_recall([cited("one", d1="not_relevant"), cited("two")])
    assert [score.value for score in found.values()] == [None, None]
    assert score_document_recall([cited("one"), cited("two")]) == {}
    assert score_document_recall([cited("one", d1="supports")]) == {}


def test_ids_that_mean_something_in_their_record_only_need_the_same_text():
    def own(record_id: str, text: str) -> Evaluation:
        base = answer(record_id, labels=[("a", "required")], citations=[(1, "1", "supports")])
        return base.model_copy(update={"sources": (Document(id="1", text=text),)})

    for text, recall in (("Metformin.", 0.5), ("Aspirin.", 1.0)):
        found = score_document_recall([own("one", "Aspirin."), own("two", text)])
        assert [score.value for score in found.values()] == [recall] * 2


def test_public_ids_are_the_same_however_they_are_written():
    names = ("31180123", "PMID 31180123", "pmid:31180123")
    assert {find_public_id(name) for name in names} == {"31180123"}
    assert find_public_id("doi:10.1000/ABC") == "10.1000/abc"
    assert [find_public_id(name) for name in ("1", "s2", "", "10.1/x y")] == [None] * 4
    assert build_document_key(answer(), "PMID 31180123") == ("31180123", "")
