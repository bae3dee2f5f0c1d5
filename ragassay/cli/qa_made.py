"""`ragassay qa generate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from ragassay.cli.exits import PARTIAL, errors_as_lines
from ragassay.cli.options import Quiet, takes
from ragassay.options import EvaluateKeywords

if TYPE_CHECKING:
    from ragassay.runs.qa.generate import Generated


@takes(
    EvaluateKeywords, "model", "api_base", "prompts", "concurrency", "max_rpm", "max_usd", "limit"
)
def generate(
    papers: Annotated[
        Path,
        typer.Argument(
            help="Papers: a file or a folder of JATS XML, PDF, plain text, JSON lines, SciQAG's "
            "JSON; the form is recognised by the content."
        ),
    ],
    *,
    target: Annotated[
        Path, typer.Option("--out", help="The file to write; end it in .jsonl.gz to pack it.")
    ],
    number: Annotated[int, typer.Option("--n", min=1, max=100, help="Pairs of a paper.")] = 10,
    evaluator: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A second model that rates each pair in the five dimensions of RACAR; a pair "
            "that is rated below --least goes to repair with the reason. NAME@URL has an endpoint "
            "of its own. By default rules alone check.",
        ),
    ] = "",
    least: Annotated[
        int, typer.Option(min=1, max=3, help="Lowest rating, 1 to 3, in any dimension.")
    ] = 2,
    baseline: Annotated[
        Literal["self-questioning"] | None,
        typer.Option(
            help="Write by another method, to compare with: five pairs a paragraph, nothing "
            "checked, paragraphs spread over the paper until there are --n."
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=0, max=10, help="Most rounds that repair and replace pairs.")
    ] = 2,
    max_tokens: Annotated[
        int, typer.Option(min=0, help="Tokens of a paper after which no call begins; 0: any.")
    ] = 0,
    long: Annotated[
        Literal["whole", "sections"],
        typer.Option(
            help="What a prompt has of a paper: all of it, which hosted models bill from their "
            "cache in every further call; or groups of sections, to which the pairs are dealt by "
            "length."
        ),
    ] = "whole",
    section_chars: Annotated[
        int, typer.Option(min=500, help="Most characters of a group of sections.")
    ] = 8_000,
    keywords: Annotated[
        list[str] | None,
        typer.Option(
            help="What all pairs should be about. Repeat for more. By default the paper's own "
            "keywords, or those that TopicRank finds in it."
        ),
    ] = None,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Write question-answer pairs from papers, that can be understood without them.

    A model writes the pairs of a paper in one call. Rules find those that need the paper ("Figure
    5"), have a number that it does not, tell their answer, say nothing specific or repeat another
    one; a second model may rate the others. What is flawed is written again and checked again,
    until all is well, or --rounds or --max-tokens ends it; pairs that still have a flaw are left
    out and counted.

    The same command again resumes a stopped run and tries papers without pairs again; its state is
    in OUT.state.sqlite.

    For example:

      ragassay qa generate papers/ --n 10 --out pairs.jsonl --model openai/gpt-4.1-mini
      --evaluator mistral/mistral-large-latest

      ragassay qa generate papers/ --long sections --out pairs.jsonl --model ragassay/adapters/qa

      ragassay qa generate papers/ --baseline self-questioning --out base.jsonl --model ...

    Exit codes: 0 done; 1 error; 3 some input was rejected, some paper has no pairs, or a call
    failed.
    """
    with errors_as_lines():
        from ragassay.cli.output import Terminal
        from ragassay.graphs.qa_state import QAJob
        from ragassay.threads import run_sync
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
    if terminal.rejections or not is_complete:
        raise typer.Exit(PARTIAL)


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
    "answer_told": "the question tells the answer",
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
