"""The page: complete, self-contained, and deaf to what untrusted text would have it do."""

from __future__ import annotations

import random
import re
from urllib.parse import parse_qsl

import pytest
from lxml import html
from pages import check_inert, check_policy, check_well_formed, unfolded, unpacked

from ragassay.metrics.stats.summary import summarize
from ragassay.records import Document, Evaluation, Finding, Summary
from ragassay.reports.findings_view import summarize_main_findings
from ragassay.reports.html import render_html
from ragassay.reports.index import MOST_SOURCE_CHARS
from ragassay.reports.text import summarize_run


@pytest.fixture(scope="module")
def page(run) -> str:
    return render_html(*run)


@pytest.fixture
def tree(page):
    """The page with all that its script may show."""
    return html.document_fromstring(unfolded(page))


def text_of(element) -> str:
    return " ".join(element.text_content().split())


def answers_of(tree):
    return tree.xpath("//article[@class='answer']")


def panes_of(answer):
    """What was said of each sentence."""
    return answer.xpath(".//section[@class='pane']")


def section(tree, name):
    return text_of(tree.xpath(f"//section[@id='{name}']")[0])


EMPTY = Summary(n_records=0, n_evaluated=0, n_failed=0, n_rejected=0)
ARTICLES = ("https://pubmed.ncbi.nlm.nih.gov/", "https://doi.org/")
"""What an article's id leads to, when a reader follows it."""


class TestUntrustedText:
    def test_starts_no_element_but_the_templates_own(self, tree, run):
        calm = render_html(run.manifest, EMPTY, ())
        own = html.document_fromstring(unfolded(calm))
        assert len(tree.xpath("//script")) == len(own.xpath("//script")) == 1
        assert len(tree.xpath("//form")) == len(own.xpath("//form")) == 1
        assert tree.xpath("//script")[0].text == own.xpath("//script")[0].text

    def test_becomes_no_attribute_and_loads_nothing(self, page):
        check_inert(unfolded(page))

    def test_is_not_evaluated_as_a_template(self, page):
        whole = unfolded(page)
        assert whole.count("{{") == whole.count("{{ 7*7 }}") > 10

    def test_cannot_end_the_data_that_the_script_unpacks(self, page):
        for data in html.document_fromstring(page).xpath("//script[@data-pack]"):
            assert re.fullmatch(r"[A-Za-z0-9+/=]+", data.text)
            assert data.get("type") == "text/plain"

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


class TestSelfContained:
    def test_only_links_that_a_reader_follows_lead_elsewhere(self, tree):
        for name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            for element in tree.xpath(f"//*[@*[name()='{name}']]"):
                value = element.get(name)
                assert value.startswith(("#", *ARTICLES)) or value == "data:,"
                if "//" in value:
                    assert element.tag == "a" and element.get("rel") == "noreferrer"

    def test_style_and_script_reach_for_nothing_and_make_nothing_of_text(self, tree):
        code = "".join(e.text for e in tree.xpath("//style | //script"))
        assert not re.search(r"url\(|@import|https?:|//[a-z]|fetch\(", code)
        assert not re.search(r"(inner|outer)HTML|insertAdjacent|document\.write", code)
        assert not re.search(r"eval\(|Function\(", code)

    def test_policy_lets_through_only_the_own_style_and_script(self, page):
        check_policy(page, "style", "script")

    def test_is_well_formed(self, page):
        check_well_formed(page, unfolded(page))

    def test_links_arrive(self, tree, run):
        ids = tree.xpath("//@id")
        inside = [href for href in tree.xpath("//a/@href") if not href.startswith(ARTICLES)]
        places = {href[1:] for href in inside if "=" not in href}
        assert {"wrong", "why", "believe", "left-out"} == places <= set(ids)
        states = [dict(parse_qsl(href[1:])) for href in inside if "=" in href]
        assert states
        for state in states:
            if "system" in state:
                assert state["system"] in run.summary.systems
            else:
                answer = answers_of(tree)[int(state["answer"]) - 1]
                known = answer.xpath(".//a[@data-s]/@data-s")
                assert state.get("s", known[0]) in known

    def test_is_the_same_bytes_for_the_same_run(self, run, page):
        assert render_html(*run) == page


