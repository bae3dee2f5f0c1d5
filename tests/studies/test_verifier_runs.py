"""Reading of claims and cited sentences, and fitting and measuring of verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rows import write_rows
from verifier_files import DOCUMENTS, write_claims, write_corpus, write_medaesqa

from ragassay.errors import InputError, SettingsError
from ragassay.formats import read_corpus, read_records
from ragassay.formats.medaesqa import read_evidence
from ragassay.models import verifiers
from ragassay.models.correctness import EntailmentCorrectness, open_correctness_model
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import Pair
from ragassay.models.fitted_models import FittedThresholds, FittedVerifier
from ragassay.models.verifiers import open_entailment_model
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Document
from ragassay.retrievers.literature import Corpus
from ragassay.settings import load_settings
from ragassay.studies.verifiers.claims import (
    Claims,
    compute_label_shares,
    exclude_groups,
    fit,
    hash_claims,
    measure,
    read_labelled,
    split_claims,
)
from ragassay.studies.verifiers.sentences import (
    CitedSentence,
    check_documents,
    find_best_window_score,
    has_citation_labels,
    list_cited_sentences,
    read_labelled_sentences,
    sample_pairs,
    separate,
)
from ragassay.studies.verifiers.support import (
    AT_CLAIM,
    AT_QUESTION,
    compute_curves,
    count_steps,
    measure_support,
    parse_ks,
    parse_ways,
)

Halves = tuple[list[LabelledClaim], list[LabelledClaim]]


class Words:
    """Supports by the share of a claim's words that the passage has; notes what it was asked."""

    name, digest, bounds = "words", "w", ()

    def __init__(self, n_labels: int = 3) -> None:
        self.n_labels, self.asked = n_labels, []

    def predict_probabilities(self, pairs: Sequence[Pair]):
        self.asked += pairs
        rows = []
        for claim, passage in pairs:
            words = claim.lower().strip(".").split()
            share = sum(word in passage.lower() for word in words) / len(words)
            rows.append([share * 0.8, (1 - share * 0.8) / 4, (1 - share * 0.8) * 3 / 4])
        return np.array(rows).reshape(len(pairs), 3)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    """Named "words", and "two" where it has only two labels."""
    model, real = Words(), verifiers.NliModel
    known = {"words": model, "two": Words(2)}
    monkeypatch.setattr(verifiers, "NliModel", lambda name: known.get(name) or real(name))
    return model


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(read_corpus(write_corpus(tmp_path / "corpus.jsonl")).documents)


@pytest.fixture
def sentences(tmp_path: Path, corpus: Corpus) -> list[CitedSentence]:
    path = write_medaesqa(tmp_path / "medaesqa.json")
    return read_labelled_sentences(path, read_records(path).records, corpus)


def claims_of(tmp_path: Path, n: int = 12) -> Claims:
    return read_labelled([write_claims(tmp_path / "claims.jsonl", n)])


@pytest.fixture
def halves(tmp_path: Path) -> Halves:
    """Thirty claims, split into those to fit on and those held out."""
    return split_claims(claims_of(tmp_path, 30).claims, 0.5, 0)


def fitted_file(folder: Path, halves: Halves) -> Path:
    path = folder / "fitted.json"
    path.write_text(fit("words", *halves, folder).model_dump_json())
    return path


# Reading


def test_sentences_come_with_documents_labels_and_evidence(sentences: list[CitedSentence]):
    first, *_, last = sentences
    assert (first.topic, first.question, first.number) == ("q1", "What lowers pressure?", 1)
    assert [(d.id, d.label, d.evidence) for d in first.documents] == [
        ("11", "supports", ("Alpha lowered pressure in a trial.",)),
        ("13", "not_relevant", ()),
    ]
    assert [d.document and d.document.text for d in last.documents] == [DOCUMENTS["14"], None]
    assert len(sentences) == 5 and not sentences[2].documents
    assert check_documents(sentences) == 1


def test_evidence_may_be_a_text_or_several(tmp_path: Path):
    found = read_evidence(write_medaesqa(tmp_path / "m.json"))
    assert found == {
        ("q1/M1", 1, "11"): ("Alpha lowered pressure in a trial.",),
        ("q2/M1", 1, "13"): ("Gamma changed nothing.",),
    }


