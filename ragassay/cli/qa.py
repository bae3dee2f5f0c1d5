"""`ragassay qa`: question-answer pairs from papers, and whether they are any good."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from ragassay.cli.exits import PARTIAL, errors_as_lines, exit_audited
from ragassay.cli.options import DryRun, Json, Quiet, Strict, takes
from ragassay.cli.qa_files import export, read
from ragassay.cli.qa_made import generate
from ragassay.options import EvaluateKeywords

if TYPE_CHECKING:
    from ragassay.runs.qa.evaluate import JudgedPairs

app = typer.Typer(
    name="qa",
    help="Write question-answer pairs from papers, and find out whether they are any good.",
    no_args_is_help=True,
)

app.command()(read)
app.command()(generate)
app.command()(export)

PairsArgument = Annotated[
    Path,
    typer.Argument(
        help="Question-answer pairs: what `ragassay qa generate` wrote, JSON or JSON lines with "
        "question and answer, CSV with the columns question, answer and paper, or SciQAG's JSON, "
        "which brings its papers."
    ),
]
Papers = Annotated[
    Path | None,
    typer.Option(
        help="The papers: a file or folder of JATS XML (PubMed Central), PDF, text or JSON; not "
        "needed where PAIRS brings them."
    ),
]


@app.command()
@takes(
    EvaluateKeywords,
    *("model", "api_base", "escalate", "when", "only", "pairs_per_call", "embedder", "out"),
    "qa_coverage",
    *("prompts", "concurrency", "max_rpm", "max_usd", "limit", "retry_failed"),
    ending="-qa",
)
def evaluate(
    pairs: PairsArgument,
    *,
    papers: Papers = None,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Measure question-answer pairs against their papers, whoever wrote them.

    Without a judge: which numbers of the answers the paper has, which words need the paper ("this
    study", "Figure 5"), how much of the paper the answers cover, how alike the questions are; and
    of RACAR's ratings those that can be told without one. With --model: relevance, agnosticism,
    completeness, accuracy and reasonableness of each pair, 1 to 3, with reasons and places of the
    paper, and how far each two questions ask for the same.

    The folder holds qa.html with the worst pairs first, qa.md, pairs.csv and papers.csv. The same
    command again resumes a stopped run.

    For example:

      ragassay qa evaluate pairs.jsonl --papers papers/

      ragassay qa evaluate pairs.csv --papers paper.xml --model openai/gpt-4.1-mini

      ragassay qa evaluate pairs.jsonl --papers papers/ --model openai/gpt-4.1-mini --only racar

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 something could not be read, or a rating failed.
    """
    with errors_as_lines():
        from ragassay.cli.output import Terminal
        from ragassay.requests import request_pairs

        terminal = Terminal(quiet, as_json, options.get("out"))
        request = request_pairs(pairs, papers, options, None, terminal)
        judged = terminal.run(request, options, dry_run)
        if as_json:
            typer.echo(judged.run.summary.model_dump_json(indent=2))
        elif not quiet:
            _show(judged, terminal.folder)
    if judged.is_partial:
        raise typer.Exit(PARTIAL)


@app.command()
@takes(
    EvaluateKeywords,
    *("model", "api_base", "escalate", "when", "out", "prompts", "concurrency"),
    *("max_rpm", "max_usd", "retry_failed"),
    ending="-audit",
)
def audit(
    pairs: PairsArgument,
    *,
    papers: Papers = None,
    number: Annotated[
        int, typer.Option("--limit", min=0, help="Whole pairs that are damaged; 0 for all.")
    ] = 20,
    attacks: Annotated[
        list[str] | None, typer.Option("--attack", help="Only this damage; by default all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice and of the damage.")] = 0,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Find out what a judge of pairs can tell, on pairs that are damaged on purpose.

    A wrong number (accuracy), "in this paper" (agnosticism), half an answer (completeness), a
    question about nothing in the paper (relevance), an answer that contradicts itself
    (reasonableness). Whole and damaged pairs are rated alike, each alone with its paper, and for
    each dimension the judge is trusted, weak or blind.

    For example:

      ragassay qa audit pairs.jsonl --papers papers/ --model openai/gpt-4.1-mini

      ragassay qa audit pairs.jsonl --papers papers/ --attack wrong_number --limit 50

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 something could not be read, or a rating failed;
    4 the judge is blind somewhere, with --strict.
    """
    with errors_as_lines():
        from ragassay.cli.output import Terminal
        from ragassay.requests import request_pairs_audit
        from ragassay.runs.audit_job import AuditOptions

        terminal = Terminal(quiet, as_json, options.get("out"))
        damage = AuditOptions(number, seed, tuple(attacks or ()))
        request = request_pairs_audit(pairs, papers, damage, options, terminal)
        result = terminal.run(request, options)
        terminal.show_audit(result.audit)
    exit_audited(result.audit, strict, terminal.rejections)


@app.command("filter")
def keep(
    run: Annotated[
        Path, typer.Argument(help="A folder of `ragassay qa evaluate` with RACAR's ratings.")
    ],
    *,
    out: Annotated[Path, typer.Option(help="The file of pairs to write.")],
    least: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[DIMENSION=]SCORE",
            help="Least score, 1 to 3: of one dimension (accuracy=2.5), or of all.",
        ),
    ] = None,
) -> None:
    """Keep the pairs that a judge rated well in every dimension.

    A pair that lacks one of the ratings is not kept: nobody said that it is good. What is kept
    trains a generator (`ragassay qa export --as sft`, `ragassay finetune`), or tests a RAG system.

    For example:

      ragassay qa filter runs/pairs-qa --out good.jsonl

      ragassay qa filter runs/pairs-qa --least 2 --least accuracy=3 --out good.jsonl

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some pair lacks a rating.
    """
    with errors_as_lines():
        from ragassay.formats.papers.pairs import write_pairs
        from ragassay.reports.text import count_text
        from ragassay.runs.folder import RunFolder
        from ragassay.runs.qa.filter import filter_pairs, least_scores

        folder, scores = RunFolder(run), least_scores(least or ["2"])
        folder.manifest()  # Raises where there is no run.
        found = filter_pairs(folder.evaluations(), scores)
        write_pairs(found.pairs, out)
        kept = count_text(len(found.pairs), "pair")
        typer.echo(f"{out}: {kept} kept, {len(found.dropped)} rated too low")
        for name, dimensions in found.dropped.items():
            typer.echo(f"{name}: {', '.join(dimensions)}", err=True)
        if found.unrated:
            lacking = count_text(len(found.unrated), "pair")
            typer.echo(f"{lacking} not kept for want of a rating", err=True)
    if found.unrated:
        raise typer.Exit(PARTIAL)


def _show(judged: JudgedPairs, folder: Path) -> None:
    from ragassay.reports.qa.markdown import qa_lines
    from ragassay.terminal import open_console

    console = open_console()
    for found in qa_lines(judged.report):
        console.print(found)
    if judged.given.unused:
        names = ", ".join(judged.given.unused[:5])
        console.print(f"Papers without a pair: {names}", markup=False, highlight=False)
    where = f"Report: {folder / 'qa.html'}"
    console.print(where, markup=False, highlight=False, soft_wrap=True)
