"""`ragassay grades`: merge, filter and oversee graded passages, and evaluate systems by them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Unpack

import typer

from ragassay.cli import grade_scores, oversight
from ragassay.cli.base import PARTIAL, errors_as_lines
from ragassay.cli.grade import (
    Banks,
    Depth,
    GradesArgument,
    Items,
    Leanings,
    MinRating,
    Model,
    PromptClass,
    SelfRated,
    Words,
    exit_code,
    grade_filter,
    graded_file,
)
from ragassay.cli.options import takes
from ragassay.options import EvaluateKeywords

app = typer.Typer(
    name="grades",
    help="Graded passages: merge and filter them, oversee grading and test bank, evaluate systems.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Out = Annotated[Path, typer.Option("--out", help="The file to write; compressed if in .gz.")]


@app.command()
def merge(
    files: Annotated[
        list[Path], typer.Argument(metavar="GRADES...", help="Graded files of the same passages.")
    ],
    *,
    out: Out,
    later_wins: Annotated[
        bool,
        typer.Option(
            "--later-wins", help="Take the later file's grades where a grader is in two files."
        ),
    ] = False,
) -> None:
    """Merge the grades that several graders gave to the same passages into one file.

    Passages are matched by query and id. It is an error if their texts or judgments differ, or if
    the same model and class of prompts graded a passage in two files, but not equally.

    For example:

      ragassay grades merge flan.jsonl.gz gpt.jsonl.gz --out both.jsonl.gz

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.formats import write_graded_paragraphs
        from ragassay.reports.text import count_text
        from ragassay.workbench.graded_files import merge_grades

        found = [graded_file(path, None, None) for path in files]
        merged = merge_grades([file.queries for file in found], later_wins=later_wins)
        write_graded_paragraphs(merged, out)
        n = sum(len(query.paragraphs) for query in merged)
        typer.echo(
            f"{out}: {count_text(len(merged), 'query', 'queries')}, {count_text(n, 'passage')}"
        )
    exit_code(*found)


@app.command()
@takes(EvaluateKeywords, "corpus", "questions")
def passages(
    responses: Annotated[
        list[Path], typer.Argument(help="Answers, rankings or graded files, as for `grade`.")
    ],
    *,
    target: Out,
    words: Words = 400,
    depth: Depth = 20,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Write passages in the Workbench's own form, for its programs to grade.

    Passages keep the systems that ranked or wrote them, judgments, and grades that they have. The
    Workbench reads gzip only: end OUT in .jsonl.gz.

    For example:

      ragassay grades passages answers.jsonl --out responses.jsonl.gz

      ragassay grades passages a.run b.run --corpus passages.jsonl --out responses.jsonl.gz

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.output import print_rejections
        from ragassay.formats import write_graded_paragraphs
        from ragassay.reports.text import count_text
        from ragassay.workbench.grading import prepared_passages

        found = prepared_passages(responses, options, most_words=words, depth=depth, spelled="flag")
        print_rejections(found.rejections)
        write_graded_paragraphs(found.queries, target)
        n = sum(len(query.paragraphs) for query in found.queries)
        typer.echo(
            f"{target}: {count_text(len(found.queries), 'query', 'queries')}, "
            f"{count_text(n, 'passage')}"
        )
    if found.rejections:
        raise typer.Exit(PARTIAL)


@app.command("filter")
def filter_(
    grades: GradesArgument,
    *,
    out: Out,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    self_rated: SelfRated = None,
) -> None:
    """Keep some grades of each passage: those of a model, a class of prompts, a kind of item.

    For example:

      ragassay grades filter all.jsonl.gz --items nugget --out nuggets.jsonl.gz

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.formats import write_graded_paragraphs
        from ragassay.workbench.evaluation import graders_of
        from ragassay.workbench.graded_files import filter_grades

        chosen = grade_filter(model, prompt_class, items, self_rated)
        file = graded_file(grades, None, None)
        graders = graders_of(file, chosen)
        write_graded_paragraphs(filter_grades(file.queries, chosen), out)
        typer.echo(f"{out}: grades of {'; '.join(graders)}")
    exit_code(file)


@app.command()
def qrels(
    grades: GradesArgument,
    *,
    out: Out,
    label: Annotated[
        Literal["rating", "covered", "items"],
        typer.Option(
            help="Label a passage by its highest rating, by the number of items that it covers, "
            "or write the items that it covers (diversity qrels, as ndeval reads them)."
        ),
    ] = "rating",
    min_rating: MinRating = None,
    by_facet: Annotated[
        bool,
        typer.Option(
            "--by-facet", help="Label by facet: the bank's, else the item's id up to its last /."
        ),
    ] = False,
    bank: Banks = None,
    leanings: Leanings = False,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
) -> None:
    """Write labels of passages as a qrels file, which trec_eval reads.

    An item without a grade is left out; passages whose label could be higher for that are counted.

    For example:

      ragassay grades qrels graded.jsonl.gz --prompt-class NuggetSelfRatedPrompt --out rubric.qrels

      trec_eval -l 4 -m recip_rank rubric.qrels bm25.run

      ragassay grades qrels graded.jsonl.gz --label items --min-rating 4 --out diversity.qrels

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.reports.text import count_text
        from ragassay.workbench.evaluation import rubric_qrels, write_item_qrels, write_rubric_qrels

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, bank, chosen, leanings)
        if label == "items":
            n = write_item_qrels(file, chosen, out, min_rating)
            typer.echo(f"{out}: {count_text(n, 'item')} of passages")
        else:
            found = rubric_qrels(file, chosen, label, min_rating, by_facet=by_facet)
            n = write_rubric_qrels(found, out)
            typer.echo(
                f"{out}: {n:,} labels; {found.n_ungraded:,} passages without a grade, "
                f"{found.n_unlabelled:,} without a label, {found.n_uncertain:,} labels that could "
                "be higher"
            )
    exit_code(file)


for _command in (
    *(grade_scores.cover, grade_scores.leaderboard, grade_scores.annotators),
    *(oversight.verify, oversight.grid, oversight.missing, oversight.spurious),
    oversight.agreement,
):
    app.command()(_command)
