"""Read graded paragraphs as answers: each paragraph is a response of the systems that ranked it.

The file does not contain the queries' text: it comes from a file of topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ragassay.formats.files import iter_lines
from ragassay.formats.items import Item, JunkCount, Place, shorten_text
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format
from ragassay.formats.trec.references import question_of
from ragassay.formats.workbench.paragraphs import SHAPE, GradedParagraph, read_query
from ragassay.records import Record, Rejection


class ResponseRow(Row):
    """A response: the fields of a paragraph that a judge may see."""

    query_id: IdText
    paragraph_id: IdText
    text: str
    system: str | None = None
    is_repeated: bool = False


RESPONSES = Format(
    name="rubric-workbench",
    required=tuple((name,) for name in ResponseRow.model_fields),
    fields=frozenset(ResponseRow.model_fields),
    leading="paragraph_id",
    keys=SHAPE,
)


def response_id(query_id: str, paragraph_id: str, system: str = "") -> str:
    """Return the id of the record that a paragraph becomes.

    Args:
        query_id: The query.
        paragraph_id: The paragraph.
        system: A further system that ranked it; empty for the first.
    """
    return "/".join(part for part in (query_id, paragraph_id, system) if part)


def systems_of(paragraph: GradedParagraph) -> tuple[str, ...]:
    """Return the systems that ranked a paragraph, each once, in the file's order."""
    return tuple(dict.fromkeys(one.method for one in paragraph.paragraph_data.rankings))


def system_of(paragraph: GradedParagraph) -> str | None:
    """Return the system that ranked a paragraph; None where there is none, or several."""
    systems = systems_of(paragraph)
    return systems[0] if len(systems) == 1 else None


def iter_responses(path: Path) -> Iterator[Item | Rejection]:
    """Yield the paragraphs of a file for each system, without judgments and grades.

    Raises:
        InputError: the file cannot be opened.
    """
    junk = JunkCount(path)
    for line in iter_lines(path):
        text = shorten_text(line.data[:8_000].decode("utf-8", "backslashreplace"))
        place = Place(str(path), line.number, f"line-{line.number}", text)
        rejections: list[Rejection] = []
        query = read_query(line, place, rejections)
        yield from rejections
        if isinstance(query, Problem):
            yield place.reject(query)
        if end := junk.end(line.number, isinstance(query, Problem)):
            yield end
            return
        if isinstance(query, Problem):
            continue
        for paragraph in query.paragraphs:
            for n, system in enumerate(systems_of(paragraph) or (None,)):
                fields: dict[str, object] = {
                    "query_id": query.query_id,
                    "paragraph_id": paragraph.paragraph_id,
                    "text": paragraph.text,
                    "system": system,
                    "is_repeated": n > 0,
                }
                yield Item(place, fields)


def read_response(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn a paragraph into a record; its id is `query_id/paragraph_id`.

    A paragraph that several systems ranked is a record of each: the further ones have their system
    at the end of their ids, and the paragraph's judgment is that of the first.

    Args:
        item: The paragraph.
        questions: The queries by id.
    """
    row = validate(ResponseRow, item.fields)
    if isinstance(row, Problem):
        return row
    question = question_of(None, row.query_id, questions)
    if isinstance(question, Problem):
        return Problem("0", question.text, question.expected)
    return Record(
        id=response_id(
            row.query_id, row.paragraph_id, (row.system or "") if row.is_repeated else ""
        ),
        question=question,
        answer=row.text,
        system=row.system,
        topic=row.query_id,
    )
