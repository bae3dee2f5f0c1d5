"""Read the Workbench's released grades (FLAN-T5-large), with the texts of the bank's items.

The file contains item ids (`query/MD5 of the text`) without the texts. FLAN-T5 often copied an item
into its extracted answer, verbatim or as a statement. This module matches extracted texts, and
questions derived from them by rule, against the MD5 ids, so recovered texts are exact. Items
without recovered texts are excluded. The query texts are not needed.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.formats.workbench.paragraphs import QueryParagraphs, read_graded_paragraphs
from ragassay.records import ExamItem

FILE = Path("data", "workbench", "graded-llmjudge-test.jsonl.gz")
N_PASSAGES = 40
"""Number of sampled passages per query."""

MOST_WORDS = 400
"""Maximum words of a passage. Of 4,423 passages, two are far longer."""

SEED = 20261123

_AUXILIARIES = frozenset(
    "is are was were can could may might must should will would do does did has have".split()
)
_OPENERS = (
    *("What are", "What is", "What are the", "What is the", "Are there any", "Are there", "Is"),
    *("Is there a", "Is there", "Are", "How", "What", "Can", "Does", "Do", "Which"),
)


@dataclass(frozen=True)
class GradedPassage:
    """A passage with ratings by item id."""

    query: str
    passage: str
    ratings: Mapping[str, int]


@dataclass(frozen=True)
class Released:
    """Items with known texts by query, and graded passages."""

    banks: Mapping[str, tuple[ExamItem, ...]]
    passages: tuple[GradedPassage, ...]
    n_items: int


def read_released(shared: Path, n_passages: int = N_PASSAGES) -> Released:
    """Read the grades of a seeded sample of passages."""
    queries = read_graded_paragraphs(shared / FILE).queries
    kinds = [_kinds(query) for query in queries]
    banks = {
        query.query_id: known_items(query, of) for query, of in zip(queries, kinds, strict=True)
    }
    rng = random.Random(SEED)
    passages: list[GradedPassage] = []
    for query in queries:
        texts = [paragraph for paragraph in query.paragraphs if paragraph.text.strip()]
        for paragraph in rng.sample(texts, min(n_passages, len(texts))):
            ratings = {
                rating.question_id or rating.nugget_id or "": rating.self_rating
                for grade in paragraph.exam_grades or ()
                for rating in grade.self_ratings or ()
            }
            text = " ".join(paragraph.text.split()[:MOST_WORDS])
            passages.append(GradedPassage(query.query_id, text, ratings))
    return Released(banks, tuple(passages), sum(map(len, kinds)))


def _kinds(query: QueryParagraphs) -> dict[str, str]:
    """Return the kind of each item in a query's bank."""
    found: dict[str, str] = {}
    for paragraph in query.paragraphs:
        for grade in paragraph.exam_grades or ():
            for rating in grade.self_ratings or ():
                kind = "question" if rating.question_id else "nugget"
                found[rating.question_id or rating.nugget_id or ""] = kind
    return found


def known_items(query: QueryParagraphs, kinds: Mapping[str, str]) -> tuple[ExamItem, ...]:
    """Return the items whose texts can be recovered, in the order of the bank."""
    wanted = {name.rpartition("/")[2]: name for name in kinds}
    extracted: dict[str, set[str]] = defaultdict(set)
    for paragraph in query.paragraphs:
        for grade in paragraph.exam_grades or ():
            for name, answer in () if grade.self_ratings else grade.answers:
                extracted[kinds.get(name, "")].add(answer.strip())
    texts: dict[str, str] = {}
    for kind, answers in sorted(extracted.items()):
        for answer in sorted(answers):
            for text in _spellings(answer) if kind == "nugget" else _questions(answer):
                name = wanted.get(_md5(text))
                if name:
                    texts[name] = text
    return tuple(
        ExamItem(id=name, text=texts[name], kind=kind)  # type: ignore[arg-type]
        for name, kind in kinds.items()
        if name in texts
    )


def _spellings(text: str) -> Iterator[str]:
    for end in ("", "."):
        plain = text.rstrip(".") + end
        yield plain
        yield plain[:1].upper() + plain[1:]
        yield plain[:1].lower() + plain[1:]


def _questions(answer: str) -> Iterator[str]:
    """Yield questions that may have been turned into this statement."""
    plain = answer.rstrip(".?! ")
    words = plain.split()
    if not 2 <= len(words) <= 22:
        return
    yield f"{plain[:1].upper()}{plain[1:]}?"
    for end in range(max(2, len(words) - 6), len(words) + 1):
        for first in dict.fromkeys([words[0], words[0][:1].lower() + words[0][1:]]):
            part = [first, *words[1:end]]
            for opener in _OPENERS:
                yield f"{opener} {' '.join(part)}?"
            yield from _inverted(part)


def _inverted(words: Sequence[str]) -> Iterator[str]:
    """Yield "Does it lower pain?" and "How does it lower pain?" for "it lowers pain"."""
    for place in range(1, min(len(words), 14)):
        verb, rest = words[place].lower(), " ".join(words[place + 1 :]).removeprefix("not ")
        for subject in (" ".join(words[:place]), "the " + " ".join(words[:place])):
            clauses = [f"{verb} {subject} {rest}"] if verb in _AUXILIARIES else []
            clauses += [
                f"{auxiliary} {subject} {base} {rest}"
                for base in _bases(verb)
                for auxiliary in ("does", "do", "did", "can")
            ]
            for clause in clauses:
                yield f"{clause[:1].upper()}{clause[1:]}".rstrip() + "?"
                yield f"How {clause}".rstrip() + "?"


def _bases(verb: str) -> Iterator[str]:
    yield verb
    for ending, base in (("ies", "y"), ("es", ""), ("s", ""), ("ed", ""), ("d", "")):
        if verb.endswith(ending):
            yield verb.removesuffix(ending) + base


def _md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()
