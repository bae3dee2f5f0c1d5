"""Commands of `ragassay grades` that analyse grades and rank systems and graders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from ragassay.cli.options import SkipEmpty
from ragassay.cli.terminal import print_written
from ragassay.workbench.commands.grade import (
    MinRating,
    Tables,
    add_grade_options,
    build_grade_filter,
    open_system_files,
)

if TYPE_CHECKING:
    from ragassay.runs.banks import GradedFile
    from ragassay.workbench.grades import GradeFilter
    from ragassay.workbench.oversight import CheckedItem, Relevance

OneQuery = Annotated[str | None, Option("--query", help="Show only this query.")]
MinRelevant = Annotated[
    int, Option(help="Minimum judgment of a relevant passage; use 2 for TREC DL.")
]
RelevantFrom = Annotated[
    int | None,
    Option(
        metavar="MIN",
        help="Count a passage as relevant if its direct relevance grade is at least MIN, instead "
        "of using judgments.",
    ),
]
DirectClass = Annotated[
    str, Option(help="With --relevant-from: prompt class of the direct relevance grades.")
]
Official = Annotated[
    Path | None,
    Option(
        help='Official leaderboard as JSON {"system": rank}, or as two columns, system and score. '
        "The rank correlation (Spearman, Kendall) is printed."
    ),
]
Runs = Annotated[
    list[Path] | None,
    Option(
        "--runs",
        metavar="RUN",
        help="Run file of a system, which is identified by its run tag, or a folder of *.run "
        "files. By default, the rankings in GRADES are used. Can be repeated.",
    ),
]
AnswerClass = Annotated[
    str,
    Option(
        help="Prompt class whose extracted answers are shown. By default, the first prompt class "
        "that grades the same items without ratings is used, or the raw reply if there is none."
    ),
]


@add_grade_options(100, "tentative_ratings")
def cover(
    file: GradedFile,
    chosen: GradeFilter,
    *,
    at: Annotated[list[int] | None, Option(min=1, metavar="K")] = None,
    min_rating: Annotated[list[int] | None, Option(min=1, max=5)] = None,
    runs: Runs = None,
    official: Official = None,
) -> Tables:
    """Show how much of the test bank each system covers.

    The table shows the share of items covered by the top passages, and the share relative to the
    items that any graded passage covers. Both shares are means over queries, with standard errors.
    _overall_ is the share covered by all passages together. --csv also contains the scores of the
    original workbench (exam, n_exam), which count undefined shares as 0.

    For example:

      ragassay grades cover graded.jsonl.gz --at 5 --at 20 --min-rating 4
      ragassay grades cover graded.jsonl.gz --runs bm25.run --runs dense.run --official ranks.json

    Options:
        at: Number of top passages to consider per system, 20 by default.
        min_rating: Minimum rating to count an item as covered. By default, the table shows coverage
            by grades marked correct and by each minimum rating from 1 to 5.
    """
    from ragassay.workbench.evaluation import compute_cover_tables
    from ragassay.workbench.evaluation_tables import build_cover_sheet

    systems = open_system_files(runs, None, official)
    found = compute_cover_tables(
        file, chosen, systems, ks=at or (20,), min_ratings=min_rating or ()
    )
    return Tables([build_cover_sheet(table) for table in found], rejections=systems.rejections)


@add_grade_options(100, "tentative_ratings", is_required=False)
def leaderboard(
    file: GradedFile | None,
    chosen: GradeFilter,
    *,
    qrels: Path | None = None,
    runs: Runs = None,
    measure: list[str] | None = None,
    label: Literal["rating", "covered"] = "rating",
    min_rating: Annotated[int | None, Option(min=0, max=5)] = None,
    official: Official = None,
    skip_empty: SkipEmpty = False,
) -> Tables:
    """Rank systems by the labels of their retrieved passages.

    --min-rating corresponds to -l in trec_eval: passages with a lower label are not relevant. nDCG
    uses gains and ignores --min-rating. alpha_nDCG uses covered items as subtopics. Unlabelled
    passages are treated as not relevant. The table counts unlabelled passages among the top 20,
    which you may want to grade.

    For example:

      ragassay grades leaderboard graded.jsonl.gz --runs runs --min-rating 4 --official ranks.json
      ragassay grades leaderboard graded.jsonl.gz --measure RR --measure alpha_nDCG@20
      ragassay grades leaderboard --qrels rubric.qrels --runs bm25.run --runs dense.run

    Options:
        qrels: File of passage labels to use instead of GRADES.
        measure: Measure of ir_measures, e.g. nDCG@10, RR, P@20, alpha_nDCG@20.
        label: Passage label: the highest rating, or the number of covered items.
        min_rating: Minimum rating of a relevant passage, or with --label covered, of a covered
            item.
    """
    from ragassay.workbench.evaluation import build_leaderboards
    from ragassay.workbench.evaluation_tables import build_board_sheet, build_correlation_sheet

    systems = open_system_files(runs, qrels, official)
    found = build_leaderboards(
        file,
        chosen,
        systems,
        measures=measure or (),
        by=label,
        min_rating=min_rating,
        skips_empty=skip_empty,
    )
    known = [(one.measure, one.correlation) for one in found if one.correlation]
    sheets = [build_board_sheet(one) for one in found]
    correlations = [build_correlation_sheet(known)] if known else []
    return Tables([*sheets, *correlations], rejections=systems.rejections)


@add_grade_options(100)
def annotators(
    file: GradedFile,
    chosen: GradeFilter,
    *,
    min_relevant: MinRelevant = 1,
    min_answers: Annotated[list[int] | None, Option(min=1, metavar="N")] = None,
    like_original: bool = False,
    latex: Path | None = None,
) -> Tables:
    """Show the agreement of grades with human judgments.

    By default, the label of a passage is the rating of its best item. With --min-answers 2, it is
    the rating of the second-best item, and so on.

    For example:

      ragassay grades annotators graded.jsonl.gz --min-relevant 2 --items question --latex t5.tex

    Options:
        min_answers: Number of items that a passage must cover to get a label, e.g. 1, 2 or 5.
        like_original: Count a passage without a grade as 0, and require one more item if there are
            no ratings, as the original workbench does.
        latex: Write the tables to this LaTeX file.
    """
    from ragassay.runs.folder import write_atomically
    from ragassay.workbench.agreement import MIN_ANSWERS, compare_annotators
    from ragassay.workbench.evaluation import list_accepted_graders
    from ragassay.workbench.evaluation_tables import build_annotator_sheets, render_annotators_latex

    found = compare_annotators(
        file.queries, chosen, min_relevant, min_answers or MIN_ANSWERS, like_original=like_original
    )
    if latex is not None:
        write_atomically(
            latex,
            render_annotators_latex(found, min_relevant, list_accepted_graders(file, chosen)[0]),
        )
        print_written([latex])
    return Tables([sheet for one in found for sheet in build_annotator_sheets(one, min_relevant)])


@add_grade_options(5, "bank")
def verify(
    file: GradedFile,
    chosen: GradeFilter,
    *,
    query: OneQuery = None,
    item: str = "",
    answer_class: AnswerClass = "",
    min_rating: MinRating = None,
) -> Tables:
    """Show extracted answers next to the grades of each item.

    If texts that do not answer an item are rated high, change the prompt or the model.

    For example:

      ragassay grades verify graded.jsonl.gz --testbank questions.jsonl.gz --query 940547 --limit 10

    Options:
        item: Show only items whose id or text contains this string.
    """
    from ragassay.workbench.tables import verify_sheets

    found = _check_items(file, query, chosen, answer_class, min_rating)
    part = item.lower()
    matching = [one for one in found if part in one.item.lower() or part in one.text.lower()]
    return Tables(verify_sheets(matching))


@add_grade_options(20, "bank")
def grid(
    file: GradedFile,
    chosen: GradeFilter,
    *,
    query: OneQuery = None,
    answer_class: AnswerClass = "",
    min_rating: MinRating = None,
) -> Tables:
    """Show the grades for a query as a table.

    Passages are rows, best first, and items are columns. A cell shows a rating, or whether the item
    is covered; "?" means no grade. --csv also contains the extracted answers and the passages.

    For example:

      ragassay grades grid graded.jsonl.gz --testbank questions.jsonl.gz --query 940547
    """
    from ragassay.workbench.oversight import build_grids
    from ragassay.workbench.tables import GRID_WIDTH, build_grid_sheet, build_legend_sheet

    found = build_grids(_check_items(file, query, chosen, answer_class, min_rating))
    shown = []
    for one in found:
        columns = range(0, len(one.items), GRID_WIDTH)
        shown += [
            build_legend_sheet(one),
            *(build_grid_sheet(one, first, GRID_WIDTH) for first in columns),
        ]
    return Tables([build_grid_sheet(one) for one in found], shown)


@add_grade_options(20)
def missing(
    file: GradedFile,
    chosen: GradeFilter,
    *,
    query: OneQuery = None,
    min_relevant: MinRelevant = 1,
    relevant_from: RelevantFrom = None,
    direct_class: DirectClass = "",
    min_rating: MinRating = None,
) -> Tables:
    """Show relevant passages that cover no item.

    A relevant passage that covers no item may point to a gap in the test bank.

    For example:

      ragassay grades missing graded.jsonl.gz --min-relevant 2 --min-rating 4
      ragassay grades missing graded.jsonl.gz --relevant-from 2 --min-rating 4
    """
    from ragassay.workbench.oversight import find_missing_passages
    from ragassay.workbench.tables import build_missing_sheet

    relevance = _build_relevance(min_relevant, relevant_from, direct_class)
    found = find_missing_passages(file.select_queries(query), chosen, relevance, min_rating)
    return Tables([build_missing_sheet(found)])


@add_grade_options(20, "bank")
def spurious(
    file: GradedFile,
    chosen: GradeFilter,
    *,
    query: OneQuery = None,
    min_relevant: MinRelevant = 1,
    relevant_from: RelevantFrom = None,
    direct_class: DirectClass = "",
    finding: Literal["spurious", "any", "none"] | None = None,
    min_rating: MinRating = None,
) -> Tables:
    """Show the items that non-relevant passages cover, or that no passage covers.

    For example:

      ragassay grades spurious graded.jsonl.gz --testbank questions.jsonl.gz --min-rating 4
      ragassay grades spurious graded.jsonl.gz --finding none --csv unused.csv

    Options:
        finding: Show only the items covered by non-relevant passages (spurious), by any passage, or
            by no passage.
    """
    from ragassay.workbench.oversight import count_item_uses
    from ragassay.workbench.tables import build_spurious_sheet

    relevance = _build_relevance(min_relevant, relevant_from, direct_class)
    uses = count_item_uses(file.select_queries(query), chosen, relevance, min_rating, file.texts)
    return Tables([build_spurious_sheet([one for one in uses if finding in (None, one.finding)])])


@add_grade_options(100, takes_first=False)
def agreement(file: GradedFile, chosen: GradeFilter, *, min_rating: MinRating = None) -> Tables:
    """Show the agreement between graders.

    The tables show Cohen's kappa and Krippendorff's alpha. A grader is a model with a prompt class.
    Models are also compared over all kinds of items, using the prompt classes that both models
    used.

    For example:

      ragassay grades merge flan.jsonl.gz gpt.jsonl.gz --out both.jsonl.gz
      ragassay grades agreement both.jsonl.gz --min-rating 4
    """
    from ragassay.workbench.agreement import compare_graders
    from ragassay.workbench.tables import build_grader_sheets

    return Tables(build_grader_sheets(compare_graders(file.queries, chosen, min_rating)))


def _check_items(
    file: GradedFile,
    query: str | None,
    chosen: GradeFilter,
    answer_class: str,
    min_rating: int | None,
) -> tuple[CheckedItem, ...]:
    from ragassay.workbench.oversight import list_checked_items

    extracted = build_grade_filter(prompt_class=answer_class) if answer_class else None
    return list_checked_items(file.select_queries(query), chosen, extracted, min_rating, file.texts)


def _build_relevance(min_relevant: int, relevant_from: int | None, direct_class: str) -> Relevance:
    from ragassay.workbench.oversight import Relevance

    if relevant_from is None:
        return Relevance(min_relevant)
    return Relevance(relevant_from, build_grade_filter(prompt_class=direct_class, items="direct"))
