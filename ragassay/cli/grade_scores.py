"""The commands of `ragassay grades` that evaluate systems and graders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ragassay.cli.base import errors_as_lines
from ragassay.cli.grade import (
    Csv,
    GradesArgument,
    Items,
    Leanings,
    Limit,
    MinRelevant,
    Model,
    Official,
    PromptClass,
    Runs,
    exit_code,
    grade_filter,
    graded_file,
    system_files,
)
from ragassay.cli.options import Json, SkipEmpty


def cover(
    grades: GradesArgument,
    *,
    at: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="K", help="Last rank that counts, 20; repeat for more."),
    ] = None,
    min_rating: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=5,
            help="Least rating that covers an item; repeat for more. By default what is marked "
            "correct, and each rating from 1 to 5.",
        ),
    ] = None,
    runs: Runs = None,
    official: Official = None,
    leanings: Leanings = False,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 100,
) -> None:
    """Show what share of the test bank each system covers with its first passages.

    Normalised, by the items that any graded passage covers. Both are means over queries, with
    their standard errors; _overall_ is what all passages cover. --csv has the original's numbers
    too (exam, n_exam), which count what is not defined as 0.

    For example:

      ragassay grades cover graded.jsonl.gz --at 5 --at 20 --min-rating 4

      ragassay grades cover graded.jsonl.gz --runs bm25.run --runs dense.run --official ranks.json

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.workbench.evaluation import cover_tables
        from ragassay.workbench.evaluation_tables import cover_sheet

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, None, chosen, leanings)
        systems = system_files(runs, None, official)
        found = cover_tables(file, chosen, systems, ks=at or (20,), min_ratings=min_rating or ())
        show_sheets([cover_sheet(table) for table in found], csv, as_json, limit)
    exit_code(file, systems)


def leaderboard(
    grades: Annotated[
        Path | None, typer.Argument(metavar="GRADES", help="Graded passages.")
    ] = None,
    *,
    qrels: Annotated[
        Path | None, typer.Option(help="Labels of passages, in place of GRADES.")
    ] = None,
    runs: Runs = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="A measure of ir_measures, as nDCG@10, RR, P@20, alpha_nDCG@20; repeat for more."
        ),
    ] = None,
    label: Annotated[
        Literal["rating", "covered"],
        typer.Option(help="Label by highest rating, or by the number of items covered."),
    ] = "rating",
    min_rating: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=5,
            help="Least rating that is relevant, 1; of --label covered the "
            "least that covers an item.",
        ),
    ] = None,
    official: Official = None,
    skip_empty: SkipEmpty = False,
    leanings: Leanings = False,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 100,
) -> None:
    """Rank systems by the labels of the passages that they found.

    --min-rating is trec_eval's -l: passages labelled lower are not relevant; nDCG, which takes
    gains, does not heed it. alpha_nDCG takes the items that a passage covers as subtopics.
    Unlabelled passages among the first 20 are counted: they are taken as not relevant, and may be
    worth a grade.

    For example:

      ragassay grades leaderboard graded.jsonl.gz --runs runs --min-rating 4 --official ranks.json

      ragassay grades leaderboard graded.jsonl.gz --measure RR --measure alpha_nDCG@20

      ragassay grades leaderboard --qrels rubric.qrels --runs bm25.run --runs dense.run

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.workbench.evaluation import leaderboards
        from ragassay.workbench.evaluation_tables import board_sheet, correlation_sheet

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, None, chosen, leanings) if grades else None
        systems = system_files(runs, qrels, official)
        found = leaderboards(
            file,
            chosen,
            systems,
            measures=measure or (),
            by=label,
            min_rating=min_rating,
            skips_empty=skip_empty,
        )
        known = [(one.measure, one.correlation) for one in found if one.correlation]
        sheets = [board_sheet(one) for one in found]
        show_sheets([*sheets, *([correlation_sheet(known)] if known else [])], csv, as_json, limit)
    exit_code(file, systems)


def annotators(
    grades: GradesArgument,
    *,
    min_relevant: MinRelevant = 1,
    min_answers: Annotated[
        list[int] | None,
        typer.Option(
            min=1, metavar="N", help="Items that a passage must cover: 1, 2, 5; repeat for more."
        ),
    ] = None,
    like_original: Annotated[
        bool,
        typer.Option(
            "--like-original",
            help="Count a passage without a grade as 0 and, without ratings, ask for an item more.",
        ),
    ] = False,
    latex: Annotated[Path | None, typer.Option(help="Write the tables as LaTeX.")] = None,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 100,
) -> None:
    """Show how grades agree with people's judgments: by grade, and at each minimum with kappa.

    A passage's label is the rating that its best item reaches; with --min-answers 2 its second
    best, and so on.

    For example:

      ragassay grades annotators graded.jsonl.gz --min-relevant 2 --items question --latex t5.tex

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.runs.folder import write_whole
        from ragassay.workbench.agreement import MIN_ANSWERS, annotator_tables
        from ragassay.workbench.evaluation import graders_of
        from ragassay.workbench.evaluation_tables import annotator_sheets, annotators_latex

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, None, chosen)
        found = annotator_tables(
            file.queries,
            chosen,
            min_relevant,
            min_answers or MIN_ANSWERS,
            like_original=like_original,
        )
        if latex is not None:
            write_whole(latex, annotators_latex(found, min_relevant, graders_of(file, chosen)[0]))
            typer.echo(f"wrote {latex}", err=True)
        sheets = [sheet for one in found for sheet in annotator_sheets(one, min_relevant)]
        show_sheets(sheets, csv, as_json, limit)
    exit_code(file)
