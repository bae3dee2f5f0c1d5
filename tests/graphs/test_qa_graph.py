"""The graph of question-answer pairs: parts of a paper, its rules, its quotes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from case_tables import each_case

from ragassay.graphs.qa_parts import (
    PairRules,
    allocate_pairs,
    find_context_window,
    find_low_ratings,
    find_quoted_sentences,
    split_paper,
)
from ragassay.graphs.qa_state import QAJob, QAState
from ragassay.records import (
    Document,
    Failure,
    Paper,
    PaperSection,
    QAPair,
    RacarDimension,
    RacarRating,
    Usage,
)

FIRST = "Brelozant lowers migraine days by 4.2 in adults. It acts on trigeminal neurons."
SECOND = "Storage above 25 \u00b0C halves the potency of brelozant within 30 days."
PAPER = Paper(
    id="p",
    title="Brelozant",
    sections=(
        PaperSection(title="Abstract", text=FIRST, kind="abstract"),
        PaperSection(title="Table 1", text="Dose\t60 mg", kind="table"),
        PaperSection(title="Methods", text=f"{SECOND}\n{SECOND}"),
        PaperSection(title="References", text="1. Doe.", kind="reference"),
    ),
)


def test_a_whole_paper_is_one_part_with_its_tables_and_without_references():
    (whole,) = split_paper(PAPER, QAJob("p"))
    assert (whole.id, whole.title, whole.text) == ("p#1", "Brelozant", PAPER.evidence_text)
    assert "60 mg" in whole.text and "Doe" not in whole.text


LOWERS, ACTS = "Brelozant lowers migraine days by 4.2 in adults.", "It acts on trigeminal neurons."


@pytest.mark.parametrize(
    ("n_chars", "texts"),
    [
        (1_000, [f"Abstract\n{FIRST}\n\nMethods\n{SECOND}\n{SECOND}"]),
        (150, [f"Abstract\n{FIRST}", f"Methods\n{SECOND}\n{SECOND}"]),
        (85, ["Abstract", FIRST, f"Methods\n\n{SECOND}", SECOND]),
        (70, [f"Abstract\n\n{LOWERS}", f"{ACTS}\n\nMethods", SECOND, SECOND]),
    ],
)
def test_sections_are_joined_as_long_as_they_fit_and_cut_where_they_do_not(n_chars, texts):
    parts = split_paper(PAPER, QAJob("p", long="sections", section_chars=n_chars))
    assert [part.text for part in parts] == [text.strip() for text in texts]


def test_pairs_are_dealt_by_length_and_none_is_lost():
    parts = [Document(id=str(n), text="x" * n) for n in (500, 300, 200, 1)]
    assert allocate_pairs(parts, QAJob(number=10)) == (5, 3, 2, 0)
    assert sum(allocate_pairs(parts, QAJob(number=7))) == 7
    assert allocate_pairs(parts[:2], QAJob(number=7, way="self-questioning")) == (5, 2)


def test_self_questioning_reads_paragraphs_that_are_spread_over_the_paper():
    rows = [f"{n} {'word ' * 45}" for n in range(6)]
    paper = Paper(id="p", sections=(PaperSection(text="\n".join(["Too short.", *rows])),))
    parts = split_paper(paper, QAJob(number=12, way="self-questioning"))
    assert [part.text[0] for part in parts] == ["0", "2", "4"]


def test_a_known_models_window_is_read_off_the_list_that_ships():
    assert find_context_window("openai/gpt-4.1-mini") == 1_047_576
    assert find_context_window("hosted_vllm/mine") is None


HOW_MUCH = "By how much does brelozant lower migraine?"


@each_case(
    ("question", "answer", "found"),
    [
        (HOW_MUCH, "Brelozant lowers migraine days by 4.2.", []),
        ("What is shown in Figure 2 on brelozant?", "It lowers migraine days by 4.2.", ["context"]),
        ("How is brelozant stored?", "In this study storage above 25 °C halves it.", ["context"]),
        ("Does brelozant help?", "Brelozant lowers the days in adults by 5.9.", ["number"]),
        (HOW_MUCH, "By 4.2 days.", ["too_short"]),
        ("Isn't brelozant stored cold?", "Storage above 25 °C halves its potency.", ["wording"]),
        ("Does brelozant lower pain at all?", "Brelozant does lower pain at all.", ["answer_told"]),
        ("What does brelozant do?", "It does all sorts of wonderful things.", ["no_specifics"]),
    ],
)
def test_each_rule_names_its_flaw(question, answer, found):
    pair = QAPair(id="p/1", question=question, answer=answer, paper="p")
    assert [flaw.kind for flaw in PairRules(PAPER).find_flaws(pair)] == found


def test_low_ratings_are_flaws_and_missing_ones_are_none():
    def rated(dimension: RacarDimension, rating: int | None) -> RacarRating:
        failure = None if rating else Failure(reason="undecided")
        fields = {"rating": rating, "reason": "Why.", "failure": failure}
        return RacarRating(pair="p/1", dimension=dimension, **fields)

    ratings = [rated("accuracy", 1), rated("relevance", 2), rated("agnosticism", None)]
    found = find_low_ratings(ratings, 2)
    assert found.keys() == {"p/1"}
    assert [flaw.why for flaw in found["p/1"]] == ["accuracy is rated 1 of 3: Why."]
    assert len(find_low_ratings([rated("accuracy", 2)], 3)["p/1"]) == 1


@pytest.mark.parametrize(
    ("quote", "sentences"),
    [
        ("halves the potency of brelozant within 30 days", (SECOND,)),
        ("acts on trigeminal neurons", ("It acts on trigeminal neurons.",)),
        ("in adults. It acts on trigeminal neurons", ("It acts on trigeminal neurons.",)),
        ("cures every patient for good", ()),
        ("", ()),
    ],
)
def test_only_the_papers_own_sentences_are_sources(quote, sentences):
    assert find_quoted_sentences(quote, PAPER.text) == sentences


def test_a_state_has_tokens_until_the_bound():
    used = QAState(usage=Usage(n_prompt_tokens=60, n_completion_tokens=40))
    assert used.has_tokens and replace(used, max_tokens=101).has_tokens
    assert not replace(used, max_tokens=100).has_tokens
