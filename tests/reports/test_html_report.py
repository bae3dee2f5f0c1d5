"""The page: complete, self-contained, and deaf to what untrusted text would have it do."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter

import pytest
from lxml import html
from pages import Balance

from ragassay.records import Evaluation, Summary
from ragassay.reports import headline, render_html


@pytest.fixture
def page(run) -> str:
    return render_html(*run)


@pytest.fixture
def tree(page):
    return html.document_fromstring(page)


def text_of(element) -> str:
    return " ".join(element.text_content().split())


def answers_of(tree):
    return tree.xpath("//details[contains(concat(' ', @class, ' '), ' a ')]")


ARTICLES = ("https://pubmed.ncbi.nlm.nih.gov/", "https://doi.org/")
"""What an article's id leads to, when a reader follows it."""


class TestUntrustedText:
    def test_starts_no_element_but_the_templates_own(self, tree, run):
        calm = render_html(run.manifest, Summary(**dict.fromkeys(COUNTS, 0)), ())
        own = html.document_fromstring(calm)
        assert len(tree.xpath("//script")) == len(own.xpath("//script")) == 1
        assert not tree.xpath("//img | //iframe | //object | //embed | //form | //base | //video")
        assert tree.xpath("//script")[0].text == own.xpath("//script")[0].text

    def test_becomes_no_attribute(self, tree):
        names = {name for element in tree.iter() for name in element.attrib}
        assert not {name for name in names if name.startswith("on")} | names & {"style", "srcdoc"}
        values = [value for element in tree.iter() for value in element.attrib.values()]
        assert not [value for value in values if "alert(" in value or "onload" in value]

    def test_is_not_evaluated_as_a_template(self, page):
        assert "{{ 7*7 }}" in page
        assert page.count("{{") == page.count("{{ 7*7 }}") > 10

    @pytest.mark.parametrize("name", ["hostile", "right_to_left", "long", "markdown"])
    def test_is_shown_as_it_is(self, tree, texts, name):
        wanted = " ".join(getattr(texts, name).split())
        assert wanted in text_of(tree)

    @pytest.mark.parametrize(
        "place",
        ["Does metformin lower HbA1c?", "Hostile", "passage", "title", "nugget", "gold", "detail"],
    )
    def test_is_shown_wherever_it_came_from(self, tree, texts, place):
        assert f"{place} {texts.hostile}" in text_of(tree)

    def test_control_characters_do_not_reach_the_page(self, run):
        bad = Evaluation(record_id="a\x00b", question="c\x1b[31m", answer="d\x85")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", render_html(*run[:2], [bad]))


COUNTS = ("n_records", "n_evaluated", "n_failed", "n_rejected")


