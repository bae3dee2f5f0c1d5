"""Citations in every style of answers: read whole, resolved, taken out of the statement."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case

from ragassay.records import AnswerSentence, Article, Document, Record
from ragassay.text.citation_styles import ENTRIES, parse_address, read_targets
from ragassay.text.segmenter import segment

ROOT = Path(__file__).parents[2]
A, B, C = "31415926", "27182818", "16180339"
SOURCES = (
    Document(id=A, title="Trial A", text="Zelcoline lowered systolic pressure by 7 mmHg."),
    Document(id=B, title="Cohort B", text="Cough was reported by 12% of patients."),
    Document(id=C, title="Review C", text="Zelcoline did not change serum potassium."),
)


def read(answer: str, sources: tuple[Document, ...] = SOURCES) -> list[AnswerSentence]:
    record = Record(id="r", question="Q?", answer=answer, sources=sources)
    return segment(record)[1]


def statements(answer: str) -> list[tuple[str, list[str | None]]]:
    return [(one.text, [c.document for c in one.citations]) for one in read(answer)]


def wrong_cases(path: Path) -> list[str]:
    """Read the cases of a file; return those that come out otherwise than they should."""
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(cases) > 30
    return [f"{case['style']}: {case['answer']}" for case in cases if not is_read_whole(case)]


def is_read_whole(case: dict[str, Any]) -> bool:
    found = read(case["answer"], tuple(Document(**source) for source in case["sources"]))
    if isinstance(case["expect"], str):  # marks that nothing resolves
        every = [c for one in found for c in one.citations]
        return bool(every) and all(c.is_unresolved for c in every)
    got = [[one.text, [c.document for c in one.citations]] for one in found]
    wanted = [one for one in case["expect"] if not one[0].endswith(":")]
    return [one for one in got if not one[0].endswith(":")] == wanted


def test_every_shared_case_is_read_whole(shared: Path) -> None:
    assert wrong_cases(shared / "cases" / "citations.jsonl") == []


def test_cases_by_people_who_had_not_seen_the_code_are_read_whole() -> None:
    assert wrong_cases(Path(__file__).with_name("citation_cases.jsonl")) == []


# Marks of one kin each: what is behind "|" is cited, in order.
KIN = """
[1]|A
[1,2]|A B
[1;2]|A B
[1/2]|A B
[1 & 2]|A B
[1, 2 and 3]|A B C
[1 to 3]|A B C
[1\u20103]|A B C
[1\u20142]|A B
[1\u20122, 3]|A B C
[1], [2]|A B
[1]\u2013[3]|A B C
[1--3]|A B C
[1..3]|A B C
[1\uff5e3]|A B C
([1])|A
([1], [2])|A B
(see [1] and [2])|A B
[see 1]|A
[[1]]|A
{1}|A
\uff3b1\uff3d|A
\uff08\u6765\u6e901\uff09|A
\u30101\u3011\u30102\u3011|A B
\u30101\u2020L3-L5\u3011|A
\u30104:0\u2020source\u3011|A
\u30104:0\u2020trial.pdf\u3011\u30104:2\u2020review.pdf\u3011|A C
[doc1]|A
[doc-2]|B
[Doc. 2]|B
[Documents 1, 2]|A B
[Source 1]|A
[source: 2]|B
[Sources 1 and 2]|A B
[src3]|C
[ref 1]|A
[Ref. 2]|B
[refs 1-2]|A B
[#2]|B
[No. 2]|B
[Source No. 2]|B
[Document index 1]|A
[citation:1]|A
{cite:1}|A
(see 2, 3)|B C
(r\u00e9f. 2)|B
(as reported in Source 1)|A
(see Source 2 for details)|B
[Lit. 2]|B
\u27e81\u27e9|A
\u3010turn1file0\u2020trial.pdf\u3011|A
$^{(1)}$|A
(based on [2] and [3])|B C
[P1, P3]|A C
[Source 1: a trial]|A
[2: Cohort B]|B
[1, "lowered pressure"]|A
(\u201cTrial A\u201d)|A
(*Trial A*)|A
(Source: "Trial A")|A
(31415926; 27182818)|A B
(PubMed [27182818](https://pubmed.ncbi.nlm.nih.gov/27182818))|B
<sources>1, 2</sources>|A B
\\footnote{PMID 31415926}|A
\uff08\u51fa\u51782\uff09|B
[cite_2]|B
[[citation:1]][[citation:2]]|A B
[context 1]|A
[Snippet 1]|A
[Evidence 2]|B
[Result 1]|A
[Quelle 1]|A
(Source 1)|A
(Sources 1, 2)|A B
(source: Document 2)|B
[S1, S2]|A B
[D2]|B
[^1][^2]|A B
[^1^]|A
\u00b9|A
\u00b9\u02d2\u00b2|A B
\u00b9,\u00b2|A B
\u00b9\u207b\u00b3|A B C
<sup>1</sup>|A
<sup>1-3</sup>|A B C
<sup>[1]</sup>|A
<sup>(2)</sup>|B
<sup>1</sup><sup>2</sup>|A B
<sup><a href="#r1">1</a></sup>|A
$^{1}$|A
$^1$|A
\\textsuperscript{1,2}|A B
\u207d\u00b9\u02d2\u00b2\u207e|A B
<sup>1</sup><sup>,</sup><sup>2</sup>|A B
^[1]|A
^{[1]}|A
^1^|A
<cite>[2]</cite>|B
<ref>1</ref>|A
<ref id="2"/>|B
<source id="2"></source>|B
<doc>3</doc>|C
\\[1, 2\\]|A B
**[1]**|A
*[2]*|B
__[1]__|A
`[1]`|A
[1, p. 4]|A
[2, Table 3]|B
[1, pp. 4-5; 2, p. 9]|A B
[1, Fig. 2]|A
[1 (pp. 4-5), 2 (p. 9)]|A B
[1(p3); 2(p5)]|A B
[1:p3]|A
[doc2(p3)]|B
[2 (Table 3)]|B
[1](https://example.org/a)|A
[[1]](https://example.org/a)|A
[\\[1\\]](https://example.org/a)|A
[1](https://pubmed.ncbi.nlm.nih.gov/27182818/)|B
[source](https://pubmed.ncbi.nlm.nih.gov/27182818)|B
[PubMed](https://www.ncbi.nlm.nih.gov/pubmed/27182818)|B
<a href="https://pubmed.ncbi.nlm.nih.gov/27182818/">[2]</a>|B
[PMID: 31415926, 27182818]|A B
[PMID 31415926; PMID 27182818]|A B
[31415926]|A
(PMID: 31415926)|A
(see PMID: 31415926)|A
(PubMed ID 31415926)|A
(PMIDs 31415926 and 27182818)|A B
(Lee 2019; PMID: 27182818)|B
(Lee et al., PMID: 27182818)|B
, PMID 31415926|A
 - PMID: 31415926|A
https://pubmed.ncbi.nlm.nih.gov/31415926/|A
(https://pubmed.ncbi.nlm.nih.gov/31415926)|A
(pubmed.ncbi.nlm.nih.gov/31415926)|A
(https://www.ncbi.nlm.nih.gov/pubmed/31415926)|A
<https://pubmed.ncbi.nlm.nih.gov/31415926/>|A
[Trial A]|A
(Trial A)|A
(Trial A; Cohort B)|A B
[source: Trial A]|A
(Source: [1])|A
turn0search0|A
citeturn0search1|B
\ue200cite\ue202turn0search0\ue202turn0search2\ue201|A C
&#91;1&#93;|A
(sources: 1, 2, and 3)|A B C
(e.g., [1])|A
\\cite{31415926}|A
~\\citep[p.~3]{31415926,27182818}|A B
[@31415926]|A
[@31415926; @27182818]|A B
[Trial A#page=3]|A
\u30104:0\u2020Cohort B\u3011|B
(ID: Trial A)|A
(doc_id: Cohort B)|B
[Source 1/Source 2]|A B
[Doc 2 - a cohort]|B
[1, section 3.2]|A
[fn 2]|B
[\u2116 1]|A
%[1]%|A
https://pubmed.ncbi.nlm.nih.gov/?term=31415926|A
\u2460\u2461|A B
"""


def test_a_mark_is_read_before_and_after_the_stop() -> None:
    names = {"A": A, "B": B, "C": C}
    wrong: list[str] = []
    for line in KIN.strip("\n").splitlines():
        mark, _, cited = line.rpartition("|")
        wanted = [names[name] for name in cited.split()]
        space = "" if mark[0] in ",\u00b9^$~\u2460" else " "
        if "turn0" in mark and not mark.startswith(("cite", "\ue200")):
            mark = f"[{mark}]"
        answer = f"Zelcoline lowers pressure{space}{mark}. It causes cough."
        if statements(answer) != [("Zelcoline lowers pressure.", wanted), ("It causes cough.", [])]:
            wrong.append(f"before the stop: {mark} gives {statements(answer)}")
        answer = f"Zelcoline lowers pressure.{mark} It causes cough."
        if mark[0] not in ", ht~" and not mark.startswith(("cite", "<http")):
            after = [("Zelcoline lowers pressure.", wanted), ("It causes cough.", [])]
            if statements(answer) != after:
                wrong.append(f"after the stop: {mark} gives {statements(answer)}")
    assert not wrong, "\n".join(wrong)


NO_MARKS = """
It fell (Figure 2).
It fell (see Table 3).
It fell (n = 210).
It fell (95% CI 1 to 3).
It fell (p < 0.05).
It fell by 14 [12-18] days.
It fell to 14 [11\u201318] in all.
It is type 2 (T2D).
The area is 5 cm\u00b2 and the power 10\u2076.
The area is 5 cm<sup>2</sup> here.
R\u00b2 was .9 with Ca\u00b2\u207a and \u00b9\u2078F.
It fell in phase 3 (Study 2).
It fell in May (2020).
It fell [3 (p < 0.05)].
It fell by Eq. [3].
It fell by Source 2 mg.
It fell at Abstract 3 of a meeting.
It fell [5: p = 0.03].
It fell [a] and [b].
It fell in Denmark (2019).
It fell (May 2020).
It fell [sic] there.
The level [Na+] fell.
Residues [1-900] fell.
It uses f(x) = (2x).
It fell {see text}.
It is x^2 and e^{x}.
A [B] C.
It fell to 10(3)/L as PGE(2) and cm(2) rose.
Bound [(3)H]zelcoline fell.
Ang-(1-3), PTH(1\u20133) and \u03b2(3) fell.
It fell with t(1;3) and F(1, 2).
It fell by 10\u207b\u00b3 a day.
It fell to 74 [2] years.
It fell in 39% [1/3].
It fell to 2% (1-3) in all.
A score (0-3) fell.
A scale of [1-3] fell.
It fell for x \u2208 [1, 3] weeks.
It is 3H-[1]benzopyran-[1,2]-diol.
Women (1,493) fell.
It fell (JNJ-42041935).
It fell (UCL2077).
A receptor coactivator (SRC-2) fell.
It lies in [0, 1].
"""


def test_what_is_no_mark_stays_in_the_statement() -> None:
    for line in NO_MARKS.strip().splitlines():
        (sentence,) = read(line)
        assert sentence.citations == (), line
        plain = line.replace("<sup>2</sup>", "\u00b2")
        assert re.sub(r"\W", "", sentence.text) == re.sub(r"\W", "", plain), line


def test_every_example_of_the_page_on_citations_is_read() -> None:
    page = (ROOT / "docs" / "citations.md").read_text(encoding="utf-8")
    first_table = page.partition("|---|---|\n")[2].partition("\n\n")[0]
    examples = re.findall(r"^\| [^|]+ \| `([^`|]+)` \|$", first_table, re.MULTILINE)
    assert len(examples) == 44
    for example in examples:
        space = "" if example[0] in "^$\u00b9\u2460" else " "
        (sentence,) = read(f"Zelcoline lowers pressure{space}{example}.")
        assert sentence.citations, example


def test_every_example_of_an_entry_is_read() -> None:
    for kind, pattern, example in ENTRIES:
        found = read_targets(example, is_square=True)
        assert [one.kind for one in found] == [kind], example
        assert re.fullmatch(pattern, example, re.IGNORECASE), example


@pytest.mark.parametrize(
    ("answer", "markers"),
    [
        ("It fell (Smith et al., 2020).", ["Smith et al., 2020"]),
        ("It fell (Smith & Jones, 2020a).", ["Smith & Jones, 2020a"]),
        ("It fell (Lee, 2019; Kim, 2021).", ["Lee, 2019", "Kim, 2021"]),
        ("It fell [Smith et al. 2020].", ["Smith et al., 2020"]),
        ("It fell (see Smith and Jones 2020).", ["Smith and Jones, 2020"]),
        ("It fell (Smith et al., 2019, 2020).", ["Smith et al., 2019", "Smith et al., 2020"]),
        ("It fell (https://example.org/x).", ["https://example.org/x"]),
        ("It fell (McMurray et al., NEJM 2019).", ["McMurray et al., 2019"]),
        ("It fell (McMurray et al. N Engl J Med. 2019).", ["McMurray et al., 2019"]),
        ("It fell [McMurray et al., Eur J Heart Fail, 2019].", ["McMurray et al., 2019"]),
        ("It fell (Lee et al., 2019, JAMA Intern Med).", ["Lee et al., 2019"]),
        ("It fell (Lee JJ et al. BMJ 2019;381(2):19-20).", ["Lee JJ et al., 2019"]),
        ("It fell (Lee, Lancet 2019; Kim and Roe, BMJ 2021).", ["Lee, 2019", "Kim and Roe, 2021"]),
        ("It fell [a].\n\n[a]: https://example.org/x", ["a"]),
        ("It fell (Lee K. BMJ 2021;11:1).", ["Lee K, 2021"]),
        ("It fell (see Lee, 2021, and references therein).", ["Lee, 2021"]),
        ("It fell (Source: Mayo Clinic).", ["Mayo Clinic"]),
        ("It fell [trial.pdf].", ["trial.pdf"]),
        ("It fell (arXiv:2101.00001).", ["arXiv:2101.00001"]),
        ("It fell (Lee and Kim 2019, Roe et al. 2021).", ["Lee and Kim, 2019", "Roe et al., 2021"]),
        ("It fell (Lee et al. 2021: 44-45).", ["Lee et al., 2021"]),
        ("It fell [a].\n\n[a] Some book", ["a"]),
        ("It fell [Source B].", ["Source B"]),
        ("It fell (Lee y cols., 2019).", ["Lee y cols., 2019"]),
        ("It fell (Lee et.al., 2019).", ["Lee et.al., 2019"]),
        (
            "It fell :contentReference[oaicite:0]{index=0}.",
            [":contentReference[oaicite:0]{index=0}"],
        ),
        (
            "It fell (Lee e Souza, 2019; Roe und Mitarbeiter 2020).",
            ["Lee e Souza, 2019", "Roe und Mitarbeiter, 2020"],
        ),
    ],
)
def test_a_mark_that_nothing_resolves_is_kept_as_unresolved(
    answer: str, markers: list[str]
) -> None:
    (sentence,) = read(answer)
    assert sentence.text == "It fell."
    assert [(c.marker, c.document, c.is_unresolved) for c in sentence.citations] == [
        (marker, None, True) for marker in markers
    ]


def test_authors_resolve_where_a_source_names_them() -> None:
    sources = (
        Document(id="smith2020", text="Pressure fell."),
        Document(id="x", title="Lee K, K\u00edm J. Cough. BMJ 2019", text="Cough."),
    )
    first, second, third = read(
        "It fell (Smith et al., 2020). It rose (Lee and Kim, 2019). Smith et al.'s (2020) agree.",
        sources,
    )
    assert [c.document for s in (first, second, third) for c in s.citations] == [
        "smith2020",
        "x",
        "smith2020",
    ]
    assert third.text == "Smith et al.'s agree."


def test_an_organisation_resolves_with_its_acronym() -> None:
    sources = (
        Document(id="w", title="World Health Organization 2021", text="It fell."),
        Document(id="c", title="National Cancer Institute. Facts. 2020", text="It rose."),
    )
    for mark, cited in (
        ("(World Health Organization (WHO), 2021)", ["w"]),
        ("[World Health Organization [WHO] 2021]", ["w"]),
        ("(National Cancer Institute (NCI), 2020; World Health Organization, 2021)", ["c", "w"]),
    ):
        (sentence,) = read(f"It fell {mark}.", sources)
        assert (sentence.text, [c.document for c in sentence.citations]) == ("It fell.", cited)


def test_ibid_cites_the_source_of_the_previous_mark() -> None:
    answer = "It fell (Trial A). It fell again [ibid.].\n\n- It rose [2]\n- It stood (Ibid., p. 3)"
    assert statements(answer) == [
        ("It fell.", [A]),
        ("It fell again.", [A]),
        ("It rose", [B]),
        ("It stood", [B]),
    ]
    (sentence,) = read("It fell (ibid.).")
    assert [(c.marker, c.is_unresolved) for c in sentence.citations] == [("ibid.", True)]


def test_superscripts_that_became_plain_digits_are_read_after_sentences() -> None:
    answer = "It fell.1 It rose by 5%.2,3 It stood (in all).1\u20133"
    assert statements(answer) == [
        ("It fell.", [A]),
        ("It rose by 5%.", [B, C]),
        ("It stood (in all).", [A, B, C]),
    ]
    for answer in ("It fell.7 It rose.", "It fell [2] in No.1 Street.", "It fell to 4.1 There."):
        assert not [c for one in read(answer) for c in one.citations if c.marker != "2"], answer


def test_a_source_is_found_by_its_file_name_or_host() -> None:
    sources = (
        Document(id="data/gold 2023.pdf", text="T"),
        Document(id="b", text="T", url="file:///data/trial.pdf"),
        Document(id="a/notes.txt", text="T"),
        Document(id="b/notes.txt", text="T"),
        Document(id="w", text="T", url="https://www.who.int/a"),
    )
    first, second, third = read(
        "It fell [gold 2023.pdf, p. 4]. It rose (trial.pdf). It stood [notes.txt].", sources
    )
    assert [c.document for s in (first, second) for c in s.citations] == ["data/gold 2023.pdf", "b"]
    assert [c.document for c in third.citations] == [None]
    for mark, cited in (("[who.int]", "w"), ("(https://www.who.int)", None)):
        (sentence,) = read(f"It fell {mark}.", sources)
        assert [c.document for c in sentence.citations] == [cited]


def test_a_letter_of_the_ids_of_sources_is_a_mark_beyond_them() -> None:
    (sentence,) = read("It fell [S9].", tuple(Document(id=f"S{n}", text="T") for n in (1, 2)))
    assert [(c.marker, c.document, c.is_unresolved) for c in sentence.citations] == [
        ("S9", None, False)
    ]


def test_a_reference_list_resolves_marks_and_states_nothing() -> None:
    for references in (
        "References:\n[1] Cohort B. BMJ 2019;1:2.\n[2] Trial A. J Hypertens 2020;38:11-19.",
        "## References\n1. Cohort B. BMJ 2019;1:2.\n2. Trial A. J Hypertens 2020;38:11-19.",
        "**Sources**\n\n1. PMID 27182818\n2. PMID: 31415926",
        "[1]: https://pubmed.ncbi.nlm.nih.gov/27182818/\n[2]: https://pubmed.ncbi.nlm.nih.gov/31415926/",
        "Bibliography\n- [1] Lee K. Cohort B. 2019.\n- [2] Smith J. Trial A. 2020.",
        "<h3>References</h3><ol><li>Cohort B. BMJ 2019.</li><li>Trial A. Lancet 2020.</li></ol>",
    ):
        found = statements(f"It fell [2]. It causes cough [1].\n\n{references}")
        assert found == [("It fell.", [A]), ("It causes cough.", [B])], references


def test_footnotes_resolve_marks_by_title_and_else_by_position() -> None:
    answer = "It fell.[^b] It causes cough.[^1]\n\n[^b]: Trial A.\n[^1]: Cohort B, page 3."
    assert statements(answer) == [("It fell.", [A]), ("It causes cough.", [B])]


def test_a_footnote_may_leave_out_the_subtitle_of_its_source() -> None:
    titles = (
        "Quadruple versus triple therapy: a randomised trial",
        "Gout: a cohort",
        "Gout: a trial",
    )
    sources = tuple(
        Document(id=f"s{n}", title=title, text="Text.") for n, title in enumerate(titles)
    )
    answer = "It fell.[^2]\n\n[^2]: Quadruple versus triple therapy, 2020."
    record = Record(id="r", question="Q?", answer=answer, sources=sources)
    (sentence,) = segment(record, lambda _: None)[1]
    assert [one.document for one in sentence.citations] == ["s0"]


def test_a_reference_to_no_source_is_unresolved_beside_those_that_resolve() -> None:
    answer = (
        "It fell [1]. It rose [2].\n\nReferences\n1. Trial A. 2020.\n2. Some other trial. 2021."
    )
    first, second = read(answer)
    assert [c.document for c in first.citations] == [A]
    assert [(c.document, c.is_unresolved) for c in second.citations] == [(None, True)]


def test_food_sources_are_no_reference_list() -> None:
    answer = "It is one [1].\n\nSources:\n- Oranges have much of it [2].\n- Lemons have it too [3]."
    assert [one.text for one in read(answer)][-2:] == [
        "Oranges have much of it.",
        "Lemons have it too.",
    ]


@each_case(
    ("answer", "n"),
    [
        ("## Evidence\n\nSmith et al. (2019) found a fall [1]. Lee et al. found none [2].", 2),
        ("It fell.\n\n**Evidence**\n- Smith et al. saw a fall.\n- A 2020 cohort saw a cough.", 3),
        ("Evidence: Smith et al. found a fall in 2019 [1].", 1),
        ("Notes: the 2020 guideline recommends it.", 1),
        ("Facts:\n(a) It fell (PMID: 31415926).\n(b) It rose (PMID: 27182818).", 2),
        ("Evidence:\n1. It fell (PMID: 31415926).\n2. It rose (PMID: 27182818).", 2),
        ("Two facts:\n1. It fell, PMID 31415926.\n2. It rose; see doi:10.1000/abc.", 2),
        ("It fell [1].\n\nNotes:\n1. Smith J, Lee K. A trial. Lancet, 2019.\n2. PMID 27182818", 1),
        ("It fell [1].\n\nEvidence: [1] Trial A", 1),
        ("It fell [1].\n\nLinks:\n- [Trial](https://a.org)\n- WHO: https://b.org", 1),
        ("It fell [1].\n\n1. Lee K. A study (2020). doi:10.1000/abc", 1),
    ],
)
def test_statements_that_name_papers_are_no_reference_list(answer: str, n: int) -> None:
    assert len([one for one in read(answer) if not one.text.endswith(":")]) == n


def test_closing_sources_are_no_statement_and_no_citation() -> None:
    for closing in (
        "Sources: [1], [2]",
        "**References:** [1][2]",
        "Sources: PMID 31415926, PMID 27182818",
    ):
        assert statements(f"It fell [3].\n\n{closing}") == [("It fell.", [C])], closing


@each_case(
    ("answer", "cited"),
    [
        ("It fell.\nSource: [1]\n\nIt rose.\n*Source: PMID 27182818*", [[A], [B]]),
        ("It fell.\n\nSource: [1]\n\nIt rose.\n\nSources: [2], [3]", [[A], [B, C]]),
        ("It fell.\nSource: 1\n\nIt rose.\n\n**Sources:** 2, 3", [[A], [B, C]]),
        ("- It fell.\n  Source: [1]\n- It rose.\n  Source: [2]", [[A], [B]]),
        ("It fell.\n\nSource: [1]", [[A]]),
        ("It fell.\n\nIt rose.\n\nSources: [1], [2]", [[], []]),
        ("It fell [3]. It rose (Source 1).\nSources: [1], [3]", [[C], [A]]),
    ],
)
def test_a_source_line_cites_the_unmarked_text_above_it(
    answer: str, cited: list[list[str]]
) -> None:
    assert statements(answer) == list(zip(["It fell.", "It rose."], cited, strict=False))


def test_numbers_are_ids_where_all_are_ids_of_sources() -> None:
    sources = tuple(Document(id=name, text="T") for name in ("3", "1", "7"))
    (sentence,) = read("It fell [3] [7] [1].", sources)
    assert [(c.document, c.other) for c in sentence.citations] == [
        ("3", None),
        ("7", None),
        ("1", None),
    ]


def test_a_number_whose_source_was_not_handed_in_is_unresolved_not_invalid() -> None:
    (sentence,) = read("It fell [3] [4].", (Document(id="3", text="T"), Document(id="8", text="T")))
    assert [(c.document, c.is_unresolved) for c in sentence.citations] == [
        ("3", False),
        (None, True),
    ]


def test_numbers_from_zero_are_positions_from_zero() -> None:
    first, second = read("It fell [0]. It rose [2].")
    assert [c.document for s in (first, second) for c in s.citations] == [A, C]


def test_without_sources_marks_are_unresolved_and_a_lookup_makes_them_invalid() -> None:
    (sentence,) = read("It fell [1] [PMID 5] [S1, S2].", ())
    assert [c.is_unresolved for c in sentence.citations] == [True] * 4
    record = Record(id="r", question="Q?", answer="It fell [PMID 55555].")
    (sentence,) = segment(record, lambda name: None)[1]
    assert [c.is_unresolved for c in sentence.citations] == [False]


def test_an_article_is_found_by_the_address_of_its_source() -> None:
    sources = (
        Article(id="9", text="T", url="https://example.org/Paper/"),
        Article(id="8", text="T", url="https://journal.org/doi/full/10.1000/abc"),
    )
    for mark, cited in (
        ("(http://www.example.org/paper)", "9"),
        ("([paper](https://example.org/paper/?utm_source=openai#:~:text=It))", "9"),
        ("(10.1000/ABC)", "8"),
        ("(https://journal.org/doi/pdf/10.1000/abc?download=true)", "8"),
    ):
        (sentence,) = read(f"It fell {mark}.", sources)
        assert [c.document for c in sentence.citations] == [cited], mark


def test_a_mark_names_the_article_of_a_source_s_address() -> None:
    sources = (
        Document(id="a", text="T", url="https://www.ncbi.nlm.nih.gov/pubmed/31415926"),
        Document(id="b", text="T", url="https://pmc.ncbi.nlm.nih.gov/articles/PMC7654321/"),
    )
    answer = (
        "It fell (Lee et al., 2020, PMID: 31415926) (PMCID: PMC7654321). It rose [pmid-31415926]. "
        "It fell (PubMed: 31415926; https://europepmc.org/article/PMC/PMC7654321)."
    )
    found = [(one.text, [c.document for c in one.citations]) for one in read(answer, sources)]
    assert found == [("It fell.", ["a", "b"]), ("It rose.", ["a"]), ("It fell.", ["a", "b"])]


def test_addresses_of_pubmed_and_of_dois_name_articles() -> None:
    assert parse_address("https://europepmc.org/article/MED/123").value == "123"
    assert parse_address("https://doi.org/10.1000/ABC.").value == "10.1000/abc"
    assert parse_address("https://example.org/a).").kind == "address"


def test_tokens_of_models_around_citations_are_no_text() -> None:
    answer = "[cite_start]It fell. [cite: 1] [cite_start]It causes cough. [cite: 2]<|return|>"
    assert statements(answer) == [("It fell.", [A]), ("It causes cough.", [B])]


def test_an_id_like_a_position_of_chatgpt_is_an_id() -> None:
    sources = tuple(Document(id=f"turn0search{n}", text="T") for n in (3, 0))
    (sentence,) = read("It fell \ue200cite\ue202turn0search0\ue202turn0search3\ue201.", sources)
    assert [c.document for c in sentence.citations] == ["turn0search0", "turn0search3"]


def test_a_range_behind_a_number_cites_where_the_answer_has_these_sources() -> None:
    (sentence,) = read("It fell by week 24 [1-3].")
    assert (sentence.text, len(sentence.citations)) == ("It fell by week 24.", 3)
    (sentence,) = read("It fell by week 24 [1 to 3].")
    assert (sentence.text, len(sentence.citations)) == ("It fell by week 24.", 3)
    for interval in ("[12-18]", "[12\u201318]", "[12 to 18]"):
        (sentence,) = read(f"It took 14 {interval} days.")
        assert (sentence.text, sentence.citations) == (f"It took 14 {interval} days.", ())


def test_private_characters_of_an_answer_stay_words() -> None:
    (sentence,) = read("It \ue010fell\ue001 [1].")
    assert sentence.text == "It \ufffdfell\ufffd."


def test_numbers_that_close_parentheses_begin_no_list() -> None:
    answer = "It fell (Table 1) [1]. It causes cough (phase 3) [2]."
    assert statements(answer) == [("It fell (Table 1).", [A]), ("It causes cough (phase 3).", [B])]


@each_case(
    ("answer", "expected"),
    [
        ("It fell.[1]. It rose.", [("It fell.", [A]), ("It rose.", [])]),
        ("It fell.\u00b9It rose.\u00b2", [("It fell.", [A]), ("It rose.", [B])]),
        ("It fell, PMID 27182818, and rose.", [("It fell, and rose.", [B])]),
        ("It fell\u200b[1].", [("It fell.", [A])]),
        ("\u4e0b\u964d\uff3b1\uff3d\u3002", [("\u4e0b\u964d\u3002", [A])]),
        ("In contrast, (2) saw none (1, 9).", [("In contrast, saw none.", [B, A, None])]),
        ("So (1) and (3) agree.", [("So agree.", [A, C])]),
        ("It fell by 97% (1) and by 3%.", [("It fell by 97% and by 3%.", [A])]),
        ("It fell by IL-2 (1, 3).", [("It fell by IL-2.", [A, C])]),
        (f"It fell [1] ({B}, {C}).", [("It fell.", [A, B, C])]),
        ("It fell in *1/*2 and *1/*3 [1].", [("It fell in *1/*2 and *1/*3.", [A])]),
        ("It shows: (1) a fall, (2) a rise.", [("It shows: (1) a fall, (2) a rise.", [])]),
        (
            "It shows: (1) A fall. (2) A rise (in all). (3) No cough.",
            [
                (one, [])
                for one in ("It shows:", "(1) A fall.", "(2) A rise (in all).", "(3) No cough.")
            ],
        ),
        ("Benzo[c][1,2,5]thiadiazole fell (2).", [("Benzo[c][1,2,5]thiadiazole fell.", [B])]),
        ("[1] It fell. [2] It rose.", [("It fell.", [A]), ("It rose.", [B])]),
        ("[1] It fell. It rose. [2]", [("It fell.", [A]), ("It rose.", [B])]),
        ("Benzo[a]pyrene fell [a].\n\n[a] Source 2", [("Benzo[a]pyrene fell.", [B])]),
        ("It fell ([BREEZE](https://a.org), [x](https://b.org)).", [("It fell.", [None, None])]),
        ("It fell [\u2197](https://a.org).", [("It fell.", [None])]),
        (
            "It fell, see ([the trial](https://a.org) and [x](https://b.org)).",
            [("It fell, see (the trial and x).", [None, None])],
        ),
    ],
)
def test_marks_leave_the_sentence_that_they_belong_to(
    answer: str, expected: list[tuple[str, list[str | None]]]
) -> None:
    assert statements(answer) == expected


@each_case(
    ("answer", "expected"),
    [
        ("Source 1 reports a fall.", [("Source 1 reports a fall.", [A])]),
        ("As stated in Passage ID 2, it fell.", [("As stated in Passage ID 2, it fell.", [B])]),
        ("References 1\u20132 differ.", [("References 1\u20132 differ.", [A, B])]),
        ("By data source 2, it fell.", [("By data source 2, it fell.", [])]),
        ("Documents 1, 2 and 3 differ.", [("Documents 1, 2 and 3 differ.", [A, B, C])]),
        ("It fell.\n\u2014 Source 1\n\nIt rose.", [("It fell.", [A]), ("It rose.", [])]),
        ("| Finding | Evidence |\n|---|---|\n| It fell | Source 1 |", [("It fell", [A])]),
        ("It fell \u2013 Source 1.", [("It fell.", [A])]),
        ("**Source 1**\n\nIt fell [2].", [("It fell.", [B])]),
        ("It fell [2].\n\nSources: Source 1, Source 2", [("It fell.", [B])]),
        ("Document 29 is a guideline.", [("Document 29 is a guideline.", [])]),
    ],
)
def test_a_source_that_the_sentence_names_is_cited_and_stays_in_it(
    answer: str, expected: list[tuple[str, list[str]]]
) -> None:
    assert statements(answer) == expected


def test_a_source_that_the_sentence_names_is_unresolved_without_sources() -> None:
    (sentence,) = read("As stated in **Passage ID 5**, it fell.", ())
    assert [(c.marker, c.is_unresolved) for c in sentence.citations] == [("Passage ID 5", True)]


def test_letters_in_parentheses_are_no_ids_of_sources() -> None:
    sources = tuple(Document(id=name, text="T") for name in ("a", "b"))
    (sentence,) = read("Rest with (a) ice and (b) sleep [b].", sources)
    assert (sentence.text, [c.marker for c in sentence.citations]) == (
        "Rest with (a) ice and (b) sleep.",
        ["b"],
    )


def test_the_last_items_of_a_list_are_statements_though_they_name_authors_and_pages() -> None:
    answer = (
        "Two trials are known:\n1. Smith et al. found a fall of 7 mmHg.\n"
        "2. Lee et al. found none in 2019, see https://example.org/a."
    )
    assert [one.text for one in read(answer)][1:] == [
        "Smith et al. found a fall of 7 mmHg.",
        "Lee et al. found none in 2019, see.",
    ]


@each_case(
    ("answer", "cited"),
    [
        ("It fell [a]. It rose [b].\n\n[a]: https://example.org/a\n[b]: PMID 27182818", [A, B]),
        (
            "It fell [x1]. It rose [x2].\n\n[x1]: <https://example.org/a>\n[x2]: doi:10.1000/b",
            [A, B],
        ),
        ("It fell [smith]. It rose [2].\n\n[smith]: https://example.org/a", [A, B]),
        (
            "It fell [the trial][a]. It rose [b].\n\n[a]: https://example.org/a"
            '\n[b]: https://example.org/b "B"',
            [A, B],
        ),
        ("It rose [a]. It fell [b].\n\n[a]: Source 2\n[b]: Source 1", [B, A]),
        ("It rose.[^1] It fell.[^2]\n\n[^1]: Source 2\n[^2]: Document 1, a trial", [B, A]),
        ("It rose [1]. It fell [2].\n\nReferences:\n[1] Source 2\n[2] Source 1", [B, A]),
        ("It rose [a]. It fell [b].\n\n[a] Source 2\n[b] Source 1", [B, A]),
        ("It rose [a]. It fell [b].\n\n- [a] = Doc 2 (p. 3)\n- [b] = Doc 1", [B, A]),
        ("It rose [a]. It fell [b].\n\n[a] Cohort B\n[b] Trial A", [B, A]),
        ("It rose [a]. It fell [b].\n\nSources:\na. Cohort B\nb. Trial A", [B, A]),
        ("It rose [I]. It fell [II].\n\nReferences\nI. Cohort B\nII. Trial A", [B, A]),
        ("It rose [lee]. It fell [kim].\n\nReferences:\n[lee] Cohort B\n[kim] Trial A", [B, A]),
        ("It rose [1]. It fell [2].\n\n1. Source 2\n2. Source 1", [B, A]),
        (
            "It rose.<sup>a</sup> It fell.<sup>b</sup>\n\n<sup>a</sup> Doc 2\n<sup>b</sup> Doc 1",
            [B, A],
        ),
        (
            "It rose [1]. It fell [2].\n\n|#|Title|\n|-|-|\n| 1 | Cohort B |\n| [2] | Trial A |",
            [B, A],
        ),
        ("It rose [a]. It fell [b].\n\n(a) Source 2\n(b) Source 1", [B, A]),
        ("It rose [a]. It fell [b].\n\n[a] Source: 2\n[b] Source #1", [B, A]),
        ("It rose [1]. It fell [2].\n\n**Reference key**\n- [1] Doc 2\n- [2] Doc 1", [B, A]),
        ("[a] Source 2\n[b] Source 1\n\nIt rose [a]. It fell [b].", [B, A]),
        ("It rose [a]. It fell [b].\n\nKey: [a] = Source 2, [b] = Source 1", [B, A]),
        ("It rose [1]. It fell [2].\n\n[1] \u2192 Cohort B\n[2] \u2192 Trial A", [B, A]),
        ("It rose [1]. It fell [2].\n\nSources: [1] Cohort B; [2] Trial A", [B, A]),
        ("It rose [1]. It fell [2].\n\nReferences: 1. PMID 27182818; 2. PMID 31415926", [B, A]),
    ],
)
def test_the_answer_defines_what_a_letter_or_number_cites(answer: str, cited: list[str]) -> None:
    sources = (
        Document(id=A, title="Trial A", text="It fell.", url="https://example.org/a"),
        Article(
            id=B, title="Cohort B", text="It rose.", url="https://example.org/b", doi="10.1000/b"
        ),
    )
    found = read(answer, sources)
    assert [[c.document for c in one.citations] for one in found] == [[one] for one in cited]
