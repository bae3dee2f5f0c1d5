"""Handle references and citations by position, topics and kept fields of TREC runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator

from ragassay.formats.problems import Problem, describe_value, found_text, wrong
from ragassay.records import SentenceInput

REFERENCES = "references"
"""The metadata that keeps references where they differ from what the sentences cite, in order."""

_DANGLING = re.compile(r"references\[(-?[0-9]{1,18})\]")


def _citation(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise wrong(f"found {describe_value(value)}", "a position in references, from 0, or an id")
    if isinstance(value, str) and not value.strip():
        raise wrong("found an empty citation", "a position in references, from 0, or an id")
    return value


ReferenceOrId = Annotated[int | str, BeforeValidator(_citation)]
"""A 0-based position in the references, or an id."""


def resolve(citations: Iterable[int | str], references: Sequence[str]) -> tuple[str, ...]:
    """Return citations as ids.

    A position beyond the references becomes `references[7]`, which does not resolve: the citation
    is then judged invalid, not lost.

    Example:
        >>> resolve([1, "a", 7], ["a", "b"])
        ('b', 'a', 'references[7]')
    """
    return tuple(_resolve(citation, references) for citation in citations)


def _resolve(citation: int | str, references: Sequence[str]) -> str:
    if str(citation) in references and (isinstance(citation, str) or citation >= len(references)):
        return str(citation)
    if isinstance(citation, str):
        if not re.fullmatch(r"[0-9]{1,6}", citation) or int(citation) >= len(references):
            return citation
        citation = int(citation)
    if 0 <= citation < len(references):
        return references[citation]
    return f"references[{citation}]"


def kept_references(references: Sequence[str], cited: Iterable[str]) -> dict[str, str]:
    """Return the references as metadata; empty where the citations alone determine them."""
    if not references or list(references) == list_cited_ids(cited):
        return {}
    return {REFERENCES: json.dumps(list(references), ensure_ascii=False)}


def list_cited_ids(cited: Iterable[str]) -> list[str]:
    """Return the cited ids, in the order of their first citation."""
    return [name for name in dict.fromkeys(cited) if not _DANGLING.fullmatch(name)]


def references_of(metadata: Mapping[str, str]) -> list[str] | None:
    """Return the references kept in a record's metadata; None where there are none."""
    try:
        value: object = json.loads(metadata.get(REFERENCES, ""))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not value:
        return None
    names = [str(name) for name in value if isinstance(name, str) and name.strip()]
    return names if len(names) == len(value) else None


def number_citations(
    answer: Sequence[SentenceInput], metadata: Mapping[str, str], ids_allowed: bool
) -> tuple[list[str], list[list[int | str]]]:
    """Return references, and each sentence's citations as 0-based positions in them.

    Args:
        answer: The sentences, with ids as citations.
        metadata: The record's.
        ids_allowed: Whether an id that the kept references lack stays an id.
    """
    kept = references_of(metadata)
    references = list(kept or ())
    positions = {name: i for i, name in reversed(list(enumerate(references)))}
    sentences: list[list[int | str]] = []
    for sentence in answer:
        numbers: list[int | str] = []
        for name in sentence.citations:
            dangling = _DANGLING.fullmatch(name)
            if dangling and name not in positions:
                numbers.append(int(dangling[1]))
            elif ids_allowed and kept and name not in positions and not name.isdigit():
                numbers.append(name)
            else:
                if name not in positions:
                    positions[name] = len(references)
                    references.append(name)
                numbers.append(positions[name])
        sentences.append(numbers)
    return references, sentences


def question_of(given: str | None, topic: str, questions: Mapping[str, str]) -> str | Problem:
    """Return the run's question, else the topics file's; its field is marked as used."""
    question = given or questions.get(topic)
    if question is not None:
        return question
    where = ", nor is the topic in the questions file" if questions else ""
    return Problem(
        "",
        f"the question of topic {found_text(topic)} is not in the file{where}",
        "the question here, or a questions file with the topics: topic_id,title,question,narrative",
    )
