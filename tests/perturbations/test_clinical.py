"""Damage of a few words: each change worked by hand, and the sentence stays a sentence."""

from __future__ import annotations

import random

from attacked import ANSWER, OTHER, SENTENCES, SOURCES, attacked, record_of, text_after
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.perturbations.counterfactuals import (
    Change,
    remove_hedge,
    swap_drug,
    swap_population,
    turn_direction,
    turn_negation,
)
from ragassay.perturbations.lexicon import copy_capitals, load_drugs, load_words, replace_words
from ragassay.perturbations.numbers import change_number
from ragassay.records import Article, ArticleLink, Case, Document, SentenceInput
from ragassay.retrievers.citation_warnings import check_cited_articles
from ragassay.text.segmenter import segment


def _found(change: Change, sentence: str) -> set[str | None]:
    return {change(sentence, random.Random(seed)) for seed in range(60)}


@each_case(
    ("sentence", "possible"),
    [
        # 0.1, 0.5, 2, 3 and 10 times as much, whole where it was whole.
        ("A dose of 50 mg.", {f"A dose of {n} mg." for n in (5, 25, 100, 150, 500)}),
        ("It took 7 days.", {f"It took {n} days." for n in (14, 21, 70)}),
        # A share stays below a hundred.
        ("In 40% of them.", {f"In {n}% of them." for n in (4, 20, 80)}),
        ("It was 2.5 mg.", {f"It was {n} mg." for n in ("0.25", "1.25", "5.0", "7.5", "25.0")}),
        ("P was below 0.5.", {f"P was below {n}." for n in ("0.05", "0.25")}),
        ("In 1,200 men.", {f"In {n} men." for n in ("120", "600", "2,400", "3,600", "12,000")}),
        # Both ends of a range, by one factor.
        ("For 10-20 mg.", {f"For {n} mg." for n in ("1-2", "5-10", "20-40", "30-60", "100-200")}),
        ("Taken once daily.", {"Taken twice daily."}),
        ("It was a 5-fold rise.", {f"It was a {n}-fold rise." for n in (10, 15, 50)}),
        # Numbers with a unit before those without.
        ("Of 30 we saw 7 patients.", {f"Of 30 we saw {n} patients." for n in (14, 21, 70)}),
    ],
)  # fmt: skip
def test_a_number_becomes_another(sentence: str, possible: set[str]):
    assert _found(change_number, sentence) == possible


@each_case(
    "sentence",
    [
        "IL-6, p53, CD4 and B12 rose.",
        "It was known in 1998 and since 2020.",
        "Growth factor 21 and activator protein 2 rose.",
        "Type 2 diabetes, in phase 3, see Figure 4.",
        "A (GCG)6 repeat.",
        "See 10.1000/182 or NCT01234.",
        "See (3) and [4].",
        "It took 1 year.",
        "There was none.",
    ],
)
def test_names_years_and_identifiers_are_no_numbers(sentence: str):
    assert _found(change_number, sentence) == {None}


@each_case(
    ("sentence", "possible"),
    [
        # Taken out.
        ("It does not help.", {"It helps."}),
        ("It does not have a role.", {"It has a role."}),
        ("They do not help.", {"They help."}),
        ("It did not help.", {"It did help."}),
        ("It cannot help.", {"It can help."}),
        ("It is not safe.", {"It is safe."}),
        ("There was no effect on pain.", {"There was an effect on pain."}),
        ("There were no deaths.", {"There were deaths."}),
        ("No clear benefit was seen.", {"Clear benefit was seen."}),
        ("No difference was seen.", {"A difference was seen."}),
        # Put in.
        ("It is safe.", {"It is not safe."}),
        ("It has been shown.", {"It has not been shown."}),
        ("It has a role.", {"It does not have a role."}),
        ("They have a role.", {"They do not have a role."}),
        ("It may help.", {"It cannot help."}),
        ("Drug A improves sleep.", {"Drug A does not improve sleep."}),
        ("Drug A reduced the pain.", {"Drug A did not reduce the pain."}),
        # A participle and a plural noun are no verbs.
        ("Patients reduced by pain.", {None}),
        ("Large increases.", {None}),
        ("Not only this.", {None}),
    ],
)
def test_a_negation_is_taken_out_or_put_in(sentence: str, possible: set[str | None]):
    assert _found(turn_negation, sentence) == possible


