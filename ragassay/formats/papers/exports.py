"""Write question-answer pairs in the formats of evaluators, test banks and training tools.

    ragas     {"user_input", "reference", "reference_contexts"} per line: a test set
    deepeval  [{"input", "expected_output", "context"}]: goldens
    bioasq    {"questions": [{"id", "type", "body", "documents", "snippets", "ideal_answer"}]}
    testbank  a bank of exam questions per paper, with the answers as keys
    jsonl     {"id", "question", "reference", "sources"} per line: ragassay's without "answer"
    sft       {"instruction", "input", "output"} per line: a paper with all of its pairs

If a pair has sources, they are written. The license of the paper is always written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.output import JsonRow, encode_json, replace_file, write_values
from ragassay.formats.workbench.bank_items import BankItem, RubricBank
from ragassay.formats.workbench.banks import write_test_banks
from ragassay.records import Paper, QAPair

EXPORT_FORMS = ("ragas", "deepeval", "bioasq", "testbank", "jsonl", "sft")

_PMC = "https://www.ncbi.nlm.nih.gov/pmc/articles/"
_DOI = "https://doi.org/"


Example = Callable[[Paper, Sequence[QAPair]], tuple[str, str]]
"""Function that receives a paper and its pairs and returns a training example's instruction and
output."""


def bind_instruction(instruction: str) -> Example:
    """Return a function that makes examples from an instruction and SciQAG's list of pairs."""

    def build_example(paper: Paper, pairs: Sequence[QAPair]) -> tuple[str, str]:
        rows = [{"Q": pair.question, "A": pair.answer} for pair in pairs]
        return instruction, json.dumps(rows, ensure_ascii=False)

    return build_example


def export_pairs(
    pairs: Sequence[QAPair],
    papers: Sequence[Paper],
    path: AnyPath,
    form: str,
    *,
    example: Example | None = None,
) -> int:
    """Write pairs in a format of another tool, and return the number of entries in the file.

    An entry is a paper for "testbank" and "sft", and a pair for the other formats. The same input
    always produces the same bytes.

    Args:
        papers: Papers that the pairs refer to, and possibly other papers.
        path: Path of the file, which is compressed if the name ends in `.gz`. An existing file is
            replaced, completely or not at all.
        form: One of `EXPORT_FORMS`.
        example: Function that makes training examples, such as `bind_instruction(...)`. Required
            for "sft".

    Raises:
        InputError: The format is unknown, there are no pairs, a paper or the example is missing, a
            text is not valid UTF-8, or the file cannot be written.
    """
    path = Path(path)
    if form not in EXPORT_FORMS:
        known_forms = ", ".join(EXPORT_FORMS)
        raise InputError(f"pairs cannot be written as {form!r}; choose one of {known_forms}")
    known = {paper.id: paper for paper in papers}
    unknown = next((pair for pair in pairs if pair.paper not in known), None)
    if not pairs:
        raise InputError(f"{path} cannot be written: there are no pairs")
    if unknown is not None:
        raise InputError(f"the pair {unknown.id!r} is about the unknown paper {unknown.paper!r}")
    if form == "testbank":
        return _write_banks(pairs, known, path)
    if form == "sft":
        if example is None:
            raise InputError("the format sft requires training examples; pass `example`")
        return _write_rows(list(_build_sft_rows(pairs, known, example)), path)
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
    with replace_file(path) as handle:
        handle.write(opening + b",\n".join(map(encode_json, rows)) + closing)
    return len(rows)


def _describe_origin(pair: QAPair, paper: Paper) -> JsonRow:
    origin = {
        "paper": paper.id,
        "journal": paper.journal,
        "licence": paper.licence,
        "generator": pair.system,
    }
    return {name: value for name, value in origin.items() if value}


def _build_ragas_row(pair: QAPair, paper: Paper) -> JsonRow:
    # ragas drops unknown fields; Hugging Face datasets keep them.
    row: JsonRow = {"id": pair.id, "user_input": pair.question, "reference": pair.answer}
    if pair.sources:
        row["reference_contexts"] = list(pair.sources)
    return row | _describe_origin(pair, paper)


