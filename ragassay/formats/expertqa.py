"""Read ExpertQA as it was released: an expert's question a line, with the answers of six systems.

    {"question", "annotator_id", "metadata": {"field", ...}, "answers": {SYSTEM: {"answer_string",
     "attribution": [...], "claims": [{"claim_string", "evidence": [...], "support", ...}], ...}}}

Each system's answer is a record. Its sources are what `attribution` lists and the claims' evidence
quotes: an address, a text, or both, as `[1] https://a.org` and then the passage. A source's id is
the number that the answer cites it by. What the experts said of the claims is metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, found, validate
from ragassay.formats.rows import Row, as_text, kept_fields
from ragassay.formats.shapes import is_object
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record

_NUMBERED = re.compile(r"\s{0,9}(?:\[(\d{1,3})\][:.]?|Passage ID (\d{1,3}):)\s{0,9}")
_ADDRESS = re.compile(r"https?://\S{1,2000}")


class AnswerRow(Row):
    """A system's answer."""

    answer_string: str
    attribution: list[object] = Field(default_factory=list)
    claims: list[dict[str, object]] = Field(default_factory=list)


class QuestionRow(Row):
    """A question with its answers by system."""

    question: str
    annotator_id: str = ""
    metadata: dict[str, object] = Field(default_factory=dict)
    answers: dict[str, object]


EXPERTQA = Format(
    name="expertqa",
    required=(("question",), ("answers",), ("annotator_id", "metadata.field")),
    fields=frozenset(QuestionRow.model_fields),
    leading="answers",
    keys="question, metadata{field}, answers{SYSTEM: {answer_string, attribution[], "
    "claims[{claim_string, evidence[]}]}}",
)


def read_expertqa(item: Item) -> Sequence[Record | Problem]:
    """Turn a question into a record for each system that answers it."""
    row = validate(QuestionRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    return [_read_answer(row, system, given, item) for system, given in row.answers.items()]


def _read_answer(row: QuestionRow, system: str, given: object, item: Item) -> Record | Problem:
    where = f"answers.{system}"
    if not is_object(given):
        return Problem(where, f"found {found(given)}", 'an object with an "answer_string"')
    answer = validate(AnswerRow, given)
    if isinstance(answer, Problem):
        return Problem(f"{where}.{answer.field}", answer.text, answer.expected)
    sources, addresses = _read_sources(answer)
    about = {"annotator_id": row.annotator_id} | {
        f"metadata.{name}": as_text(value) for name, value in row.metadata.items()
    }
    urls = {f"sources.{i}.url": url for i, url in enumerate(addresses) if url}
    claims = {"claims": as_text(answer.claims)} if answer.claims else {}
    kept = {name: value for name, value in about.items() if value}
    return Record(
        id=f"{item.place.label}/{system}",
        question=row.question,
        answer=answer.answer_string,
        sources=sources,
        system=system,
        topic=item.place.label,
        metadata=kept_fields(row) | kept_fields(answer) | kept | claims | urls,
    )


def _read_sources(answer: AnswerRow) -> tuple[tuple[Document, ...], tuple[str, ...]]:
    """Return the sources by number, and their addresses; texts of one source are joined."""
    texts: dict[str, dict[str, None]] = {}
    addresses: dict[str, str] = {}
    for number, address, text in _pieces(answer):
        known = next((name for name, url in addresses.items() if address and url == address), None)
        name = number or known or str(len(texts) + 1)
        texts.setdefault(name, {})
        addresses[name] = addresses.get(name) or address
        if text:
            texts[name][text] = None
    ids = sorted(texts, key=lambda name: int(name) if name.isdecimal() else len(texts))
    documents = (Document(id=name, text="\n\n".join(texts[name])) for name in ids)
    return tuple(documents), tuple(addresses[name] for name in ids)


def _pieces(answer: AnswerRow) -> Iterator[tuple[str, str, str]]:
    """Yield number, address and text of each piece of evidence; the answer's own first."""
    evidence = (claim.get("evidence") for claim in answer.claims)
    lists = (answer.attribution, *(part for part in evidence if isinstance(part, list)))
    for pieces in lists:
        for piece in pieces:
            if is_object(piece):
                number, _, text = _split(str(piece.get("text") or ""))
                yield number, str(piece.get("url") or ""), text
            elif isinstance(piece, str) and piece.strip():
                yield _split(piece)


def _split(piece: str) -> tuple[str, str, str]:
    """Return number, address and text of evidence; each may be empty.

    Example:
        >>> _split("[2] https://a.org It fell.")
        ('2', 'https://a.org', 'It fell.')
    """
    mark = _NUMBERED.match(piece)
    rest = piece[mark.end() :] if mark else piece.strip()
    address = _ADDRESS.match(rest)
    number = (mark[1] or mark[2]) if mark else ""
    if address is None:
        return number, "", rest.strip()
    return number, address[0], rest[address.end() :].strip()
