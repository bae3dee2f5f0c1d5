"""`ragassay testbank create`, `import` and `queries`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import Quiet, add_options
from ragassay.cli.terminal import print_rejections
from ragassay.options import EvaluateKeywords, create_settings
from ragassay.process import run_sync
from ragassay.reports.display import count_text
from ragassay.runs.progress import show_progress

if TYPE_CHECKING:
    from ragassay.formats.workbench.bank_items import RubricBank
    from ragassay.workbench.bank_create import CreatedBanks

Target = Annotated[Path, Option("--out", help="Output file. The name should end in .jsonl.gz.")]
Collection = Annotated[str, Option(help="Name of the query collection.")]
Kind = Annotated[
    Literal["questions", "nuggets"] | None,
    Option(help="Whether the items are questions or nuggets."),
]


@add_options(
    EvaluateKeywords, "corpus", "model", "api_base", "concurrency", "max_rpm", "max_usd", "limit"
)
def create(
    queries: Path,
    *,
    target: Target,
    kind: Literal["questions", "nuggets", "both"] = "questions",
    per_query: Annotated[int, Option(min=1, max=50)] = 10,
    source: Annotated[Literal["query", "documents", "reference"], Option("--from")] = "query",
    documents: Annotated[int, Option(min=1)] = 5,
    answers: bool | None = None,
    facets: bool = True,
    collection: Collection = "",
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Generate exam questions or nuggets for every query with a model.

    The model is called once per query, facet and kind. Duplicate items of a query are removed.
    Check the items with `testbank lint` and `testbank edit` before you use them for grading.

    Run the same command again to resume a stopped run and to retry failed queries. The state is
    stored in OUT.state.sqlite. Without a judge, --kind nuggets with --from documents or reference
    takes the clauses closest to the query as nuggets.

    For example:

      ragassay testbank create queries.json --out bank.jsonl.gz --model openai/gpt-4.1-mini
      ragassay testbank create pages.jsonl --kind both --per-query 5 --out bank.jsonl.gz --model ...
      ragassay testbank create answers.jsonl --from reference --out bank.jsonl.gz --model ...

    Options:
        queries: Queries as JSON {"id": "text"}, TREC topics, JSON lines {"id", "text"}, pages
            {"query_id", "title", "facets": [{"id", "text"}]}, or a file of answers.
        kind: Kind of items to generate: questions, nuggets or both.
        per_query: Number of items per query, or per facet.
        source: Texts from which the model generates items: the query alone, the documents of the
            answers or of --corpus, or the reference answers.
        documents: Number of documents from --corpus to use per query.
        answers: Whether to generate answers to the questions. By default, answers are generated
            with --from documents or reference, and dropped if the texts do not support them.
        facets: Whether to generate items for each facet of a query.
    """
    from ragassay.formats.exam_queries import read_exam_queries
    from ragassay.workbench.bank_create import (
        ExamPlan,
        build_exam_jobs,
        build_exam_run,
        write_testbanks,
    )

    plan = ExamPlan(
        kinds=("questions", "nuggets") if kind == "both" else (kind,),
        number=per_query,
        origin=source,
        with_facets=facets,
        with_answers=source != "query" if answers is None else answers,
        n_documents=documents,
    )
    run, note = build_exam_run(create_settings(options, style="flag"), plan, options.get("corpus"))
    if note:
        typer.echo(note, err=True)
    file = read_exam_queries(queries).limit_queries(options.get("limit"))
    print_rejections(file.rejections)
    jobs = build_exam_jobs(file, plan, run)
    with show_progress(len(jobs), not quiet, "writing test banks") as listen:
        found = run_sync(
            write_testbanks(jobs, plan, run, target, collection=collection, listen=listen)
        )
    is_complete = _report_created(found, target)
    return choose_exit_code(file.rejections, not is_complete)


def import_bank(
    file: Path,
    *,
    target: Target,
    query: Annotated[str, Option(metavar="ID")] = "",
    kind: Kind = None,
    queries: Path | None = None,
    collection: Collection = "",
) -> int:
    """Create a test bank from questions or nuggets that already exist.

    The format is detected from the content. Without --kind, hand-written items are questions if all
    of them end with a question mark, else nuggets.

    For example:

      ragassay testbank import mine.txt --query q1 --out bank.jsonl.gz
      ragassay testbank import tqa_v1_train.json --collection tqa --out tqa.jsonl.gz

    Options:
        file: Hand-written items (one per line with --query, `id TAB text`, or CSV
            query,text,answers,facet,kind), nuggets from the TREC QA track, gold nuggets, nuggetizer
            output, or questions with an answer key (TQA).
        query: Id of the query to which all items belong, if FILE does not contain it.
        queries: File with query texts, if FILE only contains query ids.
    """
    from ragassay.formats import write_test_banks
    from ragassay.formats.exam_queries import read_exam_queries
    from ragassay.workbench.bank_import import read_bank_import

    texts = {q.id: q.text for q in read_exam_queries(queries).queries} if queries else {}
    found = read_bank_import(file, query=query, kind=kind, queries=texts, collection=collection)
    print_rejections(found.rejections)
    write_test_banks(found.banks, target)
    typer.echo(_describe_banks(found.banks, target))
    return choose_exit_code(found.rejections)


def queries(
    file: Annotated[Path, Argument(metavar="QUERIES")], *, target: Annotated[Path, Option("--out")]
) -> int:
    """Write queries in the Rubric workbench format.

    For example:

      ragassay testbank queries topics.csv --out queries.json

    Options:
        file: Queries, in any format that `testbank create` accepts.
        target: Output file (.json).
    """
    from ragassay.formats.exam_queries import read_exam_queries, write_exam_queries

    found = read_exam_queries(file)
    print_rejections(found.rejections)
    write_exam_queries(found.queries, target)
    n_parts = sum(bool(query.facets) for query in found.queries)
    note = f"; dropped the facets of {count_text(n_parts, 'query', 'queries')}" if n_parts else ""
    typer.echo(f"{target}: {count_text(len(found.queries), 'query', 'queries')}{note}")
    return choose_exit_code(found.rejections)


def _describe_banks(banks: Sequence[RubricBank], target: Path) -> str:
    n_items = sum(len(bank.items) for bank in banks)
    n_queries = len({bank.query_id for bank in banks})
    queries_text = count_text(n_queries, "query", "queries")
    return f"{target}: {count_text(n_items, 'item')} for {queries_text}"


def _report_created(found: CreatedBanks, target: Path) -> bool:
    typer.echo(_describe_banks(found.banks, target))
    failed = [one for one in found.written if one.found is None]
    for one in failed:
        part = f" / {one.job.facet_text}" if one.job.facet else ""
        typer.echo(f"{one.job.query}{part}: no {one.job.kind}: {one.problem}", err=True)
    if failed:
        typer.echo(f"{len(failed)} of {len(found.written)} calls failed", err=True)
    for query, text in found.folded:
        typer.echo(f"{query}: removed a duplicate: {text}", err=True)
    n_unfounded = sum(one.found.n_unfounded for one in found.written if one.found)
    if n_unfounded:
        answers = count_text(n_unfounded, "answer")
        typer.echo(f"{answers} dropped: not supported by a source", err=True)
    return not failed
