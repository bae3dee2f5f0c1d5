"""`ragassay qa read` and `ragassay qa export`: papers in, pairs out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ragassay.cli.base import partial_if
from ragassay.cli.terminal import print_rejections, print_sheets
from ragassay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragassay.formats.papers.exports import Example
    from ragassay.records import Paper, QAPair


def read(papers: Path, out: Path | None = None, keywords: bool = False) -> int:
    """Read papers, and show their parts.

    PAPERS is JATS XML of PubMed Central (also a set of articles, as efetch sends it), PDF, plain
    text, SciQAG's JSON, or what --out wrote; a file's form is recognised by its content, and any
    file may be gzip. Abstract and body are the running text; tables, captions, references and back
    matter are kept apart.

    A PDF gives less than the same paper as JATS: its tables become lines of text, and some
    headings become part of a paragraph. Scanned pages have no text, and are rejected.

    Keywords are TopicRank's, 20 a paper; the authors' own stay.

    For example:

      ragassay qa read PMC1234567.xml
      ragassay qa read downloads/ --keywords --out papers.jsonl

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some file or line was rejected.

    Options:
        papers: A paper, or a folder of papers.
        out: Write the papers here, as JSON lines; packed with .gz.
        keywords: Find keywords for papers that have none.
    """
    from ragassay.formats.papers import read_papers, write_papers
    from ragassay.qa.report import paper_sheet

    found = read_papers(papers)
    print_rejections(found.rejections)
    if not found.papers:
        raise InputError(f"{papers}: no paper could be read")
    every = [_with_keywords(one) if keywords else one for one in found.papers]
    print_sheets(paper_sheet(every))
    if out is not None:
        write_papers(every, out)
        typer.echo(f"wrote {out}", err=True)
    return partial_if(found.rejections)


def export(
    pairs: Path,
    out: Annotated[Path, Option()],
    form: Annotated[str, Option("--as")],
    papers: Path | None = None,
    instruction: Path | None = None,
) -> int:
    """Write question-answer pairs in the formats of other tools.

    ragas: a test set (user_input, reference, reference_contexts). deepeval: goldens (input,
    expected_output, context). bioasq: questions with ideal answer, documents and snippets.
    testbank: a bank of exam questions a paper, for `ragassay grade`. jsonl: questions with
    reference and sources for `ragassay evaluate`: give your RAG system each question, add its
    reply as "answer", its own passages as "sources" if it has some. sft: a training example a
    paper (instruction, input, output), as SciQAG trains its generator.

    The licence of each paper is written beside its pairs.

    For example:

      ragassay qa export pairs.jsonl --papers papers.jsonl --as testbank --out bank.jsonl.gz
      ragassay qa export sciqag.jsonl --as ragas --out testset.jsonl

    Exit codes: 0 done; 1 error, nothing written; 2 wrong usage; 3 some pair or paper was rejected,
    the rest is written.

    Options:
        pairs: Question-answer pairs: JSON lines, CSV with question and answer, or SciQAG's JSON,
            which contains its papers.
        out: The file to write; packed if it ends in .gz.
        form: ragas, deepeval, bioasq, testbank, jsonl, or sft; see below.
        papers: The papers of the pairs, as `ragassay qa read` takes them.
        instruction: For sft: a text file with the model's instruction; by default the writer's.
    """
    from ragassay.formats.papers import PaperFile, export_pairs, read_pairs, read_papers
    from ragassay.reports.text import count_text

    known = read_papers(papers) if papers else PaperFile((), ())
    found = read_pairs(pairs, known.papers)
    rejections = (*known.rejections, *found.rejections)
    print_rejections(rejections)
    example = _example(instruction) if form == "sft" else None
    n = export_pairs(found.pairs, found.papers, out, form, example=example)
    entries = "1 entry" if n == 1 else f"{n:,} entries"
    typer.echo(f"{out}: {count_text(len(found.pairs), 'pair')} in {entries} of {form}")
    return partial_if(rejections)


def _with_keywords(paper: Paper) -> Paper:
    from ragassay.text.keywords import find_keywords

    if paper.keywords:
        return paper
    return paper.model_copy(update={"keywords": find_keywords(paper.text)})


def _example(path: Path | None) -> Example:
    """Return examples by the user's instruction, else by the writer's own prompt and reply."""
    from ragassay.agents.qa_writer import generator_instruction, generator_reply
    from ragassay.formats.papers.exports import told_so
    from ragassay.formats.topics import whole_bytes

    if path is not None:
        return told_so(whole_bytes(path).decode("utf-8", "replace").strip())

    def example(paper: Paper, pairs: Sequence[QAPair]) -> tuple[str, str]:
        told = generator_instruction(paper.keywords, len(pairs))
        return told, json.dumps(generator_reply(pairs), ensure_ascii=False)

    return example
