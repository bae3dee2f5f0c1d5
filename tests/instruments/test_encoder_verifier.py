"""Verdicts without a language model."""

from __future__ import annotations

import numpy as np
import pytest
from case_tables import each_case
from fakes import WordEmbedder

from ragassay.instruments.encoder_verifier import EncoderVerifier
from ragassay.records import Bound, BoundLevel, EvidenceSpan, Verdict

CLAIM = "Alpha lowers pressure"


class Fixed:
    name, digest = "fixed", ""

    bounds: tuple[Bound, ...] = ()

    def __init__(self, *shares: float) -> None:
        self.shares = shares
        self.asked: list[tuple[str, str]] = []

    def predict_probabilities(self, pairs):
        self.asked += pairs
        return np.array([self.shares for _ in pairs])


def span(text: str, title: str = "") -> EvidenceSpan:
    return EvidenceSpan(document="1", start=0, end=len(text), text=text, title=title)


NUMBERS_DIFFER = "the source says 2 mm, the answer 5 mm"
WORDS_DIFFER = '"increases" here, "reduces" there'
SUPPORT, CONTRADICTION, OPEN = (0.7, 0.2, 0.1), (0.2, 0.7, 0.1), (0.1, 0.2, 0.7)


@each_case(
    ("shares", "text", "n_labels", "verdict"),
    [
        (SUPPORT, "Alpha lowers pressure.", 4, "supports"),
        (CONTRADICTION, "Alpha lowers pressure.", 4, "contradicts"),
        # A word that both share makes it the same subject.
        (OPEN, "Alpha and beta.", 4, "neutral"),
        (OPEN, "The train was late.", 4, "not_relevant"),
        (OPEN, "The train was late.", 3, "neutral"),
        (CONTRADICTION, "Alpha lowers pressure.", 3, "contradicts"),
        (CONTRADICTION, "Alpha lowers pressure.", 2, "not_attributable"),
        (OPEN, "Alpha and beta.", 2, "not_attributable"),
        (SUPPORT, "Alpha lowers pressure.", 2, "supports"),
    ],
)
def test_the_likeliest_label_is_the_verdict(shares, text: str, n_labels: int, verdict: Verdict):
    found = verifier(shares, n_labels=n_labels).verify(CLAIM, span(text))
    assert (found.verdict, found.confidence) == (verdict, 0.7)
    assert found.usage.n_calls == 0


def bound(label: str, threshold: float | None, level: BoundLevel = "verdict") -> Bound:
    return Bound(label=label, level=level, threshold=threshold, risk=0.2, delta=0.1, n=100)


def verifier(
    shares: tuple[float, ...], *bounds: Bound, n_labels: int = 4, by_rule: bool | None = None
) -> EncoderVerifier:
    model = Fixed(*shares)
    model.bounds = bounds
    return EncoderVerifier(model, WordEmbedder(), n_labels, by_rule=by_rule)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shares", "n_labels", "threshold", "tentative_label"),
    [
        (CONTRADICTION, 4, 0.71, "contradicts"),
        (CONTRADICTION, 4, None, "contradicts"),
        # What is merged into another label needs what it needed before.
        (CONTRADICTION, 2, 0.71, "not_attributable"),
        # The bound is another label's.
        (SUPPORT, 4, 0.71, None),
        (OPEN, 4, 0.71, None),
    ],
)
def test_below_its_bound_a_label_is_a_leaning(shares, n_labels, threshold, tentative_label):
    bounds = (bound("contradicts", threshold), bound("supports", 0.99, "finding"))
    text = span("Alpha lowers pressure.")
    found = verifier(shares, *bounds, n_labels=n_labels).verify(CLAIM, text)
    is_open = tentative_label is not None
    assert (found.tentative_label, found.verdict is None) == (tentative_label, is_open)
    assert (found.failure.reason if found.failure else None) == ("undecided" if is_open else None)
    assert found.confidence == 0.7 and found.entropy_bits is not None


def test_each_kind_of_verdict_has_a_bound_of_its_own():
    kinds = {"number": 0.65, "words": None}
    against = [bound("contradicts", t).model_copy(update={"kind": k}) for k, t in kinds.items()]
    unrelated = bound("neutral", 0.65).model_copy(update={"kind": "not_relevant"})

    bounds = (*against, unrelated, bound("neutral", None))

    def compared(shares: tuple[float, ...], claim: str, text: str):
        return verifier(shares, *bounds).compare(claim, text, beside=[])

    text = "Alpha lowers pressure by 12 mmHg in adults."
    number = compared(SUPPORT, "Alpha lowers pressure by 15 mmHg in adults.", text)
    assert (number.verdict, number.tentative_label) == ("contradicts", None)
    words = compared(CONTRADICTION, "Alpha does not lower pressure by 12 mmHg in adults.", text)
    assert (words.verdict, words.tentative_label) == (None, "contradicts")
    assert compared(OPEN, CLAIM, "The train was late.").verdict == "not_relevant"
    assert compared(OPEN, CLAIM, "Alpha and beta.").tentative_label == "neutral"


@pytest.mark.parametrize(
    ("text", "verdict"), [("Alpha lowers pressure.", "supports"), ("Alpha is old.", None)]
)
def test_support_needs_a_close_sentence_where_its_bound_says_so(text, verdict):
    close = bound("supports", 0.5).model_copy(update={"least_cosine": 0.75})
    found = verifier(SUPPORT, close).compare(CLAIM, f"Beta. {text}")
    assert (found.verdict, found.tentative_label) == (verdict, None if verdict else "supports")
    if found.failure:
        assert "the closest sentence has a cosine of" in found.failure.detail