class TestSelfContained:
    def test_loads_nothing(self, tree):
        for name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            for value in tree.xpath(f"//@*[name()='{name}']"):
                assert value.startswith(("#", *ARTICLES)) or value == "data:,"

    def test_only_links_that_a_reader_follows_lead_elsewhere(self, tree):
        for name in ("src", "href"):
            for element in tree.xpath(f"//*[@*[name()='{name}' and contains(., '//')]]"):
                assert element.tag == "a" and element.get("rel") == "noreferrer"

    def test_style_and_script_reach_for_nothing(self, tree):
        code = "".join(e.text for e in tree.xpath("//style | //script"))
        assert not re.search(r"url\(|@import|https?:|//[a-z]|fetch\(|innerHTML|eval\(", code)

    def test_policy_lets_through_only_the_own_style_and_script(self, tree):
        (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        for name in ("style", "script"):
            text = tree.xpath(f"//{name}")[0].text
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{name}-src 'sha256-{digest}'" in policy

    def test_is_well_formed(self, page):
        checker = Balance()
        checker.feed(page)
        checker.close()
        assert not checker.open

    def test_ids_are_unique_and_links_arrive(self, tree):
        ids = tree.xpath("//@id")
        assert len(ids) == len(set(ids))
        inside = [href for href in tree.xpath("//a/@href") if not href.startswith(ARTICLES)]
        assert inside
        assert {href[1:] for href in inside} <= set(ids)

    def test_is_the_same_bytes_for_the_same_run(self, run, page):
        assert render_html(*run) == page


class TestContent:
    def test_the_headline_comes_first(self, tree, run):
        assert text_of(tree.xpath("//h1")[0]) == " ".join(headline(run.summary).split())

    def test_every_finding_is_listed_at_the_top_and_with_its_answer(self, tree, run):
        top = text_of(tree.xpath("//section[@aria-labelledby='h-findings']")[0])
        for evaluation, answer in zip(run.evaluations, answers_of(tree), strict=True):
            for finding in evaluation.findings:
                assert " ".join(finding.message.split()) in top
                assert " ".join(finding.message.split()) in text_of(answer)

    def test_the_worst_findings_come_first(self, tree):
        titles = [text_of(e) for e in tree.xpath("//details[contains(@class, 'fg')]/summary")]
        assert titles == [
            "1 Inappropriate sentence",
            "1 Contradicted citation",
            "1 Invalid citation",
            "1 Unscored verdict",
            "1 Brand new kind",
            "1 Extractive nugget",
        ]

    def test_unscored_verdicts_are_counted_by_reason(self, tree):
        top = text_of(tree.xpath("//section[@aria-labelledby='h-findings']")[0])
        for line in ("2 rubric ratings: time-out", "1 evidence verdict: no evidence found"):
            assert line in top

    def test_unscored_is_said_with_its_reason_and_never_a_number(self, tree):
        second = answers_of(tree)[1]
        metrics = [text_of(e) for e in second.xpath("./summary/span[@class='m']")]
        assert metrics == [
            "rubrics unscored (1 of 1 missing)",
            "nugget recall unscored (1 of 1 missing)",
            "citations support unscored (none to score)",
        ]
        assert "unscored (time-out)" in text_of(second.xpath(".//ul[@class='strip']")[0])

    def test_no_value_is_blank(self, tree):
        cells = tree.xpath("//td | //th | //b | //dd | //*[contains(@class, 'c ')]")
        assert not [cell for cell in cells if not text_of(cell)]

    def test_each_citation_has_its_verdict_and_passage(self, tree):
        second = answers_of(tree)[0].xpath(".//ol[@class='ss']/li")[1]
        verdicts = [text_of(e) for e in second.xpath(".//*[contains(@class, 'c ')]")]
        assert verdicts == [
            "inappropriate62 %",
            "contradicts",
            "neutral",
            "contradicts",
            "invalid",
            "1 query",
        ]
        assert len(second.xpath(".//blockquote")) == 3

    def test_evidence_on_both_sides_names_its_article_and_leads_to_it(self, tree):
        second = answers_of(tree)[0].xpath(".//ol[@class='ss']/li")[1]
        assert "Found" in text_of(second)
        (link,) = second.xpath(".//a/@href")
        assert link == "https://pubmed.ncbi.nlm.nih.gov/31180123/"

    def test_how_a_sentence_was_searched_for_is_said(self, tree):
        first, second = answers_of(tree)[0].xpath(".//ol[@class='ss']/li")[:2]
        assert "there was no corpus. 2 documents looked at." in text_of(first)
        for words in (
            "against · 10 found, 7 new",
            "No passage was close enough, and no round was left. 9 documents looked at.",
            "1 retracted one was left out.",
            "The model failed (time-out)",
        ):
            assert words in text_of(second)

    def test_a_citation_that_nobody_judged_is_unscored(self, tree):
        third = answers_of(tree)[0].xpath(".//ol[@class='ss']/li")[2]
        assert "[1]unscored (not judged)" in text_of(third)

    def test_a_step_that_was_not_run_is_named(self, tree):
        assert "Not judged for this answer: evidence for sentences." in text_of(answers_of(tree)[1])

    def test_gold_nuggets_are_stated_missed_or_unscored(self, tree):
        fates = tree.xpath("//ul[@class='ns']/li/span[1][contains(@class, 'c ')]")
        assert Counter(map(text_of, fates)) == {
            "stated": 1,
            "missed": 1,
            "unscored (1 of 1 missing)": 1,
        }

    def test_extractive_nuggets_are_marked(self, tree):
        assert len(tree.xpath("//span[@class='c plain'][text()='extractive']")) == 1

    def test_charts_have_a_title_and_a_description(self, tree):
        for plot in tree.xpath("//svg[@class='plot']"):
            title, description = plot.get("aria-labelledby").split()
            assert text_of(plot.xpath(f".//title[@id='{title}']")[0])
            assert "alpha" in text_of(plot.xpath(f".//desc[@id='{description}']")[0])

    def test_failures_rejections_and_provenance_are_there(self, tree, run):
        text = text_of(tree)
        assert "q3: prompt too long, while at segment" in text
        assert "line 4, field answer: missing; expected text or a list of sentences" in text
        for digest in (run.manifest.answers.sha256, run.manifest.prompts_sha256):
            assert digest in text
        assert "price unknown" in text

    def test_the_judges_figures_come_with_data_and_command(self, tree):
        judge = text_of(tree.xpath("//section[@aria-labelledby='h-judge']")[0])
        for part in ("0.71", "0.66", "SciFact, dev part", "ragassay meta-evaluate", "English only"):
            assert part in judge

    def test_a_judge_without_a_card_gets_a_notice(self, run):
        page = render_html(run.manifest.model_copy(update={"card": None}), *run[1:])
        assert "Nothing is known about this judge" in page


class TestEmptyAndLarge:
    def test_a_run_without_an_answer_says_so(self, run):
        page = render_html(run.manifest, Summary(**dict.fromkeys(COUNTS, 0)), ())
        assert "No answer was evaluated" in page
        assert "every record was evaluated" in page

    def test_many_answers_are_folded(self, run):
        many = [
            run.evaluations[0].model_copy(update={"record_id": f"q{i}"}) for i in range(1, 1001)
        ]
        page = render_html(run.manifest, run.summary, many)
        assert page.count('<details class="a" ') == 1000
        assert not re.search(r'<details class="a"[^>]* open>', page)
        # The texts of one such answer alone are some 6,000 characters.
        assert len(page) < 1000 * 25_000
