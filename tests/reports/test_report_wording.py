"""Numbers, titles and the headline say what is known, and no more."""

from __future__ import annotations

import math
import subprocess
import sys

from case_tables import each_case

from ragassay.records import Finding, Score, Summary
from ragassay.reports.charts import LEFT, RIGHT_SINGLE, build_dot_plot, draw_spark_path
from ragassay.reports.display import (
    format_bounds,
    format_difference,
    format_failure_reason,
    format_score,
    format_share,
    format_span,
    format_value,
)
from ragassay.reports.labels import describe_finding_place, find_finding_title, rank_finding_kind
from ragassay.reports.sentence_view import build_article_url
from ragassay.reports.text import (
    average_rubrics,
    describe_failures,
    describe_shortfall,
    find_score_direction,
    find_score_name,
    find_score_title,
    summarize_run,
)

LIKERT = (1.0, 5.0)


@each_case(
    "share, text",
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.834, "83 %"),
        (0.004, "0.4 %"),
        (0.0001, "<0.1 %"),
        (0.9949, "99.5 %"),
        (0.9999, ">99.9 %"),
    ],
)
def test_a_share_never_looks_like_nought_or_all_without_being_it(share, text):
    assert format_share(share).replace("\u00a0", " ") == text


def test_values_follow_their_scale():
    assert format_value(4.126, (1.0, 5.0)) == "4.13"
    assert format_value(0.5) == "50\u00a0%"
    assert format_value(None) == format_value(math.nan) == "n/a"


def test_spans_name_the_unit_once():
    assert format_span(0.62, 0.71, (0.0, 1.0)) == "62\u201371\u00a0%"
    assert format_span(-0.1, 0.4, (-1.0, 1.0)) == "-0.10 to 0.40"
    assert format_span(None, 0.4, (0.0, 1.0)) == "n/a"


@each_case("value", [None, math.nan])
def test_a_score_without_a_value_is_unscored(value):
    assert format_score(Score(value=value, n=0)) == "unscored (none to score)"
    assert format_score(Score(value=value, n=0, n_unscored=3)) == "unscored (3 of 3 missing)"
    assert format_score(None) == "unscored (not judged)"


def test_bounds_are_named_for_what_they_are():
    score = Score(value=0.2, n=8, n_unscored=2, worst=0.36, best=0.16)
    assert format_bounds(score) == "worst\u00a036\u00a0%, best\u00a016\u00a0%"
    assert format_bounds(Score(value=0.2, n=8)) == ""


def test_titles_and_directions_fall_back():
    assert find_score_title("rubric.some_new_rubric") == "Some new rubric"
    assert find_score_title("made_up.score") == "Made up: Score"
    assert find_score_title("bare") == "Bare"
    assert find_score_direction("rubric.cohesion") == "higher"
    assert find_score_direction("citations.contradict") == "lower"
    assert find_score_direction("made_up.score") is None


def test_the_mean_of_rubrics_leaves_out_and_counts_the_unscored():
    scores = {
        "rubric.a": Score(value=4.0, n=1, scale=LIKERT),
        "rubric.b": Score(value=3.0, n=1, scale=LIKERT),
        "rubric.c": Score(value=None, n=0, n_unscored=1, scale=LIKERT),
        "nuggets.f1": Score(value=1.0, n=1),
    }
    mean = average_rubrics(scores)
    assert mean is not None
    # (4 + 3) / 2, not (4 + 3 + 0) / 3
    assert (mean.value, mean.n, mean.n_unscored) == (3.5, 2, 1)
    assert average_rubrics({}) is None


def test_ratings_by_signals_are_named_for_what_they_measure():
    for key in ("rubric.correctness", "rubric.completeness", "rubric.informativeness"):
        assert "ources" in find_score_title(key, "ragassay/signals")
        assert find_score_title(key, "openai/judge") == find_score_title(key)
        assert "ources" not in find_score_title(key)
    assert find_score_title("rubric.cohesion", "ragassay/signals") == "Cohesion"


def test_the_headline_says_what_matters(run):
    line = summarize_run(run.summary).replace("\u00a0", " ")
    assert line == (
        "3 answers by 2 systems: rubrics average 3.80 of 5, 50 % of gold nuggets are stated and "
        "53 to 64 % of citations support their sentence; look first at 1 inappropriate sentence, "
        "1 contradicted citation, 1 invalid citation and 3 other findings."
    )
    assert "\n" not in line
    told = "1 record could not be evaluated and 1 line could not be read."
    assert describe_shortfall(run.summary) == told


