"""`ragassay qa`: generate question-answer pairs from papers, and evaluate them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import choose_audit_exit_code, choose_exit_code
from ragassay.cli.options import DryRun, Json, Quiet, Strict, add_options
from ragassay.cli.presenter import Terminal
from ragassay.cli.terminal import print_lines, print_notes
from ragassay.options import EvaluateKeywords
from ragassay.process import run_sync
from ragassay.qa.commands.files import export, read
from ragassay.reports.display import count_text
from ragassay.safe_text import open_console

if TYPE_CHECKING:
    from ragassay.qa.generate import Generated


@add_options(
    EvaluateKeywords, "model", "api_base", "prompts", "concurrency", "max_rpm", "max_usd", "limit"
)
def generate(
    papers: Path,
    *,
    target: Annotated[Path, Option("--out")],
    number: Annotated[int, Option("--n", min=1, max=100)] = 10,
    evaluator: Annotated[str, Option(metavar="NAME")] = "",
    min_rating: Annotated[int, Option(min=1, max=3)] = 2,
    baseline: Literal["self-questioning"] | None = None,
    rounds: Annotated[int, Option(min=0, max=10)] = 2,
    max_tokens: Annotated[int, Option(min=0)] = 0,
    long: Literal["whole", "sections"] = "whole",
    section_chars: Annotated[int, Option(min=500)] = 8_000,
    keywords: list[str] | None = None,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Generate self-contained question-answer pairs from papers.

    A model writes all pairs of a paper in one call. Rules reject pairs that refer to the paper
    ("Figure 5"), contain a number that is not in the paper, reveal the answer in the question, are
    not specific, or duplicate another pair. With --evaluator, a second model rates the remaining
    pairs. Rejected pairs are repaired or replaced until all pairs pass, or until --rounds or
    --max-tokens is reached. Pairs that still fail are dropped and counted.

    Run the same command again to resume a stopped run and to retry papers without pairs. The state
    is stored in OUT.state.sqlite.

    For example:

      ragassay qa generate papers/ --n 10 --out pairs.jsonl --model openai/gpt-4.1-mini
          --evaluator mistral/mistral-large-latest
      ragassay qa generate papers/ --long sections --out pairs.jsonl --model ragassay/adapters/qa
      ragassay qa generate papers/ --baseline self-questioning --out base.jsonl --model ...

    Options:
        papers: File or folder of papers as JATS XML, PDF, plain text, JSON lines or SciQAG JSON.
            The format is detected from the content.
        target: Output file, compressed if it ends in .jsonl.gz.
        number: Number of pairs to generate per paper.
        evaluator: Second model, which rates each pair in the five dimensions of RACAR. Pairs rated
            below --min-rating are repaired. Can be NAME@URL. By default, only rules are applied.
        min_rating: Minimum rating in each dimension, 1 to 3.
        baseline: Use a simpler method for comparison: five unchecked pairs per paragraph, from
            paragraphs spread over the paper, until --n is reached.
        rounds: Maximum number of rounds to repair and replace pairs.
        max_tokens: Number of tokens per paper after which no new call starts; 0 for no limit.
        long: Text to include in a prompt: the whole paper (hosted models usually cache it between
            calls), or a group of sections, with pairs distributed by section length.
        section_chars: Maximum number of characters in a group of sections.
        keywords: Keywords that the pairs should be about. By default, these are the keywords listed
            in the paper, or keywords extracted with TopicRank if the paper lists none.
    """
    from ragassay.graphs.qa_state import QAJob
    from ragassay.writing import write_pairs

    plan = QAJob(
        number=number,
        keywords=tuple(keywords or ()),
        way=baseline or "pairs",
        long=long,
        section_chars=section_chars,
        rounds=rounds,
        max_tokens=max_tokens,
        min_rating=min_rating,
    )
    terminal = Terminal(quiet)
    making = write_pairs(papers, target, plan, evaluator, options, None, terminal)
    is_complete = _report(run_sync(making), target)
    return choose_exit_code(terminal.rejections, not is_complete)