class TestWhatIsWrong:
    def test_the_head_says_what_is_wrong_and_in_how_many_answers(self, tree):
        title, header = tree.xpath("//h1")[0], tree.xpath("//header")[0]
        assert text_of(title) == (
            "1 inappropriate sentence, 1 contradicted citation and 1 invalid citation "
            "in 1 of 3 answers."
        )
        assert "3 answers by 2 systems · judge: ragassay/judge" in text_of(header)

    def test_the_words_of_a_run_without_an_answer_are_the_headline(self, run):
        assert summarize_main_findings(EMPTY, ()) == summarize_run(EMPTY)

    def test_a_run_without_a_serious_finding_does_not_say_that_all_is_well(self, run):
        calm, open_ = run.evaluations[1:], {"secondary_findings": {"x": 3}, "n_undecided": 1}
        summary = summarize(calm, 2, 0, 0).model_copy(update=open_)
        assert summarize_main_findings(summary, calm) == (
            "No serious main findings in 2 answers; "
            "3 findings worth a look and 1 undecided verdict."
        )

    def test_a_refusal_is_named_though_it_is_no_fault(self, run):
        refusal = Finding(kind="refusal", message="The answer opens by saying that it has none.")
        calm = [run.evaluations[1].model_copy(update={"findings": (refusal,)})]
        summary = summarize(calm, 1, 0, 0)
        assert summarize_main_findings(summary, calm).startswith(
            "No serious main findings in this answer; 1 refusal to answer"
        )
        assert "look first at 1 refusal to answer" in summarize_run(summary)
        both = [run.evaluations[0], *calm]
        assert summarize_main_findings(summarize(both, 2, 0, 0), both).endswith(
            "in 1 of 2 answers; 1 refusal to answer."
        )

    def test_each_finding_is_a_card_with_its_place(self, tree, run):
        cards = tree.xpath("//li[starts-with(@class, 'card')]")
        assert len(cards) == 6
        for finding in run.evaluations[0].findings:
            message = " ".join(finding.message.split())
            (card,) = [card for card in cards if message in text_of(card)]
            (place,) = card.xpath(".//a[starts-with(@href, '#answer=')]/@href")
            assert place == f"#answer=1&s={finding.sentence}" if finding.sentence else "#answer=1"
            if finding.sentence:
                assert "Hostile" in text_of(card.xpath(".//p[@class='said']")[0])

    def test_the_worst_come_first_and_are_there_before_the_script_is(self, page):
        tree = html.document_fromstring(page)
        titles = [text_of(e) for e in tree.xpath("//ol[@id='primary']/li/p[@class='what']/b")]
        assert titles == [
            "Inappropriate sentence",
            "Contradicted citation",
            "Invalid citation",
            "Unscored verdict",
            "Brand new kind",
            "Extractive nugget",
        ]

    def test_the_systems_have_a_line_each_with_bars(self, tree):
        rows = tree.xpath("//table[@class='systems']/tbody/tr")
        assert [text_of(row.xpath("./th")[0]) for row in rows] == ["alpha", "beta | <b>"]
        assert "1 of 2" in text_of(rows[0])
        bars = rows[0].xpath(".//*[name()='svg']/@aria-label")
        assert any(bar.startswith("Nugget recall: 50") and "95 % interval" in bar for bar in bars)

    def test_unscored_verdicts_are_counted_by_reason(self, tree):
        top = section(tree, "wrong")
        for line in ("2 rubric ratings: time-out", "1 evidence verdict: no evidence found"):
            assert line in top