def _build_deepeval_row(pair: QAPair, paper: Paper) -> JsonRow:
    row: JsonRow = {"name": pair.id, "input": pair.question, "expected_output": pair.answer}
    if pair.sources:
        row["context"] = list(pair.sources)
    return row | {"source_file": paper.id, "additional_metadata": _describe_origin(pair, paper)}


def _build_bioasq_row(pair: QAPair, paper: Paper) -> JsonRow:
    address = build_paper_address(paper)
    return {
        "id": pair.id,
        "type": "summary",
        "body": pair.question,
        "documents": [address],
        "snippets": [_build_snippet(source, paper, address) for source in pair.sources],
        "ideal_answer": [pair.answer],
    } | _describe_origin(pair, paper)


def build_paper_address(paper: Paper) -> str:
    """Return the URL of a paper, or its id if the id is neither a DOI nor a PMCID.

    Example:
        >>> build_paper_address(Paper(id="10.1000/ab", sections=()))
        'https://doi.org/10.1000/ab'
    """
    if paper.id.startswith("10.") and "/" in paper.id:
        return _DOI + paper.id
    return _PMC + paper.id if paper.id[:3] == "PMC" and paper.id[3:].isdecimal() else paper.id


def _build_snippet(source: str, paper: Paper, address: str) -> JsonRow:
    """Return a passage, with its offsets in a section if the section contains it verbatim."""
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


def _build_jsonl_row(pair: QAPair, paper: Paper) -> JsonRow:
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
        "metadata": _describe_origin(pair, paper),
    }


_ROWS: Mapping[str, Callable[[QAPair, Paper], JsonRow]] = {
    "ragas": _build_ragas_row,
    "deepeval": _build_deepeval_row,
    "bioasq": _build_bioasq_row,
    "jsonl": _build_jsonl_row,
}


def _group_by_paper(pairs: Sequence[QAPair]) -> dict[str, list[QAPair]]:
    by_paper: dict[str, list[QAPair]] = {}
    for pair in pairs:
        by_paper.setdefault(pair.paper, []).append(pair)
    return by_paper


def _write_banks(pairs: Sequence[QAPair], papers: Mapping[str, Paper], path: Path) -> int:
    banks = [
        _build_bank(of_paper, papers[name]) for name, of_paper in _group_by_paper(pairs).items()
    ]
    write_test_banks(banks, path)
    return len(banks)


def _build_bank(pairs: Sequence[QAPair], paper: Paper) -> RubricBank:
    asked: dict[str, list[QAPair]] = {}
    for pair in pairs:
        asked.setdefault(pair.question.strip(), []).append(pair)
    return RubricBank(
        query_id=paper.id,
        query_text=paper.title or paper.id,
        kind="questions",
        items=tuple(_build_bank_item(question, same) for question, same in asked.items()),
        info=json.dumps(_describe_origin(pairs[0], paper), ensure_ascii=False),
    )


def _build_bank_item(question: str, pairs: Sequence[QAPair]) -> BankItem:
    info: JsonRow = {"pairs": [pair.id for pair in pairs]}
    sources = list(dict.fromkeys(source for pair in pairs for source in pair.sources))
    if sources:
        info["sources"] = sources
    return BankItem(
        text=question,
        answers=tuple(pair.answer for pair in pairs if pair.answer.strip()),
        info=json.dumps(info, ensure_ascii=False),
    )


def _build_sft_rows(
    pairs: Sequence[QAPair], papers: Mapping[str, Paper], example: Example
) -> Iterator[JsonRow]:
    """Yield one training example per paper (SciQAG, section 3.2, following Self-Instruct)."""
    for name, of_paper in _group_by_paper(pairs).items():
        instruction, output = example(papers[name], of_paper)
        yield {
            "instruction": instruction,
            "input": papers[name].text,
            "output": output,
        } | _describe_origin(of_paper[0], papers[name])
