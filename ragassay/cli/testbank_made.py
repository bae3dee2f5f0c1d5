"""`ragassay testbank create`, `import` and `queries`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import partial_if
from ragassay.cli.options import Quiet, takes
from ragassay.cli.terminal import print_rejections
from ragassay.options import EvaluateKeywords, settings_of
from ragassay.process import run_sync
from ragassay.runs.progress import shown_progress

if TYPE_CHECKING:
    from ragassay.formats.workbench.bank_items import RubricBank
    from ragassay.workbench.bank_create import CreatedBanks

Target = Annotated[Path, Option("--out", help="The file to write; end it in .jsonl.gz.")]
Collection = Annotated[str, Option(help="Name of the queries' collection.")]
Kind = Annotated[Literal["questions", "nuggets"] | None, Option(help="What the items are.")]


@takes(
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
    """Let a model write exam questions or nuggets for every query.

    One call for each query, part and kind. Items that repeat another one of their query are left
    out. Check the items before you grade with them: `testbank lint`, `testbank edit`.

    The same command again resumes a stopped run and tries failed queries again; its state is in
    OUT.state.sqlite. Without a judge, --kind nuggets --from documents (or reference) takes the
    clauses that are closest to the query.

    For example:

      ragassay testbank create queries.json --out bank.jsonl.gz --model openai/gpt-4.1-mini
      ragassay testbank create pages.jsonl --kind both --per-query 5 --out bank.jsonl.gz --model ...
      ragassay testbank create answers.jsonl --from reference --out bank.jsonl.gz --model ...

    Exit codes: 0 done; 1 error; 3 some input was rejected, or some query has no items.

    Options:
        queries: Queries: JSON {"id": "text"}, topics of TREC, JSON lines {"id", "text"}, pages
            {"query_id", "title", "facets": [{"id", "text"}]}, or answers that `ragassay evaluate`
            reads.
        kind: What to write: questions or nuggets.
        per_query: Items of a query, or of each of its parts.
        source: What the model reads: the query alone; the documents of the answers or of --corpus;
            the reference answers, which are known to be right.
        documents: Documents of --corpus that are read for a query.
        answers: Write each question's answer too; by default with --from documents or reference,
            where only answers that they state are kept.
        facets: Write items for each part of a query that has parts.
    """
    from ragassay.formats.exam_queries import read_exam_queries
    from ragassay.workbench.bank_create import ExamPlan, exam_jobs, exam_tools, write_testbanks

    plan = ExamPlan(
        kinds=("questions", "nuggets") if kind == "both" else (kind,),
        number=per_query,
        origin=source,
        with_facets=facets,
        with_answers=source != "query" if answers is None else answers,
        n_documents=documents,
    )
    tools, note = exam_tools(settings_of(options, style="flag"), plan, options.get("corpus"))
    if note:
        typer.echo(note, err=True)
    file = read_exam_queries(queries).first(options.get("limit"))
    print_rejections(file.rejections)
    jobs = exam_jobs(file, plan, tools)
    with shown_progress(len(jobs), not quiet, "writing test banks") as listen:
        found = run_sync(
            write_testbanks(jobs, plan, tools, target, collection=collection, listen=listen)
        )
    is_complete = _report_created(found, target)
    return partial_if(file.rejections, not is_complete)


def import_bank(
    file: Path,
    *,
    target: Target,
    query: Annotated[str, Option(metavar="ID")] = "",
    kind: Kind = None,
    queries: Path | None = None,
    collection: Collection = "",
) -> int:
    """Make a test bank from items that others wrote.

    The form is recognised by the content. Without --kind, lists by hand are questions where all
    items end with a question mark.

    For example:

      ragassay testbank import mine.txt --query q1 --out bank.jsonl.gz
      ragassay testbank import tqa_v1_train.json --collection tqa --out tqa.jsonl.gz

    Options:
        file: Items by hand (one a line with --query, `id TAB text`, or CSV
            query,text,answers,facet,kind), nuggets of TREC's QA track, gold nuggets, the
            nuggetizer's output, questions with an answer key (TQA).
        query: The query, if the file does not name it.
        queries: Queries, where FILE has only their ids.
    """
    from ragassay.formats import write_test_banks
    from ragassay.formats.exam_queries import read_exam_queries
    from ragassay.workbench.bank_import import read_bank_import

    texts = {q.id: q.text for q in read_exam_queries(queries).queries} if queries else {}
    found = read_bank_import(file, query=query, kind=kind, queries=texts, collection=collection)
    print_rejections(found.rejections)
    write_test_banks(found.banks, target)
    typer.echo(_written_text(found.banks, target))
    return partial_if(found.rejections)


def queries(
    file: Annotated[Path, Argument(metavar="QUERIES")], *, target: Annotated[Path, Option("--out")]
) -> int:
    """Write queries in the Workbench's own form, {"id": "text"}, for its programs.

    `testbank create`, `import`, `edit --out`, `split` and `merge` write test banks in its form;
    `grades passages` writes what is to be graded, `grade` and `grades merge` graded passages.

    For example:

      ragassay testbank queries topics.csv --out queries.json

    Options:
        file: Queries, as `testbank create` reads them.
        target: Output file (.json).
    """
    from ragassay.formats.exam_queries import read_exam_queries, write_exam_queries
    from ragassay.reports.text import count_text

    found = read_exam_queries(file)
    print_rejections(found.rejections)
    write_exam_queries(found.queries, target)
    n_parts = sum(bool(query.facets) for query in found.queries)
    left = f"; the parts of {n_parts} of them are left out" if n_parts else ""
    typer.echo(f"{target}: {count_text(len(found.queries), 'query', 'queries')}{left}")
    return partial_if(found.rejections)


def _written_text(banks: Sequence[RubricBank], target: Path) -> str:
    from ragassay.reports.text import count_text

    n_items = sum(len(bank.items) for bank in banks)
    n_queries = len({bank.query_id for bank in banks})
    return f"{target}: {count_text(n_items, 'item')} of {count_text(n_queries, 'query', 'queries')}"


def _report_created(found: CreatedBanks, target: Path) -> bool:
    """Print what was written; return whether every query has items."""
    from ragassay.reports.text import count_text

    typer.echo(_written_text(found.banks, target))
    failed = [one for one in found.written if one.found is None]
    for one in failed:
        part = f" / {one.job.facet_text}" if one.job.facet else ""
        typer.echo(f"{one.job.query}{part}: no {one.job.kind}: {one.problem}", err=True)
    if failed:
        typer.echo(f"{len(failed)} of {len(found.written)} calls failed", err=True)
    for query, text in found.folded:
        typer.echo(f"{query}: left out, says what another one does: {text}", err=True)
    n_unfounded = sum(one.found.n_unfounded for one in found.written if one.found)
    if n_unfounded:
        typer.echo(f"{count_text(n_unfounded, 'answer')} left out: no source states it", err=True)
    return not failed