def _report(found: Generated, target: Path) -> bool:
    from ragassay.reports.provenance import describe_usage

    n_papers = sum(bool(one.pairs) for one in found.papers)
    typer.echo(
        f"{target}: {count_text(len(found.pairs), 'pair')} from {count_text(n_papers, 'paper')}"
    )
    if found.n_mended:
        typer.echo(f"{found.n_mended} of them repaired")
    for kind, n in found.dropped.most_common():
        typer.echo(f"{n} dropped: {FLAWS[kind]}")
    for end, n in found.ends.items():
        if end in ENDS:
            typer.echo(f"{n} {'paper' if n == 1 else 'papers'} {ENDS[end]}", err=True)
    if found.usage.n_calls:
        typer.echo(describe_usage(found.usage))
    failed = [one for one in found.papers if one.problem]
    for one in failed:
        typer.echo(f"{one.paper}: {count_text(len(one.pairs), 'pair')}: {one.problem}", err=True)
    return not failed


FLAWS = {
    "context": "pair refers to the paper",
    "wording": "badly worded question",
    "number": "pair contains a number that is not in the paper",
    "too_short": "answer is too short",
    "no_specifics": "answer is not specific",
    "answer_told": "question contains the answer",
    "duplicate": "question duplicates another question",
    "rated_low": "pair was rated below --min-rating",
    "given_up": "model did not improve the pair",
}
"""Why a pair was dropped, by kind of flaw."""

ENDS = {
    "out_of_rounds": "still had flawed or missing pairs after --rounds",
    "out_of_tokens": "reached --max-tokens with flawed or missing pairs",
}
"""Why generation stopped for a paper with flawed or missing pairs."""


app = typer.Typer(help="Generate question-answer pairs from papers, and evaluate them.")

app.command()(read)
app.command()(generate)
app.command()(export)

PairsArgument = Annotated[
    Path,
    Argument(
        help="Question-answer pairs: a file from `ragassay qa generate`, JSON or JSON lines with "
        "question and answer, CSV with the columns question, answer and paper, or SciQAG JSON."
    ),
]
Papers = Annotated[
    Path | None,
    Option(
        help="File or folder of papers as JATS XML (PubMed Central), PDF, text or JSON. This file "
        "is not required if PAIRS contains the papers."
    ),
]


@app.command()
@add_options(
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
) -> int:
    """Evaluate question-answer pairs against their papers.

    Without a judge, the command checks whether the numbers in the answers occur in the paper, finds
    references to the paper ("this study", "Figure 5"), measures how well the pairs cover the paper
    and how similar the questions are, and computes those of the five RACAR ratings that need no
    judge. With --model, a judge rates each pair from 1 to 3 for relevance, agnosticism,
    completeness, accuracy and reasonableness (RACAR), with reasons and locations in the paper, and
    rates how much two questions overlap.

    The run folder contains qa.html (worst pairs first), qa.md, pairs.csv and papers.csv. Run the
    same command again to resume a stopped run.

    For example:

      ragassay qa evaluate pairs.jsonl --papers papers/
      ragassay qa evaluate pairs.csv --papers paper.xml --model openai/gpt-4.1-mini
      ragassay qa evaluate pairs.jsonl --papers papers/ --model openai/gpt-4.1-mini --only racar
    """
    from ragassay.requests import request_pairs

    terminal = Terminal(quiet, as_json, options.get("out"))
    request = request_pairs(pairs, papers, options, None, terminal)
    judged = terminal.run(request, options, dry_run)
    if as_json:
        typer.echo(judged.run.summary.model_dump_json(indent=2))
    elif not quiet:
        from ragassay.qa.report import render_qa_summary

        console = open_console()
        for line in render_qa_summary(judged.report):
            console.print(line)
        if judged.input_pairs.unused:
            print_lines(f"Papers without pairs: {', '.join(judged.input_pairs.unused[:5])}")
        print_lines(f"Report: {terminal.folder / 'qa.html'}", soft_wrap=True)
    return choose_exit_code(judged.is_partial)


