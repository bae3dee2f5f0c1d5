"""`ragassay qa`: question-answer pairs from papers, and whether they are any good."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import audit_code, partial_if
from ragassay.cli.options import DryRun, Json, Quiet, Strict, takes
from ragassay.cli.presenter import Terminal
from ragassay.cli.qa_files import export, read
from ragassay.cli.terminal import print_lines
from ragassay.options import EvaluateKeywords
from ragassay.process import run_sync
from ragassay.safe_text import open_console

if TYPE_CHECKING:
    from ragassay.qa.evaluate import JudgedPairs
    from ragassay.qa.generate import Generated


@takes(
    EvaluateKeywords, "model", "api_base", "prompts", "concurrency", "max_rpm", "max_usd", "limit"
)
def generate(
    papers: Path,
    *,
    target: Annotated[Path, Option("--out")],
    number: Annotated[int, Option("--n", min=1, max=100)] = 10,
    evaluator: Annotated[str, Option(metavar="NAME")] = "",
    least: Annotated[int, Option(min=1, max=3)] = 2,
    baseline: Literal["self-questioning"] | None = None,
    rounds: Annotated[int, Option(min=0, max=10)] = 2,
    max_tokens: Annotated[int, Option(min=0)] = 0,
    long: Literal["whole", "sections"] = "whole",
    section_chars: Annotated[int, Option(min=500)] = 8_000,
    keywords: list[str] | None = None,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Write question-answer pairs from papers that a reader understands without the paper.

    A model writes the pairs of a paper in one call. Rules find pairs that need the paper ("Figure
    5"), have a number that is not in it, contain their answer, are not specific or repeat another
    one. A second model may rate the others. Pairs with a flaw are written and checked again, until
    none has a flaw, or --rounds or --max-tokens ends it. Pairs that still have a flaw are left out
    and counted.

    The same command again resumes a stopped run and tries papers without pairs again; its state is
    in OUT.state.sqlite.

    For example:

      ragassay qa generate papers/ --n 10 --out pairs.jsonl --model openai/gpt-4.1-mini
          --evaluator mistral/mistral-large-latest
      ragassay qa generate papers/ --long sections --out pairs.jsonl --model ragassay/adapters/qa
      ragassay qa generate papers/ --baseline self-questioning --out base.jsonl --model ...

    Exit codes: 0 done; 1 error; 3 some input was rejected, some paper has no pairs, or a call
    failed.

    Options:
        papers: Papers: a file or a folder of JATS XML, PDF, plain text, JSON lines, SciQAG's JSON;
            the form is recognised by the content.
        target: The file to write; end it in .jsonl.gz to pack it.
        number: Pairs of a paper.
        evaluator: A second model that rates each pair in the five dimensions of RACAR; a pair that
            is rated below --least is repaired, with the reason. NAME@URL has an endpoint of its
            own. By default rules alone check.
        least: Lowest rating, 1 to 3, in any dimension.
        baseline: Write by a simpler method, to compare with: five pairs a paragraph, nothing
            checked, paragraphs spread over the paper until there are --n.
        rounds: Maximum number of rounds that repair and replace pairs.
        max_tokens: After this number of tokens on a paper, no call begins; 0 for no limit.
        long: The part of a paper in a prompt: all of it, which hosted models bill from their cache
            in every further call; or groups of sections, to which the pairs are dealt by length.
        section_chars: Maximum characters of a group of sections.
        keywords: What all pairs should be about. Repeat for more. By default the paper's own
            keywords, or those that TopicRank finds in it.
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
        least=least,
    )
    terminal = Terminal(quiet)
    making = write_pairs(papers, target, plan, evaluator, options, None, terminal)
    is_complete = _report(run_sync(making), target)
    return partial_if(terminal.rejections, not is_complete)


def _report(found: Generated, target: Path) -> bool:
    """Print what was written; return whether every paper has pairs and no call failed."""
    from ragassay.reports.provenance import usage_text
    from ragassay.reports.text import count_text

    n_papers = sum(bool(one.pairs) for one in found.papers)
    typer.echo(
        f"{target}: {count_text(len(found.pairs), 'pair')} of {count_text(n_papers, 'paper')}"
    )
    if found.n_mended:
        typer.echo(f"{found.n_mended} of them repaired")
    for kind, n in found.dropped.most_common():
        typer.echo(f"{n} left out: {FLAWS[kind]}")
    for end, n in found.ends.items():
        if end in ENDS:
            typer.echo(f"{n} {'paper' if n == 1 else 'papers'} {ENDS[end]}", err=True)
    if found.usage.n_calls:
        typer.echo(usage_text(found.usage))
    failed = [one for one in found.papers if one.problem]
    for one in failed:
        typer.echo(f"{one.paper}: {count_text(len(one.pairs), 'pair')}: {one.problem}", err=True)
    return not failed


FLAWS = {
    "context": "points into the paper",
    "wording": "the question's wording",
    "number": "a number that the paper does not have",
    "too_short": "an answer of a few words",
    "no_specifics": "an answer with nothing specific",
    "answer_told": "the question contains the answer",
    "duplicate": "asks what another one does",
    "rated_low": "rated below --least",
    "given_up": "the model had no better one",
}
"""Names of the flaws."""

ENDS = {
    "out_of_rounds": "still had flawed or missing pairs after --rounds",
    "out_of_tokens": "had used --max-tokens before all was well",
}
"""Ends before all was well."""


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
    Argument(
        help="Question-answer pairs: what `ragassay qa generate` wrote, JSON or JSON lines with "
        "question and answer, CSV with the columns question, answer and paper, or SciQAG's JSON, "
        "which contains its papers."
    ),
]
Papers = Annotated[
    Path | None,
    Option(
        help="The papers: a file or folder of JATS XML (PubMed Central), PDF, text or JSON; not "
        "needed if PAIRS contains them."
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
) -> int:
    """Measure question-answer pairs against their papers, whoever wrote them.

    Without a judge: which numbers of the answers the paper has, which words need the paper ("this
    study", "Figure 5"), how much of the paper the answers cover, how similar the questions are; and
    those of RACAR's ratings that need no judge. With --model: relevance, agnosticism,
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
    from ragassay.requests import request_pairs

    terminal = Terminal(quiet, as_json, options.get("out"))
    request = request_pairs(pairs, papers, options, None, terminal)
    judged = terminal.run(request, options, dry_run)
    if as_json:
        typer.echo(judged.run.summary.model_dump_json(indent=2))
    elif not quiet:
        _show(judged, terminal.folder)
    return partial_if(judged.is_partial)


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
    number: Annotated[int, Option("--limit", min=0)] = 20,
    attacks: Annotated[list[str] | None, Option("--attack")] = None,
    seed: int = 0,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Measure what a judge of pairs notices in pairs that are perturbed on purpose.

    A wrong number (accuracy), "in this paper" (agnosticism), half an answer (completeness), a
    question about nothing in the paper (relevance), an answer that contradicts itself
    (reasonableness). Unperturbed and perturbed pairs are rated, each alone with its paper, and for
    each dimension the judge is trusted, weak or blind.

    For example:

      ragassay qa audit pairs.jsonl --papers papers/ --model openai/gpt-4.1-mini
      ragassay qa audit pairs.jsonl --papers papers/ --attack wrong_number --limit 50

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 something could not be read, or a rating failed;
    4 the judge is blind somewhere, with --strict.

    Options:
        number: Number of pairs to damage; 0 for all.
        attacks: Only this damage; by default all.
        seed: Seed of the choice and of the damage.
    """
    from ragassay.requests import request_pairs_audit
    from ragassay.runs.audit_job import AuditOptions

    terminal = Terminal(quiet, as_json, options.get("out"))
    damage = AuditOptions(number, seed, tuple(attacks or ()))
    request = request_pairs_audit(pairs, papers, damage, options, terminal)
    result = terminal.run(request, options)
    terminal.show_audit(result.audit)
    return audit_code(result.audit, strict, terminal.rejections)


@app.command("filter")
def keep(
    run: Path,
    *,
    out: Annotated[Path, Option()],
    least: Annotated[list[str] | None, Option(metavar="[DIMENSION=]SCORE")] = None,
) -> int:
    """Keep the pairs that a judge rated well in every dimension.

    A pair without one of the ratings is not kept. The kept pairs can
    train a generator (`ragassay qa export --as sft`, `ragassay finetune`), or test a RAG system.

    For example:

      ragassay qa filter runs/pairs-qa --out good.jsonl
      ragassay qa filter runs/pairs-qa --least 2 --least accuracy=3 --out good.jsonl

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some pair lacks a rating.

    Options:
        run: A folder of `ragassay qa evaluate` with RACAR's ratings.
        out: The file of pairs to write.
        least: Minimum score, 1 to 3: of one dimension (accuracy=2.5), or of all.
    """
    from ragassay.formats.papers.pairs import write_pairs
    from ragassay.qa.scores import filter_pairs, least_scores
    from ragassay.reports.text import count_text
    from ragassay.runs.folder import RunFolder

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
    return partial_if(found.unrated)


def _show(judged: JudgedPairs, folder: Path) -> None:
    from ragassay.qa.report import qa_lines

    console = open_console()
    for found in qa_lines(judged.report):
        console.print(found)
    if judged.input_pairs.unused:
        names = ", ".join(judged.input_pairs.unused[:5])
        print_lines(f"Papers without a pair: {names}")
    where = f"Report: {folder / 'qa.html'}"
    print_lines(where, soft_wrap=True)
