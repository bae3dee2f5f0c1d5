"""`ragassay convert`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.options import add_options
from ragassay.cli.terminal import print_notes, print_rejections
from ragassay.errors import InputError
from ragassay.options import Keywords
from ragassay.records import SentenceInput

if TYPE_CHECKING:
    from ragassay.records import Record


@add_options(Keywords, "column_map")
def convert(
    answers: Annotated[Path, Argument(metavar="IN")],
    out: Annotated[Path, Argument(metavar="OUT")],
    to: Annotated[str, Option(metavar="FORMAT")] = "ragassay",
    questions: Path | None = None,
    nuggets: Path | None = None,
    system: Annotated[str | None, Option(metavar="TEAM/RUN")] = None,
    team: str | None = None,
    keep_empty: bool = False,
    **options: Any,
) -> int:
    """Convert answers between formats.

    IN is ragassay JSONL, a table (CSV, TSV, Parquet, Excel), or a file from ragas, DeepEval,
    RAGChecker, TREC RAG 2024 or 2025, TREC BioGen 2024 or 2025 (task A or B), MedAESQA, BioASQ,
    nuggetizer (input or assignments), Rubric workbench (paragraphs) or YESciEval. The format is
    detected from the content. If the output format requires sentences, each answer is split into
    sentences.

    Fields without an equivalent in the output format are dropped and reported. If the columns of a
    table have other names than ragassay's fields, the command reports how it mapped them. Empty
    answers are rejected, except with --keep-empty or if the output format contains only questions
    (nuggetizer-create).

    For example:

      ragassay convert run.json answers.jsonl --questions topics.json
      ragassay convert answers.jsonl run.jsonl --to biogen-2025-b --system myteam/run1
      ragassay convert answers.jsonl runs.jsonl --to trec-rag-2025 --team myteam
      ragassay convert answers.parquet answers.jsonl --map question=query,answer=output

    Options:
        answers: File of answers to convert.
        out: Output file, compressed if it ends in .gz. For ragas and DeepEval, a name that ends in
            .csv writes a table.
        to: Output format: ragassay, trec-rag-2024, trec-rag-2025, biogen-2024, biogen-2025-a,
            biogen-2025-b, nuggetizer-create, ragas or deepeval.
        questions: File of questions, if ANSWERS contains none: a topics file, or a YESciEval or
            BioASQ question file.
        nuggets: File of gold nuggets to add: {topic_id: [text]}, nuggetizer output, or a Rubric
            workbench test bank.
        system: Name of the system for answers that do not name their system.
        team: Team name to prepend to system names that are not in the form TEAM/RUN.
        keep_empty: Keep empty answers instead of rejecting them.
    """
    from ragassay.formats import read_records, write_answers
    from ragassay.formats.named_fields import describe_input
    from ragassay.formats.problems import require_records
    from ragassay.formats.row_mapping import parse_column_map
    from ragassay.formats.write import QUESTION_FORMATS, SENTENCE_FORMATS, WRITABLE_FORMATS
    from ragassay.reports.text import count_text

    if to not in WRITABLE_FORMATS:
        raise InputError(f"--to {to}: unknown format; choose from {', '.join(WRITABLE_FORMATS)}")
    columns = parse_column_map(options.get("column_map"))
    found = read_records(
        answers,
        questions=questions,
        nuggets=nuggets,
        columns=columns,
        answered=not (keep_empty or to in QUESTION_FORMATS),
    )
    require_records(found.records, found.rejections, str(answers))
    print_rejections(found.rejections)
    print_notes(*describe_input(found.fields, found.records))
    records = _name_systems(found.records, system, team)
    if to in SENTENCE_FORMATS:
        records = [_split_answer(record) for record in records]
    result = write_answers(records, out, to)
    if result.left_out:
        lost = [f"{name} in {count_text(n, 'answer')}" for name, n in result.left_out.items()]
        typer.echo(
            f"fields dropped or changed because {to} does not support them: {', '.join(lost)}",
            err=True,
        )
    typer.echo(f"{count_text(result.n_records, 'answer')}, {found.format} to {to}: {out}")
    return choose_exit_code(found.rejections)


def _name_systems(records: Iterable[Record], system: str | None, team: str | None) -> list[Record]:
    named: list[Record] = []
    for record in records:
        name = record.system or system
        if team and name and "/" not in name:
            name = f"{team}/{name}"
        named.append(record.model_copy(update={"system": name}))
    return named


def _split_answer(record: Record) -> Record:
    from ragassay.text.segmenter import segment

    if not isinstance(record.answer, str):
        return record
    _, sentences, _ = segment(record, lambda identifier: None)
    answer = tuple(
        SentenceInput(
            text=sentence.text,
            citations=tuple(cited.document or cited.marker for cited in sentence.citations),
        )
        for sentence in sentences
    )
    return record.model_copy(update={"answer": answer})
