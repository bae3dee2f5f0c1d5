"""Pairs of judges' own replies, by the limits of YESciEval's section 5."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonl import read_jsonl, write_jsonl
from yescieval import write_answers

from ragassay.agents.tuned_judge import render_papers
from ragassay.errors import InputError
from ragassay.formats import read_labels
from ragassay.formats.reviews import read_answers
from ragassay.graphs.case import convert_to_case
from ragassay.optimizers.finetuning.examples import ChatExample
from ragassay.optimizers.finetuning.judge_data import build_judge_examples, build_replied_examples
from ragassay.optimizers.finetuning.judge_replies import read_judge_replies
from ragassay.retrievers.literature import Corpus
from ragassay.settings import load_settings

SETTINGS = load_settings(evidence_rounds=0)

RATED = {
    # Each judge's rating of the whole answer, and of the two perturbed ones.
    "harsh": (5, 3, 1),
    "mild": (4, 4, 2),
    "blind": (5, 5, 5),
}
RUBRICS = {"benign": "Conciseness", "subtle": "Conciseness", "extreme": "Relevancy"}


def write_rated(folder: Path) -> Path:
    """Write ten questions as in the released files, each answer rated by three judges."""
    ratings: dict[str, Any] = {}
    for place, (variant, rubric) in enumerate(RUBRICS.items()):
        reason = f"reason of {variant}. " + "It goes on at length. " * 12
        ratings[variant] = {
            judge: {rubric: {"rating": given[place], "rationale": reason}}
            for judge, given in RATED.items()
        }
    return write_answers(folder, ratings)


@pytest.fixture
def replied(tmp_path) -> Path:
    return write_rated(tmp_path)


@pytest.fixture(scope="module")
def preferences(tmp_path_factory) -> list[ChatExample]:
    data = write_rated(tmp_path_factory.mktemp("rated"))
    return build_replied_examples([data], SETTINGS, method="cpo")


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    rows = read_jsonl(path)
    for row in rows:
        change(row)
    write_jsonl(path, *rows)


def count_ratings(examples: list[ChatExample]) -> Counter[tuple[str, int, int | None]]:
    """Count kind, wanted and unwanted rating."""
    rated = [one for one in examples if one.is_rating]
    replies = [
        [json.loads(t)["rating"] if t else None for t in (e.reply, e.rejected)] for e in rated
    ]
    return Counter((e.kind, *values) for e, values in zip(rated, replies, strict=True))


def test_a_low_rating_of_damage_is_wanted_and_a_higher_one_is_not(preferences):
    n_questions = len({e.group for e in preferences})
    assert 0 < n_questions < 10
    # Subtle, up to 3: harsh's 3 against 4 and 5. Extreme, up to 1: harsh's 1 against 2 and 5.
    # Whole: each of 5, 4, 5 against the one good rating of its perturbed version, 3.
    assert count_ratings(preferences) == {
        ("conciseness, subtle", 3, 4): n_questions,
        ("conciseness, subtle", 3, 5): n_questions,
        ("relevancy, extreme", 1, 2): n_questions,
        ("relevancy, extreme", 1, 5): n_questions,
        ("conciseness, unperturbed", 5, 3): 2 * n_questions,
        ("conciseness, unperturbed", 4, 3): n_questions,
    }


def test_fine_tuning_learns_every_reply_on_whole_answers_alone(replied):
    found = build_replied_examples([replied], SETTINGS, method="sft")
    n_questions = len({e.group for e in found})
    assert count_ratings(found) == {
        ("conciseness, unperturbed", 5, None): 2 * n_questions,
        ("conciseness, unperturbed", 4, None): n_questions,
    }
    assert {e.kind.partition(",")[0] for e in found if not e.is_rating} >= {"fine", "subject"}


def test_a_reason_is_the_judges_own_as_long_as_a_tuned_judge_may_write(preferences):
    reasons = {json.loads(e.reply)["rationale"] for e in preferences if e.is_rating}
    assert all(reason.startswith("Reason of ") and reason.endswith(".") for reason in reasons)
    assert all(60 < len(reason) <= 160 for reason in reasons)


def test_without_a_reason_ours_stands_there_and_is_counted(replied):
    def remove_reasons(row: dict[str, Any]) -> None:
        for by_rubric in row["ratings"].values():
            for given in by_rubric.values():
                given["rationale"] = ""

    rewrite(replied, remove_reasons)
    told: list[str] = []
    found = build_replied_examples([replied], SETTINGS, method="cpo", say=told.append)
    subtle = [json.loads(e.reply) for e in found if e.is_rating and "subtle" in e.kind]
    assert {r["rationale"] for r in subtle} == {"It could say the same in fewer words."}
    assert told[-1].endswith("generated for 90 replies without a reason")


def test_the_prompt_marks_what_was_added(preferences):
    prompts = {e.kind: e.messages[-1][1] for e in preferences if e.is_rating}
    marks = {kind: text.split("\nmarks: ")[1].splitlines()[0] for kind, text in prompts.items()}
    assert marks == {
        "conciseness, subtle": "4 again",
        "relevancy, extreme": "4 subject",
        "conciseness, unperturbed": "none",
    }


def test_a_file_without_ratings_says_what_to_do(replied):
    rewrite(replied, lambda row: row["ratings"].clear())
    with pytest.raises(InputError, match="use --targets made"):
        build_replied_examples([replied], SETTINGS, method="cpo")


def test_a_judge_that_reads_sources_is_shown_what_fits(replied):
    record = read_answers(replied).records[0]
    case = convert_to_case(record, SETTINGS, Corpus())
    whole = render_papers(case, 10_000)
    assert "[1] Trial. Drug A lowered" in whole and "[2] Safety. Cough" in whole
    cut = render_papers(case, 90)
    assert "[...]" in cut and "Trial" in cut and len(cut) < len(whole)
    assert "Trial" not in render_papers(case, 20)
    assert render_papers(case, 0) == ""
    for examples in (
        build_judge_examples([replied], SETTINGS, source_chars=10_000),
        build_replied_examples([replied], SETTINGS, method="cpo", source_chars=10_000),
    ):
        for example in examples:
            assert ("The throat was irritated." in example.messages[-1][1]) == example.is_rating


def test_the_released_files_have_the_papers_number_of_examples(shared):
    path = shared / "data" / "yescieval" / "bioasq-train-answers.jsonl.gz"
    found = read_judge_replies(path)
    whole = {name: one for name, one in found.items() if name.endswith("/benign")}
    # Table 2, supervised fine-tuning on BioASQ.
    assert sum(len(group) for one in whole.values() for group in one.values()) == 6_504
    assert sum(bool(label.reason) for label in read_labels(path).labels) > 5_000
