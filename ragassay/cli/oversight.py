"""The commands of `ragassay grades` with which a person oversees grading and test bank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragassay.cli.base import errors_as_lines
from ragassay.cli.grade import (
    Banks,
    Csv,
    DirectClass,
    GradesArgument,
    Items,
    Limit,
    MinRating,
    MinRelevant,
    Model,
    OneQuery,
    PromptClass,
    RelevantFrom,
    exit_code,
    grade_filter,
    graded_file,
    relevance_of,
)
from ragassay.cli.options import Json

if TYPE_CHECKING:
    from ragassay.runs.banks import GradedFile
    from ragassay.workbench.grades import GradeFilter
    from ragassay.workbench.oversight import CheckedItem

AnswerClass = Annotated[
    str,
    typer.Option(
        help="Class of the prompts whose answers are shown; by default the first class of the "
        "same items that is not self-rated, else the reply itself."
    ),
]


def verify(
    grades: GradesArgument,
    *,
    query: OneQuery = None,
    item: Annotated[str, typer.Option(help="Only items whose id or text has this in it.")] = "",
    answer_class: AnswerClass = "",
    min_rating: MinRating = None,
    bank: Banks = None,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 5,
) -> None:
    """Show item by item what was extracted beside what was graded, the surest first.

    High ratings of what does not answer the item say that the prompt or the model should change.

    For example:

      ragassay grades verify graded.jsonl.gz --testbank questions.jsonl.gz --query 940547 --limit 10

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.workbench.tables import verify_sheets

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, bank, chosen)
        found = [
            one
            for one in _check_items(file, query, chosen, answer_class, min_rating)
            if item.lower() in one.item.lower() or item.lower() in one.text.lower()
        ]
        show_sheets(verify_sheets(found), csv, as_json, limit)
    exit_code(file)


def grid(
    grades: GradesArgument,
    *,
    query: OneQuery = None,
    answer_class: AnswerClass = "",
    min_rating: MinRating = None,
    bank: Banks = None,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 20,
) -> None:
    """Show the grades of a query's passages (rows) by its items (columns), the best first.

    A cell is a rating, or whether the item is covered; "?" has no grade. --csv has the extracted
    answers and the passages too.

    For example:

      ragassay grades grid graded.jsonl.gz --testbank questions.jsonl.gz --query 940547

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.workbench.oversight import grids
        from ragassay.workbench.tables import GRID_WIDTH, grid_sheet, legend_sheet

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, bank, chosen)
        found = grids(_check_items(file, query, chosen, answer_class, min_rating))
        shown = [
            sheet
            for one in found
            for sheet in (
                legend_sheet(one),
                *(
                    grid_sheet(one, first, GRID_WIDTH)
                    for first in range(0, len(one.items), GRID_WIDTH)
                ),
            )
        ]
        show_sheets([grid_sheet(one) for one in found], csv, as_json, limit, shown)
    exit_code(file)


def missing(
    grades: GradesArgument,
    *,
    query: OneQuery = None,
    min_relevant: MinRelevant = 1,
    relevant_from: RelevantFrom = None,
    direct_class: DirectClass = "",
    min_rating: MinRating = None,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 20,
) -> None:
    """Show relevant passages that no item covers: what is missing from the test bank.

    For example:

      ragassay grades missing graded.jsonl.gz --min-relevant 2 --min-rating 4

      ragassay grades missing graded.jsonl.gz --relevant-from 2 --min-rating 4

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.workbench.oversight import missing_passages
        from ragassay.workbench.tables import missing_sheet

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, None, chosen)
        relevance = relevance_of(min_relevant, relevant_from, direct_class)
        found = missing_passages(file.only(query), chosen, relevance, min_rating)
        show_sheets([missing_sheet(found)], csv, as_json, limit)
    exit_code(file)


def spurious(
    grades: GradesArgument,
    *,
    query: OneQuery = None,
    min_relevant: MinRelevant = 1,
    relevant_from: RelevantFrom = None,
    direct_class: DirectClass = "",
    finding: Annotated[
        Literal["spurious", "any", "none"] | None,
        typer.Option(help="Only items that non-relevant passages, any passage, or none covers."),
    ] = None,
    min_rating: MinRating = None,
    bank: Banks = None,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 20,
) -> None:
    """Show items that non-relevant passages cover, that any passage covers, and that none does.

    For example:

      ragassay grades spurious graded.jsonl.gz --testbank questions.jsonl.gz --min-rating 4

      ragassay grades spurious graded.jsonl.gz --finding none --csv unused.csv

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.workbench.oversight import item_uses
        from ragassay.workbench.tables import spurious_sheet

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, bank, chosen)
        relevance = relevance_of(min_relevant, relevant_from, direct_class)
        uses = item_uses(file.only(query), chosen, relevance, min_rating, file.texts)
        found = [one for one in uses if finding in (None, one.finding)]
        show_sheets([spurious_sheet(found)], csv, as_json, limit)
    exit_code(file)


def agreement(
    grades: GradesArgument,
    *,
    min_rating: MinRating = None,
    model: Model = "",
    prompt_class: PromptClass = "",
    items: Items = None,
    csv: Csv = None,
    as_json: Json = False,
    limit: Limit = 100,
) -> None:
    """Show how far graders agree on the same items: Cohen's kappa, Krippendorff's alpha.

    A grader is a model with a class of prompts. Models are also compared over all kinds of items,
    by the classes that both have.

    For example:

      ragassay grades merge flan.jsonl.gz gpt.jsonl.gz --out both.jsonl.gz

      ragassay grades agreement both.jsonl.gz --min-rating 4

    Exit codes: 0 done; 1 error; 3 some input was rejected.
    """
    with errors_as_lines():
        from ragassay.cli.tables import show_sheets
        from ragassay.workbench.agreement import grader_agreement
        from ragassay.workbench.evaluation import graders_of
        from ragassay.workbench.tables import grader_sheets

        chosen = grade_filter(model, prompt_class, items)
        file = graded_file(grades, None, None)
        graders_of(file, chosen)
        found = grader_agreement(file.queries, chosen, min_rating)
        show_sheets(grader_sheets(found), csv, as_json, limit)
    exit_code(file)


def _check_items(
    file: GradedFile,
    query: str | None,
    chosen: GradeFilter,
    answer_class: str,
    min_rating: int | None,
) -> tuple[CheckedItem, ...]:
    from ragassay.workbench.oversight import checked_items

    extracted = grade_filter(prompt_class=answer_class) if answer_class else None
    return checked_items(file.only(query), chosen, extracted, min_rating, file.texts)