@app.command()
@add_options(
    EvaluateKeywords,
    *("model", "api_base", "escalate", "when", "out", "prompts", "concurrency"),
    *("max_rpm", "max_usd", "retry_failed"),
    ending="-audit",
)
def audit(
    pairs: PairsArgument,
    *,
    papers: Papers = None,
    number: Annotated[int, Option("--limit", min=0)] = 20,
    attacks: Annotated[list[str] | None, Option("--attack")] = None,
    seed: int = 0,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Test which errors in question-answer pairs a judge notices.

    Each perturbation targets one dimension: a wrong number (accuracy), the words "in this paper"
    (agnosticism), half of the answer left out (completeness), an unrelated question (relevance) or
    an answer that contradicts itself (reasonableness). The judge rates the original and the
    perturbed pairs one at a time, and is classified as trusted, weak or blind in each dimension.

    For example:

      ragassay qa audit pairs.jsonl --papers papers/ --model openai/gpt-4.1-mini
      ragassay qa audit pairs.jsonl --papers papers/ --attack wrong_number --limit 50

    Exit codes: 0 success; 1 error; 2 usage error; 3 some input was rejected, or a rating failed;
    4 with --strict, the judge is blind in some dimension.

    Options:
        number: Number of pairs to perturb; 0 for all.
        attacks: Perturbation to apply. By default, all perturbations are applied.
        seed: Seed for sampling and perturbing pairs.
    """
    from ragassay.requests import request_pairs_audit
    from ragassay.runs.audit_job import AuditOptions

    terminal = Terminal(quiet, as_json, options.get("out"))
    audit = AuditOptions(number, seed, tuple(attacks or ()))
    request = request_pairs_audit(pairs, papers, audit, options, terminal)
    result = terminal.run(request, options)
    terminal.show_audit(result.audit)
    return choose_audit_exit_code(result.audit, strict, terminal.rejections)


@app.command("filter")
def keep(
    run: Path,
    *,
    out: Annotated[Path, Option()],
    min_score: Annotated[list[str] | None, Option(metavar="[DIMENSION=]SCORE")] = None,
) -> int:
    """Select pairs with good ratings in every dimension.

    Pairs with a missing rating are dropped. Use the selected pairs to train a generator (`ragassay
    qa export --as sft`, `ragassay finetune`) or to test a RAG system.

    For example:

      ragassay qa filter runs/pairs-qa --out good.jsonl
      ragassay qa filter runs/pairs-qa --min-score 2 --min-score accuracy=3 --out good.jsonl

    Options:
        run: Folder of a `ragassay qa evaluate` run with RACAR ratings.
        out: Output file for the selected pairs.
        min_score: Minimum score from 1 to 3, for one dimension (accuracy=2.5) or for all. The
            default is 2 for all.
    """
    from ragassay.formats.papers.pairs import write_pairs
    from ragassay.qa.scores import filter_pairs, parse_min_scores
    from ragassay.runs.folder import RunFolder

    folder, scores = RunFolder(run), parse_min_scores(min_score or ["2"])
    folder.read_manifest()  # Raises an error if there is no run.
    found = filter_pairs(folder.read_evaluations(), scores)
    write_pairs(found.pairs, out)
    selected, n = count_text(len(found.pairs), "pair"), len(found.dropped)
    typer.echo(f"{out}: {selected} selected, {n} dropped because their ratings are too low")
    for name, dimensions in found.dropped.items():
        typer.echo(f"{name}: {', '.join(dimensions)}", err=True)
    if found.unrated:
        unrated = count_text(len(found.unrated), "pair")
        print_notes(f"{unrated} dropped because they have no rating")
    return choose_exit_code(found.unrated)
