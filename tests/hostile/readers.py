"""Everything that reads a text of somebody else's, as a function of that text, and hard texts."""

from __future__ import annotations

import random
from collections.abc import Callable

from ragassay.agents.context import fence_mark
from ragassay.agents.replies import read_reply
from ragassay.formats.conversations import read_messages
from ragassay.formats.fields import value_at
from ragassay.formats.files import guess_encoding
from ragassay.formats.named_fields import rename_fields
from ragassay.formats.papers.prose import read_prose
from ragassay.formats.qa_collections import split_evidence
from ragassay.formats.replies import read_structured_reply
from ragassay.formats.source_values import n_texts, source_rows, unread_paths
from ragassay.instruments.signals.features import definitions, names_of, register_features
from ragassay.metrics.papers.sciqag import SourceNumbers, answer_numbers
from ragassay.perturbations.counterfactuals import (
    remove_hedge,
    swap_population,
    turn_direction,
    turn_negation,
)
from ragassay.perturbations.numbers import change_number
from ragassay.perturbations.perturb import perturb_answers
from ragassay.perturbations.wording_attacks import without_connectives
from ragassay.qa.measures import paper_sentences
from ragassay.records import Document, Paper, Record
from ragassay.records.qa import PaperSection
from ragassay.reports.labels import one_line, without_controls
from ragassay.reports.sheets import escape, latex_escape
from ragassay.retrievers.pubmed.live import word_choices
from ragassay.safe_text import visible
from ragassay.text.answer_match import is_known_answer, is_unanswered
from ragassay.text.citation_markers import bare, doi_of, expand, is_list
from ragassay.text.clauses import clauses_of
from ragassay.text.differences import difference_of, difference_spans
from ragassay.text.faults import is_cut_off, languages, refuses, says_nothing
from ragassay.text.grounding import find_quote, is_carried
from ragassay.text.number_comparison import compare_numbers
from ragassay.text.number_mentions import read_mentions
from ragassay.text.quantities import numbers_of, read_quantities, stated_numbers
from ragassay.text.questions import asked_for, context_marks, is_one_question, question_flaws
from ragassay.text.roles import unconfirmed_roles
from ragassay.text.search import (
    condense,
    passage_of,
    passages_of,
    rank,
    tokenize,
    windows,
    word_positions,
)
from ragassay.text.segmenter import segment

Reader = Callable[[str], object]


def record(text: str) -> Record:
    source = Document(id="1", text=text, title=text[:200])
    return Record(id="r", question="Q?", answer=text, sources=(source,))


def paper(text: str) -> Paper:
    return Paper(id="p", title="T", sections=(PaperSection(text=text),))


def reply(text: str) -> object:
    try:
        return read_reply(text, ("rating",))
    except ValueError:
        return None


def structured(text: str) -> object:
    """Read a reply whose citations quote pieces of the text at places that are wrong."""
    quotes = [text[n : n + 50] for n in range(0, min(len(text), 2_000), 20)]
    citations = [
        {"start": n, "end": n + 3, "text": quote, "document_ids": [quote]}
        for n, quote in enumerate(quotes)
    ]
    return read_structured_reply({"text": text, "generation_id": "g", "citations": citations})


def conversation(text: str) -> object:
    roles = ("system", "user", "tool", "assistant")
    return read_messages([{"role": role, "content": text} for role in roles])