@each_case(
    ("change", "sentence", "possible"),
    [
        (turn_direction, "It gave higher pressure.", {"It gave lower pressure."}),
        (turn_direction, "Improved sleep.", {"Worsened sleep."}),
        (turn_direction, "It shows an increase.", {"It shows a decrease."}),
        (turn_direction, "It shows a decrease.", {"It shows an increase."}),
        (turn_direction, "It is up-regulated at least once.",
         {"It is down-regulated at least once.", "It is up-regulated at most once."}),
        (turn_direction, "High-throughput tests.", {None}),
        (turn_direction, "They went to Higher Education.", {None}),
        (swap_population, "Seen in older adults.",
         {"Seen in young children.", "Seen in adolescents."}),
        (swap_population, "Seen in vitro.", {"Seen in vivo."}),
        (swap_population, "Seen in bees.", {None}),
        (remove_hedge, "It may help.", {"It will help."}),
        (remove_hedge, "It was in May.", {None}),
        (remove_hedge, "This suggests that it helps.", {"This proves that it helps."}),
        (remove_hedge, "It is associated with pain.", {"It causes pain."}),
        (remove_hedge, "A potential role.", {"A proven role."}),
        (remove_hedge, "It has potential.", {None}),
    ],
)  # fmt: skip
def test_a_word_gives_way_to_another(change: Change, sentence: str, possible: set[str | None]):
    assert _found(change, sentence) == possible


def test_a_drug_of_its_class_that_the_sources_name_is_taken_first():
    change = swap_drug(["Ibuprofen and naproxen were compared, and warfarin."])
    assert _found(change, "Ibuprofen helps.") == {"Naproxen helps."}
    assert _found(change, "Aspirin and ASPIRIN help.") == {
        f"{copy_capitals('A', other)} and {other.upper()} help."
        for other in load_drugs()["antiplatelets"]
        if other != "aspirin"
    }


def test_a_drug_of_an_unknown_class_gives_way_to_any_that_the_sources_name():
    change = swap_drug(["Warfarin was used."])
    assert _found(change, "Newdrumab helps.") == {"Warfarin helps."}
    assert _found(swap_drug([]), "Newdrumab helps.") == {None}
    assert _found(change, "Rest helps in April.") == {None}


def test_markers_are_not_damaged():
    text = "It took 7 days [12, 30] (PMID 1234567). It rose [2]."
    found = {text_after("number", text, seed) for seed in range(30)}
    assert found == {text.replace("7 days", f"{n} days") for n in (14, 21, 70)}


@given(st.text(max_size=80), st.integers(0, 100))
def test_any_text_can_be_tried(text: str, seed: int):
    for change in (change_number, turn_negation, turn_direction, swap_population, remove_hedge):
        changed = change(text, random.Random(seed))
        assert changed is None or changed != text


def test_one_sentence_is_changed_and_it_is_named():
    for name in ("number", "negation", "comparator", "population", "hedge"):
        for seed in range(6):
            perturbed = attacked(name, record_of(), seed=seed)
            assert perturbed and len(perturbed.sentences) == 1


def test_opposites_lead_back_and_change_something():
    words = load_words()
    assert all(one != other for one, other in words.opposites)
    assert all(word not in others for word, others in words.populations.items())
    assert all(hedge != certain for hedge, certain in words.hedges.items())


