"""The short form of a run on the terminal: few rows, doubtful findings apart."""

from __future__ import annotations

from pathlib import Path

from answers import answer, written_run

from ragassay.cli.output import print_run
from ragassay.cli.run_summary import (
    MOST_FINDINGS,
    build_brief_score_sheet,
    build_brief_system_sheet,
    describe_lesser_findings,
    list_worst_findings,
    summarize_secondary_findings,
)
from ragassay.metrics.stats.summary import summarize
from ragassay.records import Finding, Score
from ragassay.reports.sheets import Sheet
from ragassay.runs.folder import RunFolder

LIKERT = (1.0, 5.0)


def rubric(value: float, n: int = 3) -> Score:
    return Score(value=value, n=n, scale=LIKERT)


def titles(sheet) -> list[str]:
    return [row[0].text for row in sheet.shown]


def brief(scores: dict[str, Score], n_lines: int = 20) -> Sheet:
    summary = summarize([], 0, 0, 0).model_copy(update={"scores": scores})
    return build_brief_score_sheet(summary, n_lines)


def found(kind: str, n: int, level: str = "primary") -> tuple[Finding, ...]:
    messages = (f"Finding {i} of this kind." for i in range(n))
    given = {"kind": kind, "level": level}
    return tuple(Finding.model_validate(given | {"message": one}) for one in messages)


def test_many_rubrics_are_their_mean_and_the_lowest_two():
    scores = {f"rubric.r{value}": rubric(value) for value in (5, 1, 4, 2, 3)}
    sheet = brief(scores)
    assert titles(sheet) == ["Mean of 5 rubrics", "Lowest rubric: R1", "Second lowest: R2"]
    assert next(sheet.shown)[1].text == "3.00 of 5"
    few = dict(list(scores.items())[:4])
    sheet = brief(few)
    assert titles(sheet) == ["R5", "R1", "R4", "R2"]


def test_a_lower_better_score_says_so_on_its_line():
    scores = {"citations.contradict": Score(value=0.5, n=2)}
    sheet = brief(scores)
    assert titles(sheet) == ["Citations contradict (lower is better)"]


def test_scores_and_systems_beyond_a_screen_are_counted():
    scores = {f"{group}.s{i}": Score(value=0.5, n=2) for group in ("a", "b") for i in range(5)}
    sheet = brief(scores, 3)
    assert titles(sheet) == ["A: S0", "A: S1", "B: S0"]
    assert sheet.caption == "7 more scores in the report."
    systems = {f"s{i}": {"nuggets.recall": Score(value=0.5, n=1)} for i in range(5)}
    sheet = build_brief_system_sheet(systems)
    assert (len(sheet.rows), sheet.caption) == (4, "1 more system in the report.")


def test_serious_findings_are_listed_and_the_others_named():
    findings = (*found("invalid_citation", 7), *found("preprint_citation", 2))
    one = answer("a", findings=findings)
    lines = list(list_worst_findings([one]))
    assert lines[0] == "  a: Finding 0 of this kind."
    assert lines[MOST_FINDINGS:] == ["  ... and 2 more in the report"]
    lesser = describe_lesser_findings(summarize([one], 1, 0, 0))
    assert lesser == "Less serious: 2 citations of preprints."


def test_doubtful_findings_are_told_apart_from_main_findings(capsys, tmp_path: Path):
    heads = found("contradicted_citation", 2)
    looks = found("contradicted_citation", 25, "secondary")
    looks += found("uncited_sentence", 1, "secondary")
    answers = [answer(f"a{i}") for i in range(3)] + [answer("b", findings=heads + looks)]
    summary = summarize(answers, 4, 0, 0)
    manifest = RunFolder(written_run(tmp_path / "run", answers)).read_manifest()
    print_run(manifest, summary, answers, tmp_path)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("2 contradicted citations in 1 of 4 answers. b: Finding 0")
    assert "25 possibly contradicted citations and 1 other finding. Most are in b (26)." in shown
    assert summarize_secondary_findings(summarize(answers[:3], 3, 0, 0), answers[:3]) == ""