READERS: dict[str, Reader] = {
    "structured reply": structured,
    "conversation": conversation,
    "evidence with its number": split_evidence,
    "segmenter": lambda text: segment(record(text), lambda _: None),
    "sources": lambda text: (
        source_rows(text),
        n_texts(text, "references"),
        unread_paths([text, {text[:50]: text}], "blob", long_text=True),
    ),
    "fields by name": lambda text: rename_fields({text[:50]: text, "query": text, "docs": text}),
    "paths": lambda text: value_at({"a": text, "b": [text, {"c": text}]}, text),
    "encodings": lambda text: guess_encoding(text.encode("utf-16-le", "surrogatepass")),
    "listed citations": lambda text: (expand(text), is_list(text), bare(text), doi_of(text)),
    "quantities": read_quantities,
    "numbers": lambda text: (numbers_of(text), stated_numbers(text)),
    "mentions of numbers": read_mentions,
    "compared numbers": lambda text: (
        compare_numbers(text, "It fell by 12 days in 5 % of 40 men."),
        compare_numbers("It fell by 12 days in 5 % of 40 men.", text),
        compare_numbers(text, text),
    ),
    "numbers of a paper": lambda text: answer_numbers("1, 2 and 10 h", SourceNumbers.of(text)),
    "numbers of an answer": lambda text: answer_numbers(text, SourceNumbers.of("1, 2 and 10 h")),
    "context marks": lambda text: (context_marks(text, ""), context_marks("Why?", text)),
    "clauses": clauses_of,
    "words": lambda text: (tokenize(text), word_positions(text)),
    "passages": lambda text: (passages_of(text), windows(record(text).sources[0])),
    "closest passage": lambda text: passage_of("It fell in 12 adults.", text),
    "condensed": lambda text: condense(record(text).sources, "it fell", 500),
    "ranking": lambda text: rank("it fell", [text, text]),
    "quote": lambda text: (find_quote("it fell", text), find_quote(text, text[1:])),
    "grounding": lambda text: is_carried(text, text[2:], text),
    "difference": lambda text: difference_of("It fell by 12 days.", [text], beside=[]),
    "difference of a claim": lambda text: difference_of(text, ["It fell by 12 days."], beside=[]),
    "places of a difference": lambda text: difference_spans(text, text, "here"),
    "compared sides": lambda text: (
        unconfirmed_roles(text, ["It fell more with A than with B."]),
        unconfirmed_roles("It fell more with A than with B.", [text]),
        unconfirmed_roles(text, [text]),
    ),
    "known answer": lambda text: (is_unanswered(text), is_known_answer(text, ["12", text[1:]])),
    "questions": lambda text: (asked_for(text), is_one_question(text, text[1:])),
    "flaws of a question": lambda text: question_flaws(text, [text[1:]]),
    "paper": lambda text: paper_sentences(paper(text)),
    "prose": lambda text: read_prose(text, may_have_title=True),
    "signals": lambda text: (
        register_features(text),
        says_nothing(text),
        definitions([text, text]),
        names_of(text),
    ),
    "faults of an answer": lambda text: (
        is_cut_off([text, text]),
        refuses([text]),
        languages("Does it fall in 12 adults?", text),
    ),
    "connectives": without_connectives,
    "changes": lambda text: [
        change(text, random.Random(0))
        for change in (turn_negation, change_number, turn_direction, swap_population, remove_hedge)
    ],
    "damage": lambda text: perturb_answers([record(text)]),
    "search words": lambda text: list(word_choices(text)),
    "reply of a model": reply,
    "fence": lambda text: fence_mark([text]),
    "shown": lambda text: (
        visible(text),
        one_line(text),
        without_controls(text),
        escape(text),
        latex_escape(text),
    ),
}

PIECES = (
    *(
        " ",
        "\n",
        "\t",
        "a",
        "1",
        ".",
        ",",
        "-",
        "(",
        "[",
        "[[",
        "(((",
        '"',
        "'",
        "\u201c",
        "<",
        "*",
    ),
    *("It grew [1]. ", "[1, ", "[1-1000000] ", "[1-50] ", "[1-", "[PMID ", "[PMID 1; ", "[1][2]"),
    *("1. ", "1.1", "1,", "1, ", "1 ", "100,", "10^", "1-1", "1/2 ", "10.1000/", "[10.1000/a;b("),
    *("(10.1000/[a]", "[doi: ", "https://doi.org/", "( ", ") ", "a) ", "[]", "[a](b) ", "?", "? "),
    *(
        "and ",
        "and, ",
        "However, ",
        "however ",
        "two hundred and ",
        "fig. 1, ",
        "m s ",
        "not ",
        "no ",
    ),
    *(
        "the proposed ",
        "bee this bee ",
        "described ",
        "does not ",
        "may ",
        "a, b, and c ",
        "A.B.",
        "Dr. ",
    ),
    *(
        "e.g. ",
        "A ",
        "Ab ",
        "AB (AB) ",
        "(AB) ",
        "is ",
        "is because ",
        "was 12 days ",
        "by 5% ",
        "12 mg ",
    ),
    *(
        '{"',
        '{"a": ',
        '{"rating": ',
        '{ "',
        "\\",
        "<data 00000000>",
        "</data>",
        "\x1b[31m",
        "\u202e",
    ),
    *(
        "\u00e9",
        "\u0130",
        "\u3002",
        "\U0001f600",
        "e\u0301",
        "\u00bd",
        "\u00b2",
        "\u00d7 10",
        "it fell ",
    ),
)