def test_what_a_rule_finds_turned_is_not_said_to_be_supported():
    strict, claim = verifier(SUPPORT, by_rule=True), "Alpha was associated with more delirium."
    found = strict.compare(claim, "Alpha was not associated with more delirium.", beside=[])
    assert (found.verdict, found.tentative_label) == (None, "supports")
    assert found.failure and "but a negation differs" in found.failure.detail
    assert strict.compare(claim, claim, beside=[]).verdict == "supports"


def test_neutral_and_not_relevant_share_a_bound():
    for text, label in {"Alpha and beta.": "neutral", "The train left.": "not_relevant"}.items():
        found = verifier(OPEN, bound("neutral", 0.8)).verify(CLAIM, span(text))
        assert (found.verdict, found.tentative_label) == (None, label)
        told = f'the tentative label "{label.replace("_", " ")}" has confidence 0.70, '
        assert found.failure and found.failure.detail.startswith(told)


def test_all_sentences_of_a_passage_that_fits_are_read_in_their_order():
    model = Fixed(*SUPPORT)
    near = ["Alpha lowers it.", "Pressure falls.", "Alpha is new.", "It lowers pressure."]
    text = f"Trains run. {near[0]} Winter ended. {near[1]} {near[2]} Rain fell. {near[3]}"
    EncoderVerifier(model, WordEmbedder()).verify(CLAIM, span(text, "On alpha"))  # type: ignore[arg-type]
    (asked,) = model.asked
    title, *lines = asked[1].split("\n")
    assert (asked[0], title) == (CLAIM, "On alpha.")
    assert [line for line in lines if line in near] == near and len(lines) == 7


@each_case(
    ("claim", "shares", "beside", "said", "difference"),
    [
        ("Alpha lowers pressure by 5 mm.", SUPPORT, [], "contradicts", NUMBERS_DIFFER),
        ("Alpha lowers pressure by 5 mm.", SUPPORT, ["By 5 mm."], "supports", ""),
        # Not all of the document was read: the 5 may stand in the rest.
        ("Alpha lowers pressure by 5 mm.", SUPPORT, None, "supports", ""),
        ("Alpha lowers pressure by 2 mm.", SUPPORT, [], "supports", ""),
        ("Alpha moves pressure.", CONTRADICTION, [], None, ""),
        ("Alpha increases pressure.", CONTRADICTION, None, "contradicts", WORDS_DIFFER),
        ("Alpha does not move pressure.", CONTRADICTION, [], "contradicts", '"not" here alone'),
        # Which of several documents it is from cannot be told.
        ("Alpha does not move pressure.", CONTRADICTION, ["Beta."], None, ""),
    ],
)
def test_a_contradiction_needs_a_witness(claim, shares, beside, said, difference):
    text = "Alpha reduces pressure by 2 mm."
    found = verifier(shares, by_rule=True).compare(claim, text, beside=beside)
    assert (found.verdict, found.difference) == (said, difference)
    assert (found.tentative_label == "contradicts") == (said is None)


@each_case(
    ("text", "beside", "label"),
    [
        ("Alpha lowers pressure by 5 mm.", ["Beta lowers pressure by 2 mm."], "neutral"),
        ("Alpha lowers pressure.", ["Alpha by 5 mm, beta by 2 mm."], "neutral"),
        # Nobody states the 2, or this text alone states both.
        ("Alpha lowers pressure by 5 mm.", ["Beta lowers pressure."], "contradicts"),
        ("Alpha by 5 mm, beta by 2 mm.", ["Beta lowers pressure by 2 mm."], "contradicts"),
        ("Alpha lowers pressure by 5 mm.", [], "contradicts"),
        # Another value is a difference of its own.
        ("Alpha lowers pressure by 50 mm.", ["Beta lowers pressure by 2 mm."], "contradicts"),
    ],
)
def test_half_of_a_claim_from_two_documents_is_no_contradiction(text, beside, label):
    claim = "Alpha lowers pressure by 5 mm and beta by 2 mm."
    found = verifier(CONTRADICTION, by_rule=True).compare(claim, text, beside=beside)
    assert (found.verdict or found.tentative_label) == label


def test_a_number_that_the_text_does_not_state_is_kept_apart_and_changes_no_verdict():
    strict, claim = verifier(SUPPORT, by_rule=True), "Alpha lowers pressure in 340 men."
    found = strict.compare(claim, "Alpha lowers pressure.", beside=[])
    assert (found.verdict, found.confidence, found.difference) == ("supports", 0.7, "")
    assert found.absent_numbers == ("340",)
    # The rest of the document may state it.
    assert strict.compare(claim, "Alpha lowers pressure.").absent_numbers == ()
    assert strict.compare(claim, "Alpha lowers it.", beside=["340 men."]).absent_numbers == ()


def test_a_comparison_turned_round_is_undecided():
    straight = "Alpha lowers pressure more than beta."
    turned, source = "Beta lowers pressure more than alpha.", span(straight)
    assert verifier(SUPPORT).verify(turned, source).verdict == "supports"
    bounded = verifier(SUPPORT, bound("supports", 0.6))
    assert bounded.verify(straight, source).verdict == "supports"
    found = bounded.verify(turned, source)
    assert (found.verdict, found.tentative_label) == (None, "supports")
    assert found.failure and '"alpha"' in found.failure.detail
