"""Write question-answer pairs as what other evaluators, test banks and trainers read.

    ragas     {"user_input", "reference", "reference_contexts"} a line: a test set
    deepeval  [{"input", "expected_output", "context"}]: goldens
    bioasq    {"questions": [{"id", "type", "body", "documents", "snippets", "ideal_answer"}]}
    testbank  a bank of exam questions a paper, the answers as keys
    jsonl     {"id", "question", "reference", "sources"} a line: ragassay's, without the "answer"
    sft       {"instruction", "input", "output"} a line: a paper and all of its pairs

Sentences that an answer was taken from are written where the pair knows them. The licence of a
paper goes with what is made of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.output import JsonRow, json_bytes, whole_file, write_values
from ragassay.formats.workbench.bank_items import BankItem, RubricBank
from ragassay.formats.workbench.banks import write_test_banks
from ragassay.records import Paper, QAPair

EXPORT_FORMS = ("ragas", "deepeval", "bioasq", "testbank", "jsonl", "sft")

_PMC = "https://www.ncbi.nlm.nih.gov/pmc/articles/"
_DOI = "https://doi.org/"


Example = Callable[[Paper, Sequence[QAPair]], tuple[str, str]]
"""Instruction and output of a training example, of a paper and its pairs."""


def told_so(instruction: str) -> Example:
    """Return examples with the same instruction, and SciQAG's list of pairs as output."""

    def example(paper: Paper, pairs: Sequence[QAPair]) -> tuple[str, str]:
        wanted = [{"Q": pair.question, "A": pair.answer} for pair in pairs]
        return instruction, json.dumps(wanted, ensure_ascii=False)

    return example


def export_pairs(
    pairs: Sequence[QAPair],
    papers: Sequence[Paper],
    path: AnyPath,
    form: str,
    *,
    example: Example | None = None,
) -> int:
    """Write pairs in a form that others read; the same pairs give the same bytes.

    Args:
        pairs: Each of a paper among `papers`.
        papers: May hold more than the pairs are about.
        path: Overwritten where it exists, whole or not at all; gzip where the name ends in `.gz`.
        form: One of `EXPORT_FORMS`.
        example: Returns what the model is told of a paper, and should reply: "sft" needs it.

    Returns:
        How many entries were written: pairs, papers for "testbank" and "sft".

    Raises:
        InputError: the form is unknown, there is no pair, a pair's paper is not there, "sft" has no
            example, a text cannot be written as UTF-8, or the file cannot be written.
    """
    path = Path(path)
    if form not in EXPORT_FORMS:
        raise InputError(f"pairs cannot be written as {form!r}: {', '.join(EXPORT_FORMS)}")
    known = {paper.id: paper for paper in papers}
    lost = next((pair for pair in pairs if pair.paper not in known), None)
    if not pairs:
        raise InputError(f"{path} cannot be written: there is no pair")
    if lost is not None:
        raise InputError(f"the pair {lost.id!r} is about {lost.paper!r}: no such paper was given")
    if form == "testbank":
        return _write_banks(pairs, known, path)
    if form == "sft":
        if example is None:
            raise InputError("the form sft needs an instruction for the model")
        return _write_rows(list(_sft_rows(pairs, known, example)), path)
    rows = [_ROWS[form](pair, known[pair.paper]) for pair in pairs]
    if form == "deepeval":
        return _write_document(rows, path, b"[\n", b"\n]\n")
    if form == "bioasq":
        return _write_document(rows, path, b'{"questions": [\n', b"\n]}\n")
    return _write_rows(rows, path)


def _write_rows(rows: Sequence[JsonRow], path: Path) -> int:
    write_values(rows, path)
    return len(rows)


def _write_document(rows: Sequence[JsonRow], path: Path, opening: bytes, closing: bytes) -> int:
    with whole_file(path) as handle:
        handle.write(opening + b",\n".join(map(json_bytes, rows)) + closing)
    return len(rows)


def _origin(pair: QAPair, paper: Paper) -> JsonRow:
    """Return where a pair comes from: paper, journal, licence, generator."""
    told = {
        "paper": paper.id,
        "journal": paper.journal,
        "licence": paper.licence,
        "generator": pair.system,
    }
    return {name: value for name, value in told.items() if value}


def _ragas_row(pair: QAPair, paper: Paper) -> JsonRow:
    # ragas leaves out the fields that it does not know; datasets keep them.
    row: JsonRow = {"id": pair.id, "user_input": pair.question, "reference": pair.answer}
    if pair.sources:
        row["reference_contexts"] = list(pair.sources)
    return row | _origin(pair, paper)


