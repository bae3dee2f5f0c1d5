"""An audit as a page, as Markdown, as CSV and on the terminal; the certificate on a report."""

from __future__ import annotations

import csv
import io
import re

import pytest
from browsing import browse, chromium, overflow, serious_faults  # noqa: F401
from damage import pairs_of
from lxml import html
from pages import check_policy, check_well_formed
from rich.console import Console

from ragassay.perturbations import ATTACKS
from ragassay.qa.audit import PAIR_ATTACKS
from ragassay.records import Audit, Score, TargetTrust
from ragassay.reports.audit_report import (
    ATTACK_TITLES,
    build_certificate_sheet,
    build_ratings_sheet,
    build_short_attack_sheet,
    get_attack_title,
    render_audit_html,
    render_audit_markdown,
    render_figures_csv,
    view_groups,
)
from ragassay.reports.certificate import NOT_AUDITED, summarize_trust, view_certificate
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.sheets import render_sheet_table
from ragassay.studies.audit_scores import average_variant_ratings, compute_attack_figures
from ragassay.studies.certificate import certify

FOUND, MISSED = (5.0, 1.0), (5.0, 5.0)


def build_audit() -> Audit:
    """A judge that is trusted on cohesion, weak on coherence, blind on relevancy."""
    pairs = [
        *pairs_of([FOUND] * 20),
        *pairs_of([FOUND] * 16 + [MISSED] * 4, target="rubric.coherence"),
        *pairs_of([FOUND] * 2 + [MISSED] * 18, target="rubric.relevancy", attack="tweet"),
        *pairs_of([FOUND] * 3, target="rubric.completeness", severity="subtle", attack="drop"),
        *pairs_of([FOUND] * 20, target="citations.support", family="clinical", attack="number"),
        *pairs_of([(3.0, 4.0)] * 20, family="injection", attack="injection"),
        *pairs_of([(3.0, 3.0)] * 20, "rubric.relevancy", family="injection", attack="injection"),
        *pairs_of([(3.0, 2.0)] * 20, family="injection", attack="flattery"),
    ]
    return Audit(
        judge="judge",
        n_answers=20,
        seed=0,
        pools="audit",
        n_unchanged={"swap_last": 2, "tweet": 0},
        n_perturbed=123,
        n_failed=1,
        figures=compute_attack_figures(pairs),
        ratings=average_variant_ratings(pairs),
        certificate=certify(pairs),
    )


AUDIT = build_audit()
PAGE = render_audit_html(AUDIT)
EMPTY = Audit(judge="judge", n_answers=0, seed=0, pools="audit")


def text_of(element) -> str:
    return " ".join(element.text_content().split())