def test_of_several_labels_of_a_citation_the_most_count_and_of_equally_many_support(
    tmp_path: Path, corpus: Corpus
):
    sentence = {"text": "Alpha lowered pressure.", "citations": ["11", "12"]}
    row = {"id": "a", "question": "Q?", "answer": [sentence]}
    answers = write_rows(tmp_path / "a.jsonl", [row])
    given = {"11": ["neutral", "supports"], "12": ["neutral", "neutral", "supports"]}
    place = {"task": "citation", "record_id": "a", "sentence": 1}
    labels = write_rows(
        tmp_path / "labels.jsonl",
        [place | {"item": item, "label": one} for item, found in given.items() for one in found],
    )
    found = read_labelled_sentences(answers, read_records(answers).records, corpus, labels)
    assert [one.label for one in found[0].documents] == ["supports", "neutral"]
    assert has_citation_labels(labels) and not has_citation_labels(answers)


def test_answers_without_documents_are_refused(sentences, tmp_path: Path):
    path = tmp_path / "medaesqa.json"
    bare = list_cited_sentences(read_records(path).records, Corpus())
    with pytest.raises(InputError, match="none of 6 citations, such as 11, has a document"):
        check_documents(bare)


def test_medaesqa_gives_labelled_claims_grouped_by_question(tmp_path: Path, corpus: Corpus):
    found = read_labelled([write_medaesqa(tmp_path / "m.json")], corpus)
    assert [(c.claim, c.label) for c in found.claims] == [
        ("Alpha lowered pressure.", 0),
        ("Alpha lowered pressure.", 3),
        ("Beta raised pain.", 1),
        ("Gamma changed nothing.", 0),
        ("Delta helped children sleep.", 2),
    ]
    # Both questions cite document 13: no split may part them.
    assert len({c.group for c in found.claims}) == 1
    assert found.n_missing == 1


def test_scifacts_published_files_give_labelled_claims(tmp_path: Path):
    """Read the form of SciFact's and Citation-Integrity's claims and corpus, with invented text."""
    evidence = {"5": [{"sentences": [0], "label": "CONTRADICT"}]}
    rows = [
        {"id": 1, "claim": "It fell<|cit|>.", "evidence": {}, "cited_doc_ids": [5]},
        {"id": 2, "claim": "It rose.", "evidence": evidence, "cited_doc_ids": [5, 6]},
        {"id": 3, "claim": "It stood.", "evidence": {}, "cited_doc_ids": []},
    ]
    claims = write_rows(tmp_path / "claims.jsonl", rows)
    row = {"doc_id": 5, "title": "T", "abstract": ["It fell. ", "So."]}
    corpus = write_rows(tmp_path / "corpus.jsonl", [row])
    found = read_labelled([claims], Corpus(read_corpus(corpus).documents))
    assert [(c.claim, c.label, c.sentences) for c in found.claims] == [
        ("It fell.", 2, ("It fell.", "So.")),
        ("It rose.", 1, ("It fell.", "So.")),
    ]
    assert found.n_missing == 1
    assert [(r.line, r.field) for r in found.rejections] == [(3, "cited_doc_ids")]


@pytest.mark.parametrize(
    ("name", "n", "n_rejected"),
    # One marks a sentence that its abstract does not have, as it is cut here.
    [("scifact/pairs_train.jsonl", 919, 1), ("healthver/dev.jsonl", 1917, 0)],
)
def test_real_claims_are_read_or_rejected_by_their_lines(
    shared: Path, name: str, n: int, n_rejected: int
):
    found = read_labelled([shared / "data" / name])
    assert len(found.claims) == n - n_rejected
    assert [one.field for one in found.rejections] == ["evidence_sentences"] * n_rejected


def test_real_claims_with_a_corpus_are_read_whole(shared: Path):
    folder = shared / "data" / "citation-integrity"
    corpus = Corpus(read_corpus(folder / "corpus.jsonl.gz").documents)
    found = read_labelled([folder / "claims_dev.jsonl"], corpus)
    assert (len(found.claims), found.rejections, found.n_missing) == (316, (), 0)
    assert not any("cit|>" in claim.claim for claim in found.claims)


