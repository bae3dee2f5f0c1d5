"""Pairs as Markdown and CSV."""

from __future__ import annotations

import csv
import io

from ragassay.qa.report import render_pairs_csv, render_papers_csv, render_qa_markdown
from ragassay.qa.view import QAReport


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


class TestMarkdown:
    def test_has_the_worst_first_then_scores_then_papers(self, report):
        text = render_qa_markdown(report)
        places = [
            text.index(part)
            for part in ("6 pairs on 3 papers", "**Pair 1 of", "**Pair 3 of", "## Scores", "## Pap")
        ]
        assert places == sorted(places)
        assert "The paper does not contain “7”." in text
        assert "**this study**?" in text
        assert "- Without a rating: Relevance undecided, tentatively 2, Accuracy unscored" in text
        assert "| Accuracy | **1.60** | n/a |  | 2 | 1 (worst" in text

    def test_untrusted_text_is_no_markup(self, report, texts):
        text = render_qa_markdown(report)
        assert "<script>" not in text and "<img" not in text
        assert texts.markdown not in text
        n_cells = {line.count("|") - line.count("\\|") for line in text.splitlines()}
        assert n_cells <= {0, 4, 7, 8}
        assert "No faults found." in render_qa_markdown(QAReport("n", (), (), ()))


class TestPairs:
    def test_each_pair_is_a_row_with_measures_and_ratings(self, report):
        rows = rows_of(render_pairs_csv(report))
        assert [row["pair"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
        first, second, empty, fourth, unmeasured = rows[:5]
        numbers = ("numbers", "numbers_found", "missing_numbers")
        assert [first[column] for column in numbers] == ["1", "0", "7"]
        assert (first["closest_sentence"], first["closest_similarity"]) == ("4", "0.9")
        assert first["accuracy"] == "1.2"
        assert second["question_context"] == "this study"
        assert empty["closest_sentence"] == ""
        assert (fourth["accuracy"], fourth["relevance"]) == ("2.0", "3.0")
        assert unmeasured["numbers"] == unmeasured["accuracy"] == ""

    def test_an_unscored_rating_is_an_empty_cell_with_its_reason_beside_it(self, report):
        second = rows_of(render_pairs_csv(report))[1]
        assert (second["relevance"], second["accuracy"]) == ("", "")
        assert second["relevance_unscored"] == "undecided, tentatively 2"
        assert second["accuracy_unscored"] == "unscored (time-out)"
        assert second["completeness_unscored"] == ""

    def test_a_formula_is_text(self, report):
        pair = report.pairs[0].model_copy(update={"question": "=1+1"})
        found = render_pairs_csv(QAReport("n", (), [pair], ()))
        assert rows_of(found)[0]["question"] == "'=1+1"


class TestPapers:
    def test_each_paper_with_pairs_is_a_row(self, report):
        first, unmeasured, absent = rows_of(render_papers_csv(report))
        assert (first["pairs"], first["sentences"], first["coverage"]) == ("4", "24", "0.5")
        accuracy = ("accuracy", "accuracy_n", "accuracy_unscored")
        assert [first[column] for column in accuracy] == ["1.6", "2", "1"]
        assert (first["intent_similarity"], first["intent_similarity_unscored"]) == ("0.525", "1")
        assert (unmeasured["coverage"], unmeasured["accuracy"]) == ("", "")
        assert absent["paper"] == "not at hand"
