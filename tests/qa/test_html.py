"""The page of pairs: the worst first, self-contained, deaf to what untrusted text would do."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from lxml import html
from pages import check_inert, check_policy, check_well_formed

from ragassay.qa import view
from ragassay.qa.report import render_qa_html
from ragassay.qa.view import QAReport


@pytest.fixture
def page(report) -> str:
    return render_qa_html(report)


def parse_page(report: QAReport, **changes):
    return html.document_fromstring(render_qa_html(replace(report, **changes)))


@pytest.fixture
def tree(page):
    return html.document_fromstring(page)


def text_of(element) -> str:
    return " ".join(element.text_content().split())


def worst_of(tree) -> list[str]:
    return [text_of(item) for item in tree.xpath("(//ol[@class='worst'])[1]/li")]


class TestUntrustedText:
    def test_starts_no_element_or_template_and_becomes_no_attribute(self, page, tree):
        assert len(tree.xpath("//script")) == 1
        assert not tree.xpath("//form")
        check_inert(page)
        assert page.count("{{") == page.count("{{ 7*7 }}") > 10

    def test_is_shown_as_it_is_wherever_it_came_from(self, tree, texts):
        shown = text_of(tree)
        for place in (
            *("name", "Title", "Question", "Answer", "passage", "reason", "card", "note"),
            "acme/judge",
        ):
            assert f"{place} {texts.hostile}" in shown

    def test_control_characters_do_not_reach_the_page(self, report):
        pairs = [one.model_copy(update={"question": "a\x00b\x1b[31m"}) for one in report.pairs]
        page = render_qa_html(replace(report, pairs=pairs))
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)


class TestSelfContained:
    def test_loads_nothing(self, tree):
        for name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            for value in tree.xpath(f"//@*[name()='{name}']"):
                assert value.startswith("#") or value == "data:,"

    def test_is_well_formed_and_has_a_policy_and_links_that_arrive(self, report, page, tree):
        check_policy(page, "style", "script")
        check_well_formed(page)
        inside = tree.xpath("//a/@href")
        assert inside
        assert {href[1:] for href in inside} <= set(tree.xpath("//@id"))
        assert render_qa_html(report) == page


class TestWorst:
    def test_comes_first_and_whole_pairs_do_not_come(self, tree):
        found = worst_of(tree)
        places = [re.match(r"Pair (\d) of", item) for item in found]
        # A low rating and a missing number; an empty answer; words that need the paper; a 2.
        assert [place and place[1] for place in places] == ["1", "3", "2", "4"]
        assert "4 of 6 pairs" in text_of(tree.xpath("//h2[@id='h-worst']")[0])

    def test_says_what_is_wrong_and_marks_the_words(self, tree, texts):
        first, third = tree.xpath("(//ol[@class='worst'])[1]/li")[0:3:2]
        assert [mark.text for mark in first.xpath(".//mark[@class='number']")] == ["7"]
        assert "The paper does not contain “7”." in text_of(first)
        assert f"Accuracy was rated 1 of 3 (1.2): reason {texts.hostile}" in text_of(first)
        assert [mark.text for mark in third.xpath(".//mark[@class='context']")] == ["this study"]
        assert "The question refers to the paper: “this study”." in text_of(third)

    def test_shows_the_papers_sentence_beside_the_answer(self, tree):
        (beside,) = tree.xpath("(//ol[@class='worst'])[1]/li[1]//*[@class='beside']")
        assert "sentence 4 of 24, cosine 0.90" in text_of(beside)
        assert "The steel of sample 3 held iron." in text_of(beside)

    def test_shows_the_question_that_is_asked_twice(self, tree):
        empty = worst_of(tree)[1]
        assert "The answer is empty." in empty
        assert "almost the same: cosine 0.96." in empty
        assert "another question equivalent: 95 of 100.How much iron was found?" in empty

    def test_another_models_cosines_are_not_taken_for_the_same_question(self, report):
        page = render_qa_html(replace(report, embedder="intfloat/e5-small-v2"))
        assert "almost the same" not in page
        assert "another question equivalent: 95 of 100" in page

    def test_unscored_ratings_are_said_and_never_zero(self, tree):
        third = worst_of(tree)[2]
        assert "Relevance undecided, tentatively 2" in third
        assert "Accuracy unscored (time-out)" in third

    def test_of_nothing_is_calm(self, report):
        kept = [pair for pair in report.pairs if pair.id in ("5", "6")]
        tree = parse_page(report, pairs=kept, measures=(), ratings=(), intents=())
        assert text_of(tree.xpath("//h1")[0]) == "2 pairs on 2 papers: no faults found."
        assert tree.xpath("//section[@aria-labelledby='h-worst']//*[@class='calm']")
        assert "0 pairs on 0 papers" in render_qa_html(QAReport("none", (), (), ()))


class TestScores:
    def rows(self, tree) -> dict[str, list[str]]:
        found = tree.xpath("//table[@class='scores']//tr[@class='v']")
        return {text_of(row[0]): [text_of(cell) for cell in row[1:]] for row in found}

    def meanings(self, tree) -> list[str]:
        return [text_of(row) for row in tree.xpath("//table[@class='scores']//tr[@class='how']")]

    def test_have_n_interval_and_what_is_unscored(self, tree):
        rows = self.rows(tree)
        # Rated 1.2 and 2, one timed out: worst (1.2 + 2 + 1) / 3, best (1.2 + 2 + 3) / 3.
        assert rows["Accuracy"] == ["1.60", "n/a", "2", "1worst 1.40, best 2.07"]
        # What leaves a pair undecided has no mean: it decides some ratings more readily.
        assert rows["Relevance"][0] == "2.00 to 3.00"
        assert rows["Numbers found"] == ["0 %", "n/a", "1", "none"]
        assert rows["Context-free questions"][0] == "75 %"

    def test_of_coverage_stand_beside_chance(self, tree):
        rows = self.rows(tree)
        assert rows["Coverage (equation 1)"][0] == "50 %"
        (meaning,) = [text for text in self.meanings(tree) if "SciQAG reports" in text]
        assert re.search(r"Random sentences would reach \d\d %\.$", meaning)
        assert rows["Question similarity"][0] == "0.36"

    def test_say_what_is_left_out_of_them(self, tree):
        words = text_of(tree.xpath("//section[@aria-labelledby='h-scores']/p")[0])
        # Three ratings, five more and three comparisons; one undecided, two timed out.
        assert words.startswith("3 of 11 judgments are unscored: 1 undecided and 2 failed.")

    def test_that_nobody_gave_are_left_out(self, report):
        tree = parse_page(report, ratings=(), intents=(), judge="")
        assert not set(self.rows(tree)) & {"Accuracy", "Similarity of intent"}
        assert "No judge rated these pairs" in text_of(tree)


class TestPapers:
    def test_are_folded_with_all_their_pairs_and_plots(self, tree):
        first, unmeasured, absent = tree.xpath("//details[@class='a']")
        assert len(first.xpath(".//li[@class='pair']")) == 4
        assert len(first.xpath(".//*[name()='svg']")) == 4
        assert not unmeasured.xpath(".//*[name()='svg']") + absent.xpath(".//*[name()='svg']")
        assert "coverage n/a" in text_of(unmeasured)
        assert not tree.xpath("//details[@class='a' and @open]")

    def test_the_judges_intents_are_drawn_where_there_are_some(self, tree, report):
        assert "Similarity of question pairs by intent" in text_of(tree)
        without = parse_page(report, intents=())
        assert "Similarity of question pairs by cosine" in text_of(without)

    def test_beyond_some_are_not_plotted_and_it_says_so(self, report, monkeypatch):
        monkeypatch.setattr(view, "MAX_PLOTTED", 0)
        tree = parse_page(report)
        assert not tree.xpath("//details[@class='a']//*[name()='svg']")
        assert "Only the first 0 papers have plots" in text_of(tree)

    def test_an_only_paper_is_open(self, report):
        pairs = [p for p in report.pairs if p.paper == report.papers[0].id]
        assert len(parse_page(report, pairs=pairs).xpath("//details[@class='a' and @open]")) == 1