def test_a_citation_goes_to_a_source_that_bears_the_sentence_out_less():
    # Source 3 is on bees: it shares no word with any sentence. Source 2 shares less than 1 with
    # the dose, and 1 less than 2 with the children.
    found = {text_after("citation", ANSWER, seed) for seed in range(60)}
    assert found == {
        ANSWER.replace(old, new)
        for old, new in [
            ("(1, 2)", "(3, 2)"),
            ("(1, 2)", "(1, 3)"),
            ("children (2)", "children (3)"),
            ("children (2)", "children (1)"),
            ("mg (1)", "mg (2)"),
            ("mg (1)", "mg (3)"),
        ]
    }


def test_a_pmid_goes_to_the_pmid_of_another_source_or_record():
    text = "The usual dose is 300 mg [PMID 1111111]."
    found = {text_after("citation", text, seed) for seed in range(30)}
    assert found == {text.replace("1111111", pmid) for pmid in ("2222222", "3333333")}
    record = record_of("It helps [PMID 7777777].", sources=())
    perturbed = attacked("citation", record, OTHER)
    assert perturbed and perturbed.record.answer == "It helps [PMID 4444444]."
    assert attacked("citation", record) is None


def test_a_listed_citation_moves():
    for seed in range(20):
        perturbed = attacked("citation", record_of(SENTENCES), seed=seed)
        assert perturbed and len(perturbed.sentences) == 1
        pairs = zip(perturbed.record.answer, SENTENCES, strict=True)
        ((after, before),) = [(a, b) for a, b in pairs if a != b]
        assert isinstance(after, SentenceInput)
        assert after.text == before.text
        assert len(set(after.citations) - set(before.citations)) == 1
        assert set(after.citations) <= {source.id for source in SOURCES}


def test_ranges_dois_and_answers_without_citations_stay():
    for answer in ("It fell [1-3].", "It fell [10.1000/182].", "It fell."):
        assert attacked("citation", record_of(answer), OTHER) is None
    one = record_of("It fell [1].", sources=(Document(id="x", text="It fell."),))
    assert attacked("citation", one, OTHER) is None


def test_a_retracted_article_is_cited_before_the_full_stop():
    found = {text_after("retracted", ANSWER, seed) for seed in range(30)}
    marker = " [PMID 9999999]"
    assert found == {
        ANSWER.replace(old, new)
        for old, new in [
            ("(1, 2)", f"(1, 2){marker}"),
            ("children (2)", f"children (2){marker}"),
            ("mg (1)", f"mg (1){marker}"),
        ]
    }
    assert text_after("retracted", "It fell") == f"It fell{marker}"


def test_a_retracted_article_is_listed_beside_a_sentence():
    perturbed = attacked("retracted", record_of(SENTENCES[:1]))
    cited = {"citations": ("1111111", "2222222", "PMID 9999999")}
    assert perturbed and perturbed.record.answer == (SENTENCES[0].model_copy(update=cited),)
    assert perturbed.targets == ("findings.retracted_citation", "citations.support")
    # An article that is cited already is not cited again.
    assert attacked("retracted", record_of("It fell [PMID 9999999].")) is None


def test_the_finding_on_a_retracted_article_comes_up():
    link = ArticleLink(kind="retracted_by")
    bad = Article(id="9999999", text="It fell.", links=(link,))

    class Registry:
        def get(self, identifier: str) -> Document | None:
            return bad if identifier == bad.id else None

    perturbed = attacked("retracted", record_of())
    assert perturbed
    text, *found = segment(perturbed.record, Registry().get)
    sentences, sources = map(tuple, found)
    case = Case(record_id="a", question="q", answer=text, sentences=sentences, sources=sources)
    findings = check_cited_articles(case, Registry())  # type: ignore[arg-type]
    kinds = [finding.kind for finding in findings if finding.kind == "retracted_citation"]
    assert kinds == [perturbed.targets[0].removeprefix("findings.")]


def test_articles_follow_the_word_behind_them():
    assert replace_words("An increase.", 3, 11, "decrease") == "A decrease."
    assert replace_words("A big one.", 2, 5, "unusual") == "An unusual one."
    assert replace_words("A big one.", 2, 5, "universal") == "A universal one."
