"""What other evaluators wrote: graded paragraphs, assignments, scores, qrels and runs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from format_samples import sample

from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    NuggetScores,
    read_assignments,
    read_graded_paragraphs,
    write_assignments,
    write_graded_paragraphs,
    write_nugget_scores,
)


def test_graded_paragraphs_are_read_and_written_as_they_were(tmp_path: Path):
    path = tmp_path / "graded.jsonl.gz"
    rows = ["q", [sample("graded paragraphs"), {"paragraph_id": "p2", "text": "T"}]]
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))
    result = read_graded_paragraphs(path)
    assert result.rejections == ()
    ((first, second),) = (query.paragraphs for query in result.queries)
    assert first.paragraph_data.judgments[0].relevance == 2
    assert first.paragraph_data.rankings[0].score == 17.560528
    assert first.exam_grades[0].self_ratings[1].nugget_id == "q/2"
    assert first.exam_grades[0].answers == (("q/1", "text"),)
    assert first.grades[0].self_ratings == 4
    assert (second.exam_grades, second.grades, second.paragraph_data.rankings) == (None, None, ())
    again = tmp_path / "again.jsonl.gz"
    write_graded_paragraphs(result.queries, again)
    assert read_graded_paragraphs(again) == result


def test_direct_grades_may_be_spelt_as_in_the_paper(write):
    grade = {"correctAnswered": False, "self_ratings": 0, "answers": "no", "llm": "x"}
    row = ["q", [{"paragraph_id": "p2", "text": "T", "grades": [grade]}]]
    (query,) = read_graded_paragraphs(write(row)).queries
    assert query.paragraphs[0].grades[0].answer == "no"


def test_assignments_are_written_as_the_nuggetizer_writes_them(tmp_path: Path):
    nuggets = (AssignedNugget("n1", "vital", "support"), AssignedNugget("n2"))
    path = tmp_path / "assigned.jsonl"
    write_assignments([AssignedAnswer("1", "Q?", "Two words", "run", nuggets)], path)
    assert json.loads(path.read_text()) == {
        "query": "Q?",
        "qid": "1",
        "answer_text": "Two words",
        "response_length": 2,
        "run_id": "run",
        "nuggets": [
            {"text": "n1", "importance": "vital", "assignment": "support"},
            {"text": "n2", "importance": "failed", "assignment": "failed"},
        ],
    }
    path.write_text(path.read_text() * 2)
    _, (rejection,) = read_assignments(path)
    assert (rejection.line, rejection.field) == (2, "qid")


def test_scores_end_with_their_means(tmp_path: Path):
    path = tmp_path / "scores.jsonl"
    write_nugget_scores(
        [NuggetScores("1", 1.0, 0.5, 1.0, 0.75), NuggetScores("2", None, 0.0, None, 0.25)], path
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[-1] == {
        "qid": "all",
        "strict_vital_score": 1.0,
        "strict_all_score": 0.25,
        "vital_score": 1.0,
        "all_score": 0.5,
    }
    assert lines[1] == {"qid": "2", "strict_all_score": 0.0, "all_score": 0.25}
