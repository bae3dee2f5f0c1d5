"""`ragassay qa read` and `ragassay qa export`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ragassay.cli.base import choose_exit_code
from ragassay.cli.terminal import print_rejections, print_sheets
from ragassay.errors import InputError
from ragassay.reports.display import count_text

if TYPE_CHECKING:
    from ragassay.formats.papers.exports import Example
    from ragassay.records import Paper, QAPair


def read(papers: Path, out: Path | None = None, keywords: bool = False) -> int:
    """Read papers and show their structure.

    PAPERS is JATS XML from PubMed Central (one article, or an article set from efetch), PDF, plain
    text, SciQAG JSON, or a file written with --out. The format is detected from the content, and
    files can be gzip-compressed. The abstract and the body form the running text; tables, captions,
    references and back matter are stored separately.

    PDF is read less accurately than JATS: tables become lines of text, and some headings become
    part of a paragraph. Scanned PDF files contain no text and are rejected.

    For example:

      ragassay qa read PMC1234567.xml
      ragassay qa read downloads/ --keywords --out papers.jsonl

    Options:
        papers: Paper, or folder of papers.
        out: Write the papers to this JSON lines file, compressed if it ends in .gz.
        keywords: Extract 20 keywords with TopicRank for papers without keywords.
    """
    from ragassay.formats.papers import read_papers, write_papers
    from ragassay.qa.report import build_paper_sheet

    found = read_papers(papers)
    print_rejections(found.rejections)
    if not found.papers:
        raise InputError(f"{papers}: no paper could be read")
    every = list(found.papers)
    if keywords:
        from ragassay.text.keywords import find_keywords

        every = [
            one.model_copy(update={"keywords": one.keywords or find_keywords(one.text)})
            for one in every
        ]
    print_sheets(build_paper_sheet(every))
    if out is not None:
        write_papers(every, out)
        typer.echo(f"wrote {out}", err=True)
    return choose_exit_code(found.rejections)


def export(
    pairs: Path,
    out: Annotated[Path, Option()],
    form: Annotated[str, Option("--as")],
    papers: Path | None = None,
    instruction: Path | None = None,
) -> int:
    """Export question-answer pairs to other formats.

    ragas: a test set (user_input, reference, reference_contexts). deepeval: goldens (input,
    expected_output, context). bioasq: questions with ideal answer, documents and snippets.
    testbank: a test bank with exam questions for each paper, for `ragassay grade`. jsonl: questions
    with reference and sources, for `ragassay run`, or for `ragassay evaluate` after you add an
    "answer" (and "sources") from your RAG system. sft: one training example per paper (instruction,
    input, output), as in SciQAG.

    The licence of each paper is included.

    For example:

      ragassay qa export pairs.jsonl --papers papers.jsonl --as testbank --out bank.jsonl.gz
      ragassay qa export sciqag.jsonl --as ragas --out testset.jsonl

    Options:
        pairs: Question-answer pairs as JSON lines, CSV with question and answer, or SciQAG JSON.
        out: Output file, compressed if its name ends in .gz.
        form: Output format: ragas, deepeval, bioasq, testbank, jsonl or sft.
        papers: Source papers of the pairs, in any format that `ragassay qa read` accepts.
        instruction: For sft: text file with the instruction of each training example. By default,
            the prompt of `ragassay qa generate` is used.
    """
    from ragassay.formats.papers import PaperFile, export_pairs, read_pairs, read_papers

    known = read_papers(papers) if papers else PaperFile((), ())
    found = read_pairs(pairs, known.papers)
    rejections = (*known.rejections, *found.rejections)
    print_rejections(rejections)
    example = _choose_example(instruction) if form == "sft" else None
    n = export_pairs(found.pairs, found.papers, out, form, example=example)
    entries = "1 entry" if n == 1 else f"{n:,} entries"
    typer.echo(f"{out}: {count_text(len(found.pairs), 'pair')} in {entries} ({form})")
    return choose_exit_code(rejections)


def _choose_example(path: Path | None) -> Example:
    from ragassay.agents.qa_writer import build_generator_reply, render_generator_task
    from ragassay.formats.papers.exports import bind_instruction
    from ragassay.formats.topics import read_small_file

    if path is not None:
        return bind_instruction(read_small_file(path).decode("utf-8", "replace").strip())

    def format_example(paper: Paper, pairs: Sequence[QAPair]) -> tuple[str, str]:
        prompt = render_generator_task(paper.keywords, len(pairs))
        return prompt, json.dumps(build_generator_reply(pairs), ensure_ascii=False)

    return format_example
