"""The fit of the embedded grader of test banks, on made-up grades."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace

import pytest

from ragassay.formats.workbench.paragraphs import (
    GradedParagraph,
    ParagraphExamGrade,
    QueryParagraphs,
    SelfRating,
)
from training.exam import N_FOLDS, Row, bounds_of, fit, fit_model, fold_of, held_out
from training.released_grades import known_items


def name_of(text: str) -> str:
    return f"q/{hashlib.md5(text.encode()).hexdigest()}"


def rows(n_queries: int = 12, noise: float = 0.5) -> list[Row]:
    """Ratings that grow with `least`, and do not depend on `bank`."""
    rng = random.Random(3)
    found: list[Row] = []
    for query in range(n_queries):
        for place in range(60):
            least = rng.gauss(0, 1)
            rating = min(5, max(0, round(2 * least + rng.gauss(0, noise))))
            kind = ("question", "nugget")[place % 2]
            signals = {"least": least, "bank": rng.gauss(0, 1), "settles": -least / 2}
            item = f"q{query}/{place % 20}"
            found.append(Row(f"q{query}", 60 * query + place, item, kind, rating, signals))
    return found


def test_what_tells_gets_the_weight_and_nothing_gets_a_negative_one():
    found = fit(rows())
    assert found.weights["least"] > 1 > 0.2 > found.weights["bank"] >= 0
    assert found.weights["settles"] == pytest.approx(0, abs=1e-3)
    assert list(found.thresholds) == sorted(found.thresholds)
    sure, unsure = ({"least": v, "bank": 0.0, "settles": 0.0} for v in (2.0, -2.0))
    assert found.reach_probabilities(sure)[3] > 0.8 > 0.2 > found.reach_probabilities(unsure)[0]


def test_no_query_is_graded_by_a_fit_that_saw_it():
    data = [row for row in rows() if row.kind == "nugget"]
    fits = held_out(data)
    assert fits[0] == fit([row for row in data if fold_of(row.query) != fold_of(data[0].query)])
    assert len({id(one) for one in fits}) == len({fold_of(row.query) for row in data})
    assert {fold_of(f"q{n}") for n in range(100)} == set(range(N_FOLDS))


def test_bounds_admit_what_is_right_and_nothing_of_noise():
    yes, no = bounds_of([row for row in rows() if row.kind == "nugget"])
    assert (yes.label, no.label) == ("yes", "no")
    assert yes.threshold is None, "GPT-4o does not agree that such nuggets are mentioned"
    assert no.threshold is not None and no.precision is not None and no.precision > 0.75
    rng = random.Random(5)
    shuffled = [replace(row, rating=rng.choice([0, 1])) for row in rows() if row.kind == "nugget"]
    assert all(one.threshold is None for one in bounds_of(shuffled))


def test_a_model_has_numbers_for_both_kinds_and_is_the_same_again():
    model = fit_model(rows())
    assert set(model.kinds) == {"question", "nugget"}
    assert model == fit_model(rows())


def graded(*answers: tuple[str, str]) -> QueryParagraphs:
    """A paragraph with what was extracted for items, and their ratings."""
    ratings = tuple(
        SelfRating(question_id=name_of(name), self_rating=2)
        if name.endswith("?")
        else SelfRating(nugget_id=name_of(name), self_rating=1)
        for name, _ in answers
    )
    extracted = tuple((name_of(name), answer) for name, answer in answers)
    grades = (ParagraphExamGrade(self_ratings=ratings), ParagraphExamGrade(answers=extracted))
    return QueryParagraphs("q", (GradedParagraph(paragraph_id="1", text="t", exam_grades=grades),))


def kinds(query: QueryParagraphs) -> dict[str, str]:
    from training.released_grades import _kinds

    return _kinds(query)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Corn is fermented", "corn is fermented."),
        ("Fermented for spirits.", "Fermented for spirits"),
        ("Does corn lower pain?", "Corn lowers pain."),
        ("Can corn be used as a base?", "Corn can be used as a base"),
        ("How does the mash affect taste?", "mash affects taste for most"),
        ("Are there any risks?", "risks"),
        ("Are there any side effects?", "side effects"),
    ],
)
def test_a_text_that_was_copied_is_told_by_its_id(text, answer):
    query = graded((text, answer), ("Something else", "unanswerable"))
    found = known_items(query, kinds(query))
    is_short = text == "Are there any risks?"  # A word alone is no statement.
    assert [item.text for item in found] == ([] if is_short else [text])
    assert all(item.id == name_of(item.text) for item in found)
    assert all(item.kind == ("question" if text.endswith("?") else "nugget") for item in found)
