"""`ragassay grades`: merge, filter and analyse graded passages, and rank systems with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import add_options
from ragassay.cli.terminal import print_rejections
from ragassay.options import EvaluateKeywords
from ragassay.reports.display import count_text
from ragassay.workbench.commands import oversight
from ragassay.workbench.commands.grade import (
    Banks,
    Depth,
    GradesArgument,
    Items,
    MinRating,
    Model,
    PromptClass,
    TentativeRatings,
    Words,
    build_grade_filter,
    open_graded_file,
)

if TYPE_CHECKING:
    from ragassay.formats.workbench.paragraphs import QueryParagraphs

app = typer.Typer(
    help="Merge, filter and analyse graded passages, check the test bank, and rank systems."
)

Out = Annotated[Path, Option("--out", help="Output file; compressed if its name ends in .gz.")]


@app.command()
def merge(
    files: Annotated[list[Path], Argument(metavar="GRADES...")],
    *,
    out: Out,
    later_wins: bool = False,
) -> int:
    """Merge grade files from several graders into one file.

    Passages are matched by query and id. The command fails if the texts or judgments of a passage
    differ, or if two files have different grades by the same model and prompt class.

    For example:

      ragassay grades merge flan.jsonl.gz gpt.jsonl.gz --out both.jsonl.gz

    Options:
        files: Graded files with the same passages.
        later_wins: If two files have grades by the same grader, use the grades from the file listed
            later.
    """
    from ragassay.workbench.graded_files import merge_grades

    found = [open_graded_file(path) for path in files]
    merged = merge_grades([file.queries for file in found], later_wins=later_wins)
    _write(merged, out)
    return choose_exit_code(*(file.rejections for file in found))


@app.command()
@add_options(EvaluateKeywords, "corpus", "questions")
def passages(
    responses: list[Path],
    *,
    target: Out,
    words: Words = 400,
    depth: Depth = 20,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Write passages for grading with the Rubric workbench.

    If the passages have systems, judgments and grades, these are written too. The workbench only
    reads gzip files, so OUT should end in .jsonl.gz.

    For example:

      ragassay grades passages answers.jsonl --out responses.jsonl.gz
      ragassay grades passages a.run b.run --corpus passages.jsonl --out responses.jsonl.gz

    Options:
        responses: Answers, rankings or graded files, as in `ragassay grade`.
    """
    from ragassay.workbench.grading import prepare_passages

    found = prepare_passages(responses, options, most_words=words, depth=depth, style="flag")
    print_rejections(found.rejections)
    _write(found.queries, target)
    return choose_exit_code(found.rejections)


def _write(queries: Sequence[QueryParagraphs], path: Path) -> None:
    from ragassay.formats import write_graded_paragraphs

    write_graded_paragraphs(queries, path)
    n = sum(len(query.paragraphs) for query in queries)
    typer.echo(
        f"{path}: {count_text(len(queries), 'query', 'queries')}, {count_text(n, 'passage')}"
    )


@app.command("filter")
def filter_(
    grades: GradesArgument,
    *,
    out: Out,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    self_rated: Annotated[bool | None, Option("--self-rated/--not-self-rated")] = None,
) -> int:
    """Filter grades by model, prompt class or kind of item.

    For example:

      ragassay grades filter all.jsonl.gz --items nugget --out nuggets.jsonl.gz

    Options:
        self_rated: Keep only grades with ratings, or only grades without ratings.
    """
    from ragassay.formats import write_graded_paragraphs
    from ragassay.workbench.evaluation import list_accepted_graders
    from ragassay.workbench.graded_files import filter_grades

    chosen = build_grade_filter(model, prompt_class, items, self_rated)
    file = open_graded_file(grades)
    graders = list_accepted_graders(file, chosen)
    write_graded_paragraphs(filter_grades(file.queries, chosen), out)
    typer.echo(f"{out}: grades of {'; '.join(graders)}")
    return choose_exit_code(file.rejections)


@app.command()
def qrels(
    grades: GradesArgument,
    *,
    out: Out,
    label: Literal["rating", "covered", "items"] = "rating",
    min_rating: MinRating = None,
    by_facet: bool = False,
    bank: Banks = None,
    tentative_ratings: TentativeRatings = False,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
) -> int:
    """Write passage labels as a qrels file for trec_eval.

    Items without a grade do not count towards a label. The command prints how many labels could be
    higher if all items had a grade.

    For example:

      ragassay grades qrels graded.jsonl.gz --prompt-class NuggetSelfRatedPrompt --out rubric.qrels
      trec_eval -l 4 -m recip_rank rubric.qrels bm25.run
      ragassay grades qrels graded.jsonl.gz --label items --min-rating 4 --out diversity.qrels

    Options:
        label: Passage label: the highest rating, the number of covered items, or the covered items
            themselves (diversity qrels for ndeval).
        by_facet: Write separate labels for each facet of a query. The facet is taken from the test
            bank, or is the item id up to its last slash.
    """
    from ragassay.workbench.evaluation import (
        compute_rubric_qrels,
        write_item_qrels,
        write_rubric_qrels,
    )

    chosen = build_grade_filter(model, prompt_class, items)
    file = open_graded_file(grades, bank, chosen, tentative_ratings)
    if label == "items":
        n = write_item_qrels(file, chosen, out, min_rating)
        typer.echo(f"{out}: {count_text(n, 'item')} covered by passages")
    else:
        found = compute_rubric_qrels(file, chosen, label, min_rating, by_facet=by_facet)
        n = write_rubric_qrels(found, out)
        typer.echo(
            f"{out}: {n:,} labels; {found.n_ungraded:,} passages without a grade, "
            f"{found.n_unlabelled:,} without a label, {found.n_uncertain:,} labels that could "
            "be higher"
        )
    return choose_exit_code(file.rejections)


for _command in (
    *(oversight.cover, oversight.leaderboard, oversight.annotators),
    *(oversight.verify, oversight.grid, oversight.missing, oversight.spurious),
    oversight.agreement,
):
    app.command()(_command)
