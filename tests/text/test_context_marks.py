"""Words of a pair that need its paper."""

from __future__ import annotations

from pathlib import Path

from case_tables import each_case

from benchmarks.qa_numbers import (
    DEPENDENT,
    HELD_BACK,
    bioasq_answers,
    planted_questions,
    sciqag_answers,
)
from ragassay.text.questions import find_context_marks


@each_case(
    ("question", "kind"),
    [
        ("How does this paper define frailty?", "paper"),
        ("What was measured in the study?", "paper"),
        ("According to the article, why do bees dance?", "paper"),
        ("What does the study suggest about bees?", "paper"),
        ("Based on the provided context, why do bees dance?", "paper"),
        ("What do the authors conclude about bees?", "authors"),
        ("Why do bees dance, as Figure 5 shows?", "figure"),
        ("What is shown in Table 2?", "figure"),
        ("What does the last column of the table mean?", "figure"),
        ("Why do bees dance [12]?", "figure"),
        ("What did we learn of bees?", "we"),
        ("How did our experiments go?", "we"),
        ("What follows from the above for bees?", "above"),
        ("Why do bees dance as described here?", "above"),
        ("How does the proposed method count bees?", "pointing"),
        ("What do these results mean?", "pointing"),
        ("Which of the mentioned bees dance?", "pointing"),
    ],
)
def test_words_that_need_the_paper_are_found(question: str, kind: str):
    marks = find_context_marks(question, "")

    assert [mark.kind for mark in marks] == [kind]
    assert question[marks[0].start : marks[0].end] == marks[0].text
    assert marks[0].part == "question"


@each_case(
    "question",
    [
        "What is the study of insects called?",
        "How do researchers count bees?",
        "How do we know that bees dance?",
        "What is the role of zinc in our bodies?",
        "Which section of the colon does Crohn's disease affect?",
        "What did the Framingham study find about cholesterol?",
        "What does the report of the Surgeon General say about smoking?",
        "What is the proposed mechanism for the dance of bees?",
        "What is the figure of merit of a thermoelectric material?",
        "What is the above-ground biomass of a forest?",
        "How much BPA passes from thermal paper to the skin?",
        "A queen lays eggs. How many of these eggs hatch?",
        "What does Chapter V of ICD-10 classify?",
    ],
)
def test_whole_questions_are_left_alone(question: str):
    assert find_context_marks(question, "") == ()


def test_an_answer_may_point_to_its_question_but_not_to_the_paper():
    assert find_context_marks("Why do bees dance?", "This dance tells where food is.") == ()
    (mark,) = find_context_marks("Why do bees dance?", "The paper presents a dance.")
    assert (mark.part, mark.kind, mark.text) == ("answer", "paper", "The paper")


def test_marks_do_not_overlap_and_stand_in_order():
    marks = find_context_marks(
        "In this study, what do the authors say of Figure 2?", "We say little."
    )

    assert [mark.text for mark in marks] == ["this study", "the authors", "Figure 2", "We"]


def test_nothing_is_found_in_nothing():
    assert find_context_marks("", "") == ()


@each_case("text", ["the proposed ", "bee this bee ", "described ", "[1,1,1", "a", " ", "1,"])
def test_what_is_marked_in_a_long_text_stands_there(text: str):
    # hostile/test_readers.py measures that the time is linear.
    whole = text * (100_000 // len(text))
    assert all(mark.text in whole for mark in find_context_marks(whole, ""))


def test_planted_words_are_found_and_whole_questions_left_alone(shared: Path):
    published = sciqag_answers(shared)
    whole = [one for one in published if one.id not in DEPENDENT]
    needing = [one for one in published if one.id in DEPENDENT]
    planted = planted_questions(whole, HELD_BACK)

    def share(questions: list[str]) -> float:
        return sum(bool(find_context_marks(text, "")) for text in questions) / len(questions)

    assert share([text for _, text in planted]) >= 0.98
    assert share([one.question for one in needing]) >= 0.95
    assert share([one.question for one in whole]) <= 0.01
    assert share([one.question for one in bioasq_answers(shared)]) <= 0.005