class TestAnswers:
    def test_unscored_is_said_with_its_reason_and_never_a_number(self, tree, page):
        second = answers_of(tree)[1]
        assert "unscored (time-out)" in text_of(second.xpath(".//ul[@class='strip']")[0])
        scores = text_of(second.xpath(".//ul[@class='sc']")[0])
        assert "Nugget recall unscored (1 of 1 missing)" in scores
        entry = unpacked(page)["index"][1]
        assert set(entry["scores"]) == {None} and set(entry["shown"]) == {"unscored"}

    def test_the_index_counts_what_answers_are_filtered_by(self, page, run):
        lists = unpacked(page)
        assert [entry["id"] for entry in lists["index"]] == [e.record_id for e in run.evaluations]
        first = lists["index"][0]
        assert first["primary"] == [finding.kind for finding in run.evaluations[0].findings]
        # A rating, a label and an evidence verdict.
        assert (first["undecided"], first["unscored"]) == (0, 3)
        assert len(first["scores"]) == len(lists["about"][0]["titles"])
        _, kinds = zip(*lists["primary-index"], strict=True)
        assert kinds[:2] == ("inappropriate_sentence", "contradicted_citation")

    def test_an_answer_reads_as_text_with_a_mark_for_each_sentence(self, tree, run):
        links = answers_of(tree)[0].xpath(".//div[@class='prose']//a")
        sentences = [" ".join(s.text.split()) for s in run.evaluations[0].sentences]
        assert [text_of(a) for a in links] == sentences
        marks = [a.get("class") for a in links]
        assert marks == ["s is-good", "s is-wrong", "s is-unscored", "s is-unscored"]

    def test_no_value_is_blank(self, tree):
        cells = tree.xpath("//td | //th | //b | //dd | //*[contains(@class, 'c ')]")
        assert not [cell for cell in cells if not text_of(cell)]

    def test_each_verdict_stands_with_its_passage_which_is_quoted_once(self, tree):
        first, second = panes_of(answers_of(tree)[0])[:2]
        verdicts = [text_of(e) for e in second.xpath(".//*[starts-with(@class, 'c ')]")]
        assert verdicts == ["inappropriate62 %", "contradicts", "contradicts", "invalid", "neutral"]
        assert len(second.xpath(".//blockquote")) == 2
        # Evidence and citation rest on the same passage.
        assert len(first.xpath(".//blockquote")) == 1
        quoted = text_of(first.xpath(".//div[@class='quoted']")[0])
        assert quoted.startswith("[1]supports97 % evidencesupports88 %")

    def test_a_passage_names_its_article_and_leads_to_it(self, tree):
        second = panes_of(answers_of(tree)[0])[1]
        assert "Found" in text_of(second)
        assert second.xpath(".//a/@href") == [f"{ARTICLES[0]}31180123/"]

    def test_how_a_sentence_was_searched_for_is_said(self, tree):
        first, second = panes_of(answers_of(tree)[0])[:2]
        assert "because there is no corpus. 2 documents read." in text_of(first)
        for words in (
            "against · 10 found, 7 new",
            "The search ended after its last round without finding enough passages.",
            "9 documents read.",
            "1 retracted document was excluded.",
            "The model failed (time-out)",
        ):
            assert words in text_of(second)

    def test_a_citation_that_nobody_judged_is_unscored(self, tree):
        assert "[1]unscored (not judged)" in text_of(panes_of(answers_of(tree)[0])[2])

    def test_a_step_that_was_not_run_is_named(self, tree):
        assert "Not judged for this answer: sentence evidence." in text_of(answers_of(tree)[1])

    def test_gold_nuggets_are_stated_missed_or_unscored(self, tree):
        fates = tree.xpath("//ul[@class='ns']/li/span[1][contains(@class, 'c ')]")
        assert sorted(map(text_of, fates)) == ["missed", "stated", "unscored (1 of 1 missing)"]

    def test_extractive_nuggets_are_marked(self, tree):
        assert len(tree.xpath("//span[@class='c plain'][text()='extractive']")) == 1

    def test_a_source_is_there_once_and_cut_where_it_is_long(self, run):
        long = Document(id="long", text="x" * (MOST_SOURCE_CHARS + 7))
        evaluations = [e.model_copy(update={"sources": (long,)}) for e in run.evaluations]
        lists = unpacked(render_html(run.manifest, run.summary, evaluations))
        (source,) = lists["sources"]
        assert [entry["sources"] for entry in lists["index"]] == [[0]] * 3
        assert source.count("x") < MOST_SOURCE_CHARS + 10 and "remaining 7 characters" in source


class TestHowReliable:
    def test_charts_have_a_title_and_a_description(self, tree):
        for plot in tree.xpath("//svg[@class='plot']"):
            title, description = plot.get("aria-labelledby").split()
            assert text_of(plot.xpath(f".//title[@id='{title}']")[0])
            assert "alpha" in text_of(plot.xpath(f".//desc[@id='{description}']")[0])

    def test_failures_rejections_and_provenance_are_there(self, tree, run):
        text = text_of(tree)
        assert "q3: prompt too long (stage: segment)" in text
        assert "line 4, field answer: missing; expected text or a list of sentences" in text
        for digest in (run.manifest.answers.sha256, run.manifest.prompts_sha256):
            assert digest in text
        assert "price unknown" in text

    def test_the_judges_figures_come_with_data_and_command(self, tree):
        judge = text_of(tree.xpath("//details[@id='cards']")[0])
        for part in ("0.71", "0.66", "SciFact, dev part", "ragassay meta-evaluate", "English only"):
            assert part in judge

    def test_a_judge_without_a_card_gets_a_notice(self, run):
        page = render_html(run.manifest.model_copy(update={"card": None}), *run[1:])
        assert "The accuracy of this judge on held-out data was not measured" in page


class TestEmptyAndLarge:
    def test_a_run_without_an_answer_says_so(self, run):
        page = render_html(run.manifest, EMPTY, ())
        assert "No answers were evaluated" in page
        assert "all records were evaluated" in page

    def test_many_answers_stay_small(self, run):
        rng, n = random.Random(7), 250
        words = [f"{a}{b}" for a in ("meta", "pro", "anti", "di") for b in ("gen", "dol", "fer")]
        text = [" ".join(rng.choices(words, k=250)) for _ in range(n)]
        sources = [Document(id=f"d{i}", text=text[i], title=f"Title {i}") for i in range(n)]
        many = [
            run.evaluations[0].model_copy(update={"record_id": f"q{i}", "sources": (source,)})
            for i, source in enumerate(sources)
        ]
        page = render_html(run.manifest, run.summary, many)
        assert len(unpacked(page)["answers"]) == n
        assert page.count("<article") == 0
        # Unpacked, it would be five times as much.
        assert len(page) < 1_000_000