# Fitting and measuring


def test_no_group_is_on_both_sides_of_a_split(tmp_path: Path):
    claims = claims_of(tmp_path).claims
    learnt, held = split_claims(claims, 0.5, 1)
    assert (len(learnt), len(held)) == (6, 6)
    assert not {c.group for c in learnt} & {c.group for c in held}
    assert exclude_groups(held, hash_claims(learnt)) == held
    assert exclude_groups(claims, hash_claims(learnt)) == [c for c in claims if c in held]
    with pytest.raises(InputError, match="pass a separate file with --dev"):
        split_claims(claims[:1], 0.5, 1)


def test_a_threshold_is_fitted_apart_from_what_it_is_measured_on(
    tmp_path: Path, words: Words, halves: Halves
):
    learnt, held = halves
    found = fit("words", learnt, held, tmp_path, data=["claims.jsonl"])
    # Two of three words of the others are met, all three of a supported claim.
    assert 0.8 * 2 / 3 < found.thresholds.supports < 0.8
    assert (found.learnt.value, found.after.value) == (1, 1)
    assert found.before.value is not None and found.before.value < 1
    assert found.after.n == 15 and found.objective == "f1"
    with pytest.raises(InputError, match="share their text or document"):
        fit("words", learnt, [*held, learnt[0]], tmp_path)


def test_a_fitted_file_is_a_verifier_wherever_one_is_named(
    tmp_path: Path, words: Words, halves: Halves
):
    name = str(fitted_file(tmp_path, halves))
    model = open_entailment_model(name, tmp_path)
    assert isinstance(model, FittedVerifier) and model.name == "words, thresholds fitted"
    pairs = [("Alpha is red.", "Alpha is blue.")]
    assert model.predict_probabilities(pairs).argmax() == 2
    assert Words().predict_probabilities(pairs).argmax() == 0
    assert isinstance(open_correctness_model(name, Embedder(), tmp_path), EntailmentCorrectness)
    problem = "is already fitted; pass the verifier that was fitted, words"
    with pytest.raises(InputError, match=problem):
        fit(name, *halves, tmp_path)
    words.digest = "other weights"
    with pytest.raises(SettingsError, match="fitted to other weights"):
        open_entailment_model(name, tmp_path)
    with pytest.raises(SettingsError, match="ragassay verifiers fit"):
        FittedThresholds.read(tmp_path / "none.json")


def test_three_labels_have_two_thresholds(tmp_path: Path, words: Words, halves: Halves):
    found = fit("words", *halves, tmp_path, n_labels=3)
    assert found.thresholds.contradicts is not None and found.objective == "macro_f1"
    assert (found.learnt.value or 0) >= 0.5
    with pytest.raises(InputError, match="has only two labels"):
        fit("two", *halves, tmp_path, n_labels=3)


def test_verifiers_are_measured_for_the_labels_that_they_know(tmp_path: Path, words: Words):
    claims = claims_of(tmp_path).claims
    found = measure(["words", "two"], claims, tmp_path)
    assert [(one.verifier, one.n_labels) for one in found] == [("words", n) for n in (2, 2, 3)]
    binary = found[0].result.averages[0]
    # All are called supported, 4 of 12 are.
    assert (binary.precision.value, binary.recall.value) == (pytest.approx(1 / 3), 1)
    assert found[0].result.auc and found[0].result.auc.value == 1
    assert len(words.asked) == 12  # once for both tables
    with pytest.raises(InputError, match="has three labels"):
        measure(["two"], claims, tmp_path, [3])


def test_what_thresholds_were_fitted_to_is_not_measured_on(
    tmp_path: Path, words: Words, halves: Halves
):
    learnt, held = halves
    path = str(fitted_file(tmp_path, halves))
    found = measure(["words", path], [*learnt, *held], tmp_path, [2])
    assert [(one.result.accuracy.n, one.n_left_out) for one in found] == [(15, 15), (15, 15)]
    assert found[1].result.accuracy.value == 1
    with pytest.raises(InputError, match="fitted to all of these claims"):
        measure([path], learnt, tmp_path, [2])


