"""JATS XML of PubMed Central."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from case_tables import each_case

from ragassay.formats.papers import read_papers
from ragassay.records import Paper

EXAMPLE = Path(__file__).parents[3] / "examples" / "sciqag" / "paper.xml"

FRONT = """<front><journal-meta><journal-title-group><journal-title>J. Nowhere</journal-title>
</journal-title-group></journal-meta><article-meta>
<article-id pub-id-type="pmid">7</article-id><article-id pub-id-type="pmc">123</article-id>
<article-id pub-id-type="doi">https://doi.org/10.5555/ab</article-id>
<title-group><article-title>On <italic>X</italic></article-title></title-group>
<permissions><license xlink:href="https://creativecommons.org/licenses/by/4.0/"><license-p>Open
</license-p></license></permissions>
<abstract><title>Abstract</title><sec><title>Aim</title><p>It is short.</p></sec></abstract>
<abstract abstract-type="graphical"><p>A drawing.</p></abstract>
<kwd-group><kwd>sleep</kwd><kwd><italic>E. coli</italic></kwd></kwd-group>
<kwd-group kwd-group-type="abbreviations"><kwd>CI: interval</kwd></kwd-group>
</article-meta></front>"""

NAMESPACES = (
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML"'
)


def article(body: str = "", back: str = "", front: str = FRONT) -> str:
    body = f"<body>{body}</body>" if body else ""
    return f"<article {NAMESPACES}>{front}{body}<back>{back}</back></article>"


@pytest.fixture
def read(put):
    """Read one article without a rejection."""

    def _read(xml: str) -> Paper:
        found = read_papers(put("a.xml", xml))
        assert found.rejections == ()
        (paper,) = found.papers
        return paper

    return _read


def test_front_matter(read):
    paper = read(article("<p>Body.</p>"))
    assert paper.id == "10.5555/ab"
    assert (paper.title, paper.journal) == ("On X", "J. Nowhere")
    assert paper.keywords == ("sleep", "E. coli")
    assert paper.licence == "https://creativecommons.org/licenses/by/4.0/"
    assert [(s.kind, s.title, s.text) for s in paper.sections] == [
        ("abstract", "Abstract / Aim", "It is short."),
        ("body", "", "Body."),
        ("back", "Abstract", "A drawing."),
    ]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ('<article-id pub-id-type="pmc">123</article-id>', "PMC123"),
        ('<article-id pub-id-type="pmcid">PMC123</article-id>', "PMC123"),
        ('<article-id pub-id-type="pmid">7</article-id>', "7"),
        ("", "a"),
    ],
)
def test_an_id_is_the_doi_else_the_pmcid_else_the_pmid_else_the_name(read, ids, expected):
    front = f"<front><article-meta>{ids}<abstract><p>A.</p></abstract></article-meta></front>"
    assert read(article(front=front)).id == expected


@each_case(
    ("inner", "expected"),
    [
        ("10<sup>3</sup> cells", "10^3 cells"),
        ("3.2 &#xD7; 10<sup>&#x2212;9</sup> mol", "3.2 \u00d7 10^\u22129 mol"),
        ("kg m<sup>-2</sup> s<sup>-1</sup>", "kg m^-2 s^-1"),
        ("<sup>13</sup>C and Ca<sup>2+</sup>", "13C and Ca^2+"),
        ("H<sub>2</sub>O, 5<sub>2</sub>", "H2O, 5_2"),
        ("the 4<sup>th</sup> dose of Drug<sup>&#174;</sup>", "the 4th dose of Drug\u00ae"),
        ("x<sup>a + b</sup>", "x^(a + b)"),
        ("n&#x2009;=&#x2009;12&#x202F;000", "n\u2009=\u200912\u202f000"),
        ('as before<sup><xref ref-type="bibr">1</xref>,2</sup>.', "as before[1,2]."),
        ('as before<xref ref-type="bibr"><sup>1</sup></xref>.', "as before[1]."),
        ('as before [<xref ref-type="bibr">1</xref>].', "as before [1]."),
        ('12<xref ref-type="table-fn"><sup>a</sup></xref>', "12^a"),
        ('39.1<xref ref-type="table-fn">1</xref> 5<xref ref-type="fn">*</xref>', "39.1^1 5*"),
        ('in 12<xref ref-type="bibr">3</xref>,<xref ref-type="bibr">4</xref>.', "in 12[3],4."),
        ('by Doe (<xref ref-type="bibr">2010</xref>)', "by Doe (2010)"),
        ('see <xref ref-type="bibr">Doe 2010</xref>', "see Doe 2010"),
        ("<bold>a<italic>b</italic></bold>c  <break/>d", "abc d"),
        ("text<fn><p>Aside.</p></fn> goes on", "text goes on"),
        ('<inline-graphic xlink:href="x.gif"/>done', "done"),
    ],
)
def test_inline_markup_keeps_numbers_true(read, inner, expected):
    (section,) = [s for s in read(article(f"<p>{inner}</p>")).sections if s.kind == "body"]
    assert section.text == expected


MATH = "<mml:math><mml:msup><mml:mn>10</mml:mn><mml:mrow><mml:mo>-</mml:mo><mml:mn>3</mml:mn>"
MATH += "</mml:mrow></mml:msup><mml:mo>=</mml:mo><mml:mfrac><mml:mi>a</mml:mi><mml:mrow>"
MATH += "<mml:mi>b</mml:mi><mml:mo>+</mml:mo><mml:mn>1</mml:mn></mml:mrow></mml:mfrac></mml:math>"


@each_case(
    ("formula", "expected"),
    [
        (MATH, "10^-3 = a/(b+1)"),
        (f"<alternatives><alt-text>as told</alt-text>{MATH}</alternatives>", "as told"),
        (
            r"<tex-math>\documentclass{x}\begin{document}$$p \le 0.05 \times \frac{a}{b}$$"
            r"\end{document}</tex-math>",
            "p \u2264 0.05 \u00d7 (a)/(b)",
        ),
        ("<mml:math><mml:msqrt><mml:mi>n</mml:mi></mml:msqrt></mml:math>", "sqrt(n)"),
    ],
)
@each_case("tag", ["inline-formula", "disp-formula"])
def test_formulas_in_one_line(read, formula, expected, tag):
    xml = article(f"<p>So <{tag}><label>(1)</label>{formula}</{tag}> holds.</p>")
    assert read(xml).sections[1].text == f"So {expected} holds."


def test_sections_keep_the_path_of_their_headings_and_their_order(read):
    body = """<p>Loose.</p><sec><label>1</label><title>Methods</title><p>One.</p>
      <list><list-item><label>-</label><p>Item.</p></list-item></list>
      <sec><title>Ethics approval</title><p>Given.</p></sec></sec>
      <sec><title>Conflict of interest</title><p>None.</p></sec>"""
    back = """<ack><title>Thanks</title><p>To all.</p></ack><fn-group><fn><p>Aside.</p></fn>
      </fn-group><app-group><app><title>Appendix A</title><p>More.</p></app></app-group>
      <ref-list><title>Literature</title><ref><label>1.</label><mixed-citation>Doe.
      <italic>J</italic> 2010.</mixed-citation></ref><ref><element-citation><name>
      <surname>Roe</surname> <given-names>B</given-names></name><year>2011</year>
      </element-citation></ref><ref><mixed-citation><source>Poe</source><volume>3</volume>
      </mixed-citation></ref></ref-list>"""
    found = [(s.kind, s.title, s.text) for s in read(article(body, back)).sections[1:]]
    assert found == [
        ("body", "", "Loose."),
        ("body", "Methods", "One.\nItem."),
        ("body", "Methods / Ethics approval", "Given."),
        ("back", "Conflict of interest", "None."),
        ("back", "Abstract", "A drawing."),
        ("back", "Thanks", "To all."),
        ("body", "Appendix A", "More."),
        ("reference", "Literature", "1. Doe. J 2010.\nRoe B 2011\nPoe 3"),
        ("back", "Notes", "Aside."),
    ]


def test_tables_are_lines_of_cells_beside_their_captions(read):
    body = """<sec><title>R</title><p>See <xref ref-type="table">Table 1</xref>.<table-wrap>
      <label>Table 1.</label><caption><title>Base</title><p>Means.</p></caption><table>
      <thead><tr><th rowspan="2">A</th><th colspan="2">B</th></tr><tr><th>b1</th><th>b2</th></tr>
      </thead><tbody><tr><td>x</td><td>1,234<xref ref-type="table-fn"><sup>a</sup></xref></td>
      <td>3<break/>4</td></tr><tr><td/></tr></tbody></table><table-wrap-foot><fn><label>a</label>
      <p>Missing 2.</p></fn></table-wrap-foot></table-wrap> It rose.</p></sec>"""
    sections = read(article(body)).sections[1:4]
    assert [(s.kind, s.title, s.text) for s in sections] == [
        ("body", "R", "See Table 1. It rose."),
        ("caption", "Table 1", "Base\nMeans.\na Missing 2."),
        ("table", "Table 1", "A\tB\n\tb1\tb2\nx\t1,234^a\t3 4"),
    ]


@pytest.mark.parametrize("span", ["1000000", "99999999999999999999", "-3", "x", "0"])
def test_a_cell_that_claims_to_span_millions_is_one_cell(read, span):
    body = f"""<table-wrap><table><tr><td colspan="{span}" rowspan="{span}">a</td><td>b</td></tr>
      <tr><td>c</td></tr></table></table-wrap>"""
    assert read(article(body)).sections[1].text == "a\tb\nc"


def test_cells_that_span_ever_more_columns_stay_within_bounds(read):
    row = '<tr><td rowspan="100" colspan="100">x</td></tr>'
    table = f"<table-wrap><table>{row * 300}</table></table-wrap>"
    lines = read(article(table)).sections[1].text.splitlines()
    assert len(lines) == 300
    assert all(line.count("x") == 1 for line in lines)
    assert max(line.count("\t") for line in lines) < 700


def test_figures_wherever_they_float(read):
    body = """<fig-group><fig><label>Fig. 1</label><caption><p>Flow of 20.</p></caption></fig>
      </fig-group><p>Text.</p><supplementary-material><p>File S1.</p></supplementary-material>"""
    floats = "<floats-group><fig><caption><p>Late.</p></caption></fig></floats-group>"
    paper = read(article(body).replace("</article>", floats + "</article>"))
    assert [(s.title, s.text) for s in paper.sections if s.kind == "caption"] == [
        ("Fig. 1", "Flow of 20."),
        ("Supplement", "File S1."),
        ("Figure", "Late."),
    ]


def test_sub_articles_are_other_texts(read):
    sub = "<sub-article><front-stub/><body><p>A review.</p></body></sub-article>"
    paper = read(article("<p>Own.</p>").replace("</article>", sub + "</article>"))
    assert "review" not in str(paper)


def test_a_set_of_articles_as_efetch_sends_it_and_one_of_oai_with_namespaces(put):
    oai = article("<p>Two.</p>").replace("<article ", '<article xmlns="https://jats.nlm.nih.gov" ')
    oai = oai.replace("10.5555/ab", "10.5555/cd")
    three = article("<p>Three.</p>", front="<front/>")
    xml = f"<set>{article('<p>One.</p>')}\n<record>{oai}</record>{three}</set>"
    found = read_papers(put("set.nxml.gz", gzip.compress(xml.encode())))
    assert found.rejections == ()
    assert [paper.id for paper in found.papers] == ["10.5555/ab", "10.5555/cd", "set-3"]
    assert [paper.sections[-1].text for paper in found.papers[:2]] == ["A drawing."] * 2


def test_other_encodings_are_those_that_the_file_declares(put):
    xml = article("<p>5 \u00b0C.</p>")
    latin = f'<?xml version="1.0" encoding="ISO-8859-1"?>{xml}'.encode("latin-1")
    wide = f'<?xml version="1.0" encoding="UTF-16"?>{xml}'.encode("utf-16")
    for data in (latin, wide):
        (paper,) = read_papers(put("a.xml", data)).papers
        assert "5 \u00b0C." in paper.text


def test_the_example_is_read_whole():
    found = read_papers(EXAMPLE)
    assert found.rejections == ()
    (paper,) = found.papers
    assert paper.id == "10.5555/ragassay.example.1"
    assert "publicdomain/zero" in paper.licence
    kinds = [section.kind for section in paper.sections]
    assert (kinds.count("table"), kinds.count("caption"), kinds.count("abstract")) == (2, 4, 4)
    assert "3.2\u2009\u00d7\u200910^\u22129 mol/L" in paper.text
    assert "Bitter taste, n (%)\t38 (12.4)\t6 (2.0)" in paper.evidence_text
    assert 1200 < len(paper.text.split()) < 1600