def test_the_headline_of_nothing_claims_nothing():
    none = Summary(n_records=4, n_evaluated=0, n_failed=4, n_rejected=0)
    assert summarize_run(none) == "No answers were evaluated (4 records read)."
    bare = Summary(n_records=1, n_evaluated=1, n_failed=0, n_rejected=0)
    assert summarize_run(bare) == "1 answer: no score is available."
    assert describe_shortfall(bare) == ""


def test_the_headline_says_once_what_failed_by_cause_and_what_to_do():
    whole = Summary(n_records=8, n_evaluated=8, n_failed=0, n_rejected=0, n_judged=4)
    assert describe_failures(whole) == ""
    some = whole.model_copy(update={"unscored": {"connection": 88, "timeout": 1}})
    assert summarize_run(some) == (
        "8 answers: no score is available. No connection: 88 verdicts unscored; time-out: "
        "1 verdict unscored; start the endpoint or check --api-base, and run the same command with "
        "--retry-failed."
    )
    none = some.model_copy(update={"n_judged": 0})
    assert summarize_run(none).startswith("Nothing could be judged. No connection: 88 verdicts")
    broken = whole.model_copy(update={"unscored": {"error": 3}, "n_judged": 0})
    assert not broken.judged_nothing, "no call failed: what judges is not a model that is called"


def test_findings_rank_unknown_kinds_before_notes():
    kinds = ["extractive_nugget", "zzz", "invalid_citation", "unscored", "inappropriate_sentence"]
    assert sorted(kinds, key=rank_finding_kind) == [
        "inappropriate_sentence",
        "invalid_citation",
        "unscored",
        "zzz",
        "extractive_nugget",
    ]
    assert find_finding_title("zzz_kind") == "Zzz kind"
    assert format_failure_reason("some_reason") == "some reason"


def test_a_place_is_not_said_twice():
    for message, sentence, place in (
        ("Sentence 4 is wrong.", 4, ""),
        ("Sentence 41 is wrong.", 4, "sentence 4"),
        ("Wrong.", None, ""),
    ):
        finding = Finding(kind="k", message=message, sentence=sentence)
        assert describe_finding_place(finding) == place


def test_a_plot_keeps_marks_on_its_axis():
    wild = Score(value=9.0, n=1, low=-3.0, high=math.inf, scale=(1.0, 5.0))
    plot = build_dot_plot("t", ["rubric.a", "rubric.b"], {"": {"rubric.a": wild}})
    mark, missing = (row.marks[0] for row in plot.rows)
    assert (mark.x, mark.low, mark.high) == (RIGHT_SINGLE, LEFT, None)
    assert (missing.x, missing.text) == (None, "unscored (not judged)")
    assert [label for _, label in plot.ticks] == ["1", "2", "3", "4", "5"]


def test_a_sparkline_has_five_bars():
    assert draw_spark_path((0.0, 0.25, 0.5, 1.0, 0.1)).count("M") == 5


def test_the_import_brings_neither_jinja_nor_rich():
    code = "import sys, ragassay.reports.html; print(sorted({'jinja2', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@each_case(
    "document, url",
    [
        ("31180123", "https://pubmed.ncbi.nlm.nih.gov/31180123/"),
        ("10.1000/a(b)<c>", "https://doi.org/10.1000/a%28b%29%3Cc%3E"),
        ("12", ""),
        ("99000301", ""),
        ("javascript:alert(1)", ""),
        ("10.1000/a b", ""),
    ],
)
def test_only_pmids_and_dois_are_addresses(document, url):
    assert build_article_url(document) == url


@each_case(
    "difference, scale, text",
    [
        (0.124, (0.0, 1.0), "+12\u00a0points"),
        (-0.5, (0.0, 1.0), "\u221250\u00a0points"),
        (-0.004, (0.0, 1.0), "0\u00a0points"),
        (-0.004, LIKERT, "0.00"),
        (-0.25, LIKERT, "\u22120.25"),
        (None, LIKERT, "n/a"),
    ],
)
def test_a_difference_has_a_sign_unless_it_is_shown_as_nothing(difference, scale, text):
    assert format_difference(difference, scale) == text


def test_what_is_compared_like_a_score_has_a_title():
    assert find_score_name("findings.serious") == "Answers with a serious finding"
    assert find_score_name("rubric.mean") == "Rubric mean"
    assert find_score_name("nuggets.recall") == "Nugget recall"