@pytest.mark.integration
def test_a_claim_is_compared_with_the_closest_sentence(words: Words, tmp_path: Path):
    rows = [{"claim": "Pain rose.", "label": "supports", "evidence": "It rained. Pain grew. So."}]
    claims = read_labelled([write_rows(tmp_path / "c.jsonl", rows)]).claims
    compute_label_shares(words, claims, Embedder())
    assert words.asked == [("Pain rose.", "\nPain grew.")]


# Support by documents


def test_a_document_scores_as_its_best_run_of_three_sentences():
    model = EntailmentCorrectness(Words())
    text = "One. Two. Three. Alpha fell. Five."
    found = find_best_window_score(model, "Alpha fell.", Document(id="1", text=text))
    assert found == pytest.approx(0.8)
    assert find_best_window_score(model, "Alpha fell.", Document(id="1", text="")) is None


def test_a_sentence_is_paired_with_the_first_supported_one_of_another_question(sentences):
    pairs = sample_pairs(sentences)
    assert [(p.sentence.text, p.other.text) for p in pairs] == [
        ("Alpha lowered pressure.", "Gamma changed nothing."),
        ("Gamma changed nothing.", "Alpha lowered pressure."),
    ]
    assert sample_pairs(sentences) == pairs
    with pytest.raises(InputError, match="found 1"):
        sample_pairs([one for one in sentences if one.topic == "q1"])


def test_own_documents_and_evidence_are_scored_against_others(sentences: list[CitedSentence]):
    found = separate(sample_pairs(sentences), EntailmentCorrectness(Words()))
    assert [one.source for one in found] == ["documents", "evidence"]
    for one in found:
        assert one.result is not None and one.n_unscored == 0
        assert one.result.accuracy == one.result.auc == one.result.pooled_auc == 1
        assert one.result.positive == pytest.approx(0.8) and one.result.negative < 0.5
        assert sorted(one.result.questions) == ["q1", "q2"]


def test_supp_as_counts_any_cited_document_and_cs_those_that_people_call_supporting(sentences):
    found = measure_support(sentences, EntailmentCorrectness(Words()))
    # By any: alpha, beta, gamma, delta (whose second document is not here); one cites nothing.
    assert (found.all_cited.value, found.all_cited.n, found.all_cited.n_unscored) == (1, 4, 1)
    supporting = found.supporting
    assert supporting and (supporting.value, supporting.n, supporting.n_unscored) == (1, 2, 3)
    strict = EntailmentCorrectness(Words())
    strict.threshold = 0.9
    found = measure_support(sentences, strict, has_labels=False)
    # What delta's missing document says nobody knows.
    assert (found.all_cited.value, found.all_cited.n, found.all_cited.n_unscored) == (0, 3, 2)
    assert found.supporting is None


def test_correctness_at_k_by_question_and_by_claim(sentences: list[CitedSentence], corpus: Corpus):
    settings = load_settings(reranker="none")
    model = EntailmentCorrectness(Words())
    asked = [one for one in sentences if one.documents]
    steps: list[int] = []
    found = compute_curves(
        asked, [model], corpus, settings, parse_ways("both"), (1, 4), step=lambda: steps.append(1)
    )
    assert [one.name for one in found] == [AT_QUESTION, AT_CLAIM]
    by_question, by_claim = ({k: s.value for k, s in one.points.items()} for one in found)
    # "What lowers pressure?" finds 11 alone, "What does gamma do?" 13 alone, its own sentence each.
    assert by_question == {1: 0.5, 4: 0.5}
    # Each sentence finds the document that says it.
    assert by_claim == {1: 1.0, 4: 1.0}
    assert len(steps) == count_steps(asked, parse_ways("both"), 1) == 2 + 4 + 8
    with pytest.raises(InputError, match="no corpus to search"):
        compute_curves(asked, [model], Corpus(), settings, ("question",), (1,))


@pytest.mark.parametrize("text", ["", "0", "10,-5", "ten", "10,,20"])
def test_numbers_of_documents_are_whole(text: str):
    with pytest.raises(InputError, match="--k"):
        parse_ks(text)