def shown(table, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(render_sheet_table(table))
    return console.file.getvalue().splitlines()


def chips_of(page: str) -> dict[str, tuple[str, str]]:
    """Title of each row of the certificate, with the words and the class of its chip."""
    rows = html.document_fromstring(page).xpath("//details[@id='certificate']//tr[td/span]")
    return {
        text_of(row.xpath("th")[0]): (
            text_of(row.xpath("td/span")[0]),
            row.xpath("td/span/@class")[0],
        )
        for row in rows
    }


def groups_of(page: str) -> list[html.HtmlElement]:
    """The folded lines of an audit's page."""
    return html.document_fromstring(page).xpath("//details[contains(@class, 'g ')]")


def test_a_verdict_is_said_by_word_sign_and_colour_the_worst_first():
    found = [
        (
            text_of(group.xpath("summary/span[@class='t']")[0]),
            text_of(group.xpath("summary/span[2]/span")[0]),
            group.xpath("summary/span[2]/span/@class")[0],
        )
        for group in groups_of(PAGE)
    ]
    assert found == [
        ("Relevancy", "✗ blind", "c bad"),
        ("Coherence", "~ weak", "c wary"),
        ("Completeness", "? too few", "c unscored"),
        ("Cohesion", "✓ trusted", "c good"),
        ("Instructions in the answer", "✗ blind", "c bad"),
        ("Changed facts: citations support", "✓ trusted", "c good"),
    ]


def test_a_line_is_drawn_as_the_share_found():
    relevancy, coherence, *_ = groups_of(PAGE)
    (bar,) = relevancy.xpath("summary//rect[@class='fill']")
    assert (bar.get("x"), bar.get("width")) == ("0", "10.0")
    assert "2 of 20 extreme perturbations" in text_of(relevancy.xpath("summary")[0])
    assert "16 of 20" in text_of(coherence.xpath("summary")[0])
    # Whole 5.00, damaged 4.60, on a scale of 1 to 5.
    widths = relevancy.xpath("div//div[@class='bars']//rect[@class='fill']/@width")
    assert widths == ["100.0", "90.0"]


def test_of_injected_text_the_largest_rise_is_drawn_from_the_middle():
    (group,) = [g for g in groups_of(PAGE) if "Instructions" in text_of(g)]
    assert "largest increase: Cohesion +1.00 points" in text_of(group.xpath("summary")[0])
    (bar,) = group.xpath("summary//rect[@class='fill']")
    assert (bar.get("x"), bar.get("width")) == ("50", "50.0")


def test_figures_that_no_line_stands_for_are_shown_too():
    (group,) = groups_of(render_audit_html(AUDIT.model_copy(update={"certificate": ()})))
    assert text_of(group.xpath("summary/span[@class='t']")[0]) == "Other scores"
    assert len(group.xpath(".//tbody/tr")) == len(AUDIT.figures)


def test_the_headline_names_what_is_not_trusted():
    headline = view_certificate(AUDIT).headline
    assert headline == (
        "Trusted on 1 of 4 rubrics; blind on relevancy; weak on coherence; "
        "too few pairs for completeness."
    )
    assert text_of(html.document_fromstring(PAGE)).count(headline) == 1
    assert view_certificate(EMPTY).headline == "No rubric was audited."


def test_instructions_are_one_line_about_the_score_that_they_lift_most():
    (line,) = [x for x in view_certificate(AUDIT).others if "Instructions" in x.title]
    worst = "Cohesion, the worst of 2 scores: Injected text (injection) changes"
    assert line.reason.startswith(worst)


def test_scores_without_room_to_rise_are_no_trust_and_are_counted():
    stuck = pairs_of([(5.0, 5.0)] * 20, family="injection", attack="injection")
    audit = EMPTY.model_copy(update={"certificate": certify(stuck)})
    (line,) = view_certificate(audit).others
    assert (line.word, line.tone) == ("at maximum", "unscored")
    assert line.reason.startswith("Cohesion: Injected text (injection)")
    free = pairs_of([(3.0, 3.0)] * 20, "rubric.relevancy", family="injection", attack="injection")
    audit = EMPTY.model_copy(update={"certificate": certify([*stuck, *free])})
    (line,) = view_certificate(audit).others
    assert line.word == "trusted"
    assert line.reason.startswith("Relevancy (not counting 1 already at the maximum): ")


def test_the_page_is_self_contained_and_well_formed():
    tree = html.document_fromstring(PAGE)
    assert not tree.xpath("//script | //link[@href!='data:,'] | //img | //*[@style]")
    assert not tree.xpath("//@href[not(starts-with(., '#') or . = 'data:,')]")
    check_policy(PAGE, "style")
    check_well_formed(PAGE)
    assert set(tree.xpath("//@aria-labelledby")) <= set(tree.xpath("//@id"))
    assert render_audit_html(AUDIT) == PAGE


def test_every_row_of_a_table_has_its_columns():
    tree = html.document_fromstring(PAGE)
    tables = tree.xpath("//table")
    assert len(tables) == 6
    for table in tables:
        n_columns = len(table.xpath("thead/tr/th"))
        assert {len(row.xpath("th|td")) for row in table.xpath("tbody/tr")} == {n_columns}
    assert len(tree.xpath("//tbody/tr")) == len(AUDIT.figures)


def test_what_got_through_and_what_was_left_alone_are_named():
    words = text_of(html.document_fromstring(PAGE))
    assert "Tweet added at the end (extreme), Relevancy: a10~tweet" in words
    assert "Last two sentences swapped: 2" in words
    assert "Tweet: 0" not in words
    assert "1 answer could not be evaluated" in words


def test_a_judges_name_starts_no_element(texts):
    evil = AUDIT.model_copy(update={"judge": texts.hostile})
    page = render_audit_html(evil)
    tree = html.document_fromstring(page)
    assert not tree.xpath("//script | //img")
    assert " ".join(texts.hostile.split()) in text_of(tree)
    assert "<script" not in render_audit_markdown(evil)


@pytest.mark.parametrize("audit", [AUDIT, EMPTY])
def test_markdown_keeps_its_tables(audit):
    page = render_audit_markdown(audit)
    blocks = re.findall(r"(?:^\|.*\n?)+", page, flags=re.MULTILINE)
    assert blocks
    for block in blocks:
        counts = {len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}
        assert len(counts) == 1
    assert page.startswith("# ragassay audit\n")


def test_figures_as_csv_hold_every_number():
    rows = list(csv.DictReader(io.StringIO(render_figures_csv(AUDIT))))
    assert [row["target"] for row in rows] == [f.target for f in AUDIT.figures]
    first = rows[0]
    assert (first["attack"], first["severity"], first["n"]) == ("off_topic", "extreme", "20")
    assert float(first["detection"]) == 1.0
    assert float(first["detection_low"]) == pytest.approx(AUDIT.figures[0].detection.low, abs=1e-6)
    assert float(first["optimism_error"]) == 0.0
    assert rows[-1]["optimism_error"] == ""
    assert {row["judge"] for row in rows} == {"judge"}


def test_tables_fit_into_eighty_columns():
    certificate = build_certificate_sheet(AUDIT)
    ratings = build_ratings_sheet(AUDIT, has_intervals=False)
    for table in (certificate, ratings, build_short_attack_sheet(AUDIT)):
        assert max(map(len, shown(table))) <= 80
    text = "\n".join(shown(certificate))
    assert "✓ trusted" in text and "✗ blind" in text
    (row,) = [line.split() for line in shown(ratings) if "Relevancy" in line]
    # 2 of 20 fell from 5 to 1: (2 * 1 + 18 * 5) / 20 = 4.6.
    assert row == ["Relevancy", "5.00", "n/a", "4.60"]


def test_the_terminal_shows_of_an_injection_only_what_it_lifts_most():
    lines = shown(build_short_attack_sheet(AUDIT), width=120)
    (row,) = [line for line in lines if "Injection" in line]
    assert "Cohesion" in row
    assert sum("Flattery" in line for line in lines) == 1


def test_the_certificate_is_a_line_of_the_report_with_its_parts_folded(run):
    page = render_html(*run, audit=AUDIT)
    tree = html.document_fromstring(page)
    titles = [text_of(h) for h in tree.xpath("//h2")]
    assert [title.split(" ")[0] for title in titles] == ["Main", "Answers", "How"]
    (line,) = tree.xpath("//section[@id='believe']/p[@class='lead']")
    rubrics = [trust for trust in AUDIT.certificate if trust.family == "rubric"]
    assert text_of(line) == summarize_trust(rubrics)
    (folded,) = tree.xpath("//details[@id='certificate']")
    assert folded.get("open") is None
    assert chips_of(page) == {
        "Cohesion": ("✓ trusted", "c good"),
        "Coherence": ("~ weak", "c wary"),
        "Relevancy": ("✗ blind", "c bad"),
        "Completeness": ("? too few", "c unscored"),
        "Changed facts: citations support": ("✓ trusted", "c good"),
        "Instructions in the answer": ("✗ blind", "c bad"),
    }
    (heading,) = folded.xpath(".//th[@scope='rowgroup']")
    assert text_of(heading) == "Changed facts, and injected instructions to the judge"
    assert NOT_AUDITED not in text_of(tree)
    check_well_formed(page)
    assert "**✗ blind**" in render_markdown(*run, audit=AUDIT)


def test_a_run_without_an_audit_says_so_in_one_quiet_line(run):
    tree = html.document_fromstring(render_html(*run))
    (line,) = tree.xpath("//section[@id='believe']/p[@class='lead']")
    assert text_of(line).endswith(NOT_AUDITED)
    assert "Audit of this judge" not in text_of(tree)
    assert render_markdown(*run).count(NOT_AUDITED) == 1


def test_an_empty_audit_is_shown():
    tree = html.document_fromstring(render_audit_html(EMPTY))
    assert text_of(tree.xpath("//h1")[0]) == "No rubric was audited."
    assert build_certificate_sheet(EMPTY).rows == build_short_attack_sheet(EMPTY).rows == ()


def test_every_attack_has_a_title_that_a_newcomer_understands():
    named = {attack.name for attack in ATTACKS} | set(PAIR_ATTACKS)
    assert set(ATTACK_TITLES) == named | {"given"}
    assert len(set(ATTACK_TITLES.values())) == len(ATTACK_TITLES)
    assert get_attack_title("something_else") == "Something else"


@pytest.mark.browser
@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"width": 400}])
def test_the_page_is_accessible_and_fits(browse, tmp_path, options):  # noqa: F811
    path = tmp_path / "audit.html"
    path.write_text(PAGE, encoding="utf-8")
    page = browse(f"file://{path}", **options)
    for line in page.locator("details").all():
        line.evaluate("one => one.open = true")
    assert serious_faults(page) == []
    assert overflow(page) <= 0


def test_a_lift_of_which_only_the_range_is_known_shows_that():
    lift = Score(value=None, decided=0.2, n=4, n_unscored=4, worst=1.0, best=-0.5, scale=(-4, 4))
    unknown = Score(value=None, n=0, n_unscored=4)
    given = {"target": "rubric.correctness", "family": "injection", "trust": None, "reason": ""}
    for found, text in ((lift, "\u22120.50 to +1.00 points"), (unknown, "n/a")):
        trust = TargetTrust.model_validate(given | {"lift": found})
        audit = EMPTY.model_copy(update={"certificate": (trust,)})
        ((_, (group,)),) = view_groups(audit)
        assert [(bar.title, bar.text) for bar in group.bars] == [("Correctness", text)]