def _deepeval_row(pair: QAPair, paper: Paper) -> JsonRow:
    row: JsonRow = {"name": pair.id, "input": pair.question, "expected_output": pair.answer}
    if pair.sources:
        row["context"] = list(pair.sources)
    return row | {"source_file": paper.id, "additional_metadata": _origin(pair, paper)}


def _bioasq_row(pair: QAPair, paper: Paper) -> JsonRow:
    address = document_address(paper)
    return {
        "id": pair.id,
        "type": "summary",
        "body": pair.question,
        "documents": [address],
        "snippets": [_snippet(source, paper, address) for source in pair.sources],
        "ideal_answer": [pair.answer],
    } | _origin(pair, paper)


def document_address(paper: Paper) -> str:
    """Return the address of a paper; its id where that is neither a DOI nor a PMCID.

    Example:
        >>> document_address(Paper(id="10.1000/ab", sections=()))
        'https://doi.org/10.1000/ab'
    """
    if paper.id.startswith("10.") and "/" in paper.id:
        return _DOI + paper.id
    return _PMC + paper.id if paper.id[:3] == "PMC" and paper.id[3:].isdecimal() else paper.id


def _snippet(source: str, paper: Paper, address: str) -> JsonRow:
    """Return a passage with its offsets in its section, where the paper has it word by word."""
    row: JsonRow = {"document": address, "text": source}
    n_body = 0
    for section in paper.sections:
        name = "abstract" if section.kind == "abstract" else f"sections.{n_body}"
        n_body += section.kind == "body"
        start = section.text.find(source) if section.kind in ("abstract", "body") else -1
        if start >= 0:
            return row | {
                "beginSection": name,
                "endSection": name,
                "offsetInBeginSection": start,
                "offsetInEndSection": start + len(source),
            }
    return row


def _jsonl_row(pair: QAPair, paper: Paper) -> JsonRow:
    texts = pair.sources or (paper.text,)
    names = [paper.id] if len(texts) == 1 else [f"{paper.id}#{i + 1}" for i in range(len(texts))]
    return {
        "id": pair.id,
        "topic": pair.id,
        "question": pair.question,
        "reference": pair.answer,
        "sources": [
            {"id": name, "text": text, "title": paper.title}
            for name, text in zip(names, texts, strict=True)
        ],
        "metadata": _origin(pair, paper),
    }


_ROWS: Mapping[str, Callable[[QAPair, Paper], JsonRow]] = {
    "ragas": _ragas_row,
    "deepeval": _deepeval_row,
    "bioasq": _bioasq_row,
    "jsonl": _jsonl_row,
}


def _by_paper(pairs: Sequence[QAPair]) -> dict[str, list[QAPair]]:
    found: dict[str, list[QAPair]] = {}
    for pair in pairs:
        found.setdefault(pair.paper, []).append(pair)
    return found


def _write_banks(pairs: Sequence[QAPair], papers: Mapping[str, Paper], path: Path) -> int:
    banks = [_bank(of_paper, papers[name]) for name, of_paper in _by_paper(pairs).items()]
    write_test_banks(banks, path)
    return len(banks)


def _bank(pairs: Sequence[QAPair], paper: Paper) -> RubricBank:
    """Return a paper's bank; a question that was asked twice has both answers as keys."""
    asked: dict[str, list[QAPair]] = {}
    for pair in pairs:
        asked.setdefault(pair.question.strip(), []).append(pair)
    return RubricBank(
        query_id=paper.id,
        query_text=paper.title or paper.id,
        kind="questions",
        items=tuple(_bank_item(question, same) for question, same in asked.items()),
        info=json.dumps(_origin(pairs[0], paper), ensure_ascii=False),
    )


def _bank_item(question: str, pairs: Sequence[QAPair]) -> BankItem:
    told: JsonRow = {"pairs": [pair.id for pair in pairs]}
    sources = list(dict.fromkeys(source for pair in pairs for source in pair.sources))
    if sources:
        told["sources"] = sources
    return BankItem(
        text=question,
        answers=tuple(pair.answer for pair in pairs if pair.answer.strip()),
        info=json.dumps(told, ensure_ascii=False),
    )


def _sft_rows(
    pairs: Sequence[QAPair], papers: Mapping[str, Paper], example: Example
) -> Iterator[JsonRow]:
    """Return an example a paper (SciQAG, section 3.2, after Self-Instruct)."""
    for name, of_paper in _by_paper(pairs).items():
        instruction, output = example(papers[name], of_paper)
        yield {
            "instruction": instruction,
            "input": papers[name].text,
            "output": output,
        } | _origin(of_paper[0], papers[name])
